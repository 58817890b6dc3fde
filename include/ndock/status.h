/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What every call returns, the detail behind it, and the log. */
#ifndef NDOCK_STATUS_H
#define NDOCK_STATUS_H
#include <ndock/base.h>

ND_BEGIN_DECLS

enum {
    ND_OK = 0,
#define ND_STATUS(name, value, text, python) ND_ERR_##name = value,
#include <ndock/status.def>
    ND_STATUS_END
};

/* Detail of the calling thread's latest failure. Texts are never NULL and live until that thread's
 * next failing call. */
typedef struct {
    nd_status status;
    int32_t argument;    /* position of the offending argument from 0, -1 if none */
    int64_t native;      /* errno, CUresult ..., 0 if none */
    const char *op;      /* "add", "reshape" ...; "" if none */
    const char *message; /* what was wrong, which value, what would be right */
    const char *device;  /* "cuda:0"; "" if none */
    const char *plugin;  /* name of the plug-in that reported it; "" if the core did */
    const char *file;    /* source position that decided it was an error */
    int32_t line;
} nd_error;

/* Never NULL; status ND_OK if this thread has not failed yet. A succeeding call does not clear it.
 * Any thread. */
ND_API const nd_error *nd_last_error(void);

/* "ND_ERR_SHAPE", and "shapes do not fit". Static; "?" for an unknown code. */
ND_API const char *nd_status_name(nd_status status);
ND_API const char *nd_status_text(nd_status status);

enum {
    ND_LOG_OFF = 0,
    ND_LOG_ERROR = 1,
    ND_LOG_WARN = 2,
    ND_LOG_INFO = 3,
    ND_LOG_DEBUG = 4,
    ND_LOG_TRACE = 5
};

/* Where messages go: to sink, one message of at most level at a time, without a newline, from any
 * thread; it must not call ndock. NULL, the default: one line each on the standard error output, at
 * most ten at once and then one a second, the number of those left out is told; or all of them at
 * the end of FILE where NDOCK_LOG=warn:FILE names one. level below 0: from NDOCK_LOG (off error
 * warn info debug trace; default warn). Level ND_LOG_OFF is silence. Any thread. */
typedef void (*nd_log_sink)(void *ctx, int32_t level, const char *message);
ND_API void nd_log_set(nd_log_sink sink, void *ctx, int32_t level);

ND_END_DECLS
#endif
