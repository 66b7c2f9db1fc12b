/*
 * Sections of small arrays, and what is assigned to them, as `sections` does it.
 */

static int is_plain_bound(PyObject *bound)
{
    return bound == Py_None || PyLong_CheckExact(bound);
}

static int is_plain_index(PyObject *k)
{
    if (PyLong_CheckExact(k) || k == Py_None || k == Py_Ellipsis)
        return 1;
    if (!PySlice_Check(k))
        return 0;
    const PySliceObject *slice = (PySliceObject *)k;
    return is_plain_bound(slice->start) && is_plain_bound(slice->stop) && is_plain_bound(slice->step);
}

/* Whether a key is of integers, of slices whose bounds stay what they are, of new dimensions, and of `...`. */
static int is_slicing(PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return is_plain_index(key);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++)
        if (!is_plain_index(PyTuple_GET_ITEM(key, k)))
            return 0;
    return 1;
}

/* An integer of NumPy's, or an element that is one, as Python's: a new reference; NULL, mostly without an exception,
   where it is something else. */
static PyObject *integer_of(PyObject *k)
{
    PyObject *number = Py_TYPE(k) == its.number ? elements_of(k) : k;
    const int is_integer = number && PyArray_IsScalar(number, Integer) && !PyArray_IsScalar(number, Timedelta);
    return is_integer ? PyNumber_Index(number) : NULL;
}

static PyObject *plain_bound(PyObject *bound)
{
    return is_plain_bound(bound) ? Py_NewRef(bound) : integer_of(bound);
}

static PyObject *plain_index(PyObject *k)
{
    if (is_plain_index(k))
        return Py_NewRef(k);
    if (!PySlice_Check(k))
        return integer_of(k);
    const PySliceObject *slice = (PySliceObject *)k;
    PyObject *start = plain_bound(slice->start), *stop = start ? plain_bound(slice->stop) : NULL,
             *step = stop ? plain_bound(slice->step) : NULL, *found = step ? PySlice_New(start, stop, step) : NULL;
    Py_XDECREF(start);
    Py_XDECREF(stop);
    Py_XDECREF(step);
    return found;
}

/* A key, with Python's integers for others, see `sections._with_integers`: a new reference; NULL, mostly without an
   exception, where something else than `is_slicing` has it is in it. */
