/*
 * What is known of a call, and so recorded at once: see `known_calls`.
 */

/* The storages of what is written to, of an array, and of another one, if there is one. */
static PyObject *storages_of(PyObject *output, const operand *x, const operand *y)
{
    const Py_ssize_t n = y->storage ? 3 : 2;
    PyObject *found = PyTuple_New(n), *const all[] = {output, x->storage, y->storage};
    for (Py_ssize_t k = 0; found && k < n; k++)
        PyTuple_SET_ITEM(found, k, Py_NewRef(all[k]));
    return untracked(found);
}

/* Record a statement on storages, and a number, if there is one; they are taken over. -1 with an exception set. */
static int record_call(PyObject *statement, PyObject *storages, PyObject *number, PyObject *dtype)
{
    PyObject *scalar = storages && number != Py_None ? scalar_of(number, dtype) : NULL;
    PyObject *values = NULL, *none = NULL;
    if (!PyErr_Occurred())
        values = scalar ? untracked(PyTuple_Pack(1, scalar)) : PyTuple_New(0);
    if (storages && values)
        none = PyObject_Vectorcall(its.record, (PyObject *[]){statement, storages, values}, 3, NULL);
    Py_XDECREF(scalar);
    Py_XDECREF(storages);
    Py_XDECREF(values);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

enum {STATEMENT, RESULT, LAYOUT, DTYPE, KIND, NUMBER, N_OF_OPERATOR};   /* what is known of an operator, and more */
enum {INTO_STATEMENT, INTO_NUMBER, N_OF_IN_PLACE};                      /* and of one in place */

/* A new array for what an operator that is known gives of arrays and a number. */
static PyObject *result_of_known(PyObject *known, const operand *x, const operand *y, PyObject *number)
{
    PyObject *base = new_base(PyTuple_GET_ITEM(known, LAYOUT), PyTuple_GET_ITEM(known, DTYPE));
    if (!base)
        return NULL;
    PyObject *view = PyTuple_GET_ITEM(known, RESULT), *kind = PyTuple_GET_ITEM(known, KIND), *found = NULL;
    PyObject *storages = storages_of(SLOT(base, its.at_storage), x, y);
    if (record_call(PyTuple_GET_ITEM(known, STATEMENT), storages, number, PyTuple_GET_ITEM(known, NUMBER)) == 0)
        found = kind == (PyObject *)its.array || kind == (PyObject *)its.number
            ? new_array((PyTypeObject *)kind, base, view)
            : PyObject_CallFunctionObjArgs(kind, base, view, NULL);
    Py_DECREF(base);
    return found;
}

/* recorded(known, x, y, number): see _calls.pyi. */
static PyObject *recorded(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 4 || !PyTuple_Check(arguments[0]) || PyTuple_GET_SIZE(arguments[0]) <= N_OF_OPERATOR)
        return PyErr_Format(PyExc_TypeError, "what is known of an operator, two arrays and a number are taken");
    PyObject *found = NULL;
    operand x = {NULL}, y = {NULL};
    if (read_array(arguments[1], &x) == 0 && (arguments[2] == Py_None || read_array(arguments[2], &y) == 0))
        found = result_of_known(arguments[0], &x, &y, arguments[3]);
    release(&x);
    release(&y);
    return found;
}

/* Record an operator in place that is known; -1 with an exception set. */
static int record_known_in_place(PyObject *known, const operand *x, const operand *y, PyObject *number)
{
    return record_call(PyTuple_GET_ITEM(known, INTO_STATEMENT), storages_of(x->storage, x, y), number,
                       PyTuple_GET_ITEM(known, INTO_NUMBER));
}

/* record_in_place(known, x, y, number): see _calls.pyi. */
static PyObject *record_in_place(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 4 || !PyTuple_Check(arguments[0]) || PyTuple_GET_SIZE(arguments[0]) <= N_OF_IN_PLACE)
        return PyErr_Format(PyExc_TypeError, "what is known of an operator, two arrays and a number are taken");
    PyObject *known = arguments[0];
    int failed = -1;
    operand x = {NULL}, y = {NULL};
    if (read_array(arguments[1], &x) == 0 && (arguments[2] == Py_None || read_array(arguments[2], &y) == 0))
        failed = record_known_in_place(known, &x, &y, arguments[3]);
    release(&x);
    release(&y);
    return failed ? NULL : Py_NewRef(Py_None);
}
