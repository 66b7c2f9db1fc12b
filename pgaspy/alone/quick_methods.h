/*
 * Methods of arrays that are done in C where that takes them, and by their definitions in Python else: operators, and
 * sections and what is assigned to them. A call of a method of Python's takes as long as one of NumPy's functions.
 */
typedef struct method method;

/* Do what a method is called for, by n arguments and those behind them that have names: 1 with what it returns, 0 if
   that is left to its definition, -1 with an exception. */
typedef int attempt(const method *, PyObject *const *arguments, Py_ssize_t n, PyObject *names, PyObject **found);

struct method {
    PyObject_HEAD
    vectorcallfunc call;
    attempt *attempt, *of_several;      /* the second one is that of `attempts`, if there is one */
    Py_ssize_t least, most;     /* arguments, by position */
    PyObject *ufunc, *definition;
};

/* What one of the functions of this module has given: an array, or None where it refuses. */
static int is_taken(PyObject *given, PyObject **found)
{
    if (given == Py_None)
        Py_CLEAR(given);
    else if (!given)
        return -1;
    *found = given;
    return given != NULL;
}

/* Whether one of them has done it, so that something else is returned. */
static int is_done(PyObject *answer, PyObject *returned, PyObject **found)
{
    if (!answer)
        return -1;
    *found = answer == Py_True ? Py_NewRef(returned) : NULL;
    Py_DECREF(answer);
    return *found != NULL;
}

static int take_unary(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                      PyObject **found)
{
    return is_taken(computed(NULL, (PyObject *[]){own->ufunc, arguments[0], Py_None, Py_False}, 4), found);
}

static int take_binary(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                       PyObject **found)
{
    return is_taken(computed(NULL, (PyObject *[]){own->ufunc, arguments[0], arguments[1], Py_False}, 4), found);
}

static int take_reflected(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                          PyObject **found)
{
    if (!is_plain_number(arguments[1]))
        return 0;
    return is_taken(computed(NULL, (PyObject *[]){own->ufunc, arguments[0], arguments[1], Py_True}, 4), found);
}

static int take_in_place(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                         PyObject **found)
{
    PyObject *const given[] = {own->ufunc, arguments[0], Py_True, arguments[0], arguments[1]};
    return is_done(is_computed_into(NULL, given, 5), arguments[0], found);
}

/* Find the array of `out` and what `where` is among arguments that have names; whether there are no others. */
static int find_target(PyObject *const *arguments, PyObject *names, PyObject **out, PyObject **mask)
{
    for (Py_ssize_t k = 0; names && k < PyTuple_GET_SIZE(names); k++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "where"))
            *mask = arguments[k];
        else if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), "out")
                && PyTuple_CheckExact(arguments[k]) && PyTuple_GET_SIZE(arguments[k]) == 1)
            *out = PyTuple_GET_ITEM(arguments[k], 0);
        else
            return 0;
    return 1;
}

/* A function of NumPy's that was called of this array, and perhaps of another operand: the ufunc, its method and the
   operands come after the array. NumPy's power of a Python number is the operator's. */
static int take_function(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                         PyObject **found)
{
    PyObject *ufunc = arguments[1], *x = arguments[3], *y = n > 4 ? arguments[4] : Py_None, *out = NULL;
    PyObject *mask = Py_True;
    if (!PyUnicode_Check(arguments[2]) || PyUnicode_CompareWithASCIIString(arguments[2], "__call__")
            || !find_target(arguments + n, names, &out, &mask))
        return 0;
    if (out)
        return is_done(is_computed_into(NULL, (PyObject *[]){ufunc, out, mask, x, y}, 5), out, found);
    if (mask != Py_True || (ufunc == its.power && is_plain_number(y)))
        return 0;
    PyObject *const given[] = {ufunc, x, y, Py_False}, *const turned[] = {ufunc, y, x, Py_True};
    return is_taken(computed(NULL, is_array(x) ? given : turned, 4), found);
}

static int take_product(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                        PyObject **found)
{
    return is_taken(product(NULL, arguments, 2), found);
}

