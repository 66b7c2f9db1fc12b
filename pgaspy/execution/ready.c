/*
 * Which nodes wait for nothing any more, in C: between two nodes, this is what an engine does. In Python it takes
 * longer than many a node.
 *
 * A run is anything that has the attributes named below; its numbers are in lists and its marks in a bytearray, which
 * Python sees, too.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>
#include "../_attributes.h"

typedef struct {
    PyObject_HEAD
    PyObject *messages, *takers, *computations;     /* heaps */
} ready_nodes;

static struct {
    PyObject *index, *is_communication, *is_done, *is_urgent, *held, *later, *memories, *n_left, *n_uses, *n_waits,
             *nbytes_ahead, *nodes, *position, *successors, *uses;
} name;

static PyObject *heappush;

/* An attribute of a type; NULL with an exception set. */
static PyObject *of_type(PyObject *x, PyObject *attribute, PyTypeObject *type)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    if (found && !PyObject_TypeCheck(found, type)) {
        PyErr_Format(PyExc_TypeError, "%U has to be a %s", attribute, type->tp_name);
        Py_CLEAR(found);
    }
    return found;
}

/* Add to an element of a list of integers: what it is then; -1 with an exception set. */
static Py_ssize_t add_to(PyObject *numbers, Py_ssize_t k, Py_ssize_t n)
{
    if (k < 0 || k >= PyList_GET_SIZE(numbers)) {
        PyErr_SetString(PyExc_IndexError, "there is no such node, or memory");
        return -1;
    }
    const Py_ssize_t old = PyLong_AsSsize_t(PyList_GET_ITEM(numbers, k));
    PyObject *value = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(old + n);
    return value && PyList_SetItem(numbers, k, value) == 0 ? old + n : -1;
}

