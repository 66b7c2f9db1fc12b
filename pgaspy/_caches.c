/*
 * Caches: see caches.py. Most of what is worked out about a statement is kept, and most of it is not found again: so to
 * keep it has to take little of the time in which it is worked out.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "_caches_lazy.h"
#include "_caches_kept.h"

#define SAMPLED 64      /* of so many entries, one is measured, as a walk takes longer than many take to make */

static struct {
    PyObject *estimated, *pop, *turn;
} name;

static generations *kept;       /* of all caches */

typedef struct {
    PyDictObject entries;       /* of the younger generation */
    PyObject *older;            /* a dictionary */
    Py_ssize_t n_kept, nbytes_each;
    char is_even;
} cache;

/* What an entry takes, in bytes; -1 with an exception set. */
static Py_ssize_t nbytes_of(cache *self, PyObject *key, PyObject *value)
{
    if (self->is_even || (self->nbytes_each && self->n_kept % SAMPLED))
        return self->nbytes_each;
    PyObject *found = PyObject_CallMethodObjArgs((PyObject *)self, name.estimated, key, value, NULL);
    const Py_ssize_t nbytes = found ? PyLong_AsSsize_t(found) : -1;
    Py_XDECREF(found);
    return nbytes;
}

/* Have a value found again; what it takes, in bytes, or -1 with an exception set. */
static Py_ssize_t keep(cache *self, PyObject *key, PyObject *value)
{
    const Py_ssize_t nbytes = nbytes_of(self, key, value);
    if (nbytes < 0)
        return -1;
    self->n_kept++;
    if (kept->nbytes + nbytes > kept->max_bytes / 2) {
        PyObject *none = PyObject_CallMethodNoArgs((PyObject *)kept, name.turn);
        if (!none)
            return -1;
        Py_DECREF(none);
    }
    if (!PyDict_GET_SIZE(self) && PyList_Append(kept->younger, (PyObject *)self) < 0)
        return -1;
    if (PyDict_SetItem((PyObject *)self, key, value) < 0 || note_lately(kept, key, value) < 0)
        return -1;
    kept->nbytes += nbytes;
    return nbytes;
}

/* What is kept of either generation: NULL without an exception where there is nothing. */
static PyObject *found_in(cache *self, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError((PyObject *)self, key);
    if (value || PyErr_Occurred() || !PyDict_GET_SIZE(self->older))
        return Py_XNewRef(value);
    PyObject *older = Py_NewRef(self->older);       /* a generation may end while keys are compared */
    value = PyObject_CallMethodObjArgs(older, name.pop, key, older, NULL);
    if (value == older)
        Py_CLEAR(value);
    Py_DECREF(older);
    if (!value)
        return NULL;
    const Py_ssize_t nbytes = keep(self, key, value);
    if (nbytes < 0)
        Py_CLEAR(value);
    else
        kept->nbytes_older -= nbytes;
    return value;
}

static PyObject *cache_keep(cache *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "keep takes a key and a value");
        return NULL;
    }
    const Py_ssize_t nbytes = keep(self, arguments[0], arguments[1]);
    return nbytes < 0 ? NULL : PyLong_FromSsize_t(nbytes);
}

static PyObject *cache_subscript(cache *self, PyObject *key)
{
    PyObject *value = found_in(self, key);
    return value || PyErr_Occurred() ? value : Py_NewRef(Py_None);
}

static int cache_assign(cache *self, PyObject *key, PyObject *value)    /* of the younger generation */
{
    return value ? PyDict_SetItem((PyObject *)self, key, value) : PyDict_DelItem((PyObject *)self, key);
}

static int cache_init(cache *self, PyObject *arguments, PyObject *keywords)
{
    Py_ssize_t nbytes = 0;
    if (!PyArg_ParseTuple(arguments, "|n", &nbytes))
        return -1;
    self->nbytes_each = nbytes;
    self->is_even = nbytes > 0;
    return 0;
}

static PyObject *cache_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    cache *self = (cache *)PyDict_Type.tp_new(type, NULL, NULL);
    if (self && !(self->older = PyDict_New()))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int cache_traverse(cache *self, visitproc visit, void *arg)
{
    Py_VISIT(self->older);
    return PyDict_Type.tp_traverse((PyObject *)self, visit, arg);
}

static int cache_clear(cache *self)
{
    if (self->older)
        PyDict_Clear(self->older);      /* it is always there */
    return PyDict_Type.tp_clear((PyObject *)self);
}

static void cache_dealloc(cache *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->older);
    PyDict_Type.tp_dealloc((PyObject *)self);
}

static int set_older(cache *self, PyObject *older, void *none)
{
    if (!older || !PyDict_CheckExact(older)) {
        PyErr_SetString(PyExc_TypeError, "the older generation is a dictionary");
        return -1;
    }
    Py_SETREF(self->older, Py_NewRef(older));
    return 0;
}

static PyObject *get_older(cache *self, void *none)
{
    return Py_NewRef(self->older);
}

