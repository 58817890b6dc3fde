/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels looked up ahead of time. A plug-in's find() is its warm-up: it answers by the op, dtypes,
 * rank, and which operands are scalars or dense, never by values or extents. So one small call of
 * each form stands for all, and nothing is run. */
#include "core/run/workspace.h"

/* Operands: a array of the op's dtype, r of its result's, x of its real parts', c of the complex
 * dtype of its width, i i64, u u8, b bool, w f32 for a of 16 bits or less, s scalar; each followed by its rank, which a scalar takes
 * from the result. */
typedef struct {
    int op_class; /* ND_CLASS_NONE: every class that has no row of its own */
    nd_op op;     /* ND_OP_NONE: every op of the class that has no row of its own */
    const char *in, *out;
} form;
static const form forms[] = {
    {ND_CLASS_NONE, 0, "a1", "r1"},
    {ND_CLASS_NONE, 0, "a2", "r2"},
    {ND_CLASS_BINARY, 0, "a1a1", "r1"},
    {ND_CLASS_BINARY, 0, "a1s1", "r1"},
    {ND_CLASS_BINARY, 0, "s1a1", "r1"},
    {ND_CLASS_BINARY, 0, "a2a2", "r2"},
    {ND_CLASS_BINARY, 0, "a2s2", "r2"},
    {ND_CLASS_BINARY, 0, "s2a2", "r2"},
    {ND_CLASS_TERNARY, ND_OP_where, "b1a1a1", "r1"},
    {ND_CLASS_TERNARY, ND_OP_where, "b1a1s1", "r1"},
    {ND_CLASS_TERNARY, ND_OP_where, "b1s1a1", "r1"},
    {ND_CLASS_TERNARY, ND_OP_where, "b2a2a2", "r2"},
    {ND_CLASS_TERNARY, 0, "a1a1a1", "r1"},
    {ND_CLASS_TERNARY, 0, "a1s1s1", "r1"},
    {ND_CLASS_TERNARY, 0, "a1a1s1", "r1"},
    {ND_CLASS_TERNARY, 0, "a1s1a1", "r1"},
    {ND_CLASS_TERNARY, 0, "a2a2a2", "r2"},
    {ND_CLASS_FILL, 0, "s1", "a1"},
    {ND_CLASS_FILL, 0, "s2", "a2"},
    {ND_CLASS_COPY, 0, "a1", "a1"},
    {ND_CLASS_COPY, 0, "a2", "a2"},
    {ND_CLASS_IOTA, 0, "", "a1"},
    {ND_CLASS_REDUCE, 0, "a1", "r0"},
    {ND_CLASS_REDUCE, 0, "a2", "r1"},
    {ND_CLASS_ARGREDUCE, 0, "a1", "r0"},
    {ND_CLASS_ARGREDUCE, 0, "a2", "r1"},
    {ND_CLASS_NORM, 0, "a2", "r2"},
    {ND_CLASS_NORM, ND_OP_batch_norm, "a2w2w2", "r2"},
    {ND_CLASS_MATMUL, ND_OP_scaled_mm, "a2a2w2w2", "w2"},
    {ND_CLASS_MATMUL, 0, "a2a2", "r2"},
    {ND_CLASS_MATMUL, 0, "a3a3", "r3"},
    {ND_CLASS_TAKE, 0, "a1i1", "r1"},
    {ND_CLASS_TAKE, 0, "a2i1", "r2"},
    {ND_CLASS_GATHER, 0, "a1i1", "r1"},
    {ND_CLASS_GATHER, 0, "a2i2", "r2"},
    {ND_CLASS_SCATTER, 0, "i1a1", "a1"},
    {ND_CLASS_SCATTER, 0, "i2a2", "a2"},
    {ND_CLASS_COMPRESS, 0, "a1b1", "a1i0"},
    {ND_CLASS_COMPRESS, 0, "a2b1", "a2i0"},
    {ND_CLASS_NONZERO, 0, "a1", "i2i0"},
    {ND_CLASS_SORT, ND_OP_topk, "a1", "a1i1"},
    {ND_CLASS_SORT, ND_OP_topk, "a2", "a2i2"},
    {ND_CLASS_SORT, 0, "a1", "r1"},
    {ND_CLASS_SORT, 0, "a2", "r2"},
    {ND_CLASS_SEARCH, 0, "a1a1", "i1"},
    {ND_CLASS_RANDOM, 0, "", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_gamma, "s1s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_log_gamma, "s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_beta, "s1s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_truncated, "s1s1s1s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_poisson, "s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_binomial, "s1s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_geometric, "s1", "a1"},
    {ND_CLASS_RANDOM, ND_OP_random_hypergeometric, "s1s1s1", "a1"},
    {ND_CLASS_FACTOR, ND_OP_lu, "a3", "a3i2i2"},
    {ND_CLASS_FACTOR, ND_OP_qr, "a3", "a3a3"},
    {ND_CLASS_FACTOR, ND_OP_qr, "a3", "a3"},
    {ND_CLASS_FACTOR, 0, "a3", "a3"},
    {ND_CLASS_SOLVE, ND_OP_lu_solve, "a3i2a3", "a3"},
    {ND_CLASS_SOLVE, 0, "a3a3", "a3"},
    {ND_CLASS_EIGEN, ND_OP_eig, "a3", "c2"},
    {ND_CLASS_EIGEN, ND_OP_eig, "a3", "c2c3"},
    {ND_CLASS_EIGEN, 0, "a3", "r2"},
    {ND_CLASS_EIGEN, 0, "a3", "r2a3"},
    {ND_CLASS_SVD, 0, "a3", "r2"},
    {ND_CLASS_SVD, 0, "a3", "a3r2a3"},
    {ND_CLASS_CONV, 0, "a5a5", "r5"},
    {ND_CLASS_CONV, 0, "a5a5a5", "r5"},
    {ND_CLASS_CONV, ND_OP_conv_weight, "a5a5", "r5"},
    {ND_CLASS_POOL, ND_OP_max_pool, "a5", "a5"},
    {ND_CLASS_POOL, ND_OP_max_pool, "a5", "a5i5"},
    {ND_CLASS_POOL, ND_OP_max_pool_grad, "a5i5", "a5"},
    {ND_CLASS_POOL, 0, "a5", "a5"},
    {ND_CLASS_RESAMPLE, 0, "a5", "a5"},
    {ND_CLASS_UNFOLD, ND_OP_unfold, "a5", "a8"},
    {ND_CLASS_UNFOLD, ND_OP_fold, "a8", "a5"},
    {ND_CLASS_NORM_GRAD, 0, "a2a2", "r2"},
    {ND_CLASS_ENTROPY, ND_OP_cross_entropy, "a2i1", "w1"},
    {ND_CLASS_ENTROPY, ND_OP_cross_entropy_grad, "a2i1w1", "a2"},
    {ND_CLASS_ATTENTION, ND_OP_attention, "a4a4a4", "a4w3"},
    {ND_CLASS_ATTENTION, ND_OP_attention_grad, "a4a4a4a4w3a4", "a4a4a4"},
    {ND_CLASS_ROPE, 0, "a4a4a4", "a4"},
    {ND_CLASS_FFT, ND_OP_fft_r2c, "a2", "c2"},
    {ND_CLASS_FFT, ND_OP_fft_c2r, "a2", "x2"},
    {ND_CLASS_FFT, 0, "a2", "r2"},
    {ND_CLASS_COUNT, 0, "a1", "i1"},
    {ND_CLASS_QUANT, ND_OP_dequantize, "u2", "a2"},
    {ND_CLASS_QUANT, ND_OP_quantize, "a2", "u2"},
    {ND_CLASS_QUANT, ND_OP_matmul_q, "a2u2", "a2"},
};

