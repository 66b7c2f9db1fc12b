/*
 * What most statements on small arrays of one process are: operators, sections and assignments of arrays that have
 * their elements, while nothing else is under way. To look at that in Python takes ten times as long as NumPy does.
 *
 * Everything here is what `functions` and `sections` do. A call that is anything else is refused (None, or False)
 * before it has done anything, and left to them. Of the program's code, only finalisers, signal handlers and other
 * threads may run meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#define N_OF_DOUBLES 10
#define N_KNOWN 1024    /* functions of dtypes, a power of 2 */

/* A function of operands of a dtype and of another one, or of a Python class: the dtype that it gives; None where it is
   not computed here. */
typedef struct {
    PyObject *ufunc, *dtype, *other, *result;
} known_function;

static struct {
    PyTypeObject *array, *number, *view, *like;
    Py_ssize_t elements, source, at_view;           /* the places of an array's attributes */
    Py_ssize_t max_elements, max_depth;             /* of an array; of what follows one from another */
    PyObject *kinds;                                /* a set: these classes, and those of what is seen of arrays */
    PyObject *recording;                            /* the dictionary of the module */
    PyObject *borrowers, *state, *silent;           /* a set; NumPy's variable, and a context in which it is silent */
    PyObject *of_doubles[N_OF_DOUBLES];             /* functions of two doubles */
    PyObject *exact, *index, *index_result, *likeness, *like_of_two, *of_number;
} its;

static known_function known[N_KNOWN];

static struct {
    PyObject *queue, *instead, *is_open, *runner, *recorded, *fields, *engine, *is_alone, *has_failed, *runs, *straight,
             *computes_at_once, *silent_state, *n_at_once, *layout, *is_distributed, *base_dims, *shape;
} name;

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SLOT(x, place) (*(PyObject **)((char *)(x) + (place)))
#define REFUSE(what) return Py_NewRef(what)
#define TAKES(number) do { if (n != (number)) return PyErr_Format(PyExc_TypeError, "%d arguments", (int)n); } while (0)

/* Whether an attribute is true; -1 with an exception set. */
static int is_true(PyObject *x, PyObject *attribute)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    if (!found)
        return -1;
    const int answer = PyObject_IsTrue(found);
    Py_DECREF(found);
    return answer;
}

/* Whether an attribute of an object is this other one. */
static int is_attribute(PyObject *x, PyObject *attribute, PyObject *other)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    Py_XDECREF(found);
    return found ? found == other : -1;
}

/* Whether nothing is recorded, or under way, or to be told: see `Queue.is_clear`. The queue is borrowed. */
static int is_quiet(PyObject **queue)
{
    int answer = -1;
    PyObject *engine = NULL, *recorded = NULL, *fields = NULL, *state = NULL;
    if (!its.recording)
        return 0;
    *queue = PyDict_GetItemWithError(its.recording, name.queue);
    PyObject *instead = *queue ? PyDict_GetItemWithError(its.recording, name.instead) : NULL;
    if (!instead)
        return PyErr_Occurred() ? -1 : 0;
    if (instead != Py_None)
        return 0;
    if ((answer = is_true(*queue, name.is_open)) <= 0 || (answer = is_true(*queue, name.computes_at_once)) <= 0)
        return answer;
    if ((answer = is_true(*queue, name.runner)) != 0)
        return answer < 0 ? -1 : 0;
    answer = -1;
    if (!(recorded = PyObject_GetAttr(*queue, name.recorded)) || !(fields = PyObject_GetAttr(recorded, name.fields))
            || !(engine = PyObject_GetAttr(*queue, name.engine)))
        goto done;
    answer = 0;
    if (PyList_GET_SIZE(fields))
        goto done;
    if ((answer = is_true(engine, name.is_alone)) <= 0)
        goto done;
    if ((answer = is_true(engine, name.has_failed)) != 0 || (answer = is_true(engine, name.runs)) != 0) {
        answer = answer < 0 ? -1 : 0;
        goto done;
    }
    if ((answer = is_attribute(engine, name.straight, Py_None)) <= 0)
        goto done;
    answer = PyContextVar_Get(its.state, NULL, &state) < 0 ? -1
           : state ? is_attribute(*queue, name.silent_state, state) : 0;
done:
    Py_XDECREF(state);
    Py_XDECREF(engine);
    Py_XDECREF(fields);
    Py_XDECREF(recorded);
    return answer;
}

