/*
 * What is computed at once on several processes, in C: each computes its part of an elementwise statement, of elements
 * that lie there, as all that it reads does. To look at that in Python takes several times as long as most statements.
 *
 * Where anything is recorded, or under way, the queue is asked in Python, which sees to it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <time.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include "_queue.h"
#include "_numbers.h"
#include "planning/families.h"

#define MAX_OPERANDS 4          /* of a kernel, with its output */
#define MAX_NDIM 64             /* as in `layout` */
#define N_KNOWN 4096            /* pairs of families, a power of 2 */
#define N_FORMS 1024            /* a power of 2 */
#define SECONDS_TO_LOOK 0.01    /* until others may have something to say */

static struct {
    families views;
    run_elementwise *run_elementwise;           /* of the kernels */
    PyTypeObject *array, *number, *element;     /* classes */
    PyTypeObject *base, *storage;
    PyObject *shared_storage, *scalar;
    PyObject *form_of, *copying, *result_of, *fail, *settle;    /* functions of `forms`, `immediate` and `recording` */
    PyObject *frame_of_program, *is_program_file, *borrowers;
    Py_ssize_t at_base, at_view, at_elements, at_source, at_layout, at_dtype, at_storage;     /* places of attributes */
    Py_ssize_t rank, max_elements, max_bytes, n_tags, batch;
    double looked;                              /* when others were asked last */
} its;

static struct {
    PyObject *address, *admits, *base, *broadcast_to, *digests, *dtype, *layout, *local, *may_compute, *name, *next_tag, *pending,
             *see_to_others, *shape, *storage, *supervision, *take_computed, *tiers, *view;
} name;

enum {KERNEL, LOOP, NUMBER_DTYPE, IS_ARRAY, IS_CAST, SAID, ITEMSIZES, N_OF_FORM};       /* the fields of a form */

/* Where the operands of a kernel lie: offsets and strides are in bytes, the output's last. And what is held for it: a
   number as it takes it, if that is no plain one, and casts of operands. */
typedef struct {
    int n, ndim;
    Py_ssize_t size;
    const Py_ssize_t *shape;
    int64_t offsets[MAX_OPERANDS], strides[MAX_OPERANDS * MAX_NDIM], number;
    PyObject *held[MAX_OPERANDS];
} geometry;

/* Of an output and an operand: whether this lies as that does, and where what this process has of it begins in what it
   has of the operand, in elements. */
typedef struct {
    family *out, *other;
    Py_ssize_t ahead;
    int are_alike;
} meeting;

/* Of operands, of which there may be one: how the result is seen; or False where they do not lie alike, None where that
   is up to Python. */
typedef struct {
    family *x, *y;
    PyObject *view;
} result;

/* How a function is computed of a dtype and another one, or of a Python class, in one of these ways; or None. */
typedef struct {
    PyObject *ufunc, *dtype, *other, *form;
    int way;
} known_form;

enum {SECOND, FIRST, IN_PLACE, ASSIGNED};       /* a number is the second operand, or the first; into the first one */

static meeting meetings[N_KNOWN];
static result results[N_KNOWN];
static known_form forms[N_FORMS];

static size_t place_of_pair(const family *x, const family *y)
{
    const size_t mixed = (size_t)x / 32 * 31 + (size_t)y / 32 * 17;
    return (mixed ^ mixed >> 12) & (N_KNOWN - 1);
}

static Py_ssize_t at(PyObject *tuple, Py_ssize_t k)
{
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
}

/* How an operand of a family meets an output; NULL with an exception set. */
static const meeting *found_meeting(family *out, PyObject *out_view, family *other, PyObject *view)
{
    meeting *known = &meetings[place_of_pair(out, other)];
    if (known->out == out && known->other == other)
        return known;
    const int are_alike = out == other ? 1 : its.views.lie_alike(out_view, view);
    if (are_alike < 0)
        return NULL;
    meeting found = {(family *)Py_NewRef((PyObject *)out), (family *)Py_NewRef((PyObject *)other), 0,
                     are_alike && other->is_known && other->ndim == out->ndim};
    for (Py_ssize_t d = 0; d < out->ndim && found.are_alike; d++)
        found.ahead += (firsts_of(out)[d] - firsts_of(other)[d]) * distances_of(other)[d];
    const meeting before = *known;
    *known = found;
    Py_XDECREF((PyObject *)before.out);
    Py_XDECREF((PyObject *)before.other);
    return known;
}

/* Where all lies of views, the output last, None for a number, with elements of so many bytes: 1; 0 where this process
   cannot compute its part of it by itself, or it is too much; or -1. */
