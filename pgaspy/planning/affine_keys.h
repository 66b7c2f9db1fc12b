/*
 * What is derived from an affine map: by an index, by other dimensions in the place of its own, stretched. It is kept
 * on the map that it comes from.
 */

/* Of the same base, kept by a key; it takes over the tuples, any of which may be NULL with an exception set. */
static PyObject *child_of(affine *self, PyObject *key, PyObject *shape, PyObject *base_dims, PyObject *steps,
                          PyObject *origin)
{
    PyObject *child = made(Py_TYPE(self), self->layout, self->hash_of_layout, shape, base_dims, steps, origin);
    if (!child)
        return NULL;
    ((affine *)child)->is_read_only = self->is_read_only;
    PyObject *children = self->children;
    if (!children)
        children = once(&self->children, PyObject_CallFunction(its.cache, "n", (Py_ssize_t)NBYTES));
    PyObject *kept = children ? PyObject_CallMethodObjArgs(children, name.keep, key, child, NULL) : NULL;
    if (!kept)
        Py_CLEAR(child);
    Py_XDECREF(kept);
    return child;
}

/* What is kept by a key: NULL without an exception where there is nothing. */
static PyObject *kept_by(affine *self, PyObject *key)
{
    if (!self->children)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(self->children, key);
    if (found || PyErr_Occurred())
        return Py_XNewRef(found);
    PyObject *older = PyObject_GetAttr(self->children, name.older);
    if (!older)
        return NULL;
    const int is_empty = PyDict_GET_SIZE(older) == 0;
    Py_DECREF(older);
    if (is_empty)
        return NULL;
    found = PyObject_GetItem(self->children, key);
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}

static int is_plain(PyObject *k)                        /* what a key has as it is */
{
    return PyLong_CheckExact(k) || k == Py_None || k == Py_Ellipsis;
}

static PyObject *limit(PyObject *k)                     /* of a slice */
{
    return k == Py_None || PyLong_CheckExact(k) ? Py_NewRef(k) : PyNumber_Index(k);
}

static PyObject *frozen(PyObject *self, PyObject *k)    /* one index: a slice is (start, stop, step) */
{
    if (is_plain(k))
        return Py_NewRef(k);
    if (!PySlice_Check(k))
        return PyObject_CallMethodOneArg(self, name.as_index, k);
    const PySliceObject *given = (PySliceObject *)k;
    PyObject *limits = PyTuple_New(3), *const from[] = {given->start, given->stop, given->step};
    for (int i = 0; limits && i < 3; i++) {
        PyObject *found = limit(from[i]);
        if (found)
            PyTuple_SET_ITEM(limits, i, found);
        else
            Py_CLEAR(limits);
    }
    return limits;
}

static PyObject *frozen_key(PyObject *self, PyObject *key)      /* as it is hashed: a tuple of them */
{
    if (key == Py_Ellipsis)
        return Py_NewRef(its.all);
    const int is_tuple = PyTuple_Check(key);
    const Py_ssize_t n = is_tuple ? PyTuple_GET_SIZE(key) : 1;
    int is_as_given = PyTuple_CheckExact(key);
    for (Py_ssize_t k = 0; is_as_given && k < n; k++)
        is_as_given = is_plain(PyTuple_GET_ITEM(key, k));
    if (is_as_given)
        return Py_NewRef(key);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t k = 0; found && k < n; k++) {
        PyObject *index = frozen(self, is_tuple ? PyTuple_GET_ITEM(key, k) : key);
        if (index)
            PyTuple_SET_ITEM(found, k, index);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* The dimensions of what is derived, one after the other, and its origin. */
typedef struct {
    PyObject *shape, *base_dims, *steps, *origin;
    Py_ssize_t n;
} derived;

static int begin(derived *to, const affine *from, Py_ssize_t ndim)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(from->origin);
    *to = (derived){PyTuple_New(ndim), PyTuple_New(ndim), PyTuple_New(ndim), PyTuple_New(n), 0};
    if (!to->shape || !to->base_dims || !to->steps || !to->origin)
        return -1;
    for (Py_ssize_t p = 0; p < n; p++)
        PyTuple_SET_ITEM(to->origin, p, Py_NewRef(PyTuple_GET_ITEM(from->origin, p)));
    return 0;
}

static PyObject *end(derived *to, affine *from, PyObject *key, int has_failed)
{
    if (!has_failed)
        return child_of(from, key, to->shape, to->base_dims, to->steps, to->origin);
    Py_XDECREF(to->shape);
    Py_XDECREF(to->base_dims);
    Py_XDECREF(to->steps);
    Py_XDECREF(to->origin);
    return NULL;
}

