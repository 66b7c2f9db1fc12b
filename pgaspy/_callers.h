/*
 * Where the program is that has called pgaspy: see call_sites.py.
 */
#include <Python.h>

static struct {
    PyObject *frame_of_program, *is_program_file;       /* a function, and a cache */
    PyObject *file;                                     /* of the program, that was asked for last */
    PyObject *outside;                                  /* in the place of the code that has called, where none has */
} callers;

/* Whether any code in Python is executed in this thread, and not a function in C alone that it was begun with. */
static int is_in_python(void)
{
    PyThreadState *state = PyThreadState_Get();
#if PY_VERSION_HEX < 0x030D0000
    return state->cframe->current_frame != NULL;
#else
    return state->current_frame != NULL;
#endif
}

/* Whether a file is part of the program, of those that are known, else None: a borrowed reference. NULL with an
   exception set. */
static PyObject *is_of_program(PyObject *file)
{
    if (file == callers.file)
        return Py_True;
    PyObject *is = PyObject_GetItem(callers.is_program_file, file);
    Py_XDECREF(is);             /* one of three that last */
    if (is == Py_True)
        Py_XSETREF(callers.file, Py_NewRef(file));
    return is;
}

/* Where the program is: a code object, and the instruction. NULL with an exception set. */
static PyObject *caller(int *instruction)
{
    if (!is_in_python()) {
        *instruction = 0;
        return Py_NewRef(callers.outside);
    }
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get()), *first = NULL;
    PyObject *is_program = NULL;
    for (first = (PyFrameObject *)Py_XNewRef((PyObject *)frame); frame; ) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        is_program = is_of_program(code->co_filename);
        Py_DECREF(code);
        if (is_program != Py_False)
            break;
        PyFrameObject *outer = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    if (first && is_program != Py_True) {
        Py_CLEAR(frame);
        if (!PyErr_Occurred())
            frame = (PyFrameObject *)PyObject_CallOneArg(callers.frame_of_program, (PyObject *)first);
    }
    Py_XDECREF(first);
    PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
    *instruction = frame ? PyFrame_GetLasti(frame) : 0;
    Py_XDECREF(frame);
    if (!code && !PyErr_Occurred())
        PyErr_NoMemory();       /* for the object of a frame, which Python does not say */
    return code;
}

/* Know the module `call_sites`; -1 with an exception set. */
static int begin_callers(void)
{
    PyObject *module = PyImport_ImportModule("pgaspy.host.call_sites");
    callers.frame_of_program = module ? PyObject_GetAttrString(module, "frame_of_program") : NULL;
    callers.is_program_file = callers.frame_of_program ? PyObject_GetAttrString(module, "is_program_file") : NULL;
    Py_XDECREF(module);
    callers.outside = callers.is_program_file ? (PyObject *)PyCode_NewEmpty("<no Python>", "<module>", 1) : NULL;
    return callers.outside ? 0 : -1;
}
