/*
 * What is computed at once: each process computes its part of an elementwise statement, of elements that lie there, as
 * all that it reads does; and tells the others of it, if there are any.
 *
 * Where anything is recorded, or under way, the queue is asked in Python, which sees to it.
 */
#define SECONDS_TO_LOOK 0.01    /* until others may have something to say */

enum {NOT_ADMITTED, COMPUTED, LEFT};    /* what is left to Python has to be computed in another way */

/* Storages, the output's first, and their views as they are said: tuples; 0 where an array has no memory of its own. */
static int tell_apart(PyObject *views, PyObject *memories, PyObject **storages, PyObject **said)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(views);
    Py_ssize_t n_arrays = 0, next = 1;
    for (Py_ssize_t k = 0; k < n; k++)
        if (PyTuple_GET_ITEM(views, k) != Py_None) {
            n_arrays++;
            if ((PyObject *)Py_TYPE(PyTuple_GET_ITEM(memories, k)) == its.shared_storage)
                return 0;
        }
    *storages = PyTuple_New(n_arrays), *said = PyTuple_New(n_arrays);
    for (Py_ssize_t k = 0; k < n && *storages && *said; k++)
        if (PyTuple_GET_ITEM(views, k) != Py_None) {
            const Py_ssize_t place = k == n - 1 ? 0 : next++;
            PyTuple_SET_ITEM(*storages, place, Py_NewRef(PyTuple_GET_ITEM(memories, k)));
            PyTuple_SET_ITEM(*said, place, Py_NewRef(PyTuple_GET_ITEM(views, k)));
        }
    return *storages && *said ? 1 : -1;
}

/* Whether to compute it at once, as `Queue.may_compute` tells; -1 with an exception set. */
static int is_admitted(PyObject *queue, PyObject *key, Py_ssize_t n_elements, PyObject *storages)
{
    PyObject *alone = is_alone(queue) ? Py_True : Py_False;
    const int answer = is_free(queue, alone);
    if (answer > 0) {
        const int is = its.counting.admits(SLOT(queue, the_queue.at_tiers), key, n_elements, alone == Py_True, 0);
        return is > 0 && count(queue) < 0 ? -1 : is;
    }
    PyObject *size = answer < 0 ? NULL : PyLong_FromSsize_t(n_elements), *found = NULL;
    if (size)
        found = PyObject_VectorcallMethod(name.may_compute, (PyObject *[]){queue, key, size, storages}, 4, NULL);
    Py_XDECREF(size);
    const int is = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return is;
}

/* Have memory for a new array, as `Storage` allocates it; what is not small is left to that. -1 with an exception
   set. */
static int allocate(PyObject *storage, PyArray_Descr *dtype, const geometry *own)
{
    if (own->size * PyDataType_ELSIZE(dtype) >= its.max_bytes)
        return 0;
    Py_INCREF(dtype);
    PyObject *local = PyArray_Empty(own->ndim, (npy_intp *)own->shape, dtype, 0);
    PyObject *address = local ? PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)local)) : NULL;
    if (!address) {
        Py_XDECREF(local);
        return -1;
    }
    Py_XSETREF(SLOT(storage, of_storage.at_address), address);
    Py_XSETREF(SLOT(storage, of_storage.at_local), local);
    return 0;
}

/* Have a Python number of a dtype where a kernel takes it; -1 with an exception set, as where it is out of bounds. */
static int take_number(geometry *own, int k, PyObject *number, PyObject *dtype)
{
    if (is_plain_value(number, dtype, &own->number))
        return 0;
    own->held[k] = scalar_of(number, dtype);
    return own->held[k] ? 0 : -1;
}

static int64_t address_in(PyObject *memory)     /* -1 with an exception set */
{
    PyObject *address = attribute_of(memory, Py_TYPE(memory) == its.storage, of_storage.at_address, name.address);
    const int64_t found = address ? PyLong_AsLongLong(address) : -1;
    Py_XDECREF(address);
    return found;
}

/* Cast what there is of an operand at an address; the address of that, which is held, or -1 with an exception set. */
static int64_t cast_at(int64_t address, geometry *own, int k, PyArray_Descr *to)
{
    PyArray_Descr *from = own->dtypes[k];
    int64_t *strides = own->strides + k * own->ndim;
    Py_INCREF(from);
    Py_INCREF(to);
    PyObject *given = PyArray_NewFromDescr(&PyArray_Type, from, own->ndim, (npy_intp *)own->shape, (npy_intp *)strides,
                                           (void *)(intptr_t)address, 0, NULL);
    own->held[k] = given ? PyArray_CastToType((PyArrayObject *)given, to, 0) : NULL;
    Py_XDECREF(given);
    PyArrayObject *cast = (PyArrayObject *)own->held[k];
    for (int d = 0; cast && d < own->ndim; d++)
        strides[d] = PyArray_STRIDE(cast, d);
    return cast ? (int64_t)(intptr_t)PyArray_DATA(cast) : -1;
}

/* Where the number is that a kernel takes as an operand; -1 with an exception set. */
static int64_t address_of_number(const geometry *own, int k)
{
    return own->held[k] ? address_in(own->held[k]) : (int64_t)(intptr_t)&own->number;
}

