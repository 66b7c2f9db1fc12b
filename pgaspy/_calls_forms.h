/*
 * How functions are computed of arrays, and how their results are seen: what is known of them by dtypes and families.
 */
#define N_FORMS 1024            /* a power of 2 */

/* How a function is computed of a dtype and another one, or of a Python class, in one of these ways; or None. */
typedef struct {
    PyObject *ufunc, *dtype, *other, *form;
    int way;
} known_form;

enum {SECOND, FIRST, IN_PLACE, ASSIGNED};       /* a number is the second operand, or the first; into the first one */

/* Of operands, of which there may be one: how the result is seen; or False where they do not lie alike, None where that
   is up to Python. */
typedef struct {
    family *x, *y;
    PyObject *view;
} result;

static known_form forms[N_FORMS];
static result results[N_KNOWN];

static int is_form(PyObject *x)
{
    return PyTuple_Check(x) && PyTuple_GET_SIZE(x) == N_OF_FORM
        && PyArray_DescrCheck(PyTuple_GET_ITEM(x, NUMBER_DTYPE));
}

/* Whether a kernel takes all operands as they are, or cast without a loss that is told of. */
static int is_taken(PyObject *form, PyObject *const *dtypes)
{
    PyObject *loop = PyTuple_GET_ITEM(form, LOOP), *is_array = PyTuple_GET_ITEM(form, IS_ARRAY);
    for (Py_ssize_t k = 0, next = 0; k < PyTuple_GET_SIZE(is_array); k++)
        if (PyTuple_GET_ITEM(is_array, k) == Py_True) {
            PyObject *own = dtypes[next++];
            if (own && !PyArray_CanCastTypeTo((PyArray_Descr *)own, (PyArray_Descr *)PyTuple_GET_ITEM(loop, k),
                                              NPY_SAFE_CASTING))
                return 0;
        }
    return 1;
}

/* The form of a function, or of an assignment (of NULL), borrowed: None where there is none that takes all as it is, or
   cast without a loss. */
static PyObject *found_form(PyObject *ufunc, PyObject *dtype, PyObject *other, int way)
{
    const size_t mixed = (size_t)ufunc / 64 * 31 + (size_t)dtype / 32 * 17 + (size_t)other / 32 * 5 + (size_t)way;
    known_form *known = &forms[(mixed ^ mixed >> 10) & (N_FORMS - 1)];
    if (known->ufunc == ufunc && known->dtype == dtype && known->other == other && known->way == way)
        return known->form;
    PyObject *form = way == ASSIGNED
        ? PyObject_CallFunctionObjArgs(its.copying, dtype, PyType_Check(other) ? Py_True : Py_False, NULL)
        : PyObject_CallFunctionObjArgs(its.form_of, ufunc, dtype, other, way == FIRST ? Py_True : Py_False,
                                       way == IN_PLACE ? Py_True : Py_False, NULL);
    if (!form)
        return NULL;
    PyObject *const dtypes[] = {dtype, PyType_Check(other) ? NULL : other};
    if (form != Py_None && (!is_form(form) || PyLong_AsLong(PyTuple_GET_ITEM(form, KERNEL)) < 0
                            || (way != ASSIGNED && !is_taken(form, dtypes))
                            || PyTuple_GET_SIZE(PyTuple_GET_ITEM(form, LOOP)) > MAX_OPERANDS))
        Py_SETREF(form, Py_NewRef(Py_None));
    const known_form before = *known;
    *known = (known_form){Py_XNewRef(ufunc), Py_NewRef(dtype), Py_NewRef(other), form, way};
    Py_XDECREF(before.ufunc);
    Py_XDECREF(before.dtype);
    Py_XDECREF(before.other);
    Py_XDECREF(before.form);
    return form;
}

/* How the result of operands is seen, see `result`; NULL with an exception set. */
static PyObject *view_of_result(PyObject *x, PyObject *y)
{
    family *own = family_of(x), *other = !y || !own ? NULL : family_of(y);
    if (!own || (y && !other))
        return NULL;
    result *known = &results[place_of_pair(own, other)];
    if (known->x == own && known->y == other)
        return known->view;
    PyObject *view = PyObject_CallFunctionObjArgs(its.result_of, x, y ? y : Py_None, NULL);
    if (!view)
        return NULL;
    const result before = *known;
    *known = (result){(family *)Py_NewRef((PyObject *)own), (family *)Py_XNewRef((PyObject *)other), view};
    Py_XDECREF((PyObject *)before.x);
    Py_XDECREF((PyObject *)before.y);
    Py_XDECREF(before.view);
    return view;
}

/* The tuples of all operands of a function and of its output, of what there is of each of the arrays and the number. */
static PyObject *all_of(PyObject *is_array, PyObject *x, PyObject *y, PyObject *number, PyObject *out)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(is_array);
    PyObject *found = PyTuple_New(n + 1), *const arrays[] = {x, y};
    for (Py_ssize_t k = 0, next = 0; found && k < n; k++) {
        const int is = PyTuple_GET_ITEM(is_array, k) == Py_True;
        PyTuple_SET_ITEM(found, k, Py_NewRef(is && next < 2 && arrays[next] ? arrays[next] : number));
        next += is;
    }
    if (found)
        PyTuple_SET_ITEM(found, n, Py_NewRef(out));
    return found;
}
