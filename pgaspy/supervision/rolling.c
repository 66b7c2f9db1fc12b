/*
 * The digest of a program, into which goes all that is executed: in Python, that takes as long as many an operation.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *pending, *latest, *numbers;       /* see rolling.pyi */
    Py_ssize_t n_entries;
    unsigned int rolling;
} program;

static struct {
    PyObject *computed, *digest_of_fields, *digest_of_form, *digest_of_layout;  /* a class, and functions */
} its;

static struct {
    PyObject *append, *digest, *form, *hash_of_numbers, *is_collective, *layout, *number, *said, *shape, *views;
} name;

static uint32_t remainders[256];                /* of each byte, see `have_remainders` */

static void have_remainders(void)               /* CRC-32, as `zlib.crc32` computes it */
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t remainder = byte;
        for (int bit = 0; bit < 8; bit++)
            remainder = remainder >> 1 ^ (remainder & 1 ? 0xEDB88320u : 0);
        remainders[byte] = remainder;
    }
}

static uint32_t crc_of(uint32_t crc, int64_t digest)
{
    unsigned char bytes[sizeof digest];
    memcpy(bytes, &digest, sizeof digest);
    crc = ~crc;
    for (size_t k = 0; k < sizeof digest; k++)
        crc = crc >> 8 ^ remainders[(crc ^ bytes[k]) & 0xFF];
    return ~crc;
}

static int program_init(program *self, PyObject *arguments, PyObject *keywords)
{
    PyObject *pending, *latest, *numbers;
    if (!PyArg_ParseTuple(arguments, "OOO", &pending, &latest, &numbers))
        return -1;
    Py_XSETREF(self->pending, Py_NewRef(pending));
    Py_XSETREF(self->latest, Py_NewRef(latest));
    Py_XSETREF(self->numbers, Py_NewRef(numbers));
    return 0;
}

static int program_traverse(program *self, visitproc visit, void *arg)
{
    Py_VISIT(self->pending);
    Py_VISIT(self->latest);
    Py_VISIT(self->numbers);
    return 0;
}

static int program_clear(program *self)
{
    Py_CLEAR(self->pending);
    Py_CLEAR(self->latest);
    Py_CLEAR(self->numbers);
    return 0;
}

