/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What programs share: the end after a call that failed, arrays that are released together, time, and
 * numbers of the command line. */
#ifndef PROGRAM_H
#define PROGRAM_H
#include <math.h>
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef PROGRAM
#error "PROGRAM is the includer's name, with which its messages begin"
#endif

static inline void fail(void)
{
    fprintf(stderr, PROGRAM ": %s\n", nd_last_error()->message);
    exit(1);
}
#define CHECK(call) ((call) == ND_OK ? (void)0 : fail())

typedef struct {
    nd_array **all;
    size_t n, room;
} array_list;

static inline nd_array *join(array_list *list, nd_array *a)
{
    if (list->n == list->room) {
        list->room = 2 * list->room + 64;
        list->all = realloc(list->all, list->room * sizeof *list->all);
        if (!list->all) {
            fputs(PROGRAM ": out of memory\n", stderr);
            exit(1);
        }
    }
    return list->all[list->n++] = a;
}

static inline void release_all(array_list *list)
{
    while (list->n > 0)
        nd_release(list->all[--list->n]);
}

/* Arrays that live until the end of main, and those of one step; memory of the latter goes to the
 * device's cache, from where the next step has it. */
static array_list kept, held;

static inline nd_array *keep(nd_array *a)
{
    return join(&kept, a);
}

static inline nd_array *hold(nd_array *a)
{
    return join(&held, a);
}

/* The end of a step. */
static inline void release_held(void)
{
    release_all(&held);
}

/* The end of main. */
static inline void release_kept(void)
{
    release_all(&kept);
    free(kept.all);
    free(held.all);
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void bad_option(const char *name, const char *problem)
{
    fprintf(stderr, PROGRAM ": %s%sTry '" PROGRAM " --help'.\n", name, problem);
    exit(2);
}

static inline double number(const char *name, const char *text, double low, int whole)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= low && value <= 1e9) || (whole && value != floor(value)))
        bad_option(name, ": not a number in range. ");
    return value;
}

#endif
