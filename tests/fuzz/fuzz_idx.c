/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: reading IDX, plain and gzip-compressed. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nd_array *a = NULL;
    nd_status status = nd_idx_load(fuzz_file(data, size), NULL, &a);
    fuzz_result(status, a);
    return 0;
}
