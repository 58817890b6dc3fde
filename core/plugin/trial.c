/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in's first load happens in a program of its own, $(libexecdir)/ndock/ndock-probe, since
 * its constructors, its entry or its probe may crash or hang. The program is spawned, never forked
 * off: drivers of GPUs do not survive a fork. What came of it is kept in files (the store of
 * core/cache/), keyed by the file's build-id and the driver, so that each file is tried once.
 *
 * NDOCK_PLUGIN_PROBE=auto (the default) tries what is new, on tries every time, off tries nothing
 * and forgives everything. Where the program is not installed, auto tries nothing. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/cache/cache.h"
#include "core/plugin/loader.h"

extern char **environ;

enum { PROBE_AUTO, PROBE_ON, PROBE_OFF };
enum { DEFAULT_SECONDS = 30, STORE_BYTES = 1 << 20, KEY_BYTES = 1024 };

static int probe_mode(void)
{
    const char *text = nd__getenv("NDOCK_PLUGIN_PROBE");
    if (!text || strcmp(text, "auto") == 0)
        return PROBE_AUTO;
    if (strcmp(text, "on") == 0)
        return PROBE_ON;
    if (strcmp(text, "off") == 0)
        return PROBE_OFF;
    nd__log(ND_LOG_WARN, "NDOCK_PLUGIN_PROBE=%s is ignored: it is auto, on or off", text);
    return PROBE_AUTO;
}

static int probe_seconds(void)
{
    const char *text = nd__getenv("NDOCK_PLUGIN_PROBE_TIMEOUT");
    char *end = NULL;
    long seconds = text ? strtol(text, &end, 10) : DEFAULT_SECONDS;
    if (text && (*end || seconds < 1 || seconds > 3600)) {
        nd__log(ND_LOG_WARN,
                "NDOCK_PLUGIN_PROBE_TIMEOUT=%s is ignored: it is a number of seconds, 1 to 3600",
                text);
        seconds = DEFAULT_SECONDS;
    }
    return (int)seconds;
}

/* Beside this library as installed, so that an uninstalled one never runs another version's. */
static bool find_program(char path[PATH_MAX])
{
    const char *named = nd__getenv("NDOCK_PROBE_PROGRAM");
    Dl_info info;
    if (named) {
        snprintf(path, PATH_MAX, "%s", named);
        return named[0] == '/' && access(path, X_OK) == 0;
    }
    const char *slash = dladdr((void *)(uintptr_t)nd__quarantined, &info) && info.dli_fname &&
                                info.dli_fname[0] == '/'
                            ? strrchr(info.dli_fname, '/')
                            : NULL;
    const int n = slash ? (int)(slash - info.dli_fname) : 0;
    if (n == (int)strlen(ND_LIBDIR) && memcmp(info.dli_fname, ND_LIBDIR, (size_t)n) == 0)
        snprintf(path, PATH_MAX, "%s/ndock-probe", ND_LIBEXECDIR);
    else
        snprintf(path, PATH_MAX, "%.*s/../libexec/ndock/ndock-probe", n,
                 slash ? info.dli_fname : "");
    return n > 0 && access(path, X_OK) == 0;
}

/* Our own plug-ins, in our own folder and of our version, are as trusted as this library, and a
 * first start without a trial of each is faster. */
static bool is_ours(const nd_plugin_slot *slot)
{
    static const char *const names[] = {"cpu", "cuda", "sim"};
    if (slot->rank != ND_SOURCE_FOLDER || strcmp(slot->version, nd_version()) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(slot->name, names[i]) == 0)
            return true;
    return false;
}

/* ---- what is remembered ---- */

/* What identifies the kernel's side of GPU drivers, as far as it costs nothing to read. */
static void add_driver(nd_text *key)
{
    static const char *const files[] = {"/sys/module/nvidia/version", "/sys/module/amdgpu/version",
                                        "/sys/module/xe/version"};
    char text[64];
    struct utsname system;
    nd__text_add(key, " %s", uname(&system) == 0 ? system.release : "");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
        if (fd >= 0)
            close(fd);
        text[n > 0 ? n : 0] = 0;
        text[strcspn(text, "\n")] = 0;
        nd__text_add(key, " %s", text);
    }
}

