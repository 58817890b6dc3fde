/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From nodes of an expression to a program for a plug-in: instructions over values, each in one
 * dtype, conversions between them written out. */
#include "core/fuse/fuse.h"

/* Values until the program is whole, when it is known how many there are of each kind. */
enum { SCALARS = 1 << 16, INSTRUCTIONS = 1 << 17, TOO_MUCH = -2 };

void nd__fuse_need(nd_fusing *run, const int32_t *roots, int32_t n)
{
    int32_t highest = -1;
    for (int32_t i = 0; i < run->expr->n; i++)
        run->value[i].needed = false;
    for (int32_t i = 0; i < n; i++) {
        run->value[roots[i]].needed = true;
        highest = roots[i] > highest ? roots[i] : highest;
    }
    for (int32_t i = highest; i >= 0; i--)
        if (run->value[i].needed && !run->value[i].array)
            for (int32_t k = 0; k < run->expr->node[i].n; k++)
                run->value[run->expr->node[i].arg[k]].needed = true;
}

/* ---- values ---- */
static int32_t input_of(const nd_fusing *run, int32_t node, nd_fuse_program *p)
{
    for (uint32_t i = 0; i < p->n_in; i++)
        if (run->value[p->in[i]].array == run->value[node].array)
            return (int32_t)i;
    if (p->n_in == NDP_PROGRAM_MAX_IN)
        return TOO_MUCH;
    p->in[p->n_in] = node;
    return (int32_t)p->n_in++;
}

static int32_t scalar_of(const ndp_scalar *s, nd_fuse_program *p)
{
    for (uint32_t i = 0; i < p->n_scalar; i++)
        if (memcmp(&p->scalar[i], s, sizeof *s) == 0)
            return SCALARS + (int32_t)i;
    if (p->n_scalar == NDP_PROGRAM_MAX_SCALARS)
        return TOO_MUCH;
    p->scalar[p->n_scalar] = *s;
    return SCALARS + (int32_t)p->n_scalar++;
}

/* The same instruction is not made twice. */
static int32_t instruction_of(const ndp_instruction *k, nd_fuse_program *p)
{
    for (uint32_t i = 0; i < p->n_instruction; i++)
        if (memcmp(&p->instruction[i], k, sizeof *k) == 0)
            return INSTRUCTIONS + (int32_t)i;
    if (p->n_instruction == ND_FUSE_MAX_INSTRUCTIONS)
        return TOO_MUCH;
    p->instruction[p->n_instruction] = *k;
    return INSTRUCTIONS + (int32_t)p->n_instruction++;
}

static int32_t converted(int32_t value, nd_dtype from, nd_dtype to, nd_fuse_program *p)
{
    if (from == to || value < 0)
        return value;
    return instruction_of(
        &(ndp_instruction){.op = NDP_OP_copy, .dtype = to, .compute = from, .arg = {value, -1, -1}},
        p);
}

/* Operand i of a node, in the dtype that it is computed in. */
static nd_status operand(const nd_fusing *run, const char *name, int32_t node, int32_t i,
                         nd_dtype wanted, nd_fuse_program *p, int32_t *out)
{
    const nd_fuse_value *v = &run->value[node];
    ndp_scalar s;
    if (v->dtype) {
        *out = converted(v->id, v->dtype, wanted, p);
        return ND_OK;
    }
    ND_RETURN_IF(nd__scalar_to(name, v->scalar, wanted, i, &s));
    *out = scalar_of(&s, p);
    return ND_OK;
}

/* What is computed in f32 for a stored dtype is rounded to it afterwards. */
static nd_status lower_apply(const nd_fusing *run, const nd_expr_node *n, const nd_fuse_value *v,
                             nd_fuse_program *p, int32_t *out)
{
    const bool rounds = nd__kind(v->dtype) & ND__KINDS_STORED && v->compute == ND_F32;
    ndp_instruction k = {.op = n->op,
                         .dtype = rounds ? ND_F32 : v->dtype,
                         .compute = v->compute,
                         .arg = {-1, -1, -1}};
    for (int32_t i = 0; i < n->n; i++) {
        nd_dtype wanted = n->op == ND_OP_where && i == 0 ? ND_BOOL : v->compute;
        ND_RETURN_IF(operand(run, nd__ops[n->op].name, n->arg[i], i, wanted, p, &k.arg[i]));
        if (k.arg[i] == TOO_MUCH) {
            *out = TOO_MUCH;
            return ND_OK;
        }
    }
    *out = converted(instruction_of(&k, p), k.dtype, v->dtype, p);
    return ND_OK;
}

