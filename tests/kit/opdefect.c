/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in whose kernels are the CPU plug-in's, but for the one defect that NDOCK_OPDEFECT_KIND
 * names; without one it conforms. For tests of `ndock conform`, group D. */
#include <fenv.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <ndock/plugin_facts.h>
#include "tests/borrowed.h"
#include "tests/kit/fused.h"
#include "tests/kit/misread.h"

static int defect(const char *kind)
{
    const char *now = getenv("NDOCK_OPDEFECT_KIND");
    return now && strcmp(now, kind) == 0;
}

static int32_t probe(uint32_t *count, char *why, size_t n)
{
    int32_t status = borrowed_probe(count, why, n);
    if (defect("no_device"))
        *count = 0;
    return status;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    return defect("open") ? host->error(host->ctx, NDP_ERR_DEVICE, 0, "the defect called open")
                          : borrowed_open(index, out);
}

/* A kernel around the CPU's. */
typedef struct {
    ndp_kernel base;
    const ndp_kernel *inner;
    ndp_dev *dev;
} outer;

/* For the call as it will be read, which may want more than the call as it is. */
static uint64_t scratch(const ndp_kernel *k, const ndp_call *call)
{
    const ndp_kernel *inner = ((const outer *)k)->inner;
    ndp_call other;
    _Alignas(16) char params[MISREAD_ROOM];
    if (!inner->scratch)
        return 0;
    return inner->scratch(inner, misread(getenv("NDOCK_OPDEFECT_KIND"), call, &other, params));
}

static int64_t elements(const ndp_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

/* Turns bits of the element at index 0, or of the one beside it. */
static void spoil(const outer *k, ndp_stream *s, const ndp_view *v, int64_t beside)
{
    uint8_t byte;
    int64_t at = v->offset_bytes + beside;
    if (!v->mem || elements(v) == 0 || at < 0)
        return;
    if (cpu->read(k->dev, s, v->mem, (uint64_t)at, &byte, 1) == NDP_OK) {
        byte ^= 0x55;
        (void)cpu->write(k->dev, s, v->mem, (uint64_t)at, &byte, 1);
    }
}

static int steps_back(const ndp_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++)
        for (int d = 0; d < call->in[i].ndim; d++)
            if (call->in[i].stride[d] < 0)
                return 1;
    return 0;
}

/* maximum's rule, broken: what is NaN becomes 0. */
static void lose_nan(const outer *k, ndp_stream *s, const ndp_view *v)
{
    if (v->dtype != NDP_F32 || !(v->flags & NDP_VIEW_CONTIGUOUS))
        return;
    for (int64_t i = 0; i < elements(v); i++) {
        uint64_t at = (uint64_t)(v->offset_bytes + 4 * i);
        float x = 0;
        if (cpu->read(k->dev, s, v->mem, at, &x, 4) != NDP_OK || x == x)
            continue;
        x = 0;
        (void)cpu->write(k->dev, s, v->mem, at, &x, 4);
    }
}

/* What a kernel computes goes through one buffer of all threads and streams. */
static void share(const outer *k, ndp_stream *s, const ndp_view *v)
{
    static uint8_t buffer[1 << 16];
    const uint64_t n = sizeof buffer;
    if (!v->mem || !(v->flags & NDP_VIEW_CONTIGUOUS) || v->dtype != NDP_F32 ||
        (uint64_t)elements(v) * 4 < n / 4 || (uint64_t)elements(v) * 4 > n)
        return;
    const uint64_t bytes = (uint64_t)elements(v) * 4;
    if (cpu->read(k->dev, s, v->mem, (uint64_t)v->offset_bytes, buffer, bytes) == NDP_OK) {
        usleep(50);
        (void)cpu->write(k->dev, s, v->mem, (uint64_t)v->offset_bytes, buffer, bytes);
    }
}

/* Of a number that is not infinite. */
static float half_value(uint16_t h)
{
    const int exponent = h >> 10 & 31, fraction = h & 1023;
    const float x =
        exponent ? ldexpf((float)(fraction | 1024), exponent - 25) : ldexpf((float)fraction, -24);
    return h & 0x8000 ? -x : x;
}

