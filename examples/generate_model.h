/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The language model of generate.c: the weights of a GGUF file on a device, and the keys and values of
 * the text so far, which are kept in place. */
#ifndef GENERATE_MODEL_H
#define GENERATE_MODEL_H
#include <string.h>

#include "program.h"

enum { MOST_LAYERS = 64 };
enum { QUERY, KEY, VALUE, OUTPUT, GATE, UP, DOWN, MATRICES };

/* One of both; transposed is a view of the array. */
typedef struct {
    nd_array *array, *transposed;
    nd_qarray *quant;
} weight;

/* keys, values: (heads of keys, longest text, depth), views of the cache. */
typedef struct {
    weight matrix[MATRICES];
    nd_array *attention_norm, *feed_norm, *keys, *values;
} layer;

typedef struct {
    nd_device *device;
    nd_dtype dtype;
    int64_t layers, heads, key_heads, context, width, depth, at; /* at: how long the text is */
    double base;
    weight table, output;
    nd_array *norm, *cos, *sin;
    layer layer[MOST_LAYERS];
} model;

/* ---- the file ---- */

static double metadata(const nd_gguf *file, const char *key)
{
    nd_gguf_value value = {.size = sizeof value};
    CHECK(nd_gguf_find(file, key, &value));
    switch (value.type) {
    case ND_GGUF_F32:
    case ND_GGUF_F64:
        return value.v.f;
    case ND_GGUF_I8:
    case ND_GGUF_I16:
    case ND_GGUF_I32:
    case ND_GGUF_I64:
        return (double)value.v.i;
    case ND_GGUF_STRING:
    case ND_GGUF_ARRAY:
        return -1;
    default:
        return (double)value.v.u;
    }
}

/* Nothing is taken from a file that is no model of this kind. */
static int64_t extent(const nd_gguf *file, const char *key, int64_t most)
{
    const double value = metadata(file, key);
    if (value >= 1 && value <= (double)most)
        return (int64_t)value;
    fprintf(stderr, PROGRAM ": the model's %s is %g; it must be 1 to %lld\n", key, value,
            (long long)most);
    exit(1);
}

static nd_array *load_array(const model *m, const nd_gguf *file, const char *name)
{
    nd_array *stored, *a;
    CHECK(nd_gguf_load(file, name, m->device, &stored));
    CHECK(nd_astype(stored, m->dtype, &a));
    nd_release(stored);
    return keep(a);
}

static weight load_weight(const model *m, const nd_gguf *file, const char *name)
{
    weight w = {.array = NULL};
    nd_array *plain;
    const nd_status status = nd_gguf_load(file, name, m->device, &plain);
    if (status == ND_ERR_DTYPE) {
        CHECK(nd_gguf_load_quant(file, name, m->device, &w.quant));
        return w;
    }
    CHECK(status);
    nd_release(plain);
    w.array = load_array(m, file, name);
    CHECK(nd_transpose(w.array, &w.transposed));
    keep(w.transposed);
    return w;
}

static void load_layer(model *m, const nd_gguf *file, int i)
{
    static const char *const names[MATRICES] = {"attn_q",   "attn_k", "attn_v",  "attn_output",
                                                "ffn_gate", "ffn_up", "ffn_down"};
    char name[64];
    layer *l = &m->layer[i];
    for (int k = 0; k < MATRICES; k++) {
        snprintf(name, sizeof name, "blk.%d.%s.weight", i, names[k]);
        l->matrix[k] = load_weight(m, file, name);
    }
    snprintf(name, sizeof name, "blk.%d.attn_norm.weight", i);
    l->attention_norm = load_array(m, file, name);
    snprintf(name, sizeof name, "blk.%d.ffn_norm.weight", i);
    l->feed_norm = load_array(m, file, name);
}

/* ---- what goes beside the weights ---- */

/* f of the angle of each position and pair, (context, depth/2). */
static nd_array *turns(const model *m, double (*f)(double))
{
    const int64_t half = m->depth / 2, shape[] = {m->context, half};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 2, .shape = shape};
    double *data = malloc((size_t)(m->context * half + 1) * sizeof *data);
    nd_array *wide, *a;
    if (!data) {
        fputs(PROGRAM ": out of memory\n", stderr);
        exit(1);
    }
    for (int64_t t = 0; t < m->context; t++)
        for (int64_t i = 0; i < half; i++)
            data[t * half + i] = f((double)t * pow(m->base, -2 * (double)i / (double)m->depth));
    CHECK(nd_from_host(&layout, data, m->device, &wide));
    CHECK(nd_astype(wide, m->dtype, &a));
    nd_release(wide);
    free(data);
    return keep(a);
}

static void make_cache(model *m)
{
    const int64_t shape[] = {m->layers, 2, m->key_heads, m->context, m->depth};
    nd_array *cache;
    CHECK(nd_zeros(m->device, m->dtype, 5, shape, &cache));
    keep(cache);
    for (int i = 0; i < m->layers; i++) {
        const nd_index keys[] = {nd_at(i), nd_at(0)}, values[] = {nd_at(i), nd_at(1)};
        CHECK(nd_slice(cache, keys, 2, &m->layer[i].keys));
        CHECK(nd_slice(cache, values, 2, &m->layer[i].values));
        keep(m->layer[i].keys);
        keep(m->layer[i].values);
    }
}