/* As nd_astype: a bool's bytes become 0 and 1. */
static int32_t lower_cast(const nd_fusing *run, const nd_expr_node *n, const nd_fuse_value *v,
                          nd_fuse_program *p)
{
    int32_t from = run->value[n->arg[0]].id;
    if (v->dtype != ND_BOOL || v->compute != ND_BOOL)
        return converted(from, v->compute, v->dtype, p);
    int32_t zero = scalar_of(&(ndp_scalar){.dtype = ND_BOOL}, p);
    if (zero < 0 || from < 0)
        return TOO_MUCH;
    return instruction_of(
        &(ndp_instruction){
            .op = NDP_OP_not_equal, .dtype = ND_BOOL, .compute = ND_BOOL, .arg = {from, zero, -1}},
        p);
}

/* Of a loop over rows. */
static int32_t lower_reduce(const nd_fusing *run, const nd_expr_node *n, const nd_fuse_value *v,
                            nd_fuse_program *p)
{
    ndp_instruction k = {.op = n->op,
                         .dtype = v->dtype,
                         .compute = v->compute,
                         .arg = {run->value[n->arg[0]].id, -1, -1}};
    if (n->op == ND_OP_var || n->op == ND_OP_std)
        k.arg[1] = scalar_of(&(ndp_scalar){.dtype = ND_F64, .v.f = n->correction}, p);
    return k.arg[0] < 0 || k.arg[1] == TOO_MUCH ? TOO_MUCH : instruction_of(&k, p);
}

static nd_status lower_node(nd_fusing *run, int32_t node, nd_fuse_program *p)
{
    const nd_expr_node *n = &run->expr->node[node];
    nd_fuse_value *v = &run->value[node];
    if (v->array)
        v->id = input_of(run, node, p);
    else if (n->kind == ND_NODE_CAST)
        v->id = lower_cast(run, n, v, p);
    else if (n->kind == ND_NODE_REDUCE)
        v->id = lower_reduce(run, n, v, p);
    else if (n->kind == ND_NODE_APPLY)
        return lower_apply(run, n, v, p, &v->id);
    return ND_OK;
}

/* ---- the whole ---- */
static int32_t numbered(int32_t value, const nd_fuse_program *p)
{
    if (value >= INSTRUCTIONS)
        return value - INSTRUCTIONS + (int32_t)(p->n_in + p->n_scalar);
    return value >= SCALARS ? value - SCALARS + (int32_t)p->n_in : value;
}

static void number_values(const nd_fusing *run, nd_fuse_program *p)
{
    for (uint32_t i = 0; i < p->n_in; i++)
        p->dtype[i] = run->value[p->in[i]].dtype;
    for (uint32_t i = 0; i < p->n_scalar; i++)
        p->dtype[p->n_in + i] = p->scalar[i].dtype;
    for (uint32_t i = 0; i < p->n_instruction; i++)
        for (int k = 0; k < 3; k++)
            p->instruction[i].arg[k] = numbered(p->instruction[i].arg[k], p);
    for (uint32_t i = 0; i < p->n_out; i++)
        p->out[i] = numbered(run->value[p->root[i]].id, p);
}

nd_status nd__fuse_lower(nd_fusing *run, const int32_t *roots, int32_t n, nd_fuse_program *p,
                         const char **why)
{
    *why = NULL;
    p->flags = p->n_in = p->n_scalar = p->n_instruction = p->n_out = p->row_in = 0;
    nd__fuse_need(run, roots, n);
    for (int32_t i = 0; i < run->expr->n; i++) {
        if (!run->value[i].needed)
            continue;
        ND_RETURN_IF(lower_node(run, i, p));
        if (run->value[i].dtype && run->value[i].id < 0) {
            *why = "more than 16 arrays, 64 scalars or 768 instructions are in one loop";
            return ND_OK;
        }
    }
    for (int32_t i = 0; i < n; i++)
        p->root[p->n_out++] = roots[i];
    number_values(run, p);
    return ND_OK;
}
