/*
 * Which processes have the elements of a map: how its dimensions are dealt out, and where it lies.
 */

/* What a method of a dimension says of integers; -1 with an exception set. */
static Py_ssize_t asked(PyObject *dim, PyObject *method, Py_ssize_t i, Py_ssize_t part, int takes_part)
{
    PyObject *index = PyLong_FromSsize_t(i), *second = takes_part ? PyLong_FromSsize_t(part) : NULL, *found = NULL;
    if (index && (second || !takes_part))
        found = PyObject_CallMethodObjArgs(dim, method, index, second, NULL);
    Py_XDECREF(index);
    Py_XDECREF(second);
    const Py_ssize_t number = found ? PyNumber_AsSsize_t(found, PyExc_OverflowError) : -1;
    Py_XDECREF(found);
    return number;
}

/* The coordinate of the process that owns an index; -1 with an exception set. */
static Py_ssize_t owner_of(const dimension *dim, Py_ssize_t i)
{
    if (dim->n_procs == 1)
        return 0;
    if (dim->is_block)
        return (Py_ssize_t)((((__int128)dim->start + (__int128)dim->step * i + 1) * dim->n_procs - 1)
                            / dim->parent_extent);
    const Py_ssize_t part = asked(dim->itself, name.part_from_index, i, 0, 0);
    return part < 0 ? -1 : asked(dim->itself, name.owner_from_part, part, 0, 0);
}

/* The dimension of a map that goes along one of its base; -1: none does. */
static Py_ssize_t along(const affine *self, Py_ssize_t p)
{
    for (Py_ssize_t d = 0; d < ndim_of(self); d++) {
        PyObject *base_dim = PyTuple_GET_ITEM(self->base_dims, d);
        if (base_dim != Py_None && PyLong_AsSsize_t(base_dim) == p)
            return d;
    }
    return -1;
}

static PyObject *new_fixed_coords(const affine *self)
{
    PyObject *pins = tuple_of(self->layout, name.pins, -1), *coords = NULL;
    PyObject *dims = pins ? tuple_of(self->layout, name.dims, PyTuple_GET_SIZE(self->origin)) : NULL;
    const Py_ssize_t n_axes = dims ? PyTuple_GET_SIZE(pins) : 0;
    if (dims && (coords = PyTuple_New(n_axes)))
        for (Py_ssize_t axis = 0; axis < n_axes; axis++)
            PyTuple_SET_ITEM(coords, axis, Py_NewRef(PyTuple_GET_ITEM(pins, axis)));
    for (Py_ssize_t p = 0; coords && p < PyTuple_GET_SIZE(dims); p++) {
        dimension dim;
        if (read_dimension(PyTuple_GET_ITEM(dims, p), &dim) < 0) {
            Py_CLEAR(coords);
            break;
        }
        if (dim.axis < 0 || dim.axis >= n_axes || !dim.extent || along(self, p) >= 0)
            continue;
        PyObject *owner = PyLong_FromSsize_t(owner_of(&dim, at(self->origin, p)));
        if (!owner || PyErr_Occurred()) {
            Py_XDECREF(owner);
            Py_CLEAR(coords);
            break;
        }
        put(coords, dim.axis, owner);
    }
    Py_XDECREF(pins);
    Py_XDECREF(dims);
    return coords;
}

static PyObject *fixed_coords(affine *self)             /* a borrowed reference */
{
    return self->fixed_coords ? self->fixed_coords : once(&self->fixed_coords, new_fixed_coords(self));
}

/* How the elements are dealt out along an axis of the grid, over which goes a dimension of the base (-1: none). */
static PyObject *along_axis(affine *self, PyObject *dims, Py_ssize_t axis, Py_ssize_t p)
{
    const Py_ssize_t d = p < 0 ? -1 : along(self, p);
    if (d < 0) {
        PyObject *coords = fixed_coords(self), *fixed = coords ? PyTuple_GET_ITEM(coords, axis) : NULL;
        return !fixed ? NULL : fixed == Py_None ? Py_NewRef(Py_None) : Py_BuildValue("(sO)", "at", fixed);
    }
    dimension dim;
    if (read_dimension(PyTuple_GET_ITEM(dims, p), &dim) < 0)
        return NULL;
    const Py_ssize_t begin = at(self->origin, p), step = at(self->steps, d);
    if (dim.is_block)
        return Py_BuildValue("(nnnn)", d, dim.parent_extent, dim.start + dim.step * begin, dim.step * step);
    return Py_BuildValue("(nOnn)", d, dim.itself, begin, step);
}