/* Run a form's kernel on what lies so in some memories; -1 with an exception set. */
static int run(PyObject *form, PyObject *views, PyObject *memories, geometry *own)
{
    int64_t addresses[MAX_OPERANDS];
    PyObject *loop = PyTuple_GET_ITEM(form, LOOP);
    for (int k = 0; k < own->n; k++) {
        PyArray_Descr *taken = (PyArray_Descr *)PyTuple_GET_ITEM(loop, k);
        if (PyTuple_GET_ITEM(views, k) == Py_None)
            addresses[k] = address_of_number(own, k);
        else {
            addresses[k] = address_in(PyTuple_GET_ITEM(memories, k));
            if (addresses[k] != -1)
                addresses[k] += own->offsets[k];
            if (addresses[k] != -1 && own->dtypes[k] != taken && !PyArray_EquivTypes(own->dtypes[k], taken))
                addresses[k] = cast_at(addresses[k], own, k, taken);
        }
        if (addresses[k] == -1 && PyErr_Occurred())
            return -1;
    }
    PyThreadState *state = unlocked(own->size);
    its.run_elementwise((int)at(form, KERNEL), own->ndim, (const int64_t *)own->shape, addresses, own->strides);
    lock(state);
    return 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The digest of the number that a form's kernel takes, or 0 where it takes none, or with an exception set. */
static int64_t digest_of_number(PyObject *form, PyObject *views, const geometry *own)
{
    PyArray_Descr *dtype = (PyArray_Descr *)PyTuple_GET_ITEM(form, NUMBER_DTYPE);
    int k = 0;
    while (k < own->n && PyTuple_GET_ITEM(views, k) != Py_None)
        k++;
    const int64_t address = k < own->n ? address_of_number(own, k) : 0;
    return address <= 0 ? 0
        : with_number(0, (void *)(intptr_t)address, dtype->type_num, (size_t)PyDataType_ELSIZE(dtype));
}

/* Take the number of what was computed, and have it compared with what others do, with a digest of the numbers that it
   took; -1 with an exception set. */
static int tell(PyObject *queue, PyObject *form, PyObject *views, PyObject *storages, int64_t numbers)
{
    if (add_to(&SLOT(queue, the_queue.at_next_tag), its.n_tags * PyTuple_GET_SIZE(views)) < 0)
        return -1;
    PyObject *supervision = Py_NewRef(SLOT(queue, the_queue.at_supervision));
    PyObject *digests = !supervision ? NULL
        : attribute_of(supervision, Py_TYPE(supervision) == the_queue.supervisor, the_queue.at_digests, name.digests);
    int number;
    PyObject *code = digests ? caller(&number) : NULL, *seen = NULL;
    const Py_ssize_t n_pending = !code ? -1
        : its.rolling.take_computed(digests, PyTuple_GET_ITEM(form, SAID), views, storages, numbers, code, number);
    int failed = n_pending < 0;
    const double time = now();
    if (!failed && (n_pending >= its.batch || time - its.looked > SECONDS_TO_LOOK)) {
        its.looked = time;
        seen = PyObject_CallMethodNoArgs(supervision, name.see_to_others);
        failed = !seen;
    }
    PyObject *const ended[] = {supervision, digests, code, seen};
    for (int k = 0; k < 4; k++)
        Py_XDECREF(ended[k]);
    return failed ? -1 : 0;
}

/* Leave an exception to Python: the job fails, as this process lacks memory, or has written to the output's storage. */
static int fail(PyObject *output, int lacks_memory)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback)
        PyException_SetTraceback(error, traceback);
    PyObject *none = PyObject_CallFunctionObjArgs(its.fail, error, output, lacks_memory ? Py_True : Py_False, NULL);
    Py_XDECREF(none);           /* it raises */
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return -1;
}

/* Compute what is admitted, into a new array of a dtype or into one that is there, and tell others of it:
   COMPUTED, or -1 with an exception set, for which the job fails, if there are others. */
static int do_compute(PyObject *queue, PyObject *form, PyObject *views, PyObject *memories, geometry *own,
                      PyArray_Descr *new, PyObject *storages, PyObject *said)
{
    PyObject *output = PyTuple_GET_ITEM(storages, 0);
    if (own->size && ((new && allocate(output, new, own) < 0) || run(form, views, memories, own) < 0))
        return is_alone(queue) ? -1 : fail(output, PyErr_ExceptionMatches(PyExc_MemoryError));
    if (is_alone(queue))
        return COMPUTED;
    const int64_t numbers = digest_of_number(form, views, own);
    return PyErr_Occurred() || tell(queue, form, said, storages, numbers) < 0 ? fail(output, 0) : COMPUTED;
}

/* Have this process compute its part: COMPUTED or NOT_ADMITTED; LEFT where an array has no memory of its own; -1 with
   an exception set. */
static int compute_part(PyObject *queue, PyObject *key, PyObject *form, PyObject *views, PyObject *memories,
                        geometry *own, PyArray_Descr *new)
{
    PyObject *storages = NULL, *said = NULL;
    const int have_memory = tell_apart(views, memories, &storages, &said);
    int answer = have_memory ? have_memory : LEFT;
    memset(own->held, 0, sizeof own->held);
    for (int k = 0; k < own->n && answer == COMPUTED; k++)
        if (PyTuple_GET_ITEM(views, k) == Py_None
                && take_number(own, k, PyTuple_GET_ITEM(memories, k), PyTuple_GET_ITEM(form, NUMBER_DTYPE)) < 0)
            answer = -1;
    if (answer == COMPUTED && (answer = is_admitted(queue, key, own->size, storages)) > 0)
        answer = do_compute(queue, form, views, memories, own, new, storages, said);
    for (int k = 0; k < own->n; k++)
        Py_XDECREF(own->held[k]);
    Py_XDECREF(storages);
    Py_XDECREF(said);
    return answer;
}
