/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What an expression's run did, remembered: arguments of the same dtypes, shapes and strides are run
 * by the same steps, without dtypes, shapes, programs and look-ups being worked out again. Plans keep
 * the records of their loops but not the loops, which the cache may discard; a plan that misses one is
 * forgotten, and the run after it is an ordinary one. */
#include <stdlib.h>
#include "core/fuse/fuse.h"
#include "core/run/dispatch.h"

enum { MOST_PLANS = 8, STACK_VALUES = 64 };
enum { OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT };
enum { STEP_LOOP, STEP_APART, STEP_RELEASE };

typedef struct step step;
struct step {
    step *next;
    int32_t kind, node; /* STEP_*; the node computed apart, or whose array is released */
    bool rows;          /* the plug-in is asked whether it takes the call */
    nd_fuse_loop *loop;
    uint32_t n_in, n_out, n_scalar;
    int32_t operand[OPERANDS]; /* nodes: results, then inputs */
    int32_t ndim[NDP_PROGRAM_MAX_OUT];
    const int64_t *shape[NDP_PROGRAM_MAX_OUT];
    ndp_view view[OPERANDS]; /* without memory */
    ndp_scalar scalar[NDP_PROGRAM_MAX_SCALARS];
    int64_t extents[]; /* what shapes and strides point to */
};

struct nd_fuse_plan {
    atomic_int refs;
    nd_fuse_plan *next; /* of the expression, latest first; under the lock of loops.c */
    step *first, **last;
    int32_t n_loops;
    bool apart;       /* something is computed apart */
    size_t n_aliases; /* pairs of arguments that are one array */
    int32_t (*alias)[2];
    size_t n_words;
    int64_t word[]; /* see key_of */
};

/* ---- the end of a plan ---- */
static void plan_release(nd_fuse_plan *p)
{
    if (!p || !nd__last(&p->refs))
        return;
    for (step *s = p->first, *next; s; s = next) {
        next = s->next;
        nd__fuse_loop_unhold(s->loop);
        free(s);
    }
    free(p->alias);
    free(p);
}

void nd__fuse_plans_release(nd_expr *e)
{
    for (nd_fuse_plan *p = e->plans, *next; p; p = next) {
        next = p->next;
        plan_release(p);
    }
}

/* ---- keys ---- */
static size_t key_size(const nd_fusing *run)
{
    size_t n = 2;
    for (int32_t i = 0; i < run->expr->n_in; i++) {
        if (!run->args[i].array)
            return 0;
        n += 1 + 2 * (size_t)run->args[i].array->ndim;
    }
    return n;
}

/* Everything about the arguments that steps depend on, but for which of them are one array. Where an
 * array begins within 16 bytes may decide whether the device takes rows as they are. */
static void key_of(const nd_fusing *run, int64_t *word)
{
    *word++ = (int64_t)(intptr_t)run->device;
    *word++ = run->epilogues;
    for (int32_t i = 0; i < run->expr->n_in; i++) {
        const nd_array *a = run->args[i].array;
        *word++ = (int64_t)a->dtype << 32 | (int64_t)(nd__view(a).offset_bytes & 15) << 16 |
                  a->ndim << 1 | (a->storage->device == run->device);
        for (int d = 0; d < a->ndim; d++) {
            *word++ = a->shape[d];
            *word++ = a->stride[d];
        }
    }
}

static bool has_key(const nd_fuse_plan *p, const nd_fusing *run, const int64_t *word, size_t n)
{
    if (p->n_words != n || memcmp(p->word, word, n * sizeof *word) != 0)
        return false;
    for (size_t i = 0; i < p->n_aliases; i++)
        if (run->args[p->alias[i][0]].array != run->args[p->alias[i][1]].array)
            return false;
    return true;
}

/* ---- finding one ---- */
/* A reference to each loop, or to none; under the lock. */
static bool take_loops(const nd_fuse_plan *p)
{
    for (const step *s = p->first; s; s = s->next)
        if (s->loop && !nd__fuse_loop_cached(s->loop))
            return false;
    for (const step *s = p->first; s; s = s->next)
        if (s->loop)
            nd__fuse_loop_use(s->loop);
    return true;
}

static nd_fuse_plan *find(nd_fusing *run, const int64_t *word, size_t n)
{
    nd_fuse_plan *p, *stale = NULL;
    nd__fuse_lock();
    nd_fuse_plan **at = &run->expr->plans;
    while ((p = *at) != NULL && !has_key(p, run, word, n))
        at = &p->next;
    if (p && take_loops(p)) {
        atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    } else if (p) {
        *at = p->next;
        stale = p;
        p = NULL;
    }
    nd__fuse_unlock();
    plan_release(stale);
    return p;
}