static int push(PyObject *heap, PyObject *entry)
{
    PyObject *done = entry && heap ? PyObject_CallFunctionObjArgs(heappush, heap, entry, NULL) : NULL;
    Py_XDECREF(entry);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Put a node that takes memory ahead into its heap: those of an earlier operation come first. */
static int push_taker(ready_nodes *self, PyObject *run, PyObject *index, PyObject *number, PyObject *node)
{
    PyObject *position = PyObject_GetAttr(node, name.position);
    const int failed = !position || push(self->takers, PyTuple_Pack(4, index, position, number, run)) < 0;
    Py_XDECREF(position);
    return failed ? -1 : 0;
}

/* Put a node into the heap that it belongs to. */
static int push_node(ready_nodes *self, PyObject *run, PyObject *number, PyObject *node)
{
    PyObject *index = PyObject_GetAttr(run, name.index);
    const int takes = index ? is_true(node, name.nbytes_ahead) : -1;
    const int is_message = takes ? takes : is_true(node, name.is_communication);
    const int is_urgent = is_message ? is_message : is_true(node, name.is_urgent);
    int failed = is_urgent < 0;
    if (takes > 0)
        failed = push_taker(self, run, index, number, node) < 0;
    else if (is_message > 0)
        failed = push(self->messages, PyTuple_Pack(3, index, number, run)) < 0;
    else if (!failed)
        failed = push(self->computations, PyTuple_Pack(4, is_urgent ? Py_False : Py_True, index, number, run)) < 0;
    Py_XDECREF(index);
    return failed ? -1 : 0;
}

static int get_ready(ready_nodes *self, PyObject *run, PyObject *number)
{
    PyObject *nodes = PyObject_GetAttr(run, name.nodes);
    PyObject *node = nodes ? PyObject_GetItem(nodes, number) : NULL;
    const int failed = !node || push_node(self, run, number, node) < 0;
    Py_XDECREF(nodes);
    Py_XDECREF(node);
    return failed ? -1 : 0;
}

/* Let nodes of a run wait for one node less. */
static int let_wait_less(ready_nodes *self, PyObject *run, PyObject *waiting)
{
    PyObject *n_waits = of_type(run, name.n_waits, &PyList_Type);
    PyObject *numbers = n_waits ? PySequence_Tuple(waiting) : NULL;
    int failed = !numbers;
    for (Py_ssize_t k = 0; !failed && k < PyTuple_GET_SIZE(numbers); k++) {
        PyObject *number = PyTuple_GET_ITEM(numbers, k);
        const Py_ssize_t at = PyLong_AsSsize_t(number), left = PyErr_Occurred() ? -1 : add_to(n_waits, at, -1);
        failed = PyErr_Occurred() || (!left && get_ready(self, run, number) < 0);
    }
    Py_XDECREF(n_waits);
    Py_XDECREF(numbers);
    return failed ? -1 : 0;
}

/* The bytes that were filled ahead of a memory, which is not needed any more; -1 with an exception set. */
static Py_ssize_t no_longer_held(PyObject *held, PyObject *number)
{
    PyObject *nbytes = PyDict_GetItemWithError(held, number);
    const Py_ssize_t found = nbytes ? PyLong_AsSsize_t(nbytes) : 0;
    if (PyErr_Occurred() || (nbytes && PyDict_DelItem(held, number) < 0))
        return -1;
    return found;
}

/* Drop the memories of a run that nothing uses after a node: the bytes of these that were filled ahead; -1 with an
   exception set. */
static Py_ssize_t let_go(PyObject *run, PyObject *uses)
{
    PyObject *n_uses = of_type(run, name.n_uses, &PyList_Type), *held = of_type(run, name.held, &PyDict_Type);
    PyObject *memories = n_uses && held ? of_type(run, name.memories, &PyList_Type) : NULL;
    Py_ssize_t nbytes = memories ? 0 : -1;
    for (Py_ssize_t k = 0; nbytes >= 0 && k < PyTuple_GET_SIZE(uses); k++) {
        PyObject *number = PyTuple_GET_ITEM(uses, k);
        const Py_ssize_t at = PyLong_AsSsize_t(number), left = PyErr_Occurred() ? -1 : add_to(n_uses, at, -1);
        Py_ssize_t freed = 0;
        if (!PyErr_Occurred() && !left && PyList_SetItem(memories, at, Py_NewRef(Py_None)) == 0)
            freed = no_longer_held(held, number);
        nbytes = PyErr_Occurred() ? -1 : nbytes + freed;
    }
    Py_XDECREF(n_uses);
    Py_XDECREF(held);
    Py_XDECREF(memories);
    return nbytes;
}

/* Let nodes of later runs wait for one node less. */
static int let_later_wait_less(ready_nodes *self, PyObject *run, PyObject *number)
{
    PyObject *later = of_type(run, name.later, &PyDict_Type);
    PyObject *runs = later && PyDict_GET_SIZE(later) ? PyDict_GetItemWithError(later, number) : NULL;
    PyObject *waiting = runs ? PySequence_Tuple(runs) : NULL;
    int failed = !later || PyErr_Occurred() || (runs && PyDict_DelItem(later, number) < 0);
    for (Py_ssize_t k = 0; waiting && !failed && k < PyTuple_GET_SIZE(waiting); k++) {
        PyObject *of_run = PyTuple_GET_ITEM(waiting, k);
        failed = let_wait_less(self, PyTuple_GET_ITEM(of_run, 0), PyTuple_GET_ITEM(of_run, 1)) < 0;
    }
    Py_XDECREF(later);
    Py_XDECREF(waiting);
    return failed ? -1 : 0;
}

static int mark_done(PyObject *run, PyObject *number)
{
    PyObject *is_done = of_type(run, name.is_done, &PyByteArray_Type), *n_left = PyObject_GetAttr(run, name.n_left);
    const Py_ssize_t k = PyLong_AsSsize_t(number), n = n_left ? PyLong_AsSsize_t(n_left) : -1;
    PyObject *left = is_done && !PyErr_Occurred() ? PyLong_FromSsize_t(n - 1) : NULL;
    if (left && (k < 0 || k >= PyByteArray_GET_SIZE(is_done)))
        PyErr_SetString(PyExc_IndexError, "there is no such node");
    else if (left && PyObject_SetAttr(run, name.n_left, left) == 0)
        PyByteArray_AS_STRING(is_done)[k] = 1;
    Py_XDECREF(is_done);
    Py_XDECREF(n_left);
    Py_XDECREF(left);
    return PyErr_Occurred() ? -1 : 0;
}

/* _make_ready(run, number): see ready.pyi. */
static PyObject *make_ready(ready_nodes *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 2)
        return PyErr_Format(PyExc_TypeError, "a run and a number are taken");
    return get_ready(self, arguments[0], arguments[1]) < 0 ? NULL : Py_NewRef(Py_None);
}

