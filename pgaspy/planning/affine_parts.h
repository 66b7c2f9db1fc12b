/*
 * What a process has of a map, where that is an interval of each dimension: see `LocalPart`.
 */

/* The i, 0 <= i < n, with low <= start + step*i < high, as an interval. */
static void within(Py_ssize_t low, Py_ssize_t high, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n,
                   Py_ssize_t *first, Py_ssize_t *stop)
{
    if (step > 0)
        *first = -floor_div(start - low, step), *stop = -floor_div(start - high, step);
    else
        *first = floor_div(start - high, -step) + 1, *stop = floor_div(start - low, -step) + 1;
    *first = *first > 0 ? *first : 0;
    *stop = *stop < n ? *stop : n;
    *stop = *stop > *first ? *stop : *first;
}

/* The least interval [first, stop) of start + step*i, i < n. */
static PyObject *interval_of(Py_ssize_t start, Py_ssize_t step, Py_ssize_t n)
{
    const Py_ssize_t last = start + step * (n - 1);
    return n == 0 ? Py_BuildValue("(ii)", 0, 0)
         : step > 0 ? Py_BuildValue("(nn)", start, last + 1) : Py_BuildValue("(nn)", last, start + 1);
}

/* What a process holds of a layout: a `Held`, which it has for the process that asked last. */
static PyObject *held_by(PyObject *layout, Py_ssize_t rank)
{
    PyObject *held = PyObject_GetAttr(layout, name.last_held);
    if (!held || (PyTuple_Check(held) && at(held, 0) == rank))
        return held;
    Py_DECREF(held);
    PyObject *number = PyLong_FromSsize_t(rank);
    held = number ? PyObject_CallMethodOneArg(layout, name.held_by, number) : NULL;
    Py_XDECREF(number);
    return held;
}

enum {RANK, COORDS, IS_ANY, INTERVALS, SHAPE, STRIDES, SIZE};           /* the fields of one */
enum {FIRST, EXTENTS, START, STEPS, OFFSET, DISTANCES, BOX, BASE_DIMS, N_FIELDS};       /* those of a part */

static int set_number(PyObject *tuple, Py_ssize_t d, Py_ssize_t number)
{
    PyObject *made = tuple ? PyLong_FromSsize_t(number) : NULL;
    if (tuple)
        PyTuple_SET_ITEM(tuple, d, made);
    return made ? 0 : -1;
}

/* What the base has along each of its dimensions on the process: indices [low, high), and its memory. */
typedef struct {
    Py_ssize_t low[MAX_NDIM], high[MAX_NDIM], strides[MAX_NDIM];
    int is_any;
} memory;

/* Read it, and have a box of all of it; 0 where it is no interval of some dimension, -1 with an exception set. */
static int read_memory(PyObject *held, memory *own, PyObject *box)
{
    PyObject *intervals = PyTuple_GET_ITEM(held, INTERVALS), *shape = PyTuple_GET_ITEM(held, SHAPE);
    own->is_any = PyObject_IsTrue(PyTuple_GET_ITEM(held, IS_ANY));
    for (Py_ssize_t p = 0; p < PyTuple_GET_SIZE(intervals); p++) {
        PyObject *interval = PyTuple_GET_ITEM(intervals, p);
        if (interval == Py_None)
            return 0;
        own->low[p] = at(interval, 0), own->high[p] = at(interval, 1);
        own->strides[p] = at(PyTuple_GET_ITEM(held, STRIDES), p);
        if (put(box, p, interval_of(0, 1, at(shape, p))) < 0)
            return -1;
    }
    return PyErr_Occurred() ? -1 : 1;
}

/* Go to the indices at which dimensions of the base are fixed, in its memory; -1 with an exception set. */
static int go_to_fixed(const affine *self, memory *own, PyObject *box, Py_ssize_t *offset)
{
    for (Py_ssize_t p = 0; p < PyTuple_GET_SIZE(self->origin); p++) {
        if (along(self, p) >= 0)
            continue;
        const Py_ssize_t index = at(self->origin, p);
        own->is_any = own->is_any && own->low[p] <= index && index < own->high[p];
        const Py_ssize_t local = own->is_any ? index - own->low[p] : 0;
        *offset += local * own->strides[p];
        if (put(box, p, interval_of(local, 1, 1)) < 0)
            return -1;
    }
    return 0;
}