/* Note that something was done at once. */
static int count(PyObject *queue)
{
    PyObject *n = PyObject_GetAttr(queue, name.n_at_once);
    if (!n)
        return -1;
    PyObject *next = PyLong_FromLongLong(PyLong_AsLongLong(n) + 1);
    Py_DECREF(n);
    if (!next)
        return -1;
    const int failed = PyObject_SetAttr(queue, name.n_at_once, next);
    Py_DECREF(next);
    return failed;
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
    const PyTypeObject *type = Py_TYPE(x);
    return type == &PyDoubleArrType_Type || type == &PyFloatArrType_Type || type == &PyLongArrType_Type
        || type == &PyIntArrType_Type;
}

/* The elements of a global array, or of NumPy's number, few enough, borrowed; NULL where it has none. */
static PyObject *elements_of(PyObject *x)
{
    PyObject *found = is_array(x) ? SLOT(x, its.elements) : x;
    if (!found || found == Py_None)
        return NULL;
    if (found == x)
        return is_numpys(x) ? x : NULL;
    if (PyArray_CheckExact(found))
        return PyArray_SIZE((PyArrayObject *)found) <= its.max_elements ? found : NULL;
    return PyArray_CheckScalar(found) ? found : NULL;
}

static int ndim_of(PyObject *elements)
{
    return PyArray_Check(elements) ? PyArray_NDIM((PyArrayObject *)elements) : 0;
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

static int is_plain_number(PyObject *x)
{
    return PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyComplex_CheckExact(x);
}

/* The dtype of a function of a dtype and another one, or a class, borrowed; None if NumPy may give other bits than
   kernels do. */
static PyObject *result_dtype(PyObject *ufunc, PyObject *dtype, PyObject *other)
{
    const size_t mixed = (size_t)ufunc / 64 * 31 + (size_t)dtype / 32 * 17 + (size_t)other / 32;
    known_function *entry = &known[(mixed ^ mixed >> 10) & (N_KNOWN - 1)];
    if (entry->ufunc != ufunc || entry->dtype != dtype || entry->other != other) {
        PyObject *arguments[] = {ufunc, dtype, other};
        PyObject *result = PyObject_Vectorcall(its.exact, arguments, 3, NULL);
        if (!result)
            return NULL;
        const known_function before = *entry;
        *entry = (known_function){Py_NewRef(ufunc), Py_NewRef(dtype), Py_NewRef(other), result};
        Py_XDECREF(before.ufunc);
        Py_XDECREF(before.dtype);
        Py_XDECREF(before.other);
        Py_XDECREF(before.result);
    }
    return entry->result;
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

/* What a function gives of two doubles, as NumPy's loops do; NULL without an exception if it is another one, or if these
   are no doubles. */
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

/* What a function gives of n operands, in that context; NULL without an exception if it refuses them. */
static PyObject *called(PyObject *queue, PyObject *function, PyObject *const *operands, Py_ssize_t n)
{
    PyObject *found = n == 2 ? of_doubles(function, operands) : NULL;
    if (found || PyErr_Occurred() || !enter()) {
        if (found && count(queue) < 0)
            Py_CLEAR(found);
        return found;
    }
    found = PyObject_Vectorcall(function, operands, n, NULL);
    if (PyContext_Exit(its.silent) < 0)
        Py_CLEAR(found);
    else if (!found)
        was_refused();
    else if (count(queue) < 0)
        Py_CLEAR(found);
    return found;
}

/* Assign a value to elements in that context: 1, or 0 if they refuse it, or -1. */
static int is_assigned(PyObject *queue, PyObject *elements, PyObject *key, PyObject *value)
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

/* What the layout of a result follows from, borrowed: see `like_of`. NULL where there is nothing to follow. */
static PyObject *like_of(PyObject *x)
{
    PyObject *source = SLOT(x, its.source);
    return !source ? NULL : source == Py_None ? SLOT(x, its.at_view) : PyTuple_GET_ITEM(source, 0);
}

/* See `is_distributed` and `_has_dims`, of which this finds most; -1 with an exception set. */
static int is_distributed(PyObject *like)
{
    if (Py_TYPE(like) == its.like)
        return PyTuple_GET_ITEM(like, 4) == Py_True;
    if (Py_TYPE(like) != its.view)
        return 0;
    PyObject *layout = PyObject_GetAttr(like, name.layout);
    if (!layout)
        return -1;
    const int answer = is_true(layout, name.is_distributed);
    Py_DECREF(layout);
    return answer;
}

static int has_dims(PyObject *like)
{
    for (; Py_TYPE(like) == its.like; like = PyTuple_GET_ITEM(like, 1)) {
        PyObject *make = PyTuple_GET_ITEM(like, 0), *key = PyTuple_GET_ITEM(like, 2);
        if ((make != its.index && make != its.index_result) || key == Py_None)
            return 0;
        for (Py_ssize_t k = 0; PyTuple_CheckExact(key) && k < PyTuple_GET_SIZE(key); k++)
            if (PyTuple_GET_ITEM(key, k) == Py_None)
                return 0;
        if (make == its.index_result)
            return 1;
    }
    if (Py_TYPE(like) != its.view)
        return 1;
    PyObject *base_dims = PyObject_GetAttr(like, name.base_dims);
    if (!base_dims)
        return -1;
    const int has_others = PySequence_Contains(base_dims, Py_None);
    Py_DECREF(base_dims);
    return has_others < 0 ? -1 : !has_others;
}

/* What a result of two arrays follows from that follow from these, and which has the shape of one of them: see
   `like_of_two`. */
static PyObject *like_of_both(PyObject *x, PyObject *first, PyObject *a, PyObject *y, PyObject *second, PyObject *b)
{
    if (first == second)
        return Py_NewRef(first);
    const int is_first = is_distributed(first), is_second = is_distributed(second);
    if (is_first < 0 || is_second < 0)
        return NULL;
    PyObject *followed = fits(b, a) && (is_first || !is_second) ? first
                       : fits(a, b) && is_second && !(is_first && ndim_of(a)) ? second : NULL;
    const int is_certain = followed ? has_dims(followed) : 0;
    if (is_certain)
        return is_certain < 0 ? NULL : Py_NewRef(followed);
    PyObject *found = NULL, *own = PyObject_GetAttr(a, name.shape), *theirs = PyObject_GetAttr(b, name.shape);
    if (own && theirs) {
        PyObject *arguments[] = {x, own, y, theirs, fits(b, a) ? own : theirs};
        found = PyObject_Vectorcall(its.like_of_two, arguments, 5, NULL);
    }
    Py_XDECREF(own);
    Py_XDECREF(theirs);
    return found;
}

static PyObject *like_of_two(PyObject *x, PyObject *a, PyObject *y, PyObject *b)
{
    PyObject *first = Py_XNewRef(like_of(x)), *second = Py_XNewRef(like_of(y));    /* until whoever comes settles them */
    PyObject *found = first && second ? like_of_both(x, first, a, y, second, b) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return found;
}

static int is_plain_bound(PyObject *bound)
{
    return bound == Py_None || PyLong_CheckExact(bound);
}

static int is_plain_index(PyObject *k)
{
    if (PyLong_CheckExact(k) || k == Py_None)
        return 1;
    if (!PySlice_Check(k))
        return 0;
    const PySliceObject *slice = (PySliceObject *)k;
    return is_plain_bound(slice->start) && is_plain_bound(slice->stop) && is_plain_bound(slice->step);
}

/* Whether a key is of integers, of slices whose bounds stay what they are, and of new dimensions. */
static int is_slicing(PyObject *key)
{
    if (!PyTuple_CheckExact(key))
        return is_plain_index(key);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++)
        if (!is_plain_index(PyTuple_GET_ITEM(key, k)))
            return 0;
    return 1;
}

/* What follows from another view, or what that follows from, by a key: see `likeness`. NULL without an exception if it
   follows from nothing. */
static PyObject *like_by_key(PyObject *make, PyObject *parent, PyObject *key)
{
    long depth;
    int distributed;
    if (Py_TYPE(parent) == its.view) {
        depth = 1;
        if ((distributed = is_distributed(parent)) < 0)
            return NULL;
    } else if (Py_TYPE(parent) == its.like) {
        depth = PyLong_AsLong(PyTuple_GET_ITEM(parent, 3)) + 1;
        distributed = PyTuple_GET_ITEM(parent, 4) == Py_True;
    } else
        return NULL;
    if (depth > its.max_depth) {
        PyObject *arguments[] = {make, parent, key};
        return PyObject_Vectorcall(its.likeness, arguments, 3, NULL);
    }
    PyObject *found = its.like->tp_alloc(its.like, 5), *number = PyLong_FromLong(depth);
    if (!found || !number) {
        Py_XDECREF(found);
        Py_XDECREF(number);
        return NULL;
    }
    PyTuple_SET_ITEM(found, 0, Py_NewRef(make));
    PyTuple_SET_ITEM(found, 1, Py_NewRef(parent));
    PyTuple_SET_ITEM(found, 2, Py_NewRef(key));
    PyTuple_SET_ITEM(found, 3, number);
    PyTuple_SET_ITEM(found, 4, PyBool_FromLong(distributed));
    return found;
}

/* is_clear(): see `small.is_clear`. */
static PyObject *is_clear(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *queue;
    const int answer = is_quiet(&queue);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* ready(x): see `small.ready`. */
static PyObject *ready(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(1);
    PyObject *queue, *a = is_array(arguments[0]) ? elements_of(arguments[0]) : NULL;
    const int answer = a ? is_quiet(&queue) : 0;
    return answer < 0 ? NULL : Py_NewRef(answer ? a : Py_None);
}

/* computed(ufunc, x, y, is_first): see `functions.computed`. */
static PyObject *computed(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(4);
    PyObject *ufunc = arguments[0], *x = arguments[1], *y = arguments[2], *queue;
    const int is_first = arguments[3] == Py_True, is_alone = y == Py_None;
    if (!is_array(x))
        REFUSE(Py_None);
    PyObject *a = elements_of(x), *b = NULL, *other;
    if (!a)
        REFUSE(Py_None);
    if (is_alone || is_plain_number(y))
        other = Py_NewRef((PyObject *)Py_TYPE(y));
    else if ((b = elements_of(y)) && (fits(b, a) || fits(a, b)))
        other = dtype_of(b);
    else
        REFUSE(Py_None);
    PyObject *dtype = dtype_of(a), *result = NULL;
    if (dtype && other)
        result = result_dtype(ufunc, dtype, other);
    Py_XDECREF(dtype);
    Py_XDECREF(other);
    if (!result)
        return NULL;
    const int answer = result == Py_None ? 0 : is_quiet(&queue);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *second = b ? b : y, *operands[] = {is_first ? second : a, is_first ? a : second};
    PyObject *like = !ndim_of(a) && !(b && ndim_of(b)) ? Py_NewRef(Py_None)
                   : is_array(y) ? like_of_two(x, a, y, b) : Py_XNewRef(like_of(x));
    if (!like)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    Py_INCREF(a);       /* whatever becomes of the arrays meanwhile */
    Py_XINCREF(b);
    PyObject *found = called(queue, ufunc, operands, is_alone ? 1 : 2);
    Py_DECREF(a);
    Py_XDECREF(b);
    if (!found || (ndim_of(found) && !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)found))) {
        Py_XDECREF(found);
        Py_DECREF(like);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (!ndim_of(found)) {
        Py_DECREF(like);
        return made(found, Py_NewRef(its.of_number));
    }
    PyObject *source = PyTuple_Pack(3, like, Py_None, Py_False);
    Py_DECREF(like);
    return made(found, source);
}

/* computed_in_place(ufunc, x, y): see `functions.computed_in_place`. */
static PyObject *computed_in_place(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(3);
    PyObject *ufunc = arguments[0], *x = arguments[1], *y = arguments[2], *queue;
    if (!is_array(x) || PySet_GET_SIZE(its.borrowers))
        REFUSE(Py_False);
    PyObject *a = elements_of(x), *b = y, *other;
    if (!a || !PyArray_Check(a))
        REFUSE(Py_False);
    if (is_plain_number(y))
        other = Py_NewRef((PyObject *)Py_TYPE(y));
    else if ((b = elements_of(y)))
        other = dtype_of(b);
    else
        REFUSE(Py_False);
    if (!other)
        return NULL;
    PyObject *dtype = (PyObject *)PyArray_DESCR((PyArrayObject *)a);
    PyObject *result = result_dtype(ufunc, dtype, other);
    Py_DECREF(other);
    if (!result)
        return NULL;
    const int answer = result != dtype ? 0 : is_quiet(&queue);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_False);
    PyObject *operands[] = {a, b, a};
    Py_INCREF(a);
    Py_INCREF(b);
    PyObject *found = called(queue, ufunc, operands, 3);
    Py_DECREF(a);
    Py_DECREF(b);
    if (!found)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    Py_DECREF(found);
    REFUSE(Py_True);
}

