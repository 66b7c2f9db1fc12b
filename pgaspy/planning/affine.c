/*
 * Affine maps onto the index space of a base: what is derived from them, who has their elements, and what a process has
 * of them. A program's slices are many and mostly new, and each takes as long in Python as a statement may.
 */
#include "affine.h"
#include "affine_keys.h"
#include "affine_owners.h"
#include "affine_parts.h"
#include "affine_results.h"
#include "affine_families.h"
#include "affine_asked.h"

/* See to it that fields are those of a map, as they are taken for granted from then on; -1 with an exception set. */
static int check_map(PyObject *layout, PyObject *shape, PyObject *base_dims, PyObject *steps, PyObject *origin)
{
    const Py_ssize_t ndim = PyTuple_GET_SIZE(shape), n = PyTuple_GET_SIZE(origin);
    PyObject *dims = tuple_of(layout, name.dims, n);
    if (!dims)
        return -1;
    Py_DECREF(dims);
    int is_one = n <= MAX_NDIM && PyTuple_GET_SIZE(base_dims) == ndim && PyTuple_GET_SIZE(steps) == ndim;
    for (Py_ssize_t d = 0; d < ndim && is_one; d++) {
        PyObject *p = PyTuple_GET_ITEM(base_dims, d);
        is_one = p == Py_None || (PyLong_Check(p) && at(base_dims, d) >= 0 && at(base_dims, d) < n && at(steps, d));
    }
    if (!is_one && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "no view of %zd dimensions: shape %R, base dimensions %R, steps %R", n, shape,
                     base_dims, steps);
    return is_one ? 0 : -1;
}

static PyObject *affine_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    PyObject *layout, *shape, *base_dims, *steps, *origin;
    if ((keywords && PyDict_GET_SIZE(keywords))
            || !PyArg_ParseTuple(arguments, "OO!O!O!O!", &layout, &PyTuple_Type, &shape, &PyTuple_Type, &base_dims,
                                 &PyTuple_Type, &steps, &PyTuple_Type, &origin)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a view takes no keywords");
        return NULL;
    }
    if (check_map(layout, shape, base_dims, steps, origin) < 0)
        return NULL;
    PyObject *hash = PyObject_GetAttr(layout, name.hash);
    if (!hash)
        return NULL;
    const Py_hash_t hash_of_layout = PyLong_AsSsize_t(hash);
    Py_DECREF(hash);
    if (PyErr_Occurred())
        return NULL;
    return made(type, layout, hash_of_layout, Py_NewRef(shape), Py_NewRef(base_dims), Py_NewRef(steps),
                Py_NewRef(origin));
}

static int affine_traverse(affine *self, visitproc visit, void *arg)
{
    Py_VISIT(self->layout);
    Py_VISIT(self->shape);
    Py_VISIT(self->base_dims);
    Py_VISIT(self->steps);
    Py_VISIT(self->origin);
    Py_VISIT(self->children);
    Py_VISIT(self->fixed_coords);
    Py_VISIT(self->along_axes);
    Py_VISIT(self->part.found);
    Py_VISIT(self->place.found);
    return 0;
}

static int affine_clear(affine *self)
{
    Py_CLEAR(self->children);   /* the others lead to no map */
    return 0;
}

static void affine_dealloc(affine *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->layout);
    Py_XDECREF(self->shape);
    Py_XDECREF(self->base_dims);
    Py_XDECREF(self->steps);
    Py_XDECREF(self->origin);
    Py_XDECREF(self->children);
    Py_XDECREF(self->fixed_coords);
    Py_XDECREF(self->along_axes);
    Py_XDECREF(self->part.found);
    Py_XDECREF(self->place.found);
    Py_XDECREF(self->of);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static Py_hash_t affine_hash(affine *self)
{
    return self->hash;
}

static PyObject *affine_compare(affine *self, PyObject *other, int operation)
{
    if ((operation != Py_EQ && operation != Py_NE) || !PyObject_TypeCheck(other, &type_of_affines))
        Py_RETURN_NOTIMPLEMENTED;
    affine *b = (affine *)other;
    PyObject *const parts[][2] = {{self->shape, b->shape}, {self->origin, b->origin}, {self->steps, b->steps},
                                  {self->base_dims, b->base_dims}, {self->layout, b->layout}};
    int is_equal = self == b || self->hash == b->hash;
    for (int k = 0; k < 5 && is_equal > 0 && self != b; k++)
        is_equal = PyObject_RichCompareBool(parts[k][0], parts[k][1], Py_EQ);
    return is_equal < 0 ? NULL : PyBool_FromLong(is_equal == (operation == Py_EQ));
}

