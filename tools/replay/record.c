/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Records that calls point to, made from the words of a line. */
#include <stdlib.h>
#include "tools/replay/replay.h"

static int64_t integer(const replay_line *line, const char *key)
{
    const char *text = replay_value(line, key, 0);
    return text ? strtoll(text, NULL, 10) : 0;
}

static double real(const replay_line *line, const char *key)
{
    const char *text = replay_value(line, key, 0);
    return text ? strtod(text, NULL) : 0;
}

static int dtype_of(const char *text, size_t n)
{
    for (int d = 1; d < NDP_DTYPE_END; d++)
        if (strlen(nd_dtype_name(d)) == n && strncmp(nd_dtype_name(d), text, n) == 0)
            return d;
    return 0;
}

/* "[3,4]"; how many there are, or -1. */
static int list(const char **text, int64_t *out, int room)
{
    int n = 0;
    char *end;
    if (*(*text)++ != '[')
        return -1;
    while (**text && **text != ']') {
        if (n == room)
            return -1;
        out[n++] = strtoll(*text, &end, 10);
        if (end == *text)
            return -1;
        *text = end + (*end == ',');
    }
    if (**text != ']')
        return -1;
    ++*text;
    return n;
}

/* "2.5" or "1;2" behind "#". */
static void scalar(int dtype, const char *text, ndp_scalar *out)
{
    char *end;
    int kind = nd_dtype_get(dtype)->kind;
    *out = (ndp_scalar){.dtype = dtype};
    if (kind == ND_KIND_COMPLEX) {
        out->v.c[0] = strtod(text, &end);
        out->v.c[1] = *end ? strtod(end + 1, NULL) : 0;
    } else if (kind == ND_KIND_INT) {
        out->v.i = strtoll(text, NULL, 10);
    } else if (kind & (ND_KIND_BOOL | ND_KIND_UINT)) {
        out->v.u = strtoull(text, NULL, 10);
    } else {
        out->v.f = strtod(text, NULL);
    }
}

static const char *place(replay_state *r, const char *text, ndp_mem **mem, int64_t *offset)
{
    char *end;
    uint32_t number = (uint32_t)strtoul(text + 1, &end, 10);
    const replay_object *o = text[0] == 'm' ? replay_object_at(r, 'm', number) : NULL;
    if (!o || !o->handle || *end != '+')
        return replay_blame(r, "it uses a block that was not made");
    *mem = o->handle;
    *offset = strtoll(end + 1, NULL, 10);
    return NULL;
}

/* "f32[3,4]/[4,1]c@m1+16" or "f32[3]/[0]#2.5". */
static const char *view(replay_state *r, const char *text, replay_record *out, ndp_view *v)
{
    static const char bad[] = "an operand in it is malformed";
    size_t n = strcspn(text, "[");
    int64_t *shape = out->dims + out->n_dims, *stride;
    int room = (int)(sizeof out->dims / sizeof *out->dims) - out->n_dims;
    *v = (ndp_view){.dtype = dtype_of(text, n)};
    text += n;
    if (!v->dtype || room < 2 * NDP_MAX_NDIM || (v->ndim = list(&text, shape, NDP_MAX_NDIM)) < 0)
        return bad;
    stride = shape + v->ndim;
    if (*text++ != '/' || list(&text, stride, NDP_MAX_NDIM) != v->ndim)
        return bad;
    v->shape = shape;
    v->stride = stride;
    out->n_dims += 2 * v->ndim;
    if (*text == 'c') {
        v->flags = NDP_VIEW_CONTIGUOUS;
        text++;
    }
    if (*text == '@')
        return place(r, text + 1, &v->mem, &v->offset_bytes);
    if (*text != '#')
        return bad;
    v->offset_bytes = out->call.n_scalar;
    scalar(v->dtype, text + 1, &out->scalar[out->call.n_scalar++]);
    return NULL;
}

static void value_of(const char *text, ndp_scalar *out)
{
    size_t n = text ? strcspn(text, "#") : 0;
    int dtype = text && text[n] ? dtype_of(text, n) : 0;
    if (dtype)
        scalar(dtype, text + n + 1, out);
}

