/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel cache: its entries, which are found by the whole key; eviction and clearing; failures
 * of compilers. */
#include <fcntl.h>
#include "tests/cache/kernel_folder.h"

/* ---- W9: entries ---- */
static void stored(void)
{
    char path[ND_STORE_PATH];
    struct stat st;
    compiler c = {.number = 1, .nbytes = 1000};
    size_t n;
    make_folder();
    nd_kernel_cache *cache = open_cache(folder, MANY);
    ok(get_is_right(cache, &c), "W9 a kernel is compiled");
    is_int(c.runs, 1, "W9 once");
    entry_path(1, path);
    is_int(stat(path, &st), 0, "W9 its file is DIR/ab/cdef... by the SHA-256 of the key");
    is_int(st.st_mode & 0777, 0600, "W9 for the user alone");
    unsigned char *file = read_file(path, &n);
    ok(n > 1000 && memcmp(file, "NDOCKKRN", 8) == 0, "W9 it begins with its magic");
    is_int(file[8], 1, "W9 and its version");
    is_int(file[24] + 256 * file[25], 1000, "W9 and has the length of the code");
    ok(memmem(file, n, "kernel void k1() {}", 19) != NULL, "W9 the key is stored in full");
    free(file);
    nd__kernel_cache_destroy(cache);
    cache = open_cache(folder, MANY);
    ok(get_is_right(cache, &c), "W9 another process finds the same code");
    is_int(c.runs, 1, "W9 without compiling");
    nd_kernel_stats s = stats_of(cache);
    is_int(s.disk_hits, 1, "W10 one hit on disk");
    is_int(s.disk_entries, 1, "W10 one entry");
    is_int(s.disk_bytes, st.st_size, "W10 of so many bytes");
    is_int(s.memory_entries, 0, "W10 code that a file holds leaves memory with its last user");
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

static void key_parts(void)
{
    make_folder();
    nd_kernel_cache *cache = open_cache(folder, MANY);
    compiler c = {.number = 1, .nbytes = 8};
    const char *const five[7][5] = {{"s", "o", "a", "c", "l"}, {"S", "o", "a", "c", "l"},
                                    {"s", "O", "a", "c", "l"}, {"s", "o", "A", "c", "l"},
                                    {"s", "o", "a", "C", "l"}, {"s", "o", "a", "c", "L"},
                                    {"so", "", "a", "c", "l"}};
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 7; i++) {
            ndh_kernel_key k = {sizeof k,   0,          five[i][0], five[i][1],
                                five[i][2], five[i][3], five[i][4]};
            ndh_code *h;
            const void *code;
            uint64_t n;
            if (nd__kernel_get(cache, &k, 0, compile, &c, &h, &code, &n) == ND_OK)
                nd__kernel_release(h);
        }
    is_int(c.runs, 7, "W9 source, options, arch, compiler, library: each is part of the key");
    is_int(stats_of(cache).disk_entries, 7, "W9 seven files");
    ndh_kernel_key old = {.size = 8};
    ndh_code *h;
    const void *code;
    uint64_t n;
    is_int(nd__kernel_get(cache, &old, 0, compile, &c, &h, &code, &n), ND_ERR_ARGUMENT,
           "a key without its fields is refused");
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

/* A file under this kernel's name with another's key: as if the hashes were equal. */
static void collision(void)
{
    char path[2][ND_STORE_PATH];
    size_t n;
    compiler c[2] = {{.number = 1, .nbytes = 64}, {.number = 2, .nbytes = 64}};
    make_folder();
    nd_kernel_cache *cache = open_cache(folder, MANY);
    ok(get_is_right(cache, &c[0]) && get_is_right(cache, &c[1]), "W9 two kernels");
    entry_path(1, path[0]);
    entry_path(2, path[1]);
    unsigned char *file = read_file(path[0], &n);
    write_file(path[1], file, n);
    ok(get_is_right(cache, &c[1]), "W9 an entry of the same hash and another key is not taken");
    is_int(c[1].runs, 2, "W9 the kernel is compiled again");
    is_int(stats_of(cache).dropped, 0, "W9 which is no damage");
    free(file);
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

/* ---- W10 ---- */
static void use_at(nd_kernel_cache *cache, compiler *c, time_t when)
{
    char path[ND_STORE_PATH];
    const struct timespec t[2] = {{.tv_sec = when}, {.tv_sec = when}};
    if (!get_is_right(cache, c))
        bail("no kernel");
    entry_path(c->number, path);
    if (utimensat(AT_FDCWD, path, t, 0) != 0)
        bail(path);
}

static void eviction(void)
{
    compiler c[7];
    make_folder();
    nd_kernel_cache *cache = open_cache(folder, 5000);
    for (int i = 0; i < 7; i++) {
        c[i].number = 10 + i; /* of equal length, so that entries are of one size */
        c[i].nbytes = 800;
        c[i].fails = false;
        c[i].held = NULL;
        c[i].runs = 0;
    }
    for (int i = 0; i < 5; i++)
        use_at(cache, &c[i], 1000 + i);
    nd_kernel_stats s = stats_of(cache);
    is_int(s.disk_entries, 5, "W10 five entries are within the cap");
    is_int(s.max_disk_bytes, 5000, "W10 which is told");
    ok(get_is_right(cache, &c[0]), "W10 the oldest is used again");
    is_int(c[0].runs, 1, "W10 from its file");
    ok(get_is_right(cache, &c[5]), "W10 a sixth");
    s = stats_of(cache);
    is_int(s.disk_entries, 5, "W10 drives one out");
    ok(s.disk_bytes <= 5000, "W10 so that %d bytes are left", (int)s.disk_bytes);
    is_int(s.evicted, 1, "W10 one is counted");
    get_is_right(cache, &c[0]);
    is_int(c[0].runs, 1, "W10 not the one that was just used");
    get_is_right(cache, &c[1]);
    is_int(c[1].runs, 2, "W10 but the one least recently used");
    c[6].nbytes = 5000;
    ok(get_is_right(cache, &c[6]), "W10 one that is larger than the cap");
    is_int(stats_of(cache).disk_entries, 5, "W10 is not stored");
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

static void clear(void)
{
    compiler c[3] = {{.number = 1, .nbytes = 10}, {.number = 2, .nbytes = 10}, {.number = 3}};
    char other[128];
    ndh_kernel_key key;
    ndh_code *held;
    const void *code;
    uint64_t n;
    make_folder();
    snprintf(other, sizeof other, "%s/notes.txt", folder);
    write_file(other, (const unsigned char *)"mine", 4);
    nd_kernel_cache *cache = open_cache(folder, MANY);
    get_is_right(cache, &c[1]);
    c[2].fails = true;
    get_is_right(cache, &c[2]);
    key = key_of(1);
    is_int(nd__kernel_get(cache, &key, 0, compile, &c[0], &held, &code, &n), ND_OK, "W10 held");
    is_int(stats_of(cache).memory_entries, 2, "W10 what is held and what failed is in memory");
    is_int(nd__kernel_clear(cache), ND_OK, "W10 clear");
    nd_kernel_stats s = stats_of(cache);
    is_int(s.disk_entries + s.memory_entries + s.memory_bytes, 0, "W10 leaves nothing");
    is_int(files_in("notes.txt"), 1, "W10 but what is not ours");
    is_int(((const unsigned char *)code)[9], code_byte(1, 9), "W10 code in use stays usable");
    nd__kernel_release(held);
    get_is_right(cache, &c[0]);
    is_int(c[0].runs, 2, "W10 and is compiled anew for the next");
    nd__kernel_cache_destroy(cache);
    remove_folder();
}

/* ---- W11 ---- */
static void failures(void)
{
    compiler c = {.number = 4, .nbytes = 10, .fails = true};
    ndh_kernel_key key = key_of(4), other = key_of(4);
    ndh_code *h;
    const void *code;
    uint64_t n;
    char log[100] = "";
    nd_kernel_cache *cache = open_cache(NULL, MANY);
    for (int i = 0; i < 3; i++)
        is_int(nd__kernel_get(cache, &key, 0, compile, &c, &h, &code, &n), ND_ERR_PLUGIN,
               "W11 a failed compile fails");
    is_int(c.runs, 1, "W11 it is remembered");
    ok(!h && !code && !n, "W11 nothing is handed out");
    has_text(nd_last_error()->message, "undeclared name qqq", "W11 each time in its own words");
    is_int(nd__kernel_log(cache, &key, log, sizeof log), ND_OK, "W11 its log is kept");
    is_str(log, "line 3: undeclared name qqq", "W11 as it was");
    is_int(nd__kernel_log(cache, &key, log, 7), ND_OK, "W11 cut to the room there is");
    is_str(log, "line 3", "W11 with its end");
    is_int(nd__kernel_get(cache, &key, NDH_KERNEL_RETRY, compile, &c, &h, &code, &n), ND_ERR_PLUGIN,
           "W11 a retry");
    is_int(c.runs, 2, "W11 compiles again");
    c.fails = false;
    is_int(nd__kernel_get(cache, &key, NDH_KERNEL_RETRY, compile, &c, &h, &code, &n), ND_OK,
           "W11 and may succeed");
    nd__kernel_release(h);
    other.source = "something else";
    is_int(nd__kernel_log(cache, &other, log, sizeof log), ND_ERR_ARGUMENT,
           "W11 no log of what did not fail");
    nd_kernel_stats s = stats_of(cache);
    is_int(s.compiles, 3, "W10 three compiles");
    is_int(s.failures, 2, "W10 two failures");
    nd__kernel_cache_destroy(cache);
}

static nd_kernel_cache *recursion_cache;
static nd_status inner_status;
static int32_t compile_recursive(void *arg, ndh_compiled *out)
{
    ndh_kernel_key key = key_of(6);
    compiler inner = {.number = 7, .nbytes = 5};
    ndh_code *h;
    const void *code;
    uint64_t n;
    inner_status = nd__kernel_get(recursion_cache, &key, 0, compile_recursive, arg, &h, &code, &n);
    return get_is_right(recursion_cache, &inner) ? compile(arg, out) : (int32_t)ND_ERR_INTERNAL;
}

static int32_t compile_nothing(void *arg, ndh_compiled *out)
{
    (void)arg;
    (void)out;
    return ND_OK;
}

static void callbacks(void)
{
    compiler c = {.number = 6, .nbytes = 10};
    ndh_kernel_key key = key_of(6);
    ndh_code *h;
    const void *code;
    uint64_t n;
    nd_kernel_cache *cache = recursion_cache = open_cache(NULL, MANY);
    is_int(nd__kernel_get(cache, &key, 0, compile_recursive, &c, &h, &code, &n), ND_OK,
           "W11 a compile that needs another kernel");
    is_int(inner_status, ND_ERR_STATE, "W11 asking for itself is an error, no deadlock");
    nd__kernel_release(h);
    key = key_of(8);
    is_int(nd__kernel_get(cache, &key, 0, compile_nothing, NULL, &h, &code, &n), ND_ERR_PLUGIN,
           "W11 success without code is a failure");
    nd__kernel_cache_destroy(cache);
}

TAP_MAIN({"stored", stored}, {"key_parts", key_parts}, {"collision", collision},
         {"eviction", eviction}, {"clear", clear}, {"failures", failures}, {"callbacks", callbacks})
