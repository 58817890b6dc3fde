/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock run`: the processes that it started, and what they print. */
#ifndef NDOCK_TOOLS_RUN_H
#define NDOCK_TOOLS_RUN_H
#include <stddef.h>
#include <sys/types.h>

enum { RUN_MOST = 256, RUN_LINE = 4096, RUN_TAIL = 8192 };
/* One of a process's two outputs. */
typedef struct {
    int fd; /* -1: at its end */
    size_t n;
    char line[RUN_LINE]; /* what has no newline yet */
} run_pipe;
typedef struct {
    pid_t pid; /* 0: it has ended */
    int status;
    run_pipe out[2];     /* standard output, standard error */
    char tail[RUN_TAIL]; /* its latest lines, in turn */
    size_t printed;      /* bytes that went into tail */
} run_process;

/* ---- output.c ---- */
/* Prints what there is of the process's output, each line with its rank before it. */
void run_take_output(run_process *p, int rank, int width, int which);
/* The last lines, as they were printed, on standard error. */
void run_print_tail(const run_process *p, int rank);

#endif