static void make_key(const nd_plugin_slot *slot, nd_text *key)
{
    char id[ND_BUILD_ID_TEXT];
    struct stat st;
    nd__text_add(key, "trial 1 ndock %s ", nd_version());
    if (slot->file.build_id_bytes)
        nd__text_puts(key, nd__build_id_text(&slot->file, id));
    else if (stat(slot->real, &st) == 0)
        nd__text_add(key, "%llx:%llx:%llx:%llx.%lx", (unsigned long long)st.st_dev,
                     (unsigned long long)st.st_ino, (unsigned long long)st.st_size,
                     (unsigned long long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec);
    add_driver(key);
}

/* The folder beside the compiled kernels'. */
static void open_store(nd_kernel_store *store)
{
    const char *why, *own = nd__getenv("NDOCK_KERNEL_CACHE_DIR");
    char path[PATH_MAX + 16];
    char *kernels = nd__kernel_dir(own, nd__getenv("XDG_CACHE_HOME"), nd__getenv("HOME"), &why);
    if (kernels) {
        char *slash = strrchr(kernels, '/');
        const int n = own ? (int)strlen(kernels) : (int)(slash - kernels);
        snprintf(path, sizeof path, "%.*s/plugins", n, kernels);
    }
    nd__store_open(store, kernels ? path : NULL, STORE_BYTES);
    free(kernels);
}

/* ---- the trial ---- */
typedef struct {
    pid_t pid;
    int result; /* the pipe's end that we read */
} trial;

static bool set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, int write_end)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    return posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDWR, 0) == 0 &&
           posix_spawn_file_actions_adddup2(files, write_end, 3) == 0 &&
           posix_spawn_file_actions_adddup2(files, 0, 1) == 0 &&
           posix_spawn_file_actions_adddup2(files, 0, 2) == 0 &&
           posix_spawnattr_setsigdefault(attr, &all) == 0 &&
           posix_spawnattr_setsigmask(attr, &none) == 0 &&
           posix_spawnattr_setpgroup(attr, 0) == 0 &&
           posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETPGROUP) == 0;
}

static int start(trial *t, const char *program, const char *file)
{
    int ends[2];
    char *const argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)file,
                          (char *)(uintptr_t)nd_version(), NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    /* The read end must not become the program's descriptor 3. */
    int high = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
    int err = high < 0 || !set_up(&files, &attr, high)
                  ? ENOMEM
                  : posix_spawn(&t->pid, program, &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    close(ends[1]);
    if (high >= 0)
        close(high);
    t->result = ends[0];
    if (err)
        close(ends[0]);
    return err;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* What the program wrote by its end or by the deadline. *late: it is still at it. */
static void read_result(const trial *t, int seconds, char *text, size_t n, bool *late)
{
    const int64_t deadline = now_ms() + seconds * 1000;
    size_t have = 0;
    *late = false;
    text[0] = 0;
    while (have + 1 < n && !strstr(text, "done\n") && !strstr(text, "version\n")) {
        const int64_t left = deadline - now_ms();
        struct pollfd p = {.fd = t->result, .events = POLLIN};
        int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        *late = ready == 0;
        ssize_t got = ready > 0 ? read(t->result, text + have, n - 1 - have) : 0;
        if (got <= 0)
            break;
        have += (size_t)got;
        text[have] = 0;
    }
}

/* "was killed by signal 11 (SIGSEGV)" */
static void describe_end(int status, nd_text *why)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {{SIGSEGV, " (SIGSEGV)"}, {SIGABRT, " (SIGABRT)"}, {SIGBUS, " (SIGBUS)"},
                   {SIGILL, " (SIGILL)"},   {SIGFPE, " (SIGFPE)"},   {SIGKILL, " (SIGKILL)"},
                   {SIGTRAP, " (SIGTRAP)"}, {SIGSYS, " (SIGSYS)"}};
    if (!WIFSIGNALED(status)) {
        nd__text_add(why, "it ended the program that loaded it, with status %d",
                     WIFEXITED(status) ? WEXITSTATUS(status) : status);
        return;
    }
    nd__text_add(why, "it killed the program that loaded it by signal %d", WTERMSIG(status));
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (signals[i].number == WTERMSIG(status))
            nd__text_puts(why, signals[i].name);
}

