/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The functions that write into an array that is there: how each is called, by the table of
 * into_table.c. All of them are there: tests/conform/into.sh compares with the headers. */
#ifndef NDOCK_CONFORM_INTO_H
#define NDOCK_CONFORM_INTO_H
#include "tests/conform/grid.h"

enum { INTO_ROWS = 8, INTO_OPERANDS = 3 };

/* The dtype of an operand: the case's, or what the function asks for. COUNT: i64, of the result. */
typedef enum { INTO_VALUE, INTO_INDEX, INTO_MASK } into_role;

/* Extents of an operand; INTO_WIDE stands for the columns of the case, INTO_FLAT for all elements.
 */
enum { INTO_WIDE = -1, INTO_FLAT = -2 };
typedef struct {
    int ndim;
    int64_t shape[2];
    into_role role;
} into_form;

typedef void (*into_any)(void);
typedef struct into_entry into_entry;
typedef nd_status into_call(const into_entry *e, nd_array *const *in, nd_array *dst,
                            nd_array *count);
struct into_entry {
    const char *name; /* of the function, without nd_ */
    into_call *call;
    into_any fn; /* the function itself, where several have one form of call */
    nd_op op;    /* whose domain and result rule hold; ND_OP_copy: any dtype, of the case's */
    int n_in, axis, how;
    bool counts; /* has a second destination, a count */
    into_form in[INTO_OPERANDS], out;
};
extern const into_entry into_table[];
extern const int into_entries;
#endif
