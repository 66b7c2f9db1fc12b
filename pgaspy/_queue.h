/*
 * What C knows of the queue, and whether anything is in the way of what is done at once.
 */
#define MAX_LOCKED 500  /* elements, as in NumPy */
#define SLOT(x, place) (*(PyObject **)((char *)(x) + (place)))

typedef void run_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses, const int64_t *strides);

static struct {
    PyObject *recording, *state;    /* the dictionary of the module; NumPy's variable of floating-point errors */
    PyTypeObject *type, *engine, *recorded;
    Py_ssize_t at_engine, at_recorded, at_is_open, at_runner, at_silent_state, at_n_at_once, at_fields, at_runs,
               at_straight, at_is_alone, at_has_failed;
    PyObject *name, *instead, *computes_at_once;
} the_queue;

/* Whether an attribute is true; -1 with an exception set. */
static int is_true(PyObject *x, PyObject *attribute)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    if (!found)
        return -1;
    const int answer = PyObject_IsTrue(found);
    Py_DECREF(found);
    return answer;
}

/* The queue, borrowed; NULL where there is none, or operations are noted or planned (or with an exception set). */
static PyObject *queue_of_job(void)
{
    if (!the_queue.recording)
        return NULL;
    PyObject *queue = PyDict_GetItemWithError(the_queue.recording, the_queue.name);
    if (!queue || Py_TYPE(queue) != the_queue.type
            || PyDict_GetItemWithError(the_queue.recording, the_queue.instead) != Py_None)
        return NULL;
    return queue;
}

/* Whether nothing is recorded, or under way, in a job of one process or of several. */
static int is_idle(PyObject *queue, PyObject *is_alone)
{
    PyObject *engine = SLOT(queue, the_queue.at_engine), *recorded = SLOT(queue, the_queue.at_recorded);
    if (!engine || Py_TYPE(engine) != the_queue.engine || !recorded || Py_TYPE(recorded) != the_queue.recorded)
        return 0;
    PyObject *fields = SLOT(recorded, the_queue.at_fields), *runs = SLOT(engine, the_queue.at_runs);
    return fields && !PyList_GET_SIZE(fields) && runs && !PyList_GET_SIZE(runs)
        && SLOT(engine, the_queue.at_straight) == Py_None && SLOT(engine, the_queue.at_is_alone) == is_alone
        && SLOT(engine, the_queue.at_has_failed) == Py_False;
}

/* Whether nothing is in the way of what is done at once, see `Queue.is_clear`; -1 with an exception set. */
static int is_free(PyObject *queue, PyObject *is_alone)
{
    PyObject *runner = SLOT(queue, the_queue.at_runner), *state = NULL;
    if (SLOT(queue, the_queue.at_is_open) != Py_True || !runner || PyObject_IsTrue(runner) || !is_idle(queue, is_alone))
        return 0;
    const int answer = the_queue.state == Py_None ? 0 : is_true(queue, the_queue.computes_at_once);
    if (answer <= 0 || PyContextVar_Get(the_queue.state, NULL, &state) < 0)
        return answer ? -1 : 0;
    Py_XDECREF(state);      /* which the context has */
    return state && state == SLOT(queue, the_queue.at_silent_state);
}

/* Note that something was done at once. */
static int count(PyObject *queue)
{
    PyObject *before = SLOT(queue, the_queue.at_n_at_once);
    PyObject *next = PyLong_FromLongLong(PyLong_AsLongLong(before) + 1);
    if (!next)
        return -1;
    SLOT(queue, the_queue.at_n_at_once) = next;
    Py_DECREF(before);
    return 0;
}

/* Let other threads go on while C passes through so many elements, if that is worth it; and stop that again. */
static PyThreadState *unlocked(Py_ssize_t n_elements)
{
    return n_elements > MAX_LOCKED ? PyEval_SaveThread() : NULL;
}

static void lock(PyThreadState *state)
{
    if (state)
        PyEval_RestoreThread(state);
}

/* The place of an attribute of a class with slots; -1 with an exception set. */
static Py_ssize_t place_of(PyTypeObject *type, const char *attribute)
{
    PyObject *found = PyObject_GetAttrString((PyObject *)type, attribute);
    if (!found)
        return -1;
    Py_ssize_t place = -1;
    if (Py_TYPE(found) == &PyMemberDescr_Type)
        place = ((PyMemberDescrObject *)found)->d_member->offset;
    else
        PyErr_Format(PyExc_TypeError, "%s has no slot for %s", type->tp_name, attribute);
    Py_DECREF(found);
    return place;
}

typedef struct {
    PyTypeObject *type;
    const char *name;
    Py_ssize_t *place;
} attribute_place;

static int find_places(const attribute_place *places, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if ((*places[k].place = place_of(places[k].type, places[k].name)) < 0)
            return -1;
    return 0;
}

/* Know the queue of the module `recording`, and NumPy's variable; from now on there is one. */
static int begin_queue(PyObject *recording, PyObject *state)
{
    if (!(the_queue.name = PyUnicode_InternFromString("queue"))
            || !(the_queue.instead = PyUnicode_InternFromString("_instead"))
            || !(the_queue.computes_at_once = PyUnicode_InternFromString("computes_at_once")))
        return -1;
    PyObject *queue = PyObject_GetAttr(recording, the_queue.name);
    PyObject *engine = queue ? PyObject_GetAttrString(queue, "engine") : NULL;
    PyObject *recorded = engine ? PyObject_GetAttrString(queue, "recorded") : NULL;
    int answer = -1;
    if (recorded) {
        the_queue.type = (PyTypeObject *)Py_NewRef(Py_TYPE(queue));
        the_queue.engine = (PyTypeObject *)Py_NewRef(Py_TYPE(engine));
        the_queue.recorded = (PyTypeObject *)Py_NewRef(Py_TYPE(recorded));
        const attribute_place places[] = {
            {the_queue.type, "engine", &the_queue.at_engine}, {the_queue.type, "recorded", &the_queue.at_recorded},
            {the_queue.type, "is_open", &the_queue.at_is_open}, {the_queue.type, "_runner", &the_queue.at_runner},
            {the_queue.type, "_silent_state", &the_queue.at_silent_state},
            {the_queue.type, "n_at_once", &the_queue.at_n_at_once},
            {the_queue.recorded, "fields", &the_queue.at_fields}, {the_queue.engine, "_runs", &the_queue.at_runs},
            {the_queue.engine, "straight", &the_queue.at_straight},
            {the_queue.engine, "is_alone", &the_queue.at_is_alone},
            {the_queue.engine, "has_failed", &the_queue.at_has_failed}};
        answer = find_places(places, sizeof places / sizeof *places);
    }
    Py_XDECREF(queue);
    Py_XDECREF(engine);
    Py_XDECREF(recorded);
    if (answer < 0)
        return -1;
    the_queue.state = Py_NewRef(state);
    the_queue.recording = Py_NewRef(PyModule_GetDict(recording));
    return 0;
}
