/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions inside: their nodes (expr.c), one run of one (run.c), which goes level by level. On a
 * level, nodes get their dtypes and shapes (type.c); those whose arrays are wanted are computed,
 * all of one shape in one stage: by a loop that the device compiled (lower.c, loops.c, stage.c), or
 * operation by operation (eager.c); then come the level's reductions. */
#ifndef NDOCK_CORE_FUSE_H
#define NDOCK_CORE_FUSE_H
#include "core/ops/ops.h"
#include <ndock/expr.h>

enum {
    ND_NODE_INPUT,
    ND_NODE_SCALAR,
    ND_NODE_APPLY,
    ND_NODE_CAST,
    ND_NODE_REDUCE,
    ND_NODE_PRODUCT
};

typedef struct {
    int32_t kind, n; /* ND_NODE_*, operands */
    nd_op op;
    nd_dtype dtype;   /* asked for, 0: by the rule */
    int32_t arg[3];   /* operands; of an input, its number */
    int32_t level;    /* how many nodes that are computed apart lie below it */
    int32_t keepdims; /* of a reduction, with: */
    int32_t naxes, *axes;
    double correction;
    nd_scalar scalar;
} nd_expr_node;

typedef struct nd_fuse_plan nd_fuse_plan;
struct nd_expr {
    atomic_int refs;
    atomic_bool used;
    nd_fuse_plan *plans; /* of earlier runs; under the lock of loops.c */
    int32_t n, room, n_in, n_out, n_levels;
    nd_expr_node *node;
    int32_t out[ND_EXPR_MAX_RESULTS];
};

/* Whether the node is computed by itself, from arrays to an array: reductions, products of matrices,
 * and operations that programs registered. */
static inline bool nd__node_is_apart(const nd_expr_node *n)
{
    return n->kind >= ND_NODE_REDUCE || (n->kind == ND_NODE_APPLY && n->op >= ND_OP_RUNTIME);
}

typedef struct {
    int ndim;
    int64_t size, dim[ND_MAX_NDIM];
} nd_fuse_shape;

/* What a node stands for in one run. */
typedef struct {
    nd_dtype dtype, compute; /* of the value; of its operands. A weak scalar has dtype 0 */
    int32_t shape;           /* its number in shapes */
    int32_t cost;            /* of computing an element */
    int32_t id;              /* in the program that is being made; -1: it has none yet */
    int32_t last;            /* the last level that reads its array */
    bool wanted;             /* as an array */
    bool needed;             /* by the stage that is being made */
    bool owned;              /* the array is the run's */
    const nd_array *array;   /* NULL: not computed yet */
    nd_scalar scalar;
} nd_fuse_value;

typedef struct {
    nd_expr *expr;
    const char *name; /* of the function, for errors */
    const nd_arg *args;
    nd_device *device;
    const nd_array *const *dst; /* NULL: new arrays */
    nd_fuse_value *value;
    nd_fuse_shape *shape;
    int32_t n_shapes;
    bool eager;
    bool epilogues;       /* products may take what follows them */
    bool dst_checked;     /* the shapes and dtypes of all destinations are right */
    nd_fuse_plan *record; /* what is being done; NULL: it is not recorded */
} nd_fusing;

#define ND_FUSE_MAX_INSTRUCTIONS 768

/* A program with its arrays, as a key of loops.c: what stands before `in` and is in use is compared.
 * Values are numbered from their kind's base until the program is whole. */
typedef struct {
    uint32_t flags, n_in, n_scalar, n_instruction, n_out, row_in;
    int32_t dtype[NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_SCALARS]; /* whole: as in ndp_program */
    int32_t out[NDP_PROGRAM_MAX_OUT];
    ndp_instruction instruction[ND_FUSE_MAX_INSTRUCTIONS];
    int32_t in[NDP_PROGRAM_MAX_IN];    /* nodes whose arrays are the inputs */
    int32_t root[NDP_PROGRAM_MAX_OUT]; /* nodes whose arrays are the results */
    ndp_scalar scalar[NDP_PROGRAM_MAX_SCALARS];
} nd_fuse_program;

/* ---- type.c ---- */
/* The number of a shape, which may be a new one. */
int32_t nd__fuse_shape_number(nd_fusing *run, int ndim, const int64_t *dim);
/* The dtypes and shapes of the level's nodes, but for those that are computed apart. */
nd_status nd__fuse_type(nd_fusing *run, int32_t level);
/* A node that has its array now, whose dtype and shape it takes. */
void nd__fuse_take(nd_fusing *run, int32_t node, const nd_array *array, bool owned);

/* ---- lower.c ---- */
/* The program that computes n nodes of one shape; *why: what is too much for it. Scalars are
 * rounded, which may be an error. */
