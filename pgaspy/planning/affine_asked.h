/*
 * What is asked of every new map: which of its dimensions repeat elements, in which order they lie, who has them, who
 * alone has them.
 */

static int is_stretched(const affine *self, Py_ssize_t d)
{
    return PyTuple_GET_ITEM(self->base_dims, d) == Py_None && at(self->shape, d) != 1;
}

static Py_ssize_t n_stretched(const affine *self)
{
    Py_ssize_t n = 0;
    for (Py_ssize_t d = 0; d < ndim_of(self); d++)
        n += is_stretched(self, d);
    return n;
}

static PyObject *get_stretched_dims(affine *self, void *closure)
{
    PyObject *found = PyTuple_New(n_stretched(self));
    for (Py_ssize_t d = 0, k = 0; found && d < ndim_of(self); d++)
        if (is_stretched(self, d) && set_number(found, k++, d) < 0)
            Py_CLEAR(found);
    return found;
}

static PyObject *get_unstretched(affine *self, void *closure)
{
    const Py_ssize_t n = n_stretched(self);
    PyObject *found = n ? kept_by(self, name.unstretched) : Py_NewRef(self);
    if (found || PyErr_Occurred())
        return found;
    derived to;
    int has_failed = begin(&to, self, ndim_of(self) - n);
    for (Py_ssize_t d = 0; d < ndim_of(self) && !has_failed; d++)
        if (!is_stretched(self, d))
            has_failed = add_as_it_is(&to, self, d);
    return end(&to, self, name.unstretched, has_failed);
}

/* The dimension of the base along which one of a map goes; -1: none. */
static Py_ssize_t place_in_base(const affine *self, Py_ssize_t d)
{
    PyObject *p = PyTuple_GET_ITEM(self->base_dims, d);
    return p == Py_None ? -1 : PyLong_AsSsize_t(p);
}

static PyObject *get_memory_order(affine *self, void *closure)
{
    const Py_ssize_t ndim = ndim_of(self);
    Py_ssize_t order[MAX_NDIM], last = -1;
    int is_own = 1;
    for (Py_ssize_t d = 0; d < ndim; d++) {
        const Py_ssize_t p = place_in_base(self, d);
        is_own = is_own && (p < 0 || p > last);
        last = p < 0 ? last : p;
        Py_ssize_t k = d;
        for (; k > 0 && place_in_base(self, order[k - 1]) > p; k--)
            order[k] = order[k - 1];
        order[k] = d;
    }
    if (is_own)
        Py_RETURN_NONE;
    PyObject *found = PyTuple_New(ndim);
    for (Py_ssize_t d = 0; found && d < ndim; d++)
        if (set_number(found, d, order[d]) < 0)
            Py_CLEAR(found);
    return found;
}

/* The dimension with exactly a view's owners along one of its own; None where there is none. */
static PyObject *own_dim(const affine *view, Py_ssize_t d)
{
    const Py_ssize_t extent = at(view->shape, d), p = place_in_base(view, d);
    if (p < 0)
        return extent > 1 ? Py_NewRef(Py_None) : PyObject_CallFunction(its.whole_dim, "n", extent);
    dimension dim;
    PyObject *dims = tuple_of(view->layout, name.dims, PyTuple_GET_SIZE(view->origin)), *found = NULL;
    if (dims && read_dimension(PyTuple_GET_ITEM(dims, p), &dim) == 0) {
        const Py_ssize_t start = at(view->origin, p), step = at(view->steps, d);
        const dimension window = dim.is_block ? window_of(&dim, start, step > 1 ? step : 1, extent) : dim;
        found = !dim.is_block ? PyObject_CallMethod(dim.itself, "window", "nnn", start, step, extent)
            : step > 0 || extent <= 1 ? new_block_dim(&window) : Py_NewRef(Py_None);
    }
    Py_XDECREF(dims);
    return found;
}

/* own_dims(view): see affine.pyi. */
static PyObject *own_dims(PyObject *module, PyObject *view)
{
    if (!PyObject_TypeCheck(view, &type_of_affines))
        return PyErr_Format(PyExc_TypeError, "no view: %R", view);
    const Py_ssize_t ndim = ndim_of((affine *)view);
    PyObject *found = PyTuple_New(ndim);
    for (Py_ssize_t d = 0; found && d < ndim; d++)
        if (put(found, d, own_dim((affine *)view, d)) < 0)
            Py_CLEAR(found);
        else if (PyTuple_GET_ITEM(found, d) == Py_None) {
            Py_DECREF(found);
            Py_RETURN_NONE;
        }
    return found;
}

static PyObject *get_only_holder(affine *self, void *closure)
{
    PyObject *coords = fixed_coords(self);
    PyObject *grid = coords ? tuple_of(self->layout, name.grid, PyTuple_GET_SIZE(coords)) : NULL;
    Py_ssize_t rank = grid ? 0 : -1;
    for (Py_ssize_t axis = 0; rank >= 0 && axis < PyTuple_GET_SIZE(grid); axis++) {
        const Py_ssize_t n = at(grid, axis);
        if (n > 1 && PyTuple_GET_ITEM(coords, axis) == Py_None)
            rank = -1;
        else
            rank = rank * n + (n > 1 ? at(coords, axis) : 0);
    }
    Py_XDECREF(grid);
    return PyErr_Occurred() ? NULL : rank < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(rank);
}

static PyObject *affine_disjoint(affine *self, PyObject *other)
{
    if (!PyObject_TypeCheck(other, &type_of_affines))
        return PyErr_Format(PyExc_TypeError, "no view: %R", other);
    const int answer = are_disjoint((PyObject *)self, other);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}