static PyMemberDef members_of_caches[] = {
    {"n_kept", T_PYSSIZET, offsetof(cache, n_kept), READONLY, NULL},
    {"nbytes_each", T_PYSSIZET, offsetof(cache, nbytes_each), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes_of_caches[] = {
    {"older", (getter)get_older, (setter)set_older, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods_of_caches[] = {
    {"keep", (PyCFunction)(void (*)(void))cache_keep, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMappingMethods mapping_of_caches = {
    .mp_length = (lenfunc)PyDict_Size,
    .mp_subscript = (binaryfunc)cache_subscript,
    .mp_ass_subscript = (objobjargproc)cache_assign,
};

static PyTypeObject type_of_caches = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy._caches.Generation",
    .tp_basicsize = sizeof(cache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = cache_new,
    .tp_init = (initproc)cache_init,
    .tp_dealloc = (destructor)cache_dealloc,
    .tp_traverse = (traverseproc)cache_traverse,
    .tp_clear = (inquiry)cache_clear,
    .tp_as_mapping = &mapping_of_caches,
    .tp_members = members_of_caches,
    .tp_getset = attributes_of_caches,
    .tp_methods = methods_of_caches,
};

/* A function whose results are kept, by its arguments. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *dict;
    cache *results;
    Py_ssize_t n_made;
} cached;

static PyObject *cached_call(cached *self, PyObject *const *arguments, size_t n_given, PyObject *keywords)
{
    const Py_ssize_t n = PyVectorcall_NARGS(n_given);
    if (keywords && PyTuple_GET_SIZE(keywords))
        return PyErr_Format(PyExc_TypeError, "%S takes no keywords", self->function);
    PyObject *key = PyTuple_New(n);
    for (Py_ssize_t k = 0; key && k < n; k++)
        PyTuple_SET_ITEM(key, k, Py_NewRef(arguments[k]));
    PyObject *value = key ? found_in(self->results, key) : NULL;
    if (key && !value && !PyErr_Occurred()) {
        value = PyObject_Vectorcall(self->function, arguments, n_given, NULL);
        self->n_made += value != NULL;
        if (value && keep(self->results, key, value) < 0)
            Py_CLEAR(value);
    }
    Py_XDECREF(key);
    return value;
}

static PyObject *cached_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *function, *results;
    if (!PyArg_ParseTuple(arguments, "OO!", &function, &type_of_caches, &results))
        return NULL;
    cached *self = (cached *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->call = (vectorcallfunc)cached_call;
    self->function = Py_NewRef(function);
    self->results = (cache *)Py_NewRef(results);
    return (PyObject *)self;
}

static int cached_traverse(cached *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->dict);
    Py_VISIT(self->results);
    return 0;
}

static int cached_clear(cached *self)
{
    Py_CLEAR(self->dict);               /* the others are there as long as it may be called */
    return 0;
}

static void cached_dealloc(cached *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->dict);
    Py_XDECREF(self->results);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *cached_repr(cached *self)
{
    return PyUnicode_FromFormat("<cached %R>", self->function);
}

static PyMemberDef members_of_cached[] = {
    {"n_made", T_PYSSIZET, offsetof(cached, n_made), READONLY, NULL},
    {"results", T_OBJECT_EX, offsetof(cached, results), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(cached, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes_of_cached[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject type_of_cached = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy._caches.Cached",
    .tp_basicsize = sizeof(cached),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(cached, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = cached_new,
    .tp_dealloc = (destructor)cached_dealloc,
    .tp_traverse = (traverseproc)cached_traverse,
    .tp_clear = (inquiry)cached_clear,
    .tp_dictoffset = offsetof(cached, dict),
    .tp_members = members_of_cached,
    .tp_getset = attributes_of_cached,
    .tp_repr = (reprfunc)cached_repr,
};

/* begin(kept): which generations all caches share. */
static PyObject *begin(PyObject *module, PyObject *given)
{
    if (!PyObject_TypeCheck(given, &type_of_generations))
        return PyErr_Format(PyExc_TypeError, "%R has no generations", given);
    Py_XSETREF(kept, (generations *)Py_NewRef(given));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"begin", begin, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_caches", "What `caches` has in C; see _caches.c.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__caches(void)
{
    const struct {const char *name; PyTypeObject *type;} types[] = {
        {"Cached", &type_of_cached}, {"Generation", &type_of_caches}, {"Generations", &type_of_generations},
        {"lazy", &type_of_lazy}};
    type_of_caches.tp_base = &PyDict_Type;
    name.estimated = PyUnicode_InternFromString("_estimated");
    name.pop = PyUnicode_InternFromString("pop");
    name.turn = PyUnicode_InternFromString("turn");
    PyObject *module = name.estimated && name.pop && name.turn ? PyModule_Create(&definition) : NULL;
    for (size_t k = 0; module && k < sizeof types / sizeof *types; k++)
        if (PyType_Ready(types[k].type) < 0
                || PyModule_AddObjectRef(module, types[k].name, (PyObject *)types[k].type) < 0)
            Py_CLEAR(module);
    if (module && PyModule_AddIntMacro(module, SAMPLED) < 0)
        Py_CLEAR(module);
    return module;
}
