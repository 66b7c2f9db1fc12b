/*
 * Methods of arrays, from the call to what is recorded or computed: see `_attempts.h`.
 * What is not certain here is left to their definitions in Python, before anything has been done.
 */
#include "_attempts.h"

/* Whether it is an array that has its elements in a base, of a class whose attributes are in slots. */
static int has_base(PyObject *x)
{
    return is_array(x) && SLOT(x, its.at_base) && SLOT(x, its.at_view) && SLOT(x, its.at_source) == Py_None;
}

/* Whether so many elements of a size are not NumPy's in a job of one process: see `small.are_few`. */
static int are_many(Py_ssize_t n, Py_ssize_t itemsize)
{
    return n > its.max_small && itemsize && n > 8 * its.max_small / itemsize;
}

/* The same of an array, or a section of one; -1 with an exception set. */
static int is_large(PyObject *base, PyObject *view)
{
    PyObject *size = PyObject_GetAttr(view, name.size);
    const Py_ssize_t n = size ? PyLong_AsSsize_t(size) : -1;
    Py_XDECREF(size);
    PyObject *dtype = n > its.max_small ? attribute_of(base, 0, 0, name.dtype) : NULL;
    const int is = dtype && are_many(n, PyDataType_ELSIZE((PyArray_Descr *)dtype));
    Py_XDECREF(dtype);
    return PyErr_Occurred() ? -1 : is;
}

/* The queue that takes an operator on an array in a base, borrowed; NULL where that is up to Python. */
static PyObject *queue_for(PyObject *x)
{
    PyObject *queue = its.array && has_base(x) ? queue_of_job() : NULL;
    return queue && (!is_alone(queue) || is_large(SLOT(x, its.at_base), SLOT(x, its.at_view)) > 0) ? queue : NULL;
}

/* Elements of an array that is NumPy's in a job of one process, borrowed; NULL where there are none. */
static PyObject *few_of(PyObject *x)
{
    PyObject *elements = is_array(x) ? SLOT(x, its.at_elements) : NULL;
    return elements && PyArray_Check(elements) ? elements : NULL;
}

/* The queue of a job of one process for a function of two arrays with few elements, if there are many of the result. */
static PyObject *queue_for_outer(PyObject *x, PyObject *y)
{
    PyObject *a = few_of(x), *b = few_of(y);
    if (!a || !b)
        return NULL;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = joint_shape(a, b, shape);
    Py_ssize_t size = ndim >= 0;
    for (int d = 0; d < ndim; d++)
        size *= shape[d];
    PyObject *queue = are_many(size, PyArray_ITEMSIZE((PyArrayObject *)a)) ? queue_of_job() : NULL;
    return queue && is_alone(queue) ? queue : NULL;
}

/* What is known of a call by its key: a new reference, None if nothing is. */
static PyObject *known_by(PyObject *key)
{
    return key ? PyObject_GetItem(its.known_calls, key) : NULL;
}

/* The key of an operator, as `ufuncs` makes it. */
static PyObject *key_of_operator(PyObject *ufunc, const operand *x, const operand *y, PyObject *number, int is_first)
{
    PyObject *view = PyLong_FromVoidPtr(x->view), *other = y->view ? PyLong_FromVoidPtr(y->view) : NULL;
    PyObject *key = !view || (y->view && !other) ? NULL
        : other ? PyTuple_Pack(5, ufunc, view, x->dtype, other, y->dtype)
                : PyTuple_Pack(5, ufunc, view, x->dtype, (PyObject *)Py_TYPE(number), is_first ? Py_True : Py_False);
    Py_XDECREF(view);
    Py_XDECREF(other);
    return key;
}

/* What an operator that is not known gives; NULL without an exception where Python has to look. */
static PyObject *new_operator(PyObject *queue, PyObject *key, PyObject *ufunc, operand *x, operand *y, PyObject *number,
                              int is_first, PyObject *inputs)
{
    PyObject *form = found_form(ufunc, x->dtype, y->view ? y->dtype : (PyObject *)Py_TYPE(number),
                                is_first ? FIRST : SECOND);
    if (!form || form == Py_None)
        return NULL;
    Py_INCREF(form);
    PyObject *found = computed(queue, key, form, x, y, number);
    Py_DECREF(form);
    if (found == Py_None)
        Py_CLEAR(found);
    else if (found == Py_NotImplemented)
        Py_SETREF(found, PyObject_CallFunctionObjArgs(its.record_operator, key, ufunc, inputs, its.made, NULL));
    return found;
}

