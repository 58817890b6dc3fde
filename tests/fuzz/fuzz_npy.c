/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: reading .npy, also with opaque elements. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    nd_array *a = NULL, *b = NULL;
    nd_status status = nd_npy_load_as(path, ND_BF16, NULL, &a);
    fuzz_result(status, a);
    status = nd_npy_load(path, NULL, &b);
    fuzz_result(status, b);
    return 0;
}
