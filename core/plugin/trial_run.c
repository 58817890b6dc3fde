/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One trial: ndock-probe loads the plug-in in a process of its own. The program is spawned, never
 * forked off: drivers of GPUs do not survive a fork. It reports lines over a pipe, each of which
 * begins with a word that only this trial knows, so that nothing a plug-in writes to a descriptor
 * is taken for a verdict; and whatever the process does, the trial ends at its deadline. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "core/plugin/loader.h"

extern char **environ;

enum { WORD_BYTES = 16, MOST_TEXT = 2048 };
enum { SLICE_MS = 10, REAP_MS = 2000 };
enum { STATUS_CLOSED = 121 }; /* of tools/probe.c: it cannot report any more */

typedef struct {
    pid_t pid;
    int result; /* the pipe's end that we read; -1 after its end */
    char word[2 * WORD_BYTES + 1];
    char text[MOST_TEXT]; /* what has come so far */
    size_t have;
} trial;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A word that no plug-in can have been made to say. */
static void make_word(char word[2 * WORD_BYTES + 1])
{
    unsigned char bytes[WORD_BYTES] = {0};
    struct timespec t;
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        clock_gettime(CLOCK_REALTIME, &t); /* early at boot: the time and an address will do */
        const void *address = word;
        memcpy(bytes, &t.tv_nsec, sizeof t.tv_nsec);
        memcpy(bytes + sizeof t.tv_nsec, &address, sizeof address);
    }
    for (int i = 0; i < WORD_BYTES; i++)
        snprintf(word + 2 * (size_t)i, 3, "%02x", bytes[i]);
}

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

/* 0 or an errno. */
static int start(trial *t, const char *program, const char *file)
{
    int ends[2];
    char *const argv[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)file,
                          (char *)(uintptr_t)nd_version(), t->word, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    make_word(t->word);
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

/* ---- what the program says ---- */

/* The rest of the program's line that begins with this, without the line's end; NULL: there is
 * none yet. */
static char *find_line(trial *t, const char *what)
{
    char begin[2 * WORD_BYTES + 16];
    snprintf(begin, sizeof begin, "%s %s", t->word, what);
    char *at = strstr(t->text, begin), *end = at ? strchr(at, '\n') : NULL;
    return end ? at + strlen(begin) : NULL;
}

static bool has_verdict(trial *t)
{
    return find_line(t, "done") || find_line(t, "version") || find_line(t, "changed");
}

/* Waits at most ms for more of the pipe, or sleeps as long where the plug-in has closed it. */
static void listen(trial *t, int ms)
{
    struct pollfd p = {.fd = t->result, .events = POLLIN};
    if (poll(&p, 1, ms) <= 0 || t->result < 0)
        return;
    const size_t room = t->have < sizeof t->text - 1 ? sizeof t->text - 1 - t->have : 0;
    const ssize_t got = read(t->result, t->text + t->have, room);
    if (got < 0 && errno == EINTR)
        return;
    if (got <= 0) {
        close(t->result);
        t->result = -1;
        return;
    }
    for (ssize_t i = 0; i < got; i++)
        if (t->text[t->have + (size_t)i] == 0)
            t->text[t->have + (size_t)i] = ' '; /* texts end at a 0 */
    t->have += (size_t)got;
    t->text[t->have] = 0;
}

/* ---- its end ---- */

/* Without reaping it, so that nobody else can have its process id yet. */
static bool has_ended(const trial *t)
{
    siginfo_t info = {0};
    int rc;
    do
        rc = waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    while (rc != 0 && errno == EINTR);
    return rc != 0 || info.si_pid == t->pid; /* a program that ignores SIGCHLD: ECHILD */
}

/* Until a verdict, the program's end or the deadline; true: the deadline came first. */
static bool watch(trial *t, int seconds)
{
    const int64_t deadline = now_ms() + (int64_t)seconds * 1000;
    while (!has_verdict(t)) {
        const int64_t left = deadline - now_ms();
        const bool ended = has_ended(t);
        if (left <= 0 && !ended)
            return true;
        listen(t, ended ? 0 : left < SLICE_MS ? (int)left : SLICE_MS);
        if (ended)
            return false;
    }
    return false;
}

/* Ends the program and what it has started. It is waited for, but not for ever: a process can be
 * stuck in a driver. False: nobody knows how it ended. */
static bool reap(const trial *t, int *status)
{
    const struct timespec slice = {.tv_nsec = 1000000};
    (void)kill(-t->pid, SIGKILL);
    (void)kill(t->pid, SIGKILL); /* it may have left its group */
    for (int ms = 0; ms < REAP_MS; ms++) {
        const pid_t got = waitpid(t->pid, status, WNOHANG);
        if (got == t->pid)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        (void)nanosleep(&slice, NULL);
    }
    return false;
}

/* "it killed the program that loaded it by signal 11 (SIGSEGV)" */
static void describe_end(int status, nd_text *why)
{
    static const struct {
        int number;
        const char *name;
    } signals[] = {{SIGSEGV, " (SIGSEGV)"}, {SIGABRT, " (SIGABRT)"}, {SIGBUS, " (SIGBUS)"},
                   {SIGILL, " (SIGILL)"},   {SIGFPE, " (SIGFPE)"},   {SIGKILL, " (SIGKILL)"},
                   {SIGTRAP, " (SIGTRAP)"}, {SIGSYS, " (SIGSYS)"},   {SIGTERM, " (SIGTERM)"}};
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

static nd_trial_result judge(trial *t, bool late, int seconds, const int *status, nd_text *why)
{
    char *changed = find_line(t, "changed ");
    if (find_line(t, "done"))
        return ND_TRIAL_HARMLESS;
    if (find_line(t, "version") || (!late && !find_line(t, "start"))) {
        nd__text_puts(why, "does not run, or is of another ndock");
        return ND_TRIAL_UNTRIED;
    }
    if (changed) {
        *strchr(changed, '\n') = 0;
        nd__text_add(why, "it changes what belongs to the whole process: %s", changed);
    } else if (late) {
        nd__text_add(why, "it did not come back within %d s when it was loaded and probed",
                     seconds);
    } else if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == STATUS_CLOSED) {
        nd__text_puts(why, "it changes what belongs to the whole process: it closes files that are "
                           "not its own");
    } else if (status) {
        describe_end(*status, why);
    } else { /* a program that ignores SIGCHLD gets no status */
        nd__text_puts(why, "it ended the program that loaded it");
    }
    return ND_TRIAL_HARMFUL;
}

nd_trial_result nd__trial_run(const char *program, const char *file, int seconds, nd_text *why)
{
    trial t = {.result = -1};
    int status = 0;
    const int err = start(&t, program, file);
    if (err) {
        nd__text_add(why, "cannot be started (%s)", strerror(err));
        return ND_TRIAL_UNTRIED;
    }
    const bool late = watch(&t, seconds);
    const bool known = reap(&t, &status);
    if (t.result >= 0)
        close(t.result);
    return judge(&t, late, seconds, known ? &status : NULL, why);
}
