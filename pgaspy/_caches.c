/*
 * What `caches` has in C: attributes that are worked out when they are first asked for, and what the collector of cyclic
 * garbage has not to look at.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

/* Attributes. Most are asked for once, of something that was not there before: in Python, the descriptor takes longer
   than what many of them work out. */
typedef struct {
    PyObject_HEAD
    PyObject *function, *name, *doc;
} lazy;

static PyObject *lazy_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *function;
    if (keywords && PyDict_GET_SIZE(keywords))
        return PyErr_Format(PyExc_TypeError, "lazy takes no keywords");
    if (!PyArg_ParseTuple(arguments, "O", &function))
        return NULL;
    lazy *self = (lazy *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->function = Py_NewRef(function);
    self->name = PyObject_GetAttrString(function, "__name__");
    self->doc = self->name ? PyObject_GetAttrString(function, "__doc__") : NULL;
    if (!self->doc) {
        Py_DECREF(self);
        return NULL;
    }
    PyUnicode_InternInPlace(&self->name);
    return (PyObject *)self;
}

static int lazy_traverse(lazy *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    return 0;
}

static int lazy_clear(lazy *self)
{
    Py_CLEAR(self->function);
    return 0;
}

static void lazy_dealloc(lazy *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->name);
    Py_XDECREF(self->doc);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* What the function says of an object, which has it as an attribute from now on. */
static PyObject *lazy_get(PyObject *descriptor, PyObject *instance, PyObject *owner)
{
    lazy *self = (lazy *)descriptor;
    if (!instance || instance == Py_None)
        return Py_NewRef(descriptor);
    PyObject *value = PyObject_CallOneArg(self->function, instance);
    if (value && PyObject_GenericSetAttr(instance, self->name, value) < 0)
        Py_CLEAR(value);
    return value;
}

static PyMemberDef members[] = {
    {"__doc__", T_OBJECT, offsetof(lazy, doc), READONLY, NULL},
    {"__wrapped__", T_OBJECT, offsetof(lazy, function), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject type_of_lazy = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy._caches.lazy",
    .tp_basicsize = sizeof(lazy),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = lazy_new,
    .tp_dealloc = (destructor)lazy_dealloc,
    .tp_traverse = (traverseproc)lazy_traverse,
    .tp_clear = (inquiry)lazy_clear,
    .tp_descr_get = lazy_get,
    .tp_members = members,
};

/* Objects that are to be gone through, and the types of those that lead to themselves in no way. */
typedef struct {
    PyObject *acyclic, **objects;
    Py_ssize_t n, room;
} walk;

/* Whether an object is made of what cannot lead to it: of the types, or a container of these. */
static int is_acyclic(PyObject *x, PyObject *acyclic)
{
    const int is_tuple = PyTuple_Check(x) && !Py_TYPE(x)->tp_dictoffset;
    return is_tuple || PyList_CheckExact(x) || PyDict_CheckExact(x) || PySet_Contains(acyclic, (PyObject *)Py_TYPE(x));
}

/* Have the collector forget an object that was not gone through yet; -1: with an exception set. */
static int forget(PyObject *x, void *arg)
{
    walk *self = arg;
    if (!PyObject_GC_IsTracked(x))
        return 0;
    const int answer = is_acyclic(x, self->acyclic);
    if (answer <= 0)
        return answer;
    if (self->n == self->room) {
        PyObject **more = PyMem_Resize(self->objects, PyObject *, 2 * self->room + 64);
        if (!more) {
            PyErr_NoMemory();
            return -1;
        }
        self->objects = more;
        self->room = 2 * self->room + 64;
    }
    PyObject_GC_UnTrack(x);
    self->objects[self->n++] = x;
    return 0;
}

/* untrack(objects, acyclic): see _caches.pyi. No other thread comes by. */
static PyObject *untrack(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 2 || !PyList_CheckExact(arguments[0]) || !PyAnySet_Check(arguments[1])) {
        PyErr_SetString(PyExc_TypeError, "untrack takes a list and a set");
        return NULL;
    }
    walk found = {arguments[1], NULL, 0, 0};
    int answer = 0;
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(arguments[0]) && answer == 0; k++)
        answer = forget(PyList_GET_ITEM(arguments[0], k), &found);
    while (found.n && answer == 0) {
        PyObject *x = found.objects[--found.n];
        answer = Py_TYPE(x)->tp_traverse(x, forget, &found);
    }
    PyMem_Free(found.objects);
    return answer < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"untrack", (PyCFunction)(void (*)(void))untrack, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_caches", "What `caches` has in C; see _caches.c.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__caches(void)
{
    PyObject *module = PyType_Ready(&type_of_lazy) < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "lazy", (PyObject *)&type_of_lazy) < 0)
        Py_CLEAR(module);
    return module;
}