static PyObject *with_integers(PyObject *key)
{
    if (is_slicing(key))
        return Py_NewRef(key);
    if (!PyTuple_CheckExact(key))
        return plain_index(key);
    PyObject *found = PyTuple_New(PyTuple_GET_SIZE(key));
    for (Py_ssize_t k = 0; found && k < PyTuple_GET_SIZE(key); k++) {
        PyObject *index = plain_index(PyTuple_GET_ITEM(key, k));
        if (index)
            PyTuple_SET_ITEM(found, k, index);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* The elements that a key names, if they are few enough: a new reference; NULL without an exception where there are
   none, or `...` gives one element a shape. */
static PyObject *part_of(PyObject *elements, PyObject *key)
{
    PyObject *found = PyObject_GetItem(elements, key);
    if (!found) {
        if (PyErr_ExceptionMatches(PyExc_IndexError) || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear();
        return NULL;
    }
    PyArrayObject *part = (PyArrayObject *)found;
    if (PyArray_Check(found) && !(PyArray_NDIM(part) && are_few(PyArray_SIZE(part), PyArray_ITEMSIZE(part))))
        Py_CLEAR(found);
    return found;
}

static PyObject *section_by(PyObject *x, PyObject *key)
{
    PyObject *queue, *a = SLOT(x, its.elements);
    if (!a || !PyArray_CheckExact(a))
        REFUSE(Py_None);
    const int answer = is_quiet(&queue);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *source = SLOT(x, its.source), *parent = like_of(x), *owner = x;
    int is_exact = 1;
    if (!parent)
        REFUSE(Py_None);
    if (source != Py_None) {
        owner = PyTuple_GET_ITEM(source, 1) == Py_None ? x : PyTuple_GET_ITEM(source, 1);
        is_exact = PyTuple_GET_ITEM(source, 2) == Py_True;
    }
    Py_INCREF(parent);      /* a finaliser may have its base made, as memory for tuples is wanted */
    Py_INCREF(owner);
    PyObject *found = part_of(a, key), *where = NULL;
    PyObject *like = found ? like_by_key(is_exact ? its.index : its.index_result, parent, key) : NULL;
    if (like)
        where = ndim_of(found) ? PyTuple_Pack(3, like, owner, Py_True) : PyTuple_Pack(3, like, Py_None, Py_False);
    Py_DECREF(owner);
    Py_DECREF(parent);
    if (!like) {
        Py_XDECREF(found);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    Py_DECREF(like);
    return made(found, where);
}

/* section(x, key): see `sections.section`. */
static PyObject *section(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(2);
    PyObject *key = Py_TYPE(arguments[0]) == its.array ? with_integers(arguments[1]) : NULL;
    if (!key)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *found = section_by(arguments[0], key);
    Py_DECREF(key);
    return found;
}

/* Whether elements of a dtype hold a Python number as it is. */
static int holds(PyArrayObject *elements, PyObject *number)
{
    switch (PyArray_DESCR(elements)->kind) {
    case 'f':
        return PyFloat_CheckExact(number) || PyLong_CheckExact(number);
    case 'i': case 'u':
        return PyLong_CheckExact(number);
    case 'c':
        return is_plain_number(number);
    default:
        return 0;
    }
}

/* Whether all who cast numbers give the same bits: see `small.is_exact_cast`. */
static int is_exact_cast(const PyArray_Descr *dtype, const PyArray_Descr *to)
{
    static const char of_other_floats[] = "egG";
    if (strchr(of_other_floats, dtype->type) || strchr(of_other_floats, to->type))
        return 0;
    if (dtype->kind == 'f')
        return strchr("fcb", to->kind) || (to->kind == 'i' && PyDataType_ELSIZE(to) >= 4);
    return strchr("iub", dtype->kind) ? strchr("iubfc", to->kind) != NULL : dtype->kind == 'c' && to->kind == 'c';
}

/* The first byte of a vector, and the one behind the last. */
static void find_ends(PyArrayObject *vector, char **first, char **stop)
{
    const npy_intp ahead = MAX(PyArray_DIM(vector, 0) - 1, 0) * PyArray_STRIDE(vector, 0);
    *first = PyArray_BYTES(vector) + MIN(ahead, 0);
    *stop = PyArray_BYTES(vector) + MAX(ahead, 0) + PyArray_ITEMSIZE(vector);
}

/* Whether values may be assigned to a part as NumPy does it: it copies nothing first in one dimension, where some may
   be overwritten. */
static int are_apart(PyArrayObject *part, PyObject *values)
{
    if (!PyArray_Check(values) || PyArray_NDIM(part) != 1)
        return 1;
    PyArrayObject *given = (PyArrayObject *)values;
    if (PyArray_NDIM(given) != 1)
        return PyArray_NDIM(given) == 0;
    char *first, *stop, *others_first, *others_stop;
    find_ends(part, &first, &stop);
    find_ends(given, &others_first, &others_stop);
    return PyArray_STRIDE(part, 0) == PyArray_STRIDE(given, 0) || stop <= others_first || others_stop <= first;
}

static PyObject *is_assigned_by(PyObject *x, PyObject *key, PyObject *value)
{
    PyObject *queue, *a = SLOT(x, its.elements);
    if (!a || !PyArray_CheckExact(a))
        REFUSE(Py_False);
    if (is_plain_number(value)) {
        if (!holds((PyArrayObject *)a, value))
            REFUSE(Py_False);
    } else {
        if (!(value = elements_of(value)))
            REFUSE(Py_False);
        PyArray_Descr *dtype = (PyArray_Descr *)dtype_of(value), *own = PyArray_DESCR((PyArrayObject *)a);
        const int fits = dtype && (dtype == own || is_exact_cast(dtype, own));
        Py_XDECREF(dtype);
        if (!fits)
            return dtype ? Py_NewRef(Py_False) : NULL;
    }
    int answer = is_quiet(&queue);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_False);
    PyObject *part = part_of(a, key);
    if (!part)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    Py_INCREF(a);
    Py_INCREF(value);
    if (ndim_of(part))
        answer = are_apart((PyArrayObject *)part, value) ? is_set(queue, part, Py_Ellipsis, value) : 0;
    else
        answer = ndim_of(value) ? 0 : is_set(queue, a, key, value);
    Py_DECREF(value);
    Py_DECREF(a);
    Py_DECREF(part);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* is_assigned(x, key, value): see `sections.is_assigned`. */
static PyObject *is_assigned(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(3);
    PyObject *x = arguments[0];
    PyObject *key = is_array(x) && !PySet_GET_SIZE(its.borrowers) ? with_integers(arguments[1]) : NULL;
    if (!key)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    PyObject *done = is_assigned_by(x, key, arguments[2]);
    Py_DECREF(key);
    return done;
}
