/*
 * Where all lies that a process reads and writes to compute its part of a statement, by families of views.
 */
#define MAX_OPERANDS 4          /* of a kernel, with its output */
#define MAX_NDIM 64             /* as in `layout` */
#define N_KNOWN 4096            /* pairs of families, a power of 2 */

enum {KERNEL, LOOP, NUMBER_DTYPE, IS_ARRAY, IS_CAST, SAID, ITEMSIZES, N_OF_FORM};   /* the fields of a form */

/* Where the operands of a kernel lie: offsets and strides are in bytes, the output's last. And what is held for it: a
   number as it takes it, if that is no plain one, and casts of operands. */
typedef struct {
    int n, ndim;
    Py_ssize_t size;
    const Py_ssize_t *shape;
    int64_t offsets[MAX_OPERANDS], strides[MAX_OPERANDS * MAX_NDIM], number;
    PyArray_Descr *dtypes[MAX_OPERANDS];        /* as they are, borrowed from storages; of a number, as it is taken */
    PyObject *held[MAX_OPERANDS];
} geometry;

/* Of an output and an operand: whether this lies as that does, and where what this process has of it begins in what it
   has of the operand, in elements. */
typedef struct {
    family *out, *other;
    Py_ssize_t ahead;
    int are_alike;
} meeting;

static meeting meetings[N_KNOWN];

static size_t place_of_pair(const family *x, const family *y)
{
    const size_t mixed = (size_t)x / 32 * 31 + (size_t)y / 32 * 17;
    return (mixed ^ mixed >> 12) & (N_KNOWN - 1);
}

/* How an operand of a family meets an output; NULL with an exception set. */
static const meeting *found_meeting(family *out, PyObject *out_view, family *other, PyObject *view)
{
    meeting *known = &meetings[place_of_pair(out, other)];
    if (known->out == out && known->other == other)
        return known;
    const int are_alike = out == other ? 1 : its.views.lie_alike(out_view, view);
    if (are_alike < 0)
        return NULL;
    meeting found = {(family *)Py_NewRef((PyObject *)out), (family *)Py_NewRef((PyObject *)other), 0,
                     are_alike && other->is_known && other->ndim == out->ndim};
    for (Py_ssize_t d = 0; d < out->ndim && found.are_alike; d++)
        found.ahead += (firsts_of(out)[d] - firsts_of(other)[d]) * distances_of(other)[d];
    const meeting before = *known;
    *known = found;
    Py_XDECREF((PyObject *)before.out);
    Py_XDECREF((PyObject *)before.other);
    return known;
}

/* Where all lies of views, the output last, None for a number, with elements of so many bytes: 1; 0 where this process
   cannot compute its part of it by itself, or it is too much; or -1. */
static int lay_out(PyObject *views, const Py_ssize_t *itemsizes, Py_ssize_t rank, geometry *own)
{
    own->n = (int)PyTuple_GET_SIZE(views);
    PyObject *out_view = PyTuple_GET_ITEM(views, own->n - 1);
    Py_ssize_t offset;
    family *out = its.views.of(out_view, rank, &offset);
    if (!out)
        return -1;
    own->ndim = (int)out->ndim, own->size = out->size, own->shape = extents_of(out);
    if (!out->is_known || !out->is_ascending || out->size > its.max_elements)
        return 0;
    for (int k = 0; k < own->n; k++) {
        const Py_ssize_t *distances = NULL;
        PyObject *view = PyTuple_GET_ITEM(views, k);
        own->offsets[k] = 0;
        if (view != Py_None) {
            family *other = its.views.of(view, rank, &offset);
            const meeting *found = other ? found_meeting(out, out_view, other, view) : NULL;
            if (!found || !found->are_alike)
                return found ? 0 : -1;
            distances = distances_of(other);
            own->offsets[k] = (offset + found->ahead) * itemsizes[k];
        }
        for (int d = 0; d < own->ndim; d++)
            own->strides[k * own->ndim + d] = distances ? distances[d] * itemsizes[k] : 0;
    }
    return PyErr_Occurred() ? -1 : 1;
}

/* The dtype of an operand, or of the output, as it is: its array's, or else as the kernel takes it. Borrowed. */
static PyArray_Descr *dtype_of(PyObject *loop, PyObject *view, PyObject *memory, int k)
{
    PyObject *dtype = view == Py_None ? Py_NewRef(PyTuple_GET_ITEM(loop, k))
                    : attribute_of(memory, Py_TYPE(memory) == its.storage, of_storage.at_dtype, name.dtype);
    Py_XDECREF(dtype);          /* which the storage has */
    return (PyArray_Descr *)dtype;
}