static int take_section(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                        PyObject **found)
{
    return is_taken(section(NULL, arguments, 2), found);
}

static int take_assigned(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                         PyObject **found)
{
    return is_done(is_assigned(NULL, arguments, 3), Py_None, found);
}

/* The same in a job of several processes, or of large arrays: see `attempts`. */

/* The Python number in the place of one of NumPy's by which functions other than `power` and `ldexp` give the same of
   an array of a dtype: with either, they compute in the same one. Else the number itself; a new reference, or NULL with
   an exception set. */
static PyObject *as_plain_number(PyObject *x, PyArray_Descr *dtype)
{
    const int type = dtype->type_num, is_wide = type == NPY_DOUBLE || type == NPY_CDOUBLE;
    if (Py_TYPE(x) == &PyDoubleArrType_Type && (is_wide || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type)))
        return PyFloat_FromDouble(PyArrayScalar_VAL(x, Double));
    if (Py_TYPE(x) == &PyFloatArrType_Type && (type == NPY_FLOAT || type == NPY_CFLOAT))
        return PyFloat_FromDouble(PyArrayScalar_VAL(x, Float));
    if (Py_TYPE(x) == &PyLongArrType_Type && (is_wide || type == NPY_LONG))
        return PyLong_FromLong(PyArrayScalar_VAL(x, Long));
    return Py_NewRef(x);
}

/* An operand beside an array: a number of NumPy's as a Python number, where a function gives the same of that. */
static PyObject *plain_operand(PyObject *ufunc, PyObject *x, PyObject *y)
{
    if (is_array(y) || !is_numpys(y) || ufunc == its.power || !strcmp(((PyUFuncObject *)ufunc)->name, "ldexp"))
        return Py_NewRef(y);
    PyObject *dtype = PyObject_GetAttr(x, name.dtype);
    PyObject *plain = dtype ? as_plain_number(y, (PyArray_Descr *)dtype) : NULL;
    Py_XDECREF(dtype);
    return plain;
}

/* Attempt a function of an array and an operand, which comes first or not; into another one, if there is one. */
static int attempt_of_several(PyObject *ufunc, PyObject *x, PyObject *y, int is_first, PyObject *out, PyObject **found)
{
    PyObject *other = is_array(x) ? plain_operand(ufunc, x, y) : Py_NewRef(y);
    const int answer = !other ? -1 : is_first && !is_plain_number(other) ? 0
                     : out ? its.attempts->into(ufunc, out, x, other, is_first, found)
                           : its.attempts->operator_(ufunc, x, other, is_first, found);
    Py_XDECREF(other);
    return answer;
}

static int unary_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                            PyObject **found)
{
    return its.attempts->operator_(own->ufunc, arguments[0], Py_None, 0, found);
}

static int binary_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                             PyObject **found)
{
    return arguments[1] == Py_None ? 0 : attempt_of_several(own->ufunc, arguments[0], arguments[1], 0, NULL, found);
}

static int reflected_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                                PyObject **found)
{
    return attempt_of_several(own->ufunc, arguments[0], arguments[1], 1, NULL, found);
}

static int in_place_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                               PyObject **found)
{
    PyObject *other = plain_operand(own->ufunc, arguments[0], arguments[1]);
    const int answer = other ? its.attempts->in_place(own->ufunc, arguments[0], other, found) : -1;
    Py_XDECREF(other);
    return answer;
}

/* A function of each element, of as many operands as it takes, without options but `out`. */
static int function_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                               PyObject **found)
{
    PyObject *x = arguments[3], *y = n > 4 ? arguments[4] : Py_None, *out = NULL, *mask = Py_True;
    const PyUFuncObject *ufunc = (PyUFuncObject *)arguments[1];
    if (!find_target(arguments + n, names, &out, &mask) || mask != Py_True
            || !PyUnicode_Check(arguments[2]) || PyUnicode_CompareWithASCIIString(arguments[2], "__call__")
            || !PyObject_TypeCheck(arguments[1], Py_TYPE(its.power)) || ufunc->core_enabled || ufunc->nin != n - 3
            || (arguments[1] == its.power && is_plain_number(y)) || (n > 4 && y == Py_None))
        return 0;
    return n > 4 && !is_array(x) ? attempt_of_several(arguments[1], y, x, 1, out, found)
                                 : attempt_of_several(arguments[1], x, y, 0, out, found);
}

