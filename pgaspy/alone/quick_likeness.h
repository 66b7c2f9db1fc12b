/*
 * What the layouts of small arrays follow from, see `likeness`: of most, without a view being made.
 */

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

/* What a result of two arrays follows from that follow from these: see `like_of_all`. */
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
    npy_intp shape[NPY_MAXDIMS];
    PyObject *joint = PyArray_IntTupleFromIntp(joint_shape(a, b, shape), shape), *found = NULL;
    PyObject *own = PyObject_GetAttr(a, name.shape), *theirs = PyObject_GetAttr(b, name.shape);
    PyObject *both = PyTuple_Pack(2, x, y), *shapes = own && theirs ? PyTuple_Pack(2, own, theirs) : NULL;
    if (joint && both && shapes) {
        PyObject *arguments[] = {both, shapes, joint};
        found = PyObject_Vectorcall(its.like_of_all, arguments, 3, NULL);
    }
    Py_XDECREF(shapes);
    Py_XDECREF(both);
    Py_XDECREF(own);
    Py_XDECREF(theirs);
    Py_XDECREF(joint);
    return found;
}

static PyObject *like_of_two(PyObject *x, PyObject *a, PyObject *y, PyObject *b)
{
    PyObject *first = Py_XNewRef(like_of(x)), *second = Py_XNewRef(like_of(y));     /* also if their bases are made */
    PyObject *found = first && second ? like_of_both(x, first, a, y, second, b) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return found;
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

/* What the view of an array follows from that has dimensions, or that view: see `view_like`; a new reference. */
static PyObject *view_like(PyObject *x)
{
    PyObject *source = SLOT(x, its.source);
    PyObject *like = like_of(x);
    if (!like || source == Py_None || PyTuple_GET_ITEM(source, 2) == Py_True)
        return Py_XNewRef(like);
    Py_INCREF(like);
    PyObject *found = like_by_key(its.result, like, Py_None);
    Py_DECREF(like);
    return found;
}