static int attempt_operator(PyObject *ufunc, PyObject *x, PyObject *y, int is_first, PyObject **found)
{
    PyObject *queue = queue_for(x);
    int has_other = queue && has_base(y);
    if (!queue && !PyErr_Occurred() && (queue = queue_for_outer(x, y)))
        has_other = 1;
    if (!queue || !(has_other || y == Py_None || is_plain_number(y)))
        return PyErr_Occurred() ? -1 : 0;
    operand own = {NULL}, other = {NULL};
    PyObject *number = has_other ? Py_None : y, *key = NULL, *inputs = NULL;
    if (read_array(x, &own) == 0 && (!has_other || read_array(y, &other) == 0))
        key = key_of_operator(ufunc, &own, &other, number, is_first);
    PyObject *known = known_by(key);
    if (known && known != Py_None)
        *found = result_of_known(known, (operands[]){operands_of(&own, &other, number)});
    else if (known && is_real(queue) && (inputs = y == Py_None ? PyTuple_Pack(1, x) : is_first ? PyTuple_Pack(2, y, x)
                                                                            : PyTuple_Pack(2, x, y)))
        *found = new_operator(queue, key, ufunc, &own, &other, number, is_first, inputs);
    Py_XDECREF(inputs);
    Py_XDECREF(known);
    Py_XDECREF(key);
    release(&own);
    release(&other);
    return *found ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* The key of a function of these operands, as `ufuncs` makes it. */
static PyObject *key_of_inputs(PyObject *function, const operands *all)
{
    PyObject *key = PyTuple_New(1 + 2 * all->n);
    if (key)
        PyTuple_SET_ITEM(key, 0, Py_NewRef(function));
    for (int k = 0; key && k < all->n; k++) {
        const operand *x = all->arrays[k];
        PyObject *what = x->view ? PyLong_FromVoidPtr(x->view) : Py_NewRef((PyObject *)Py_TYPE(all->numbers[k]));
        if (!what) {
            Py_DECREF(key);
            return NULL;
        }
        PyTuple_SET_ITEM(key, 1 + 2 * k, what);
        PyTuple_SET_ITEM(key, 2 + 2 * k, Py_NewRef(x->view ? x->dtype : Py_None));
    }
    return key;
}

/* known_result(function, ...): see _calls.pyi. */
static PyObject *known_result(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    if (n < 2 || n > 1 + MAX_GIVEN)
        return PyErr_Format(PyExc_TypeError, "a function and its operands are taken, at most %d", MAX_GIVEN);
    operand arrays[MAX_GIVEN] = {{NULL}};
    operands all = {(int)n - 1};
    PyObject *queue = NULL, *key = NULL, *known = NULL, *found = NULL;
    int are_taken = 1;
    for (int k = 0; are_taken > 0 && k < all.n; k++) {
        PyObject *x = arguments[1 + k];
        const int is_in_base = has_base(x);
        queue = queue || !is_in_base ? queue : queue_for(x);
        are_taken = is_in_base ? (read_array(x, &arrays[k]) == 0 ? 1 : -1) : is_plain_number(x);
        all.arrays[k] = &arrays[k];
        all.numbers[k] = is_in_base ? Py_None : x;
    }
    if (are_taken > 0 && queue && (key = key_of_inputs(arguments[0], &all)) && (known = known_by(key))
            && known != Py_None)
        found = result_of_known(known, &all);
    Py_XDECREF(known);
    Py_XDECREF(key);
    for (int k = 0; k < all.n; k++)
        release(&arrays[k]);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

/* The key of an operator in place, as `ufuncs` makes it. */
static PyObject *key_in_place(PyObject *ufunc, const operand *x, const operand *y, PyObject *number)
{
    PyObject *view = PyLong_FromVoidPtr(x->view), *other = y->view ? PyLong_FromVoidPtr(y->view) : NULL;
    PyObject *key = !view || (y->view && !other) ? NULL
        : other ? PyTuple_Pack(6, ufunc, view, x->dtype, other, y->dtype, x->base == y->base ? Py_True : Py_False)
                : PyTuple_Pack(4, ufunc, view, x->dtype, (PyObject *)Py_TYPE(number));
    Py_XDECREF(view);
    Py_XDECREF(other);
    return key;
}

/* Whether what is written to an array in a base is to be told, by Python: see `originals`. */
static int is_told(PyObject *x)
{
    return SLOT(SLOT(x, its.at_base), its.at_original) != Py_None;
}

/* Whether a view is read-only; -1 with an exception set. */
static int is_read_only(PyObject *view)
{
    return is_true(view, name.is_read_only);
}

/* Write to an array what is not known by its key, by a form; record it, by a function, where it is not done at once: 1,
   0 where Python has to look, -1 with an exception set. */
static int is_written(PyObject *queue, PyObject *key, PyObject *form, const operand *x, operand *y, PyObject *number,
                      PyObject *record, PyObject *const *given)
{
    if (!form || form == Py_None)
        return form ? 0 : -1;
    Py_INCREF(form);
    PyObject *answer = written(queue, key, form, x, y, number);
    Py_DECREF(form);
    if (answer == Py_False)
        Py_SETREF(answer, PyObject_Vectorcall(record, given, 3, NULL));
    else if (answer == Py_None) {
        Py_DECREF(answer);
        return 0;
    }
    Py_XDECREF(answer);
    return answer ? 1 : -1;
}

static int attempt_in_place(PyObject *ufunc, PyObject *x, PyObject *y, PyObject **found)
{
    PyObject *queue = queue_for(x);
    const int has_other = queue && has_base(y);
    if (!queue || Py_TYPE(x) != its.array || !(has_other || is_plain_number(y)) || is_told(x))
        return PyErr_Occurred() ? -1 : 0;
    PyObject *number = has_other ? Py_None : y, *const given[] = {ufunc, x, y};
    operand own = {NULL}, other = {NULL};
    PyObject *key = read_array(x, &own) < 0 || (has_other && read_array(y, &other) < 0)
        ? NULL : key_in_place(ufunc, &own, &other, number);
    PyObject *known = known_by(key);
    int answer = known ? 0 : -1;
    if (known && known != Py_None)
        answer = record_into_known(known, own.storage, (operands[]){operands_of(&own, &other, number)}) < 0 ? -1 : 1;
    else if (known && is_real(queue) && !(answer = is_read_only(own.view))) {
        answer = settle(own.base, own.view);
        release(&own);
        release(&other);                        /* which may have got memory of their own */
        own = other = (operand){NULL};
        if (!answer && read_array(x, &own) == 0 && (!has_other || read_array(y, &other) == 0)) {
            PyObject *of = has_other ? other.dtype : (PyObject *)Py_TYPE(number);
            PyObject *form = found_form(ufunc, own.dtype, of, IN_PLACE);
            answer = is_written(queue, key, form, &own, &other, number, its.record_into, given);
        } else
            answer = -1;
    } else if (known)
        answer = answer < 0 ? -1 : 0;
    Py_XDECREF(known);
    Py_XDECREF(key);
    release(&own);
    release(&other);
    *found = answer > 0 ? Py_NewRef(x) : NULL;
    return answer;
}

/* The key of a function of these operands into an array, as `ufuncs` makes it. */
static PyObject *key_into(PyObject *ufunc, const operand *out, const operands *all)
{
    PyObject *key = key_of_inputs(ufunc, all), *view = PyLong_FromVoidPtr(out->view), *are_same[2];
    for (int k = 0; k < 2; k++)
        are_same[k] = k < all->n && all->arrays[k]->base == out->base ? Py_True : Py_False;
    PyObject *found = key && view ? PyTuple_Pack(5, key, view, out->dtype, are_same[0], are_same[1]) : NULL;
    Py_XDECREF(view);
    Py_XDECREF(key);
    return found;
}

static int attempt_into(PyObject *ufunc, PyObject *out, PyObject *x, PyObject *y, int is_first, PyObject **found)
{
    PyObject *queue = Py_TYPE(out) == its.array ? queue_for(out) : NULL;
    const int has_other = queue && has_base(y);
    if (!queue || !has_base(x) || !(has_other || y == Py_None || is_plain_number(y)) || is_told(out))
        return PyErr_Occurred() ? -1 : 0;
    operand target = {NULL}, own = {NULL}, other = {NULL};
    PyObject *number = has_other ? Py_None : y, *key = NULL;
    operands all = is_first ? (operands){2, {&other, &own}, {number, Py_None}} : operands_of(&own, &other, number);
    all.n -= y == Py_None;
    if (read_array(out, &target) == 0 && read_array(x, &own) == 0 && (!has_other || read_array(y, &other) == 0))
        key = key_into(ufunc, &target, &all);
    PyObject *known = known_by(key);
    int answer = known ? 0 : -1;
    if (known && known != Py_None)
        answer = record_into_known(known, target.storage, &all) < 0 ? -1 : 1;
    Py_XDECREF(known);
    Py_XDECREF(key);
    release(&target);
    release(&own);
    release(&other);
    *found = answer > 0 ? Py_NewRef(out) : NULL;
    return answer;
}

/* Whether a slice's bound is the same each time that it is asked for: an object's `__index__` is to be called once. */
static int is_plain_bound(PyObject *bound)
{
    return bound == Py_None || PyLong_CheckExact(bound) || PyArray_IsScalar(bound, Integer) || is_array(bound);
}

static int is_plain_slice(PyObject *key)
{
    const PySliceObject *slice = (PySliceObject *)key;
    return PySlice_Check(key) && is_plain_bound(slice->start) && is_plain_bound(slice->stop)
        && is_plain_bound(slice->step);
}

/* Whether a key is an integer, a slice, Ellipsis or None, or a tuple of these: any other may have arrays in it. */
static int is_plain_key(PyObject *key)
{
    if (PyTuple_CheckExact(key)) {
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(key); k++)
            if (PyTuple_CheckExact(PyTuple_GET_ITEM(key, k)) || !is_plain_key(PyTuple_GET_ITEM(key, k)))
                return 0;
        return 1;
    }
    return PyLong_CheckExact(key) || key == Py_Ellipsis || key == Py_None || is_plain_slice(key);
}

static int has_ellipsis(PyObject *key)
{
    int has = key == Py_Ellipsis;
    for (Py_ssize_t k = 0; PyTuple_CheckExact(key) && k < PyTuple_GET_SIZE(key); k++)
        has = has || PyTuple_GET_ITEM(key, k) == Py_Ellipsis;
    return has;
}

/* What a plain key names of an array in a base, and how many dimensions that has; NULL where that is left to Python, or
   with an exception set. */
static PyObject *view_by_key(PyObject *x, PyObject *key, int *ndim)
{
    if (Py_TYPE(x) != its.array || !is_plain_key(key))
        return NULL;
    PyObject *given = Py_NewRef(SLOT(x, its.at_view)), *view = PyObject_CallMethodOneArg(given, name.index, key);
    Py_DECREF(given);
    const family *own = view ? family_of(view) : NULL;
    if (own)
        *ndim = (int)own->ndim;
    else
        Py_CLEAR(view);
    return view;
}

/* An element of a base, which borrows it: see `sharing.borrow_element`. */
static PyObject *new_element(PyObject *base, PyObject *view)
{
    PyObject *found = new_array(its.element, base, view), *reference = NULL;
    if (found)
        reference = PyObject_CallFunctionObjArgs((PyObject *)its.reference, found, its.discard, NULL);
    if (reference) {
        SLOT(reference, its.at_lender) = Py_NewRef(SLOT(base, its.at_storage));
        SLOT(reference, its.at_section) = Py_NewRef(view);
    }
    if (!reference || PySet_Add(its.borrowers, reference) < 0)
        Py_CLEAR(found);
    Py_XDECREF(reference);
    return found;
}

static int attempt_section(PyObject *x, PyObject *key, PyObject **found)
{
    int ndim;
    PyObject *queue = queue_for(x), *view = queue ? view_by_key(x, key, &ndim) : NULL, *base = NULL;
    if (view && is_alone(queue) && is_large(SLOT(x, its.at_base), view) <= 0)
        Py_CLEAR(view);                 /* which may be NumPy's */
    if (!view)
        return PyErr_Occurred() ? -1 : 0;
    base = Py_NewRef(SLOT(x, its.at_base));
    const int is_plain = Py_TYPE(base) == its.base && !PySet_GET_SIZE(its.lent)
        && Py_TYPE(SLOT(base, its.at_storage)) == its.storage;
    if (ndim || is_plain)
        *found = ndim || has_ellipsis(key) ? new_array(its.array, base, view) : new_element(base, view);
    Py_DECREF(base);
    Py_DECREF(view);
    return *found ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* The key of an assignment, as `assign` makes it. */
static PyObject *key_of_assignment(const operand *x, const operand *y, PyObject *number)
{
    PyObject *view = PyLong_FromVoidPtr(x->view), *other = y->view ? PyLong_FromVoidPtr(y->view) : NULL;
    PyObject *key = !view || (y->view && !other) ? NULL
        : other ? PyTuple_Pack(5, view, other, x->dtype, y->dtype, x->base == y->base ? Py_True : Py_False)
                : PyTuple_Pack(3, view, x->dtype, (PyObject *)Py_TYPE(number));
    Py_XDECREF(view);
    Py_XDECREF(other);
    return key;
}

/* Record an assignment that is known; -1 with an exception set. */
static int record_known_assignment(PyObject *known, const operand *x, const operand *y)
{
    PyObject *storages = untracked(PyTuple_Pack(2, x->storage, y->storage)), *none = NULL;
    if (storages && PyTuple_Check(known) && PyTuple_GET_SIZE(known))
        none = PyObject_Vectorcall(its.record, (PyObject *[]){PyTuple_GET_ITEM(known, 0), storages}, 2, NULL);
    Py_XDECREF(storages);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

/* Assign an array, or a number, to a view of a base: see `attempts`. */
static int is_assigned(PyObject *queue, PyObject *base, PyObject *view, PyObject *value, int is_number)
{
    operand x = {.view = Py_NewRef(view)}, y = {NULL};
    PyObject *key = NULL, *known = NULL;
    int answer = read_base(Py_NewRef(base), &x) < 0 || (!is_number && read_array(value, &y) < 0)
        || !(key = key_of_assignment(&x, &y, value)) || (!is_number && !(known = known_by(key))) ? -1 : 0;
    if (!answer && known && known != Py_None)
        answer = record_known_assignment(known, &x, &y) < 0 ? -1 : 1;
    else if (!answer && is_real(queue) && !(answer = is_read_only(view))) {
        answer = settle(base, view);
        release(&y);
        Py_CLEAR(x.storage);
        y = (operand){NULL};
        if (!answer && (x.storage = attribute_of(base, Py_TYPE(base) == its.base, its.at_storage, name.storage))
                && (is_number || read_array(value, &y) == 0)) {
            PyObject *form = is_number || x.dtype == y.dtype
                ? found_form(NULL, x.dtype, is_number ? (PyObject *)Py_TYPE(value) : y.dtype, ASSIGNED) : Py_None;
            PyObject *const given[] = {base, view, value};
            answer = is_written(queue, key, form, &x, &y, value, its.record_assigned, given);
        } else
            answer = -1;
    } else if (answer > 0 && !(known && known != Py_None))
        answer = 0;                             /* it is read-only, which Python refuses */
    Py_XDECREF(known);
    Py_XDECREF(key);
    release(&x);
    release(&y);
    return answer;
}

static int attempt_assignment(PyObject *x, PyObject *key, PyObject *value, PyObject **found)
{
    int ndim;
    const int is_number = PyFloat_CheckExact(value) || PyLong_CheckExact(value);
    PyObject *queue = queue_for(x);
    PyObject *view = queue && (is_number || has_base(value)) && !is_told(x) ? view_by_key(x, key, &ndim) : NULL;
    if (view && is_alone(queue) && (is_number || is_large(SLOT(x, its.at_base), view) <= 0))
        Py_CLEAR(view);                 /* which may be NumPy's */
    if (!view)
        return PyErr_Occurred() ? -1 : 0;
    int answer = 0;
    if (!is_number && ndim && SLOT(value, its.at_view) == view && SLOT(value, its.at_base) == SLOT(x, its.at_base)) {
        answer = is_read_only(view);            /* which Python refuses */
        answer = answer < 0 ? -1 : !answer;     /* as A[key] += x ends */
    } else if (is_number || ndim || Py_TYPE(value) != its.array) {        /* else an array in the place of an element */
        PyObject *base = Py_NewRef(SLOT(x, its.at_base));
        answer = is_assigned(queue, base, view, value, is_number);
        Py_DECREF(base);
    }
    Py_DECREF(view);
    *found = answer > 0 ? Py_NewRef(Py_None) : NULL;
    return answer;
}

static attempts all_attempts = {attempt_operator, attempt_in_place, attempt_into, attempt_section, attempt_assignment};
