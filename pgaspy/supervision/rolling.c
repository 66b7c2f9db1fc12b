/*
 * The digest of a program, into which goes all that is executed: in Python, that takes as long as many an operation.
 * Beside it goes that of the numbers that operations take, which processes may mean to differ.
 *
 * Digests are of 64 bits, mixed from integers alone, so that every process has the same.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include "../_attributes.h"
#include "rolling.h"

#define N_FORMS 256             /* whose digests are known: a power of 2 */
#define MAX_SHAPES 4            /* of an operation, that are kept one by one */

/* What is known of an operation later: its name, or function; the shapes of its arrays, of which there are `n`, or a
   tuple of them, if `n` is -1; and where it is. A call that is no operation has none. */
typedef struct {
    PyObject *what, *shapes[MAX_SHAPES], *code;
    int n, instruction;
} entry;

typedef struct {
    PyObject_HEAD
    Py_ssize_t n_entries, n_pending, max_pending, max_latest;
    int64_t *pending, next_number;      /* pairs of digests that nobody has taken; the number of the next array */
    entry *latest;                      /* of the operation k at k % max_latest */
    unsigned int rolling;
} program;

static struct {
    PyTypeObject *computed, *scalar, *storage, *view;
    PyObject *digest_of_fields, *digest_of_form, *digest_of_layout;     /* functions */
    Py_ssize_t at_array, at_number, at_digest, at_layout, at_shape, at_hash_of_numbers;
} its;

static struct {
    PyObject *digest, *form, *is_collective, *number, *said, *views;
} name;

static struct {
    PyObject *form;             /* which is the key, and held */
    int64_t digest;
} forms[N_FORMS];

/* What a function gives of an object, an integer; -1, perhaps with an exception set. */
static int64_t integer_of(PyObject *function, PyObject *object)
{
    PyObject *found = PyObject_CallOneArg(function, object);
    const int64_t digest = found ? PyLong_AsLongLong(found) : -1;
    Py_XDECREF(found);
    return digest;
}

/* That of a view, of its numbers and its layout. It is kept. */
static int64_t of_view(PyObject *view)
{
    if (!PyObject_TypeCheck(view, its.view)) {
        PyErr_SetString(PyExc_TypeError, "no view");
        return -1;
    }
    long long *kept = (long long *)((char *)view + its.at_digest);
    if (!*kept) {
        const Py_ssize_t numbers = *(Py_ssize_t *)((char *)view + its.at_hash_of_numbers);
        const int64_t digest = mixed(integer_of(its.digest_of_layout, SLOT(view, its.at_layout)), numbers);
        if (PyErr_Occurred())
            return -1;
        *kept = digest;
    }
    return *kept;
}

/* That of a form, which is known by where it lies as long as no other one has taken its place. */
static int64_t of_form(PyObject *form)
{
    const size_t k = (size_t)form / 16 % N_FORMS;
    if (forms[k].form != form) {
        const int64_t digest = integer_of(its.digest_of_form, form);
        if (digest == -1 && PyErr_Occurred())
            return -1;
        PyObject *old = forms[k].form;
        forms[k].form = Py_NewRef(form);
        forms[k].digest = digest;
        Py_XDECREF(old);
    }
    return forms[k].digest;
}

/* That of a form and of views; -1, perhaps with an exception set. */
static int64_t of_views(PyObject *form, PyObject *views)
{
    int64_t digest = of_form(form);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(views); k++) {
        const int64_t next = of_view(PyTuple_GET_ITEM(views, k));
        if (next == -1 && PyErr_Occurred())
            return -1;
        digest = mixed(digest, next);
    }
    return digest;
}

/* What is made of the form and the views of an operation that has them; -1, perhaps with an exception set. */
static int64_t of_its_views(PyObject *operation, PyObject *form)
{
    PyObject *views = PyObject_GetAttr(operation, name.views);
    const int is_right = views && PyTuple_CheckExact(views);
    if (views && !is_right)
        PyErr_SetString(PyExc_TypeError, "an operation's views are a tuple");
    const int64_t digest = is_right ? of_views(form, views) : -1;
    Py_XDECREF(views);
    return digest;
}

