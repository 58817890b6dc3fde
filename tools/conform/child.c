/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program of the kit from start to end: its lines as they come, a limit on its silence, and
 * whatever it leaves behind ended with it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/conform/conform.h"

extern char **environ;

enum { SLICE_MS = 100, GRACE_MS = 1000 };

double conform_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Our own end takes the program with it, since its process group does not get the terminal's. */
static volatile sig_atomic_t running;

static void end_both(int signal_number)
{
    if (running > 0 && kill(-running, SIGKILL) == 0)
        waitpid(running, NULL, 0);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct sigaction now, action = {.sa_handler = end_both};
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
            sigaction(ends[i], &action, NULL);
    }
}

/* 0, or an errno. */
static int start(char *const *argv, const int *out, const int *errors, pid_t *pid)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t files;
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (out) {
        posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, errors[1], STDERR_FILENO);
    }
    int err = posix_spawn(pid, argv[0], &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return err;
}

typedef struct {
    int out, errors;
    nd_text pending; /* a line without its end */
    void (*line)(void *ctx, const char *text);
    void *ctx;
    conform_end *end;
    size_t errors_n;
} feed;

static void hand_out(feed *f)
{
    char *at = f->pending.data, *newline;
    for (; at && (newline = strchr(at, '\n')) != NULL; at = newline + 1) {
        *newline = 0;
        f->line(f->ctx, at);
    }
    size_t left = at ? strlen(at) : 0;
    if (left && at != f->pending.data)
        memmove(f->pending.data, at, left);
    f->pending.len = left;
    if (f->pending.data)
        f->pending.data[left] = 0;
}

/* Keeps the end. */
static void keep_errors(feed *f, const char *data, size_t n)
{
    char *kept = f->end->errors;
    size_t room = sizeof f->end->errors - 1;
    if (n > room) {
        data += n - room;
        n = room;
    }
    if (f->errors_n + n > room) {
        size_t cut = f->errors_n + n - room;
        memmove(kept, kept + cut, f->errors_n - cut);
        f->errors_n -= cut;
    }
    memcpy(kept + f->errors_n, data, n);
    f->errors_n += n;
    kept[f->errors_n] = 0;
}

/* Whether anything came. fd becomes -1 at its end. */
static bool take(feed *f, int *fd)
{
    char data[4096];
    ssize_t n = read(*fd, data, sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0) {
        close(*fd);
        *fd = -1;
        return false;
    }
    if (fd == &f->errors) {
        keep_errors(f, data, (size_t)n);
        return true;
    }
    for (ssize_t i = 0; i < n; i++)
        if (data[i]) /* texts end at a 0 */
            nd__text_bytes(&f->pending, data + i, 1);
    hand_out(f);
    return true;
}

static bool poll_once(feed *f, int ms)
{
    struct pollfd p[2] = {{.fd = f->out, .events = POLLIN}, {.fd = f->errors, .events = POLLIN}};
    bool any = false;
    if (poll(p, 2, ms) <= 0)
        return false;
    if (p[0].revents)
        any |= take(f, &f->out);
    if (p[1].revents)
        any |= take(f, &f->errors);
    return any;
}

/* Asks first, so that the program can say what it was doing. */
static void stop(feed *f, pid_t pid, int *status)
{
    kill(-pid, SIGTERM);
    double until = conform_now() + GRACE_MS / 1000.0;
    while (waitpid(pid, status, WNOHANG) == 0 && conform_now() < until)
        poll_once(f, SLICE_MS);
    kill(-pid, SIGKILL);
    waitpid(pid, status, 0);
}

static void follow(feed *f, pid_t pid, double limit)
{
    double heard = conform_now();
    int *status = &f->end->status;
    for (;;) {
        if (poll_once(f, SLICE_MS))
            heard = conform_now();
        if (f->out >= 0 || f->errors >= 0) {
            if (waitpid(pid, status, WNOHANG) == pid)
                break;
        } else if (waitpid(pid, status, 0) == pid) {
            break;
        }
        if (conform_now() - heard > limit) {
            f->end->timed_out = true;
            stop(f, pid, status);
            break;
        }
    }
    while ((f->out >= 0 || f->errors >= 0) && poll_once(f, 0))
        continue;
    kill(-pid, SIGKILL); /* what it may have started */
    if (f->pending.len)
        f->line(f->ctx, f->pending.data);
}

conform_end conform_spawn(char *const *argv, double limit, void (*line)(void *, const char *),
                          void *ctx)
{
    conform_end end = {.status = -1};
    int out[2] = {-1, -1}, errors[2] = {-1, -1};
    pid_t pid = 0;
    watch_signals();
    int err = line && (pipe2(out, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) ? errno : 0;
    if (!err)
        err = start(argv, line ? out : NULL, errors, &pid);
    if (line) {
        close(out[1]);
        close(errors[1]);
    }
    if (err) {
        snprintf(end.why, sizeof end.why, "%s cannot be run: %s", argv[0], strerror(err));
        close(out[0]);
        close(errors[0]);
        return end;
    }
    running = pid;
    if (line) {
        feed f = {.out = out[0], .errors = errors[0], .line = line, .ctx = ctx, .end = &end};
        follow(&f, pid, limit);
        if (f.out >= 0)
            close(f.out);
        if (f.errors >= 0)
            close(f.errors);
        free(f.pending.data);
    } else {
        while (waitpid(pid, &end.status, 0) < 0 && errno == EINTR)
            continue;
    }
    running = 0;
    return end;
}
