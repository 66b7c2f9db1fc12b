/*
 * What kernels compute of small arrays: functions whose bits NumPy does not give, and reductions of all elements to a
 * number.
 */

#define N_OF_KERNEL 3   /* what a call by a kernel has: its number, the dtypes of a number and of the result */

/* Whether a known call is that of a kernel which takes arrays that are cast. */
static int is_cast(PyObject *call)
{
    return PyTuple_CheckExact(call) && PyTuple_GET_SIZE(call) > N_OF_KERNEL;
}

/* Where the value of a number is as one of a dtype, as `value_of`; also of complex numbers. */
static void *value_in(PyObject *x, PyArray_Descr *dtype, Py_complex *memory)
{
    const int type = dtype->type_num;
    if (type != NPY_CDOUBLE && type != NPY_CFLOAT)
        return value_of(x, dtype, memory);
    if (!is_plain_number(x))
        return NULL;
    const Py_complex value = PyComplex_AsCComplex(x);
    if (PyErr_Occurred()) {
        PyErr_Clear();          /* it is too large */
        return NULL;
    }
    if (type == NPY_CDOUBLE)
        *memory = value;
    else if (fabs(value.real) < 1e38 && fabs(value.imag) < 1e38)
        memcpy(memory, (float[]){(float)value.real, (float)value.imag}, 2 * sizeof(float));
    else
        return NULL;            /* NumPy may warn of it */
    return memory;
}

/* Where the value of one of NumPy's complex numbers is, as an operand of a call: of the dtype that arrays are cast to, if
   any is. */
static void *value_for(PyObject *call, PyObject *x, Py_complex *memory)
{
    const int is_double = PyArray_IsScalar(x, CDouble), type = is_double ? NPY_CDOUBLE : NPY_CFLOAT;
    if (!(is_double || PyArray_IsScalar(x, CFloat))
            || (is_cast(call) && ((PyArray_Descr *)PyTuple_GET_ITEM(call, N_OF_KERNEL))->type_num != type))
        return NULL;
    PyArray_ScalarAsCtype(x, memory);
    return memory;
}

/* What a call by a kernel gives of n operands that are stretched to a shape; NULL without an exception if it is
   refused: a number that does not fit, or a result whose elements do not lie in the order of its dimensions. */
static PyObject *by_kernel(PyObject *queue, PyObject *call, PyObject *const *operands, int n, npy_intp *shape, int ndim)
{
    PyArray_Descr *number = (PyArray_Descr *)PyTuple_GET_ITEM(call, 1);
    PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GET_ITEM(call, 2);
    int64_t strides[4 * NPY_MAXDIMS] = {0}, addresses[4];
    Py_complex values[3];   /* memory for numbers of any dtype */
    int is_in_order = 0, is_turned = 0;
    for (int k = 0; k < n; k++) {
        if (!PyArray_Check(operands[k])) {
            void *value = value_in(operands[k], number, &values[k]);
            if (!value && !(value = value_for(call, operands[k], &values[k])))
                return NULL;
            addresses[k] = (int64_t)(intptr_t)value;
            continue;
        }
        PyArrayObject *x = (PyArrayObject *)operands[k];
        if (!PyArray_ISALIGNED(x))
            return NULL;
        addresses[k] = (int64_t)(intptr_t)PyArray_DATA(x);
        const int ahead = ndim - PyArray_NDIM(x);
        int is_full = !ahead;
        for (int d = ahead; d < ndim; d++)
            if (PyArray_DIM(x, d - ahead) == shape[d])
                strides[k * ndim + d] = PyArray_STRIDE(x, d - ahead);
            else
                is_full = 0;
        is_in_order |= is_full && PyArray_IS_C_CONTIGUOUS(x);
        is_turned |= is_full && !PyArray_IS_C_CONTIGUOUS(x);
    }
    if (is_turned && !is_in_order)
        return NULL;
    Py_INCREF(dtype);
    PyArrayObject *found = (PyArrayObject *)PyArray_Empty(ndim, shape, dtype, 0);
    if (!found)
        return NULL;
    for (int d = 0; d < ndim; d++)
        strides[n * ndim + d] = PyArray_STRIDE(found, d);
    addresses[n] = (int64_t)(intptr_t)PyArray_DATA(found);
    const int row = (int)PyLong_AsLong(PyTuple_GET_ITEM(call, 0));
    PyThreadState *state = unlocked(PyArray_SIZE(found));
    its.work_by_itself(1);
    its.run_elementwise(row, ndim, (int64_t *)shape, addresses, strides);
    its.work_by_itself(0);
    lock(state);
    if (count(queue) < 0)
        Py_CLEAR(found);
    return found ? PyArray_Return(found) : NULL;
}

/* The number to which a call by a kernel reduces an array. */
static PyObject *reduction_of(PyObject *queue, PyObject *call, PyArrayObject *a)
{
    const int row = (int)PyLong_AsLong(PyTuple_GET_ITEM(call, 0));
    PyArrayObject *found = (PyArrayObject *)PyArray_Empty(
        0, NULL, (PyArray_Descr *)Py_NewRef(PyTuple_GET_ITEM(call, 1)), 0);
    if (!found)
        return NULL;
    PyThreadState *state = unlocked(PyArray_SIZE(a));
    its.work_by_itself(1);
    const int failed = its.run_reduction(row, 0, NULL, NULL, NULL, PyArray_NDIM(a), (int64_t *)PyArray_DIMS(a),
                                         (int64_t *)PyArray_STRIDES(a), (intptr_t)PyArray_DATA(a),
                                         (intptr_t)PyArray_DATA(found));
    its.work_by_itself(0);
    lock(state);
    if (failed) {
        PyErr_NoMemory();
        Py_CLEAR(found);
    } else if (count(queue) < 0)
        Py_CLEAR(found);
    return found ? PyArray_Return(found) : NULL;
}

/* reduced(ufunc, x): see `functions.reduced`, of all elements; the number itself. */
static PyObject *reduced(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(2);
    PyObject *ufunc = arguments[0], *x = arguments[1], *elements = is_array(x) ? elements_of(x) : NULL, *queue;
    if (!elements || !ndim_of(elements) || !PyArray_SIZE((PyArrayObject *)elements))
        REFUSE(Py_None);
    PyArrayObject *a = (PyArrayObject *)elements;
    for (int d = 0; d < PyArray_NDIM(a); d++)
        if (PyArray_STRIDE(a, d) <= 0)
            REFUSE(Py_None);
    Py_INCREF(a);
    PyObject *call = known_call(its.quick_reduction, ufunc, (PyObject *)PyArray_DESCR(a), Py_None, 0);
    const int answer = !call ? -1 : call == Py_None ? 0 : is_quiet(&queue);
    PyObject *found = answer > 0 ? reduction_of(queue, call, a) : NULL;
    Py_DECREF(a);
    if (found)
        return made(found, Py_NewRef(its.of_number));
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
