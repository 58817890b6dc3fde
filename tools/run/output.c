/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Lines of several processes, each with its rank before it, whole; the latest of each are kept. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tools/run/run.h"

static void remember(run_process *p, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->tail[p->printed++ % RUN_TAIL] = text[i];
}

static void print_line(run_process *p, int rank, int width, int which, const char *text, size_t n)
{
    FILE *to = which ? stderr : stdout;
    fprintf(to, "[%*d] ", width, rank);
    fwrite(text, 1, n, to);
    fputc('\n', to);
    fflush(to);
    remember(p, text, n);
    remember(p, "\n", 1);
}

/* Whole lines of the buffer; all of it where it is full, or where its end has come. */
static void print_lines(run_process *p, int rank, int width, int which, int at_end)
{
    run_pipe *o = &p->out[which];
    size_t from = 0;
    for (;;) {
        const char *end = memchr(o->line + from, '\n', o->n - from);
        if (!end)
            break;
        const size_t n = (size_t)(end - o->line) - from;
        print_line(p, rank, width, which, o->line + from, n);
        from += n + 1;
    }
    if (from == 0 && o->n == sizeof o->line) { /* a line too long for a line */
        print_line(p, rank, width, which, o->line, o->n);
        from = o->n;
    }
    memmove(o->line, o->line + from, o->n - from);
    o->n -= from;
    if (at_end && o->n) {
        print_line(p, rank, width, which, o->line, o->n);
        o->n = 0;
    }
}

void run_take_output(run_process *p, int rank, int width, int which)
{
    run_pipe *o = &p->out[which];
    const ssize_t n = read(o->fd, o->line + o->n, sizeof o->line - o->n);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0)
        o->n += (size_t)n;
    print_lines(p, rank, width, which, n <= 0);
    if (n <= 0) {
        close(o->fd);
        o->fd = -1;
    }
}

void run_print_tail(const run_process *p, int rank)
{
    const size_t n = p->printed < RUN_TAIL ? p->printed : RUN_TAIL;
    size_t at = p->printed - n;
    while (n == RUN_TAIL && at < p->printed && p->tail[at++ % RUN_TAIL] != '\n')
        ; /* its first line may be cut */
    fprintf(stderr, "ndock run: the last lines of rank %d:\n", rank);
    for (; at < p->printed; at++)
        fputc(p->tail[at % RUN_TAIL], stderr);
}