static int lay_out(PyObject *views, const Py_ssize_t *itemsizes, Py_ssize_t rank, geometry *own)
{
    own->n = (int)PyTuple_GET_SIZE(views);
    PyObject *out_view = PyTuple_GET_ITEM(views, own->n - 1);
    Py_ssize_t offset;
    family *out = its.views.of(out_view, rank, &offset);
    if (!out)
        return -1;
    own->ndim = (int)out->ndim, own->size = out->size, own->shape = extents_of(out);
    if (!out->is_known || !out->is_ascending || out->size > its.max_elements)
        return 0;
    for (int k = 0; k < own->n; k++) {
        const Py_ssize_t *distances = NULL;
        PyObject *view = PyTuple_GET_ITEM(views, k);
        own->offsets[k] = 0;
        if (view != Py_None) {
            family *other = its.views.of(view, rank, &offset);
            const meeting *found = other ? found_meeting(out, out_view, other, view) : NULL;
            if (!found || !found->are_alike)
                return found ? 0 : -1;
            distances = distances_of(other);
            own->offsets[k] = (offset + found->ahead) * itemsizes[k];
        }
        for (int d = 0; d < own->ndim; d++)
            own->strides[k * own->ndim + d] = distances ? distances[d] * itemsizes[k] : 0;
    }
    return PyErr_Occurred() ? -1 : 1;
}

/* The dtype of an operand, or of the output, as it is: its array's, or else as the kernel takes it. Borrowed. */
static PyArray_Descr *dtype_of(PyObject *loop, PyObject *view, PyObject *memory, int k)
{
    PyObject *dtype = view == Py_None ? Py_NewRef(PyTuple_GET_ITEM(loop, k)) : PyObject_GetAttr(memory, name.dtype);
    Py_XDECREF(dtype);          /* which the storage has */
    return (PyArray_Descr *)dtype;
}

/* The same of a form's operands, with their memories. */
static int lay_out_form(PyObject *form, PyObject *views, PyObject *memories, geometry *own)
{
    Py_ssize_t itemsizes[MAX_OPERANDS];
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(views); k++) {
        PyArray_Descr *dtype = dtype_of(PyTuple_GET_ITEM(form, LOOP), PyTuple_GET_ITEM(views, k),
                                        PyTuple_GET_ITEM(memories, k), (int)k);
        if (!dtype)
            return -1;
        itemsizes[k] = PyDataType_ELSIZE(dtype);
    }
    return lay_out(views, itemsizes, its.rank, own);
}

/* Whether what is read has no element that is written in another place; -1 with an exception set. */
static int are_apart(PyObject *views, PyObject *memories)
{
    const Py_ssize_t last = PyTuple_GET_SIZE(views) - 1;
    PyObject *out = PyTuple_GET_ITEM(views, last), *written = PyTuple_GET_ITEM(memories, last);
    int are = 1;
    for (Py_ssize_t k = 0; k < last && are > 0; k++)
        if (PyTuple_GET_ITEM(memories, k) == written && PyTuple_GET_ITEM(views, k) != out)
            are = its.views.are_disjoint(PyTuple_GET_ITEM(views, k), out);
    return are;
}

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
    const int answer = is_free(queue, Py_False);
    PyObject *size = answer < 0 ? NULL : PyLong_FromSsize_t(n_elements), *found = NULL;
    if (!size)
        return -1;
    if (answer) {
        PyObject *tiers = PyObject_GetAttr(queue, name.tiers);
        found = tiers ? PyObject_VectorcallMethod(name.admits, (PyObject *[]){tiers, key, size, Py_False}, 4, NULL) : NULL;
        Py_XDECREF(tiers);
    } else
        found = PyObject_VectorcallMethod(name.may_compute, (PyObject *[]){queue, key, size, storages}, 4, NULL);
    Py_DECREF(size);
    const int is = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return is > 0 && answer && count(queue) < 0 ? -1 : is;
}

/* Have memory for a new array, as `Storage` allocates it; what is not small is left to that. -1 with an exception set. */
static int allocate(PyObject *storage, PyArray_Descr *dtype, const geometry *own)
{
    if (own->size * PyDataType_ELSIZE(dtype) >= its.max_bytes)
        return 0;
    Py_INCREF(dtype);
    PyObject *local = PyArray_Empty(own->ndim, (npy_intp *)own->shape, dtype, 0);
    PyObject *address = local ? PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)local)) : NULL;
    const int failed = !address || PyObject_SetAttr(storage, name.address, address) < 0
        || PyObject_SetAttr(storage, name.local, local) < 0;
    Py_XDECREF(address);
    Py_XDECREF(local);
    return failed ? -1 : 0;
}

/* Have a Python number of a dtype where a kernel takes it; -1 with an exception set, as where it is out of bounds. */
static int take_number(geometry *own, int k, PyObject *number, PyObject *dtype)
{
    if ((PyFloat_CheckExact(number) || PyLong_CheckExact(number))
            && value_of(number, (PyArray_Descr *)dtype, &own->number)) {
        float narrow = 0;
        if (((PyArray_Descr *)dtype)->type_num == NPY_FLOAT)
            memcpy(&narrow, &own->number, sizeof narrow);
        if (fabsf(narrow) < 1e38f)
            return 0;
    }
    own->held[k] = PyObject_CallFunctionObjArgs(its.scalar, number, dtype, NULL);   /* which may warn of it */
    return own->held[k] ? 0 : -1;
}

static int64_t address_in(PyObject *memory)     /* -1 with an exception set */
{
    PyObject *address = PyObject_GetAttr(memory, name.address);
    const int64_t found = address ? PyLong_AsLongLong(address) : -1;
    Py_XDECREF(address);
    return found;
}

