/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The library calls back on threads that are not Python's: how references are dropped there, when
 * the GIL may be taken there, and how that ends with the interpreter. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include "python/src/base/base.h"

enum { PATIENCE_MS = 5000 }; /* how long the end of the process waits for callbacks */

typedef struct reference {
    struct reference *next;
    PyObject *object;
    PyInterpreterState *owner;
} reference;

static _Atomic(reference *) unwanted;
static atomic_bool asked, closed;
static atomic_int inside;
/* Set by the first function of Python's in a queue: from then on the last use of memory of another
 * library may be waited for behind a function that wants the GIL. */
static atomic_bool release_may_wait;
/* A thread that calls py_drop_now as soon as the library returns collects references by itself, and
 * need not ask the main thread. Every array that is released looks at these variables, so they are
 * at a fixed place, as the library's own are. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    bool collecting;
    reference *dropped; /* what was given up meanwhile */
} own;

bool py_is_main_interpreter(void)
{
    return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
}

/* ---- references ---- */
static void add(reference *r)
{
    r->next = atomic_load(&unwanted);
    while (!atomic_compare_exchange_weak(&unwanted, &r->next, r))
        ;
}

static void drop_all(reference *r)
{
    PyInterpreterState *here = PyInterpreterState_Get();
    for (reference *next; r; r = next) {
        next = r->next;
        if (r->owner == here) {
            Py_DECREF(r->object);
            free(r);
        } else {
            add(r);
        }
    }
}

void py_drop_now(void)
{
    reference *dropped = own.dropped;
    own.dropped = NULL;
    if (dropped)
        drop_all(dropped);
    if (atomic_load_explicit(&unwanted, memory_order_relaxed))
        drop_all(atomic_exchange(&unwanted, NULL));
}

/* Called by the main thread of the main interpreter. */
static int drop_unwanted(void *unused)
{
    (void)unused;
    atomic_store(&asked, false); /* first, since whoever adds a reference from now on asks again */
    py_drop_now();
    return 0;
}

void py_release_may_wait(void)
{
    atomic_store(&release_may_wait, true);
}

void *py_keep(PyObject *object)
{
    reference *r = malloc(sizeof *r);
    if (!r)
        return PyErr_NoMemory();
    *r = (reference){NULL, Py_NewRef(object), PyInterpreterState_Get()};
    return r;
}

void py_drop(void *kept)
{
    if (own.collecting) {
        reference *r = kept;
        r->next = own.dropped;
        own.dropped = r;
        return;
    }
    add(kept);
    if (!atomic_load(&closed) && !atomic_exchange(&asked, true) &&
        Py_AddPendingCall(drop_unwanted, NULL) < 0)
        atomic_store(&asked, false); /* too many calls are pending; the next py_drop asks again */
}

void py_release(nd_array *a)
{
    py_exception pending = py_put_aside();
    bool unlock =
        nd_release_waits(a) || atomic_load_explicit(&release_may_wait, memory_order_relaxed);
    PyThreadState *saved = unlock ? py_unlock(a, 0) : NULL;
    bool outermost = !own.collecting;
    own.collecting = true;
    nd_release(a);
    own.collecting = !outermost;
    py_lock(saved);
    py_bring_back(pending);
}

void py_discard(nd_array *a)
{
    if (!a)
        return;
    py_exception pending = py_put_aside();
    py_release(a);
    py_drop_now();
    py_bring_back(pending);
}

void py_unkeep(void *kept)
{
    reference *r = kept;
    Py_DECREF(r->object);
    free(r);
}

/* ---- callbacks ---- */
bool py_enter(PyGILState_STATE *gil)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&closed)) {
        atomic_fetch_sub(&inside, 1);
        return false;
    }
    *gil = PyGILState_Ensure();
    return true;
}

void py_leave(PyGILState_STATE gil)
{
    PyGILState_Release(gil);
    atomic_fetch_sub(&inside, 1);
}

/* ---- the end ---- */
static PyObject *close_callbacks(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    (void)drop_unwanted(NULL);
    atomic_store(&closed, true);
    Py_BEGIN_ALLOW_THREADS;
    for (int ms = 0; ms < PATIENCE_MS && atomic_load(&inside); ms++)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* In the child of a fork, where the threads that were inside do not exist. */
static void forked(void)
{
    atomic_store(&inside, 0);
}

int py_at_exit(PyMethodDef *method)
{
    PyObject *function = PyCFunction_New(method, NULL);
    PyObject *enrol = function ? py_imported("atexit", "register") : NULL;
    PyObject *done = enrol ? PyObject_CallFunctionObjArgs(enrol, function, NULL) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(enrol);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

int py_init_later(PyObject *module, py_state *st)
{
    static PyMethodDef at_exit = {"_close_callbacks", close_callbacks, METH_NOARGS, NULL};
    static atomic_flag once = ATOMIC_FLAG_INIT;
    (void)module, (void)st;
    if (!py_is_main_interpreter())
        return 0;
    if (!atomic_flag_test_and_set(&once))
        (void)pthread_atfork(NULL, NULL, forked);
    atomic_store(&closed, false); /* an interpreter may be made again */
    return py_at_exit(&at_exit);
}