nd_fuse_plan *nd__fuse_plan_find(nd_fusing *run)
{
    int64_t small[64];
    const size_t n = run->eager || run->dst ? 0 : key_size(run);
    int64_t *word = n > 64 ? malloc(n * sizeof *word) : small;
    nd_fuse_plan *found = NULL;
    if (n == 0 || !word)
        return NULL;
    key_of(run, word);
    found = find(run, word, n);
    if (word != small)
        free(word);
    return found;
}

/* ---- recording ---- */
void nd__fuse_record_begin(nd_fusing *run)
{
    const size_t n = run->eager || run->dst ? 0 : key_size(run);
    nd_fuse_plan *p = n ? calloc(1, sizeof *p + n * sizeof *p->word) : NULL;
    if (!p)
        return;
    atomic_init(&p->refs, 1);
    p->last = &p->first;
    p->n_words = n;
    key_of(run, p->word);
    run->record = p;
}

void nd__fuse_record_drop(nd_fusing *run)
{
    plan_release(run->record);
    run->record = NULL;
}

static step *append(nd_fusing *run, int32_t kind, size_t n_extents)
{
    step *s = run->record ? calloc(1, sizeof *s + n_extents * sizeof *s->extents) : NULL;
    if (!s) {
        nd__fuse_record_drop(run);
        return NULL;
    }
    s->kind = kind;
    *run->record->last = s;
    run->record->last = &s->next;
    return s;
}

static const int64_t *keep(int64_t **at, const int64_t *from, int n)
{
    const int64_t *kept = *at;
    memcpy(*at, from, (size_t)n * sizeof *from);
    *at += n;
    return kept;
}

void nd__fuse_record_loop(nd_fusing *run, const nd_fuse_program *p, nd_fuse_loop *loop,
                          const ndp_call *call, const nd_array *const *result)
{
    size_t extents = 0;
    const uint32_t n = p->n_out + p->n_in;
    for (uint32_t i = 0; i < n; i++)
        extents += 2 * (size_t)(i < p->n_out ? call->out : call->in - p->n_out)[i].ndim;
    for (uint32_t i = 0; i < p->n_out; i++)
        extents += (size_t)result[i]->ndim;
    step *s = append(run, STEP_LOOP, extents);
    if (!s)
        return;
    int64_t *at = s->extents;
    s->n_in = p->n_in;
    s->n_out = p->n_out;
    s->n_scalar = p->n_scalar;
    s->rows = (p->flags & NDP_PROGRAM_ROWS) != 0;
    memcpy(s->operand, p->root, p->n_out * sizeof *p->root);
    memcpy(s->operand + p->n_out, p->in, p->n_in * sizeof *p->in);
    memcpy(s->scalar, p->scalar, p->n_scalar * sizeof *p->scalar);
    for (uint32_t i = 0; i < n; i++) {
        ndp_view *v = &s->view[i];
        *v = i < p->n_out ? call->out[i] : call->in[i - p->n_out];
        v->shape = keep(&at, v->shape, v->ndim);
        v->stride = keep(&at, v->stride, v->ndim);
    }
    for (uint32_t i = 0; i < p->n_out; i++) {
        s->ndim[i] = result[i]->ndim;
        s->shape[i] = keep(&at, result[i]->shape, result[i]->ndim);
    }
    s->loop = loop;
    nd__fuse_loop_hold(loop);
    run->record->n_loops++;
}

static void record_node(nd_fusing *run, int32_t kind, int32_t node)
{
    step *s = append(run, kind, 0);
    if (s)
        s->node = node;
}

/* What a program's operation returns is not known to be of one shape each time. */
void nd__fuse_record_apart(nd_fusing *run, int32_t node)
{
    if (run->expr->node[node].kind == ND_NODE_APPLY)
        nd__fuse_record_drop(run);
    record_node(run, STEP_APART, node);
    if (run->record)
        run->record->apart = true;
}

void nd__fuse_record_release(nd_fusing *run, int32_t node)
{
    record_node(run, STEP_RELEASE, node);
}

/* Arguments that are one array were one input of a loop; later ones must be one array as well. */
static bool note_aliases(const nd_fusing *run, nd_fuse_plan *p)
{
    const int32_t n = run->expr->n_in;
    for (int32_t i = 1; i < n; i++)
        for (int32_t k = 0; k < i; k++) {
            if (run->args[i].array != run->args[k].array)
                continue;
            if (!p->alias && (p->alias = malloc((size_t)n * sizeof *p->alias)) == NULL)
                return false;
            p->alias[p->n_aliases][0] = k;
            p->alias[p->n_aliases++][1] = i;
            break;
        }
    return true;
}

