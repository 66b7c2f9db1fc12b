/*
 * How often calls were made, as other modules in C ask for it.
 */
#include <Python.h>

#define NAME_OF_COUNTING "pgaspy.execution.counting._counting"

/* What the module of counts gives to others, by the capsule of that name. */
typedef struct {
    /* `Counts.admits`; -1 with an exception set. */
    int (*admits)(PyObject *counts, PyObject *key, Py_ssize_t n_elements, int is_alone, int has_nodes);
} counting;
