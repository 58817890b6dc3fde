/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: what is parsed from text: device names, dtype names, operation names. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[256];
    nd_device *device;
    nd_dtype dtype;
    size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    memcpy(text, data, n);
    text[n] = 0;
    if ((nd_device_get(text, &device) == ND_OK) != (device != NULL))
        abort();
    if ((nd_dtype_parse(text, &dtype) == ND_OK) != (dtype != 0))
        abort();
    nd_op op = nd_op_find(text);
    if (op != ND_OP_NONE && strcmp(nd_op_get(op)->name, text) != 0)
        abort();
    return 0;
}