/* Cast what there is of an operand at an address; the address of that, which is held, or -1 with an exception set. */
static int64_t cast_at(int64_t address, geometry *own, int k, PyArray_Descr *from, PyArray_Descr *to)
{
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

/* Run a form's kernel on what lies so in some memories; -1 with an exception set. */
static int run(PyObject *form, PyObject *views, PyObject *memories, geometry *own)
{
    int64_t addresses[MAX_OPERANDS];
    PyObject *loop = PyTuple_GET_ITEM(form, LOOP);
    for (int k = 0; k < own->n; k++) {
        PyObject *memory = PyTuple_GET_ITEM(memories, k), *taken = PyTuple_GET_ITEM(loop, k);
        if (PyTuple_GET_ITEM(views, k) == Py_None)
            addresses[k] = own->held[k] ? address_in(own->held[k]) : (int64_t)(intptr_t)&own->number;
        else {
            PyArray_Descr *dtype = dtype_of(loop, PyTuple_GET_ITEM(views, k), memory, k);
            addresses[k] = dtype ? address_in(memory) : -1;
            if (addresses[k] != -1)
                addresses[k] += own->offsets[k];
            if (addresses[k] != -1 && (PyObject *)dtype != taken && !PyArray_EquivTypes(dtype, (PyArray_Descr *)taken))
                addresses[k] = cast_at(addresses[k], own, k, dtype, (PyArray_Descr *)taken);
        }
        if (addresses[k] == -1 && PyErr_Occurred())
            return -1;
    }
    PyThreadState *state = unlocked(own->size);
    its.run_elementwise((int)at(form, KERNEL), own->ndim, (const int64_t *)own->shape, addresses, own->strides);
    lock(state);
    return 0;
}

/* Where the program is: a code object, and the instruction. NULL with an exception set. */
static PyObject *caller(int *instruction)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get()), *first = NULL;
    PyObject *is_program = NULL;
    for (first = (PyFrameObject *)Py_XNewRef((PyObject *)frame); frame; ) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        is_program = PyObject_GetItem(its.is_program_file, code->co_filename);
        Py_DECREF(code);
        Py_XDECREF(is_program);         /* one of three that last */
        if (is_program != Py_False)
            break;
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    if (first && is_program != Py_True) {
        Py_CLEAR(frame);
        if (!PyErr_Occurred())
            frame = (PyFrameObject *)PyObject_CallOneArg(its.frame_of_program, (PyObject *)first);
    }
    Py_XDECREF(first);
    PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
    *instruction = frame ? PyFrame_GetLasti(frame) : 0;
    Py_XDECREF(frame);
    if (!code && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "no program has called this");
    return code;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Take the number of what was computed, and have it compared with what others do; -1 with an exception set. */
