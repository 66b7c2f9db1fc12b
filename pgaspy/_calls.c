/*
 * Operators and assignments, in C: what is known is recorded, and what several processes compute at once is computed.
 * To look at that in Python takes several times as long as most statements.
 */
#include "_calls_arrays.h"
#include "_calls_recorded.h"
#include "_calls_places.h"
#include "_calls_forms.h"
#include "_calls_parts.h"

/* compute(key, form, views, memories): see _calls.pyi. */
static PyObject *compute(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
    PyObject *form = n == 4 ? arguments[1] : NULL;
    if (!form || !is_form(form) || !PyTuple_CheckExact(arguments[2]) || !PyTuple_CheckExact(arguments[3])
            || PyTuple_GET_SIZE(arguments[2]) != PyTuple_GET_SIZE(PyTuple_GET_ITEM(form, LOOP))
            || PyTuple_GET_SIZE(arguments[3]) != PyTuple_GET_SIZE(arguments[2]))
        return PyErr_Format(PyExc_TypeError, "a key, a form, and views and memories of all operands are taken");
    geometry own;
    PyObject *queue = queue_of_job();
    int fits = queue && PyTuple_GET_ITEM(form, IS_CAST) != Py_True && PyTuple_GET_SIZE(arguments[2]) <= MAX_OPERANDS;
    if (fits)
        fits = lay_out_form(form, arguments[2], arguments[3], &own);
    if (fits > 0)
        fits = are_apart(arguments[2], arguments[3]);
    int answer = LEFT;
    if (fits > 0)
        answer = compute_part(queue, arguments[0], form, arguments[2], arguments[3], &own, NULL);
    return fits < 0 || answer < 0 || PyErr_Occurred() ? NULL
         : answer == LEFT ? Py_NewRef(Py_None) : PyBool_FromLong(answer);
}

/* A new array as which a view is seen, with a function's results in it; NotImplemented where it is to be recorded, and
   None where Python has to look: of numbers that do not lie there, and on one process of what has no memory. */
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
        found = answer == COMPUTED ? new_array(own.ndim ? its.array : its.number, base, view)
              : Py_NewRef((is_laid_out || own.ndim) && !(answer == LEFT && is_alone(queue)) ? Py_NotImplemented
                                                                                            : Py_None);
    Py_XDECREF(layout);
    Py_XDECREF(views);
    Py_XDECREF(base);
    Py_XDECREF(memories);
    return found;
}

/* The new array for a function of arrays, or of one and a number; NotImplemented where that is to be recorded, None
   where Python has to look. */