/* The same of a form's operands, with their memories. */
static int lay_out_form(PyObject *form, PyObject *views, PyObject *memories, geometry *own)
{
    Py_ssize_t itemsizes[MAX_OPERANDS];
    for (int k = 0; k < PyTuple_GET_SIZE(views); k++) {
        own->dtypes[k] = dtype_of(PyTuple_GET_ITEM(form, LOOP), PyTuple_GET_ITEM(views, k),
                                  PyTuple_GET_ITEM(memories, k), k);
        if (!own->dtypes[k])
            return -1;
        itemsizes[k] = PyDataType_ELSIZE(own->dtypes[k]);
    }
    return lay_out(views, itemsizes, its.rank, own);
}

/* Whether what is read has no element that is written in another place; -1 with an exception set. */
static int are_apart(PyObject *views, PyObject *memories)
{
    const Py_ssize_t last = PyTuple_GET_SIZE(views) - 1;
    PyObject *out = PyTuple_GET_ITEM(views, last), *written = PyTuple_GET_ITEM(memories, last);
    int are = 1;
    for (Py_ssize_t k = 0; k < last && are > 0; k++)
        if (PyTuple_GET_ITEM(memories, k) == written && PyTuple_GET_ITEM(views, k) != out)
            are = its.views.are_disjoint(PyTuple_GET_ITEM(views, k), out);
    return are;
}

/* laid_out(views, itemsizes, rank): see _calls.pyi. */
static PyObject *laid_out(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    const Py_ssize_t n_views = n == 3 && PyTuple_CheckExact(arguments[0]) ? PyTuple_GET_SIZE(arguments[0]) : 0;
    if (n_views < 1 || n_views > MAX_OPERANDS || !PyTuple_CheckExact(arguments[1])
            || PyTuple_GET_SIZE(arguments[1]) != n_views)
        return PyErr_Format(PyExc_TypeError, "views, as many sizes, and a rank are taken");
    geometry own;
    Py_ssize_t itemsizes[MAX_OPERANDS];
    for (Py_ssize_t k = 0; k < n_views; k++)
        itemsizes[k] = at(arguments[1], k);
    const int answer = lay_out(arguments[0], itemsizes, PyLong_AsSsize_t(arguments[2]), &own);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *shape = PyTuple_New(own.ndim), *offsets = PyList_New(own.n), *strides = PyList_New(own.n * own.ndim);
    for (int d = 0; shape && d < own.ndim; d++)
        PyTuple_SET_ITEM(shape, d, PyLong_FromSsize_t(own.shape[d]));
    for (int k = 0; offsets && k < own.n; k++)
        PyList_SET_ITEM(offsets, k, PyLong_FromLongLong(own.offsets[k]));
    for (int k = 0; strides && k < own.n * own.ndim; k++)
        PyList_SET_ITEM(strides, k, PyLong_FromLongLong(own.strides[k]));
    return PyErr_Occurred() ? NULL : Py_BuildValue("(NnNN)", shape, own.size, offsets, strides);
}

static int have_one_shape(const family *x, const family *y)
{
    return x->ndim == y->ndim && !memcmp(x->numbers, y->numbers, x->ndim * sizeof *x->numbers);
}

static family *family_of(PyObject *view)
{
    Py_ssize_t offset;
    return its.views.of(view, its.rank, &offset);
}

/* Stretch an operand to a shape: 1, 0 where that is not possible, or it is NULL as there is none; or -1. */
static int stretch_to(operand *own, PyObject *shape)
{
    PyObject *found = shape ? PyObject_CallMethodOneArg(own->view, name.broadcast_to, shape) : NULL;
    if (!found && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        return 0;
    }
    if (found)
        Py_SETREF(own->view, found);
    return found ? 1 : -1;
}

/* Stretch an operand to the shape of a view, if it has another one: 1; 0 where that is not possible; or -1. */
static int stretch(operand *own, PyObject *view)
{
    family *wanted = family_of(view), *given = wanted ? family_of(own->view) : NULL;
    if (!given || have_one_shape(wanted, given))
        return given ? 1 : -1;
    if (given->ndim > wanted->ndim)
        return 0;
    PyObject *shape = PyObject_GetAttr(view, name.shape);
    const int fits = stretch_to(own, shape);
    Py_XDECREF(shape);
    return fits;
}

/* Stretch two operands to the shape that they have together: 1, 0 where there is none, or -1. */
static int stretch_both(operand *x, operand *y)
{
    PyObject *const shapes[] = {PyObject_GetAttr(x->view, name.shape), PyObject_GetAttr(y->view, name.shape)};
    PyObject *joint = shapes[0] && shapes[1] ? its.views.joint_shape(NULL, shapes, 2) : NULL;
    int fits = stretch_to(x, joint);
    fits = fits > 0 ? stretch_to(y, joint) : fits;
    Py_XDECREF(joint);
    Py_XDECREF(shapes[0]);
    Py_XDECREF(shapes[1]);
    return fits;
}
