/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel cache: where it lies, what an entry is, damage, eviction, failures. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "tests/cache/kernels.h"

static const uint64_t MANY = UINT64_C(512) << 20;

/* ---- W8: the folder ---- */
static void is_dir(const char *variable, const char *xdg, const char *home, const char *want,
                   const char *what)
{
    const char *why;
    char *dir = nd__kernel_dir(variable, xdg, home, &why);
    is_str(dir ? dir : "(none)", want, what);
    ok(dir ? !why : why != NULL, "W8 a reason if and only if there is none");
    free(dir);
}

static void choice(void)
{
    is_dir("/a/b", "/x", "/h", "/a/b", "W8 NDOCK_KERNEL_CACHE_DIR comes first");
    is_dir(NULL, "/x", "/h", "/x/ndock/kernels", "W8 then XDG_CACHE_HOME");
    is_dir("", "/x", "/h", "/x/ndock/kernels", "W8 an empty variable is unset");
    is_dir(NULL, NULL, "/h", "/h/.cache/ndock/kernels", "W8 then HOME");
    is_dir(NULL, "relative", "/h", "/h/.cache/ndock/kernels", "W8 a relative XDG path is ignored");
    is_dir("relative", "/x", "/h", "(none)", "W8 a relative folder of ours is refused");
    is_dir(NULL, NULL, NULL, "(none)", "W8 no home: none");
    is_dir(NULL, "", "here", "(none)", "W8 a relative home: none");
    char home[6000], want[6100];
    memset(home, 'h', sizeof home);
    home[0] = '/';
    home[sizeof home - 1] = 0;
    snprintf(want, sizeof want, "%s/.cache/ndock/kernels", home);
    is_dir(NULL, NULL, home, want, "W8 a long home is not cut short");
}

static int warnings;
static char last_warning[512];
static void sink(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    warnings += level == ND_LOG_WARN && strstr(text, "cache: ") != NULL;
    snprintf(last_warning, sizeof last_warning, "%s", text);
}

/* In a child, since the process's cache is set up once. */
static int in_child(int (*look)(void))
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        nd_log_set(sink, NULL, ND_LOG_WARN);
        _exit(look());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int at_home(void)
{
    char want[128];
    nd_kernel_stats s = {.size = sizeof s};
    unsetenv("NDOCK_KERNEL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", folder, 1);
    setenv("NDOCK_KERNEL_CACHE_MAX_MB", "3", 1);
    snprintf(want, sizeof want, "%s/.cache/ndock/kernels", folder);
    if (strcmp(nd_kernel_cache_dir(), want) != 0)
        return 1;
    return nd_kernel_cache_stats(&s) == ND_OK && s.writable && s.max_disk_bytes == 3 << 20 &&
                   warnings == 0
               ? 0
               : 2;
}

