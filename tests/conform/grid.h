/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expected results as dense host arrays, built by plain index loops, and the comparison with what
 * came. */
#ifndef NDOCK_CONFORM_GRID_H
#define NDOCK_CONFORM_GRID_H
#include "tests/conform/conform.h"

int64_t shape_size(int ndim, const int64_t *shape);
/* Position in C order to index and back. */
void unravel(int ndim, const int64_t *shape, int64_t position, int64_t *index);
int64_t ravel(int ndim, const int64_t *shape, const int64_t *index);

typedef struct {
    nd_dtype dtype;
    int ndim;
    int64_t shape[ND_MAX_NDIM], size;
    char *data; /* C order */
} dense;
/* All bytes zero. */
dense dense_new(nd_dtype dtype, int ndim, const int64_t *shape);
dense dense_of(const mirror *m);
dense dense_copy(const dense *d);
/* Of random elements, for arrays that need no odd strides. */
dense dense_random(nd_dtype dtype, int ndim, const int64_t *shape, bool tame);
void dense_release(dense *d);
char *dense_at(const dense *d, int64_t position);
cell dense_cell(const dense *d, int64_t position);
/* Element from of src to position at; both of one dtype. */
void dense_put(dense *d, int64_t at, const dense *src, int64_t from);
/* An integer into an element of an integer dtype. */
void dense_set(dense *d, int64_t at, int64_t value);
/* A new array on the device; NULL after fail_case. */
nd_array *dense_array(const dense *d);
/* The array has this dtype, shape and bits; else fail_case, which says what and where. */
bool dense_is(const dense *want, const nd_array *got, const char *what);
/* As cell_close has it. */
bool dense_near(const dense *want, const nd_array *got, double ulp, bool zeros, const char *what);
/* The mirror's view, in host and device memory, becomes these values. It must be writable. */
bool mirror_set(mirror *m, const dense *values);
/* A writable random view with these values; false after fail_case. */
bool mirror_of(mirror *m, const dense *values);

/* cell rounded to an element of dtype: ties to even, overflow to infinity; integers wrap. */
void cell_write(nd_dtype dtype, cell c, void *element);
/* The value of an integer or bool cell in a dtype of its kind or a wider one. */
cell cell_widened(nd_dtype dtype, cell c);

/* The i-th (cyclically) of the dtypes legal for op. */
nd_dtype legal_dtype(nd_op op, int i);
/* run.count cases of an operation, and its line. */
void run_cases(const char *name, void (*one)(int i));
/* The call failed with this status; a device that queues may say so at the next synchronisation. */
bool fails(nd_status got, nd_status want, const char *what);
/* The latest error's message has this number as a word of its own. */
bool error_names(int64_t number);
/* axis, or the same counted from the end. */
int either_sign(int axis, int ndim);
#endif