/* That of a recipe, or of what was computed without one, which keeps it; -1, perhaps with an exception set. */
static int64_t of_operation(PyObject *operation)
{
    PyObject *found = PyObject_GetAttr(operation, name.digest);
    if (found == Py_None) {
        Py_DECREF(found);
        PyObject *form = PyObject_GetAttr(operation, name.form);
        const int64_t digest = !form ? -1 : form == Py_None ? integer_of(its.digest_of_fields, operation)
                             : of_its_views(operation, form);
        Py_XDECREF(form);
        found = PyErr_Occurred() ? NULL : PyLong_FromLongLong(digest);
        if (found && PyObject_SetAttr(operation, name.digest, found) < 0)
            Py_CLEAR(found);
    }
    const int64_t digest = found ? PyLong_AsLongLong(found) : -1;
    Py_XDECREF(found);
    return digest;
}

/* The number of an array that lies in a storage, which gets one, if it has none; -1 with an exception set. */
static int64_t number_of(program *self, PyObject *storage)
{
    const int has_slot = Py_TYPE(storage) == its.storage;   /* a subclass may have it from another one */
    PyObject *given = has_slot ? Py_XNewRef(SLOT(storage, its.at_number)) : PyObject_GetAttr(storage, name.number);
    int64_t number = given ? PyLong_AsLongLong(given) : -1;
    Py_XDECREF(given);
    if (number >= 0 || PyErr_Occurred())
        return number;
    number = self->next_number++;
    given = PyLong_FromLongLong(number);
    if (!given || (!has_slot && PyObject_SetAttr(storage, name.number, given) < 0)) {
        Py_XDECREF(given);
        return -1;
    }
    if (has_slot)
        Py_XSETREF(SLOT(storage, its.at_number), Py_NewRef(given));
    Py_DECREF(given);
    return number;
}

/* That of the numbers among the values of an operation, each a `Scalar`; 0, perhaps with an exception set. */
static int64_t of_numbers(PyObject *values)
{
    int64_t digest = 0;
    if (!PyTuple_CheckExact(values))
        PyErr_SetString(PyExc_TypeError, "an operation's values are a tuple");
    for (Py_ssize_t k = 0; !PyErr_Occurred() && k < PyTuple_GET_SIZE(values); k++) {
        PyObject *value = PyTuple_GET_ITEM(values, k);
        PyArrayObject *number = Py_TYPE(value) == its.scalar ? (PyArrayObject *)SLOT(value, its.at_array) : NULL;
        if (number)
            digest = with_number(digest, PyArray_DATA(number), PyArray_TYPE(number), (size_t)PyArray_NBYTES(number));
    }
    return digest;
}

static void forget(entry *old)
{
    Py_CLEAR(old->what);
    Py_CLEAR(old->code);
    for (int k = 0; k < MAX_SHAPES; k++)
        Py_CLEAR(old->shapes[k]);
}

/* Take a digest, and that of numbers, with what is known of it later: an entry, which is taken over. -1 with an exception
   set. */
static int take_digest(program *self, int64_t digest, int64_t numbers, entry own)
{
    if (self->n_pending == self->max_pending) {
        int64_t *pending = PyMem_Realloc(self->pending, 2 * (2 * (size_t)self->max_pending + 64) * sizeof *pending);
        if (!pending) {
            forget(&own);
            PyErr_NoMemory();
            return -1;
        }
        self->pending = pending;
        self->max_pending = 2 * self->max_pending + 64;
    }
    entry *place = &self->latest[self->n_entries % self->max_latest], old = *place;
    *place = own;
    self->pending[2 * self->n_pending] = digest;
    self->pending[2 * self->n_pending++ + 1] = numbers;
    self->n_entries++;
    self->rolling = (unsigned int)mixed(self->rolling, digest);
    forget(&old);
    return 0;
}

