/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: opening safetensors and loading everything in them. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nd_safetensors *f = NULL;
    nd_status status = nd_safetensors_open(fuzz_file(data, size), &f);
    if ((status == ND_OK) != (f != NULL))
        abort();
    if (!f)
        return 0;
    int n = nd_safetensors_count(f);
    nd_safetensors_metadata(f, "format");
    for (int i = 0; i < n && i < 64; i++) {
        nd_array *a = NULL;
        const char *name = nd_safetensors_name(f, i);
        status = nd_safetensors_load(f, name, NULL, &a);
        fuzz_result(status, a);
    }
    nd_array *none = NULL;
    status = nd_safetensors_load(f, "no such name, we may assume", NULL, &none);
    fuzz_result(status, none);
    nd_safetensors_close(f);
    return 0;
}