static void load_model(model *m, const char *path, nd_device *device, nd_dtype dtype)
{
    nd_gguf *file;
    CHECK(nd_gguf_open(path, &file));
    *m = (model){.device = device, .dtype = dtype};
    m->layers = extent(file, "llama.block_count", MOST_LAYERS);
    m->heads = extent(file, "llama.attention.head_count", 1 << 16);
    m->key_heads = extent(file, "llama.attention.head_count_kv", m->heads);
    m->context = extent(file, "llama.context_length", 1 << 20);
    m->width = extent(file, "llama.embedding_length", 1 << 20);
    m->base = metadata(file, "llama.rope.freq_base");
    m->depth = m->width / m->heads;
    m->table = load_weight(m, file, "token_embd.weight");
    m->output = load_weight(m, file, "output.weight");
    m->norm = load_array(m, file, "output_norm.weight");
    for (int i = 0; i < m->layers; i++)
        load_layer(m, file, i);
    nd_gguf_close(file);
    m->cos = turns(m, cos);
    m->sin = turns(m, sin);
    make_cache(m);
}

/* The arrays are kept until the end of main. */
static void release_model(const model *m)
{
    nd_qarray_release(m->table.quant);
    nd_qarray_release(m->output.quant);
    for (int i = 0; i < m->layers; i++)
        for (int k = 0; k < MATRICES; k++)
            nd_qarray_release(m->layer[i].matrix[k].quant);
}

/* ---- a step ---- */

static nd_array *product(const nd_array *x, const weight *w)
{
    nd_array *y;
    if (w->quant)
        CHECK(nd_matmul_q(x, w->quant, &y));
    else
        CHECK(nd_matmul(x, w->transposed, NULL, &y));
    return hold(y);
}

static nd_array *part(const nd_array *a, const nd_index *index, int n)
{
    nd_array *view;
    CHECK(nd_slice(a, index, n, &view));
    return hold(view);
}

/* (tokens, heads*depth) as (heads, tokens, depth), or the other way: axes 0 and 1 change places. */
static nd_array *exchanged(const nd_array *a)
{
    nd_array *view;
    CHECK(nd_permute(a, 3, (int32_t[]){1, 0, 2}, &view));
    return hold(view);
}

static nd_array *heads_of(const model *m, const nd_array *x, const weight *w, int64_t heads)
{
    const int64_t shape[] = {nd_shape(x)[0], heads, m->depth};
    nd_array *made;
    CHECK(nd_reshape(product(x, w), 3, shape, &made));
    return exchanged(hold(made));
}

static nd_array *turned(const model *m, const nd_array *a, int64_t end)
{
    const nd_index now = nd_range(m->at, end, 1);
    nd_array *y;
    CHECK(nd_rope(a, part(m->cos, &now, 1), part(m->sin, &now, 1), NULL, &y));
    return hold(y);
}

/* Keys and values of the new tokens join those before, and the queries see them all up to their own. */
static nd_array *attend(const model *m, const layer *l, const nd_array *x)
{
    const int64_t end = m->at + nd_shape(x)[0];
    const nd_index now[] = {nd_range(0, m->key_heads, 1), nd_range(m->at, end, 1)};
    const nd_index all[] = {nd_range(0, m->key_heads, 1), nd_range(0, end, 1)};
    const nd_attention_opts opts = {.size = sizeof opts, .causal = ND_CAUSAL_LAST};
    const nd_array *q = turned(m, heads_of(m, x, &l->matrix[QUERY], m->heads), end);
    nd_array *made, *flat;
    CHECK(nd_assign(turned(m, heads_of(m, x, &l->matrix[KEY], m->key_heads), end),
                    part(l->keys, now, 2)));
    CHECK(nd_assign(heads_of(m, x, &l->matrix[VALUE], m->key_heads), part(l->values, now, 2)));
    CHECK(nd_scaled_dot_product_attention(q, part(l->keys, all, 2), part(l->values, all, 2), &opts,
                                          &made, NULL));
    CHECK(nd_reshape_copy(exchanged(hold(made)), 2, nd_shape(x), &flat));
    return product(hold(flat), &l->matrix[OUTPUT]);
}

static nd_array *feed(const layer *l, const nd_array *x)
{
    nd_array *gate;
    CHECK(nd_silu(product(x, &l->matrix[GATE]), &gate));
    CHECK(nd_multiply_into(hold(gate), product(x, &l->matrix[UP]), gate));
    return product(gate, &l->matrix[DOWN]);
}

static nd_array *normal(const nd_array *x, const nd_array *scale)
{
    const nd_norm_opts opts = {.size = sizeof opts, .eps = 1e-5};
    nd_array *y;
    CHECK(nd_rms_norm(x, scale, &opts, &y));
    return hold(y);
}

static nd_array *sum(const nd_array *a, const nd_array *b)
{
    nd_array *y;
    CHECK(nd_add(a, b, &y));
    return hold(y);
}

/* The scores (1, vocabulary) of what follows the tokens (i64), which join the text. Held. */
static nd_array *step(model *m, const nd_array *tokens)
{
    const nd_index last = nd_range(nd_size(tokens) - 1, nd_size(tokens), 1);
    nd_array *x;
    if (m->table.quant)
        CHECK(nd_embedding_q(m->table.quant, tokens, m->dtype, &x));
    else
        CHECK(nd_embedding(tokens, m->table.array, &x));
    hold(x);
    for (int i = 0; i < m->layers; i++) {
        const layer *l = &m->layer[i];
        x = sum(x, attend(m, l, normal(x, l->attention_norm)));
        x = sum(x, feed(l, normal(x, l->feed_norm)));
    }
    m->at += nd_size(tokens);
    return product(normal(part(x, &last, 1), m->norm), &m->output);
}

#endif
