/*
 * What most statements on small arrays of one process are: operators, functions, products, sections and assignments of
 * arrays that have their elements, while nothing else is under way. To look at that in Python takes ten times as long
 * as NumPy does.
 *
 * Everything here is what `functions` and `sections` do. A call that is anything else is refused (None, or False)
 * before it has done anything, and left to them. Of the program's code, only finalisers, signal handlers and other
 * threads may run meanwhile.
 */
#include "quick_arrays.h"
#include "quick_likeness.h"
#include "quick_kernels.h"
#include "quick_products.h"
#include "quick_sections.h"

/* is_clear(): see `small.is_clear`. */
static PyObject *is_clear(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *queue;
    const int answer = is_quiet(&queue);
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* ready(x): see `small.ready`. */
static PyObject *ready(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(1);
    PyObject *queue, *a = is_array(arguments[0]) ? elements_of(arguments[0]) : NULL;
    const int answer = a ? is_quiet(&queue) : 0;
    return answer < 0 ? NULL : Py_NewRef(answer ? a : Py_None);
}

/* The size of an element that a known call gives; of kernels, which compute more with each, at least that of a
   double. */
static npy_intp size_of_result(PyObject *call)
{
    return PyArray_DescrCheck(call) ? PyDataType_ELSIZE((PyArray_Descr *)call) : (npy_intp)sizeof(double);
}

/* What a known call gives of operands that are stretched to a shape; NULL without an exception if it is refused. */
static PyObject *called_by(PyObject *queue, PyObject *ufunc, PyObject *call, PyObject *const *operands, int n,
                           npy_intp *shape, int ndim)
{
    if (!PyTuple_CheckExact(call))
        return called(queue, ufunc, operands, n, NULL);
    if (!is_cast(call))
        return by_kernel(queue, call, operands, n, shape, ndim);
    PyArray_Descr *taken = (PyArray_Descr *)PyTuple_GET_ITEM(call, N_OF_KERNEL);
    PyObject *given[2] = {NULL}, *found = NULL;
    for (int k = 0; k < n && !PyErr_Occurred(); k++)
        given[k] = !PyArray_Check(operands[k]) || PyArray_DESCR((PyArrayObject *)operands[k]) == taken
            ? Py_NewRef(operands[k])
            : PyArray_CastToType((PyArrayObject *)operands[k], (PyArray_Descr *)Py_NewRef((PyObject *)taken), 0);
    if (!PyErr_Occurred())
        found = by_kernel(queue, call, given, n, shape, ndim);
    Py_XDECREF(given[0]);
    Py_XDECREF(given[1]);
    return found;
}

/* The result of a call that is known of elements a, and of b or the number y; see `computed`. */
static PyObject *result_of(PyObject *ufunc, PyObject *call, PyObject *x, PyObject *a, PyObject *y, PyObject *b,
                           int is_first)
{
    PyObject *queue, *second = b ? b : y, *operands[] = {is_first ? second : a, is_first ? a : second};
    const int has_kernel = PyTuple_CheckExact(call), n = y == Py_None ? 1 : 2;
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = joint_shape(a, b ? b : a, shape);
    const int takes = ndim >= 0 && are_few(PyArray_MultiplyList(shape, ndim), size_of_result(call));
    const int answer = !takes || call == Py_None || (has_kernel && is_first && b) ? 0 : is_quiet(&queue);
    if (answer <= 0)
        return answer < 0 ? NULL : Py_NewRef(Py_None);
    PyObject *like = !ndim_of(a) && !(b && ndim_of(b)) ? Py_NewRef(Py_None)
                   : is_array(y) ? like_of_two(x, a, y, b) : Py_XNewRef(like_of(x));
    if (!like)
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *found = called_by(queue, ufunc, call, operands, n, shape, ndim);
    if (!found || (ndim_of(found) && !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)found))) {
        Py_XDECREF(found);
        Py_DECREF(like);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (!ndim_of(found)) {
        Py_DECREF(like);
        return made(found, Py_NewRef(its.of_number));
    }
    PyObject *source = PyTuple_Pack(3, like, Py_None, Py_False);
    Py_DECREF(like);
    return made(found, source);
}

