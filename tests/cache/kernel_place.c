/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * W8: where the kernel cache lies, by the environment; folders that cannot be made, written or
 * trusted. */
#include <sys/wait.h>
#include "tests/cache/kernel_folder.h"

/* ---- the choice ---- */
static void is_dir(const char *variable, const char *xdg, const char *home, const char *want,
                   const char *what)
{
    const char *why;
    char *dir = nd__store_dir(variable, xdg, home, &why);
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

/* ---- not writable; not trusted ---- */
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

TAP_MAIN({"choice", choice}, {"environment", environment}, {"read_only", read_only},
         {"not_trusted", not_trusted})
