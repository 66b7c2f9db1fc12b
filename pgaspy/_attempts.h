/*
 * What methods of arrays attempt in C before their definitions, in a job of several processes, and of large arrays in
 * any: see _calls_attempts.h.
 *
 * Each gives 1 with what it returns, 0 if that is left to the definition, -1 with an exception.
 */
#include <Python.h>

#define NAME_OF_ATTEMPTS "pgaspy._calls._attempts"

typedef struct {
    /* A function of an array, and perhaps of another one or a Python number (else None), which may be the first. */
    int (*operator_)(PyObject *ufunc, PyObject *x, PyObject *y, int is_first, PyObject **found);
    /* The same into the array. */
    int (*in_place)(PyObject *ufunc, PyObject *x, PyObject *y, PyObject **found);
    /* The same into another one. */
    int (*into)(PyObject *ufunc, PyObject *out, PyObject *x, PyObject *y, int is_first, PyObject **found);
    /* What a key names of an array; and a value that is assigned to that. */
    int (*section)(PyObject *x, PyObject *key, PyObject **found);
    int (*assignment)(PyObject *x, PyObject *key, PyObject *value, PyObject **found);
} attempts;