enum { EXTENT = 2, MOST_RANK = 8, STORAGE_BYTES = 16 * 2 << MOST_RANK };
static const int64_t extents[MOST_RANK] = {EXTENT, EXTENT, EXTENT, EXTENT,
                                           EXTENT, EXTENT, EXTENT, EXTENT};
/* C order of the last axes, as many as there are, and the same with every other element left out. */
static const int64_t dense_strides[MOST_RANK] = {128, 64, 32, 16, 8, 4, 2, 1};
static const int64_t sparse_strides[MOST_RANK] = {256, 128, 64, 32, 16, 8, 4, 2};
static const int64_t zero[MOST_RANK];

typedef struct {
    nd_device *device;
    const nd_op_info *info;
    nd_dtype compute, result;
    nd_storage *storage;
} subject;

/* The operands of one side. Bit i of dense_mask: operand i is dense. */
static uint32_t make_views(const subject *s, const char *text, unsigned dense_mask, ndp_view *v)
{
    const nd_dtype wide = nd_dtype_size(s->compute) <= 2 ? ND_F32 : s->compute;
    uint32_t n = 0;
    for (; *text; text += 2, n++) {
        const int rank = text[1] - '0';
        const bool scalar = text[0] == 's', is_dense = rank == 0 || dense_mask >> n & 1;
        v[n] = (ndp_view){.mem = scalar ? NULL : s->storage->mem,
                          .offset_bytes = scalar ? 0 : (int64_t)s->storage->base,
                          .shape = extents,
                          .stride = scalar     ? zero
                                    : is_dense ? dense_strides + MOST_RANK - rank
                                               : sparse_strides + MOST_RANK - rank,
                          .dtype = text[0] == 'r'   ? s->result
                                   : text[0] == 'x' ? nd__real_of(s->compute)
                                   : text[0] == 'c' ? nd__complex_of(s->compute)
                                   : text[0] == 'i' ? ND_I64
                                   : text[0] == 'u' ? ND_U8
                                   : text[0] == 'b' ? ND_BOOL
                                   : text[0] == 'w' ? wide
                                                    : s->compute,
                          .ndim = rank,
                          .flags = !scalar && is_dense ? NDP_VIEW_CONTIGUOUS : 0};
    }
    return n;
}

