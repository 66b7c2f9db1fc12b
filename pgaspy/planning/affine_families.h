/*
 * Families of views: see `families.h`.
 *
 * Of one family are views of a layout with the same extents, base dimensions, steps and beginnings along these, and the
 * same owners of the indices at which the others are fixed. So are its numbers; then come the first indices, the
 * extents and the distances of what the process has; and per dimension of the base, where the process's part begins,
 * and the distance in memory of its indices, which is 0 but where the dimension is fixed.
 */

#define N_FAMILIES 4096         /* that are known, a power of 2: one of two in the same place is worked out anew */

static family *known_families[N_FAMILIES];

static void family_dealloc(PyObject *self)
{
    Py_XDECREF(((family *)self)->layout);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject type_of_families = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.planning.affine.Family",
    .tp_basicsize = offsetof(family, numbers),
    .tp_itemsize = sizeof(Py_ssize_t),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = family_dealloc,
};

static Py_ssize_t *lows_of(const family *own)
{
    return (Py_ssize_t *)distances_of(own) + own->ndim;
}

/* Put what tells a family from others into its numbers; -1 with an exception set. */
static int put_key(affine *view, PyObject *coords, Py_ssize_t *numbers)
{
    const Py_ssize_t ndim = ndim_of(view);
    for (Py_ssize_t d = 0; d < ndim; d++) {
        PyObject *p = PyTuple_GET_ITEM(view->base_dims, d);
        numbers[d] = at(view->shape, d);
        numbers[ndim + d] = p == Py_None ? -1 : PyLong_AsSsize_t(p);
        numbers[2 * ndim + d] = at(view->steps, d);
        numbers[3 * ndim + d] = p == Py_None ? 0 : at(view->origin, numbers[ndim + d]);
    }
    for (Py_ssize_t axis = 0; axis < PyTuple_GET_SIZE(coords); axis++) {
        PyObject *fixed = PyTuple_GET_ITEM(coords, axis);
        numbers[4 * ndim + axis] = fixed == Py_None ? -1 : PyLong_AsSsize_t(fixed);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Where what the process has of a view of the family lies, by the indices at which dimensions are fixed. */
static Py_ssize_t offset_of_fixed(const family *own, const affine *view)
{
    const Py_ssize_t *lows = lows_of(own), *distances = lows + own->n_dims;
    Py_ssize_t offset = 0;
    for (Py_ssize_t p = 0; p < own->n_dims; p++)
        if (distances[p])
            offset += (at(view->origin, p) - lows[p]) * distances[p];
    return offset;
}

/* Have what the process has of a family, by one of its views: 1; 0 where that is no interval of each dimension; -1 with
   an exception set. */
static int have_part(family *own, affine *view, PyObject *held)
{
    PyObject *const part = local_part_of(view, own->rank);
    if (!part || part == Py_None) {
        Py_XDECREF(part);
        return part ? 0 : -1;
    }
    Py_ssize_t *lows = lows_of(own), *numbers = (Py_ssize_t *)firsts_of(own);
    own->is_any = PyObject_IsTrue(PyTuple_GET_ITEM(held, IS_ANY)) > 0;
    for (Py_ssize_t p = 0; p < own->n_dims; p++) {
        PyObject *interval = PyTuple_GET_ITEM(PyTuple_GET_ITEM(held, INTERVALS), p);
        const Py_ssize_t index = at(view->origin, p);
        const int is_fixed = along(view, p) < 0;
        lows[p] = at(interval, 0);
        lows[own->n_dims + p] = is_fixed ? at(PyTuple_GET_ITEM(held, STRIDES), p) : 0;
        own->is_any = own->is_any && (!is_fixed || (lows[p] <= index && index < at(interval, 1)));
    }
    own->size = own->is_any;
    own->is_ascending = 1;
    for (Py_ssize_t d = 0; d < own->ndim; d++) {
        numbers[d] = at(PyTuple_GET_ITEM(part, FIRST), d);
        numbers[own->ndim + d] = at(PyTuple_GET_ITEM(part, EXTENTS), d);
        numbers[2 * own->ndim + d] = at(PyTuple_GET_ITEM(part, DISTANCES), d);
        own->size *= numbers[own->ndim + d];
        own->is_ascending = own->is_ascending && at(view->steps, d) > 0;
    }
    own->offset = own->is_any ? PyLong_AsSsize_t(PyTuple_GET_ITEM(part, OFFSET)) - offset_of_fixed(own, view) : 0;
    Py_DECREF(part);
    return PyErr_Occurred() ? -1 : 1;
}

/* The family of a view that is the first one of it. */
static family *new_family(affine *view, Py_ssize_t rank, const Py_ssize_t *key, Py_ssize_t n_key, Py_hash_t hash)
{
    const Py_ssize_t ndim = ndim_of(view), n_dims = PyTuple_GET_SIZE(view->origin);
    PyObject *held = held_by(view->layout, rank);
    family *own = held ? (family *)type_of_families.tp_alloc(&type_of_families, n_key + 3 * ndim + 2 * n_dims) : NULL;
    if (own) {
        own->layout = Py_NewRef(view->layout);
        own->hash = hash, own->rank = rank, own->ndim = ndim, own->n_dims = n_dims, own->n_axes = n_key - 4 * ndim;
        memcpy(own->numbers, key, n_key * sizeof *key);
        const int found = have_part(own, view, held);
        own->is_known = found > 0;
        if (found < 0)
            Py_CLEAR(own);
    }
    Py_XDECREF(held);
    return own;
}

/* The family with a key, which is one of a view, a new reference. */
static family *family_by(affine *view, Py_ssize_t rank, const Py_ssize_t *key, Py_ssize_t n_key)
{
    const Py_ssize_t ndim = ndim_of(view);
    Py_uhash_t hash = mixed((Py_uhash_t)(uintptr_t)view->layout >> 4, (Py_uhash_t)rank);
    for (Py_ssize_t k = 0; k < n_key; k++)
        hash = mixed(hash, (Py_uhash_t)key[k]);
    family **place = &known_families[hash & (N_FAMILIES - 1)], *known = *place;
    if (known && known->hash == (Py_hash_t)hash && known->layout == view->layout && known->rank == rank
            && known->ndim == ndim && known->n_axes == n_key - 4 * ndim
            && !memcmp(known->numbers, key, n_key * sizeof *key))
        return (family *)Py_NewRef((PyObject *)known);
    family *found = new_family(view, rank, key, n_key, (Py_hash_t)hash);
    if (found)
        Py_XSETREF(*place, (family *)Py_NewRef((PyObject *)found));
    return found;
}

/* That of a view on a process, a new reference. */
static family *found_family(affine *view, Py_ssize_t rank)
{
    PyObject *coords = fixed_coords(view);
    if (!coords)
        return NULL;
    const Py_ssize_t n_key = 4 * ndim_of(view) + PyTuple_GET_SIZE(coords);
    Py_ssize_t few[4 * MAX_NDIM + MAX_NDIM], *key = few;        /* a grid may have any number of axes */
    if (n_key > (Py_ssize_t)(sizeof few / sizeof *few) && !(key = PyMem_New(Py_ssize_t, n_key))) {
        PyErr_NoMemory();
        return NULL;
    }
    family *found = put_key(view, coords, key) < 0 ? NULL : family_by(view, rank, key, n_key);
    if (key != few)
        PyMem_Free(key);
    return found;
}

static family *family_of(PyObject *x, Py_ssize_t rank, Py_ssize_t *offset)
{
    if (!PyObject_TypeCheck(x, &type_of_affines)) {
        PyErr_Format(PyExc_TypeError, "no view: %R", x);
        return NULL;
    }
    affine *view = (affine *)x;
    if (!view->of || view->of->rank != rank) {
        family *found = found_family(view, rank);
        if (!found)
            return NULL;
        Py_XSETREF(view->of, found);
        view->offset = found->is_any ? found->offset + offset_of_fixed(found, view) : 0;
    }
    *offset = view->offset;
    return view->of;
}

static int views_lie_alike(PyObject *out, PyObject *view)
{
    return do_lie_alike((affine *)out, (affine *)view);
}

/* The interval [low, high) of the indices that a view has of a dimension of its base. */
static void hull(const affine *view, Py_ssize_t p, Py_ssize_t *low, Py_ssize_t *high)
{
    const Py_ssize_t d = along(view, p), first = at(view->origin, p);
    const Py_ssize_t last = d < 0 ? first : first + at(view->steps, d) * (at(view->shape, d) - 1);
    *low = first < last ? first : last, *high = (first < last ? last : first) + 1;
}

static int is_empty(const affine *view)
{
    for (Py_ssize_t d = 0; d < ndim_of(view); d++)
        if (!at(view->shape, d))
            return 1;
    return 0;
}

/* See affine.pyi. */
static int are_disjoint(PyObject *x, PyObject *y)
{
    const affine *a = (affine *)x, *b = (affine *)y;
    int are = is_empty(a) || is_empty(b);
    if (PyTuple_GET_SIZE(a->origin) != PyTuple_GET_SIZE(b->origin))
        return are;
    for (Py_ssize_t p = 0; p < PyTuple_GET_SIZE(a->origin) && !are; p++) {
        Py_ssize_t low[2], high[2];
        hull(a, p, &low[0], &high[0]);
        hull(b, p, &low[1], &high[1]);
        are = high[0] <= low[1] || high[1] <= low[0];
    }
    return PyErr_Occurred() ? -1 : are;
}

static families for_others = {family_of, views_lie_alike, are_disjoint, joint_shape};