static int tell(PyObject *queue, PyObject *form, PyObject *views, PyObject *storages)
{
    PyObject *tag = PyObject_GetAttr(queue, name.next_tag);
    PyObject *next = tag ? PyLong_FromSsize_t(PyLong_AsSsize_t(tag) + its.n_tags * PyTuple_GET_SIZE(views)) : NULL;
    int failed = !next || PyErr_Occurred() || PyObject_SetAttr(queue, name.next_tag, next) < 0;
    Py_XDECREF(tag);
    Py_XDECREF(next);
    PyObject *supervision = failed ? NULL : PyObject_GetAttr(queue, name.supervision);
    PyObject *digests = supervision ? PyObject_GetAttr(supervision, name.digests) : NULL;
    int number;
    PyObject *code = digests ? caller(&number) : NULL, *instruction = code ? PyLong_FromLong(number) : NULL;
    PyObject *taken = NULL;
    if (instruction)
        taken = PyObject_VectorcallMethod(name.take_computed, (PyObject *[]){
            digests, PyTuple_GET_ITEM(form, SAID), views, storages, code, instruction}, 6, NULL);
    PyObject *pending = taken ? PyObject_GetAttr(digests, name.pending) : NULL, *seen = NULL;
    const Py_ssize_t n_pending = pending ? PyObject_Size(pending) : -1;
    failed = n_pending < 0;
    const double time = now();
    if (!failed && (n_pending >= its.batch || time - its.looked > SECONDS_TO_LOOK)) {
        its.looked = time;
        seen = PyObject_CallMethodNoArgs(supervision, name.see_to_others);
        failed = !seen;
    }
    PyObject *const ended[] = {supervision, digests, code, instruction, taken, pending, seen};
    for (int k = 0; k < 7; k++)
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

/* Compute what is admitted, into a new array of a dtype or into one that is there, and tell others of it. */
static int do_compute(PyObject *queue, PyObject *form, PyObject *views, PyObject *memories, geometry *own,
                      PyArray_Descr *new, PyObject *storages, PyObject *said)
{
    PyObject *output = PyTuple_GET_ITEM(storages, 0);
    if (own->size && ((new && allocate(output, new, own) < 0) || run(form, views, memories, own) < 0))
        return fail(output, PyErr_ExceptionMatches(PyExc_MemoryError));
    return tell(queue, form, said, storages) < 0 ? fail(output, 0) : 1;
}

/* Have this process compute its part: 1; 0 where it is not computed; -1 with an exception set. */
static int compute_part(PyObject *queue, PyObject *key, PyObject *form, PyObject *views, PyObject *memories,
                        geometry *own, PyArray_Descr *new)
{
    PyObject *storages = NULL, *said = NULL;
    int answer = tell_apart(views, memories, &storages, &said);
    memset(own->held, 0, sizeof own->held);
    for (int k = 0; k < own->n && answer > 0; k++)
        if (PyTuple_GET_ITEM(views, k) == Py_None
                && take_number(own, k, PyTuple_GET_ITEM(memories, k), PyTuple_GET_ITEM(form, NUMBER_DTYPE)) < 0)
            answer = -1;
    if (answer > 0 && (answer = is_admitted(queue, key, own->size, storages)) > 0)
        answer = do_compute(queue, form, views, memories, own, new, storages, said);
    for (int k = 0; k < own->n; k++)
        Py_XDECREF(own->held[k]);
    Py_XDECREF(storages);
    Py_XDECREF(said);
    return answer;
}

static int is_form(PyObject *x)
{
    return PyTuple_Check(x) && PyTuple_GET_SIZE(x) == N_OF_FORM && PyArray_DescrCheck(PyTuple_GET_ITEM(x, NUMBER_DTYPE));
}

/* Whether a kernel takes all operands as they are, or cast without a loss that is told of. */
static int is_taken(PyObject *form, PyObject *const *dtypes)
{
    PyObject *loop = PyTuple_GET_ITEM(form, LOOP), *is_array = PyTuple_GET_ITEM(form, IS_ARRAY);
    for (Py_ssize_t k = 0, next = 0; k < PyTuple_GET_SIZE(is_array); k++)
        if (PyTuple_GET_ITEM(is_array, k) == Py_True) {
            PyObject *own = dtypes[next++];
            if (own && !PyArray_CanCastTypeTo((PyArray_Descr *)own, (PyArray_Descr *)PyTuple_GET_ITEM(loop, k),
                                              NPY_SAFE_CASTING))
                return 0;
        }
    return 1;
}

/* compute(key, form, views, memories): see _in_parts.pyi. */
static PyObject *compute(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *form = n == 4 ? arguments[1] : NULL;
    if (!form || !is_form(form) || !PyTuple_CheckExact(arguments[2]) || !PyTuple_CheckExact(arguments[3])
            || PyTuple_GET_SIZE(arguments[2]) != PyTuple_GET_SIZE(PyTuple_GET_ITEM(form, ITEMSIZES))
            || PyTuple_GET_SIZE(arguments[3]) != PyTuple_GET_SIZE(arguments[2]))
        return PyErr_Format(PyExc_TypeError, "a key, a form, and views and memories of all operands are taken");
    geometry own;
    PyObject *queue = queue_of_job();
    int answer = queue && PyTuple_GET_ITEM(form, IS_CAST) != Py_True && PyTuple_GET_SIZE(arguments[2]) <= MAX_OPERANDS;
    if (answer)
        answer = lay_out_form(form, arguments[2], arguments[3], &own);
    if (answer > 0)
        answer = are_apart(arguments[2], arguments[3]);
    if (answer > 0)
        answer = compute_part(queue, arguments[0], form, arguments[2], arguments[3], &own, NULL);
    return answer < 0 || PyErr_Occurred() ? NULL : PyBool_FromLong(answer);
}

/* laid_out(views, itemsizes, rank): see _in_parts.pyi. */
static PyObject *laid_out(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    const Py_ssize_t n_views = n == 3 && PyTuple_CheckExact(arguments[0]) ? PyTuple_GET_SIZE(arguments[0]) : 0;
    if (n_views < 1 || n_views > MAX_OPERANDS || !PyTuple_CheckExact(arguments[1])
            || PyTuple_GET_SIZE(arguments[1]) != n_views)
        return PyErr_Format(PyExc_TypeError, "views, as many sizes, and a rank are taken");
    geometry own;
    Py_ssize_t itemsizes[MAX_OPERANDS];
    for (Py_ssize_t k = 0; k < n_views; k++)
        itemsizes[k] = at(arguments[1], k);
    const int answer = lay_out(arguments[0], itemsizes, PyLong_AsSsize_t(arguments[2]), &own);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *shape = PyTuple_New(own.ndim), *offsets = PyList_New(own.n), *strides = PyList_New(own.n * own.ndim);
    for (int d = 0; shape && d < own.ndim; d++)
        PyTuple_SET_ITEM(shape, d, PyLong_FromSsize_t(own.shape[d]));
    for (int k = 0; offsets && k < own.n; k++)
        PyList_SET_ITEM(offsets, k, PyLong_FromLongLong(own.offsets[k]));
    for (int k = 0; strides && k < own.n * own.ndim; k++)
        PyList_SET_ITEM(strides, k, PyLong_FromLongLong(own.strides[k]));
    return PyErr_Occurred() ? NULL : Py_BuildValue("(NnNN)", shape, own.size, offsets, strides);
}

/* The form of a function, or of an assignment (of NULL), borrowed: None where there is none that takes all as it is, or
   cast without a loss. */
static PyObject *found_form(PyObject *ufunc, PyObject *dtype, PyObject *other, int way)
{
    const size_t mixed = (size_t)ufunc / 64 * 31 + (size_t)dtype / 32 * 17 + (size_t)other / 32 * 5 + (size_t)way;
    known_form *known = &forms[(mixed ^ mixed >> 10) & (N_FORMS - 1)];
    if (known->ufunc == ufunc && known->dtype == dtype && known->other == other && known->way == way)
        return known->form;
    PyObject *form = way == ASSIGNED
        ? PyObject_CallFunctionObjArgs(its.copying, dtype, PyType_Check(other) ? Py_True : Py_False, NULL)
        : PyObject_CallFunctionObjArgs(its.form_of, ufunc, dtype, other, way == FIRST ? Py_True : Py_False,
                                       way == IN_PLACE ? Py_True : Py_False, NULL);
    if (!form)
        return NULL;
    PyObject *const dtypes[] = {dtype, PyType_Check(other) ? NULL : other};
    if (form != Py_None && (!is_form(form) || PyLong_AsLong(PyTuple_GET_ITEM(form, KERNEL)) < 0
                            || (way != ASSIGNED && !is_taken(form, dtypes))
                            || PyTuple_GET_SIZE(PyTuple_GET_ITEM(form, ITEMSIZES)) > MAX_OPERANDS))
        Py_SETREF(form, Py_NewRef(Py_None));
    const known_form before = *known;
    *known = (known_form){Py_XNewRef(ufunc), Py_NewRef(dtype), Py_NewRef(other), form, way};
    Py_XDECREF(before.ufunc);
    Py_XDECREF(before.dtype);
    Py_XDECREF(before.other);
    Py_XDECREF(before.form);
    return form;
}

/* An array's base, view, storage and dtype: new references. */
typedef struct {
    PyObject *base, *view, *storage, *dtype;
} operand;

static PyObject *attribute_of(PyObject *x, int has_slots, Py_ssize_t place, PyObject *attribute)
{
    PyObject *found = has_slots ? SLOT(x, place) : NULL;
    return found ? Py_NewRef(found) : PyObject_GetAttr(x, attribute);
}

static int read_base(PyObject *base, operand *own)      /* it is taken over */
{
    const int has_slots = base && Py_TYPE(base) == its.base;
    own->base = base;
    own->storage = base ? attribute_of(base, has_slots, its.at_storage, name.storage) : NULL;
    own->dtype = own->storage ? attribute_of(base, has_slots, its.at_dtype, name.dtype) : NULL;
    return own->dtype ? 0 : -1;
}

static int is_array(PyObject *x)
{
    return Py_TYPE(x) == its.array || Py_TYPE(x) == its.number || Py_TYPE(x) == its.element;
}

static int read_array(PyObject *x, operand *own)
{
    own->view = attribute_of(x, is_array(x), its.at_view, name.view);
    return own->view ? read_base(attribute_of(x, is_array(x), its.at_base, name.base), own) : -1;
}

static void release(operand *own)
{
    Py_XDECREF(own->base);
    Py_XDECREF(own->view);
    Py_XDECREF(own->storage);
    Py_XDECREF(own->dtype);
}

static int have_one_shape(const family *x, const family *y)
{
    return x->ndim == y->ndim && !memcmp(x->numbers, y->numbers, x->ndim * sizeof *x->numbers);
}

static family *family_of(PyObject *view)
{
    Py_ssize_t offset;
    return its.views.of(view, its.rank, &offset);
}

/* Stretch an operand to the shape of a view, if it has another one: 1; 0 where that is not possible; or -1. */
static int stretch(operand *own, PyObject *view)
{
    family *wanted = family_of(view), *given = wanted ? family_of(own->view) : NULL;
    if (!given || have_one_shape(wanted, given))
        return given ? 1 : -1;
    if (given->ndim > wanted->ndim)
        return 0;
    PyObject *shape = PyObject_GetAttr(view, name.shape);
    PyObject *found = shape ? PyObject_CallMethodOneArg(own->view, name.broadcast_to, shape) : NULL;
    Py_XDECREF(shape);
    if (!found && PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        return 0;
    }
    if (found)
        Py_SETREF(own->view, found);
    return found ? 1 : -1;
}

/* How the result of operands is seen, see `result`; NULL with an exception set. */
static PyObject *view_of_result(PyObject *x, PyObject *y)
{
    family *own = family_of(x), *other = !y || !own ? NULL : family_of(y);
    if (!own || (y && !other))
        return NULL;
    result *known = &results[place_of_pair(own, other)];
    if (known->x == own && known->y == other)
        return known->view;
    PyObject *view = PyObject_CallFunctionObjArgs(its.result_of, x, y ? y : Py_None, NULL);
    if (!view)
        return NULL;
    const result before = *known;
    *known = (result){(family *)Py_NewRef((PyObject *)own), (family *)Py_XNewRef((PyObject *)other), view};
    Py_XDECREF((PyObject *)before.x);
    Py_XDECREF((PyObject *)before.y);
    Py_XDECREF(before.view);
    return view;
}

/* The tuples of all operands of a function and of its output, of what there is of each of the arrays and the number. */
static PyObject *all_of(PyObject *is_array, PyObject *x, PyObject *y, PyObject *number, PyObject *out)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(is_array);
    PyObject *found = PyTuple_New(n + 1), *const arrays[] = {x, y};
    for (Py_ssize_t k = 0, next = 0; found && k < n; k++) {
        const int is = PyTuple_GET_ITEM(is_array, k) == Py_True;
        PyTuple_SET_ITEM(found, k, Py_NewRef(is && next < 2 && arrays[next] ? arrays[next] : number));
        next += is;
    }
    if (found)
        PyTuple_SET_ITEM(found, n, Py_NewRef(out));
    return found;
}

