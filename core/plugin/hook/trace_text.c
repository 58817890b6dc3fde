/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A call as one line of text: "0.000123456 t1 cpu:0 plugin.alloc nbytes=64 = OK mem=m1 830ns".
 * docs/hooks.md has the grammar; `ndock replay` reads it. */
#include <inttypes.h>
#include <stdio.h>
#include "core/plugin/hook/hook.h"

ND_TLS uint32_t own_number; /* of the thread, in the order that threads appear */

static uint32_t thread_number(void)
{
    static atomic_uint count;
    if (!own_number)
        own_number = atomic_fetch_add(&count, 1) + 1;
    return own_number;
}

/* Nanoseconds since the first call. */
static uint64_t since_start(uint64_t ns)
{
    static _Atomic uint64_t start;
    uint64_t none = 0;
    atomic_compare_exchange_strong(&start, &none, ns);
    none = atomic_load(&start);
    return ns > none ? ns - none : 0;
}

static void add_list(nd_text *t, int n, const int64_t *v)
{
    nd__text_puts(t, "[");
    for (int i = 0; i < n; i++)
        nd__text_add(t, "%s%" PRId64, i ? "," : "", v[i]);
    nd__text_puts(t, "]");
}

static void add_value(nd_text *t, const ndp_scalar *s)
{
    int kind = nd__kind(s->dtype);
    if (kind == ND_KIND_COMPLEX)
        nd__text_add(t, "#%.17g;%.17g", s->v.c[0], s->v.c[1]);
    else if (kind == ND_KIND_INT)
        nd__text_add(t, "#%" PRId64, s->v.i);
    else if (kind & (ND_KIND_BOOL | ND_KIND_UINT))
        nd__text_add(t, "#%" PRIu64, s->v.u);
    else
        nd__text_add(t, "#%.17g", s->v.f);
}

static uint32_t number_of(const hook_call *c, char type, const void *handle)
{
    nd__hook_lock();
    hook_object *o = handle ? nd__hook_object_get(c->of, type, handle) : NULL;
    if (!o && handle)
        o = nd__hook_object_add(c->of, type, handle);
    uint32_t number = o ? o->number : 0;
    nd__hook_unlock();
    return number;
}

/* " in=f32[3,4]/[4,1]c@m1+16"; a scalar has "#value" for what follows "@". */
static void add_view(const hook_call *c, nd_text *t, const char *role, const ndp_view *v,
                     const ndp_call *call)
{
    nd__text_add(t, " %s=%s", role, nd_dtype_name(v->dtype));
    add_list(t, v->ndim, v->shape);
    nd__text_puts(t, "/");
    add_list(t, v->ndim, v->stride);
    if (v->flags & NDP_VIEW_CONTIGUOUS)
        nd__text_puts(t, "c");
    if (v->mem)
        nd__text_add(t, "@m%u+%" PRId64, number_of(c, 'm', v->mem), v->offset_bytes);
    else if (v->offset_bytes >= 0 && v->offset_bytes < (int64_t)call->n_scalar)
        add_value(t, &call->scalar[v->offset_bytes]);
}

/* Fields of parameters, by kind. */
static void add_i32(nd_text *t, const void *field)
{
    nd__text_add(t, "%d", (int)*(const int32_t *)field);
}
static void add_i64(nd_text *t, const void *field)
{
    nd__text_add(t, "%" PRId64, *(const int64_t *)field);
}
static void add_u64(nd_text *t, const void *field)
{
    nd__text_add(t, "%" PRIu64, *(const uint64_t *)field);
}
static void add_f64(nd_text *t, const void *field)
{
    nd__text_add(t, "%.17g", *(const double *)field);
}
static void add_pair(nd_text *t, const void *field)
{
    const uint64_t *pair = field;
    nd__text_add(t, "%" PRIu64 ",%" PRIu64, pair[0], pair[1]);
}
static void add_triple(nd_text *t, const void *field)
{
    const int64_t *v = field;
    nd__text_add(t, "%" PRId64 ",%" PRId64 ",%" PRId64, v[0], v[1], v[2]);
}
static void add_reals(nd_text *t, const void *field)
{
    const double *v = field;
    nd__text_add(t, "%.17g,%.17g,%.17g", v[0], v[1], v[2]);
}
static void add_typed(nd_text *t, const void *field)
{
    const ndp_scalar *s = field;
    nd__text_puts(t, nd_dtype_name(s->dtype));
    add_value(t, s);
}