/* Have one dimension more; it takes over what it is given, any of which may be NULL with an exception set. */
static int add(derived *to, PyObject *extent, PyObject *base_dim, PyObject *step)
{
    const Py_ssize_t d = to->n++;
    PyTuple_SET_ITEM(to->shape, d, extent);
    PyTuple_SET_ITEM(to->base_dims, d, base_dim);
    PyTuple_SET_ITEM(to->steps, d, step);
    return extent && base_dim && step ? 0 : -1;
}

static int add_unnamed(derived *to, PyObject *extent)   /* one that repeats an element */
{
    return add(to, Py_XNewRef(extent), Py_NewRef(Py_None), PyLong_FromLong(0));
}

static int add_as_it_is(derived *to, const affine *from, Py_ssize_t d)
{
    return add(to, Py_NewRef(PyTuple_GET_ITEM(from->shape, d)), Py_NewRef(PyTuple_GET_ITEM(from->base_dims, d)),
               Py_NewRef(PyTuple_GET_ITEM(from->steps, d)));
}

/* Begin a dimension at an index of it. */
static int move(derived *to, const affine *from, Py_ssize_t d, Py_ssize_t index)
{
    PyObject *base_dim = PyTuple_GET_ITEM(from->base_dims, d);
    if (base_dim == Py_None || !index)
        return 0;
    const Py_ssize_t p = PyLong_AsSsize_t(base_dim);
    return put(to->origin, p, PyLong_FromSsize_t(at(to->origin, p) + at(from->steps, d) * index));
}

static int add_section(derived *to, const affine *from, Py_ssize_t d, PyObject *limits)
{
    PyObject *slice = PySlice_New(PyTuple_GET_ITEM(limits, 0), PyTuple_GET_ITEM(limits, 1),
                                  PyTuple_GET_ITEM(limits, 2));
    Py_ssize_t start, stop, stride;
    const int is_read = slice ? PySlice_Unpack(slice, &start, &stop, &stride) : -1;
    Py_XDECREF(slice);
    if (is_read < 0)
        return -1;
    const Py_ssize_t extent = PySlice_AdjustIndices(at(from->shape, d), &start, &stop, stride);
    if (extent < 2)
        stride = stride > 0 ? 1 : -1;
    if (add(to, PyLong_FromSsize_t(extent), Py_NewRef(PyTuple_GET_ITEM(from->base_dims, d)),
            PyLong_FromSsize_t(at(from->steps, d) * stride)) < 0)
        return -1;
    return move(to, from, d, extent ? start : 0);
}

static int fix(derived *to, const affine *from, Py_ssize_t d, PyObject *k)      /* at an index */
{
    const Py_ssize_t n = at(from->shape, d);
    Py_ssize_t index = PyLong_AsSsize_t(k);
    if (index == -1 && PyErr_Occurred()) {
        PyErr_Clear();          /* beyond any array */
        index = PY_SSIZE_T_MAX;
    }
    if (index >= n || index < -n) {
        PyErr_Format(PyExc_IndexError, "index %R is out of bounds for axis %zd with size %zd", k, d, n);
        return -1;
    }
    return move(to, from, d, index < 0 ? index + n : index);
}

/* The number of dimensions of what an index names, and those that it leaves out; -1 with an exception set. */
static Py_ssize_t ndim_of_indexed(const affine *self, PyObject *key, Py_ssize_t *n_left_out)
{
    Py_ssize_t n_new = 0, n_ellipses = 0, n_fixed = 0;
    const Py_ssize_t n = PyTuple_GET_SIZE(key), ndim = ndim_of(self);
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *index = PyTuple_GET_ITEM(key, k);
        n_new += index == Py_None;
        n_ellipses += index == Py_Ellipsis;
        n_fixed += PyLong_Check(index);
    }
    const Py_ssize_t n_indices = n - n_new - n_ellipses, found = ndim + n_new - n_fixed;
    *n_left_out = ndim - n_indices;
    if (n_ellipses > 1)
        PyErr_SetString(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
    else if (n_indices > ndim)
        PyErr_Format(PyExc_IndexError, "too many indices for array: array is %zd-dimensional, but %zd were indexed",
                     ndim, n_indices);
    else if (n_new && found > MAX_NDIM)
        PyErr_Format(PyExc_IndexError, "an index that makes %zd dimensions makes more than the %zd that there may be",
                     found, (Py_ssize_t)MAX_NDIM);
    return PyErr_Occurred() ? -1 : found;
}

