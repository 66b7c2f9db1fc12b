/*
 * What C knows of the queue, and of the places of attributes.
 */
#pragma once
#include "_attributes.h"

static struct {
    PyObject *recording, *state;    /* the dictionary of the module; NumPy's variable of floating-point errors */
    PyObject *record;               /* what hands operations to the queue of a simulated job */
    PyTypeObject *type, *engine, *recorded, *supervisor;
    Py_ssize_t at_engine, at_recorded, at_is_open, at_runner, at_silent_state, at_n_at_once, at_next_tag, at_max_fields,
               at_supervision, at_fields, at_runs, at_straight, at_is_alone, at_has_failed, at_tiers, at_digests;
    PyObject *name, *instead, *computes_at_once;
} the_queue;

/* The queue, borrowed, which may be that of a simulated job; NULL where there is none, or operations are noted, or
   planned (or with an exception set). */
static PyObject *queue_of_job(void)
{
    if (!the_queue.recording)
        return NULL;
    PyObject *queue = PyDict_GetItemWithError(the_queue.recording, the_queue.name);
    PyObject *instead = queue ? PyDict_GetItemWithError(the_queue.recording, the_queue.instead) : NULL;
    const int is_own = instead == Py_None && Py_TYPE(queue) == the_queue.type;
    const int is_simulated = instead && instead == the_queue.record && PyObject_TypeCheck(queue, the_queue.type);
    return is_own || is_simulated ? queue : NULL;
}

/* Whether no thread executes anything, and NumPy's state is known to ask for no errors; -1 with an exception set. */
static int is_silent(PyObject *queue)
{
    PyObject *runner = SLOT(queue, the_queue.at_runner), *state = NULL;
    if (!runner || PyObject_IsTrue(runner) || the_queue.state == Py_None)
        return 0;
    if (PyContextVar_Get(the_queue.state, NULL, &state) < 0)
        return -1;
    Py_XDECREF(state);      /* which the context has */
    return state && state == SLOT(queue, the_queue.at_silent_state);
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
    PyObject *supervision = recorded ? PyObject_GetAttrString(queue, "supervision") : NULL;
    int answer = -1;
    if (supervision && (the_queue.record = PyObject_GetAttrString(recording, "_record"))) {
        the_queue.type = (PyTypeObject *)Py_NewRef(Py_TYPE(queue));
        the_queue.engine = (PyTypeObject *)Py_NewRef(Py_TYPE(engine));
        the_queue.recorded = (PyTypeObject *)Py_NewRef(Py_TYPE(recorded));
        the_queue.supervisor = (PyTypeObject *)Py_NewRef(Py_TYPE(supervision));
        const attribute_place places[] = {
            {the_queue.type, "engine", &the_queue.at_engine}, {the_queue.type, "recorded", &the_queue.at_recorded},
            {the_queue.type, "is_open", &the_queue.at_is_open}, {the_queue.type, "_runner", &the_queue.at_runner},
            {the_queue.type, "_silent_state", &the_queue.at_silent_state},
            {the_queue.type, "n_at_once", &the_queue.at_n_at_once},
            {the_queue.type, "next_tag", &the_queue.at_next_tag},
            {the_queue.type, "_max_fields", &the_queue.at_max_fields},
            {the_queue.type, "supervision", &the_queue.at_supervision},
            {the_queue.type, "tiers", &the_queue.at_tiers},
            {the_queue.supervisor, "digests", &the_queue.at_digests},
            {the_queue.recorded, "fields", &the_queue.at_fields}, {the_queue.engine, "_runs", &the_queue.at_runs},
            {the_queue.engine, "straight", &the_queue.at_straight},
            {the_queue.engine, "is_alone", &the_queue.at_is_alone},
            {the_queue.engine, "has_failed", &the_queue.at_has_failed}};
        answer = find_places(places, sizeof places / sizeof *places);
    }
    Py_XDECREF(queue);
    Py_XDECREF(engine);
    Py_XDECREF(recorded);
    Py_XDECREF(supervision);
    if (answer < 0)
        return -1;
    the_queue.state = Py_NewRef(state);
    the_queue.recording = Py_NewRef(PyModule_GetDict(recording));
    return 0;
}
