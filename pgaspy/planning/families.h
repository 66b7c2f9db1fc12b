/*
 * Families of views, as other modules in C see them.
 *
 * Most views of a program are new, and most of those differ from others in the indices alone at which dimensions of
 * their base are fixed, such as the rows of a matrix that one process has. What follows from all the rest is worked out
 * once for such a family: where results of theirs lie, what lies as they do, and what the process has of them.
 */
#include <Python.h>

#define NAME_OF_FAMILIES "pgaspy.planning.affine._families"

/* Of the elements that a process has of a view: how many there are; along each dimension, the first index, how many
   there are, and the distance of one from the next in memory, in elements. */
typedef struct {
    PyObject_VAR_HEAD
    PyObject *layout;
    Py_hash_t hash;
    Py_ssize_t rank, ndim, n_dims, n_axes;  /* of views, of their base, and of the grid */
    Py_ssize_t size, offset;                /* of what is here; and where it begins, but for the fixed indices */
    char is_known, is_any;                  /* it is an interval of each dimension; there is some */
    char is_ascending;                      /* no step is negative */
    Py_ssize_t numbers[1];                  /* see the functions below */
} family;

static const Py_ssize_t *firsts_of(const family *own)
{
    return own->numbers + 4 * own->ndim + own->n_axes;
}

static const Py_ssize_t *extents_of(const family *own)
{
    return firsts_of(own) + own->ndim;
}

static const Py_ssize_t *distances_of(const family *own)
{
    return extents_of(own) + own->ndim;
}

/* What the module of views gives to others, by the capsule of that name. */
typedef struct {
    /* That of a view on a process, borrowed from the view, and where what is there begins in memory, in elements. NULL
       with an exception set. */
    family *(*of)(PyObject *view, Py_ssize_t rank, Py_ssize_t *offset);
    /* Whether a view lies as an output does, see `affine.pyi`; and whether two views of one base certainly share no
       element. -1 with an exception set. */
    int (*lie_alike)(PyObject *out, PyObject *view);
    int (*are_disjoint)(PyObject *x, PyObject *y);
    /* `affine.joint_shape` of so many shapes. */
    PyObject *(*joint_shape)(PyObject *module, PyObject *const *shapes, Py_ssize_t n);
} families;
