/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every public function as a row: its name, the type and name of each argument, and a wrapper that
 * takes the arguments from an array of values. The table, nd_calls, is in calls.inc, which one file
 * of a test includes: prototypes.awk makes it from the headers when the tests are built, so a new
 * function is in it without being asked. */
#ifndef NDOCK_TESTS_CALLS_H
#define NDOCK_TESTS_CALLS_H
#include <ndock/comm.h>
#include <ndock/ndock.h>

enum { ND_CALL_MAX = 12 }; /* arguments of one function */

typedef union {
    void *p;         /* any pointer to data */
    void (*f)(void); /* any pointer to a function */
    int64_t i;       /* any integer */
    double d;
    nd_scalar s;
} nd_value;

typedef struct {
    const char *type, *name; /* "const nd_array *", "a" */
    char member;             /* of nd_value: 'p', 'f', 'i', 'd' or 's' */
} nd_call_argument;

typedef struct {
    const char *name, *result; /* "nd_add", "nd_status" */
    void (*call)(const nd_value *v, nd_value *result);
    int n;
    nd_call_argument argument[ND_CALL_MAX];
} nd_call;

#endif