static bool look_up(const subject *s, const form *f, unsigned dense_mask)
{
    static const union {
        uint32_t size;
#define ND_OP_PARAMS(CLASS, type) type CLASS;
#include <ndock/opparam.def>
    } by_class[ND_CLASS_END] = {
#define ND_OP_PARAMS(CLASS, type) [ND_CLASS_##CLASS].CLASS.size = sizeof(type),
#define ND_OP_PARAM(CLASS, type, field, kind, sample) [ND_CLASS_##CLASS].CLASS.field = sample,
#include <ndock/opparam.def>
    };
    const ndp_scalar value = {.dtype = s->compute};
    ndp_view in[6], out[3];
    ndp_call call = {
        .size = sizeof call, .op = s->info->op, .in = in, .out = out, .scalar = &value};
    call.n_in = make_views(s, f->in, dense_mask, in);
    call.n_out = make_views(s, f->out, dense_mask >> call.n_in, out);
    call.n_scalar = strchr(f->in, 's') != NULL;
    if (by_class[s->info->op_class].size != 0)
        call.params = &by_class[s->info->op_class];
    return nd__has_kernel(s->device, &call);
}

static bool applies(const form *f, int op_class, nd_op op)
{
    return f->op_class == op_class && f->op == op;
}

static bool has_row(int op_class, nd_op op)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (applies(&forms[i], op_class, op))
            return true;
    return false;
}

static bool look_up_layouts(const subject *s, const form *f)
{
    const unsigned layouts = 1u << (strlen(f->in) + strlen(f->out)) / 2;
    bool all = true;
    for (unsigned mask = 0; mask < layouts && all; mask++)
        all = look_up(s, f, mask);
    return all;
}

static nd_status look_up_all(const subject *s)
{
    const int own = s->info->op_class;
    const nd_op op = has_row(own, s->info->op) ? s->info->op : ND_OP_NONE;
    const int op_class = has_row(own, op) ? own : ND_CLASS_NONE;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (applies(&forms[i], op_class, op) && !look_up_layouts(s, &forms[i]))
            return nd__fail(ND_ERR_UNSUPPORTED, "warmup", 0,
                            "%s has no kernel of its own for %s on %s (operands %s)",
                            s->device->name, s->info->name, nd_dtype_name(s->compute), forms[i].in);
    return ND_OK;
}

/* Where the op computes in another dtype, operands are converted first. */
static nd_status look_up_conversion(const subject *s, nd_dtype from)
{
    const subject conversion = {s->device, nd_op_get(ND_OP_copy), from, s->compute, s->storage};
    const form copies[2] = {{ND_CLASS_COPY, 0, "a1", "r1"}, {ND_CLASS_COPY, 0, "a2", "r2"}};
    for (int i = 0; i < 2 && from != s->compute; i++)
        if (!look_up_layouts(&conversion, &copies[i]))
            return nd__fail(ND_ERR_UNSUPPORTED, "warmup", 0,
                            "%s has no kernel of its own to convert %s to %s", s->device->name,
                            nd_dtype_name(from), nd_dtype_name(s->compute));
    return ND_OK;
}

static nd_status warm(const nd_warmup_item *item)
{
    nd_status status = ND_OK;
    subject s = {.info = nd_op_get(item->op), .device = nd__or_current(item->device, &status)};
    if (!s.device || status != ND_OK)
        return status;
    if (!s.info)
        return nd__fail(ND_ERR_ARGUMENT, "warmup", 0, "%d is no op", (int)item->op);
    ND_RETURN_IF(nd__check_dtype("warmup", item->dtype));
    ND_RETURN_IF(nd__op_domain(s.info, item->dtype, &s.compute));
    if (s.info->op_class == ND_CLASS_FFT && nd_dtype_size(s.compute) == 2)
        s.compute = ND_F32; /* halves are transformed in single precision */
    s.result = s.info->result == ND_RESULT_GIVEN ? s.compute : nd__op_result(s.info, s.compute);
    ND_RETURN_IF(nd__storage_alloc(s.device, STORAGE_BYTES, &s.storage));
    status = look_up_conversion(&s, item->dtype);
    if (status == ND_OK)
        status = look_up_all(&s);
    nd__storage_release(s.storage);
    return status;
}

nd_status nd_warmup(const nd_warmup_item *items, int32_t n, nd_status *statuses)
{
    if (n < 0 || (n > 0 && !items))
        return nd__fail(ND_ERR_ARGUMENT, "warmup", n < 0, "%d items at %p", (int)n,
                        (const void *)items);
    for (int32_t i = 0; i < n; i++) {
        nd_status status = warm(&items[i]);
        if (statuses)
            statuses[i] = status;
    }
    return ND_OK;
}
