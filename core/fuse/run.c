/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One run of an expression: level by level, on each level stages by shape, then what is computed
 * apart. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/fuse/fuse.h"

enum { REASON_SIZE = 512 };

/* Where memory is short there is no reason to be told. */
void nd__fuse_reason(const char *fmt, ...)
{
    nd_thread *t = nd__thread();
    va_list args;
    if (!t || (t->expr_reason && t->expr_reason[0]))
        return;
    if (!t->expr_reason && (t->expr_reason = malloc(REASON_SIZE)) == NULL)
        return;
    va_start(args, fmt);
    vsnprintf(t->expr_reason, REASON_SIZE, fmt, args);
    va_end(args);
}

static void forget_reason(void)
{
    if (nd__self && nd__self->expr_reason)
        nd__self->expr_reason[0] = 0;
}

const char *nd_expr_reason(void)
{
    return nd__self && nd__self->expr_reason ? nd__self->expr_reason : "";
}

/* ---- arguments ---- */
/* One number in the host's memory goes with arrays of any device. */
static bool is_host_number(const nd_array *a)
{
    return a->ndim == 0 && a->storage->device->host_visible;
}

static nd_status choose_device(nd_fusing *run)
{
    const nd_array *first = NULL, *number = NULL;
    for (int32_t i = 0; i < run->expr->n_in; i++) {
        const nd_array *a = run->args[i].array;
        if (!a)
            continue;
        ND_RETURN_IF(nd__check_array(run->name, a, 1));
        if (is_host_number(a))
            number = number ? number : a;
        else
            first = first ? first : a;
    }
    first = first ? first : number;
    if (!first)
        return nd__fail(ND_ERR_ARGUMENT, run->name, 1,
                        "every argument is a scalar; at least one must be an array");
    run->device = first->storage->device;
    return ND_OK;
}

/* Devices that differ are left to the operations, which take numbers of the host and refuse the
 * rest. */
void nd__fuse_take_arguments(nd_fusing *run)
{
    run->n_shapes = 0;
    for (int32_t i = 0; i < run->expr->n; i++) {
        const nd_expr_node *n = &run->expr->node[i];
        const nd_arg *arg = n->kind == ND_NODE_INPUT ? &run->args[n->arg[0]] : NULL;
        run->value[i] = (nd_fuse_value){.id = -1, .last = -1};
        if (arg && arg->array)
            nd__fuse_take(run, i, arg->array, false);
        else if (arg)
            run->value[i].scalar = arg->scalar;
        if (arg && arg->array && arg->array->storage->device != run->device) {
            run->eager = true;
            nd__fuse_reason("the arguments are on %s and %s", run->device->name,
                            arg->array->storage->device->name);
        }
    }
}

static void want(nd_fusing *run, int32_t node, int32_t level)
{
    nd_fuse_value *v = &run->value[node];
    v->wanted = true;
    v->last = level > v->last ? level : v->last;
}

/* Which nodes are wanted as arrays, and until when. */
static void want_arrays(nd_fusing *run)
{
    const nd_expr *e = run->expr;
    for (int32_t i = 0; i < e->n; i++)
        for (int32_t k = 0; k < e->node[i].n; k++) {
            const int32_t from = e->node[i].arg[k];
            if (nd__node_is_apart(&e->node[i]) && e->node[from].kind != ND_NODE_SCALAR)
                want(run, from, e->node[i].level);
        }
    for (int32_t i = 0; i < e->n_out; i++)
        want(run, e->out[i], e->n_levels);
}

/* Arrays of the run are kept until the last level that could read them: through nodes that are
 * computed again. */
static void extend_uses(nd_fusing *run)
{
    const nd_expr *e = run->expr;
    for (int32_t i = e->n - 1; i >= 0; i--)
        for (int32_t k = 0; k < e->node[i].n; k++) {
            nd_fuse_value *from = &run->value[e->node[i].arg[k]];
            int32_t last =
                run->value[i].last > e->node[i].level ? run->value[i].last : e->node[i].level;
            from->last = last > from->last ? last : from->last;
        }
}

/* ---- levels ---- */
nd_status nd__fuse_check_destinations(nd_fusing *run, int32_t level)
{
    const nd_expr *e = run->expr;
    if (!run->dst || run->dst_checked)
        return ND_OK;
    for (int32_t i = 0; i < e->n_out; i++)
        if (e->node[e->out[i]].level > level)
            return ND_OK;
    for (int32_t i = 0; i < e->n_out; i++) {
        const nd_fuse_value *v = &run->value[e->out[i]];
        const nd_fuse_shape *s = &run->shape[v->shape];
        if (!v->dtype)
            return ND_OK; /* a scalar argument: refused with the results */
        if (run->dst[i]->storage->device != run->device)
            return nd__fail(ND_ERR_DEVICE, run->name, 5,
                            "the arguments are on %s, destination %d on %s; move one with "
                            "nd_to_device",
                            run->device->name, (int)i, run->dst[i]->storage->device->name);
        ND_RETURN_IF(nd__check_dst_shape(run->name, run->dst[i], s->ndim, s->dim, 5));
        ND_RETURN_IF(nd__check_castable(run->name, v->dtype, run->dst[i]->dtype));
    }
    run->dst_checked = true;
    return ND_OK;
}

