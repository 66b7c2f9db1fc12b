/*
 * What is known of a call, and so recorded at once: see `known_calls`.
 */

#define MAX_GIVEN 3

/* The operands of a call: arrays; and numbers, which have no arrays, each None where there is none. */
typedef struct {
    int n;
    const operand *arrays[MAX_GIVEN];
    PyObject *numbers[MAX_GIVEN];
} operands;

/* Those of an array; and another one, or a number, if there is one. */
static operands operands_of(const operand *x, const operand *y, PyObject *number)
{
    return (operands){2, {x, y}, {Py_None, number}};
}

/* The storages of what is written to, and of the operands that are arrays. */
static PyObject *storages_of(PyObject *output, const operands *all)
{
    Py_ssize_t n = 1;
    for (int k = 0; k < all->n; k++)
        n += all->arrays[k]->storage != NULL;
    PyObject *found = PyTuple_New(n);
    if (found)
        PyTuple_SET_ITEM(found, 0, Py_NewRef(output));
    n = 1;
    for (int k = 0; found && k < all->n; k++)
        if (all->arrays[k]->storage)
            PyTuple_SET_ITEM(found, n++, Py_NewRef(all->arrays[k]->storage));
    return untracked(found);
}

/* The operands that are numbers, as `Scalar`s of a dtype. */
static PyObject *values_of(const operands *all, PyObject *dtype)
{
    Py_ssize_t n = 0;
    for (int k = 0; k < all->n; k++)
        n += all->numbers[k] != Py_None;
    PyObject *found = PyTuple_New(n);
    n = 0;
    for (int k = 0; found && k < all->n; k++) {
        PyObject *scalar = all->numbers[k] == Py_None ? NULL : scalar_of(all->numbers[k], dtype);
        if (scalar)
            PyTuple_SET_ITEM(found, n++, scalar);
        else if (PyErr_Occurred())
            Py_CLEAR(found);
    }
    return n ? untracked(found) : found;
}

/* Record a statement whose output is a storage; numbers are of a dtype. -1 with an exception set. */
static int record_call(PyObject *statement, PyObject *output, const operands *all, PyObject *dtype)
{
    PyObject *storages = storages_of(output, all), *values = storages ? values_of(all, dtype) : NULL, *none = NULL;
    if (values)
        none = PyObject_Vectorcall(its.record, (PyObject *[]){statement, storages, values}, 3, NULL);
    Py_XDECREF(storages);
    Py_XDECREF(values);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

enum {STATEMENT, RESULT, LAYOUT, DTYPE, KIND, NUMBER, N_OF_OPERATOR};   /* what is known of a function, and more */
enum {INTO_STATEMENT, INTO_NUMBER, N_OF_IN_PLACE};                      /* and of one into an array */

/* A new array for what a function that is known gives. */
static PyObject *result_of_known(PyObject *known, const operands *all)
{
    PyObject *base = new_base(PyTuple_GET_ITEM(known, LAYOUT), PyTuple_GET_ITEM(known, DTYPE));
    if (!base)
        return NULL;
    PyObject *view = PyTuple_GET_ITEM(known, RESULT), *kind = PyTuple_GET_ITEM(known, KIND), *found = NULL;
    if (record_call(PyTuple_GET_ITEM(known, STATEMENT), SLOT(base, its.at_storage), all,
                    PyTuple_GET_ITEM(known, NUMBER)) == 0)
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
        found = result_of_known(arguments[0], (operands[]){operands_of(&x, &y, arguments[3])});
    release(&x);
    release(&y);
    return found;
}

/* Record a function into what has a storage, that is known; -1 with an exception set. */
static int record_into_known(PyObject *known, PyObject *output, const operands *all)
{
    return record_call(PyTuple_GET_ITEM(known, INTO_STATEMENT), output, all, PyTuple_GET_ITEM(known, INTO_NUMBER));
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
        failed = record_into_known(known, x.storage, (operands[]){operands_of(&x, &y, arguments[3])});
    release(&x);
    release(&y);
    return failed ? NULL : Py_NewRef(Py_None);
}