/* Take an operation that has a digest, which is -1 where an exception is set, and that of its numbers, with its entry,
   which is taken over. */
static int take(program *self, int64_t digest, PyObject *storages, int64_t numbers, entry own)
{
    if (!PyErr_Occurred() && !PyTuple_CheckExact(storages))
        PyErr_SetString(PyExc_TypeError, "what an operation uses is a tuple of storages");
    for (Py_ssize_t k = 0; !PyErr_Occurred() && k < PyTuple_GET_SIZE(storages); k++)
        digest = mixed(digest, number_of(self, PyTuple_GET_ITEM(storages, k)));
    if (PyErr_Occurred()) {
        forget(&own);
        return -1;
    }
    return take_digest(self, digest, numbers, own);
}

/* The entry of what was computed: its function, and the shapes of its views. */
static entry entry_of_computed(PyObject *form, PyObject *views, PyObject *code, int instruction)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(views);
    entry own = {.what = Py_NewRef(PyTuple_GET_ITEM(form, 0)), .code = Py_NewRef(code), .instruction = instruction};
    for (own.n = 0; own.n < n && own.n < MAX_SHAPES; own.n++)   /* those of a kernel, which has no more operands */
        own.shapes[own.n] = Py_NewRef(SLOT(PyTuple_GET_ITEM(views, own.n), its.at_shape));
    return own;
}

/* The entry of a recipe, or of what was computed; without anything where an exception is set. */
static entry entry_of(PyObject *operation, PyObject *code, PyObject *instruction)
{
    const int place = (int)PyLong_AsLong(instruction);
    if (Py_TYPE(operation) == its.computed) {
        PyObject *form = PyObject_GetAttr(operation, name.form), *views = PyObject_GetAttr(operation, name.views);
        entry own = {NULL};
        if (form && views && !PyErr_Occurred())
            own = entry_of_computed(form, views, code, place);
        Py_XDECREF(form);
        Py_XDECREF(views);
        return own;
    }
    PyObject *said = PyErr_Occurred() ? NULL : PyObject_GetAttr(operation, name.said);
    if (!said)
        return (entry){NULL};
    entry own = {.what = Py_NewRef(PyTuple_GET_ITEM(said, 0)), .shapes = {Py_NewRef(PyTuple_GET_ITEM(said, 1))},
                 .code = Py_NewRef(code), .n = -1, .instruction = place};
    Py_DECREF(said);
    return own;
}

/* Take an operation, by its fields except its number. */
static int take_operation(program *self, PyObject *operation, PyObject *storages, PyObject *values, PyObject *code,
                          PyObject *instruction)
{
    const int64_t digest = of_operation(operation), numbers = PyErr_Occurred() ? 0 : of_numbers(values);
    const entry own = PyErr_Occurred() ? (entry){NULL} : entry_of(operation, code, instruction);
    return take(self, digest, storages, numbers, own);
}

/* take_one(operation, storages, values, code, instruction): see rolling.pyi. */
static PyObject *take_one(program *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 5)
        return PyErr_Format(PyExc_TypeError, "take_one takes an operation, its storages and values, and a place of a "
                                             "program");
    return take_operation(self, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]) < 0
        ? NULL : PyLong_FromUnsignedLong(self->rolling);
}

static PyTypeObject type_of_programs;

/* See rolling.h. */
static Py_ssize_t add_computed(PyObject *digests, PyObject *form, PyObject *views, PyObject *storages, int64_t numbers,
                               PyObject *code, int instruction)
{
    if (!PyObject_TypeCheck(digests, &type_of_programs) || !PyTuple_CheckExact(form) || !PyTuple_CheckExact(views)) {
        PyErr_SetString(PyExc_TypeError, "a digest takes a form, and tuples of views and storages");
        return -1;
    }
    program *self = (program *)digests;
    const int64_t digest = of_views(form, views);
    const entry own = PyErr_Occurred() ? (entry){NULL} : entry_of_computed(form, views, code, instruction);
    return take(self, digest, storages, numbers, own) < 0 ? -1 : self->n_pending;
}

