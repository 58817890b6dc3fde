/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Callbacks of programs' operations: which one a thread is in, and what becomes of the status that
 * it returns. */
#include <stdarg.h>
#include <stdio.h>
#include "core/run/run.h"

ND_TLS const char *running; /* the operation whose callback this thread is in */

nd_status nd_custom_error(nd_status status, const char *fmt, ...)
{
    char text[768];
    va_list ap;
    ND_NEED("custom_error", 1, fmt);
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return nd__fail(status, running, -1, "%s", text);
}

nd_status nd__callback_status(const char *op, const char *what, nd_status status)
{
    if (status == ND_OK)
        return ND_OK;
    if (status < 0 || status >= ND_STATUS_END)
        return nd__fail(ND_ERR_ARGUMENT, op, -1, "%s returned %d, which is no status", what,
                        (int)status);
    if (nd_last_error()->status != status)
        return nd__fail(status, op, -1, "%s returned %s without a text (nd_custom_error)", what,
                        nd_status_name(status));
    nd__error_context(op, NULL, NULL);
    return status;
}

const char *nd__callback_enter(const char *op)
{
    const char *before = running;
    running = op;
    return before;
}

nd_status nd__callback_leave(const char *before, const char *what, nd_status status)
{
    const char *op = running;
    running = before;
    return nd__callback_status(op, what, status);
}
