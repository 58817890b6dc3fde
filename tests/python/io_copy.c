/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * io_copy IN OUT ...: loads each .npy file IN and saves it as OUT; V2 elements are bf16. An OUT
 * that ends in .safetensors receives the array under the name "a". For comparisons with other
 * readers. */
#include <stdio.h>
#include <string.h>
#include <ndock/ndock.h>

static nd_status copy(const char *in, const char *out)
{
    nd_array *a;
    nd_status status = nd_npy_load_as(in, ND_BF16, NULL, &a);
    if (status != ND_OK)
        return status;
    const char *end = strrchr(out, '.');
    nd_named_array one = {"a", a};
    status = end && strcmp(end, ".safetensors") == 0 ? nd_safetensors_save(out, 1, &one, NULL, NULL)
                                                     : nd_npy_save(out, a, NULL);
    nd_release(a);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (copy(argv[i], argv[i + 1]) != ND_OK) {
            fprintf(stderr, "io_copy %s %s: %s\n", argv[i], argv[i + 1], nd_last_error()->message);
            return 1;
        }
    return 0;
}
