/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: descriptions of the CUDA Array Interface, over a block of a simulated device. The
 * input is one description: flags, numbers small or wild. What is taken must lie inside the block
 * and be readable; every refusal must have a message, and leaves the owner alone. */
#include "tests/fuzz/fuzz.h"

enum { ROOM = 4096 };

static int64_t number(fuzz_reader *r)
{
    return fuzz_number(r, 16, 112);
}

static void count(void *ctx)
{
    ++*(int *)ctx;
}

static nd_array *block(void)
{
    static nd_array *a;
    nd_device *sim;
    int64_t n = ROOM;
    if (!a && (nd_device_get("sim:0", &sim) != ND_OK || nd_device_set_current(sim) != ND_OK ||
               nd_zeros(sim, ND_U8, 1, &n, &a) != ND_OK))
        abort();
    return a;
}

static void describe(fuzz_reader *r, int64_t *shape, int64_t *strides, nd_cai *c)
{
    static const char *const types[] = {"<f4", "|u1", "<c16", "<V2", "|b1", "<i8", ">f4", "<f2"};
    uint8_t how = fuzz_byte(r);
    *c = (nd_cai){.size = sizeof *c, .version = 3, .stream = ND_CAI_NO_STREAM};
    if (nd_cai_export(block(), NULL, c) != ND_OK)
        abort();
    c->data = how & 1 ? (uint64_t)number(r) : c->data + (uint64_t)(fuzz_byte(r) * 16);
    c->version = how & 2 ? (int32_t)number(r) : 3;
    c->stream = how & 4 ? number(r) & 1 : how & 8 ? 1 : ND_CAI_NO_STREAM;
    c->flags = how & 16 ? (uint32_t)number(r) : how & 32;
    c->ndim = how & 64 ? (int32_t)number(r) : fuzz_byte(r) % 5;
    if (how & 128)
        for (size_t i = 0; i < sizeof c->typestr; i++)
            c->typestr[i] = (char)fuzz_byte(r);
    else
        snprintf(c->typestr, sizeof c->typestr, "%s", types[fuzz_byte(r) % 8]);
    if (fuzz_byte(r) % 4 == 0)
        snprintf(c->dtype, sizeof c->dtype, "bf16");
    for (int d = 0; d < ND_MAX_NDIM; d++) {
        shape[d] = r->left ? number(r) : 1;
        uint64_t stride = r->left ? (uint64_t)number(r) : 1; /* may wrap: any number will do */
        strides[d] = (int64_t)(r->left && fuzz_byte(r) % 2 ? stride * 4 : stride);
    }
    c->shape = shape;
    c->strides = fuzz_byte(r) % 3 ? strides : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader r = {data, size};
    int64_t shape[ND_MAX_NDIM], strides[ND_MAX_NDIM];
    nd_cai c;
    nd_array *a = NULL;
    int released = 0;
    describe(&r, shape, strides, &c);
    const nd_cai_import_opts opts = {.size = sizeof opts, .release = count, .ctx = &released};
    nd_status status = nd_cai_import(&c, &opts, &a);
    if (status == ND_OK && nd_size(a) > 100000) { /* strides of 0: too long to look at */
        nd_release(a);
    } else {
        fuzz_result(status, a);
    }
    if (released != (status == ND_OK))
        abort();
    return 0;
}
