/*
 * What a process holds of an array; see layout.py. Every new array asks for it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "_dims.h"

#define MAX_NDIM 64     /* as in layout.py */

static struct {
    PyObject *dims, *grid, *local_extent, *owned_interval, *pins;
} name;

static PyObject *class_of_held;

/* What a process holds along one dimension: so many indices, [first, first + n) where they are an interval. */
typedef struct {
    Py_ssize_t first, n;
    int is_interval;
} owned;

static Py_ssize_t limited(Py_ssize_t i, Py_ssize_t extent)
{
    return i < 0 ? 0 : i > extent ? extent : i;
}

/* As `BlockDim.owned_interval`: the indices of a window that lie in a part of its parent. */
static owned of_block(const dimension *dim, Py_ssize_t coord)
{
    const Py_ssize_t low = (Py_ssize_t)((__int128)coord * dim->parent_extent / dim->n_procs);
    const Py_ssize_t high = (Py_ssize_t)(((__int128)coord + 1) * dim->parent_extent / dim->n_procs);
    const Py_ssize_t first = limited(-floor_div(dim->start - low, dim->step), dim->extent);
    const Py_ssize_t stop = limited(-floor_div(dim->start - high, dim->step), dim->extent);
    return (owned){.first = first, .n = stop - first, .is_interval = 1};
}

/* -1 with an exception set. */
static int of_other(const dimension *dim, Py_ssize_t coord, owned *found)
{
    PyObject *number = PyLong_FromSsize_t(coord), *n = NULL;
    PyObject *interval = number ? PyObject_CallMethodOneArg(dim->itself, name.owned_interval, number) : NULL;
    *found = (owned){.is_interval = interval && interval != Py_None};
    if (found->is_interval && PyArg_ParseTuple(interval, "nn", &found->first, &found->n))
        found->n -= found->first;
    else if (interval && !found->is_interval && (n = PyObject_CallMethodOneArg(dim->itself, name.local_extent, number)))
        found->n = PyLong_AsSsize_t(n);
    Py_XDECREF(number);
    Py_XDECREF(interval);
    Py_XDECREF(n);
    return PyErr_Occurred() ? -1 : 0;
}

/* The place in a row-major grid of a rank. */
static PyObject *coords_of(PyObject *grid, Py_ssize_t rank)
{
    PyObject *coords = PyTuple_New(PyTuple_GET_SIZE(grid));
    for (Py_ssize_t axis = PyTuple_GET_SIZE(grid) - 1; coords && axis >= 0; axis--) {
        const Py_ssize_t n = at(grid, axis);
        PyObject *coord = n > 0 ? PyLong_FromSsize_t(rank % n) : NULL;
        if (!coord) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "a grid of %R", grid);
            Py_CLEAR(coords);
            break;
        }
        PyTuple_SET_ITEM(coords, axis, coord);
        rank /= n;
    }
    return coords;
}

/* Whether an array is pinned to a place in the grid, or not at all; -1 with an exception set. */
static int is_pinned_to(PyObject *pins, PyObject *coords)
{
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(pins); axis++) {
        PyObject *pin = PyTuple_GET_ITEM(pins, axis);
        if (pin != Py_None && at(pins, axis) != at(coords, axis))
            return PyErr_Occurred() ? -1 : 0;
    }
    return 1;
}

/* Have what a place in the grid holds along each dimension; -1 with an exception set. */
static int hold(PyObject *dims, PyObject *coords, owned *found)
{
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(dims); d++) {
        dimension dim;
        if (read_dimension(PyTuple_GET_ITEM(dims, d), &dim) < 0)
            return -1;
        if (dim.axis >= PyTuple_GET_SIZE(coords)) {
            PyErr_Format(PyExc_ValueError, "no axis %zd of a grid of %zd", dim.axis, PyTuple_GET_SIZE(coords));
            return -1;
        }
        const Py_ssize_t coord = dim.axis < 0 ? 0 : at(coords, dim.axis);
        if (dim.n_procs == 1)
            found[d] = (owned){.n = dim.extent, .is_interval = 1};
        else if (dim.is_block)
            found[d] = of_block(&dim, coord);
        else if (of_other(&dim, coord, &found[d]) < 0)
            return -1;
    }
    return 0;
}

static PyObject *held_of(PyObject *rank, PyObject *coords, int is_any, const owned *own, Py_ssize_t ndim)
{
    PyObject *intervals = PyTuple_New(ndim), *shape = PyTuple_New(ndim), *strides = PyTuple_New(ndim);
    Py_ssize_t stride = 1, size = 1;
    for (Py_ssize_t d = ndim - 1; d >= 0 && intervals && shape && strides; d--) {
        const Py_ssize_t n = is_any ? own[d].n : 0;
        PyTuple_SET_ITEM(intervals, d, own[d].is_interval
                         ? Py_BuildValue("(nn)", own[d].first, own[d].first + own[d].n) : Py_NewRef(Py_None));
        PyTuple_SET_ITEM(shape, d, PyLong_FromSsize_t(n));
        PyTuple_SET_ITEM(strides, d, PyLong_FromSsize_t(stride));
        stride *= n ? n : 1;
        size *= n;
    }
    PyObject *const fields[] = {Py_NewRef(rank), Py_NewRef(coords), PyBool_FromLong(is_any), intervals, shape, strides,
                                PyLong_FromSsize_t(size)};
    return named_tuple(class_of_held, fields, sizeof fields / sizeof *fields);
}

/* held(layout, rank): see _layouts.pyi. */
static PyObject *held(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 2 || !class_of_held)
        return PyErr_Format(PyExc_TypeError, "held takes a layout and a rank");
    PyObject *layout = arguments[0], *found = NULL, *coords = NULL, *dims = NULL, *pins = NULL;
    const Py_ssize_t rank = PyLong_AsSsize_t(arguments[1]);
    PyObject *grid = PyErr_Occurred() ? NULL : tuple_of(layout, name.grid, -1);
    if (grid && (coords = coords_of(grid, rank)) && (dims = tuple_of(layout, name.dims, -1)))
        pins = tuple_of(layout, name.pins, PyTuple_GET_SIZE(grid));
    owned own[MAX_NDIM];
    if (pins && PyTuple_GET_SIZE(dims) > MAX_NDIM)
        PyErr_Format(PyExc_ValueError, "a layout of %zd dimensions", PyTuple_GET_SIZE(dims));
    else if (pins) {
        const int is_any = is_pinned_to(pins, coords);
        if (is_any >= 0 && hold(dims, coords, own) == 0)
            found = held_of(arguments[1], coords, is_any, own, PyTuple_GET_SIZE(dims));
    }
    Py_XDECREF(grid);
    Py_XDECREF(coords);
    Py_XDECREF(dims);
    Py_XDECREF(pins);
    return found;
}

/* begin(Held): have the class. */
static PyObject *begin(PyObject *module, PyObject *class)
{
    if (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, &PyTuple_Type))
        return PyErr_Format(PyExc_TypeError, "no class of tuples: %R", class);
    Py_XSETREF(class_of_held, Py_NewRef(class));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"begin", begin, METH_O, NULL},
    {"held", (PyCFunction)(void (*)(void))held, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_layouts", "What `layout` has in C; see _layouts.c.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__layouts(void)
{
    const attribute_name names[] = {
        {&name.dims, "dims"}, {&name.grid, "grid"}, {&name.local_extent, "local_extent"},
        {&name.owned_interval, "owned_interval"}, {&name.pins, "pins"}};
    if (begin_dims() < 0 || have_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    return PyModule_Create(&definition);
}
