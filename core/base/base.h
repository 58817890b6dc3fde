/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What every file of the core uses: errors and how they are passed on, the log, text, and what a
 * thread has of its own. The lowest layer: it knows neither devices nor arrays. */
#ifndef NDOCK_CORE_BASE_H
#define NDOCK_CORE_BASE_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <ndock/ndock.h>
#include <ndock/plugin.h>
#include "core/base/fork.h"
#include "core/base/lifecycle.h"
#include "core/base/text.h"
#include "core/base/thread.h"

/* Thread-local variables are few and small, so they may live in the static TLS block: no call to
 * reach them. */
#define ND_TLS static _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- status.c: errors. Whoever decides that it is an error writes the message, once; callers pass
 * the code up untouched. ---- */
nd_status nd__fail_at(const char *file, int line, nd_status status, const char *op,
                      int32_t argument, const char *fmt, ...) ND_PRINTF(6, 7);
/* As above with native = err and ": what errno means" appended. */
nd_status nd__fail_errno_at(const char *file, int line, nd_status status, const char *op, int err,
                            const char *fmt, ...) ND_PRINTF(6, 7);
#define nd__fail(status, op, argument, ...) \
    nd__fail_at(__FILE__, __LINE__, status, op, argument, __VA_ARGS__)
#define nd__fail_errno(status, op, err, ...) \
    nd__fail_errno_at(__FILE__, __LINE__, status, op, err, __VA_ARGS__)
/* ND_ERR_ARGUMENT: argument i, named as in the header, is NULL. */
nd_status nd__refuse_null(const char *op, int32_t i, const char *name);
#define ND_NEED(op, i, pointer)                      \
    do {                                             \
        if (!(pointer))                              \
            return nd__refuse_null(op, i, #pointer); \
    } while (0)
/* The place of a result: it is needed, and holds value until there is a result. */
#define ND_OUT(op, i, out, value) \
    do {                          \
        ND_NEED(op, i, out);      \
        *(out) = (value);         \
    } while (0)
/* A list of n entries, which may be NULL where n is 0. */
#define ND_NEED_LIST(op, i, n, list) \
    do {                             \
        if ((n) > 0)                 \
            ND_NEED(op, i, list);    \
    } while (0)
/* status, of a function that op is made of: its error becomes op's. */
nd_status nd__error_as(const char *op, nd_status status);
/* For functions that return no status: answer, with the error set. */
#define ND_NEED_OR(op, i, pointer, answer)          \
    do {                                            \
        if (!(pointer)) {                           \
            (void)nd__refuse_null(op, i, #pointer); \
            return answer;                          \
        }                                           \
    } while (0)
/* Fill in what the decider could not know, where it is still empty. */
void nd__error_native(int64_t native);
void nd__error_context(const char *op, const char *device, const char *plugin);
const char *nd__getenv(const char *name); /* NULL under AT_SECURE */
/* log.c */
void nd__log(int32_t level, const char *fmt, ...) ND_PRINTF(2, 3);
bool nd__log_wants(int32_t level);

#define ND_RETURN_IF(expr)          \
    do {                            \
        nd_status status_ = (expr); \
        if (status_ != ND_OK)       \
            return status_;         \
    } while (0)
#define ND_GOTO_IF(label, expr) \
    do {                        \
        status = (expr);        \
        if (status != ND_OK)    \
            goto label;         \
    } while (0)

/* Counts down; true for the last one. Who holds the only reference needs no atomic subtraction,
 * since nobody else can count up. */
static inline bool nd__last(atomic_int *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

void nd__fork_log(nd_fork now);

#endif