/* Have in the fields what the process owns along a dimension of the map; -1 with an exception set. */
static int go_along(const affine *self, Py_ssize_t d, const memory *own, PyObject *const *fields, Py_ssize_t *offset)
{
    PyObject *base_dim = PyTuple_GET_ITEM(self->base_dims, d);
    Py_ssize_t n = at(self->shape, d), first = 0, start = 0, stride = 0;
    if (base_dim != Py_None) {
        const Py_ssize_t p = PyLong_AsSsize_t(base_dim), begin = at(self->origin, p), step = at(self->steps, d);
        Py_ssize_t stop;
        within(own->low[p], own->high[p], begin, step, n, &first, &stop);
        n = stop - first;
        start = begin + step * first - own->low[p];
        stride = step * own->strides[p];
        *offset += start * own->strides[p];
        if (put(fields[BOX], p, interval_of(start, step, n)) < 0)
            return -1;
    }
    const Py_ssize_t numbers[] = {first, n, start, stride};
    const int places[] = {FIRST, EXTENTS, START, DISTANCES};
    for (int k = 0; k < 4; k++)
        if (set_number(fields[places[k]], d, numbers[k]) < 0)
            return -1;
    return 0;
}

static PyObject *new_part(const affine *self, PyObject *held)   /* None where there is none */
{
    const Py_ssize_t ndim = ndim_of(self), n = PyTuple_GET_SIZE(self->origin);
    PyObject *fields[N_FIELDS] = {PyTuple_New(ndim), PyTuple_New(ndim), PyTuple_New(ndim), Py_NewRef(self->steps), NULL,
                                  PyTuple_New(ndim), PyTuple_New(n), Py_NewRef(self->base_dims)};
    memory own;
    Py_ssize_t offset = 0;
    int answer = PyErr_Occurred() ? -1 : read_memory(held, &own, fields[BOX]);
    if (answer > 0 && go_to_fixed(self, &own, fields[BOX], &offset) < 0)
        answer = -1;
    for (Py_ssize_t d = 0; d < ndim && answer > 0; d++) {
        const int places[] = {FIRST, EXTENTS, START, DISTANCES};
        if (own.is_any)
            answer = go_along(self, d, &own, fields, &offset) < 0 ? -1 : 1;
        else
            for (int k = 0; k < 4; k++)
                if (set_number(fields[places[k]], d, 0) < 0)
                    answer = -1;
    }
    if (answer > 0 && (fields[OFFSET] = PyLong_FromSsize_t(own.is_any ? offset : 0)))
        return named_tuple(its.local_part, fields, N_FIELDS);
    for (int k = 0; k < N_FIELDS; k++)
        Py_XDECREF(fields[k]);
    return answer ? NULL : Py_NewRef(Py_None);
}

/* Where the one index along a dimension lies in memory, in elements; -1: not here; -2 with an exception set. */
static Py_ssize_t position(PyObject *itself, Py_ssize_t i, PyObject *interval, PyObject *coords)
{
    if (interval != Py_None)
        return at(interval, 0) <= i && i < at(interval, 1) ? i - at(interval, 0) : -1;
    dimension dim;
    if (read_dimension(itself, &dim) < 0)
        return -2;
    const Py_ssize_t part = asked(itself, name.part_from_index, i, 0, 0);
    if (dim.axis >= 0 && part >= 0 && owner_of(&dim, i) != at(coords, dim.axis))
        return PyErr_Occurred() ? -2 : -1;
    const Py_ssize_t found = part < 0 ? -2 : asked(itself, name.local_from_index, i, part, 1);
    return PyErr_Occurred() ? -2 : found;
}