nd_status nd__fuse_lower(nd_fusing *run, const int32_t *roots, int32_t n, nd_fuse_program *p,
                         const char **why);
/* Marks the nodes that computing these takes. */
void nd__fuse_need(nd_fusing *run, const int32_t *roots, int32_t n);

/* ---- rows.c ---- */
/* An expression whose reductions all reduce the same last axes, in one loop that has each row while
 * it is in cache; *done: it was one, and the device took it. */
nd_status nd__fuse_rows(nd_fusing *run, bool *done);

/* ---- loops.c ---- */
typedef struct nd_fuse_loop nd_fuse_loop;
/* The compiled loop of a program on the device, from the cache or by its plug-in; *kernel NULL: the
 * plug-in cannot, for the reason *why. Given back by nd__fuse_loop_release. */
nd_status nd__fuse_loop_get(nd_device *device, const nd_fuse_program *p, nd_fuse_loop **out,
                            const ndp_kernel **kernel, const char **why);
void nd__fuse_loop_retain(nd_fuse_loop *loop);
void nd__fuse_loop_release(nd_fuse_loop *loop);
/* The record of a loop stays for who holds it (NULL ok), though the loop itself may be discarded. */
void nd__fuse_loop_hold(nd_fuse_loop *loop);
void nd__fuse_loop_unhold(nd_fuse_loop *loop);
void nd__fuse_lock(void);
void nd__fuse_unlock(void);
/* Under the lock: whether the cache has it still; a reference more, as by nd__fuse_loop_get. */
bool nd__fuse_loop_cached(const nd_fuse_loop *loop);
void nd__fuse_loop_use(nd_fuse_loop *loop);
const ndp_kernel *nd__fuse_loop_kernel(const nd_fuse_loop *loop);
void nd__fuse_count_run(bool fused);
void nd__fork_fuse(nd_fork now);

/* ---- stage.c, eager.c ---- */
/* Computes the arrays of n nodes of one shape. */
nd_status nd__fuse_stage(nd_fusing *run, const int32_t *roots, int32_t n);
/* Runs a compiled loop; a graph that records the call keeps the code. */
nd_status nd__fuse_call(nd_device *d, nd_fuse_loop *loop, const ndp_kernel *kernel, ndp_call *call);
/* The same as a stage, operation by operation. */
nd_status nd__fuse_eager(nd_fusing *run, const int32_t *roots, int32_t n);
/* One node whose operands have their arrays. */
nd_status nd__fuse_apart(nd_fusing *run, int32_t node);
/* An array for a node's result: its destination, where it may be written now, else a new one. */
nd_status nd__fuse_result(nd_fusing *run, int32_t node, const nd_array **out, bool *owned);

/* ---- plan.c: runs remembered ---- */
/* The plan of an earlier run with such arguments, with its loops; NULL: there is none. */
nd_fuse_plan *nd__fuse_plan_find(nd_fusing *run);
/* Runs by the plan, and gives it back. false in *done: the device does not take the arguments so, and
 * the run has to be an ordinary one. */
nd_status nd__fuse_play(nd_fusing *run, nd_fuse_plan *plan, nd_array **out, bool *done);
void nd__fuse_plans_release(nd_expr *e);
/* What is done from begin to end is one; steps that none can have drop it. Nothing to do where it is
 * not recorded. */
void nd__fuse_record_begin(nd_fusing *run);
void nd__fuse_record_end(nd_fusing *run);
void nd__fuse_record_drop(nd_fusing *run);
void nd__fuse_record_loop(nd_fusing *run, const nd_fuse_program *p, nd_fuse_loop *loop,
                          const ndp_call *call, const nd_array *const *result);
void nd__fuse_record_apart(nd_fusing *run, int32_t node);
void nd__fuse_record_release(nd_fusing *run, int32_t node);

/* ---- product.c ---- */
/* A product of matrices whose operands have their arrays; with the run's epilogues also what follows
 * it, whose last node then has its array. */
nd_status nd__fuse_product(nd_fusing *run, int32_t node);

/* ---- run.c ---- */
/* Whether destinations, if all results up to the level are known, have their shapes and dtypes. */
nd_status nd__fuse_check_destinations(nd_fusing *run, int32_t level);
/* What the nodes are before anything is computed. */
void nd__fuse_take_arguments(nd_fusing *run);
/* The results as new references; the run's own ones end. */
nd_status nd__fuse_hand_results(const nd_fusing *run, nd_array **out);
void nd__fuse_release_values(nd_fusing *run);
/* The reason of this thread's run not to be one of loops alone; the first one stays. */
void nd__fuse_reason(const char *fmt, ...) ND_PRINTF(1, 2);

#endif
