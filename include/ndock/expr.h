/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions: several operations as one, in one pass over memory.
 *
 * An expression is a list of nodes: inputs, scalars, elementwise operations, casts, reductions and
 * products of matrices of earlier nodes. Some nodes are its results. Running it gives, bit for bit, what calling the
 * same operations one after the other gives: shapes broadcast, dtypes are promoted, each
 * intermediate is rounded to its dtype. What changes is the memory traffic: operations between two
 * reductions or products are one loop over memory, without intermediate arrays.
 *
 * Code for a loop is made once for each (operations, dtypes, which operands are dense, device), by
 * the device's plug-in (group ndp.fused/1 of plugin.h), and kept; values of scalars are no part of
 * that. Where a device cannot, the operations run one after the other, and a counter and a text
 * tell so (nd_expr_statistics, nd_expr_reason).
 *
 *     nd_expr *e;
 *     int32_t a, b, c, ab, sum, y;
 *     nd_expr_create(&e);
 *     nd_expr_input(e, &a); nd_expr_input(e, &b); nd_expr_input(e, &c);
 *     nd_expr_apply(e, ND_OP_multiply, (int32_t[]){a, b}, 2, 0, &ab);
 *     nd_expr_apply(e, ND_OP_add, (int32_t[]){ab, c}, 2, 0, &sum);
 *     nd_expr_apply(e, ND_OP_tanh, &sum, 1, 0, &y);
 *     nd_expr_output(e, y);
 *     nd_expr_run(e, args, 3, NULL, 1, &out);
 *
 * Threads: one thread builds an expression. From its first run on it takes no more nodes, and any
 * number of threads may run it. */
#ifndef NDOCK_EXPR_H
#define NDOCK_EXPR_H
#include <ndock/base.h>
#include <ndock/op.h>
#include <ndock/reduce.h>

ND_BEGIN_DECLS

typedef struct nd_expr nd_expr; /* counted */
#define ND_EXPR_MAX_NODES 16384
#define ND_EXPR_MAX_RESULTS 512

/* A new expression without nodes; the caller's, given back by nd_expr_release. */
ND_API ND_MUST_USE nd_status nd_expr_create(nd_expr **out);
ND_API nd_expr *nd_expr_retain(nd_expr *expr);
ND_API void nd_expr_release(nd_expr *expr); /* NULL is fine */

/* Each appends a node, whose number *node receives, from 0. ND_ERR_STATE: the expression has run;
 * ND_ERR_INDEX: an operand is no earlier node; ND_ERR_ARGUMENT: too many nodes, an op that is not of
 * that class, another number of operands than it takes. */

/* The next of the arguments that nd_expr_run gets. */
ND_API ND_MUST_USE nd_status nd_expr_input(nd_expr *expr, int32_t *node);
/* A scalar, weak as those of nd_apply: it takes the dtype of what it meets. */
ND_API ND_MUST_USE nd_status nd_expr_scalar(nd_expr *expr, nd_scalar value, int32_t *node);
/* Any op of class UNARY, BINARY or TERNARY, or registered. dtype: computed in that dtype instead of
 * the promoted one, 0: by the op's rule. */
ND_API ND_MUST_USE nd_status nd_expr_apply(nd_expr *expr, nd_op op, const int32_t *operands, int n,
                                           nd_dtype dtype, int32_t *node);
/* As nd_astype. */
ND_API ND_MUST_USE nd_status nd_expr_cast(nd_expr *expr, int32_t operand, nd_dtype dtype,
                                          int32_t *node);
/* An op of class REDUCE or ARGREDUCE over any axes, as nd_sum and its like; opts (NULL: all axes)
 * is copied, its stream is not used. */
ND_API ND_MUST_USE nd_status nd_expr_reduce(nd_expr *expr, nd_op op, int32_t operand,
                                            const nd_reduce_opts *opts, int32_t *node);
/* A product of matrices, as nd_matmul without options of two nodes, no scalars. */
ND_API ND_MUST_USE nd_status nd_expr_matmul(nd_expr *expr, int32_t a, int32_t b, int32_t *node);
/* The node, not a scalar, is the next result. ND_ERR_ARGUMENT: more than ND_EXPR_MAX_RESULTS. */
ND_API ND_MUST_USE nd_status nd_expr_output(nd_expr *expr, int32_t node);

/* Flags. ND_EXPR_EAGER: the operations one after the other, for comparison. ND_EXPR_EPILOGUES: a
 * product of matrices takes with it what follows it and nothing else reads: the sum with a vector of
 * one element for each column, of the product's dtype, and relu, gelu, gelu_tanh, sigmoid, silu or
 * tanh of that, as nd_matmul's options do. Its result is then rounded once, not after each
 * operation: nearer to the exact one, but of other bits. */
enum { ND_EXPR_EAGER = 1, ND_EXPR_EPILOGUES = 2 };
typedef struct {
    uint32_t size; /* sizeof(nd_expr_opts) */
    nd_dtype zero; /* 0 */
    nd_stream *stream;
    uint32_t flags;
} nd_expr_opts;

/* Runs it on n_args arguments, one for each input, arrays of one device (a CPU array without
 * dimensions goes with any) or scalars, at least one an array. out receives n_out new arrays, one
 * for each result, dense, owned by the caller; all NULL on failure. Queued on the device's current
 * stream. Errors: those of the operations, which name the operation; MEMORY; ARGUMENT for another
 * number of arguments or results; a failed compile is no error, but a reason to run eagerly. */
ND_API ND_MUST_USE nd_status nd_expr_run(nd_expr *expr, const nd_arg *args, int n_args,
                                         const nd_expr_opts *opts, int n_out, nd_array **out);
/* The same into existing writable views of exactly the results' shapes, whose dtypes the results
 * are converted to; they may overlap arguments, but not each other. */
ND_API ND_MUST_USE nd_status nd_expr_run_into(nd_expr *expr, const nd_arg *args, int n_args,
                                              const nd_expr_opts *opts, int n_out,
                                              const nd_array *const *dst);

/* Why the thread's last nd_expr_run or nd_expr_run_into ran eagerly, or in part; "" if it did not.
 * Valid until the thread's next run. */
ND_API const char *nd_expr_reason(void);

/* What the process's cache of compiled loops did. */
typedef struct {
    uint32_t size;     /* sizeof(nd_expr_stats) */
    uint32_t programs; /* kept now */
    uint64_t hits, misses, evictions;
    uint64_t compiled, refused; /* misses that the plug-in compiled, that it could not */
    uint64_t compile_ns;        /* spent in compiling */
    uint64_t fused_runs;        /* loops run */
    uint64_t eager_runs;        /* runs of whole expressions that went eagerly */
} nd_expr_stats;
ND_API ND_MUST_USE nd_status nd_expr_statistics(nd_expr_stats *out);
/* The most loops that are kept, least recently used first to go; 256 at the start, at least 1. */
ND_API ND_MUST_USE nd_status nd_expr_cache_set_max(int64_t max);
/* Forgets all loops; waits for devices that still run some. Counters begin again. */
ND_API ND_MUST_USE nd_status nd_expr_cache_clear(void);

ND_END_DECLS
#endif