/* A new base in a layout, as that class makes it of its arguments, with its storage in its place. */
static PyObject *new_base(PyObject *layout, PyObject *dtype)
{
    PyObject *base = its.base->tp_alloc(its.base, 0), *storage = base ? its.storage->tp_alloc(its.storage, 0) : NULL;
    PyObject *reference = storage ? PyWeakref_NewRef(base, NULL) : NULL;
    if (!reference || PyObject_SetAttr(storage, name.layout, layout) < 0
            || PyObject_SetAttr(storage, name.dtype, dtype) < 0 || PyObject_SetAttr(storage, name.name, reference) < 0) {
        Py_XDECREF(reference);
        Py_XDECREF(storage);
        Py_XDECREF(base);
        return NULL;
    }
    Py_DECREF(reference);
    SLOT(base, its.at_layout) = Py_NewRef(layout);
    SLOT(base, its.at_dtype) = Py_NewRef(dtype);
    SLOT(base, its.at_storage) = storage;
    return base;
}

static PyObject *new_array(PyObject *base, PyObject *view, int is_number)
{
    PyTypeObject *type = is_number ? its.number : its.array;
    PyObject *found = type->tp_alloc(type, 0);
    if (found) {
        SLOT(found, its.at_base) = Py_NewRef(base);
        SLOT(found, its.at_view) = Py_NewRef(view);
        SLOT(found, its.at_elements) = Py_NewRef(Py_None);
        SLOT(found, its.at_source) = Py_NewRef(Py_None);
    }
    return found;
}

