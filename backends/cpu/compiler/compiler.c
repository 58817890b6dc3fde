/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The machine's C compiler: where it is, and one run of it in a folder of its own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "compiler/compiler.h"

extern char **environ;

enum { MAX_OPTIONS = 64, LOG_BYTES = 16384 };

/* ---- which one ---- */
static int is_program(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && S_ISREG(st->st_mode) && access(path, X_OK) == 0;
}

/* name, or the first file of that name in a folder of PATH that is named in full; malloc'ed. */
static char *find_program(const char *name, struct stat *st)
{
    char path[PATH_MAX];
    const char *folder = getenv("PATH");
    if (strchr(name, '/'))
        return is_program(name, st) ? strdup(name) : NULL;
    while (folder && *folder) {
        const size_t n = strcspn(folder, ":");
        const int whole = snprintf(path, sizeof path, "%.*s/%s", (int)n, folder, name);
        if (folder[0] == '/' && whole < (int)sizeof path && is_program(path, st))
            return strdup(path);
        folder += n + (folder[n] == ':');
    }
    return NULL;
}

char *cpu_compiler(char *stamp, size_t n)
{
    static const char *const usual[] = {"cc", "gcc", "clang"};
    struct stat st;
    char *path = NULL;
    const char *wanted = cpu_set.cc ? cpu_set.cc : "auto";
    if (strcmp(wanted, "off") == 0)
        return NULL;
    if (strcmp(wanted, "auto") != 0)
        path = find_program(wanted, &st);
    else
        for (int i = 0; i < 3 && !path; i++)
            path = find_program(usual[i], &st);
    if (path)
        snprintf(stamp, n, "%s %lld %lld", path, (long long)st.st_size, (long long)st.st_mtime);
    return path;
}

/* ---- files of one run ---- */
typedef struct {
    char folder[PATH_MAX - 32], source[PATH_MAX], header[PATH_MAX], object[PATH_MAX], log[PATH_MAX];
} run_files;

static int make_folder(run_files *f)
{
    const char *tmp = getenv("TMPDIR");
    const int n = snprintf(f->folder, sizeof f->folder, "%s/ndock.XXXXXX",
                           tmp && tmp[0] == '/' ? tmp : "/tmp");
    if (n >= (int)sizeof f->folder || !mkdtemp(f->folder))
        return 0;
    snprintf(f->source, sizeof f->source, "%s/kernel.c", f->folder);
    snprintf(f->header, sizeof f->header, "%s/ndock_kernel.h", f->folder);
    snprintf(f->object, sizeof f->object, "%s/kernel.so", f->folder);
    snprintf(f->log, sizeof f->log, "%s/log", f->folder);
    return 1;
}

static void remove_folder(const run_files *f)
{
    (void)unlink(f->source);
    (void)unlink(f->header);
    (void)unlink(f->object);
    (void)unlink(f->log);
    (void)rmdir(f->folder);
}

static int write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return 0;
    const size_t n = strlen(text);
    const int written = fwrite(text, 1, n, file) == n;
    return fclose(file) == 0 && written;
}

/* The file's bytes, at most `most` of them, from the host, with a 0 behind; NULL: none. */
static char *read_file(const char *path, size_t most, uint64_t *nbytes)
{
    FILE *file = fopen(path, "re");
    struct stat st;
    char *bytes = NULL;
    *nbytes = 0;
    if (!file)
        return NULL;
    if (fstat(fileno(file), &st) == 0 && st.st_size > 0) {
        size_t n = (size_t)st.st_size < most ? (size_t)st.st_size : most;
        bytes = cpu_host->alloc(cpu_host->ctx, n + 1, 16);
        if (bytes && fread(bytes, 1, n, file) == n) {
            bytes[n] = 0;
            *nbytes = n;
        } else {
            cpu_host->free(cpu_host->ctx, bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

/* ---- one run ---- */
static const char *const level_flags[CPU_ISA_COUNT][8] = {
    {NULL},
    {"-mavx2", "-mfma", "-mf16c", "-mbmi2", NULL},
    {"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mbmi2", NULL},
    {"-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c", "-mbmi2", NULL},
};

static int add_words(char *text, const char **argv, int n)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\n", &rest); word && n < MAX_OPTIONS;
         word = strtok_r(NULL, " \t\n", &rest))
        argv[n++] = word;
    return n;
}

/* The environment without what this process had loaded into it, such as a sanitizer. */
static char **plain_environment(void)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **out = calloc(n + 1, sizeof *out);
    for (size_t i = 0; out && i < n; i++)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            out[kept++] = environ[i];
    return out;
}

/* Starts the compiler with its words going to the log, and waits. -1: it cannot be started. */
static int spawn_and_wait(const char *const *argv, const run_files *f)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int state = 0;
    char **environment = plain_environment();
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, f->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    const int err =
        posix_spawn(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                    environment ? environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(environment);
    if (err)
        return errno = err, -1;
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return 0; /* the program ignores its children: what was written tells */
    return WIFEXITED(state) ? WEXITSTATUS(state) : 1;
}

static int run_compiler(const char *compiler, const run_files *f, const char *options)
{
    static const char *const flags[] = {"-std=gnu11",
                                        "-O3",
                                        "-fPIC",
                                        "-shared",
                                        "-w",
                                        "-fwrapv",
                                        "-ffp-contract=off",
                                        "-fno-math-errno",
                                        "-fno-trapping-math",
                                        "-fno-strict-aliasing"};
    const char *argv[MAX_OPTIONS + 40] = {compiler};
    char text[2048];
    int n = 1;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        argv[n++] = flags[i];
    for (const char *const *flag = level_flags[cpu_isa()]; *flag; flag++)
        argv[n++] = *flag;
    snprintf(text, sizeof text, "%s", options);
    n = add_words(text, argv, n);
    const char *const rest[] = {"-I", f->folder, "-o", f->object, f->source, "-lm", NULL};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        argv[n++] = rest[i];
    return spawn_and_wait(argv, f);
}

int32_t cpu_compile(const char *compiler, const char *source, const char *options, void **code,
                    uint64_t *nbytes, char **log)
{
    run_files f;
    uint64_t n;
    *code = *log = NULL;
    *nbytes = 0;
    if (strlen(options) >= 2048)
        return cpu_error(NDP_ERR_ARGUMENT, "the options have %zu bytes; 2047 are the most",
                         strlen(options));
    if (!make_folder(&f))
        return cpu_error(NDP_ERR_UNSUPPORTED, "no folder for a run of %s can be made in %s: %s",
                         compiler, getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", strerror(errno));
    int32_t status = NDP_OK;
    if (!write_text(f.source, source) || !write_text(f.header, cpu_kernel_header))
        status = cpu_error(NDP_ERR_UNSUPPORTED, "a kernel's source cannot be written to %s: %s",
                           f.folder, strerror(errno));
    const int result = status == NDP_OK ? run_compiler(compiler, &f, options) : 0;
    if (status == NDP_OK)
        *log = read_file(f.log, LOG_BYTES, &n);
    if (result < 0)
        status =
            cpu_error(NDP_ERR_UNSUPPORTED, "%s cannot be started: %s", compiler, strerror(errno));
    else if (status == NDP_OK && result == 0)
        *code = read_file(f.object, (size_t)-2, nbytes);
    remove_folder(&f);
    if (status == NDP_OK && !*code)
        status = cpu_error(NDP_ERR_ARGUMENT, "%s", *log ? *log : "the compiler left no object");
    return status;
}
