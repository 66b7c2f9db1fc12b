/*
 * What C knows of Python: arrays with their bases, and new ones.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <time.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include "_queue.h"
#include "_at_once.h"
#include "_callers.h"
#include "_numbers.h"
#include "_shapes.h"
#include "execution/counting.h"
#include "planning/families.h"
#include "supervision/rolling.h"

static struct {
    families views;
    counting counting;
    rolling rolling;
    run_elementwise *run_elementwise;           /* of the kernels */
    PyTypeObject *array, *number, *element;     /* classes */
    PyTypeObject *base, *storage, *scalar, *reference;
    PyObject *shared_storage;
    PyObject *form_of, *copying, *result_of, *fail, *settle;    /* functions of `forms`, `immediate` and `recording` */
    PyObject *record, *record_operator, *record_into, *record_assigned, *made;
    PyObject *borrowers, *lent, *discard, *known_calls;         /* sets, a method of the first, and a cache */
    Py_ssize_t at_base, at_view, at_elements, at_source, at_layout, at_dtype, at_storage, at_original,
               at_address, at_array, at_lender, at_section;         /* the places of attributes */
    Py_ssize_t rank, max_elements, max_bytes, max_small, n_tags, batch;
    double looked;                              /* when others were asked last */
} its;

static struct {
    Py_ssize_t at_address, at_dtype, at_layout, at_leased, at_local, at_name, at_number, at_poison, at_return;
} of_storage;       /* the places of its attributes */

static struct {
    PyObject *address, *base, *broadcast_to, *digests, *dtype, *index, *is_read_only, *layout, *may_compute,
             *see_to_others, *shape, *size, *storage, *view;
} name;

/* Whether the queue is that of a job of one process, or of one that is simulated. */
static int is_alone(PyObject *queue)
{
    PyObject *engine = SLOT(queue, the_queue.at_engine);
    return !engine || Py_TYPE(engine) != the_queue.engine || SLOT(engine, the_queue.at_is_alone) != Py_False;
}

/* Whether the queue executes anything. */
static int is_real(PyObject *queue)
{
    PyObject *engine = SLOT(queue, the_queue.at_engine);
    return engine && Py_TYPE(engine) == the_queue.engine;
}

static Py_ssize_t at(PyObject *tuple, Py_ssize_t k)
{
    return PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, k));
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

/* What leads to nothing that leads to it, taken from the collector's list. */
static PyObject *untracked(PyObject *x)
{
    if (x && PyObject_GC_IsTracked(x))
        PyObject_GC_UnTrack(x);
    return x;
}

/* A new storage of a base, as that class makes it. */
static PyObject *new_storage(PyObject *base, PyObject *layout, PyObject *dtype)
{
    PyObject *storage = its.storage->tp_alloc(its.storage, 0);
    PyObject *reference = storage ? untracked(PyWeakref_NewRef(base, NULL)) : NULL;
    if (!reference) {
        Py_XDECREF(storage);
        return NULL;
    }
    SLOT(storage, of_storage.at_name) = reference;
    SLOT(storage, of_storage.at_layout) = Py_NewRef(layout);
    SLOT(storage, of_storage.at_dtype) = Py_NewRef(dtype);
    SLOT(storage, of_storage.at_number) = PyLong_FromLong(-1);     /* which Python has once and for all */
    SLOT(storage, of_storage.at_poison) = Py_NewRef(Py_None);
    SLOT(storage, of_storage.at_leased) = Py_NewRef(Py_None);
    SLOT(storage, of_storage.at_return) = Py_NewRef(Py_None);
    return storage;
}

/* A new base in a layout, as that class makes it of its arguments, with its storage in its place. */
static PyObject *new_base(PyObject *layout, PyObject *dtype)
{
    PyObject *base = its.base->tp_alloc(its.base, 0), *storage = base ? new_storage(base, layout, dtype) : NULL;
    if (!storage) {
        Py_XDECREF(base);
        return NULL;
    }
    SLOT(base, its.at_layout) = Py_NewRef(layout);
    SLOT(base, its.at_dtype) = Py_NewRef(dtype);
    SLOT(base, its.at_storage) = storage;
    SLOT(base, its.at_original) = Py_NewRef(Py_None);
    return base;
}

/* An array of one of the three classes, seen as a view of a base. */
static PyObject *new_array(PyTypeObject *type, PyObject *base, PyObject *view)
{
    PyObject *found = type->tp_alloc(type, 0);
    if (found) {
        SLOT(found, its.at_base) = Py_NewRef(base);
        SLOT(found, its.at_view) = Py_NewRef(view);
        SLOT(found, its.at_elements) = Py_NewRef(Py_None);
        SLOT(found, its.at_source) = Py_NewRef(Py_None);
    }
    return found;
}

/* Have a Python number in memory as one of a dtype; 0 where that is left to `Scalar`, which may warn of it. */
static int is_plain_value(PyObject *number, PyObject *dtype, int64_t *memory)
{
    if (!(PyFloat_CheckExact(number) || PyLong_CheckExact(number)) || !value_of(number, (PyArray_Descr *)dtype, memory))
        return 0;
    float narrow = 0;
    if (((PyArray_Descr *)dtype)->type_num == NPY_FLOAT)
        memcpy(&narrow, memory, sizeof narrow);
    return fabsf(narrow) < 1e38f;
}

/* A number as a `Scalar` of a dtype. */
static PyObject *scalar_of(PyObject *number, PyObject *dtype)
{
    int64_t value;
    if (!is_plain_value(number, dtype, &value))
        return PyObject_CallFunctionObjArgs((PyObject *)its.scalar, number, dtype, NULL);
    Py_INCREF(dtype);
    PyObject *array = PyArray_Empty(0, NULL, (PyArray_Descr *)dtype, 0), *found = NULL;
    PyObject *address = array ? PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array)) : NULL;
    if (address && (found = untracked(its.scalar->tp_alloc(its.scalar, 0)))) {
        memcpy(PyArray_DATA((PyArrayObject *)array), &value, PyArray_ITEMSIZE((PyArrayObject *)array));
        SLOT(found, its.at_array) = Py_NewRef(array);
        SLOT(found, its.at_address) = Py_NewRef(address);
    }
    Py_XDECREF(array);
    Py_XDECREF(address);
    return found;
}
