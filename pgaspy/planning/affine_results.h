/*
 * Where the result of an elementwise operation lies along each of its dimensions.
 */

/* A block dimension, from its fields. */
static PyObject *new_block_dim(const dimension *dim)
{
    PyObject *axis = dim->axis < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(dim->axis);
    PyObject *const fields[] = {PyLong_FromSsize_t(dim->extent), PyLong_FromSsize_t(dim->n_procs), axis,
                                PyLong_FromSsize_t(dim->parent_extent), PyLong_FromSsize_t(dim->start),
                                PyLong_FromSsize_t(dim->step)};
    return named_tuple(of_dims.block_dim, fields, sizeof fields / sizeof *fields);
}

/* The same distribution, dealt out afresh to another extent. */
static PyObject *fresh_dim(const dimension *dim, Py_ssize_t extent)
{
    if (!dim->is_block)
        return PyObject_CallMethod(dim->itself, "fresh", "n", extent);
    const dimension fresh = {.extent = extent, .n_procs = dim->n_procs, .axis = dim->axis, .parent_extent = extent,
                             .step = 1};
    return new_block_dim(&fresh);
}

/* A view along one of its own dimensions: that of its layout, a new reference, and the indices of it, in ascending
   order. NULL without an exception: it is stretched there. */
static PyObject *section_of(const affine *view, Py_ssize_t d, dimension *dim, Py_ssize_t *start, Py_ssize_t *step)
{
    PyObject *p = PyTuple_GET_ITEM(view->base_dims, d);
    PyObject *dims = p == Py_None ? NULL : tuple_of(view->layout, name.dims, PyTuple_GET_SIZE(view->origin));
    if (!dims)
        return NULL;
    const Py_ssize_t n = PyLong_AsSsize_t(p);
    PyObject *itself = Py_NewRef(PyTuple_GET_ITEM(dims, n));
    Py_DECREF(dims);
    if (read_dimension(itself, dim) < 0)
        Py_CLEAR(itself);
    *start = at(view->origin, n), *step = at(view->steps, d);
    if (*step < 0)
        *start += *step * (at(view->shape, d) - 1), *step = -*step;
    return itself;
}

/* The window of a block dimension that a section of so many elements is. */
static dimension window_of(const dimension *dim, Py_ssize_t start, Py_ssize_t step, Py_ssize_t extent)
{
    dimension window = *dim;
    window.itself = NULL, window.extent = extent;
    window.start = dim->start + dim->step * start, window.step = dim->step * step;
    return window;
}

/* The first of some views that is not stretched in a dimension; NULL: all are. */
static affine *first_along(PyObject *views, Py_ssize_t d)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(views); k++) {
        affine *view = (affine *)PyTuple_GET_ITEM(views, k);
        if (PyTuple_GET_ITEM(view->base_dims, d) != Py_None)
            return view;
    }
    return NULL;
}

/* Have a window begin between those of all views that are shifted against it, as close to the middle of the parent as
   that allows: so every sum of neighbours lies as the interior does, to which it is likely to be assigned, whatever
   their order. -1 with an exception set. */
static int centre(dimension *window, PyObject *views, Py_ssize_t d)
{
    Py_ssize_t least = window->start, most = window->start;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(views); k++) {
        dimension dim;
        Py_ssize_t start, step;
        affine *view = (affine *)PyTuple_GET_ITEM(views, k);
        PyObject *itself = section_of(view, d, &dim, &start, &step);
        if (!itself) {
            if (PyErr_Occurred())
                return -1;
            continue;
        }
        Py_DECREF(itself);
        const dimension other = window_of(&dim, start, step, at(view->shape, d));
        if (!dim.is_block || other.parent_extent != window->parent_extent || other.step != window->step
                || other.n_procs != window->n_procs || other.axis != window->axis)
            continue;
        least = other.start < least ? other.start : least;
        most = other.start > most ? other.start : most;
    }
    const Py_ssize_t outside = window->parent_extent - (window->extent - 1) * window->step - 1;
    const Py_ssize_t low = floor_div(outside, 2), high = -floor_div(-outside, 2);
    Py_ssize_t start = window->start > low ? window->start : low;
    start = start < high ? start : high;
    start = start > least ? start : least;
    window->start = start < most ? start : most;
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *result_dim(PyObject *views, Py_ssize_t d, Py_ssize_t extent)
{
    const affine *first = first_along(views, d);
    if (!first)
        return PyObject_CallFunction(its.whole_dim, "n", extent);
    dimension dim;
    Py_ssize_t start, step;
    PyObject *itself = section_of(first, d, &dim, &start, &step), *found = NULL;
    if (!itself)
        return NULL;
    if (dim.n_procs == 1)
        found = fresh_dim(&dim, extent);
    else if (dim.is_block) {
        dimension window = window_of(&dim, start, step, extent);
        if (PyTuple_GET_SIZE(views) == 1 || centre(&window, views, d) == 0)
            found = new_block_dim(&window);
    } else if ((found = PyObject_CallMethod(itself, "window", "nnn", start, step, extent)) == Py_None)
        Py_SETREF(found, fresh_dim(&dim, extent));
    Py_DECREF(itself);
    return found;
}

/* Whether a dimension of a result may go with those before: along an axis of a grid that is its first view's, too, and
   along which none of them goes; -1 with an exception set. */
static int goes_with(const dimension *dim, PyObject *found, Py_ssize_t d, const affine *first, PyObject *grid)
{
    int answer = 1;
    if (dim->axis < 0)
        return answer;
    if (first) {
        PyObject *own = PyObject_GetAttr(first->layout, name.grid);
        answer = own ? PyObject_RichCompareBool(own, grid, Py_EQ) : -1;
        Py_XDECREF(own);
    }
    for (Py_ssize_t k = 0; k < d && answer > 0; k++) {
        dimension other;
        answer = read_dimension(PyTuple_GET_ITEM(found, k), &other) < 0 ? -1 : other.axis != dim->axis;
    }
    return answer;
}

/* result_dims(shape, views, grid): see affine.pyi. */
static PyObject *result_dims(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 3 || !PyTuple_Check(arguments[0]) || !PyTuple_Check(arguments[1]))
        return PyErr_Format(PyExc_TypeError, "a shape, a tuple of views and a grid are taken");
    PyObject *shape = arguments[0], *views = arguments[1], *grid = arguments[2];
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(views); k++) {
        PyObject *view = PyTuple_GET_ITEM(views, k);
        if (!PyObject_TypeCheck(view, &type_of_affines) || ndim_of((affine *)view) != PyTuple_GET_SIZE(shape))
            return PyErr_Format(PyExc_TypeError, "no view of %zd dimensions: %R", PyTuple_GET_SIZE(shape), view);
    }
    PyObject *found = PyTuple_New(PyTuple_GET_SIZE(shape));
    for (Py_ssize_t d = 0; found && d < PyTuple_GET_SIZE(shape); d++) {
        dimension dim;
        const Py_ssize_t extent = at(shape, d);
        const int is_made = put(found, d, result_dim(views, d, extent)) == 0
            && read_dimension(PyTuple_GET_ITEM(found, d), &dim) == 0;
        const int answer = is_made ? goes_with(&dim, found, d, first_along(views, d), grid) : -1;
        if (answer <= 0)
            Py_CLEAR(found);
        if (answer == 0)
            Py_RETURN_NONE;
    }
    return found;
}
