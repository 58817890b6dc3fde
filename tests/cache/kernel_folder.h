/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the tests of the kernel cache's folder share: its entries as files. */
#ifndef NDOCK_TESTS_KERNEL_FOLDER_H
#define NDOCK_TESTS_KERNEL_FOLDER_H
#include <sys/stat.h>
#include "tests/cache/kernels.h"

static const uint64_t MANY = UINT64_C(512) << 20;

__attribute__((unused)) static void entry_path(int number, char path[ND_STORE_PATH])
{
    nd_kernel_store s = {.dir = folder};
    const ndh_kernel_key k = key_of(number);
    const char *text[5] = {k.source, k.options, k.arch, k.compiler, k.library};
    nd_sha256 sha;
    uint8_t hash[32];
    nd__sha256_init(&sha);
    for (int i = 0; i < 5; i++) {
        uint64_t n = strlen(text[i]);
        nd__sha256_add(&sha, &n, sizeof n); /* little-endian machines only, as all of ours */
        nd__sha256_add(&sha, text[i], n);
    }
    nd__sha256_end(&sha, hash);
    nd__store_path(&s, hash, path);
}

__attribute__((unused)) static unsigned char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 16);
    *n = f ? fread(bytes, 1, 1 << 16, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

__attribute__((unused)) static void write_file(const char *path, const unsigned char *bytes,
                                               size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        bail("cannot write an entry");
}

__attribute__((unused)) static int files_in(const char *name)
{
    int n = 0;
    char command[160], line[64] = "";
    snprintf(command, sizeof command, "find %s -type f -name '%s' | wc -l", folder, name);
    FILE *p = popen(command, "r");
    if (p && fgets(line, sizeof line, p))
        n = atoi(line);
    if (p)
        pclose(p);
    return n;
}

#endif