/* Fields of parameters, by kind. */
static void read_i32(const replay_line *line, const char *key, void *field)
{
    *(int32_t *)field = (int32_t)integer(line, key);
}
static void read_i64(const replay_line *line, const char *key, void *field)
{
    *(int64_t *)field = integer(line, key);
}
static void read_u64(const replay_line *line, const char *key, void *field)
{
    const char *text = replay_value(line, key, 0);
    *(uint64_t *)field = text ? strtoull(text, NULL, 10) : 0;
}
static void read_f64(const replay_line *line, const char *key, void *field)
{
    *(double *)field = real(line, key);
}
static void read_pair(const replay_line *line, const char *key, void *field)
{
    const char *text = replay_value(line, key, 0);
    char *end = NULL;
    uint64_t *pair = field;
    pair[0] = text ? strtoull(text, &end, 10) : 0;
    pair[1] = text && *end ? strtoull(end + 1, NULL, 10) : 0;
}
static void read_triple(const replay_line *line, const char *key, void *field)
{
    const char *text = replay_value(line, key, 0);
    for (int i = 0; text && i < 3; i++, text += strcspn(text, ","), text += *text == ',')
        ((int64_t *)field)[i] = strtoll(text, NULL, 10);
}
static void read_reals(const replay_line *line, const char *key, void *field)
{
    const char *text = replay_value(line, key, 0);
    for (int i = 0; text && i < 3; i++, text += strcspn(text, ","), text += *text == ',')
        ((double *)field)[i] = strtod(text, NULL);
}
static void read_typed(const replay_line *line, const char *key, void *field)
{
    value_of(replay_value(line, key, 0), field);
}

static const void *params(const replay_line *line, int op_class, replay_record *out)
{
    static const uint32_t sizes[ND_CLASS_END] = {
#define ND_OP_PARAMS(CLASS, type) [ND_CLASS_##CLASS] = sizeof(type),
#include <ndock/opparam.def>
    };
    static const struct {
        int32_t op_class;
        size_t offset;
        const char *name;
        void (*read)(const replay_line *, const char *key, void *field);
    } fields[] = {
#define ND_OP_PARAM(CLASS, type, field, kind, sample) \
    {ND_CLASS_##CLASS, offsetof(type, field), #field, read_##kind},
#include <ndock/opparam.def>
    };
    memset(&out->params, 0, sizeof out->params);
    out->params.size = sizes[op_class];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].op_class == op_class)
            fields[i].read(line, fields[i].name, (char *)&out->params + fields[i].offset);
    return out->params.size ? &out->params : NULL;
}

static const char *views(replay_state *r, const replay_line *line, const char *role,
                         replay_record *out, int *at, uint32_t *n)
{
    const char *text, *wrong = NULL;
    for (*n = 0; !wrong && (text = replay_value(line, role, (int)*n)) != NULL; ++*n)
        wrong = *at < 64 ? view(r, text, out, &out->view[(*at)++]) : "it has too many operands";
    return wrong;
}

const char *replay_call_record(replay_state *r, const replay_line *line, replay_record *out)
{
    const char *name = replay_value(line, "op", 0), *wrong;
    const nd_op_info *op = name ? nd_op_get(nd_op_find(name)) : NULL;
    int at = 0;
    if (!op)
        return "its operation is one that a program registered";
    memset(&out->call, 0, sizeof out->call);
    out->n_dims = 0;
    out->call.size = sizeof out->call;
    out->call.op = op->op;
    out->call.mode = (uint32_t)integer(line, "mode");
    out->call.scalar = out->scalar;
    out->call.in = out->view;
    wrong = views(r, line, "in", out, &at, &out->call.n_in);
    out->call.out = out->view + at;
    wrong = wrong ? wrong : views(r, line, "out", out, &at, &out->call.n_out);
    const char *scratch = replay_value(line, "scratch", 0),
               *status = replay_value(line, "status", 0);
    if (!wrong && scratch)
        wrong = view(r, scratch, out, &out->call.scratch);
    if (!wrong && status)
        wrong = view(r, status, out, &out->call.status);
    out->call.params = params(line, op->op_class, out);
    return wrong;
}

