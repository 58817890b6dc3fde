/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * For programs that may print and end: examples, tools, experiments. The library does neither, so
 * this is all inline, and <ndock/ndock.h> does not include it. */
#ifndef NDOCK_CHECK_H
#define NDOCK_CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <ndock/ndock.h>

/* Ends the program with status 1 where a call fails, after a line that names the place, the call
 * and what was wrong: ND_CHECK(nd_add(a, b, &sum)); */
#define ND_CHECK(call) nd_check_status((call), #call, __FILE__, __LINE__)

static inline void nd_check_status(nd_status status, const char *call, const char *file, int line)
{
    const nd_error *e = nd_last_error();
    if (status == ND_OK)
        return;
    fflush(stdout);
    fprintf(stderr, "%s:%d: %s\n    %s: %s\n", file, line, call, nd_status_name(status),
            e->status == status && e->message[0] ? e->message : nd_status_text(status));
    exit(1);
}

/* Returns the status of a call that fails from the function around it. */
#define ND_TRY(call)                \
    do {                            \
        nd_status nd_try_ = (call); \
        if (nd_try_ != ND_OK)       \
            return nd_try_;         \
    } while (0)

/* Writes the array to the standard output as nd_format does with its defaults, and a newline. Waits
 * for the array's values. */
static inline nd_status nd_print(const nd_array *a)
{
    char *text = NULL;
    nd_status status = nd_format(a, NULL, &text);
    if (status != ND_OK)
        return status;
    puts(text);
    free(text);
    return ND_OK;
}

#endif