/* 1: it does no harm; 0: why says which; -1: it could not be tried. */
static int try_it(const char *program, const nd_plugin_slot *slot, nd_text *why)
{
    trial t;
    char text[64];
    bool late;
    int status = 0, seconds = probe_seconds(), err = start(&t, program, slot->real);
    pid_t reaped;
    if (err) {
        nd__log(ND_LOG_WARN, "%s cannot be started (%s), so %s is loaded untried", program,
                strerror(err), slot->path);
        return -1;
    }
    read_result(&t, seconds, text, sizeof text, &late);
    if (late)
        (void)kill(-t.pid, SIGKILL);
    close(t.result);
    do
        reaped = waitpid(t.pid, &status, 0);
    while (reaped < 0 && errno == EINTR);
    if (strstr(text, "done\n"))
        return 1;
    if (strstr(text, "version\n") || (!late && !strstr(text, "start\n"))) {
        nd__log(ND_LOG_WARN, "%s does not run, or is of another ndock, so %s is loaded untried",
                program, slot->path);
        return -1;
    }
    if (late)
        nd__text_add(why, "it did not come back within %d s when it was loaded and probed",
                     seconds);
    else if (reaped == t.pid)
        describe_end(status, why);
    else /* a program that ignores SIGCHLD gets no status */
        nd__text_puts(why, "it ended the program that loaded it");
    return 0;
}

/* ---- the verdict ---- */

static void add_advice(nd_text *why, const nd_kernel_store *store, const char *entry, bool kept)
{
    nd__text_puts(why, "; it is not loaded here. Report it to its author");
    if (kept && store->dir)
        nd__text_add(why, ", or update it; to try this file again: rm '%s'", entry);
    nd__text_puts(why, "; NDOCK_PLUGIN_PROBE=off loads it all the same");
}

static bool try_and_keep(const nd_plugin_slot *slot, const char *program, bool fresh, nd_text *why)
{
    nd_kernel_store store;
    nd_text key = {0};
    uint8_t hash[32];
    char entry[ND_STORE_PATH] = "";
    void *kept = NULL;
    size_t nbytes = 0;
    nd_sha256 sha;
    int harmless;
    make_key(slot, &key);
    nd__sha256_init(&sha);
    nd__sha256_add(&sha, key.data ? key.data : "", key.len);
    nd__sha256_end(&sha, hash);
    open_store(&store);
    bool known = !fresh && nd__store_load(&store, hash, key.data, key.len, &kept, &nbytes);
    if (store.dir)
        nd__store_path(&store, hash, entry);
    if (known) { /* nothing, or why not */
        harmless = nbytes == 0;
        nd__text_bytes(why, kept, nbytes);
    } else {
        harmless = try_it(program, slot, why);
        known = harmless >= 0 && nd__store_save(&store, hash, key.data, key.len,
                                                why->data ? why->data : "", why->len);
    }
    free(kept);
    free(key.data);
    if (harmless == 0)
        add_advice(why, &store, entry, known);
    nd__store_close(&store);
    return harmless == 0;
}

bool nd__quarantined(nd_plugin_slot *slot, nd_text *why)
{
    const int mode = probe_mode();
    char program[PATH_MAX];
    if (mode == PROBE_OFF || (mode == PROBE_AUTO && is_ours(slot)))
        return false;
    if (find_program(program))
        return try_and_keep(slot, program, mode == PROBE_ON, why);
    if (mode == PROBE_ON)
        nd__text_add(why,
                     "NDOCK_PLUGIN_PROBE=on, and %s, which would try it first, is not there: "
                     "install it, or set auto or off",
                     program);
    return mode == PROBE_ON;
}
