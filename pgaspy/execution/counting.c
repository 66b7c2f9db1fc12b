/*
 * How often calls were made, in C: see tiers.py. Each that may be executed at once is counted.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *work;             /* what calls have taken, by the hashes of their keys */
    Py_ssize_t gained;          /* by recording the latest calls, see `Tiers` */
    int records;
    Py_ssize_t elements_per_call, gain_of_nodes, gainful_elements, max_calls, max_elements, warm, work_of_planning,
               worth_recording;         /* see tiers.py */
} counts;

static int counts_init(counts *self, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"elements_per_call", "gain_of_nodes", "gainful_elements", "max_calls", "max_elements",
                            "warm", "work_of_planning", "worth_recording", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "$nnnnnnnn", names, &self->elements_per_call,
                                     &self->gain_of_nodes, &self->gainful_elements, &self->max_calls,
                                     &self->max_elements, &self->warm, &self->work_of_planning, &self->worth_recording))
        return -1;
    Py_XSETREF(self->work, PyDict_New());
    self->gained = self->records = 0;
    return self->work ? 0 : -1;
}

static int counts_traverse(counts *self, visitproc visit, void *arg)
{
    Py_VISIT(self->work);
    return 0;
}

static int counts_clear(counts *self)
{
    Py_CLEAR(self->work);
    return 0;
}

static void counts_dealloc(counts *self)
{
    PyObject_GC_UnTrack(self);
    counts_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Have it known what a call has taken; -1 with an exception set. */
static int note(counts *self, PyObject *call, Py_ssize_t done)
{
    if (PyDict_GET_SIZE(self->work) > self->max_calls)
        PyDict_Clear(self->work);
    PyObject *value = PyLong_FromSsize_t(done);
    const int failed = !value || PyDict_SetItem(self->work, call, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* Have recording gain or lose: it begins where it has gained enough, and ends where all of that is lost. */
static void gain(counts *self, Py_ssize_t gained)
{
    self->gained += gained;
    if (self->gained < 0)
        self->gained = 0;
    if (self->gained > self->worth_recording) {
        self->gained = self->worth_recording > 0 ? self->worth_recording : 0;
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
    if (PyErr_Occurred())
        return -1;
    const int is_warm = done >= self->warm && !is_alone;
    if (!(is_warm && self->records) && done <= self->work_of_planning) {
        done += self->elements_per_call + n_elements;
        if (done <= self->work_of_planning && !is_warm)
            self->gained = self->records = 0;
        if (note(self, call, done) < 0)
            return -1;
        if (done <= self->work_of_planning)
            return 1;
    }
    gain(self, has_nodes ? self->gain_of_nodes : n_elements / self->gainful_elements - 1);
    return !self->records;
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
    const Py_ssize_t n_elements = PyLong_AsSsize_t(arguments[1]);
    if (PyErr_Occurred() || n_elements > self->max_elements)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    PyObject *call = hash_of(arguments[0]);
    const int answer =
        call ? is_admitted(self, call, n_elements, arguments[2] == Py_True, arguments[3] == Py_True) : -1;
    Py_XDECREF(call);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* was_admitted(key): see counting.pyi. */
static PyObject *was_admitted(counts *self, PyObject *key)
{
    PyObject *call = hash_of(key);
    const int answer = call ? PyDict_Contains(self->work, call) : -1;
    Py_XDECREF(call);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

#define LIMIT(name) {#name, T_PYSSIZET, offsetof(counts, name), 0, NULL}

static PyMemberDef members[] = {
    LIMIT(elements_per_call), LIMIT(gain_of_nodes), LIMIT(gainful_elements), LIMIT(max_calls), LIMIT(max_elements),
    LIMIT(warm), LIMIT(work_of_planning), LIMIT(worth_recording), {NULL, 0, 0, 0, NULL},
};

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
    .tp_members = members,
    .tp_methods = methods,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "counting", "How often calls were made, in C; see counting.c.", -1, NULL, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit_counting(void)
{
    PyObject *module = PyType_Ready(&type_of_counts) < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Counts", (PyObject *)&type_of_counts) < 0)
        Py_CLEAR(module);
    return module;
}