void nd__fuse_record_end(nd_fusing *run)
{
    nd_fuse_plan *p = run->record, *surplus = NULL;
    int32_t n = 0;
    if (!p || !p->n_loops || !note_aliases(run, p)) {
        nd__fuse_record_drop(run);
        return;
    }
    nd__fuse_lock();
    p->next = run->expr->plans;
    run->expr->plans = p;
    for (nd_fuse_plan **at = &run->expr->plans; *at; at = &(*at)->next)
        if (++n > MOST_PLANS) {
            surplus = *at;
            *at = NULL;
            break;
        }
    nd__fuse_unlock();
    run->record = NULL;
    plan_release(surplus);
}

/* ---- running by one ---- */
static void set_value(nd_fusing *run, int32_t node, const nd_array *a, bool owned)
{
    nd_fuse_value *v = &run->value[node];
    v->array = a;
    v->dtype = a->dtype;
    v->owned = owned;
}

/* false in *taken: the device does not take such rows from where they lie now. */
static nd_status play_loop(nd_fusing *run, const step *s, bool *taken)
{
    nd_device *d = run->device;
    const ndp_kernel *kernel = nd__fuse_loop_kernel(s->loop);
    ndp_view view[OPERANDS];
    ndp_call call;
    for (uint32_t i = 0; i < s->n_out; i++) {
        nd_array *made;
        ND_RETURN_IF(
            nd__array_alloc(run->name, d, s->view[i].dtype, s->ndim[i], s->shape[i], &made));
        set_value(run, s->operand[i], made, true);
    }
    for (uint32_t i = 0; i < s->n_out + s->n_in; i++) {
        const ndp_view now = nd__view(run->value[s->operand[i]].array);
        view[i] = s->view[i];
        view[i].mem = now.mem;
        view[i].offset_bytes = now.offset_bytes;
    }
    nd__set_call(&call, ND_OP_NONE, s->n_in, view + s->n_out, s->n_out, view);
    call.n_scalar = s->n_scalar;
    call.scalar = s->scalar;
    *taken = !s->rows || d->fused.takes(d->dev, kernel, &call) == NDP_OK;
    return *taken ? nd__fuse_call(d, s->loop, kernel, &call) : (nd_status)ND_OK;
}

static nd_status play(nd_fusing *run, const nd_fuse_plan *p, bool *taken)
{
    *taken = true;
    for (const step *s = p->first; s && *taken; s = s->next) {
        nd_fuse_value *v = &run->value[s->node];
        if (s->kind == STEP_LOOP) {
            ND_RETURN_IF(play_loop(run, s, taken));
        } else if (s->kind == STEP_APART) {
            ND_RETURN_IF(nd__fuse_apart(run, s->node));
        } else {
            nd_release((nd_array *)v->array);
            v->array = NULL;
            v->owned = false;
        }
    }
    return ND_OK;
}

static nd_status play_with_values(nd_fusing *run, const nd_fuse_plan *p, nd_array **out, bool *done)
{
    const nd_expr *e = run->expr;
    memset(run->value, 0, (size_t)e->n * sizeof *run->value);
    for (int32_t i = 0; i < e->n; i++)
        if (e->node[i].kind == ND_NODE_INPUT)
            set_value(run, i, run->args[e->node[i].arg[0]].array, false);
        else if (e->node[i].kind == ND_NODE_SCALAR)
            run->value[i].scalar = e->node[i].scalar;
    nd_status status = play(run, p, done);
    if (status == ND_OK && *done)
        status = nd__fuse_hand_results(run, out);
    nd__fuse_release_values(run);
    return status;
}

nd_status nd__fuse_play(nd_fusing *run, nd_fuse_plan *p, nd_array **out, bool *done)
{
    const size_t n = (size_t)run->expr->n;
    nd_fuse_value few[STACK_VALUES];
    const size_t each = sizeof *run->value + (p->apart ? sizeof *run->shape : 0);
    run->value = p->apart || n > STACK_VALUES ? malloc(n * each) : few;
    nd_status status = run->value ? (nd_status)ND_OK
                                  : nd__fail(ND_ERR_MEMORY, run->name, -1,
                                             "no memory for the values of %zu nodes", n);
    if (status == ND_OK) {
        run->shape = p->apart ? (nd_fuse_shape *)(void *)(run->value + n) : NULL;
        status = play_with_values(run, p, out, done);
    }
    if (run->value != few)
        free(run->value);
    for (step *s = p->first; s; s = s->next)
        nd__fuse_loop_release(s->loop);
    plan_release(p);
    return status;
}