/* A new array as which a view is seen, with a function's results in it; NotImplemented where it is not computed, and
   None of numbers that do not lie there. */
static PyObject *new_part(PyObject *queue, PyObject *key, PyObject *form, const operand *x, const operand *y,
                          PyObject *number, PyObject *view)
{
    PyObject *is_array = PyTuple_GET_ITEM(form, IS_ARRAY), *loop = PyTuple_GET_ITEM(form, LOOP);
    PyObject *dtype = PyTuple_GET_ITEM(loop, PyTuple_GET_SIZE(loop) - 1), *found = NULL;
    PyObject *layout = PyObject_GetAttr(view, name.layout), *base = layout ? new_base(layout, dtype) : NULL;
    PyObject *views = base ? all_of(is_array, x->view, y->view, Py_None, view) : NULL;
    PyObject *memories = views ? all_of(is_array, x->storage, y->storage, number, SLOT(base, its.at_storage)) : NULL;
    geometry own;
    const int is_laid_out = memories ? lay_out_form(form, views, memories, &own) : -1;
    const int answer = is_laid_out > 0
        ? compute_part(queue, key, form, views, memories, &own, (PyArray_Descr *)dtype) : is_laid_out;
    if (answer >= 0)
        found = answer ? new_array(base, view, !own.ndim)
                       : Py_NewRef(is_laid_out || own.ndim ? Py_NotImplemented : Py_None);
    Py_XDECREF(layout);
    Py_XDECREF(views);
    Py_XDECREF(base);
    Py_XDECREF(memories);
    return found;
}

/* The queue of several processes, borrowed; NULL where there is none, or with an exception set. */
static PyObject *queue_of_several(void)
{
    PyObject *queue = queue_of_job(), *engine = queue ? SLOT(queue, the_queue.at_engine) : NULL;
    return engine && its.array && SLOT(engine, the_queue.at_is_alone) == Py_False ? queue : NULL;
}