static PyObject *new_along_axes(affine *self)
{
    PyObject *axes = tuple_of(self->layout, name.axes_of_several, -1), *found = NULL;
    PyObject *dims = axes ? tuple_of(self->layout, name.dims, PyTuple_GET_SIZE(self->origin)) : NULL;
    PyObject *of_axes = dims ? tuple_of(self->layout, name.dim_from_axis, -1) : NULL;
    if (of_axes)
        found = PyTuple_New(PyTuple_GET_SIZE(axes));
    for (Py_ssize_t k = 0; found && k < PyTuple_GET_SIZE(axes); k++) {
        const Py_ssize_t axis = at(axes, k);
        PyObject *dim = PyTuple_GET_ITEM(of_axes, axis);
        PyObject *dealt = along_axis(self, dims, axis, dim == Py_None ? -1 : PyLong_AsSsize_t(dim));
        if (put(found, k, dealt) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(axes);
    Py_XDECREF(dims);
    Py_XDECREF(of_axes);
    return found;
}

static PyObject *along_axes(affine *self)               /* a borrowed reference */
{
    return self->along_axes ? self->along_axes : once(&self->along_axes, new_along_axes(self));
}

static PyObject *get_fixed_coords(affine *self, void *closure)
{
    return Py_XNewRef(fixed_coords(self));
}

static PyObject *get_along_axes(affine *self, void *closure)
{
    return Py_XNewRef(along_axes(self));
}

/* Whether attributes of two objects are equal, or (with a NULL) one is true; -1 with an exception set. */
static int agree(PyObject *x, PyObject *y, PyObject *attribute)
{
    PyObject *a = PyObject_GetAttr(x, attribute), *b = a && y ? PyObject_GetAttr(y, attribute) : NULL;
    const int answer = !a || (y && !b) ? -1 : y ? PyObject_RichCompareBool(a, b, Py_EQ) : PyObject_IsTrue(a);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return answer;
}

static int is_on_one_process(PyObject *layout)
{
    Py_ssize_t n_procs;
    return number_of(layout, name.n_procs, &n_procs) < 0 ? -1 : n_procs == 1;
}

/* Whether both have one holder, and it is the same. */
static int have_one_holder(affine *out, affine *view)
{
    PyObject *holder = PyObject_GetAttr((PyObject *)view, name.only_holder);
    const int answer = !holder ? -1 : holder != Py_None;
    Py_XDECREF(holder);
    return answer > 0 ? agree((PyObject *)view, (PyObject *)out, name.only_holder) : answer;
}

static int do_lie_alike(affine *out, affine *view)
{
    if (out == view)
        return 1;
    int answer = is_on_one_process(out->layout);
    if (!answer)
        answer = agree(view->layout, NULL, name.is_replicated);
    if (answer)
        return answer;
    const int is_same_grid = agree(out->layout, view->layout, name.grid);
    if (is_same_grid < 0)
        return -1;
    if (!is_same_grid)
        answer = have_one_holder(out, view);
    else if (!ndim_of(out) && !ndim_of(view)) {
        PyObject *own = fixed_coords(out), *theirs = own ? fixed_coords(view) : NULL;
        answer = theirs ? PyObject_RichCompareBool(own, theirs, Py_EQ) : -1;
    } else
        answer = PyObject_RichCompareBool((PyObject *)out, (PyObject *)view, Py_EQ);
    if (answer)
        return answer;
    if (!is_same_grid && (answer = agree(out->layout, view->layout, name.grid_of_several)) <= 0)
        return answer;
    PyObject *own = along_axes(out), *theirs = own ? along_axes(view) : NULL;
    if (!theirs)
        return -1;
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(theirs); axis++) {
        PyObject *place = PyTuple_GET_ITEM(theirs, axis);
        answer = place == Py_None ? 1 : PyObject_RichCompareBool(PyTuple_GET_ITEM(own, axis), place, Py_EQ);
        if (answer <= 0)
            return answer;
    }
    return 1;
}

/* lie_alike(out, view): see affine.pyi. */
static PyObject *lie_alike(PyObject *module, PyObject *const *views, Py_ssize_t n)
{
    if (n != 2 || !PyObject_TypeCheck(views[0], &type_of_affines) || !PyObject_TypeCheck(views[1], &type_of_affines))
        return PyErr_Format(PyExc_TypeError, "lie_alike takes two views");
    const int answer = do_lie_alike((affine *)views[0], (affine *)views[1]);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}
