/*
 * Recording an operation, in C: it is appended to what is recorded. In Python, that takes as long as to execute many an
 * operation.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include "../_queue.h"
#include "../_callers.h"

static struct {
    PyObject *in_python, *borrowers, *lent;     /* a function, and sets */
    PyObject *n_tags;                           /* a name */
} its;

enum {RECIPE, STORAGES, VALUES, NUMBER, CODE, INSTRUCTION, N_FIELDS};   /* of a `RecordedOperation` */

/* Whether nothing is to be seen to before an operation is recorded, nor after it: see `Queue.record`. */
static int is_plain(PyObject *queue)
{
    PyObject *recorded = SLOT(queue, the_queue.at_recorded);
    if (PySet_GET_SIZE(its.borrowers) || PySet_GET_SIZE(its.lent) || SLOT(queue, the_queue.at_is_open) != Py_True
            || !recorded || Py_TYPE(recorded) != the_queue.recorded)
        return 0;
    PyObject *fields = SLOT(recorded, the_queue.at_fields), *max = SLOT(queue, the_queue.at_max_fields);
    if (!fields || !max || PyList_GET_SIZE(fields) >= PyLong_AsSsize_t(max))
        return PyErr_Occurred() ? -1 : 0;
    return is_silent(queue);
}

/* Append the fields of an operation, but for its number, which is that of the next one with so many tags; all at once.
   -1 with an exception set. */
static int append(PyObject *queue, PyObject *own, Py_ssize_t n_tags)
{
    PyObject *fields = SLOT(SLOT(queue, the_queue.at_recorded), the_queue.at_fields);
    PyObject *number = SLOT(queue, the_queue.at_next_tag);
    PyObject *next = PyLong_FromSsize_t(PyLong_AsSsize_t(number) + n_tags);
    const Py_ssize_t n = PyList_GET_SIZE(fields);
    PyTuple_SET_ITEM(own, NUMBER, Py_NewRef(number));
    if (PyErr_Occurred() || PyList_SetSlice(fields, n, n, own) < 0) {
        Py_XDECREF(next);
        return -1;
    }
    SLOT(queue, the_queue.at_next_tag) = next;
    Py_DECREF(number);
    return 0;
}

/* The fields of an operation that a place of the program calls, but for its number. */
static PyObject *fields_of(PyObject *const *operation)
{
    int instruction;
    PyObject *code = caller(&instruction), *own = code ? PyTuple_New(N_FIELDS) : NULL;
    PyObject *at = own ? PyLong_FromLong(instruction) : NULL;
    if (!at) {
        Py_XDECREF(code);
        Py_XDECREF(own);
        return NULL;
    }
    for (int k = RECIPE; k <= VALUES; k++)
        PyTuple_SET_ITEM(own, k, Py_NewRef(operation[k]));
    PyTuple_SET_ITEM(own, CODE, code);
    PyTuple_SET_ITEM(own, INSTRUCTION, at);
    return own;
}

/* record(recipe, storages, values): see appending.pyi. */
static PyObject *record(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *none = n == 2 ? PyTuple_New(0) : NULL;
    if (n != 3 && !none)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "a recipe, storages and values are taken");
    PyObject *const operation[] = {arguments[0], arguments[1], none ? none : arguments[2]};
    PyObject *queue = queue_of_job(), *own = NULL, *tags = NULL;
    int answer = queue ? is_plain(queue) : PyErr_Occurred() ? -1 : 0;
    if (answer > 0) {           /* what follows may call Python, where anything may come by: so it is asked once more */
        tags = PyObject_GetAttr(operation[RECIPE], its.n_tags);
        own = tags ? fields_of(operation) : NULL;
        queue = own ? queue_of_job() : NULL;
        answer = queue ? is_plain(queue) : PyErr_Occurred() ? -1 : 0;
    }
    if (answer > 0 && append(queue, own, PyLong_AsSsize_t(tags)) < 0)
        answer = -1;
    PyObject *found = answer ? NULL : PyObject_Vectorcall(its.in_python, operation, 3, NULL);
    Py_XDECREF(own);
    Py_XDECREF(tags);
    Py_XDECREF(none);
    return answer > 0 ? Py_NewRef(Py_None) : found;
}

/* where(): see appending.pyi. */
static PyObject *where(PyObject *module, PyObject *none)
{
    int instruction;
    PyObject *code = caller(&instruction);
    return code ? Py_BuildValue("(Ni)", code, instruction) : NULL;
}

/* frames_left(): see appending.pyi. */
static PyObject *frames_left(PyObject *module, PyObject *none)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyLong_FromLong(PyThreadState_Get()->py_recursion_remaining);
#else
    return PyLong_FromLong(PyThreadState_Get()->recursion_remaining);
#endif
}

/* begin(recording, state, in_python, borrowers, lent): see appending.pyi. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyObject *recording, *state, *in_python, *borrowers, *lent;
    if (!PyArg_ParseTuple(arguments, "O!OOO!O!", &PyModule_Type, &recording, &state, &in_python,
                          &PySet_Type, &borrowers, &PySet_Type, &lent) || begin_callers() < 0)
        return NULL;
    its.in_python = Py_NewRef(in_python), its.borrowers = Py_NewRef(borrowers), its.lent = Py_NewRef(lent);
    return begin_queue(recording, state) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"begin", begin, METH_VARARGS, NULL},
    {"frames_left", frames_left, METH_NOARGS, NULL},
    {"record", (PyCFunction)(void (*)(void))record, METH_FASTCALL, NULL},
    {"where", where, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "appending", "Recording an operation, in C; see appending.c.", -1, functions,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_appending(void)
{
    return (its.n_tags = PyUnicode_InternFromString("n_tags")) ? PyModule_Create(&definition) : NULL;
}