static void add_params(nd_text *t, const ndp_call *call, int op_class)
{
    static const struct {
        int32_t op_class;
        size_t offset;
        const char *name;
        void (*add)(nd_text *, const void *field);
    } fields[] = {
#define ND_OP_PARAM(CLASS, type, field, kind, sample) \
    {ND_CLASS_##CLASS, offsetof(type, field), #field, add_##kind},
#include <ndock/opparam.def>
    };
    for (size_t i = 0; call->params && i < sizeof fields / sizeof *fields; i++)
        if (fields[i].op_class == op_class) {
            nd__text_add(t, " %s=", fields[i].name);
            fields[i].add(t, (const char *)call->params + fields[i].offset);
        }
}

static void add_call(const hook_call *c, nd_text *t, const ndp_call *call)
{
    const nd_op_info *op = nd_op_get(call->op);
    if (op)
        nd__text_add(t, " op=%s", op->name);
    else
        nd__text_add(t, " op=%d", (int)call->op);
    nd__text_add(t, " mode=%u", call->mode);
    for (uint32_t i = 0; i < call->n_in; i++)
        add_view(c, t, "in", &call->in[i], call);
    for (uint32_t i = 0; i < call->n_out; i++)
        add_view(c, t, "out", &call->out[i], call);
    if (call->scratch.mem)
        add_view(c, t, "scratch", &call->scratch, call);
    if (call->status.mem)
        add_view(c, t, "status", &call->status, call);
    add_params(t, call, op ? op->op_class : 0);
}

static void add_text(nd_text *t, const char *key, const char *text)
{
    nd__text_add(t, " %s=", key);
    nd__text_json(t, text ? text : "");
}

static void add_source(nd_text *t, const ndp_module_source *s)
{
    nd__text_add(t, " kind=%d nbytes=%" PRIu64, (int)s->kind, s->nbytes);
    add_text(t, "name", s->name);
    add_text(t, "options", s->options);
    if (s->kind == NDP_CODE_SOURCE || s->kind == NDP_CODE_PTX)
        add_text(t, "code", s->code);
}

/* values=f32,f32,(multiply,f32,0,1): inputs, scalars, then instructions with what they take. */
static void add_program(nd_text *t, const ndp_program *p)
{
    nd__text_add(t, " flags=%u n_in=%u n_scalar=%u values=", p->flags, p->n_in, p->n_scalar);
    for (uint32_t i = 0; i < p->n_in + p->n_scalar; i++)
        nd__text_add(t, i ? ",%s" : "%s", nd_dtype_name(p->dtype[i]));
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        const nd_op_info *op = nd_op_get(k->op);
        nd__text_add(t, ",(%s,%s", op ? op->name : "?", nd_dtype_name(k->dtype));
        for (int j = 0; j < 3 && k->arg[j] >= 0; j++)
            nd__text_add(t, ",%d", (int)k->arg[j]);
        nd__text_puts(t, ")");
    }
    nd__text_puts(t, " out=");
    for (uint32_t i = 0; i < p->n_out; i++)
        nd__text_add(t, i ? ",%d" : "%d", (int)p->out[i]);
}

static void add_launch(const hook_call *c, nd_text *t, const ndp_launch *l)
{
    nd__text_add(t, " grid=%u,%u,%u block=%u,%u,%u shared_bytes=%" PRIu64, l->grid[0], l->grid[1],
                 l->grid[2], l->block[0], l->block[1], l->block[2], l->shared_bytes);
    for (uint32_t i = 0; i < l->n_arguments; i++) {
        const ndp_launch_argument *a = &l->argument[i];
        if (a->mem) {
            nd__text_add(t, " argument=m%u+%" PRIu64, number_of(c, 'm', a->mem), a->offset_bytes);
            continue;
        }
        nd__text_puts(t, " argument=x");
        for (uint64_t b = 0; b < a->nbytes; b++)
            nd__text_add(t, "%02x", ((const unsigned char *)a->value)[b]);
    }
}

static void add_exchange(const hook_call *c, nd_text *t, const ndp_exchange *x)
{
    static const ndp_call no_scalars;
    nd__text_add(t, " reduce=%d peer=%d", (int)x->reduce, (int)x->peer);
    if (x->in.mem)
        add_view(c, t, "in", &x->in, &no_scalars);
    if (x->out.mem)
        add_view(c, t, "out", &x->out, &no_scalars);
}

static void add_index(hook_instance *of, nd_text *t, const char *name, const void *dev)
{
    const hook_dev *d = nd__hook_find_dev(of, dev);
    nd__text_add(t, d ? " %s=%u" : " %s=?", name, d ? d->index : 0);
}

