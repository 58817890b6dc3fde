/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: a file of the kernel cache. The input is such a file; where its first byte is odd,
 * it gets the checksum that fits, without which nearly nothing would get past that. */
#include "core/base/store.h"
#include "tests/fuzz/fuzz.h"

static const uint8_t hash[32] = {0xab, 0xcd};
static const char key[] = "key of the kernel";

static void sign(uint8_t *file, size_t size)
{
    nd_sha256 sha;
    nd__sha256_init(&sha);
    nd__sha256_add(&sha, file, 32);
    nd__sha256_add(&sha, file + ND_STORE_HEADER, size - ND_STORE_HEADER);
    nd__sha256_end(&sha, file + 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nd_kernel_store store;
    char path[ND_STORE_PATH];
    void *code = NULL;
    size_t nbytes = 0, length = size ? size - 1 : 0;
    uint8_t *file = malloc(length + 1);
    if (!file)
        return 0;
    memcpy(file, data + (size > 0), length);
    if (size && data[0] % 2 && length >= ND_STORE_HEADER)
        sign(file, length);
    fuzz_write("cache", "", 0); /* makes the folder */
    nd__store_open(&store, fuzz_folder, 1 << 20);
    nd__store_path(&store, hash, path);
    fuzz_write(path + strlen(fuzz_folder) + 1, file, length);
    free(file);
    bool found = nd__store_load(&store, hash, key, sizeof key, &code, &nbytes);
    if (found != (code != NULL) || (found && nbytes + sizeof key + ND_STORE_HEADER != length))
        abort();
    free(code);
    nd__store_close(&store);
    return 0;
}