static PyObject *computed(PyObject *queue, PyObject *key, PyObject *form, operand *x, operand *y, PyObject *number)
{
    int fits = !y->view ? 1 : stretch(y, x->view);
    fits = fits ? fits : stretch(x, y->view);
    fits = fits || !is_alone(queue) ? fits : stretch_both(x, y);
    PyObject *view = fits > 0 ? Py_XNewRef(view_of_result(x->view, y->view)) : NULL;
    PyObject *found = fits < 0 || (fits && !view) ? NULL
                    : view == Py_False ? Py_NewRef(Py_NotImplemented)
                    : !fits || view == Py_None ? Py_NewRef(Py_None) : new_part(queue, key, form, x, y, number, view);
    Py_XDECREF(view);
    return found;
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

/* Write a function of an array and an operand, or that operand alone, to the array: whether it was done, or None where
   Python has to look. */
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
    int is_ready = memories ? lay_out_form(form, views, memories, &at_once) : -1;
    const int is_brought = !is_ready && !own->ndim && other;    /* by whoever has it */
    const int is_too_large = !is_ready && at_once.size > its.max_elements;
    if (is_ready > 0)
        is_ready = are_apart(views, memories);
    const int answer = is_ready > 0 ? compute_part(queue, key, form, views, memories, &at_once, NULL)
                     : is_ready < 0 ? -1 : is_too_large ? NOT_ADMITTED : LEFT;
    Py_XDECREF(views);
    Py_XDECREF(memories);
    return answer < 0 ? NULL
         : is_brought || (answer == LEFT && is_alone(queue)) ? Py_NewRef(Py_None) : PyBool_FromLong(answer == COMPUTED);
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

#include "_calls_attempts.h"

/* forget(rank): see _calls.pyi. */
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

/* begin(recording, ...): see _calls.pyi. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyObject *recording, *state, *given[9];
    PyObject **const objects[] = {
        &its.shared_storage, &its.form_of, &its.copying, &its.result_of, &its.fail, &its.settle, &its.record,
        &its.borrowers, &its.lent};
    PyTypeObject *base, *storage, *scalar;
    unsigned long long elementwise;
    if (!PyArg_ParseTuple(arguments, "O!OO!O!O!OOOOOOOO!O!Knnnn", &PyModule_Type, &recording, &state,
                          &PyType_Type, &base, &PyType_Type, &storage, &PyType_Type, &scalar,
                          &given[0], &given[1], &given[2], &given[3], &given[4], &given[5], &given[6],
                          &PySet_Type, &given[7], &PySet_Type, &given[8],
                          &elementwise, &its.max_elements, &its.max_bytes, &its.n_tags, &its.batch)
            || begin_callers() < 0)
        return NULL;
    const families *views = PyCapsule_Import(NAME_OF_FAMILIES, 0);
    const counting *counting = views ? PyCapsule_Import(NAME_OF_COUNTING, 0) : NULL;
    const rolling *rolling = counting ? PyCapsule_Import(NAME_OF_ROLLING, 0) : NULL;
    if (!rolling)
        return NULL;
    its.views = *views, its.counting = *counting, its.rolling = *rolling;
    its.run_elementwise = (run_elementwise *)(uintptr_t)elementwise;
    its.base = (PyTypeObject *)Py_NewRef(base), its.storage = (PyTypeObject *)Py_NewRef(storage);
    its.scalar = (PyTypeObject *)Py_NewRef(scalar);
    for (size_t k = 0; k < sizeof objects / sizeof *objects; k++)
        *objects[k] = Py_NewRef(given[k]);
    const attribute_place places[] = {
        {base, "layout", &its.at_layout}, {base, "dtype", &its.at_dtype}, {base, "storage", &its.at_storage},
        {base, "original", &its.at_original}, {scalar, "address", &its.at_address}, {scalar, "array", &its.at_array},
        {storage, "address", &of_storage.at_address}, {storage, "dtype", &of_storage.at_dtype},
        {storage, "layout", &of_storage.at_layout}, {storage, "_leased", &of_storage.at_leased},
        {storage, "local", &of_storage.at_local}, {storage, "name", &of_storage.at_name},
        {storage, "number", &of_storage.at_number}, {storage, "poison", &of_storage.at_poison},
        {storage, "_return", &of_storage.at_return}};
    if (find_places(places, sizeof places / sizeof *places) < 0 || begin_queue(recording, state) < 0)
        return NULL;
    return Py_NewRef(Py_None);
}

/* have_arrays(array, ...): see _calls.pyi. */
static PyObject *have_arrays(PyObject *module, PyObject *arguments)
{
    PyTypeObject *array, *number, *element, *reference;
    PyObject *known_calls, *made, *given[3];
    if (!PyArg_ParseTuple(arguments, "O!O!O!O!OOOOOn", &PyType_Type, &array, &PyType_Type, &number,
                          &PyType_Type, &element, &PyType_Type, &reference, &known_calls, &made,
                          &given[0], &given[1], &given[2], &its.max_small))
        return NULL;
    const attribute_place places[] = {
        {array, "_base", &its.at_base}, {array, "_view", &its.at_view}, {array, "_elements", &its.at_elements},
        {array, "_source", &its.at_source},
        {reference, "storage", &its.at_lender}, {reference, "view", &its.at_section}};
    if (find_places(places, 6) < 0 || !(its.discard = PyObject_GetAttrString(its.borrowers, "discard")))
        return NULL;
    its.number = (PyTypeObject *)Py_NewRef(number), its.element = (PyTypeObject *)Py_NewRef(element);
    its.reference = (PyTypeObject *)Py_NewRef(reference);
    its.known_calls = Py_NewRef(known_calls), its.made = Py_NewRef(made);
    its.record_operator = Py_NewRef(given[0]), its.record_into = Py_NewRef(given[1]);
    its.record_assigned = Py_NewRef(given[2]);
    its.array = (PyTypeObject *)Py_NewRef(array);       /* from now on, calls are taken */
    Py_RETURN_NONE;
}

#define FUNCTION(f) {#f, (PyCFunction)(void (*)(void))f, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    {"begin", begin, METH_VARARGS, NULL},
    FUNCTION(compute),
    {"forget", forget, METH_O, NULL},
    {"have_arrays", have_arrays, METH_VARARGS, NULL},
    FUNCTION(known_result), FUNCTION(laid_out), FUNCTION(record_in_place), FUNCTION(recorded),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_calls", "Operators and assignments, in C; see _calls.c.", -1, functions, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__calls(void)
{
    import_array();
    const attribute_name names[] = {
        {&name.address, "address"}, {&name.base, "_base"},
        {&name.broadcast_to, "broadcast_to"}, {&name.digests, "digests"}, {&name.dtype, "dtype"},
        {&name.index, "index"}, {&name.is_read_only, "is_read_only"}, {&name.layout, "layout"},
        {&name.may_compute, "may_compute"}, {&name.see_to_others, "see_to_others"}, {&name.shape, "shape"},
        {&name.size, "size"}, {&name.storage, "storage"}, {&name.view, "_view"}};
    if (have_names(names, sizeof names / sizeof *names) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&definition);
    PyObject *capsule = module ? PyCapsule_New(&all_attempts, NAME_OF_ATTEMPTS, NULL) : NULL;
    if (!capsule || PyModule_AddObjectRef(module, "_attempts", capsule) < 0)
        Py_CLEAR(module);
    Py_XDECREF(capsule);
    return module;
}