static void program_dealloc(program *self)
{
    PyObject_GC_UnTrack(self);
    program_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* A tuple of an attribute of each of some objects. */
static PyObject *attributes_of(PyObject *objects, PyObject *attribute)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(objects);
    PyObject *found = PyTuple_New(n);
    for (Py_ssize_t k = 0; found && k < n; k++) {
        PyObject *value = PyObject_GetAttr(PyTuple_GET_ITEM(objects, k), attribute);
        if (value)
            PyTuple_SET_ITEM(found, k, value);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* The numbers of arrays; those that have none get one. */
static PyObject *numbers_of(program *self, PyObject *storages)
{
    PyObject *found = attributes_of(storages, name.number);
    for (Py_ssize_t k = 0; found && k < PyTuple_GET_SIZE(found); k++) {
        const Py_ssize_t number = PyLong_AsSsize_t(PyTuple_GET_ITEM(found, k));
        if (number >= 0)
            continue;
        PyObject *storage = PyTuple_GET_ITEM(storages, k);
        PyObject *given = PyErr_Occurred() ? NULL : PyObject_GetAttr(storage, name.number);  /* of one used twice */
        if (given && PyLong_AsSsize_t(given) < 0) {
            Py_DECREF(given);
            given = PyErr_Occurred() ? NULL : PyIter_Next(self->numbers);
            if (given && PyObject_SetAttr(storage, name.number, given) < 0)
                Py_CLEAR(given);
        }
        if (!given)
            Py_CLEAR(found);
        else {
            Py_DECREF(PyTuple_GET_ITEM(found, k));
            PyTuple_SET_ITEM(found, k, given);
        }
    }
    return found;
}

/* The digest that an object keeps, or else that which a function gives. */
static PyObject *kept_or(PyObject *object, PyObject *function)
{
    PyObject *found = PyObject_GetAttr(object, name.digest);
    if (found != Py_None)
        return found;
    Py_DECREF(found);
    return PyObject_CallOneArg(function, object);
}

static PyObject *hash_of(PyObject *tuple)       /* it takes it over */
{
    const Py_hash_t hash = tuple ? PyObject_Hash(tuple) : -1;
    Py_XDECREF(tuple);
    return hash == -1 ? NULL : PyLong_FromSsize_t(hash);
}

/* That of a view, of its numbers and its layout. */
static PyObject *digest_of_view(PyObject *module, PyObject *view)
{
    PyObject *found = PyObject_GetAttr(view, name.digest);
    if (found != Py_None)
        return found;
    Py_DECREF(found);
    PyObject *numbers = PyObject_GetAttr(view, name.hash_of_numbers);
    PyObject *layout = numbers ? PyObject_GetAttr(view, name.layout) : NULL;
    PyObject *of_layout = layout ? kept_or(layout, its.digest_of_layout) : NULL;
    found = of_layout ? hash_of(PyTuple_Pack(2, numbers, of_layout)) : NULL;
    Py_XDECREF(numbers);
    Py_XDECREF(layout);
    Py_XDECREF(of_layout);
    if (found && PyObject_SetAttr(view, name.digest, found) < 0)
        Py_CLEAR(found);
    return found;
}

/* That of a form and of views. */
static PyObject *digest_of_views(PyObject *form, PyObject *views)
{
    const Py_ssize_t n = PyTuple_GET_SIZE(views);
    PyObject *found = PyTuple_New(1 + n);
    for (Py_ssize_t k = 0; found && k <= n; k++) {
        PyObject *digest = k == 0 ? PyObject_CallOneArg(its.digest_of_form, form)
                         : digest_of_view(NULL, PyTuple_GET_ITEM(views, k - 1));
        if (digest)
            PyTuple_SET_ITEM(found, k, digest);
        else
            Py_CLEAR(found);
    }
    return hash_of(found);
}

/* That of a recipe, or of what was computed without one, which keeps it. */
static PyObject *digest_of(PyObject *module, PyObject *operation)
{
    PyObject *found = PyObject_GetAttr(operation, name.digest);
    if (found != Py_None)
        return found;
    Py_DECREF(found);
    PyObject *form = PyObject_GetAttr(operation, name.form);
    PyObject *views = form && form != Py_None ? PyObject_GetAttr(operation, name.views) : NULL;
    found = form == Py_None ? PyObject_CallOneArg(its.digest_of_fields, operation)
          : views ? digest_of_views(form, views) : NULL;
    Py_XDECREF(form);
    Py_XDECREF(views);
    if (found && PyObject_SetAttr(operation, name.digest, found) < 0)
        Py_CLEAR(found);
    return found;
}

/* What is known later of what was computed: its function, and its shapes. */
static PyObject *said_of_computed(PyObject *form, PyObject *views)
{
    PyObject *shapes = attributes_of(views, name.shape);
    PyObject *said = shapes ? PyTuple_Pack(2, PyTuple_GET_ITEM(form, 0), shapes) : NULL;
    Py_XDECREF(shapes);
    return said;
}

/* What is known of an operation later: that, or its name instead of the function. */
static PyObject *said_of(PyObject *operation)
{
    if ((PyObject *)Py_TYPE(operation) != its.computed)
        return PyObject_GetAttr(operation, name.said);
    PyObject *form = PyObject_GetAttr(operation, name.form);
    PyObject *views = form ? PyObject_GetAttr(operation, name.views) : NULL;
    PyObject *said = views ? said_of_computed(form, views) : NULL;
    Py_XDECREF(form);
    Py_XDECREF(views);
    return said;
}

/* Take what has a digest, with what is known of it later, both of which are taken over; whether that has worked. */
static int takes(program *self, PyObject *of_operation, PyObject *said, PyObject *storages, PyObject *code,
                 PyObject *instruction)
{
    PyObject *numbers = of_operation && said ? numbers_of(self, storages) : NULL;
    PyObject *digest = numbers ? hash_of(PyTuple_Pack(2, of_operation, numbers)) : NULL;
    PyObject *entry = digest ? PyTuple_Pack(3, said, code, instruction) : NULL;
    PyObject *none = entry ? PyObject_CallMethodOneArg(self->latest, name.append, entry) : NULL;
    Py_XDECREF(none);
    none = none ? PyObject_CallMethodOneArg(self->pending, name.append, digest) : NULL;
    if (none) {
        self->n_entries++;
        self->rolling = crc_of(self->rolling, PyLong_AsLongLong(digest));
    }
    PyObject *const ended[] = {numbers, of_operation, digest, said, entry, none};
    for (int k = 0; k < 6; k++)
        Py_XDECREF(ended[k]);
    return none != NULL;
}

/* The same of an operation. */
static int takes_operation(program *self, PyObject *operation, PyObject *storages, PyObject *code, PyObject *instruction)
{
    if (!PyTuple_CheckExact(storages)) {
        PyErr_SetString(PyExc_TypeError, "what an operation uses is a tuple of storages");
        return 0;
    }
    PyObject *of_operation = digest_of(NULL, operation), *said = of_operation ? said_of(operation) : NULL;
    return takes(self, of_operation, said, storages, code, instruction);
}

/* take_one(operation, storages, code, instruction): see rolling.pyi. */
static PyObject *take_one(program *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 4) {
        PyErr_SetString(PyExc_TypeError, "take_one takes an operation, its storages, and a place of a program");
        return NULL;
    }
    return takes_operation(self, arguments[0], arguments[1], arguments[2], arguments[3])
        ? PyLong_FromUnsignedLong(self->rolling) : NULL;
}

/* take_computed(form, views, storages, code, instruction): see rolling.pyi. */
static PyObject *take_computed(program *self, PyObject *const *arguments, Py_ssize_t n)
{
    if (n != 5 || !PyTuple_CheckExact(arguments[0]) || !PyTuple_CheckExact(arguments[1])
            || !PyTuple_CheckExact(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "take_computed takes a form, tuples of views and storages, and a place");
        return NULL;
    }
    PyObject *of_views = digest_of_views(arguments[0], arguments[1]);
    PyObject *said = of_views ? said_of_computed(arguments[0], arguments[1]) : NULL;
    return takes(self, of_views, said, arguments[2], arguments[3], arguments[4])
        ? PyLong_FromUnsignedLong(self->rolling) : NULL;
}

/* Whether an operation is one of all processes; -1 where that fails. */
static int is_collective(PyObject *operation)
{
    PyObject *found = PyObject_GetAttr(operation, name.is_collective);
    const int is = found ? PyObject_IsTrue(found) : -1;
    Py_XDECREF(found);
    return is;
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
        const int is = is_collective(field[0]);
        if (is < 0 || (is && !takes_operation(self, field[0], field[1], field[4], field[5])))
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

static PyMemberDef members[] = {
    {"pending", T_OBJECT_EX, offsetof(program, pending), 0, NULL},
    {"latest", T_OBJECT_EX, offsetof(program, latest), READONLY, NULL},
    {"numbers", T_OBJECT_EX, offsetof(program, numbers), READONLY, NULL},
    {"n_entries", T_PYSSIZET, offsetof(program, n_entries), 0, NULL},
    {"rolling", T_UINT, offsetof(program, rolling), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
    {"take_computed", (PyCFunction)(void (*)(void))take_computed, METH_FASTCALL, NULL},
    {"take_fields", (PyCFunction)take_fields, METH_VARARGS, NULL},
    {"take_one", (PyCFunction)(void (*)(void))take_one, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject type_of_programs = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.supervision.rolling.ProgramDigest",
    .tp_basicsize = sizeof(program),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)program_init,
    .tp_dealloc = (destructor)program_dealloc,
    .tp_traverse = (traverseproc)program_traverse,
    .tp_clear = (inquiry)program_clear,
    .tp_members = members,
    .tp_methods = methods,
};

/* begin(Computed, digest_of_form, digest_of_layout, digest_of_fields): what C has of Python. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyObject *computed, *of_form, *of_layout, *of_fields;
    if (!PyArg_ParseTuple(arguments, "OOOO", &computed, &of_form, &of_layout, &of_fields))
        return NULL;
    Py_XSETREF(its.computed, Py_NewRef(computed));
    Py_XSETREF(its.digest_of_form, Py_NewRef(of_form));
    Py_XSETREF(its.digest_of_layout, Py_NewRef(of_layout));
    Py_XSETREF(its.digest_of_fields, Py_NewRef(of_fields));
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

static int have_names(void)
{
    const struct {PyObject **place; const char *text;} names[] = {
        {&name.append, "append"}, {&name.digest, "digest"}, {&name.form, "form"},
        {&name.hash_of_numbers, "hash_of_numbers"}, {&name.is_collective, "is_collective"}, {&name.layout, "layout"},
        {&name.number, "number"}, {&name.said, "said"}, {&name.shape, "shape"}, {&name.views, "views"}};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (!(*names[k].place = PyUnicode_InternFromString(names[k].text)))
            return -1;
    return 0;
}

PyMODINIT_FUNC PyInit_rolling(void)
{
    have_remainders();
    PyObject *module = have_names() < 0 || PyType_Ready(&type_of_programs) < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "ProgramDigest", (PyObject *)&type_of_programs) < 0)
        Py_CLEAR(module);
    return module;
}
