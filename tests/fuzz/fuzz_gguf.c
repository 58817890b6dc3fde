/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: opening GGUF, reading all metadata, loading and dequantising all tensors. */
#include "tests/fuzz/fuzz.h"

/* Every item, those of arrays in arrays too. */
static void walk(nd_gguf_value rest, int *left)
{
    nd_gguf_value item;
    unsigned sum = 0;
    for (uint64_t i = 0; rest.type != ND_GGUF_ARRAY && i < rest.nbytes; i++)
        sum += ((const unsigned char *)rest.data)[i];
    if (sum == UINT32_MAX)
        abort();
    while (rest.type == ND_GGUF_ARRAY && rest.count > 0 && --*left > 0) {
        if (nd_gguf_next(&rest, &item) != ND_OK) /* it was checked when the file was opened */
            abort();
        walk(item, left);
    }
}

static void load(const nd_gguf *f, const nd_gguf_tensor *t)
{
    nd_array *a = NULL;
    nd_qarray *q = NULL;
    nd_status status = nd_gguf_load(f, t->name, NULL, &a);
    if ((status == ND_OK) != (t->dtype != 0))
        abort();
    fuzz_result(status, a);
    status = nd_gguf_load_quant(f, t->name, NULL, &q);
    if ((status == ND_OK) != (q != NULL))
        abort();
    if (!q || nd_size(nd_qarray_blocks(q)) > 1 << 16)
        goto done;
    a = NULL;
    status = nd_dequantize(q, 0, &a);
    fuzz_result(status, a);
done:
    nd_qarray_release(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nd_gguf *f = NULL;
    int left = 10000;
    nd_status status = nd_gguf_open(fuzz_file(data, size), &f);
    if ((status == ND_OK) != (f != NULL))
        abort();
    if (!f)
        return 0;
    for (int i = 0; i < nd_gguf_key_count(f); i++) {
        nd_gguf_value v = {.size = sizeof v};
        if (nd_gguf_find(f, nd_gguf_key(f, i), &v) != ND_OK)
            abort();
        walk(v, &left);
    }
    for (int i = 0; i < nd_gguf_count(f) && i < 64; i++) {
        nd_gguf_tensor t = {.size = sizeof t};
        if (nd_gguf_describe(f, i, &t) != ND_OK)
            abort();
        load(f, &t);
    }
    nd_gguf_close(f);
    return 0;
}
