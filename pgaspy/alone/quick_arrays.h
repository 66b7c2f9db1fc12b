/*
 * What C knows of Python: small arrays and their elements, whether anything is in their way, and how functions of their
 * dtypes are called.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>
#include "../_queue.h"
#include "../_at_once.h"
#include "../_numbers.h"
#include "../_attempts.h"
#include "../_shapes.h"

#define N_OF_DOUBLES 10
#define N_KNOWN 1024    /* functions of dtypes, a power of 2 */

typedef int run_reduction(int row, int n_kept, const int64_t *kept_shape, const int64_t *in_kept_strides,
                          const int64_t *out_strides, int n_reduced, const int64_t *reduced_shape,
                          const int64_t *in_reduced_strides, int64_t in_address, int64_t out_address);

/* What is known of a function of operands of a dtype and of another one, or of a Python class, which comes first or
   not: see `functions.quick_call`, and those beside it. */
typedef struct {
    PyObject *ufunc, *dtype, *other, *call;
    int is_first;
} known_function;

static struct {
    PyTypeObject *array, *number, *view, *like;
    Py_ssize_t elements, source, at_view;           /* the places of an array's attributes */
    Py_ssize_t max_elements, max_products;          /* of an array, and of a product */
    Py_ssize_t max_depth;                           /* of what follows one from another */
    PyObject *kinds;                                /* a set: these classes, and those of what is seen of arrays */
    PyObject *small;                                /* the dictionary of the module; from then on, calls are taken */
    PyObject *borrowers, *silent;                   /* a set, and a context in which NumPy's variable says so */
    PyObject *of_doubles[N_OF_DOUBLES];             /* functions of two doubles */
    PyObject *matmul, *negative, *power, *of_number;
    PyObject *quick_call, *quick_choice, *quick_reduction, *quick_product;  /* functions of `functions`, `likeness` */
    PyObject *index, *index_result, *likeness, *like_of_all, *multiply, *result, *sum_along, *view_of;
    const attempts *attempts;                       /* in jobs of several processes */
    run_elementwise *run_elementwise;               /* of the kernels */
    run_reduction *run_reduction;
    void (*work_by_itself)(int);
} its;

static known_function known[N_KNOWN];

static struct {
    PyObject *is_on, *layout, *is_distributed, *base_dims, *dtype, *shape;
    PyObject *out, *out_and_where;      /* tuples */
} name;

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define REFUSE(what) return Py_NewRef(what)
#define TAKES(number) do { if (n != (number)) return PyErr_Format(PyExc_TypeError, "%d arguments", (int)n); } while (0)

/* Whether nothing is in the way of what is small: see `Queue.is_clear`. The queue is borrowed. */
static int is_quiet(PyObject **queue)
{
    if (!its.small || PyDict_GetItemWithError(its.small, name.is_on) != Py_True || !(*queue = queue_of_job()))
        return PyErr_Occurred() ? -1 : 0;
    return is_free(*queue, Py_True);
}

/* Whether it is of a class whose elements may be small: see `kinds`. */
static int is_array(PyObject *x)
{
    return Py_TYPE(x) == its.array || Py_TYPE(x) == its.number
        || (its.kinds && PySet_Contains(its.kinds, (PyObject *)Py_TYPE(x)) == 1);
}

/* Whether it is a number of NumPy's that is taken as it is; see `OF_NUMPY`. Those of other classes have their say. */
static int is_numpys(PyObject *x)
{
    const PyTypeObject *const taken[] = {&PyDoubleArrType_Type, &PyFloatArrType_Type, &PyLongArrType_Type,
        &PyIntArrType_Type, &PyBoolArrType_Type, &PyByteArrType_Type, &PyUByteArrType_Type, &PyShortArrType_Type,
        &PyUShortArrType_Type, &PyUIntArrType_Type, &PyULongArrType_Type};
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        if (Py_TYPE(x) == taken[k])
            return 1;
    return 0;
}

/* Whether elements of a size are few enough; see `small.are_few`. */
static int are_few(npy_intp n, npy_intp size)
{
    return n <= its.max_elements || n * size <= 8 * its.max_elements;
}

/* The elements of a global array, or of NumPy's number, few enough, borrowed; NULL where it has none. A truth value is
   NumPy's. */
static PyObject *elements_of(PyObject *x)
{
    if (PyBool_Check(x))
        return x == Py_True ? PyArrayScalar_True : PyArrayScalar_False;
    PyObject *found = is_array(x) ? SLOT(x, its.elements) : x;
    if (!found || found == Py_None)
        return NULL;
    if (found == x)
        return is_numpys(x) ? x : NULL;
    if (PyArray_CheckExact(found))
        return are_few(PyArray_SIZE((PyArrayObject *)found), PyArray_ITEMSIZE((PyArrayObject *)found)) ? found : NULL;
    return PyArray_CheckScalar(found) ? found : NULL;
}

/* The dtype of elements: a new reference. */
static PyObject *dtype_of(PyObject *elements)
{
    return PyArray_Check(elements) ? Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)elements))
                                   : (PyObject *)PyArray_DescrFromScalar(elements);
}

