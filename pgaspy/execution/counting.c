/*
 * How often calls were made, in C: see tiers.py. Each that may be executed at once is counted.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *work, *limits;    /* what calls have taken, by the hashes of their keys; the constants, by their names */
    Py_ssize_t n_hot;
} counts;

static struct {
    PyObject *elements_per_call, *hot_calls, *max_calls, *max_elements, *warm, *work_of_planning;
} name;

static int counts_init(counts *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *limits, *work;
    if (!PyArg_ParseTuple(arguments, "O!", &PyDict_Type, &limits) || !(work = PyDict_New()))
        return -1;
    Py_XSETREF(self->limits, Py_NewRef(limits));
    Py_XSETREF(self->work, work);
    self->n_hot = 0;
    return 0;
}

static int counts_traverse(counts *self, visitproc visit, void *arg)
{
    Py_VISIT(self->work);
    Py_VISIT(self->limits);
    return 0;
}

static int counts_clear(counts *self)
{
    Py_CLEAR(self->work);
    Py_CLEAR(self->limits);
    return 0;
}

static void counts_dealloc(counts *self)
{
    PyObject_GC_UnTrack(self);
    counts_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* A constant; -1 with an exception set. */
static Py_ssize_t limit(const counts *self, PyObject *constant)
{
    PyObject *found = PyDict_GetItemWithError(self->limits, constant);
    if (!found && !PyErr_Occurred())
        PyErr_Format(PyExc_KeyError, "%U", constant);
    return found ? PyLong_AsSsize_t(found) : -1;
}

/* Have it known what a call has taken; -1 with an exception set. */
static int note(counts *self, PyObject *call, Py_ssize_t done)
{
    if (PyDict_GET_SIZE(self->work) > limit(self, name.max_calls))
        PyDict_Clear(self->work);
    PyObject *value = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(done);
    const int failed = !value || PyDict_SetItem(self->work, call, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* Count a call of so many elements: whether to do it at once; -1 with an exception set. */
static int is_admitted(counts *self, PyObject *call, Py_ssize_t n_elements, int is_alone)
{
    PyObject *known = PyDict_GetItemWithError(self->work, call);
    Py_ssize_t done = known ? PyLong_AsSsize_t(known) : 0;
    const Py_ssize_t hot_calls = limit(self, name.hot_calls), per_call = limit(self, name.elements_per_call);
    const int is_warm = done >= limit(self, name.warm) && !is_alone;
    if (PyErr_Occurred() || (is_warm && self->n_hot > hot_calls))
        return PyErr_Occurred() ? -1 : 0;
    done += per_call + n_elements;
    if (done <= limit(self, name.work_of_planning)) {
        self->n_hot = is_warm ? self->n_hot : 0;
        return note(self, call, done) < 0 ? -1 : 1;
    }
    self->n_hot += 1 + n_elements / per_call;
    return self->n_hot <= hot_calls;
}

static PyObject *hash_of(PyObject *key)
{
    const Py_hash_t hash = PyObject_Hash(key);
    return hash == -1 ? NULL : PyLong_FromSsize_t(hash);
}

/* admits(key, n_elements, is_alone): see counting.pyi. */
static PyObject *admits(counts *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 2 && n != 3)
        return PyErr_Format(PyExc_TypeError, "a key, a number of elements, and whether the process is alone are taken");
    const Py_ssize_t n_elements = PyLong_AsSsize_t(arguments[1]), most = limit(self, name.max_elements);
    if (PyErr_Occurred() || n_elements > most)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    PyObject *call = hash_of(arguments[0]);
    const int answer = call ? is_admitted(self, call, n_elements, n == 2 || arguments[2] == Py_True) : -1;
    Py_XDECREF(call);
    return answer < 0 || PyErr_Occurred() ? NULL : PyBool_FromLong(answer);
}

/* was_admitted(key): see counting.pyi. */
static PyObject *was_admitted(counts *self, PyObject *key)
{
    PyObject *call = hash_of(key);
    const int answer = call ? PyDict_Contains(self->work, call) : -1;
    Py_XDECREF(call);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

static PyMethodDef methods[] = {
    {"admits", (PyCFunction)(void (*)(void))admits, METH_FASTCALL, NULL},
    {"was_admitted", (PyCFunction)was_admitted, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type_of_counts = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.execution.counting.Counts",
    .tp_basicsize = sizeof(counts),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)counts_init,
    .tp_dealloc = (destructor)counts_dealloc,
    .tp_traverse = (traverseproc)counts_traverse,
    .tp_clear = (inquiry)counts_clear,
    .tp_methods = methods,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "counting", "How often calls were made, in C; see counting.c.", -1, NULL, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit_counting(void)
{
    const struct {PyObject **place; const char *text;} names[] = {
        {&name.elements_per_call, "ELEMENTS_PER_CALL"}, {&name.hot_calls, "HOT_CALLS"}, {&name.max_calls, "MAX_CALLS"},
        {&name.max_elements, "MAX_ELEMENTS"}, {&name.warm, "WARM"}, {&name.work_of_planning, "WORK_OF_PLANNING"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!(*names[k].place = PyUnicode_InternFromString(names[k].text)))
            return NULL;
    PyObject *module = PyType_Ready(&type_of_counts) < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Counts", (PyObject *)&type_of_counts) < 0)
        Py_CLEAR(module);
    return module;
}