static PyObject *indexed(affine *self, PyObject *key)
{
    Py_ssize_t n_left_out, d = 0;
    const Py_ssize_t ndim = ndim_of_indexed(self, key, &n_left_out);
    if (ndim < 0)
        return NULL;
    derived to;
    int has_failed = begin(&to, self, ndim);
    const Py_ssize_t n = PyTuple_GET_SIZE(key);
    for (Py_ssize_t k = 0; k <= n && !has_failed; k++) {
        PyObject *index = k < n ? PyTuple_GET_ITEM(key, k) : Py_Ellipsis;
        if (index == Py_Ellipsis)       /* or the end: where no other stands for what is left out */
            for (; n_left_out && !has_failed; n_left_out--)
                has_failed = add_as_it_is(&to, self, d++);
        else if (index == Py_None) {
            PyObject *one = PyLong_FromLong(1);
            has_failed = add_unnamed(&to, one);
            Py_XDECREF(one);
        } else if (PyTuple_CheckExact(index))
            has_failed = add_section(&to, self, d++, index);
        else
            has_failed = fix(&to, self, d++, index);
    }
    return end(&to, self, key, has_failed);
}

static PyObject *raised(void)           /* the exception that is set, which is not any more */
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return error;
#endif
}

/* Have an index refused by a statement of Python's that raises, which tells a mistake in the program; see
   `tracebacks`. */
static void refuse(affine *self)
{
    PyObject *error = raised(), *nothing = PyObject_CallMethodOneArg((PyObject *)self, name.refuse, error);
    Py_XDECREF(nothing);
    Py_DECREF(error);
}

static PyObject *affine_index(affine *self, PyObject *given)
{
    PyObject *key = frozen_key((PyObject *)self, given);
    PyObject *found = key ? kept_by(self, key) : NULL;
    if (!found && !PyErr_Occurred() && !(found = indexed(self, key)) && PyErr_ExceptionMatches(PyExc_IndexError))
        refuse(self);
    Py_XDECREF(key);
    return found;
}

/* A key of what is derived otherwise: a word, and a tuple's numbers. */
static PyObject *key_of(PyObject *word, PyObject *numbers)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(numbers);
    PyObject *key = PyTuple_New(n + 1);
    if (!key)
        return NULL;
    PyTuple_SET_ITEM(key, 0, Py_NewRef(word));
    for (Py_ssize_t k = 0; k < n; k++)
        PyTuple_SET_ITEM(key, k + 1, Py_NewRef(PyTuple_GET_ITEM(numbers, k)));
    return key;
}

static PyObject *transposed(affine *self, PyObject *axes, PyObject *key)
{
    derived to;
    int has_failed = begin(&to, self, PyTuple_GET_SIZE(axes));
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(axes) && !has_failed; d++) {
        const Py_ssize_t axis = PyNumber_AsSsize_t(PyTuple_GET_ITEM(axes, d), PyExc_IndexError);
        if (axis < 0 || axis >= ndim_of(self)) {
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_IndexError, "no axes of a view of %zd dimensions: %R", ndim_of(self), axes);
            has_failed = -1;
        } else
            has_failed = add_as_it_is(&to, self, axis);
    }
    return end(&to, self, key, has_failed);
}

static PyObject *affine_transpose(affine *self, PyObject *given)
{
    PyObject *axes = PySequence_Tuple(given), *key = axes ? key_of(name.transpose, axes) : NULL;
    PyObject *found = key ? kept_by(self, key) : NULL;
    if (!found && !PyErr_Occurred())
        found = transposed(self, axes, key);
    Py_XDECREF(axes);
    Py_XDECREF(key);
    return found;
}

/* Whether a map's shape broadcasts to another one; -1 with an exception set. */
static int is_broadcast(const affine *self, PyObject *shape)
{
    const Py_ssize_t n_more = PyTuple_GET_SIZE(shape) - ndim_of(self);
    int is = n_more >= 0;
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape); d++)
        if (at(shape, d) < 0 && !PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "all elements of broadcast shape must be non-negative");
            return -1;
        }
    PyErr_Clear();              /* of extents that are too large, see `is_shape` */
    for (Py_ssize_t d = 0; is > 0 && d < ndim_of(self); d++) {
        PyObject *extent = PyTuple_GET_ITEM(self->shape, d);
        is = at(self->shape, d) == 1
             || PyObject_RichCompareBool(extent, PyTuple_GET_ITEM(shape, d + n_more), Py_EQ);
    }
    if (!is)
        PyErr_Format(PyExc_ValueError, "could not broadcast input array from shape %R into shape %R", self->shape,
                     shape);
    return is > 0 ? 1 : -1;
}

