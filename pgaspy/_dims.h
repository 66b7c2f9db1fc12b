/*
 * What C knows of the dimensions of layouts; see dims.py.
 */
#pragma once
#include "_attributes.h"

static struct {
    PyObject *block_dim;        /* the class */
    PyObject *axis, *extent, *n_procs;
} of_dims;

/* Have what is used here; -1 with an exception set. */
static int begin_dims(void)
{
    const attribute_name names[] = {
        {&of_dims.axis, "axis"}, {&of_dims.extent, "extent"}, {&of_dims.n_procs, "n_procs"}};
    PyObject *module = NULL;
    if (have_names(names, sizeof names / sizeof *names) == 0)
        module = PyImport_ImportModule("pgaspy.dims");
    of_dims.block_dim = module ? PyObject_GetAttrString(module, "BlockDim") : NULL;
    Py_XDECREF(module);
    return of_dims.block_dim ? 0 : -1;
}

/* A dimension of a layout: of `BlockDim`, all its fields; of any other, the first three. */
typedef struct {
    PyObject *itself;
    Py_ssize_t extent, n_procs, axis;       /* -1: it is not dealt out */
    int is_block;
    Py_ssize_t parent_extent, start, step;
} dimension;

static inline Py_ssize_t at(PyObject *tuple, Py_ssize_t d)      /* an extent, a step, an index */
{
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, d));
}

/* An attribute that is an integer, or None: then -1. */
static inline int number_of(PyObject *x, PyObject *attribute, Py_ssize_t *number)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    if (!found)
        return -1;
    *number = found == Py_None ? -1 : PyLong_AsSsize_t(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

static inline int read_dimension(PyObject *itself, dimension *dim)
{
    *dim = (dimension){.itself = itself, .is_block = Py_IS_TYPE(itself, (PyTypeObject *)of_dims.block_dim)};
    if (!dim->is_block)
        return number_of(itself, of_dims.extent, &dim->extent) < 0
            || number_of(itself, of_dims.n_procs, &dim->n_procs) < 0
            || number_of(itself, of_dims.axis, &dim->axis) < 0 ? -1 : 0;
    PyObject *axis = PyTuple_GET_ITEM(itself, 2);
    dim->extent = at(itself, 0), dim->n_procs = at(itself, 1);
    dim->axis = axis == Py_None ? -1 : PyLong_AsSsize_t(axis);
    dim->parent_extent = at(itself, 3), dim->start = at(itself, 4), dim->step = at(itself, 5);
    return PyErr_Occurred() ? -1 : 0;
}

/* An attribute that is a tuple of as many items, or of any number (-1): a new reference. */
static inline PyObject *tuple_of(PyObject *x, PyObject *attribute, Py_ssize_t n)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    if (found && (!PyTuple_Check(found) || (n >= 0 && PyTuple_GET_SIZE(found) != n))) {
        PyErr_Format(PyExc_TypeError, "%S of a layout: %R", attribute, found);
        Py_CLEAR(found);
    }
    return found;
}

static inline Py_ssize_t floor_div(Py_ssize_t a, Py_ssize_t b) /* b > 0 */
{
    return a / b - (a % b < 0);
}

/* An object of a class of named tuples: it takes over the fields, any of which may be NULL with an exception set. */
static inline PyObject *named_tuple(PyObject *class, PyObject *const *fields, int n)
{
    PyTypeObject *type = (PyTypeObject *)class;
    PyObject *made = PyErr_Occurred() ? NULL : type->tp_alloc(type, n);
#if PY_VERSION_HEX >= 0x030E0000
    if (made)
        ((PyTupleObject *)made)->ob_hash = -1;          /* which is not known yet */
#endif
    for (int k = 0; k < n; k++)
        if (made)
            PyTuple_SET_ITEM(made, k, fields[k]);
        else
            Py_XDECREF(fields[k]);
    return made;
}
