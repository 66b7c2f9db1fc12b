/*
 * Products of small matrices and vectors, as `functions.product` computes them.
 */

/* A matrix as BLAS takes it: its rows, columns and leading dimension as it lies in the order of columns, perhaps
   transposed. */
typedef struct {
    const void *elements;
    npy_intp shape[2], strides[2];
} matrix;

static matrix matrix_of(PyArrayObject *x)
{
    const npy_intp *shape = PyArray_DIMS(x), *strides = PyArray_STRIDES(x);
    return (matrix){PyArray_DATA(x), {shape[0], shape[1]}, {strides[0], strides[1]}};
}

static matrix transposed(matrix x)
{
    return (matrix){x.elements, {x.shape[1], x.shape[0]}, {x.strides[1], x.strides[0]}};
}

/* See `fortran.is_column_major` and `fortran.leading`. */
static int is_column_major(matrix x, npy_intp itemsize)
{
    return (x.strides[0] == itemsize && x.strides[1] >= itemsize * x.shape[0])
        || (x.shape[0] == 1 && x.strides[1] % itemsize == 0 && x.strides[1] > 0);
}

static int leading(matrix x, npy_intp itemsize)
{
    const int is_by_columns = is_column_major(x, itemsize);
    const npy_intp rows = x.shape[!is_by_columns], stride = x.strides[is_by_columns];
    return (int)MAX(MAX(stride / itemsize, rows), 1);
}

typedef void multiply(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                      const int *, const void *, const int *, const void *, void *, const int *);

/* C = A B by BLAS, as `add_product` calls it: of new memory, in the order of rows, that is not read. Whether it did: it
   does not where operands are to be copied before. */
static int is_multiplied(multiply *multiply_by_blas, PyArrayObject *found, PyArrayObject *left, PyArrayObject *right)
{
    const npy_intp itemsize = PyArray_ITEMSIZE(found);
    matrix a = matrix_of(left), b = matrix_of(right), c = matrix_of(found);
    if (!is_column_major(c, itemsize)) {        /* C' = B' A' */
        const matrix former = a;
        a = transposed(b), b = transposed(former), c = transposed(c);
    }
    const matrix operands[] = {a, b};
    for (int k = 0; k < 2; k++)
        if (operands[k].strides[0] % itemsize || operands[k].strides[1] % itemsize
                || !(is_column_major(operands[k], itemsize) || is_column_major(transposed(operands[k]), itemsize)))
            return 0;
    const int m = (int)c.shape[0], n = (int)c.shape[1], k = (int)a.shape[1];
    const int leading_a = leading(a, itemsize), leading_b = leading(b, itemsize), leading_c = leading(c, itemsize);
    const double doubles[] = {1, 0};
    const float floats[] = {1, 0};
    const char *factors = itemsize == sizeof(double) ? (const char *)doubles : (const char *)floats;
    PyThreadState *state = unlocked((npy_intp)m * n * k);
    multiply_by_blas(is_column_major(a, itemsize) ? "N" : "T", is_column_major(b, itemsize) ? "N" : "T", &m, &n, &k,
                     factors, a.elements, &leading_a, b.elements, &leading_b, factors + itemsize,
                     PyArray_DATA(found), &leading_c);
    lock(state);
    return 1;
}