/* _end(run, number, node): see ready.pyi. */
static PyObject *end(ready_nodes *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 3)
        return PyErr_Format(PyExc_TypeError, "a run, a number and a node are taken");
    PyObject *run = arguments[0], *number = arguments[1];
    PyObject *uses = of_type(arguments[2], name.uses, &PyTuple_Type);
    PyObject *successors = uses ? of_type(arguments[2], name.successors, &PyTuple_Type) : NULL;
    Py_ssize_t nbytes = successors && mark_done(run, number) == 0 ? 0 : -1;
    if (nbytes == 0 && PyTuple_GET_SIZE(uses))
        nbytes = let_go(run, uses);
    if (nbytes >= 0 && ((PyTuple_GET_SIZE(successors) && let_wait_less(self, run, successors) < 0)
                        || let_later_wait_less(self, run, number) < 0))
        nbytes = -1;
    Py_XDECREF(uses);
    Py_XDECREF(successors);
    return nbytes < 0 ? NULL : PyLong_FromSsize_t(nbytes);
}

/* Note that nodes of a run wait for one of an earlier run, if that is not done. */
static int wait_for(PyObject *is_done, PyObject *later, PyObject *number, PyObject *run, PyObject *n_waits,
                    PyObject *waiting)
{
    const Py_ssize_t at = PyLong_AsSsize_t(number);
    if (at < 0 || at >= PyByteArray_GET_SIZE(is_done)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_IndexError, "there is no such node");
        return -1;
    }
    if (PyByteArray_AS_STRING(is_done)[at])
        return 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(waiting); k++) {
        const Py_ssize_t own = PyLong_AsSsize_t(PyTuple_GET_ITEM(waiting, k));
        if (PyErr_Occurred() || add_to(n_waits, own, 1) < 0)
            return -1;
    }
    PyObject *fresh = PyList_New(0), *runs = fresh ? PyDict_SetDefault(later, number, fresh) : NULL;
    PyObject *entry = runs ? PyTuple_Pack(2, run, waiting) : NULL;
    const int failed = !entry || PyList_Append(runs, entry) < 0;
    Py_XDECREF(fresh);
    Py_XDECREF(entry);
    return failed ? -1 : 0;
}

/* _follow(run, earlier, conflicts): see ready.pyi. */
static PyObject *follow(ready_nodes *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 3 || !PyDict_Check(arguments[2]))
        return PyErr_Format(PyExc_TypeError, "two runs and a dict are taken");
    PyObject *run = arguments[0], *is_done = of_type(arguments[1], name.is_done, &PyByteArray_Type);
    PyObject *later = is_done ? of_type(arguments[1], name.later, &PyDict_Type) : NULL;
    PyObject *n_waits = later ? of_type(run, name.n_waits, &PyList_Type) : NULL, *number, *waiting;
    int failed = !n_waits;
    for (Py_ssize_t place = 0; !failed && PyDict_Next(arguments[2], &place, &number, &waiting);) {
        PyObject *numbers = PySequence_Tuple(waiting);
        failed = !numbers || wait_for(is_done, later, number, run, n_waits, numbers) < 0;
        Py_XDECREF(numbers);
    }
    Py_XDECREF(is_done);
    Py_XDECREF(later);
    Py_XDECREF(n_waits);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* _make_all_ready(run): see ready.pyi. */