/* take_call(words, digest): see rolling.pyi. */
static PyObject *take_call(program *self, PyObject *arguments)
{
    PyObject *words;
    long long digest;
    if (!PyArg_ParseTuple(arguments, "UL", &words, &digest)
            || take_digest(self, digest, 0, (entry){.what = Py_NewRef(words)}) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* take_fields(fields, n_fields, stamped): see rolling.pyi. */
static PyObject *take_fields(program *self, PyObject *arguments)
{
    PyObject *fields, *stamped;
    Py_ssize_t n_fields, n_stamped = 0;
    if (!PyArg_ParseTuple(arguments, "O!nO!", &PyTuple_Type, &fields, &n_fields, &PyTuple_Type, &stamped))
        return NULL;
    PyObject *stamps = PyDict_New();
    for (Py_ssize_t k = 0; stamps && (k + 1) * n_fields <= PyTuple_GET_SIZE(fields); k++) {
        PyObject *const *field = &PyTuple_GET_ITEM(fields, k * n_fields);   /* in the order of `RecordedOperation` */
        const int is = is_true(field[0], name.is_collective);
        if (is < 0 || (is && take_operation(self, field[0], field[1], field[2], field[4], field[5]) < 0))
            Py_CLEAR(stamps);
        else if (n_stamped < PyTuple_GET_SIZE(stamped)) {
            PyObject *position = PyTuple_GET_ITEM(stamped, n_stamped);
            PyObject *stamp = PyLong_AsSsize_t(position) == k ? PyLong_FromUnsignedLong(self->rolling) : NULL;
            n_stamped += stamp != NULL;
            if (PyErr_Occurred() || (stamp && PyDict_SetItem(stamps, position, stamp) < 0))
                Py_CLEAR(stamps);
            Py_XDECREF(stamp);
        }
    }
    return stamps;
}

/* take_pending(): see rolling.pyi. */
static PyObject *take_pending(program *self, PyObject *none)
{
    PyObject *found = PyBytes_FromStringAndSize((const char *)self->pending,
                                                2 * self->n_pending * (Py_ssize_t)sizeof *self->pending);
    self->n_pending = found ? 0 : self->n_pending;
    return found;
}

/* latest(index): see rolling.pyi. */
static PyObject *latest(program *self, PyObject *index)
{
    const Py_ssize_t k = PyLong_AsSsize_t(index);
    if (k < 0 || k >= self->n_entries || k < self->n_entries - self->max_latest)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    const entry *own = &self->latest[k % self->max_latest];
    PyObject *shapes = own->n <= 0 ? Py_NewRef(own->n ? own->shapes[0] : Py_None) : PyTuple_New(own->n);
    for (int j = 0; shapes && j < own->n; j++)
        PyTuple_SET_ITEM(shapes, j, Py_NewRef(own->shapes[j]));
    return shapes ? Py_BuildValue("ONOi", own->what, shapes, own->code ? own->code : Py_None, own->instruction) : NULL;
}

static int program_init(program *self, PyObject *arguments, PyObject *keywords)
{
    Py_ssize_t n;
    if (!PyArg_ParseTuple(arguments, "n", &n))
        return -1;
    if (self->latest || n <= 0) {
        PyErr_SetString(PyExc_ValueError, "a number of operations, at least 1, is taken once");
        return -1;
    }
    self->latest = PyMem_Calloc((size_t)n, sizeof *self->latest);
    if (!self->latest) {
        PyErr_NoMemory();
        return -1;
    }
    self->max_latest = n;
    return 0;
}

static void program_dealloc(program *self)
{
    for (Py_ssize_t k = 0; self->latest && k < self->max_latest; k++)
        forget(&self->latest[k]);
    PyMem_Free(self->latest);
    PyMem_Free(self->pending);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef members[] = {
    {"n_entries", T_PYSSIZET, offsetof(program, n_entries), READONLY, NULL},
    {"n_pending", T_PYSSIZET, offsetof(program, n_pending), READONLY, NULL},
    {"rolling", T_UINT, offsetof(program, rolling), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
    {"latest", (PyCFunction)latest, METH_O, NULL},
    {"take_call", (PyCFunction)take_call, METH_VARARGS, NULL},
    {"take_fields", (PyCFunction)take_fields, METH_VARARGS, NULL},
    {"take_one", (PyCFunction)(void (*)(void))take_one, METH_FASTCALL, NULL},
    {"take_pending", (PyCFunction)take_pending, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type_of_programs = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.supervision.rolling.ProgramDigest",
    .tp_basicsize = sizeof(program),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,       /* nothing that it holds leads to it */
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)program_init,
    .tp_dealloc = (destructor)program_dealloc,
    .tp_members = members,
    .tp_methods = methods,
};

static PyObject *integer_or_error(int64_t digest)
{
    return PyErr_Occurred() ? NULL : PyLong_FromLongLong(digest);
}

/* digest_of(operation), digest_of_view(view): see rolling.pyi. */
static PyObject *digest_of(PyObject *module, PyObject *operation)
{
    return integer_or_error(of_operation(operation));
}

static PyObject *digest_of_view(PyObject *module, PyObject *view)
{
    return integer_or_error(of_view(view));
}

/* begin(Computed, Scalar, Storage, View, digest_of_form, digest_of_layout, digest_of_fields): what C has of Python. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    if (!PyArg_ParseTuple(arguments, "OOOOOOO", &its.computed, &its.scalar, &its.storage, &its.view,
                          &its.digest_of_form, &its.digest_of_layout, &its.digest_of_fields))
        return NULL;
    const attribute_place places[] = {
        {its.scalar, "array", &its.at_array},
        {its.storage, "number", &its.at_number}, {its.view, "digest", &its.at_digest},
        {its.view, "hash_of_numbers", &its.at_hash_of_numbers}, {its.view, "layout", &its.at_layout},
        {its.view, "shape", &its.at_shape}};
    if (find_places(places, sizeof places / sizeof *places) < 0)
        return NULL;
    PyObject *const kept[] = {(PyObject *)its.computed, (PyObject *)its.scalar, (PyObject *)its.storage,
                              (PyObject *)its.view, its.digest_of_form, its.digest_of_layout, its.digest_of_fields};
    for (int k = 0; k < 7; k++)
        Py_INCREF(kept[k]);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"begin", begin, METH_VARARGS, NULL},
    {"digest_of", digest_of, METH_O, NULL},
    {"digest_of_view", digest_of_view, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "rolling", "The digest of a program, in C; see rolling.c.", -1, functions, NULL, NULL, NULL,
    NULL,
};

static rolling for_others = {add_computed};

PyMODINIT_FUNC PyInit_rolling(void)
{
    import_array();
    const attribute_name names[] = {
        {&name.digest, "digest"}, {&name.form, "form"}, {&name.is_collective, "is_collective"},
        {&name.number, "number"}, {&name.said, "said"}, {&name.views, "views"}};
    if (have_names(names, sizeof names / sizeof *names) < 0 || PyType_Ready(&type_of_programs) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *capsule = module ? PyCapsule_New(&for_others, NAME_OF_ROLLING, NULL) : NULL;
    if (!capsule || PyModule_AddObjectRef(module, "_rolling", capsule) < 0
            || PyModule_AddObjectRef(module, "ProgramDigest", (PyObject *)&type_of_programs) < 0)
        Py_CLEAR(module);
    Py_XDECREF(capsule);
    return module;
}
