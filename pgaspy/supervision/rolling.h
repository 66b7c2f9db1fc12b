/*
 * The digest of a program, as other modules in C add to it.
 */
#include <Python.h>

#define NAME_OF_ROLLING "pgaspy.supervision.rolling._rolling"

/* What the module of the digest gives to others, by the capsule of that name. */
typedef struct {
    /* Take what was computed without a recipe, by what a `Computed` has, in a `ProgramDigest`: how many digests are
       pending then; -1 with an exception set. */
    Py_ssize_t (*take_computed)(PyObject *digests, PyObject *form, PyObject *views, PyObject *storages, PyObject *code,
                                int instruction);
} rolling;