static PyObject *new_place(const affine *self, PyObject *held)   /* None where the process has not the element */
{
    PyObject *dims = tuple_of(self->layout, name.dims, PyTuple_GET_SIZE(self->origin));
    Py_ssize_t offset = 0;
    const int is_any = dims ? PyObject_IsTrue(PyTuple_GET_ITEM(held, IS_ANY)) : 0;
    int is_here = is_any > 0;
    for (Py_ssize_t p = 0; is_here && p < PyTuple_GET_SIZE(self->origin); p++) {
        const Py_ssize_t found = position(PyTuple_GET_ITEM(dims, p), at(self->origin, p),
                                          PyTuple_GET_ITEM(PyTuple_GET_ITEM(held, INTERVALS), p),
                                          PyTuple_GET_ITEM(held, COORDS));
        is_here = found >= 0;
        offset += found * at(PyTuple_GET_ITEM(held, STRIDES), p);
    }
    Py_XDECREF(dims);
    return PyErr_Occurred() ? NULL : is_here ? PyLong_FromSsize_t(offset) : Py_NewRef(Py_None);
}

/* What (view, rank) ask for: found again for the rank that asked last, else worked out of what that rank holds. */
static PyObject *of_rank(PyObject *const *arguments, Py_ssize_t n, size_t offset,
                         PyObject *(*work_out)(const affine *view, PyObject *held))
{
    if (n != 2 || !PyObject_TypeCheck(arguments[0], &type_of_affines))
        return PyErr_Format(PyExc_TypeError, "a view and a rank are taken");
    affine *view = (affine *)arguments[0];
    found_of_rank *last = (found_of_rank *)((char *)view + offset);
    const Py_ssize_t rank = PyLong_AsSsize_t(arguments[1]);
    if (rank == -1 && PyErr_Occurred())
        return NULL;
    if (last->found && last->rank == rank)
        return Py_NewRef(last->found);
    PyObject *held = held_by(view->layout, rank), *found = held ? work_out(view, held) : NULL;
    Py_XDECREF(held);
    if (found) {
        Py_XSETREF(last->found, Py_NewRef(found));
        last->rank = rank;
    }
    return found;
}

/* local_part(view, rank): see affine.pyi. */
static PyObject *local_part(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    return of_rank(arguments, n, offsetof(affine, part), new_part);
}

static PyObject *local_part_of(affine *view, Py_ssize_t rank)
{
    PyObject *number = PyLong_FromSsize_t(rank), *const arguments[] = {(PyObject *)view, number};
    PyObject *found = number ? local_part(NULL, arguments, 2) : NULL;
    Py_XDECREF(number);
    return found;
}

/* place(view, rank): see affine.pyi. */
static PyObject *place(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    return of_rank(arguments, n, offsetof(affine, place), new_place);
}

/* indices_within(low, high, start, step, n): see affine.pyi. */
static PyObject *indices_within(PyObject *module, PyObject *arguments)
{
    Py_ssize_t low, high, start, step, n, first, stop;
    if (!PyArg_ParseTuple(arguments, "nnnnn", &low, &high, &start, &step, &n))
        return NULL;
    if (!step)
        return PyErr_Format(PyExc_ZeroDivisionError, "a step of 0");
    within(low, high, start, step, n, &first, &stop);
    return Py_BuildValue("(nn)", first, stop);
}

/* interval(start, step, n): see affine.pyi. */
static PyObject *interval(PyObject *module, PyObject *arguments)
{
    Py_ssize_t start, step, n;
    return PyArg_ParseTuple(arguments, "nnn", &start, &step, &n) ? interval_of(start, step, n) : NULL;
}

/* begin(local_part): have the class of parts. */
static PyObject *begin_parts(PyObject *module, PyObject *class)
{
    if (!PyType_Check(class) || !PyType_IsSubtype((PyTypeObject *)class, &PyTuple_Type))
        return PyErr_Format(PyExc_TypeError, "no class of tuples: %R", class);
    Py_XSETREF(its.local_part, Py_NewRef(class));
    Py_RETURN_NONE;
}
