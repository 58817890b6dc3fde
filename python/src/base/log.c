/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The library's log goes to Python's logging. A message may come on any thread, with locks of the
 * library held: it is put into a ring here, and the main thread hands it on. */
#include <stdatomic.h>
#include <string.h>
#include "python/src/base/base.h"

enum { ROOM = 256, LONGEST = 1024 };

/* There is one writer at a time, which holds the lock of the library's log, and one reader, which
 * has set `emptying`. */
static struct {
    int32_t level;
    char text[LONGEST];
} ring[ROOM];
static atomic_uint written,
    read_; /* how many messages were written and read so far; the difference is queued */
static atomic_ulong dropped;
static atomic_bool asked;
static atomic_flag emptying = ATOMIC_FLAG_INIT;

static PyObject *hand_on(int32_t level, const char *text, PyObject *emit)
{
    PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    return message ? PyObject_CallFunction(emit, "iN", (int)level, message) : NULL;
}

static int hand_on_dropped(PyObject *emit)
{
    char text[80];
    unsigned long n = atomic_exchange(&dropped, 0);
    if (!n)
        return 0;
    PyOS_snprintf(text, sizeof text, "%lu earlier messages were dropped: the log was full", n);
    PyObject *done = hand_on(ND_LOG_WARN, text, emit);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

/* Hands on what is queued; false where nothing can be handed on. A handler that fails must not stop
 * the handlers after it, so its exception is unraisable. */
static bool empty_once(void)
{
    py_exception pending = py_put_aside();
    PyObject *emit = py_imported("ndock._log", "emit");
    for (unsigned at; emit && (at = atomic_load(&read_)) != atomic_load(&written);) {
        char text[LONGEST];
        int32_t level = ring[at % ROOM].level;
        memcpy(text, ring[at % ROOM].text, LONGEST);
        atomic_store(&read_, at + 1);
        PyObject *done = hand_on(level, text, emit);
        if (!done)
            PyErr_WriteUnraisable(emit);
        Py_XDECREF(done);
    }
    if (!emit || hand_on_dropped(emit) < 0)
        PyErr_WriteUnraisable(emit);
    bool possible = emit != NULL;
    Py_XDECREF(emit);
    py_bring_back(pending);
    return possible;
}

/* Hands on what is queued, with the GIL; then again, since messages may have come that others have
 * left to this thread. */
static void empty(void)
{
    bool possible = true;
    while (possible && atomic_load(&written) != atomic_load(&read_) &&
           !atomic_flag_test_and_set(&emptying)) {
        possible = empty_once();
        atomic_flag_clear(&emptying);
    }
}

static int empty_pending(void *unused)
{
    (void)unused;
    atomic_store(&asked, false); /* first, since whoever writes from now on asks again */
    empty();
    return 0;
}

static void sink(void *unused, int32_t level, const char *text)
{
    unsigned at = atomic_load(&written);
    (void)unused;
    if (at - atomic_load(&read_) < ROOM) {
        ring[at % ROOM].level = level;
        strncpy(ring[at % ROOM].text, text, LONGEST - 1);
        atomic_store(&written, at + 1);
    } else {
        atomic_fetch_add(&dropped, 1);
    }
    if (!atomic_exchange(&asked, true) && Py_AddPendingCall(empty_pending, NULL) < 0)
        atomic_store(&asked, false); /* too many calls are pending; the next message asks again */
}

/* _set_log(level): -1 means what NDOCK_LOG says */
static PyObject *set_log(PyObject *module, PyObject *level)
{
    int32_t value;
    (void)module;
    if (py_setting(level, &value) < 0)
        return NULL;
    nd_log_set(sink, NULL, value);
    Py_RETURN_NONE;
}

static PyObject *flush(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    empty();
    Py_RETURN_NONE;
}

/* When the interpreter ends, what is queued is handed on; later messages go nowhere. */
static PyObject *close_log(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    nd_log_set(NULL, NULL, ND_LOG_OFF);
    empty();
    Py_RETURN_NONE;
}

PyMethodDef py_log_methods[] = {
    {"_set_log", set_log, METH_O, NULL}, {"_flush_log", flush, METH_NOARGS, NULL}, PY_METHODS_END};

/* The process has one log, which is the main interpreter's. */
int py_init_log(PyObject *module, py_state *st)
{
    static PyMethodDef at_exit = {"_close_log", close_log, METH_NOARGS, NULL};
    (void)module, (void)st;
    if (!py_is_main_interpreter())
        return 0;
    nd_log_set(sink, NULL, -1);
    return py_at_exit(&at_exit);
}
