/*
 * What an affine map consists of, and what C knows of Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "../_dims.h"
#include "families.h"

#define NBYTES 1800     /* of a map with its key, and with what is worked out about it, in the mean */
#define MAX_NDIM 64     /* as in `layout` */

/* What was worked out for the rank that asked last; NULL before. */
typedef struct {
    PyObject *found;
    Py_ssize_t rank;
} found_of_rank;

typedef struct {
    PyObject_HEAD
    PyObject *layout, *shape, *base_dims, *steps, *origin;      /* tuples of integers, and of None */
    PyObject *children;         /* a cache of what is derived from it, by keys; NULL as long as there is nothing */
    PyObject *fixed_coords, *along_axes;                        /* see affine.pyi; NULL until they are asked for */
    found_of_rank part, place;
    family *of;                 /* that on the process that asked last; NULL before */
    Py_ssize_t offset;          /* of what that process has, see `families` */
    Py_hash_t hash, hash_of_layout, hash_of_numbers;
    long long digest;           /* see `digests`; 0 until it is asked for */
    char is_read_only;
} affine;

static PyTypeObject type_of_affines;

static struct {
    PyObject *cache, *check_shape, *local_part, *whole_dim;     /* classes and functions */
    PyObject *all;                                      /* the key of all elements */
} its;

static struct {
    PyObject *as_index, *axes_of_several, *broadcast_to, *dim_from_axis, *dims, *grid,
             *grid_of_several, *hash, *held_by, *is_replicated, *keep, *last_held, *local_from_index, *n_procs, *older,
             *only_holder, *owner_from_part, *part_from_index, *pins, *refuse, *transpose, *unstretched;
} name;

static Py_ssize_t ndim_of(const affine *self)
{
    return PyTuple_GET_SIZE(self->shape);
}

/* Have what was found, which is taken over, unless another thread has had it meanwhile: what is there from now on, a
   borrowed reference; NULL: it is NULL, with an exception set. */
static PyObject *once(PyObject **place, PyObject *found)
{
    if (!found || *place) {
        Py_XDECREF(found);
        return found ? *place : NULL;
    }
    return *place = found;
}

/* Have an item, which is taken over, in the place of another one, or of nothing; -1: it is NULL. */
static int put(PyObject *tuple, Py_ssize_t k, PyObject *item)
{
    PyObject *before = PyTuple_GET_ITEM(tuple, k);
    PyTuple_SET_ITEM(tuple, k, item);
    Py_XDECREF(before);
    return item ? 0 : -1;
}

static Py_uhash_t mixed(Py_uhash_t hash, Py_uhash_t next)
{
    hash = (hash ^ next) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* Mix integers, or None, into a hash: the same one on every process. -1 with an exception set for anything else. */
static int mix(PyObject *numbers, Py_uhash_t *hash)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(numbers);
    *hash = mixed(*hash, (Py_uhash_t)n);
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *number = PyTuple_GET_ITEM(numbers, k);
        const Py_ssize_t value = number == Py_None ? PY_SSIZE_T_MIN : PyLong_AsSsize_t(number);
        if (value == -1 && PyErr_Occurred())
            return -1;
        *hash = mixed(*hash, (Py_uhash_t)value);
    }
    return 0;
}

/* A map of a class; it takes over the tuples, any of which may be NULL with an exception set. */
static PyObject *made(PyTypeObject *type, PyObject *layout, Py_hash_t hash_of_layout, PyObject *shape,
                      PyObject *base_dims, PyObject *steps, PyObject *origin)
{
    PyObject *const parts[] = {shape, base_dims, steps, origin};
    Py_uhash_t hash = 0;
    int is_complete = 1;
    for (int k = 0; k < 4 && is_complete; k++)
        is_complete = parts[k] && mix(parts[k], &hash) == 0;
    affine *found = is_complete ? (affine *)type->tp_alloc(type, 0) : NULL;
    if (!found) {
        for (int k = 0; k < 4; k++)
            Py_XDECREF(parts[k]);
        return NULL;
    }
    found->layout = Py_NewRef(layout);
    found->shape = shape, found->base_dims = base_dims, found->steps = steps, found->origin = origin;
    found->hash_of_layout = hash_of_layout;
    found->hash_of_numbers = (Py_hash_t)hash;
    hash = mixed(hash, (Py_uhash_t)hash_of_layout);
    found->hash = hash == (Py_uhash_t)-1 ? -2 : (Py_hash_t)hash;
    return (PyObject *)found;
}
