/*
 * How often calls were made, in C: see tiers.py. Each that may be executed at once is counted.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include "counting.h"

typedef struct {
    Py_hash_t call;             /* the hash of its key */
    Py_ssize_t done;            /* 0 where there is no call */
} counted;

typedef struct {
    PyObject_HEAD
    counted *work;              /* what calls have taken, each at the place of its hash, or the next free one */
    Py_ssize_t n_places, n_calls;   /* a power of 2, at least twice as many as there are calls; and these */
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
    if (self->work || self->max_calls <= 0 || self->elements_per_call <= 0) {
        PyErr_SetString(PyExc_ValueError, "limits are positive, and set once");
        return -1;
    }
    for (self->n_places = 2; self->n_places <= 2 * self->max_calls; self->n_places *= 2)
        ;
    if (!(self->work = PyMem_Calloc((size_t)self->n_places, sizeof *self->work))) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void counts_dealloc(counts *self)
{
    PyMem_Free(self->work);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Where it is noted what a call has taken, or would be. */
static counted *place_of_call(counts *self, Py_hash_t call)
{
    size_t k = (size_t)call ^ (size_t)call >> 15;
    while (self->work[k &= self->n_places - 1].done && self->work[k].call != call)
        k++;
    return &self->work[k];
}

/* Have it known what a call has taken, at its place; where there are `max_calls` others, these are forgotten. */
static void note(counts *self, counted *place, Py_hash_t call, Py_ssize_t done)
{
    if (!place->done && self->n_calls++ == self->max_calls) {
        memset(self->work, 0, self->n_places * sizeof *self->work);
        self->n_calls = 1;
        place = place_of_call(self, call);
    }
    *place = (counted){call, done};
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

/* Count a call of so many elements, which is of nodes, or of one kernel: whether to do it at once. */
static int is_admitted(counts *self, Py_hash_t call, Py_ssize_t n_elements, int is_alone, int has_nodes)
{
    counted *place = place_of_call(self, call);
    Py_ssize_t done = place->done;
    const int is_warm = done >= self->warm && !is_alone;
    if (!(is_warm && self->records) && done <= self->work_of_planning) {
        done += self->elements_per_call + n_elements;
        if (done <= self->work_of_planning && !is_warm)
            self->gained = self->records = 0;
        note(self, place, call, done);
        if (done <= self->work_of_planning)
            return 1;
    }
    gain(self, has_nodes ? self->gain_of_nodes : n_elements / self->gainful_elements - 1);
    return !self->records;
}

static PyTypeObject type_of_counts;

/* See counting.h. */
static int admits_call(PyObject *own, PyObject *key, Py_ssize_t n_elements, int is_alone, int has_nodes)
{
    if (!own || !PyObject_TypeCheck(own, &type_of_counts)) {
        PyErr_SetString(PyExc_TypeError, "no counts");
        return -1;
    }
    counts *self = (counts *)own;
    if (n_elements > self->max_elements)
        return 0;
    const Py_hash_t call = PyObject_Hash(key);
    return call == -1 ? -1 : is_admitted(self, call, n_elements, is_alone, has_nodes);
}

/* admits(key, n_elements, is_alone, has_nodes): see counting.pyi. */
static PyObject *admits(counts *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "a key, a number of elements, and two truths are taken");
    const Py_ssize_t n_elements = PyLong_AsSsize_t(arguments[1]);
    const int answer = PyErr_Occurred() ? -1
        : admits_call((PyObject *)self, arguments[0], n_elements, arguments[2] == Py_True, arguments[3] == Py_True);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* was_admitted(key): see counting.pyi. */
static PyObject *was_admitted(counts *self, PyObject *key)
{
    const Py_hash_t call = PyObject_Hash(key);
    return call == -1 ? NULL : PyBool_FromLong(place_of_call(self, call)->done != 0);
}

#define LIMIT(name) {#name, T_PYSSIZET, offsetof(counts, name), 0, NULL}

static PyMemberDef members[] = {
    LIMIT(elements_per_call), LIMIT(gain_of_nodes), LIMIT(gainful_elements), LIMIT(max_elements), LIMIT(warm),
    LIMIT(work_of_planning), LIMIT(worth_recording), {NULL, 0, 0, 0, NULL},
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
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,       /* nothing that it holds leads to it */
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)counts_init,
    .tp_dealloc = (destructor)counts_dealloc,
    .tp_members = members,
    .tp_methods = methods,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "counting", "How often calls were made, in C; see counting.c.", -1, NULL, NULL, NULL, NULL,
    NULL,
};

static counting for_others = {admits_call};

PyMODINIT_FUNC PyInit_counting(void)
{
    PyObject *module = PyType_Ready(&type_of_counts) < 0 ? NULL : PyModule_Create(&definition);
    PyObject *capsule = module ? PyCapsule_New(&for_others, NAME_OF_COUNTING, NULL) : NULL;
    if (!capsule || PyModule_AddObjectRef(module, "_counting", capsule) < 0
            || PyModule_AddObjectRef(module, "Counts", (PyObject *)&type_of_counts) < 0)
        Py_CLEAR(module);
    Py_XDECREF(capsule);
    return module;
}