static int section_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                              PyObject **found)
{
    return its.attempts->section(arguments[0], arguments[1], found);
}

static int assigned_of_several(const method *own, PyObject *const *arguments, Py_ssize_t n, PyObject *names,
                               PyObject **found)
{
    return its.attempts->assignment(arguments[0], arguments[1], arguments[2], found);
}

static const struct {
    const char *name;
    attempt *attempt, *of_several;
    Py_ssize_t least, most;
} kinds_of_methods[] = {
    {"unary", take_unary, unary_of_several, 1, 1}, {"binary", take_binary, binary_of_several, 2, 2},
    {"reflected", take_reflected, reflected_of_several, 2, 2}, {"in place", take_in_place, in_place_of_several, 2, 2},
    {"function", take_function, function_of_several, 4, 5}, {"product", take_product, NULL, 2, 2},
    {"section", take_section, section_of_several, 2, 2}, {"assigned", take_assigned, assigned_of_several, 3, 3},
    {NULL, NULL, NULL, 0, 0},
};

static PyObject *call_method(PyObject *callable, PyObject *const *arguments, size_t n_and_flag, PyObject *names)
{
    const method *own = (const method *)callable;
    const Py_ssize_t n = PyVectorcall_NARGS(n_and_flag);
    if ((!names || own->attempt == take_function) && n >= own->least && n <= own->most) {
        PyObject *found = NULL;
        int status = own->attempt(own, arguments, n, names, &found);
        if (!status && own->of_several && its.attempts)
            status = own->of_several(own, arguments, n, names, &found);
        if (status)
            return status < 0 ? NULL : found;
    }
    return PyObject_Vectorcall(own->definition, arguments, n_and_flag, names);
}

static PyObject *bound_method(PyObject *own, PyObject *x, PyObject *type)
{
    return x ? PyMethod_New(own, x) : Py_NewRef(own);
}

/* All that it has not itself, its definition has: name, signature, annotations. */
static PyObject *attribute_of_method(PyObject *own, PyObject *attribute)
{
    PyObject *found = PyObject_GenericGetAttr(own, attribute);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return found;
    PyErr_Clear();
    return PyObject_GetAttr(((method *)own)->definition, attribute);
}

static PyObject *doc_of_method(PyObject *own, void *unused)
{
    return PyObject_GetAttrString(((method *)own)->definition, "__doc__");
}

static void free_method(PyObject *own)
{
    Py_XDECREF(((method *)own)->ufunc);
    Py_XDECREF(((method *)own)->definition);
    PyObject_Free(own);
}

static PyMemberDef members_of_method[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(method, definition), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef computed_of_method[] = {
    {"__doc__", doc_of_method, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject type_of_methods = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "pgaspy.alone.quick.Method",
    .tp_basicsize = sizeof(method),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(method, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bound_method,
    .tp_getattro = attribute_of_method,
    .tp_members = members_of_method,
    .tp_getset = computed_of_method,
    .tp_dealloc = free_method,
};

/* make_method(kind, ufunc, definition): a method of a kind; the function is None where the kind has none. */
static PyObject *make_method(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(3);
    int k = 0;
    while (kinds_of_methods[k].name && PyUnicode_CompareWithASCIIString(arguments[0], kinds_of_methods[k].name))
        k++;
    if (!kinds_of_methods[k].name)
        return PyErr_Format(PyExc_ValueError, "no kind of method: %R", arguments[0]);
    method *found = PyObject_New(method, &type_of_methods);
    if (!found)
        return NULL;
    found->call = call_method;
    found->attempt = kinds_of_methods[k].attempt, found->of_several = kinds_of_methods[k].of_several;
    found->least = kinds_of_methods[k].least, found->most = kinds_of_methods[k].most;
    found->ufunc = Py_NewRef(arguments[1]);
    found->definition = Py_NewRef(arguments[2]);
    return (PyObject *)found;
}
