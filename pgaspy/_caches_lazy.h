/*
 * Attributes that are worked out when they are first asked for. Most are asked for once, of something that was not
 * there before: in Python, the descriptor takes longer than what many of them work out.
 */

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

static PyMemberDef members_of_lazy[] = {
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
    .tp_members = members_of_lazy,
};
