/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where trace lines go: a file that NDOCK_HOOK_TRACE names, "%p" in it being the process's number,
 * else the log at level trace. A line is written at once and whole, so that a crash loses none but
 * that of the call it happened in. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "core/plugin/hook/hook.h"

static int trace_file = -1;

static void expand(char *out, size_t n, const char *path)
{
    size_t at = 0;
    for (; *path && at + 24 < n; path++)
        if (path[0] == '%' && path[1] == 'p') {
            at += (size_t)snprintf(out + at, n - at, "%ld", (long)getpid());
            path++;
        } else {
            out[at++] = *path;
        }
    out[at] = 0;
}

static nd_status write_whole(const char *data, size_t n)
{
    while (n > 0) {
        ssize_t done = write(trace_file, data, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return nd__fail_errno(ND_ERR_IO, NULL, errno, "the trace cannot be written");
        data += done;
        n -= (size_t)done;
    }
    return ND_OK;
}

nd_status nd__hook_trace_open(void)
{
    const char *name = nd__getenv("NDOCK_HOOK_TRACE");
    char path[PATH_MAX], header[160];
    if (!name) {
        if (!nd__log_wants(ND_LOG_TRACE))
            nd__log(ND_LOG_WARN, "NDOCK_HOOK=trace writes to the log at level trace, which is not "
                                 "shown; NDOCK_HOOK_TRACE=FILE writes to a file");
        return ND_OK;
    }
    expand(path, sizeof path, name);
    trace_file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    if (trace_file < 0)
        return nd__fail_errno(ND_ERR_IO, NULL, errno, "NDOCK_HOOK_TRACE=%s", name);
    int n = snprintf(header, sizeof header,
                     "# ndock trace 1, plug-in ABI %d.%d, ndock %s\n"
                     "# time thread device function arguments = status results duration\n",
                     NDP_ABI_MAJOR, NDP_ABI_MINOR, nd_version());
    return write_whole(header, (size_t)n);
}

void nd__hook_trace(const hook_call *c)
{
    static atomic_bool complained;
    nd_text t = {0};
    nd__hook_trace_text(c, &t);
    if (trace_file < 0) {
        if (t.data)
            nd__log(ND_LOG_TRACE, "%s", t.data);
    } else {
        nd__text_puts(&t, "\n");
        if ((t.failed || write_whole(t.data, t.len) != ND_OK) &&
            !atomic_exchange(&complained, true))
            nd__log(ND_LOG_ERROR, "a line of the trace is missing: %s",
                    t.failed ? "no memory" : nd_last_error()->message);
    }
    free(t.data);
}
