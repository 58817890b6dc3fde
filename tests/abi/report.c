/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a check says to the program that runs it: lines over a pipe, each begun by its kind. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi.h"

static int report_fd = -1;

void abi_report_to(int fd)
{
    report_fd = fd;
}

/* One line, in one write, so that lines of several threads and processes do not mix. */
static void say(char kind, const char *fmt, va_list ap)
{
    char line[1024];
    int n = snprintf(line, sizeof line, "%c", kind);
    n += vsnprintf(line + n, sizeof line - 1 - (size_t)n, fmt, ap);
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    for (int i = 1; i < n; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[n] = '\n';
    for (int done = 0; done < n + 1;) {
        ssize_t k = write(report_fd, line + done, (size_t)(n + 1 - done));
        if (k > 0)
            done += (int)k;
    }
}

void abi_fail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say('F', fmt, ap);
    va_end(ap);
}

void abi_diag(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say('D', fmt, ap);
    va_end(ap);
}

static void say_end(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say('E', fmt, ap);
    va_end(ap);
}

void abi_end(void)
{
    say_end("%s", "");
    _exit(0);
}

void abi_skip(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say('S', fmt, ap);
    va_end(ap);
    abi_end();
}

bool abi_expect(bool ok, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!ok)
        say('F', fmt, ap);
    va_end(ap);
    return ok;
}

void abi_need(bool ok, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!ok)
        say('F', fmt, ap);
    va_end(ap);
    if (!ok)
        abi_end();
}

void abi_call(int32_t status, const char *what)
{
    abi_need(status == NDP_OK, "%s answers %d: %s", what, (int)status,
             abi_error_text()[0] ? abi_error_text() : "no text given to host->error");
}

void abi_refused(int32_t status, int32_t wanted, const char *what)
{
    if (!abi_expect(status != NDP_OK, "%s is accepted, and should be refused", what))
        return;
    abi_expect(wanted == 0 || status == wanted, "%s answers status %d, and should answer %d", what,
               (int)status, (int)wanted);
    abi_expect(abi_error_text()[0] != 0, "%s is refused without a text through host->error", what);
    abi_error_clear();
}
