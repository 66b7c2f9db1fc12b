/*
 * The digest of a program, as other modules in C add to it.
 */
#include <Python.h>
#include <float.h>
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

static inline int is_nan(const void *real, int type)
{
    npy_half half;
    float narrow;
    double number;
    switch (type) {
    case NPY_HALF: return memcpy(&half, real, sizeof half), (half & 0x7fff) > 0x7c00;
    case NPY_FLOAT: return memcpy(&narrow, real, sizeof narrow), narrow != narrow;
    case NPY_DOUBLE: return memcpy(&number, real, sizeof number), number != number;
    default: return *(const long double *)real != *(const long double *)real;
    }
}

/* The digest of numbers, which is 0 of none, with an integer more, or a real part: of NaNs, which may have any bytes, it
   is one, and of a long double it is that of the bytes that somebody sets. */
static inline int64_t with_real(int64_t digest, const void *real, int type, size_t nbytes)
{
    if (type == NPY_LONGDOUBLE && LDBL_MANT_DIG == 64)
        nbytes = 10;
    if (PyTypeNum_ISFLOAT(type) && is_nan(real, type))
        return mixed(digest, -1);
    digest = mixed(digest, (int64_t)nbytes);
    for (size_t k = 0; k < nbytes; k += sizeof digest) {
        int64_t next = 0;
        memcpy(&next, (const char *)real + k, nbytes - k < sizeof next ? nbytes - k : sizeof next);
        digest = mixed(digest, next);
    }
    return digest;
}

/* The same with a number of a dtype. */
static inline int64_t with_number(int64_t digest, const void *number, int type, size_t nbytes)
{
    const int real = type == NPY_CFLOAT ? NPY_FLOAT : type == NPY_CDOUBLE ? NPY_DOUBLE : NPY_LONGDOUBLE;
    if (!PyTypeNum_ISCOMPLEX(type))
        return with_real(digest, number, type, nbytes);
    digest = with_real(digest, number, real, nbytes / 2);
    return with_real(digest, (const char *)number + nbytes / 2, real, nbytes / 2);
}
