/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The life of every operation that makes one array of others, in one order: check, promote, shape
 * (the operation's own `start`), then allocate, run, hand over (nd__into_new, nd__into).
 *
 * An operation embeds an nd_operation at the start of its own record:
 *
 *     nd_status nd_sort(a, opts, out)
 *     {
 *         sorting s;
 *         return nd__into_new(&s.of, sort_start(ND_OP_sort, a, opts, &s), out);
 *     }
 *
 * Whatever start returned, the two functions end the operation: they release what it owns and put
 * the stream of its options back. */
#ifndef NDOCK_CORE_PREPARE_H
#define NDOCK_CORE_PREPARE_H
#include "core/ops/ops.h"

#define ND_OPERANDS 5

typedef struct nd_operation nd_operation;
struct nd_operation {
    const nd_op_info *info;
    const char *name; /* for errors: info's, unless the function has another */
    /* Computes into dst, which has the result's shape, dtype and device, and shares no element with
     * an operand unless `elementwise` is set. */
    nd_status (*run)(const nd_operation *of, const nd_array *dst);
    nd_device *device; /* of the first operand */
    nd_dtype compute, result;
    nd_dtype
        stored; /* what the result is rounded to, where it has a dtype that nothing is computed in; else 0 */
    bool elementwise; /* an operand that is the same view as dst does no harm */
    bool updates;     /* run reads what is in dst */
    bool dense;       /* run takes a dst in C order alone */
    nd_scope scope;
    int ndim;                        /* of the result */
    int inner;                       /* its axis that is innermost in new memory; 0: the last one */
    const nd_array *in[ND_OPERANDS]; /* as the kernel takes them; NULL: none at that place */
    nd_array *owned[ND_OPERANDS];    /* casts and copies of operands; NULL: the caller's own */
    int64_t shape[ND_MAX_NDIM];      /* of the result */
};

/* An operation without operands; everything but shape is set. */
void nd__operation_begin(nd_operation *of, nd_op op,
                         nd_status (*run)(const nd_operation *of, const nd_array *dst));
/* a is the operand at that place, which is argument `place` of the function as well: not NULL, no
 * longer written to, and on the first operand's device. */
nd_status nd__operand(nd_operation *of, int place, const nd_array *a);
/* Another array takes the place of an operand; its caller's reference goes with it. */
void nd__operand_take(nd_operation *of, int place, nd_array *a);
/* The operand in that dtype. */
nd_status nd__operand_cast(nd_operation *of, int place, nd_dtype dtype);
/* A copy of an options struct of n bytes, all of which begin with their size. One of an older,
 * shorter version lacks what is zero here; one shorter than `least` bytes is refused. */
nd_status nd__read_options(const char *op, const void *opts, void *copy, size_t n, size_t least);
/* Compute and result dtype from what the operands have in common and what the options ask for (0:
 * nothing). */
nd_status nd__choose_dtypes(nd_operation *of, nd_dtype common, nd_dtype wanted);
/* The result's shape is this one. */
void nd__result_shape(nd_operation *of, int ndim, const int64_t *shape);

/* The two ends. status: what the operation's start returned. */
nd_status nd__into_new(nd_operation *of, nd_status status, nd_array **out);
/* dst is argument `place`. It may have any dtype that the result's may be written into, and may
 * overlap operands: then the result, or a copy of the operand, lies in memory of its own first. */
nd_status nd__into(nd_operation *of, nd_status status, const nd_array *dst, int32_t place);

#endif