/* The level's next stage: wanted nodes of the smallest shape, since larger ones may broadcast it. */
static int32_t next_stage(const nd_fusing *run, int32_t level, int32_t *roots)
{
    const nd_expr *e = run->expr;
    int32_t n = 0, shape = -1;
    for (int32_t i = 0; i < e->n; i++) {
        const nd_fuse_value *v = &run->value[i];
        if (!v->wanted || v->array || !v->dtype || e->node[i].level != level ||
            nd__node_is_apart(&e->node[i]))
            continue;
        if (shape >= 0 && run->shape[v->shape].size < run->shape[shape].size)
            n = 0;
        else if (n && v->shape != shape)
            continue;
        shape = v->shape;
        if (n < NDP_PROGRAM_MAX_OUT)
            roots[n++] = i;
    }
    return n;
}

static nd_status run_stages(nd_fusing *run, int32_t level)
{
    int32_t roots[NDP_PROGRAM_MAX_OUT], n;
    while ((n = next_stage(run, level, roots)) > 0)
        ND_RETURN_IF(nd__fuse_stage(run, roots, n));
    return ND_OK;
}

static nd_status run_apart(nd_fusing *run, int32_t level)
{
    for (int32_t i = 0; i < run->expr->n; i++)
        if (run->expr->node[i].level == level && nd__node_is_apart(&run->expr->node[i])) {
            ND_RETURN_IF(nd__fuse_apart(run, i));
            nd__fuse_record_apart(run, i);
        }
    return ND_OK;
}

static void release_arrays(nd_fusing *run, int32_t level)
{
    for (int32_t i = 0; i < run->expr->n; i++) {
        nd_fuse_value *v = &run->value[i];
        if (!v->owned || v->last > level)
            continue;
        nd_release((nd_array *)v->array);
        v->array = NULL;
        v->owned = false;
        v->wanted = false;
        nd__fuse_record_release(run, i);
    }
}

static nd_status run_levels(nd_fusing *run)
{
    bool done = false;
    ND_RETURN_IF(nd__fuse_rows(run, &done));
    if (done)
        return ND_OK;
    want_arrays(run);
    extend_uses(run);
    for (int32_t level = 0; level < run->expr->n_levels; level++) {
        ND_RETURN_IF(run_apart(run, level));
        ND_RETURN_IF(nd__fuse_type(run, level));
        ND_RETURN_IF(nd__fuse_check_destinations(run, level));
        ND_RETURN_IF(run_stages(run, level));
        release_arrays(run, level);
    }
    return ND_OK;
}

/* ---- results ---- */
static nd_status check_result(const nd_fusing *run, int32_t i)
{
    if (run->value[run->expr->out[i]].dtype)
        return ND_OK;
    return nd__fail(ND_ERR_ARGUMENT, run->name, 1, "result %d is a scalar argument, not an array",
                    (int)i);
}

/* A node that is a result twice is one array; an argument is copied. */
nd_status nd__fuse_hand_results(const nd_fusing *run, nd_array **out)
{
    for (int32_t i = 0; i < run->expr->n_out; i++) {
        const nd_fuse_value *v = &run->value[run->expr->out[i]];
        ND_RETURN_IF(check_result(run, i));
        if (v->owned)
            out[i] = nd_retain((nd_array *)v->array);
        else
            ND_RETURN_IF(nd_copy(v->array, NULL, &out[i]));
    }
    return ND_OK;
}

/* An argument that is a result could be changed by writing the results before it. */
static nd_status copy_argument(const nd_fusing *run, nd_fuse_value *v, const nd_array *dst)
{
    nd_array *copy = NULL;
    if (v->owned || v->array == dst || run->expr->n_out == 1)
        return ND_OK;
    ND_RETURN_IF(nd_copy(v->array, NULL, &copy));
    v->array = copy;
    v->owned = true;
    return ND_OK;
}

static nd_status write_results(nd_fusing *run)
{
    for (int32_t i = 0; i < run->expr->n_out; i++) {
        ND_RETURN_IF(check_result(run, i));
        ND_RETURN_IF(copy_argument(run, &run->value[run->expr->out[i]], run->dst[i]));
    }
    for (int32_t i = 0; i < run->expr->n_out; i++) {
        const nd_array *a = run->value[run->expr->out[i]].array;
        if (a != run->dst[i])
            ND_RETURN_IF(nd_assign(a, run->dst[i]));
    }
    return ND_OK;
}

/* ---- the whole ---- */
static nd_status read_options(const char *op, const nd_expr_opts *opts, nd_expr_opts *copy)
{
    memset(copy, 0, sizeof *copy);
    if (opts && opts->size < NDP_END(nd_expr_opts, stream))
        return nd__fail(ND_ERR_ARGUMENT, op, 3, "the options' size field is %u; set it to sizeof",
                        opts->size);
    if (opts)
        memcpy(copy, opts, opts->size < sizeof *copy ? opts->size : sizeof *copy);
    return ND_OK;
}