/* computed(ufunc, x, y, is_first): see `functions.computed`. */
static PyObject *computed(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(4);
    PyObject *ufunc = arguments[0], *x = arguments[1], *y = arguments[2];
    const int is_first = arguments[3] == Py_True;
    if (!is_array(x))
        REFUSE(Py_None);
    PyObject *a = elements_of(x), *b = NULL, *other;
    if (!a)
        REFUSE(Py_None);
    if (y == Py_None || is_plain_number(y))
        other = Py_NewRef((PyObject *)Py_TYPE(y));
    else if ((b = elements_of(y)))
        other = dtype_of(b);
    else
        REFUSE(Py_None);
    Py_INCREF(a);       /* whatever becomes of the arrays meanwhile */
    Py_XINCREF(b);
    PyObject *dtype = dtype_of(a), *call = NULL;
    if (dtype && other)
        call = Py_XNewRef(known_call(its.quick_call, ufunc, dtype, other, is_first));
    PyObject *found = call ? result_of(ufunc, call, x, a, y, b, is_first) : NULL;
    Py_XDECREF(call);
    Py_XDECREF(dtype);
    Py_XDECREF(other);
    Py_DECREF(a);
    Py_XDECREF(b);
    return found;
}

/* Compute a call that is known of operands into a target, where a mask is true if there is one: 1, 0 where that is
   refused, or -1. */
static int computed_into(PyObject *ufunc, PyObject *call, PyObject *const *operands, int n, PyObject *target,
                         PyObject *mask)
{
    PyObject *queue, *found = NULL;
    const int answer = is_cast(call) ? 0 : is_quiet(&queue);
    if (answer <= 0)
        return answer;
    if (!PyTuple_CheckExact(call)) {
        PyObject *given[] = {operands[0], n > 1 ? operands[1] : target, n > 1 ? target : mask, mask};
        found = called(queue, ufunc, given, n, mask ? name.out_and_where : name.out);
    } else {
        npy_intp shape[NPY_MAXDIMS];
        const int ndim = joint_shape(operands[0], operands[n - 1], shape);
        PyArrayObject *own = (PyArrayObject *)target;
        if (are_few(PyArray_SIZE(own), size_of_result(call)) && ndim > 0 && ndim == PyArray_NDIM(own)
                && PyArray_CompareLists(shape, PyArray_DIMS(own), ndim))
            found = by_kernel(queue, call, operands, n, shape, ndim);
        if (found && PyArray_CopyInto(own, (PyArrayObject *)found) < 0)
            Py_CLEAR(found);
    }
    Py_XDECREF(found);
    return PyErr_Occurred() ? -1 : found != NULL;
}

/* is_computed_into(ufunc, out, where, x, y): see `functions.is_computed_into`. */
static PyObject *is_computed_into(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(5);
    PyObject *ufunc = arguments[0], *out = arguments[1], *mask = arguments[2], *target = elements_of(out);
    const int is_first = !is_array(arguments[3]);
    PyObject *x = arguments[3 + is_first], *y = arguments[4 - is_first], *a, *b = y, *other;
    if (!target || !is_array(out) || Py_TYPE(out) == its.number || !PyArray_Check(target)
            || !PyArray_ISWRITEABLE((PyArrayObject *)target) || PySet_GET_SIZE(its.borrowers) || !is_array(x)
            || !(a = elements_of(x)) || (ufunc == its.negative && !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)target)))
        REFUSE(Py_False);
    double memory;
    if (mask != Py_True && PyLong_CheckExact(y) && !value_of(y, PyArray_DESCR((PyArrayObject *)a), &memory))
        REFUSE(Py_False);       /* compared with one that its dtype does not hold, where a mask is, NumPy 2.4 crashes */
    if (mask == Py_True)
        mask = NULL;
    else if (!is_array(mask) || !(mask = elements_of(mask)) || !PyArray_Check(mask))
        REFUSE(Py_False);
    if (y == Py_None || is_plain_number(y))
        other = Py_NewRef((PyObject *)Py_TYPE(y));
    else if ((b = elements_of(y)))
        other = dtype_of(b);
    else
        REFUSE(Py_False);
    PyObject *held[] = {Py_NewRef(a), Py_NewRef(b), Py_NewRef(target), Py_XNewRef(mask), other, dtype_of(a), NULL};
    if (held[4] && held[5])
        held[6] = Py_XNewRef(known_call(its.quick_call, ufunc, held[5], other, is_first));
    PyObject *call = held[6], *dtype = (PyObject *)PyArray_DESCR((PyArrayObject *)target);
    int answer = 0;
    if (call && (PyTuple_CheckExact(call) ? !mask && !(is_first && b != y) && PyTuple_GET_ITEM(call, 2) == dtype
                                          : call == dtype))
        answer = computed_into(ufunc, call, (PyObject *[]){is_first ? b : a, is_first ? a : b}, y == Py_None ? 1 : 2,
                               target, mask);
    for (size_t k = 0; k < sizeof held / sizeof *held; k++)
        Py_XDECREF(held[k]);
    return PyErr_Occurred() || answer < 0 ? NULL : PyBool_FromLong(answer);
}