/* Of a positive number of 11 bits that is no subnormal one. */
static uint16_t half_bits(float x)
{
    int exponent;
    const float fraction = frexpf(x, &exponent);
    return (uint16_t)(((exponent + 14) << 10) + (int)(fraction * 2048) - 1024);
}

/* A sum of f16 that is kept in f16: rounded to 11 bits after each addition. */
static void sum_in_halves(const outer *k, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *in = &call->in[0], *out = &call->out[0];
    float sum = 0;
    uint16_t h;
    if (out->dtype != NDP_F16 || elements(out) != 1 || !(in->flags & NDP_VIEW_CONTIGUOUS))
        return;
    for (int64_t i = 0; i < elements(in); i++) {
        (void)cpu->read(k->dev, s, in->mem, (uint64_t)(in->offset_bytes + 2 * i), &h, 2);
        sum += half_value(h);
        const float wide = sum * 8193; /* Dekker's: 13 of 24 bits go */
        sum = wide - (wide - sum);
    }
    h = half_bits(sum);
    (void)cpu->write(k->dev, s, out->mem, (uint64_t)out->offset_bytes, &h, 2);
}

/* The quotient by zero is -1, as some processors have it. */
static void divide_by_zero(const outer *k, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *by = &call->in[1], *out = &call->out[0];
    const int32_t minus_one = -1;
    if (out->dtype != NDP_I32 || !by->mem || !(by->flags & out->flags & NDP_VIEW_CONTIGUOUS))
        return;
    for (int64_t i = 0; i < elements(out); i++) {
        const uint64_t at = (uint64_t)(4 * i);
        int32_t x = 1;
        (void)cpu->read(k->dev, s, by->mem, (uint64_t)by->offset_bytes + at, &x, 4);
        if (x == 0)
            (void)cpu->write(k->dev, s, out->mem, (uint64_t)out->offset_bytes + at, &minus_one, 4);
    }
}

/* Four at a time are stored, whatever is left. */
static void store_past(const outer *k, ndp_stream *s, const ndp_view *out)
{
    static const float four[4] = {1, 2, 3, 4};
    const uint64_t over = (uint64_t)(-elements(out) & 3);
    if (out->dtype == NDP_F32 && (out->flags & NDP_VIEW_CONTIGUOUS))
        (void)cpu->write(k->dev, s, out->mem, (uint64_t)(out->offset_bytes + 4 * elements(out)),
                         four, 4 * over);
}

static int32_t run_inner(const outer *k, ndp_stream *s, const ndp_call *call)
{
    ndp_call other;
    _Alignas(16) char params[MISREAD_ROOM];
    return k->inner->run(k->inner, s, misread(getenv("NDOCK_OPDEFECT_KIND"), call, &other, params));
}

