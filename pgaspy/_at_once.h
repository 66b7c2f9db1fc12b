/*
 * What is done at once: whether anything is in its way, and how it is counted.
 */
#include <stdint.h>
#include "_queue.h"

#define MAX_LOCKED 500  /* elements, as in NumPy */

typedef void run_elementwise(int row, int ndim, const int64_t *shape, const int64_t *addresses, const int64_t *strides);

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
    if (SLOT(queue, the_queue.at_is_open) != Py_True || !is_idle(queue, is_alone))
        return 0;
    const int answer = is_silent(queue);
    return answer > 0 ? is_true(queue, the_queue.computes_at_once) : answer;
}

/* Add to an integer in a slot; -1 with an exception set. */
static int add_to(PyObject **slot, Py_ssize_t n)
{
    const Py_ssize_t before = PyLong_AsSsize_t(*slot);
    PyObject *next = before == -1 && PyErr_Occurred() ? NULL : PyLong_FromSsize_t(before + n);
    if (!next)
        return -1;
    Py_SETREF(*slot, next);
    return 0;
}

/* Note that something was done at once; -1 with an exception set. */
static int count(PyObject *queue)
{
    return add_to(&SLOT(queue, the_queue.at_n_at_once), 1);
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
