/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: opening .npz and loading everything in it; mapping the same bytes as .npy. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    nd_npz *f = NULL;
    nd_array *mapped = NULL;
    nd_status status = nd_npy_map(path, ND_MAP_PRIVATE, ND_BF16, NULL, &mapped);
    fuzz_result(status, mapped);
    status = nd_npz_open(path, &f);
    if ((status == ND_OK) != (f != NULL))
        abort();
    if (!f)
        return 0;
    for (int i = 0; i < nd_npz_count(f) && i < 64; i++) {
        nd_array *a = NULL;
        status = nd_npz_load_as(f, nd_npz_name(f, i), ND_BF16, NULL, &a);
        fuzz_result(status, a);
    }
    nd_array *none = NULL;
    status = nd_npz_load(f, "no such name, we may assume", NULL, &none);
    fuzz_result(status, none);
    nd_npz_close(f);
    return 0;
}