/* computed(key, ufunc, x, y, number, is_first): see _in_parts.pyi. */
static PyObject *computed(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *queue = queue_of_several(), *found = NULL;
    if (n != 6 || !queue)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *key = arguments[0], *number = arguments[4], *view = NULL, *form = NULL;
    const int has_other = arguments[3] != Py_None;
    operand x = {NULL}, y = {NULL};
    if (read_array(arguments[2], &x) == 0 && (!has_other || read_array(arguments[3], &y) == 0))
        form = found_form(arguments[1], x.dtype, has_other ? y.dtype : (PyObject *)Py_TYPE(number),
                          arguments[5] == Py_True ? FIRST : SECOND);
    if (form && form != Py_None) {
        int fits = !has_other ? 1 : stretch(&y, x.view);
        fits = fits ? fits : stretch(&x, y.view);
        view = fits > 0 ? Py_XNewRef(view_of_result(x.view, y.view)) : NULL;
    }
    if (view == Py_False)
        found = Py_NewRef(Py_NotImplemented);
    else if (view && view != Py_None) {
        Py_INCREF(form);
        found = new_part(queue, key, form, &x, &y, number, view);
        Py_DECREF(form);
    }
    Py_XDECREF(view);
    release(&x);
    release(&y);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

/* Whether a view names dimensions of its base alone, in their order. */
static int is_in_order(const family *own)
{
    for (Py_ssize_t d = 0, before = -1; d < own->ndim; before = own->numbers[own->ndim + d++])
        if (own->numbers[own->ndim + d] <= before)
            return 0;
    return 1;
}

/* Whether elements of another array are copied to some, in the order of memory, and of which array each is. */
static int is_plain_copy(const family *own, const family *other, const operand *x, const operand *y)
{
    for (Py_ssize_t d = 0; d < own->ndim; d++)
        if (!own->numbers[d])
            return 0;
    return have_one_shape(own, other) && x->base != y->base && is_in_order(other);
}

/* Write a function of an array and an operand, or that operand alone, to the array; what `is_computed_in_place` gives. */
static PyObject *written(PyObject *queue, PyObject *key, PyObject *form, const operand *x, operand *y, PyObject *number)
{
    PyObject *is_array = PyTuple_GET_ITEM(form, IS_ARRAY);
    const int is_copied = PyTuple_GET_SIZE(is_array) == 1;
    int fits = y->view && !is_copied ? stretch(y, x->view) : 1;
    family *own = fits < 0 ? NULL : family_of(x->view), *other = own && y->view ? family_of(y->view) : NULL;
    if (!own || (y->view && !other))
        return NULL;
    if (!fits || !is_in_order(own) || (other && is_copied && !is_plain_copy(own, other, x, y)))
        return Py_NewRef(Py_None);
    PyObject *views = all_of(is_array, is_copied ? y->view : x->view, y->view, Py_None, x->view);
    PyObject *memories = views ? all_of(is_array, is_copied ? y->storage : x->storage, y->storage, number, x->storage)
                               : NULL;
    geometry at_once;
    int answer = memories ? lay_out_form(form, views, memories, &at_once) : -1;
    const int is_brought = !answer && !own->ndim && other;      /* by whoever has it */
    if (answer > 0)
        answer = are_apart(views, memories);
    if (answer > 0)
        answer = compute_part(queue, key, form, views, memories, &at_once, NULL);
    Py_XDECREF(views);
    Py_XDECREF(memories);
    return answer < 0 ? NULL : is_brought ? Py_NewRef(Py_None) : PyBool_FromLong(answer);
}

/* Have who borrows elements of a view take them, before it is written to: 0, or -1 with an exception set. */
static int settle(PyObject *base, PyObject *view)
{
    if (!PySet_GET_SIZE(its.borrowers))
        return 0;
    PyObject *none = PyObject_CallFunctionObjArgs(its.settle, base, view, NULL);
    Py_XDECREF(none);
    return none ? 0 : -1;
}

/* Read an array that is about to be written to. */
static int read_target(PyObject *x, operand *own)
{
    if (read_array(x, own) < 0 || !PySet_GET_SIZE(its.borrowers))
        return own->dtype ? 0 : -1;
    if (settle(own->base, own->view) < 0)
        return -1;
    release(own);
    *own = (operand){NULL};
    return read_array(x, own);
}

/* is_computed_in_place(key, ufunc, x, y, number): see _in_parts.pyi. */
static PyObject *is_computed_in_place(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *queue = queue_of_several(), *found = NULL, *form = NULL;
    if (n != 5 || !queue)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *number = arguments[4];
    const int has_other = arguments[3] != Py_None;
    operand x = {NULL}, y = {NULL};
    if (read_target(arguments[2], &x) == 0 && (!has_other || read_array(arguments[3], &y) == 0))
        form = found_form(arguments[1], x.dtype, has_other ? y.dtype : (PyObject *)Py_TYPE(number), IN_PLACE);
    if (form && form != Py_None) {
        Py_INCREF(form);
        found = written(queue, arguments[0], form, &x, &y, number);
        Py_DECREF(form);
    }
    release(&x);
    release(&y);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

/* is_assigned(key, base, view, value): see _in_parts.pyi. */
static PyObject *is_assigned(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *queue = queue_of_several(), *value = n == 4 ? arguments[3] : Py_None, *found = NULL, *form = NULL;
    const int is_number = PyFloat_CheckExact(value) || PyLong_CheckExact(value);
    if (!queue || !(is_number || is_array(value)))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    operand x = {.view = Py_NewRef(arguments[2])}, y = {NULL};
    if (settle(arguments[1], x.view) == 0 && read_base(Py_NewRef(arguments[1]), &x) == 0
            && (is_number || read_array(value, &y) == 0) && (is_number || x.dtype == y.dtype))
        form = found_form(NULL, x.dtype, is_number ? (PyObject *)Py_TYPE(value) : y.dtype, ASSIGNED);
    if (form && form != Py_None) {
        PyObject *key = is_number ? Py_BuildValue("(NOO)", PyLong_FromVoidPtr(x.view), x.dtype, (PyObject *)Py_TYPE(value))
                                  : Py_NewRef(arguments[0]);
        Py_INCREF(form);
        found = key ? written(queue, key, form, &x, &y, value) : NULL;
        Py_DECREF(form);
        Py_XDECREF(key);
    }
    release(&x);
    release(&y);
    return found || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

/* forget(rank): see _in_parts.pyi. */
static PyObject *forget(PyObject *module, PyObject *rank)
{
    its.rank = PyLong_AsSsize_t(rank);
    for (int k = 0; k < N_KNOWN; k++) {
        const result before = results[k];
        results[k] = (result){NULL, NULL, NULL};
        Py_XDECREF((PyObject *)before.x);
        Py_XDECREF((PyObject *)before.y);
        Py_XDECREF(before.view);
    }
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* begin(recording, ...): see _in_parts.pyi. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyObject *recording, *state, *given[10];
    PyObject **const objects[] = {
        &its.shared_storage, &its.scalar, &its.form_of, &its.copying, &its.result_of, &its.fail, &its.settle,
        &its.frame_of_program, &its.is_program_file, &its.borrowers};
    PyTypeObject *base, *storage;
    unsigned long long elementwise;
    if (!PyArg_ParseTuple(arguments, "O!OO!O!OOOOOOOOOO!Knnnn", &PyModule_Type, &recording, &state, &PyType_Type, &base,
                          &PyType_Type, &storage, &given[0], &given[1], &given[2], &given[3], &given[4], &given[5],
                          &given[6], &given[7], &given[8], &PySet_Type, &given[9], &elementwise, &its.max_elements,
                          &its.max_bytes, &its.n_tags, &its.batch))
        return NULL;
    families *views = PyCapsule_Import(NAME_OF_FAMILIES, 0);
    if (!views)
        return NULL;
    its.views = *views;
    its.run_elementwise = (run_elementwise *)(uintptr_t)elementwise;
    its.base = (PyTypeObject *)Py_NewRef(base), its.storage = (PyTypeObject *)Py_NewRef(storage);
    for (size_t k = 0; k < sizeof objects / sizeof *objects; k++)
        *objects[k] = Py_NewRef(given[k]);
    const attribute_place places[] = {
        {base, "layout", &its.at_layout}, {base, "dtype", &its.at_dtype}, {base, "storage", &its.at_storage}};
    return find_places(places, 3) < 0 || begin_queue(recording, state) < 0 ? NULL : Py_NewRef(Py_None);
}

/* have_arrays(array, number, element): see _in_parts.pyi. */
static PyObject *have_arrays(PyObject *module, PyObject *arguments)
{
    PyTypeObject *array, *number, *element;
    if (!PyArg_ParseTuple(arguments, "O!O!O!", &PyType_Type, &array, &PyType_Type, &number, &PyType_Type, &element))
        return NULL;
    const attribute_place places[] = {
        {array, "_base", &its.at_base}, {array, "_view", &its.at_view}, {array, "_elements", &its.at_elements},
        {array, "_source", &its.at_source}};
    if (find_places(places, 4) < 0)
        return NULL;
    its.number = (PyTypeObject *)Py_NewRef(number), its.element = (PyTypeObject *)Py_NewRef(element);
    its.array = (PyTypeObject *)Py_NewRef(array);       /* from now on, calls are taken */
    Py_RETURN_NONE;
}

#define FUNCTION(f) {#f, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    {"begin", begin, METH_VARARGS, NULL},
    FUNCTION(compute), FUNCTION(computed),
    {"forget", forget, METH_O, NULL},
    {"have_arrays", have_arrays, METH_VARARGS, NULL},
    FUNCTION(is_assigned), FUNCTION(is_computed_in_place), FUNCTION(laid_out),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_in_parts", "What processes compute at once, in C; see _in_parts.c.", -1, functions, NULL, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC PyInit__in_parts(void)
{
    import_array();
    const struct {PyObject **place; const char *text;} names[] = {
        {&name.address, "address"}, {&name.admits, "admits"}, {&name.base, "_base"},
        {&name.broadcast_to, "broadcast_to"}, {&name.shape, "shape"}, {&name.digests, "digests"},
        {&name.dtype, "dtype"}, {&name.layout, "layout"}, {&name.local, "local"}, {&name.may_compute, "may_compute"},
        {&name.name, "name"}, {&name.next_tag, "next_tag"}, {&name.pending, "pending"}, {&name.see_to_others, "see_to_others"},
        {&name.storage, "storage"}, {&name.supervision, "supervision"}, {&name.take_computed, "take_computed"},
        {&name.tiers, "tiers"}, {&name.view, "_view"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!(*names[k].place = PyUnicode_InternFromString(names[k].text)))
            return NULL;
    return PyModule_Create(&definition);
}
