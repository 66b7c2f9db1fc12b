/*
 * The digest of a program, as other modules in C add to it.
 */
#include <Python.h>
#include <stdint.h>
#include <string.h>
#include <numpy/arrayobject.h>

#define NAME_OF_ROLLING "pgaspy.supervision.rolling._rolling"

/* What the module of the digest gives to others, by the capsule of that name. */
typedef struct {
    /* Take what was computed without a recipe, by what a `Computed` has, in a `ProgramDigest`: how many digests are
       pending then; -1 with an exception set. */
    Py_ssize_t (*take_computed)(PyObject *digests, PyObject *form, PyObject *views, PyObject *storages, int64_t numbers,
                                PyObject *code, int instruction);
} rolling;

static inline int64_t mixed(int64_t digest, int64_t next)
{
    uint64_t sum = ((uint64_t)digest ^ (uint64_t)next) * 0x9E3779B97F4A7C15u;
    return (int64_t)(sum ^ sum >> 32);
}

/* The digest of numbers, which is 0 of none, with one more, of so many bytes: that of a long double, which has some that
   nobody sets, is that of a double. */
static inline int64_t with_number(int64_t digest, const void *number, int type, size_t nbytes)
{
    double narrow[2];
    if (type == NPY_LONGDOUBLE || type == NPY_CLONGDOUBLE) {
        nbytes = (type == NPY_LONGDOUBLE ? 1 : 2) * sizeof *narrow;
        for (size_t k = 0; k < nbytes / sizeof *narrow; k++)
            narrow[k] = (double)((const long double *)number)[k];
        number = narrow;
    }
    digest = mixed(digest, (int64_t)nbytes);
    for (size_t k = 0; k < nbytes; k += sizeof digest) {
        int64_t next = 0;
        memcpy(&next, (const char *)number + k, nbytes - k < sizeof next ? nbytes - k : sizeof next);
        digest = mixed(digest, next);
    }
    return digest;
}
