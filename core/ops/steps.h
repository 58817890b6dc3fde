/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operations that are made of others: the steps in between, in a row. The first step that fails
 * stops those after it, so that a composition is written without a check a step:
 *
 *     nd_steps s = {ND_OK};
 *     nd_array *d = nd__step2(&s, ND_OP_subtract, a, b);
 *     nd_array *r = nd__step1(&s, ND_OP_abs, d);
 *     return nd__steps_end(&s, "distance", r, out);
 *
 * What a step makes belongs to the nd_steps until nd__steps_end, which releases everything. */
#ifndef NDOCK_CORE_STEPS_H
#define NDOCK_CORE_STEPS_H
#include "core/ops/prepare.h"

#define ND_STEPS 80

typedef struct {
    nd_status status; /* of the first step that failed */
    int n;
    nd_scope scope;
    nd_array *made[ND_STEPS];
} nd_steps;

/* x becomes what the call makes in &x, which reads another variable; NULL where a step has
 * failed. The call makes no step itself: that one could fail, and the call would run with what is
 * not there (tests/unit/symbols.sh looks). */
#define ND_STEP(s, x, call)           \
    do {                              \
        (x) = NULL;                   \
        if ((s)->status == ND_OK) {   \
            (s)->status = (call);     \
            nd__steps_keep((s), (x)); \
        }                             \
    } while (0)
/* A step that makes no array. */
#define ND_STEP_DO(s, call)       \
    do {                          \
        if ((s)->status == ND_OK) \
            (s)->status = (call); \
    } while (0)

/* An operation on a, argument 0, begins, on the stream of its options (NULL, or any options
 * struct). Where that fails there is nothing to end. */
nd_status nd__steps_begin(nd_steps *s, const char *op, const nd_array *a, const void *opts);
/* a (NULL is fine) belongs to the steps from now on. */
void nd__steps_keep(nd_steps *s, nd_array *a);
/* Puts the stream back and releases all but result, which becomes *out (NULL: nobody wants a
 * result). An error is op's. */
nd_status nd__steps_end(nd_steps *s, const char *op, nd_array *result, nd_array **out);

/* Elementwise operations of one, two or three operands. A NULL array, which is what a failed step
 * has made, is never reached. */
nd_array *nd__step1(nd_steps *s, nd_op op, const nd_array *a);
nd_array *nd__step2(nd_steps *s, nd_op op, const nd_array *a, const nd_array *b);
nd_array *nd__step3(nd_steps *s, nd_op op, const nd_array *a, const nd_array *b, const nd_array *c);
nd_array *nd__step_scalar(nd_steps *s, nd_op op, const nd_array *a, nd_scalar b);
nd_array *nd__step_from_scalar(nd_steps *s, nd_op op, nd_scalar a, const nd_array *b);
nd_array *nd__step_where(nd_steps *s, const nd_array *mask, nd_arg yes, nd_arg no);
/* A dense array of its own. */
nd_array *nd__step_copy(nd_steps *s, const nd_array *a);
/* a itself where it has the dtype, shape or place already. */
nd_array *nd__step_cast(nd_steps *s, const nd_array *a, nd_dtype dtype);
nd_array *nd__step_reshape(nd_steps *s, const nd_array *a, int ndim, const int64_t *shape);
nd_array *nd__step_flat(nd_steps *s, const nd_array *a);
nd_array *nd__step_moveaxis(nd_steps *s, const nd_array *a, int from, int to);
/* A view of the positions start to stop (ND_END_OPEN: the end), step apart, of one axis; of one
 * position, whose axis stays with extent one. */
nd_array *nd__step_part(nd_steps *s, const nd_array *a, int axis, int64_t start, int64_t stop,
                        int64_t step);
nd_array *nd__step_at(nd_steps *s, const nd_array *a, int axis, int64_t at);
/* A reduction over one axis, which stays with extent one where keepdims is set. */
nd_array *nd__step_reduce(nd_steps *s,
                          nd_status (*f)(const nd_array *, const nd_reduce_opts *, nd_array **),
                          const nd_array *a, int axis, bool keepdims);
/* start, start + 1, ... before stop, i64, on a's device. */
nd_array *nd__step_range(nd_steps *s, const nd_array *a, int64_t start, int64_t stop);
/* The value of an array of one element, for which the host waits; of a bool array, whether all of
 * it is true. 0 where a step has failed. */
double nd__step_value(nd_steps *s, const nd_array *a);
int64_t nd__step_int(nd_steps *s, const nd_array *a);
uint64_t nd__step_unsigned(nd_steps *s, const nd_array *a); /* of an unsigned integer */
bool nd__step_all(nd_steps *s, const nd_array *a);

/* ---- checks that compositions share ---- */
/* a is no NULL, and floating, an integer or bool. */
nd_status nd__check_real(const char *op, const nd_array *a, int32_t argument);
/* The floating dtype to compute in: a's own, f64 for bool and integers. */
nd_dtype nd__floating_of(nd_dtype dtype);

#endif