static PyMemberDef members[] = {
    {"layout", T_OBJECT_EX, offsetof(affine, layout), READONLY, NULL},
    {"shape", T_OBJECT_EX, offsetof(affine, shape), READONLY, NULL},
    {"base_dims", T_OBJECT_EX, offsetof(affine, base_dims), READONLY, NULL},
    {"steps", T_OBJECT_EX, offsetof(affine, steps), READONLY, NULL},
    {"origin", T_OBJECT_EX, offsetof(affine, origin), READONLY, NULL},
    {"digest", T_LONGLONG, offsetof(affine, digest), 0, NULL},
    {"hash_of_numbers", T_PYSSIZET, offsetof(affine, hash_of_numbers), READONLY, NULL},
    {"is_read_only", T_BOOL, offsetof(affine, is_read_only), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"along_axes", (getter)get_along_axes, NULL, NULL, NULL},
    {"fixed_coords", (getter)get_fixed_coords, NULL, NULL, NULL},
    {"memory_order", (getter)get_memory_order, NULL, NULL, NULL},
    {"only_holder", (getter)get_only_holder, NULL, NULL, NULL},
    {"stretched_dims", (getter)get_stretched_dims, NULL, NULL, NULL},
    {"unstretched", (getter)get_unstretched, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"index", (PyCFunction)affine_index, METH_O, NULL},
    {"transpose", (PyCFunction)affine_transpose, METH_O, NULL},
    {"broadcast_to", (PyCFunction)affine_broadcast_to, METH_O, NULL},
    {"disjoint", (PyCFunction)affine_disjoint, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type_of_affines = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.planning.affine.Affine",
    .tp_basicsize = sizeof(affine),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = affine_new,
    .tp_dealloc = (destructor)affine_dealloc,
    .tp_traverse = (traverseproc)affine_traverse,
    .tp_clear = (inquiry)affine_clear,
    .tp_hash = (hashfunc)affine_hash,
    .tp_richcompare = (richcmpfunc)affine_compare,
    .tp_members = members,
    .tp_getset = attributes,
    .tp_methods = methods,
};

#define FUNCTION(f) {#f, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    {"begin", begin_parts, METH_O, NULL},
    {"indices_within", indices_within, METH_VARARGS, NULL},
    {"interval", interval, METH_VARARGS, NULL},
    {"own_dims", own_dims, METH_O, NULL},
    FUNCTION(joint_shape), FUNCTION(lie_alike), FUNCTION(local_part), FUNCTION(place),
    FUNCTION(result_dims),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "affine", "Affine maps, in C; see affine.c.", -1, functions, NULL, NULL, NULL, NULL,
};

/* Have an attribute of a module. */
static PyObject *attribute_of(const char *module, const char *attribute)
{
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *found = imported ? PyObject_GetAttrString(imported, attribute) : NULL;
    Py_XDECREF(imported);
    return found;
}

static int have_all_names(void)
{
    const attribute_name names[] = {
        {&name.as_index, "_as_index"}, {&name.axes_of_several, "axes_of_several"},
        {&name.broadcast_to, "broadcast_to"}, {&name.dim_from_axis, "dim_from_axis"}, {&name.dims, "dims"},
        {&name.grid, "grid"}, {&name.grid_of_several, "grid_of_several"},
        {&name.hash, "_hash"}, {&name.held_by, "held_by"}, {&name.is_replicated, "is_replicated"},
        {&name.keep, "keep"}, {&name.last_held, "_last_held"}, {&name.local_from_index, "local_from_index"},
        {&name.n_procs, "n_procs"}, {&name.older, "older"}, {&name.only_holder, "only_holder"},
        {&name.owner_from_part, "owner_from_part"}, {&name.part_from_index, "part_from_index"}, {&name.pins, "pins"},
        {&name.refuse, "_refuse"}, {&name.transpose, "transpose"}, {&name.unstretched, "unstretched"}};
    return have_names(names, sizeof names / sizeof *names);
}

PyMODINIT_FUNC PyInit_affine(void)
{
    if (have_all_names() < 0 || !(its.all = PyTuple_Pack(1, Py_Ellipsis))
            || begin_dims() < 0
            || !(its.cache = attribute_of("pgaspy.caches", "EvenCache"))
            || !(its.check_shape = attribute_of("pgaspy.layout", "check_shape"))
            || !(its.whole_dim = attribute_of("pgaspy.dims", "whole_dim"))
            || PyType_Ready(&type_of_affines) < 0 || PyType_Ready(&type_of_families) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *capsule = module ? PyCapsule_New(&for_others, NAME_OF_FAMILIES, NULL) : NULL;
    if (!capsule || PyModule_AddObjectRef(module, "Affine", (PyObject *)&type_of_affines) < 0
            || PyModule_AddObjectRef(module, "_families", capsule) < 0)
        Py_CLEAR(module);
    Py_XDECREF(capsule);
    return module;
}