/* Defects that have nothing to do with what is computed. */
static void misbehave(const ndp_call *call)
{
    static void *volatile left;
    (void)left;
    if (call->op == NDP_OP_exp && defect("leak"))
        left = malloc(24);
    if (call->op == NDP_OP_multiply && defect("rounding"))
        fesetround(FE_UPWARD);
#if defined(__x86_64__)
    if (call->op == NDP_OP_multiply && defect("subnormals"))
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

static int32_t run_outer(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const outer *k = (const outer *)base;
    const ndp_view *out = &call->out[0];
    if (call->op == NDP_OP_sqrt && defect("late"))
        return host->error(host->ctx, NDP_ERR_UNSUPPORTED, 0, "not today");
    if (call->op == NDP_OP_tanh && defect("touch")) {
        spoil(k, s, out, 0);
        return host->error(host->ctx, NDP_ERR_UNSUPPORTED, 0, "not today");
    }
    if (call->op == NDP_OP_log && defect("crash"))
        raise(SIGSEGV); /* a write to address 0 is undefined: GCC leaves it out at -O1 */
    if (call->op == NDP_OP_matmul && defect("hang"))
        pause();
    if (call->op == NDP_OP_sqrt && defect("lost"))
        return host->error(host->ctx, NDP_ERR_LOST, 999, "the defect called lost");
    int32_t status = run_inner(k, s, call);
    if (status == NDP_ERR_INDEX && defect("early"))
        spoil(k, s, out, 0);
    if (status != NDP_OK)
        return status;
    misbehave(call);
    if (defect("shared"))
        share(k, s, out);
    if ((call->op == NDP_OP_add && defect("wrong")) ||
        (call->op == NDP_OP_add && defect("tail") && elements(out) > 1000) ||
        (call->op == NDP_OP_subtract && defect("strides") && steps_back(call)) ||
        (call->op == NDP_OP_copy && defect("cast") && call->in[0].dtype != out->dtype) ||
        (call->op == NDP_OP_sum && defect("reduce") &&
         ((const ndp_reduce *)call->params)->n_reduced > 1) ||
        (call->op == NDP_OP_take && defect("take") && elements(&call->in[1]) > 4) ||
        (call->op == NDP_OP_scatter_add && defect("scatter") && elements(&call->in[0]) > 4) ||
        (call->op == NDP_OP_dequantize && defect("dequantize")) ||
        (call->op == NDP_OP_matmul_q && defect("matmul_q")))
        spoil(k, s, out, 0);
    if (call->op == NDP_OP_max_pool && call->n_out > 1 && defect("max_pool_position"))
        spoil(k, s, &call->out[1], 0);
    if (call->op == NDP_OP_quantize && defect("quantize")) /* a code, behind the scale */
        spoil(k, s, out, 2);
    if (call->op == NDP_OP_multiply && defect("beside") && !(out->flags & NDP_VIEW_CONTIGUOUS))
        spoil(k, s, out, -1);
    if (call->op == NDP_OP_sum && defect("halves"))
        sum_in_halves(k, s, call);
    if (call->op == NDP_OP_floor_divide && defect("by_zero"))
        divide_by_zero(k, s, call);
    if (call->op == NDP_OP_fft_c2r && defect("fft_operand"))
        spoil(k, s, &call->in[0], 0);
    if (call->op == NDP_OP_multiply && defect("past"))
        store_past(k, s, out);
    if (call->op == NDP_OP_maximum && defect("nan"))
        lose_nan(k, s, out);
    return NDP_OK;
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    return op == NDP_OP_pow && defect("no_pow") ? 0 : cpu_op->dtypes(dev, op);
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    *out = NULL;
    if (like->op == NDP_OP_tanh && defect("extents") && elements(&like->out[0]) > 100) {
        snprintf(why, n, "the defect called extents");
        return NDP_ERR_UNSUPPORTED;
    }
    if ((like->op == NDP_OP_pow && defect("no_pow")) ||
        (like->op == NDP_OP_exp && like->out[0].dtype == NDP_F16 && defect("claims"))) {
        snprintf(why, n, "the defect of op %d", (int)like->op);
        return NDP_ERR_UNSUPPORTED;
    }
    const ndp_kernel *inner;
    int32_t status = cpu_op->find(dev, like, &inner, why, n);
    if (status != NDP_OK)
        return status;
    outer *k = host->alloc(host->ctx, sizeof *k, 16);
    if (!k)
        return host->error(host->ctx, NDP_ERR_MEMORY, 0, "no memory for a kernel");
    *k = (outer){.base = *inner, .inner = inner, .dev = dev};
    k->base.size = sizeof k->base;
    k->base.scratch = scratch;
    k->base.run = run_outer;
    *out = &k->base;
    return NDP_OK;
}

static const ndp_op_1 op_group = {.size = sizeof(ndp_op_1), .dtypes = op_dtypes, .find = op_find};

static const void *group(ndp_dev *dev, const char *id)
{
    if (strcmp(id, "ndp.fused/1") == 0)
        return defective_fused(host, cpu->group(dev, id), getenv("NDOCK_OPDEFECT_KIND"));
    return strcmp(id, "ndp.op/1") == 0 ? &op_group : NULL;
}

NDP_PLUGIN_NOTE("opdefect", "1", -2, (UINT64_C(1) << NDP_DTYPE_END) - 2, "ndp.op/1 ndp.fused/1")

static const ndp_plugin table = {
    .size = sizeof(ndp_plugin),
    .major = NDP_ABI_MAJOR,
    .minor = NDP_ABI_MINOR,
    .name = "opdefect",
    .version = "1",
    .vendor = "tests",
    .probe = probe,
    .open = dev_open,
    BORROWED_SLOTS,
    .group = group,
};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *h)
{
    host = h;
    return &table;
}
