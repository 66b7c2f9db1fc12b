/*
 * The generations of what is kept, all caches together; and what is kept of which the collector of cyclic garbage is
 * told that it is none.
 */

#define N_LATELY 64     /* entries, until it is told of them: most of what is worked out about them is there then */

typedef struct {
    PyObject_HEAD
    PyObject *acyclic, *younger;                /* see _caches.pyi */
    Py_ssize_t max_bytes, nbytes, nbytes_older;
    PyObject *lately[2 * N_LATELY];             /* keys and values */
    int n_lately;
} generations;

/* Objects that are to be gone through, and the types of those that lead to themselves in no way. */
typedef struct {
    PyObject *acyclic, **objects;
    Py_ssize_t n, room;
} walk;

/* Whether an object is taken not to lead to itself: one of the types, or any plain container, as what is kept is made
   of these; -1 with an exception set. */
static int is_acyclic(PyObject *x, PyObject *acyclic)
{
    const int is_tuple = PyTuple_Check(x) && !Py_TYPE(x)->tp_dictoffset;
    if (is_tuple || PyList_CheckExact(x) || PyDict_CheckExact(x))
        return 1;
    return PySet_Contains(acyclic, (PyObject *)Py_TYPE(x));
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
        PyObject **more = PyMem_Realloc(self->objects, (2 * self->room + 64) * sizeof *more);
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

/* Tell the collector of what was kept lately; -1 with an exception set. No other thread comes by before it is told. */
static int tell_collector(generations *self)
{
    PyObject *lately[2 * N_LATELY];
    const int n = self->n_lately;
    memcpy(lately, self->lately, n * sizeof *lately);
    self->n_lately = 0;
    walk found = {self->acyclic, NULL, 0, 0};
    int answer = 0;
    for (int k = 0; k < n && answer == 0; k++)
        answer = forget(lately[k], &found);
    while (found.n && answer == 0) {
        PyObject *x = found.objects[--found.n];
        answer = Py_TYPE(x)->tp_traverse(x, forget, &found);
    }
    PyMem_Free(found.objects);
    for (int k = 0; k < n; k++)
        Py_DECREF(lately[k]);
    return answer;
}

static PyObject *generations_untrack(generations *self, PyObject *none)
{
    return tell_collector(self) < 0 ? NULL : Py_NewRef(Py_None);
}

/* Note an entry; -1 with an exception set. */
static int note_lately(generations *self, PyObject *key, PyObject *value)
{
    while (self->n_lately == 2 * N_LATELY)              /* what it ends may note others */
        if (tell_collector(self) < 0)
            return -1;
    self->lately[self->n_lately++] = Py_NewRef(key);
    self->lately[self->n_lately++] = Py_NewRef(value);
    return 0;
}

static int generations_init(generations *self, PyObject *arguments, PyObject *keywords)
{
    if (!PyArg_ParseTuple(arguments, "n", &self->max_bytes))
        return -1;
    Py_XSETREF(self->acyclic, PySet_New(NULL));
    Py_XSETREF(self->younger, PyList_New(0));
    return self->acyclic && self->younger ? 0 : -1;
}

static int generations_traverse(generations *self, visitproc visit, void *arg)
{
    Py_VISIT(self->acyclic);
    Py_VISIT(self->younger);
    for (int k = 0; k < self->n_lately; k++)
        Py_VISIT(self->lately[k]);
    return 0;
}

static int generations_clear(generations *self)
{
    Py_CLEAR(self->acyclic);
    Py_CLEAR(self->younger);
    while (self->n_lately)
        Py_DECREF(self->lately[--self->n_lately]);
    return 0;
}

static void generations_dealloc(generations *self)
{
    PyObject_GC_UnTrack(self);
    generations_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef members_of_generations[] = {
    {"acyclic", T_OBJECT_EX, offsetof(generations, acyclic), READONLY, NULL},
    {"younger", T_OBJECT_EX, offsetof(generations, younger), 0, NULL},
    {"max_bytes", T_PYSSIZET, offsetof(generations, max_bytes), 0, NULL},
    {"nbytes", T_PYSSIZET, offsetof(generations, nbytes), 0, NULL},
    {"nbytes_older", T_PYSSIZET, offsetof(generations, nbytes_older), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods_of_generations[] = {
    {"untrack", (PyCFunction)generations_untrack, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type_of_generations = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy._caches.Generations",
    .tp_basicsize = sizeof(generations),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)generations_init,
    .tp_dealloc = (destructor)generations_dealloc,
    .tp_traverse = (traverseproc)generations_traverse,
    .tp_clear = (inquiry)generations_clear,
    .tp_members = members_of_generations,
    .tp_methods = methods_of_generations,
};
