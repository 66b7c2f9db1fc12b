/*
 * Attributes of Python's objects: their names, and where they lie in objects with slots.
 */
#pragma once
#include <Python.h>
#include <structmember.h>

#define SLOT(x, place) (*(PyObject **)((char *)(x) + (place)))

typedef struct {
    PyObject **place;
    const char *text;
} attribute_name;

/* Have names as Python has them; -1 with an exception set. */
static inline int have_names(const attribute_name *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!(*names[k].place = PyUnicode_InternFromString(names[k].text)))
            return -1;
    return 0;
}

/* Whether an attribute is true; -1 with an exception set. */
static inline int is_true(PyObject *x, PyObject *attribute)
{
    PyObject *found = PyObject_GetAttr(x, attribute);
    if (!found)
        return -1;
    const int answer = PyObject_IsTrue(found);
    Py_DECREF(found);
    return answer;
}

/* The place of an attribute of a class with slots; -1 with an exception set. */
static inline Py_ssize_t place_of(PyTypeObject *type, const char *attribute)
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

static inline int find_places(const attribute_place *places, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if ((*places[k].place = place_of(places[k].type, places[k].name)) < 0)
            return -1;
    return 0;
}
