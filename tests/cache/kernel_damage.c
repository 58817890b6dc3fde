/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * W9: entries of the kernel cache that are cut, changed or lie are dropped and made again. */
#include "tests/cache/kernel_folder.h"

static int damaged_is_rebuilt(nd_kernel_cache *cache, compiler *c, const char *path,
                              const unsigned char *good, size_t n)
{
    size_t now;
    int runs = c->runs;
    if (!get_is_right(cache, c) || c->runs != runs + 1)
        return 0;
    unsigned char *file = read_file(path, &now);
    int same = now == n && memcmp(file, good, n) == 0;
    free(file);
    return same;
}

/* A cache with the kernel of c in it: its file's path and bytes. */
static unsigned char *one_entry(nd_kernel_cache **cache, compiler *c, char path[ND_STORE_PATH],
                                size_t *n)
{
    make_folder();
    *cache = open_cache(folder, MANY);
    if (!get_is_right(*cache, c))
        bail("no kernel");
    entry_path(1, path);
    return read_file(path, n);
}

static void fuzz(void)
{
    char path[ND_STORE_PATH];
    size_t n, wrong = 0;
    compiler c = {.number = 1, .nbytes = 100};
    nd_kernel_cache *cache;
    unsigned char *good = one_entry(&cache, &c, path, &n), *bad = malloc(n + 100);
    for (size_t i = 0; i < n; i++) { /* cut to every length */
        write_file(path, good, i);
        wrong += !damaged_is_rebuilt(cache, &c, path, good, n);
    }
    is_int(wrong, 0, "W9 an entry cut to any of its lengths is dropped and rebuilt");
    diag("%zu lengths", n);
    for (size_t i = 0; i < n; i++) { /* one bit in every byte, and every bit of the header */
        for (int bit = i < ND_STORE_HEADER ? 0 : (int)(i % 8); bit < 8; bit += i < 64 ? 1 : 8) {
            memcpy(bad, good, n);
            bad[i] ^= (unsigned char)(1 << bit);
            write_file(path, bad, n);
            wrong += !damaged_is_rebuilt(cache, &c, path, good, n);
        }
    }
    is_int(wrong, 0, "W9 an entry with a flipped bit anywhere is dropped and rebuilt");
    memcpy(bad, good, n);
    memset(bad + n, 0, 100);
    for (size_t more = 1; more <= 100; more += 33) {
        write_file(path, bad, n + more);
        wrong += !damaged_is_rebuilt(cache, &c, path, good, n);
    }
    is_int(wrong, 0, "W9 an entry with something behind it is dropped and rebuilt");
    is_int(stats_of(cache).dropped + 1, c.runs, "W10 each is counted as dropped");
    free(good);
    free(bad);
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

static void put_u64(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

/* Lengths of key and code whose sum is that of the file, but modulo 2^64. */
static void wrapped_lengths(void)
{
    char path[ND_STORE_PATH];
    size_t n, wrong = 0;
    compiler c = {.number = 1, .nbytes = 100};
    nd_kernel_cache *cache;
    unsigned char *good = one_entry(&cache, &c, path, &n), *bad = malloc(n);
    const uint64_t more[] = {1, 8, 4096, UINT64_C(1) << 62, UINT64_MAX - n};
    for (int i = 0; i < 5; i++) {
        memcpy(bad, good, n);
        put_u64(bad + 16, n - ND_STORE_HEADER + more[i]);
        put_u64(bad + 24, -more[i]);
        write_file(path, bad, n);
        wrong += !damaged_is_rebuilt(cache, &c, path, good, n);
    }
    is_int(wrong, 0, "W9 an entry whose lengths wrap round is dropped and rebuilt, and not read");
    free(good);
    free(bad);
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

/* What replaces a damaged entry may never come. */
static void damaged_goes(void)
{
    char path[ND_STORE_PATH];
    compiler c = {.number = 1, .nbytes = 100};
    make_folder();
    nd_kernel_cache *cache = open_cache(folder, MANY);
    if (!get_is_right(cache, &c))
        bail("no kernel");
    entry_path(1, path);
    write_file(path, (const unsigned char *)"NDOCKKRN", 8);
    c.fails = true;
    ok(!get_is_right(cache, &c), "W9 a damaged entry, whose kernel cannot be compiled again");
    is_int(files_in("*"), 0, "W9 is removed all the same");
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

TAP_MAIN({"fuzz", fuzz}, {"wrapped_lengths", wrapped_lengths}, {"damaged_goes", damaged_goes})