static void three(const replay_line *line, const char *key, uint32_t *out)
{
    const char *text = replay_value(line, key, 0);
    char *end = (char *)(uintptr_t)text;
    for (int i = 0; i < 3; i++) {
        out[i] = end && *end ? (uint32_t)strtoul(end, &end, 10) : 1;
        if (end && *end == ',')
            end++;
    }
}

static uint64_t hex(const char *text, unsigned char *out, size_t room)
{
    uint64_t n = 0;
    char pair[3] = {0};
    for (; text[0] && text[1] && n < room; text += 2, n++) {
        memcpy(pair, text, 2);
        out[n] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return n;
}

const char *replay_launch_record(replay_state *r, const replay_line *line, replay_record *out)
{
    const char *text, *wrong = NULL;
    size_t used = 0;
    out->launch = (ndp_launch){.size = sizeof out->launch,
                               .shared_bytes = (uint64_t)integer(line, "shared_bytes"),
                               .argument = out->argument};
    three(line, "grid", out->launch.grid);
    three(line, "block", out->launch.block);
    for (uint32_t i = 0; !wrong && (text = replay_value(line, "argument", (int)i)) != NULL; i++) {
        ndp_launch_argument *a = &out->argument[i];
        int64_t offset = 0;
        *a = (ndp_launch_argument){0};
        if (text[0] == 'x') {
            a->value = out->bytes + used;
            a->nbytes = hex(text + 1, out->bytes + used, sizeof out->bytes - used);
            used += (size_t)a->nbytes;
        } else {
            wrong = place(r, text, &a->mem, &offset);
            a->offset_bytes = (uint64_t)offset;
        }
        out->launch.n_arguments = i + 1;
    }
    return wrong;
}

const char *replay_source_record(const replay_line *line, replay_record *out)
{
    const char *code = replay_value(line, "code", 0);
    if (!code)
        return "the code is not in the trace";
    out->source = (ndp_module_source){.size = sizeof out->source,
                                      .kind = (int32_t)integer(line, "kind"),
                                      .code = code,
                                      .nbytes = strlen(code),
                                      .name = replay_value(line, "name", 0),
                                      .options = replay_value(line, "options", 0)};
    return out->source.name && out->source.options ? NULL : "it has no name and options";
}

/* The bytes from the first to behind the last element of a view; false: there are none, or more
 * than there can be. */
static bool span(const ndp_view *v, int64_t *first, size_t *n)
{
    int64_t low = 0, high = 0, reach, item = (int64_t)nd_dtype_size(v->dtype);
    for (int d = 0; d < v->ndim; d++) {
        if (v->shape[d] <= 0 || __builtin_mul_overflow(v->shape[d] - 1, v->stride[d], &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
            return false;
    }
    if (__builtin_mul_overflow(low, item, &low) || __builtin_mul_overflow(high, item, &high) ||
        __builtin_sub_overflow(high, low - item, &reach) ||
        __builtin_add_overflow(v->offset_bytes, low, first))
        return false;
    *n = (size_t)reach;
    return *first >= 0;
}

static void overwrite(const ndp_plugin *p, ndp_dev *dev, ndp_stream *stream, const ndp_view *v,
                      int byte)
{
    int64_t first;
    size_t n;
    void *bytes = v->mem && span(v, &first, &n) ? malloc(n) : NULL;
    if (bytes) {
        memset(bytes, byte, n);
        (void)p->write(dev, stream, v->mem, (uint64_t)first, bytes, n);
    }
    free(bytes);
}

void replay_tame(const ndp_plugin *p, ndp_dev *dev, ndp_stream *stream, const ndp_call *call,
                 bool outside)
{
    int op_class = nd_op_get(call->op)->op_class;
    bool second =
        op_class == ND_CLASS_TAKE || op_class == ND_CLASS_GATHER || op_class == ND_CLASS_COMPRESS;
    if (second && call->n_in > 1)
        overwrite(p, dev, stream, &call->in[1], outside ? 0x7f : 0);
    else if ((op_class == ND_CLASS_SCATTER || op_class == ND_CLASS_NONZERO) && call->n_in > 0)
        overwrite(p, dev, stream, &call->in[0], outside ? 0x7f : 0);
}
