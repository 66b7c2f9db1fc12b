/*
 * Shapes of NumPy's arrays and numbers.
 */
#include <numpy/arrayobject.h>

static int ndim_of(PyObject *elements)
{
    return PyArray_Check(elements) ? PyArray_NDIM((PyArrayObject *)elements) : 0;
}

/* The shape to which two arrays are stretched: its dimensions, or -1 if there is none. */
static int joint_shape(PyObject *a, PyObject *b, npy_intp *shape)
{
    const int ndim = Py_MAX(ndim_of(a), ndim_of(b));
    PyObject *const operands[] = {a, b};
    for (int d = 0; d < ndim; d++)
        shape[d] = 1;
    for (int k = 0; k < 2; k++) {
        const int ahead = ndim - ndim_of(operands[k]);
        for (int d = ahead; d < ndim; d++) {
            const npy_intp own = PyArray_DIM((PyArrayObject *)operands[k], d - ahead);
            if (own != 1 && shape[d] != 1 && own != shape[d])
                return -1;
            shape[d] = own == 1 ? shape[d] : own;
        }
    }
    return ndim;
}