static int no_home(void)
{
    nd_kernel_stats s = {.size = sizeof s};
    unsetenv("NDOCK_KERNEL_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    for (int i = 0; i < 3; i++)
        if (strcmp(nd_kernel_cache_dir(), "") != 0 || nd_kernel_cache_stats(&s) != ND_OK ||
            s.writable)
            return 1;
    return warnings == 1 && strstr(last_warning, "HOME") ? 0 : 2;
}

static int switched_off(void)
{
    setenv("NDOCK_KERNEL_CACHE_DIR", folder, 1);
    setenv("NDOCK_KERNEL_CACHE", "0", 1);
    return strcmp(nd_kernel_cache_dir(), "") == 0 && warnings == 0 ? 0 : 1;
}

static int switched_on(void) /* by its value, not its presence */
{
    setenv("NDOCK_KERNEL_CACHE_DIR", folder, 1);
    setenv("NDOCK_KERNEL_CACHE", "1", 1);
    setenv("NDOCK_KERNEL_CACHE_MAX_MB", "lots", 1);
    nd_kernel_stats s = {.size = sizeof s};
    return strcmp(nd_kernel_cache_dir(), folder) == 0 && nd_kernel_cache_stats(&s) == ND_OK &&
                   s.max_disk_bytes == MANY
               ? 0
               : 1;
}

static void environment(void)
{
    make_folder();
    is_int(in_child(at_home), 0, "W8 $HOME/.cache/ndock/kernels is made; the cap is read");
    is_int(in_child(no_home), 0, "W8 no home: memory only, one warning that names HOME");
    is_int(in_child(switched_off), 0, "W8 NDOCK_KERNEL_CACHE=0: off, no warning");
    is_int(in_child(switched_on), 0, "W8 =1: on; 512 MiB by default, also for a malformed cap");
    remove_folder();
}

/* ---- W9: entries ---- */
static void entry_path(int number, char path[ND_STORE_PATH])
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

static unsigned char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = malloc(1 << 16);
    *n = f ? fread(bytes, 1, 1 << 16, f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static void write_file(const char *path, const unsigned char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        bail("cannot write an entry");
}

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

static int files_in(const char *name)
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

/* ---- W8: not writable; not trusted ---- */
static int reads_only(void)
{
    compiler c = {.number = 1, .nbytes = 50}, other = {.number = 2, .nbytes = 50};
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 1;
    nd_kernel_cache *cache = open_cache(folder, MANY);
    if (!get_is_right(cache, &c) || c.runs != 0)
        return 2; /* it is read */
    if (!get_is_right(cache, &other) || other.runs != 1)
        return 3; /* what is missing is compiled */
    if (!get_is_right(cache, &other) || other.runs != 1)
        return 4; /* and kept in memory */
    nd_kernel_stats s = stats_of(cache);
    return !s.writable && s.disk_entries == 1 && s.memory_entries == 1 && warnings == 0 ? 0 : 5;
}

static void read_only(void)
{
    char command[128];
    compiler c = {.number = 1, .nbytes = 50};
    make_folder();
    nd_kernel_cache *cache = open_cache(folder, MANY);
    if (!get_is_right(cache, &c))
        bail("no kernel");
    nd__kernel_cache_destroy(cache);
    snprintf(command, sizeof command, "chmod -R a+rX,a-w %s", folder);
    if (system(command) != 0)
        bail(command);
    is_int(in_child(reads_only), 0,
           "W8 a folder that cannot be written is read; what is new stays in memory");
    remove_folder();
}

static int cannot_make(void)
{
    compiler c = {.number = 1, .nbytes = 50};
    nd_kernel_cache *cache = open_cache("/proc/nowhere/kernels", MANY);
    int right = get_is_right(cache, &c) && get_is_right(cache, &c) && c.runs == 1;
    return right && warnings == 1 && strstr(last_warning, "/proc/nowhere/kernels") ? 0 : 1;
}

static int world_writable(void)
{
    compiler c = {.number = 1, .nbytes = 50};
    chmod(folder, 0777);
    nd_kernel_cache *cache = open_cache(folder, MANY);
    return get_is_right(cache, &c) && stats_of(cache).stored == 0 && warnings == 1 &&
                   strstr(last_warning, "chmod o-w")
               ? 0
               : 1;
}

/* A folder whose path leaves no room for names in it is not used, whichever variable names it; one
 * that just leaves room is. */
static int long_path(size_t n)
{
    static char dir[8192];
    compiler c = {.number = 1, .nbytes = 50};
    size_t at = (size_t)snprintf(dir, sizeof dir, "%s", folder);
    while (at < n) {
        size_t part = n - at < 200 ? n - at : 200;
        memset(dir + at, 'x', part);
        dir[at] = part > 1 ? '/' : 'x';
        at += part;
    }
    dir[n] = 0;
    nd_kernel_cache *cache = open_cache(dir, MANY);
    bool fits = n < ND_STORE_DIR;
    if (!get_is_right(cache, &c) || stats_of(cache).stored != fits)
        return 2;
    return fits || (warnings && strstr(last_warning, "path of")) ? 0 : 3;
}
static int longest(void)
{
    return long_path(ND_STORE_DIR - 1);
}
static int too_long(void)
{
    for (size_t n = ND_STORE_DIR; n < ND_STORE_PATH + 80; n++)
        if (long_path(n) != 0)
            return 1;
    return long_path(8000);
}

static int link_in_place(void)
{
    char path[ND_STORE_PATH], other[128];
    compiler c = {.number = 1, .nbytes = 50};
    nd_kernel_cache *cache = open_cache(folder, MANY);
    if (!get_is_right(cache, &c))
        return 1;
    entry_path(1, path);
    snprintf(other, sizeof other, "%s/elsewhere", folder);
    if (rename(path, other) != 0 || symlink(other, path) != 0)
        return 2;
    return get_is_right(cache, &c) && c.runs == 2 ? 0 : 3;
}

static void not_trusted(void)
{
    make_folder();
    is_int(in_child(cannot_make), 0, "W8 a folder that cannot be made: memory only, one warning");
    is_int(in_child(link_in_place), 0, "an entry that is a symbolic link is not followed");
    is_int(in_child(longest), 0, "a folder with the longest path that leaves room for its entries");
    is_int(in_child(too_long), 0, "those with longer paths, up to 8000 bytes, are not used");
    is_int(in_child(world_writable), 0, "a folder that everyone can write is not used");
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
        c[i].sleep_us = 0;
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

TAP_MAIN({"choice", choice}, {"environment", environment}, {"stored", stored},
         {"key_parts", key_parts}, {"collision", collision}, {"fuzz", fuzz},
         {"wrapped_lengths", wrapped_lengths}, {"damaged_goes", damaged_goes},
         {"read_only", read_only}, {"not_trusted", not_trusted}, {"eviction", eviction},
         {"clear", clear}, {"failures", failures}, {"callbacks", callbacks})
