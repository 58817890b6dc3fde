/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A check for each thing that a plug-in could change; each is a row of checks[]. What belongs to a
 * thread alone (rounding, the signal mask) is not here: libndock puts that back. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/probe_state.h"

extern char **environ;

enum { FILES = 8, SIGNALS = 65, TIMERS = 3, MOST_ENVIRONMENT = 1 << 16 };

typedef struct {
    int fd;
    dev_t dev;
    ino_t ino;
} file_state;

static struct {
    file_state files[FILES];
    struct sigaction signals[SIGNALS];
    struct rlimit limits[RLIM_NLIMITS];
    struct itimerval timers[TIMERS];
    char locale[512], folder[PATH_MAX], environment[MOST_ENVIRONMENT];
    mode_t mask;
    pid_t group, session;
    off_t printed;
} before;

static file_state file_of(int fd)
{
    struct stat st;
    file_state f = {.fd = fd};
    if (fstat(fd, &st) == 0) {
        f.dev = st.st_dev;
        f.ino = st.st_ino;
    }
    return f;
}

/* One text of all variables, in their order. */
static void copy_environment(char *out, size_t n)
{
    size_t used = 0;
    out[0] = 0;
    for (char **v = environ; v && *v && used < n; v++)
        used += (size_t)snprintf(out + used, n - used, "%s\n", *v);
}

static mode_t file_mask(void)
{
    mode_t now = umask(077);
    umask(now);
    return now;
}

static void take_files(void)
{
    /* Descriptors beside the standard ones and the report's, low, middle and high, as a program
     * has them: who closes what is not its own meets one of these. */
    static const int wanted[FILES] = {0, 1, 2, 3, 4, 5, 60, 200};
    for (int i = 0; i < FILES; i++) {
        if (wanted[i] > 3)
            (void)fcntl(0, F_DUPFD_CLOEXEC, wanted[i]);
        before.files[i] = file_of(wanted[i]);
    }
}

void state_take(void)
{
    int out = memfd_create("standard output", MFD_CLOEXEC);
    if (out >= 0) {
        (void)dup2(out, STDOUT_FILENO);
        close(out);
    }
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L,
                0L); /* what goes to the background stays ours */
    take_files();
    for (int i = 1; i < SIGNALS; i++)
        (void)sigaction(i, NULL, &before.signals[i]);
    for (int i = 0; i < RLIM_NLIMITS; i++)
        (void)getrlimit(i, &before.limits[i]);
    for (int i = 0; i < TIMERS; i++)
        (void)getitimer(i, &before.timers[i]);
    snprintf(before.locale, sizeof before.locale, "%s", setlocale(LC_ALL, NULL));
    if (!getcwd(before.folder, sizeof before.folder))
        before.folder[0] = 0;
    copy_environment(before.environment, sizeof before.environment);
    before.mask = file_mask();
    before.group = getpgrp();
    before.session = getsid(0);
    before.printed = lseek(STDOUT_FILENO, 0, SEEK_END);
}

/* ---- checks: true, and the text, where something is not as it was ---- */

static bool files_closed(char *text, size_t n)
{
    for (int i = 0; i < FILES; i++) {
        const file_state now = file_of(before.files[i].fd);
        if (now.dev == before.files[i].dev && now.ino == before.files[i].ino)
            continue;
        snprintf(text, n, "it closes or replaces files that are not its own (descriptor %d)",
                 now.fd);
        return true;
    }
    return false;
}

/* Spaces for what does not print, so that the report stays a line. */
static void clean(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
}

static bool output_written(char *text, size_t n)
{
    char first[60];
    fflush(stdout);
    const off_t size = lseek(STDOUT_FILENO, 0, SEEK_END);
    if (size <= before.printed)
        return false;
    const ssize_t got = pread(STDOUT_FILENO, first, sizeof first - 1, before.printed);
    first[got > 0 ? got : 0] = 0;
    clean(first);
    snprintf(text, n, "it prints to standard output: \"%s\"", first);
    return true;
}

static bool locale_changed(char *text, size_t n)
{
    const char *now = setlocale(LC_ALL, NULL);
    if (strcmp(now, before.locale) == 0)
        return false;
    snprintf(text, n, "it sets the locale to %.200s", now);
    return true;
}

