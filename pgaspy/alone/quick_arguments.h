/*
 * What NumPy's functions take of the arguments of a call, and whether what they give is an array as it is: what
 * `arguments` and `small_calls` do for most of them.
 */

/* Whether elements of a dtype are taken, as numbers that functions are certain of; see `arguments.REFUSED`. */
static int is_of_numbers(PyArray_Descr *dtype)
{
    return strchr("biufc", dtype->kind) && dtype->type_num != NPY_HALF;
}

/* Whether it is the dtype of numbers that NumPy has itself, and not one that is equal to it. */
static int is_one_of_numpys(PyArray_Descr *dtype)
{
    PyArray_Descr *own = PyDataType_ISNUMBER(dtype) ? PyArray_DescrFromType(dtype->type_num) : NULL;
    Py_XDECREF(own);
    return own == dtype;
}

static int is_taken_as_it_is(PyObject *x)       /* see `small.PLAIN` */
{
    return x == Py_None || is_plain_number(x) || PyBool_Check(x) || PyUnicode_CheckExact(x);
}

/* What NumPy takes in the place of an argument; a global array is noted, and its elements counted. NULL, also without
   an exception, if that is not certain. */
static PyObject *taken_of(PyObject *x, PyObject *arrays, Py_ssize_t *n_left)
{
    if (is_taken_as_it_is(x))
        return Py_NewRef(x);
    if (is_array(x)) {
        PyObject *a = elements_of(x), *dtype = a && PyList_Append(arrays, x) == 0 ? dtype_of(a) : NULL;
        if (!dtype)
            return NULL;
        const int is_taken = is_of_numbers((PyArray_Descr *)dtype);
        Py_DECREF(dtype);
        *n_left -= PyArray_Check(a) ? PyArray_SIZE((PyArrayObject *)a) : 1;
        return is_taken && *n_left >= 0 ? Py_NewRef(a) : NULL;
    }
    const int is_list = PyList_CheckExact(x);
    if ((!is_list && !PyTuple_CheckExact(x)) || Py_EnterRecursiveCall(" in the arguments of a function"))
        return NULL;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(x);
    PyObject *found = is_list ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t k = 0; found && k < n; k++) {
        PyObject *item = taken_of(PySequence_Fast_GET_ITEM(x, k), arrays, n_left);
        if (!item)
            Py_CLEAR(found);
        else if (is_list)
            PyList_SET_ITEM(found, k, item);
        else
            PyTuple_SET_ITEM(found, k, item);
    }
    Py_LeaveRecursiveCall();
    return found;
}

/* taken(given, arrays, max_elements): see `arguments.taken`, of arguments in a tuple; None if that is not certain. */
static PyObject *taken(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(3);
    if (!PyTuple_CheckExact(arguments[0]) || !PyList_CheckExact(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "taken(tuple, list, int)");
    Py_ssize_t n_left = PyLong_AsSsize_t(arguments[2]);
    if (n_left == -1 && PyErr_Occurred())
        return NULL;
    PyObject *queue;        /* what is recorded may be in the way of some arrays, and not of others */
    const int answer = is_quiet(&queue);
    PyObject *found = answer > 0 ? taken_of(arguments[0], arguments[1], &n_left) : NULL;
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

/* is_plain(x): whether it may be the elements of an array as it is, in memory of its own. */
static PyObject *is_plain(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(1);
    PyArrayObject *a = (PyArrayObject *)arguments[0];
    return PyBool_FromLong(PyArray_CheckExact(a) && PyArray_NDIM(a) && PyArray_IS_C_CONTIGUOUS(a)
                           && !PyArray_BASE(a) && is_one_of_numpys(PyArray_DESCR(a)));
}
