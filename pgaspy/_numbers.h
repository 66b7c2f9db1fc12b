/*
 * Numbers as operands of kernels.
 */
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

static int is_plain_number(PyObject *x)         /* see `operands.WEAK` */
{
    return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyComplex_CheckExact(x);
}

/* Where the value of an operand is that is a number, as one of a dtype: in NumPy's itself, or of a Python number in memory
   for it. NULL without an exception where it is refused. */
static void *value_of(PyObject *x, PyArray_Descr *dtype, void *memory)
{
    const int type = dtype->type_num;
    if (PyArray_IsScalar(x, Double))
        return type == NPY_DOUBLE ? &PyArrayScalar_VAL(x, Double) : NULL;
    const int is_of_float = type == NPY_DOUBLE || type == NPY_FLOAT;
    if (!(PyLong_Check(x) || (is_of_float && PyFloat_CheckExact(x))))
        return NULL;
    const double real = is_of_float ? PyFloat_AsDouble(x) : 0;
    const long whole = is_of_float ? 0 : PyLong_AsLong(x);
    if (PyErr_Occurred()) {
        PyErr_Clear();      /* it is too large */
        return NULL;
    }
#define HOLDS(type) (*(type *)memory = (type)whole, *(type *)memory == whole)
    int is_held = is_of_float;
    switch (type) {
    case NPY_DOUBLE: *(double *)memory = real; break;
    case NPY_FLOAT: *(float *)memory = (float)real; break;
    case NPY_BOOL: is_held = PyBool_Check(x) && HOLDS(npy_bool); break;
    case NPY_BYTE: is_held = HOLDS(npy_byte); break;
    case NPY_UBYTE: is_held = HOLDS(npy_ubyte); break;
    case NPY_SHORT: is_held = HOLDS(npy_short); break;
    case NPY_INT: is_held = HOLDS(npy_int); break;
    case NPY_LONG: is_held = HOLDS(npy_long); break;
    }
#undef HOLDS
    return is_held ? memory : NULL;
}