/* Whether elements are stretched to the shape of others, if they have another one, and these are not. */
static int fits(PyObject *elements, PyObject *others)
{
    const int n = ndim_of(elements), ahead = ndim_of(others) - n;
    if (ahead < 0)
        return 0;
    for (int d = 0; d < n; d++) {
        const npy_intp own = PyArray_DIM((PyArrayObject *)elements, d);
        if (own != 1 && own != PyArray_DIM((PyArrayObject *)others, d + ahead))
            return 0;
    }
    return 1;
}

/* What `find` says of a function of a dtype and another one, or a class, borrowed. */
static PyObject *known_call(PyObject *find, PyObject *ufunc, PyObject *dtype, PyObject *other, int is_first)
{
    const size_t mixed = (size_t)ufunc / 64 * 31 + (size_t)dtype / 32 * 17 + (size_t)other / 32 + (size_t)is_first;
    known_function *entry = &known[(mixed ^ mixed >> 10) & (N_KNOWN - 1)];
    if (entry->ufunc != ufunc || entry->dtype != dtype || entry->other != other || entry->is_first != is_first) {
        PyObject *arguments[] = {ufunc, dtype, other, is_first ? Py_True : Py_False};
        PyObject *call = PyObject_Vectorcall(find, arguments, 4, NULL);
        if (!call)
            return NULL;
        const known_function before = *entry;
        *entry = (known_function){Py_NewRef(ufunc), Py_NewRef(dtype), Py_NewRef(other), call, is_first};
        Py_XDECREF(before.ufunc);
        Py_XDECREF(before.dtype);
        Py_XDECREF(before.other);
        Py_XDECREF(before.call);
    }
    return entry->call;
}

/* Clear the exception of a call that refuses its operands; whether it was one. */
static int was_refused(void)
{
    if (!PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_IndexError)
            && !PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)
            && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return 0;
    PyErr_Clear();
    return 1;
}

/* What a function gives of two doubles, as NumPy's loops do; NULL without an exception if it is another one, or if
   these are no doubles. */
static PyObject *of_doubles(PyObject *ufunc, PyObject *const *operands)
{
    double x[2];
    for (int k = 0; k < 2; k++)
        if (PyArray_IsScalar(operands[k], Double) || PyFloat_CheckExact(operands[k]))
            x[k] = PyFloat_AS_DOUBLE(operands[k]);
        else
            return NULL;
    int operation = 0;
    while (operation < N_OF_DOUBLES && its.of_doubles[operation] != ufunc)
        operation++;
    double found;
    switch (operation) {
    case 0: found = x[0] + x[1]; break;
    case 1: found = x[0] - x[1]; break;
    case 2: found = x[0] * x[1]; break;
    case 3: found = x[0] / x[1]; break;
    case 4: PyArrayScalar_RETURN_BOOL_FROM_LONG(x[0] < x[1]);
    case 5: PyArrayScalar_RETURN_BOOL_FROM_LONG(x[0] <= x[1]);
    case 6: PyArrayScalar_RETURN_BOOL_FROM_LONG(x[0] > x[1]);
    case 7: PyArrayScalar_RETURN_BOOL_FROM_LONG(x[0] >= x[1]);
    case 8: PyArrayScalar_RETURN_BOOL_FROM_LONG(x[0] == x[1]);
    case 9: PyArrayScalar_RETURN_BOOL_FROM_LONG(x[0] != x[1]);
    default: return NULL;
    }
    PyObject *number = PyArrayScalar_New(Double);
    if (number)
        PyArrayScalar_ASSIGN(number, Double, found);
    return number;
}

/* Enter the context in which floating-point errors are passed over; not while anybody is in it. */
static int enter(void)
{
    if (PyContext_Enter(its.silent) == 0)
        return 1;
    PyErr_Clear();
    return 0;
}

/* What a function gives of n operands, and those behind them that have names, in that context; NULL without an
   exception if it refuses them. */
static PyObject *called(PyObject *queue, PyObject *function, PyObject *const *operands, Py_ssize_t n, PyObject *names)
{
    PyObject *found = n == 2 && !names ? of_doubles(function, operands) : NULL;
    if (found || PyErr_Occurred() || !enter()) {
        if (found && count(queue) < 0)
            Py_CLEAR(found);
        return found;
    }
    found = PyObject_Vectorcall(function, operands, n, names);
    if (PyContext_Exit(its.silent) < 0)
        Py_CLEAR(found);
    else if (!found)
        was_refused();
    else if (count(queue) < 0)
        Py_CLEAR(found);
    return found;
}

/* Assign a value to elements in that context: 1, or 0 if they refuse it, or -1. */
static int is_set(PyObject *queue, PyObject *elements, PyObject *key, PyObject *value)
{
    if (!enter())
        return 0;
    const int failed = PyObject_SetItem(elements, key, value);
    if (PyContext_Exit(its.silent) < 0)
        return -1;
    if (failed)
        return was_refused() ? 0 : -1;
    return count(queue) < 0 ? -1 : 1;
}

/* A global array of elements that come from a source: takes both references. */
static PyObject *made(PyObject *elements, PyObject *source)
{
    PyTypeObject *type = ndim_of(elements) ? its.array : its.number;
    PyObject *found = source ? type->tp_alloc(type, 0) : NULL;
    if (!found) {
        Py_DECREF(elements);
        Py_XDECREF(source);
        return NULL;
    }
    SLOT(found, its.elements) = elements;
    SLOT(found, its.source) = source;
    return found;
}