static bool signals_changed(char *text, size_t n)
{
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction now;
        memset(&now, 0, sizeof now);
        if (sigaction(i, NULL, &now) != 0 || now.sa_handler == before.signals[i].sa_handler)
            continue;
        snprintf(text, n, "it %s signal %d (%s)",
                 now.sa_handler == SIG_IGN   ? "ignores"
                 : now.sa_handler == SIG_DFL ? "resets what is done on"
                                             : "installs a handler of",
                 i, strsignal(i));
        return true;
    }
    return false;
}

static bool folder_changed(char *text, size_t n)
{
    char now[PATH_MAX] = "";
    if (getcwd(now, sizeof now) && strcmp(now, before.folder) == 0)
        return false;
    snprintf(text, n, "it changes the current folder to %.200s", now);
    return before.folder[0] != 0;
}

static bool mask_changed(char *text, size_t n)
{
    const mode_t now = file_mask();
    snprintf(text, n, "it sets the umask to %04o", (unsigned)now);
    return now != before.mask;
}

/* The first variable that one text has and the other has not. */
static void differing_variable(const char *a, const char *b, char *name, size_t n)
{
    char line[512];
    name[0] = 0;
    for (; *a && !name[0]; a += strcspn(a, "\n"), a += *a == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(a, "\n"), a);
        if (!strstr(b, line))
            snprintf(name, n, "%.*s", (int)strcspn(line, "="), line);
    }
}

static bool environment_changed(char *text, size_t n)
{
    static char now[MOST_ENVIRONMENT];
    char name[128];
    copy_environment(now, sizeof now);
    if (strcmp(now, before.environment) == 0)
        return false;
    differing_variable(now, before.environment, name, sizeof name);
    const bool set = name[0] != 0;
    if (!set)
        differing_variable(before.environment, now, name, sizeof name);
    snprintf(text, n, "it %s %s in the environment", set ? "sets" : "removes",
             name[0] ? name : "variables");
    return true;
}

static bool limits_changed(char *text, size_t n)
{
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        struct rlimit now = {0, 0};
        (void)getrlimit(i, &now);
        if (now.rlim_cur == before.limits[i].rlim_cur && now.rlim_max == before.limits[i].rlim_max)
            continue;
        snprintf(text, n, "it sets a resource limit (%s) to %llu",
                 i == RLIMIT_NOFILE  ? "RLIMIT_NOFILE"
                 : i == RLIMIT_STACK ? "RLIMIT_STACK"
                 : i == RLIMIT_AS    ? "RLIMIT_AS"
                 : i == RLIMIT_CORE  ? "RLIMIT_CORE"
                                     : "one of getrlimit(2)",
                 (unsigned long long)now.rlim_cur);
        return true;
    }
    return false;
}

static bool timers_set(char *text, size_t n)
{
    static const char *const names[TIMERS] = {"ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF"};
    for (int i = 0; i < TIMERS; i++) {
        struct itimerval now = {{0, 0}, {0, 0}};
        (void)getitimer(i, &now);
        if (!timerisset(&now.it_value) && !timerisset(&now.it_interval))
            continue;
        snprintf(text, n, "it starts a timer (%s)", names[i]);
        return true;
    }
    return false;
}

static bool group_changed(char *text, size_t n)
{
    snprintf(text, n, "it changes the process group or the session");
    return getpgrp() != before.group || getsid(0) != before.session;
}

/* A child that has ended is one as well: the program's own wait() would meet it. */
static bool children_left(char *text, size_t n)
{
    siginfo_t info = {0};
    snprintf(text, n, "it leaves a process that it has started");
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool state_changed(char *text, size_t n)
{
    static bool (*const checks[])(char *text, size_t n) = {
        files_closed,   output_written, locale_changed,      signals_changed,
        folder_changed, mask_changed,   environment_changed, limits_changed,
        timers_set,     group_changed,  children_left,
    };
    size_t used = 0;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && used + 32 < n; i++) {
        char one[320];
        if (!checks[i](one, sizeof one))
            continue;
        clean(one);
        used += (size_t)snprintf(text + used, n - used, "%s%s", used ? "; " : "", one);
        used = used < n ? used : n - 1;
    }
    return used > 0;
}