static void add_argument(const hook_call *c, nd_text *t, int i)
{
    hook_kind kind = c->slot->arg[i].kind;
    const char *name = c->slot->arg[i].name;
    uint64_t w = c->word[i];
    const void *p = (const void *)(uintptr_t)w;
    char type = nd__hook_object(kind);
    switch (kind) {
    case HOOK_KIND_I32:
    case HOOK_KIND_DTYPE:
        nd__text_add(t, " %s=%d", name, (int)(int32_t)w);
        break;
    case HOOK_KIND_OP:
        nd__text_add(t, " op=%s", nd_op_get((nd_op)w) ? nd_op_get((nd_op)w)->name : "?");
        break;
    case HOOK_KIND_ADDRESS:
    case HOOK_KIND_NATIVE:
        nd__text_add(t, " %s=%#" PRIx64, name, w);
        break;
    case HOOK_KIND_MNK:
        nd__text_puts(t, " mnk=");
        add_list(t, p ? 3 : 0, p);
        break;
    case HOOK_KIND_TEXT:
        add_text(t, name, p);
        break;
    case HOOK_KIND_CALL:
        add_call(c, t, p);
        break;
    case HOOK_KIND_SOURCE:
        add_source(t, p);
        break;
    case HOOK_KIND_LAUNCH:
        add_launch(c, t, p);
        break;
    case HOOK_KIND_EXCHANGE:
        add_exchange(c, t, p);
        break;
    case HOOK_KIND_PROGRAM:
        add_program(t, p);
        break;
    case HOOK_KIND_STEPS:
        nd__text_add(t, " steps=%u", p ? (unsigned)((const ndp_steps *)p)->n : 0);
        break;
    case HOOK_KIND_SRC:
    case HOOK_KIND_DST:
    case HOOK_KIND_HOST:
    case HOOK_KIND_CONST_HOST:
    case HOOK_KIND_FUNCTION_OF_HOST:
    case HOOK_KIND_ARGUMENT_OF_HOST:
        break; /* the process's own */
    default:
        if (type == 'd')
            add_index(c->of, t, name, p);
        else if (type)
            nd__text_add(t, w || type == 'k' ? " %s=%c%u" : " %s=0", name, type, c->number[i]);
        else
            nd__text_add(t, " %s=%" PRIu64, name, w);
    }
}

static void add_result(const hook_call *c, nd_text *t, int i)
{
    hook_kind kind = c->slot->arg[i].kind;
    const char *name = c->slot->arg[i].name;
    const void *p = (const void *)(uintptr_t)c->word[i];
    char type = nd__hook_object(kind);
    double f;
    if (!p)
        return;
    if (type == 'd')
        add_index(c->of, t, name, *(void *const *)p);
    else if (type)
        nd__text_add(t, " %s=%c%u", name, type, c->number[i]);
    else if (kind == HOOK_KIND_OUT_COUNT || kind == HOOK_KIND_OUT_I32 || kind == HOOK_KIND_OUT_FLAG)
        nd__text_add(t, " %s=%d", name, (int)*(const int32_t *)p);
    else if (kind == HOOK_KIND_OUT_U64)
        nd__text_add(t, " %s=%" PRIu64, name, *(const uint64_t *)p);
    else if (kind == HOOK_KIND_OUT_F64)
        nd__text_add(t, " %s=%.17g", name, (memcpy(&f, p, sizeof f), f));
    else if (kind == HOOK_KIND_TEXT_OUT)
        add_text(t, name, p);
    else if (kind == HOOK_KIND_OUT_INFO)
        add_text(t, "name", ((const ndp_device_info *)p)->name);
}

static void add_outcome(const hook_call *c, nd_text *t)
{
    int32_t status = (int32_t)c->result;
    int why = nd__hook_place(c->slot, HOOK_KIND_WHY);
    if (!c->slot->status) {
        nd__text_add(t, " = %#" PRIx64, c->result);
        return;
    }
    const char *name = nd_status_name(status);
    if (name[0] == '?')
        nd__text_add(t, " = %d", (int)status);
    else
        nd__text_add(t, " = %s", status == NDP_OK ? "OK" : name + strlen("ND_ERR_"));
    for (int i = 0; status == NDP_OK && i < (int)c->slot->n; i++)
        if (nd__hook_family(c->slot->arg[i].kind) >= HOOK_OUT)
            add_result(c, t, i);
    if (why >= 0 && c->word[why] && ((const char *)(uintptr_t)c->word[why])[0])
        add_text(t, "why", (const char *)(uintptr_t)c->word[why]);
    else if (status != NDP_OK && nd_last_error()->status == status &&
             strcmp(nd_last_error()->plugin, c->of->plugin) == 0)
        add_text(t, "detail", nd_last_error()->message);
}

void nd__hook_trace_text(const hook_call *c, nd_text *t)
{
    uint64_t at = since_start(c->began_ns);
    nd__text_add(t, "%" PRIu64 ".%09" PRIu64 " t%u %s", at / 1000000000u, at % 1000000000u,
                 thread_number(), c->of->plugin);
    if (c->dev)
        nd__text_add(t, ":%u", c->dev->index);
    nd__text_add(t, " %s.%s", c->slot->table, c->slot->name);
    for (int i = 0; i < (int)c->slot->n; i++) {
        hook_kind kind = c->slot->arg[i].kind;
        if (nd__hook_family(kind) <= HOOK_END && !(i == 0 && nd__hook_object(kind) == 'd'))
            add_argument(c, t, i);
    }
    add_outcome(c, t);
    nd__text_add(t, "%s%s %" PRIu64 "ns", c->injected ? " injected" : "",
                 c->refused ? " refused" : "", c->took_ns);
}