/* The elements that a key names, if they are few enough: a new reference; NULL without an exception where there are
   none. */
static PyObject *part_of(PyObject *elements, PyObject *key)
{
    PyObject *found = PyObject_GetItem(elements, key);
    if (!found) {
        if (PyErr_ExceptionMatches(PyExc_IndexError) || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Clear();
        return NULL;
    }
    if (PyArray_Check(found) && PyArray_SIZE((PyArrayObject *)found) > its.max_elements)
        Py_CLEAR(found);
    return found;
}

/* section(x, key): see `sections.section`. */
static PyObject *section(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(2);
    PyObject *x = arguments[0], *key = arguments[1], *queue, *a;
    if (Py_TYPE(x) != its.array || !is_slicing(key) || !(a = SLOT(x, its.elements)) || !PyArray_CheckExact(a))
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
    Py_INCREF(parent);      /* a finaliser may settle the array, as memory for tuples is wanted */
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

/* assigned(x, key, value): see `sections.assigned`. */
static PyObject *assigned(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(3);
    PyObject *x = arguments[0], *key = arguments[1], *value = arguments[2], *queue, *a;
    if (!is_array(x) || PySet_GET_SIZE(its.borrowers) || !(is_slicing(key) || key == Py_Ellipsis)
            || !(a = SLOT(x, its.elements)) || !PyArray_CheckExact(a))
        REFUSE(Py_False);
    if (is_plain_number(value)) {
        if (!holds((PyArrayObject *)a, value))
            REFUSE(Py_False);
    } else {
        if (!(value = elements_of(value)))
            REFUSE(Py_False);
        PyObject *dtype = dtype_of(value);
        Py_XDECREF(dtype);
        if (!dtype || dtype != (PyObject *)PyArray_DESCR((PyArrayObject *)a))
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
        answer = are_apart((PyArrayObject *)part, value) ? is_assigned(queue, part, Py_Ellipsis, value) : 0;
    else
        answer = ndim_of(value) ? 0 : is_assigned(queue, a, key, value);
    Py_DECREF(value);
    Py_DECREF(a);
    Py_DECREF(part);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* The place of an attribute of a class with slots; -1 with an exception set. */
static Py_ssize_t place_of(PyTypeObject *type, const char *attribute)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, attribute);
    if (!found)
        return -1;
    Py_ssize_t place = -1;
    if (Py_TYPE(found) == &PyMemberDescr_Type)
        place = ((PyMemberDescrObject *)found)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%s has no slot for %s", type->tp_name, attribute);
    Py_DECREF(found);
    return place;
}

/* begin(classes, max_elements, ...): say what is what in Python; see quick.pyi. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyTypeObject *array, *number, *view, *like;
    PyObject *kinds, *recording, *borrowers, *state, *silent, *exact, *index, *index_result, *likeness, *like_of_two;
    PyObject *of_number;
    Py_ssize_t max_elements, max_depth;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!O!nnO!O!OO!OOOOOO", &PyType_Type, &array, &PyType_Type, &number,
                          &PySet_Type, &kinds, &PyType_Type, &view, &PyType_Type, &like, &max_elements, &max_depth,
                          &PyModule_Type, &recording, &PySet_Type, &borrowers, &state, &PyContext_Type, &silent,
                          &exact, &index, &index_result, &likeness, &like_of_two, &of_number))
        return NULL;
    its.array = (PyTypeObject *)Py_NewRef(array), its.number = (PyTypeObject *)Py_NewRef(number);
    its.view = (PyTypeObject *)Py_NewRef(view), its.like = (PyTypeObject *)Py_NewRef(like);
    its.max_elements = max_elements, its.max_depth = max_depth;
    its.kinds = Py_NewRef(kinds);
    its.recording = Py_NewRef(PyModule_GetDict(recording));
    its.borrowers = Py_NewRef(borrowers), its.state = Py_NewRef(state), its.silent = Py_NewRef(silent);
    its.exact = Py_NewRef(exact), its.index = Py_NewRef(index), its.index_result = Py_NewRef(index_result);
    its.likeness = Py_NewRef(likeness), its.like_of_two = Py_NewRef(like_of_two);
    its.of_number = Py_NewRef(of_number);
    if ((its.elements = place_of(array, "_elements")) < 0 || (its.source = place_of(array, "_source")) < 0
            || (its.at_view = place_of(array, "_view")) < 0)
        return NULL;
    Py_RETURN_NONE;
}

#define FUNCTION(f) {#f, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    {"begin", begin, METH_VARARGS, NULL},
    FUNCTION(assigned), FUNCTION(computed), FUNCTION(computed_in_place), FUNCTION(is_clear), FUNCTION(ready),
    FUNCTION(section),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "quick", "Most statements on small arrays, in C; see quick.c.", -1, functions,
    NULL, NULL, NULL, NULL,
};

#define NAME(attribute, text) (name.attribute = PyUnicode_InternFromString(text))

PyMODINIT_FUNC PyInit_quick(void)
{
    import_array();
    if (!(NAME(queue, "queue") && NAME(instead, "_instead") && NAME(is_open, "is_open") && NAME(runner, "_runner")
          && NAME(recorded, "recorded") && NAME(fields, "fields") && NAME(engine, "engine")
          && NAME(is_alone, "is_alone") && NAME(has_failed, "has_failed") && NAME(runs, "_runs")
          && NAME(straight, "straight") && NAME(computes_at_once, "computes_at_once") && NAME(silent_state, "_silent_state")
          && NAME(n_at_once, "n_at_once") && NAME(layout, "layout") && NAME(is_distributed, "is_distributed")
          && NAME(base_dims, "base_dims") && NAME(shape, "shape")))
        return NULL;
    static const char *const of_doubles[N_OF_DOUBLES] = {   /* in the order of the cases there */
        "add", "subtract", "multiply", "divide", "less", "less_equal", "greater", "greater_equal", "equal", "not_equal"};
    PyObject *numpy = PyImport_ImportModule("numpy");
    for (int k = 0; numpy && k < N_OF_DOUBLES; k++)
        if (!(its.of_doubles[k] = PyObject_GetAttrString(numpy, of_doubles[k])))
            Py_CLEAR(numpy);
    if (!numpy)
        return NULL;
    Py_DECREF(numpy);
    return PyModule_Create(&definition);
}