/* chosen(condition, x, y): see `functions.chosen`; the array itself. */
static PyObject *chosen(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    TAKES(3);
    PyObject *given[3], *of[3], *like = NULL, *found = NULL, *queue;
    for (int k = 0; k < 3; k++) {
        given[k] = arguments[k];
        of[k] = (PyObject *)Py_TYPE(given[k]);
        if (k && (is_plain_number(given[k]) || PyBool_Check(given[k])))
            continue;
        PyObject *own = NULL;
        if (!is_array(given[k]) || !(given[k] = elements_of(given[k])) || !ndim_of(given[k])
                || !(own = like_of(arguments[k])) || !PyArray_SAMESHAPE((PyArrayObject *)given[k],
                                                                       (PyArrayObject *)given[0]))
            REFUSE(Py_None);
        of[k] = (PyObject *)PyArray_DESCR((PyArrayObject *)given[k]);
        if (!like || (!is_distributed(like) && is_distributed(own)))
            like = own;
    }
    if (PyErr_Occurred() || !PyArray_ISBOOL((PyArrayObject *)given[0]))
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    PyObject *held[] = {given[0], given[1], given[2], of[1], of[2], like};
    for (int k = 0; k < 6; k++)
        Py_INCREF(held[k]);
    PyArrayObject *mask = (PyArrayObject *)given[0];
    PyObject *call = Py_XNewRef(known_call(its.quick_choice, Py_None, of[1], of[2], 0));
    if (call && call != Py_None && is_quiet(&queue) > 0)
        found = by_kernel(queue, call, given, 3, PyArray_DIMS(mask), PyArray_NDIM(mask));
    PyObject *source = found ? PyTuple_Pack(3, like, Py_None, Py_False) : NULL;
    Py_XDECREF(call);
    for (int k = 0; k < 6; k++)
        Py_DECREF(held[k]);
    if (source)
        return made(found, source);
    Py_XDECREF(found);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

#include "quick_arguments.h"
#include "quick_methods.h"

/* Have the attributes of a module, by their names. */
static int take(PyObject *module, const char *const *names, PyObject **const *places)
{
    for (int k = 0; names[k]; k++)
        if (!(*places[k] = PyObject_GetAttrString(module, names[k])))
            return -1;
    return 0;
}

/* begin(classes, max_elements, ...): say what is what in Python; see quick.pyi. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyTypeObject *array, *number, *view, *like;
    PyObject *kinds, *recording, *small, *borrowers, *state, *silent, *of_number, *functions, *likeness;
    Py_ssize_t max_elements, max_products, max_depth;
    unsigned long long elementwise, reduction, by_itself;
    PyObject *of_several;
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!O!nnnO!O!O!OO!OO!O!OKKK",
                          &PyType_Type, &array, &PyType_Type, &number, &PySet_Type, &kinds, &PyType_Type, &view,
                          &PyType_Type, &like, &max_elements, &max_products, &max_depth, &PyModule_Type, &recording,
                          &PyModule_Type, &small, &PySet_Type, &borrowers, &state, &PyContext_Type, &silent,
                          &of_number, &PyModule_Type, &functions, &PyModule_Type, &likeness, &of_several,
                          &elementwise, &reduction, &by_itself))
        return NULL;
    if (!(its.attempts = PyCapsule_GetPointer(of_several, NAME_OF_ATTEMPTS)))
        return NULL;
    its.array = (PyTypeObject *)Py_NewRef(array), its.number = (PyTypeObject *)Py_NewRef(number);
    its.view = (PyTypeObject *)Py_NewRef(view), its.like = (PyTypeObject *)Py_NewRef(like);
    its.max_elements = max_elements, its.max_products = max_products, its.max_depth = max_depth;
    its.kinds = Py_NewRef(kinds);
    its.borrowers = Py_NewRef(borrowers), its.silent = Py_NewRef(silent);
    its.of_number = Py_NewRef(of_number);
    its.run_elementwise = (run_elementwise *)(uintptr_t)elementwise;
    its.run_reduction = (run_reduction *)(uintptr_t)reduction;
    its.work_by_itself = (void (*)(int))(uintptr_t)by_itself;
    static const char *const of_functions[] = {"quick_call", "quick_choice", "quick_product", "quick_reduction", NULL};
    static PyObject **const places[] = {&its.quick_call, &its.quick_choice, &its.quick_product, &its.quick_reduction};
    static const char *const of_likeness[] = {"index", "index_result", "likeness", "like_of_all", "multiply", "result",
                                              "sum_along", "view_of", NULL};
    static PyObject **const others[] = {&its.index, &its.index_result, &its.likeness, &its.like_of_all, &its.multiply,
                                        &its.result, &its.sum_along, &its.view_of};
    if (take(functions, of_functions, places) < 0 || take(likeness, of_likeness, others) < 0)
        return NULL;
    const attribute_place of_array[] = {
        {array, "_elements", &its.elements}, {array, "_source", &its.source}, {array, "_view", &its.at_view}};
    if (find_places(of_array, 3) < 0 || begin_queue(recording, state) < 0)
        return NULL;
    its.small = Py_NewRef(PyModule_GetDict(small));
    Py_RETURN_NONE;
}

#define FUNCTION(f) {#f, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    {"begin", begin, METH_VARARGS, NULL},
    FUNCTION(chosen), FUNCTION(computed), FUNCTION(is_assigned), FUNCTION(is_clear), FUNCTION(is_computed_into),
    FUNCTION(is_plain),
    {"method", (PyCFunction)(void (*)(void))make_method, METH_FASTCALL, NULL},
    FUNCTION(product), FUNCTION(ready), FUNCTION(reduced), FUNCTION(section), FUNCTION(taken),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "quick", "Most statements on small arrays, in C; see quick.c.", -1, functions,
    NULL, NULL, NULL, NULL,
};

#define NAME(attribute, text) (name.attribute = PyUnicode_InternFromString(text))

PyMODINIT_FUNC PyInit_quick(void)
{
    import_array();
    if (PyType_Ready(&type_of_methods) < 0)
        return NULL;
    if (!(NAME(is_on, "is_on") && NAME(layout, "layout") && NAME(is_distributed, "is_distributed")
          && NAME(base_dims, "base_dims") && NAME(dtype, "dtype") && NAME(shape, "shape")
          && (name.out = Py_BuildValue("(s)", "out"))
          && (name.out_and_where = Py_BuildValue("(ss)", "out", "where"))))
        return NULL;
    static const char *const of_doubles[N_OF_DOUBLES] = {   /* in the order of the cases there */
        "add", "subtract", "multiply", "divide", "less", "less_equal", "greater", "greater_equal", "equal",
        "not_equal"};
    PyObject *numpy = PyImport_ImportModule("numpy");
    for (int k = 0; numpy && k < N_OF_DOUBLES; k++)
        if (!(its.of_doubles[k] = PyObject_GetAttrString(numpy, of_doubles[k])))
            Py_CLEAR(numpy);
    if (!numpy || !(its.matmul = PyObject_GetAttrString(numpy, "matmul"))
            || !(its.negative = PyObject_GetAttrString(numpy, "negative"))
            || !(its.power = PyObject_GetAttrString(numpy, "power")))
        return NULL;
    Py_DECREF(numpy);
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddObjectRef(module, "Method", (PyObject *)&type_of_methods) < 0)
        Py_CLEAR(module);
    return module;
}