static PyObject *make_all_ready(ready_nodes *self, PyObject *run)
{
    PyObject *n_waits = of_type(run, name.n_waits, &PyList_Type);
    int failed = !n_waits;
    for (Py_ssize_t k = 0; !failed && k < PyList_GET_SIZE(n_waits); k++) {
        if (PyLong_AsSsize_t(PyList_GET_ITEM(n_waits, k)))
            continue;
        PyObject *number = PyLong_FromSsize_t(k);
        failed = !number || get_ready(self, run, number) < 0;
        Py_XDECREF(number);
    }
    Py_XDECREF(n_waits);
    return failed || PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    ready_nodes *self = (ready_nodes *)type->tp_alloc(type, 0);
    if (self && !((self->messages = PyList_New(0)) && (self->takers = PyList_New(0))
                  && (self->computations = PyList_New(0))))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(ready_nodes *self, visitproc visit, void *arg)
{
    Py_VISIT(self->messages);
    Py_VISIT(self->takers);
    Py_VISIT(self->computations);
    return 0;
}

static int clear(ready_nodes *self)
{
    Py_CLEAR(self->messages);
    Py_CLEAR(self->takers);
    Py_CLEAR(self->computations);
    return 0;
}

static void dealloc(ready_nodes *self)
{
    PyObject_GC_UnTrack(self);
    clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL

static PyMethodDef methods[] = {
    {"_make_ready", FAST(make_ready), NULL},
    {"_end", FAST(end), NULL},
    {"_follow", FAST(follow), NULL},
    {"_make_all_ready", (PyCFunction)make_all_ready, METH_O, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"_messages", T_OBJECT_EX, offsetof(ready_nodes, messages), 0, NULL},
    {"_takers", T_OBJECT_EX, offsetof(ready_nodes, takers), 0, NULL},
    {"_computations", T_OBJECT_EX, offsetof(ready_nodes, computations), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject type_of_ready_nodes = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.execution.ready.ReadyNodes",
    .tp_basicsize = sizeof(ready_nodes),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = new,
    .tp_dealloc = (destructor)dealloc,
    .tp_traverse = (traverseproc)traverse,
    .tp_clear = (inquiry)clear,
    .tp_methods = methods,
    .tp_members = members,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "ready", "Which nodes wait for nothing any more, in C; see ready.c.", -1, NULL, NULL, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC PyInit_ready(void)
{
    const attribute_name names[] = {
        {&name.index, "index"}, {&name.is_communication, "is_communication"}, {&name.is_done, "is_done"},
        {&name.is_urgent, "is_urgent"}, {&name.held, "held"}, {&name.later, "later"}, {&name.memories, "memories"},
        {&name.n_left, "n_left"}, {&name.n_uses, "n_uses"}, {&name.n_waits, "n_waits"},
        {&name.nbytes_ahead, "nbytes_ahead"}, {&name.nodes, "nodes"}, {&name.position, "position"},
        {&name.successors, "successors"}, {&name.uses, "uses"}};
    if (have_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    PyObject *heapq = PyImport_ImportModule("heapq");
    heappush = heapq ? PyObject_GetAttrString(heapq, "heappush") : NULL;
    Py_XDECREF(heapq);
    PyObject *module = heappush && PyType_Ready(&type_of_ready_nodes) == 0 ? PyModule_Create(&definition) : NULL;
    if (module && PyModule_AddObjectRef(module, "ReadyNodes", (PyObject *)&type_of_ready_nodes) < 0)
        Py_CLEAR(module);
    return module;
}
