/*
 * How often calls were made, in C: see tiers.py. Each that may be executed at once is counted.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "../_attributes.h"

typedef struct {
    PyObject_HEAD
    PyObject *work, *limits;    /* what calls have taken, by the hashes of their keys; the constants, by their names */
    Py_ssize_t gained;          /* by recording the latest calls, see `Tiers` */
    int records;
} counts;

static struct {
    PyObject *elements_per_call, *gain_of_nodes, *gainful_elements, *max_calls, *max_elements, *warm, *work_of_planning,
             *worth_recording;
} name;

static int counts_init(counts *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *limits, *work;
    if (!PyArg_ParseTuple(arguments, "O!", &PyDict_Type, &limits) || !(work = PyDict_New()))
        return -1;
    Py_XSETREF(self->limits, Py_NewRef(limits));
    Py_XSETREF(self->work, work);
    self->gained = self->records = 0;
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

/* Have recording gain or lose: it begins where it has gained enough, and ends where all of that is lost. */
static void gain(counts *self, Py_ssize_t gained, Py_ssize_t enough)
{
    self->gained += gained;
    if (self->gained < 0)
        self->gained = 0;
    if (self->gained > enough) {
        self->gained = enough > 0 ? enough : 0;
        self->records = 1;
    } else if (!self->gained)
        self->records = 0;
}

/* Count a call of so many elements, which is of nodes, or of one kernel: whether to do it at once; -1 with an exception
   set. */
static int is_admitted(counts *self, PyObject *call, Py_ssize_t n_elements, int is_alone, int has_nodes)
{
    PyObject *known = PyDict_GetItemWithError(self->work, call);
    Py_ssize_t done = known ? PyLong_AsSsize_t(known) : 0;
    const Py_ssize_t gainful = limit(self, name.gainful_elements), enough = limit(self, name.worth_recording);
    const Py_ssize_t gained = has_nodes ? limit(self, name.gain_of_nodes) : n_elements / gainful - 1;
    const int is_warm = done >= limit(self, name.warm) && !is_alone;
    if (!PyErr_Occurred() && !(is_warm && self->records)) {
        done += limit(self, name.elements_per_call) + n_elements;
        if (done <= limit(self, name.work_of_planning)) {
            if (!is_warm)
                self->gained = self->records = 0;
            return note(self, call, done) < 0 ? -1 : 1;
        }
    }
    gain(self, gained, enough);
    return PyErr_Occurred() ? -1 : !self->records;
}

static PyObject *hash_of(PyObject *key)
{
    const Py_hash_t hash = PyObject_Hash(key);
    return hash == -1 ? NULL : PyLong_FromSsize_t(hash);
}

/* admits(key, n_elements, is_alone, has_nodes): see counting.pyi. */
static PyObject *admits(counts *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "a key, a number of elements, and two truths are taken");
    const Py_ssize_t n_elements = PyLong_AsSsize_t(arguments[1]), most = limit(self, name.max_elements);
    if (PyErr_Occurred() || n_elements > most)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    PyObject *call = hash_of(arguments[0]);
    const int answer = call ? is_admitted(self, call, n_elements, arguments[2] == Py_True, arguments[3] == Py_True) : -1;
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
    const attribute_name names[] = {
        {&name.elements_per_call, "ELEMENTS_PER_CALL"}, {&name.gain_of_nodes, "GAIN_OF_NODES"},
        {&name.gainful_elements, "GAINFUL_ELEMENTS"}, {&name.max_calls, "MAX_CALLS"},
        {&name.max_elements, "MAX_ELEMENTS"}, {&name.warm, "WARM"}, {&name.work_of_planning, "WORK_OF_PLANNING"},
        {&name.worth_recording, "WORTH_RECORDING"}};
    if (have_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    PyObject *module = PyType_Ready(&type_of_counts) < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Counts", (PyObject *)&type_of_counts) < 0)
        Py_CLEAR(module);
    return module;
}