/* Whether an array may have a shape, see `layout.check_shape`; -1 with an exception set. */
static int is_shape(PyObject *shape)
{
    Py_ssize_t size = 1;
    int is_small = PyTuple_GET_SIZE(shape) <= MAX_NDIM;
    for (Py_ssize_t d = 0; d < PyTuple_GET_SIZE(shape) && is_small; d++)
        is_small = !__builtin_mul_overflow(size, at(shape, d), &size);
    if (is_small && !PyErr_Occurred())
        return 1;
    PyErr_Clear();
    PyObject *checked = PyObject_CallOneArg(its.check_shape, shape);
    Py_XDECREF(checked);
    return checked ? 1 : -1;
}

static PyObject *stretched(affine *self, PyObject *shape, PyObject *key)
{
    if (is_broadcast(self, shape) < 0 || is_shape(shape) < 0)
        return NULL;
    derived to;
    int has_failed = begin(&to, self, PyTuple_GET_SIZE(shape));
    const Py_ssize_t n_more = PyTuple_GET_SIZE(shape) - ndim_of(self);
    for (Py_ssize_t d = -n_more; d < ndim_of(self) && !has_failed; d++) {
        PyObject *extent = PyTuple_GET_ITEM(shape, d + n_more);
        int is_same = d < 0 ? 0 : PyObject_RichCompareBool(PyTuple_GET_ITEM(self->shape, d), extent, Py_EQ);
        has_failed = is_same < 0 ? -1 : is_same ? add_as_it_is(&to, self, d) : add_unnamed(&to, extent);
    }
    return end(&to, self, key, has_failed);
}

static PyObject *affine_broadcast_to(affine *self, PyObject *given)
{
    PyObject *shape = PySequence_Tuple(given), *key = NULL, *found = NULL;
    const int is_same = shape ? PyObject_RichCompareBool(shape, self->shape, Py_EQ) : -1;
    if (is_same > 0)
        found = Py_NewRef(self);
    else if (!is_same && (key = key_of(name.broadcast_to, shape))) {
        found = kept_by(self, key);
        if (!found && !PyErr_Occurred())
            found = stretched(self, shape, key);
    }
    Py_XDECREF(shape);
    Py_XDECREF(key);
    return found;
}

/* Say that shapes do not broadcast to one. */
static PyObject *apart(PyObject *const *shapes, Py_ssize_t n)
{
    PyObject *words = PyUnicode_FromString("shapes");
    for (Py_ssize_t k = 0; words && k < n; k++)
        Py_XSETREF(words, PyUnicode_FromFormat("%U %S", words, shapes[k]));
    if (words)
        PyErr_Format(PyExc_ValueError, "%U do not broadcast to one", words);
    Py_XDECREF(words);
    return NULL;
}

/* joint_shape(*shapes): see affine.pyi. */
static PyObject *joint_shape(PyObject *module, PyObject *const *shapes, Py_ssize_t n)
{
    PyObject *longest = NULL;
    for (Py_ssize_t k = 0; k < n; k++) {
        if (!PyTuple_Check(shapes[k]))
            return PyErr_Format(PyExc_TypeError, "no shape: %R", shapes[k]);
        if (!longest || PyTuple_GET_SIZE(shapes[k]) > PyTuple_GET_SIZE(longest))
            longest = shapes[k];
    }
    const Py_ssize_t ndim = longest ? PyTuple_GET_SIZE(longest) : 0;
    PyObject *joint = PyTuple_New(ndim), *one = PyLong_FromLong(1);
    int fits = joint && one ? 1 : -1;
    for (Py_ssize_t d = 0; d < ndim && fits > 0; d++) {         /* from the last dimension on */
        PyObject *extent = one;
        for (Py_ssize_t k = 0; k < n && fits > 0; k++) {
            const Py_ssize_t own = PyTuple_GET_SIZE(shapes[k]) - 1 - d;
            PyObject *other = own < 0 ? one : PyTuple_GET_ITEM(shapes[k], own);
            const int is_one = PyObject_RichCompareBool(other, one, Py_EQ);
            fits = is_one ? is_one : PyObject_RichCompareBool(extent, one, Py_EQ);
            if (!fits)
                fits = PyObject_RichCompareBool(extent, other, Py_EQ);
            if (!is_one)
                extent = other;
        }
        PyTuple_SET_ITEM(joint, ndim - 1 - d, Py_NewRef(extent));
    }
    Py_XDECREF(one);
    if (fits <= 0)
        Py_CLEAR(joint);
    return fits ? joint : apart(shapes, n);
}
