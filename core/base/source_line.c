/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The line of source behind an address of this process, by addr2line, for reports of NDOCK_DEBUG.
 * A machine without that program, or where it takes too long, gives no lines. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/base/source_line.h"

enum { LIMIT_MS = 2000, BUDGET_MS = 10000 }; /* of one question, and of all of a process */
static atomic_int spent_ms; /* all of it, once the program was not there or did not answer */
extern char **environ;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

uint64_t nd__file_address(const void *address, const void *base)
{
    const ElfW(Ehdr) *file = base;
    const bool fixed = file->e_type == ET_EXEC; /* it lies where it was linked for */
    return (uint64_t)(uintptr_t)address - (fixed ? 0 : (uint64_t)(uintptr_t)base);
}

/* The main program is known by what it was called as, from a folder that may be another one now. */
static void file_name(const Dl_info *of, char *name, size_t n)
{
    Dl_info main_program;
    const void *headers = (const void *)(uintptr_t)getauxval(AT_PHDR);
    if (headers && dladdr(headers, &main_program) && main_program.dli_fbase == of->dli_fbase)
        snprintf(name, n, "/proc/%d/exe", (int)getpid());
    else
        snprintf(name, n, "%s", of->dli_fname);
}

/* Starts it with its output at *out; 0: it cannot be started. */
static pid_t start(const char *file, const char *address, int *out)
{
    char *argv[] = {(char *)(uintptr_t) "addr2line", (char *)(uintptr_t) "-e",
                    (char *)(uintptr_t)file, (char *)(uintptr_t)address, NULL};
    posix_spawn_file_actions_t files;
    int ends[2];
    pid_t pid = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return 0;
    bool started = posix_spawn_file_actions_init(&files) == 0;
    if (started) {
        started =
            posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
            posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO) == 0 &&
            posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) ==
                0 &&
            posix_spawnp(&pid, argv[0], &files, NULL, argv, environ) == 0;
        posix_spawn_file_actions_destroy(&files);
    }
    close(ends[1]);
    *out = ends[0];
    if (!started)
        close(ends[0]);
    return started ? pid : 0;
}

/* Its first line, while there is time. */
static bool read_line(int from, int64_t until, char *text, size_t n)
{
    size_t got = 0;
    text[0] = 0;
    while (got + 1 < n && !strchr(text, '\n')) {
        struct pollfd p = {.fd = from, .events = POLLIN};
        const int64_t left = until - now_ms();
        const int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        const ssize_t more = ready > 0 ? read(from, text + got, n - 1 - got) : -1;
        if (more <= 0)
            return false;
        got += (size_t)more;
        text[got] = 0;
    }
    text[strcspn(text, "\n")] = 0;
    return true;
}

/* "FILE:LINE", or "??:0" and the like where it does not know; "(discriminator 2)" may follow. */
static bool is_known(char *text)
{
    char *note = strstr(text, " (");
    if (note)
        *note = 0;
    const char *colon = strrchr(text, ':');
    return text[0] != '?' && colon && colon[1] >= '1' && colon[1] <= '9';
}

bool nd__source_line(const void *address, char *text, size_t n)
{
    Dl_info of;
    char name[4096], at[32];
    int from;
    const int64_t began = now_ms();
    if (atomic_load(&spent_ms) >= BUDGET_MS || !dladdr(address, &of) || !of.dli_fname)
        return false;
    file_name(&of, name, sizeof name);
    snprintf(at, sizeof at, "0x%llx", (unsigned long long)nd__file_address(address, of.dli_fbase));
    const pid_t pid = start(name, at, &from);
    if (!pid) {
        atomic_store(&spent_ms, BUDGET_MS);
        return false;
    }
    const bool answered = read_line(from, began + LIMIT_MS, text, n);
    close(from);
    if (!answered) {
        kill(pid, SIGKILL);
        atomic_store(&spent_ms, BUDGET_MS);
    }
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    atomic_fetch_add(&spent_ms, (int)(now_ms() - began));
    return answered && is_known(text);
}