static nd_status check_counts(const char *op, const nd_expr *e, int n_args, int n_out)
{
    if (n_args != e->n_in)
        return nd__fail(ND_ERR_ARGUMENT, op, 2, "%d arguments given, the expression has %d inputs",
                        n_args, (int)e->n_in);
    if (n_out != e->n_out || n_out == 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 4, "%d results asked for, the expression has %d",
                        n_out, (int)e->n_out);
    return ND_OK;
}

void nd__fuse_release_values(nd_fusing *run)
{
    for (int32_t i = 0; i < run->expr->n; i++)
        if (run->value[i].owned)
            nd_release((nd_array *)run->value[i].array);
}

/* Without a plan; what it does is made one. */
static nd_status run_anew(nd_fusing *run, nd_array **out)
{
    const nd_expr *e = run->expr;
    run->value = malloc((size_t)e->n * (sizeof *run->value + sizeof *run->shape));
    nd_status status = run->value ? (nd_status)ND_OK
                                  : nd__fail(ND_ERR_MEMORY, run->name, -1,
                                             "no memory for the values of %d nodes", (int)e->n);
    if (status == ND_OK) {
        run->shape = (nd_fuse_shape *)(void *)(run->value + e->n);
        nd__fuse_take_arguments(run);
        nd__fuse_record_begin(run);
        status = run_levels(run);
        if (status == ND_OK)
            status = out ? nd__fuse_hand_results(run, out) : write_results(run);
        nd__fuse_release_values(run);
        if (status == ND_OK)
            nd__fuse_record_end(run);
        else
            nd__fuse_record_drop(run);
    }
    free(run->value);
    return status;
}

static nd_status run_with(nd_fusing *run, const nd_expr_opts *o, nd_array **out)
{
    nd_scope scope;
    ND_RETURN_IF(choose_device(run));
    ND_RETURN_IF(nd__scope_enter(run->name, run->device, o->stream, &scope));
    nd_fuse_plan *plan = nd__fuse_plan_find(run);
    bool done = false;
    nd_status status = plan ? nd__fuse_play(run, plan, out, &done) : (nd_status)ND_OK;
    if (status == ND_OK && !done)
        status = run_anew(run, out);
    nd__scope_leave(&scope);
    if (run->eager)
        nd__fuse_count_run(false);
    return status;
}

static nd_status start(const char *name, nd_expr *e, const nd_arg *args, int n_args,
                       const nd_expr_opts *opts, int n_out, nd_expr_opts *o)
{
    forget_reason();
    ND_NEED_LIST(name, 1, n_args, args);
    ND_RETURN_IF(read_options(name, opts, o));
    ND_RETURN_IF(check_counts(name, e, n_args, n_out));
    atomic_store(&e->used, true);
    if (o->flags & ND_EXPR_EAGER)
        nd__fuse_reason("the caller asked for it (ND_EXPR_EAGER)");
    return ND_OK;
}

nd_status nd_expr_run(nd_expr *expr, const nd_arg *args, int n_args, const nd_expr_opts *opts,
                      int n_out, nd_array **out)
{
    static const char name[] = "expr_run";
    nd_expr_opts o;
    ND_NEED(name, 0, expr);
    ND_NEED_LIST(name, 5, n_out, out);
    for (int i = 0; i < n_out; i++)
        out[i] = NULL;
    ND_RETURN_IF(start(name, expr, args, n_args, opts, n_out, &o));
    nd_fusing run = {.expr = expr,
                     .name = name,
                     .args = args,
                     .eager = (o.flags & ND_EXPR_EAGER) != 0,
                     .epilogues = (o.flags & ND_EXPR_EPILOGUES) != 0};
    nd_status status = run_with(&run, &o, out);
    for (int i = 0; status != ND_OK && i < n_out; i++) {
        nd_release(out[i]);
        out[i] = NULL;
    }
    return status;
}

static nd_status check_dst(const char *name, const nd_array *const *dst, int n)
{
    for (int i = 0; i < n; i++) {
        ND_RETURN_IF(nd__check_writable(name, dst[i], 5));
        for (int k = 0; k < i; k++)
            if (nd__may_overlap(dst[i], dst[k]))
                return nd__fail(ND_ERR_OVERLAP, name, 5, "destinations %d and %d overlap", k, i);
    }
    return ND_OK;
}

nd_status nd_expr_run_into(nd_expr *expr, const nd_arg *args, int n_args, const nd_expr_opts *opts,
                           int n_out, const nd_array *const *dst)
{
    static const char name[] = "expr_run_into";
    nd_expr_opts o;
    ND_NEED(name, 0, expr);
    ND_NEED_LIST(name, 5, n_out, dst);
    ND_RETURN_IF(start(name, expr, args, n_args, opts, n_out, &o));
    ND_RETURN_IF(check_dst(name, dst, n_out));
    nd_fusing run = {.expr = expr,
                     .name = name,
                     .args = args,
                     .dst = dst,
                     .eager = (o.flags & ND_EXPR_EAGER) != 0,
                     .epilogues = (o.flags & ND_EXPR_EPILOGUES) != 0};
    return run_with(&run, &o, NULL);
}