/* The product of two matrices of at least a row and a column. */
static PyObject *product_of_matrices(PyObject *queue, PyObject *x, PyArrayObject *a, PyObject *y, PyArrayObject *b)
{
    npy_intp shape[] = {PyArray_DIM(a, 0), PyArray_DIM(b, 1)};
    PyObject *address = known_call(its.quick_product, its.matmul, (PyObject *)PyArray_DESCR(a), Py_None, 0);
    const npy_intp n_elements = shape[0] * shape[1];
    if (!address || n_elements > its.max_elements || n_elements * PyArray_DIM(a, 1) > its.max_products)
        return address ? Py_NewRef(Py_None) : NULL;
    multiply *multiply_by_blas = (multiply *)PyLong_AsVoidPtr(address);
    PyObject *first = view_like(x), *second = first ? view_like(y) : NULL;
    PyObject *other = second ? PyObject_CallOneArg(its.view_of, second) : NULL;
    PyObject *like = other ? like_by_key(its.multiply, first, other) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(other);
    PyObject *source = like ? PyTuple_Pack(3, like, Py_None, Py_True) : NULL;
    Py_XDECREF(like);
    if (!source)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *found = PyArray_Empty(2, shape, (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(a)), 0);
    if (!found || !is_multiplied(multiply_by_blas, (PyArrayObject *)found, a, b) || count(queue) < 0) {
        Py_XDECREF(found);
        Py_DECREF(source);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return made(found, source);
}

/* Whether an operand is multiplied here: a vector may be reversed. */
static int is_multipliable(PyArrayObject *x)
{
    const npy_intp *strides = PyArray_STRIDES(x);
    return PyArray_NDIM(x) == 1 ? strides[0] != 0 : strides[0] > 0 && strides[1] > 0;
}

/* The product of a matrix, or a vector, and a vector, or the other way round: that of NumPy, of a vector whose elements
   lie one after the other, as those of a reversed one do in a copy. `like` is the array whose first or last dimension is
   added up. */
static PyObject *product_of_vector(PyObject *queue, PyArrayObject *matrix, PyArrayObject *vector, PyObject *like,
                                   int last)
{
    const int is_reversed = PyArray_NDIM(matrix) == 1 && PyArray_STRIDE(matrix, 0) < 0;
    PyArrayObject *first = is_reversed ? PyArray_GETCONTIGUOUS(matrix) : (PyArrayObject *)Py_NewRef((PyObject *)matrix);
    PyObject *operands[] = {(PyObject *)first, (PyObject *)PyArray_GETCONTIGUOUS(vector)};
    PyObject *found = first && operands[1] ? called(queue, its.matmul, operands, 2, NULL) : NULL, *source = NULL;
    Py_XDECREF(operands[0]);
    Py_XDECREF(operands[1]);
    if (found && ndim_of(found)) {
        PyObject *follows = view_like(like), *axes = follows ? Py_BuildValue("(i)", last) : NULL;
        PyObject *what = axes ? like_by_key(its.sum_along, follows, axes) : NULL;
        source = what ? PyTuple_Pack(3, what, Py_None, Py_True) : NULL;
        Py_XDECREF(what);
        Py_XDECREF(axes);
        Py_XDECREF(follows);
    } else if (found)
        source = Py_NewRef(its.of_number);
    if (!source) {
        Py_XDECREF(found);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return made(found, source);
}

/* product(x, y): see `functions.product`; the array itself. */
static PyObject *product(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(2);
    PyObject *x = arguments[0], *y = arguments[1], *queue, *found;
    PyObject *left = is_array(x) ? elements_of(x) : NULL, *right = is_array(y) ? elements_of(y) : NULL;
    if (!left || !right || !PyArray_Check(left) || !PyArray_Check(right))
        REFUSE(Py_None);
    PyArrayObject *a = (PyArrayObject *)left, *b = (PyArrayObject *)right;
    const int ndim = PyArray_NDIM(a), others = PyArray_NDIM(b), type = PyArray_DESCR(a)->type_num;
    const int is_real = type == NPY_DOUBLE || type == NPY_FLOAT, has_vector = ndim == 1 || others == 1;
    const int is_other = PyTypeNum_ISINTEGER(type) || type == NPY_CDOUBLE || type == NPY_CFLOAT;
    if (PyArray_DESCR(a) != PyArray_DESCR(b) || !(is_real || (is_other && has_vector))
            || !(PyArray_ISALIGNED(a) && PyArray_ISALIGNED(b)) || ndim < 1 || ndim > 2 || others < 1 || others > 2
            || PyArray_DIM(a, ndim - 1) != PyArray_DIM(b, 0) || !PyArray_SIZE(a) || !PyArray_SIZE(b)
            || !is_multipliable(a) || !is_multipliable(b))
        REFUSE(Py_None);
    const int answer = is_quiet(&queue);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_None);
    Py_INCREF(a);
    Py_INCREF(b);
    if (ndim == 2 && others == 2)
        found = product_of_matrices(queue, x, a, y, b);
    else if (ndim == 2)
        found = product_of_vector(queue, a, b, x, 1);
    else {
        PyArrayObject *turned = (PyArrayObject *)PyArray_Transpose(b, NULL);
        found = turned ? product_of_vector(queue, turned, a, y, 0) : NULL;
        Py_XDECREF(turned);
    }
    Py_DECREF(a);
    Py_DECREF(b);
    return found;
}
