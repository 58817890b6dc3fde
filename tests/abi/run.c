/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One check in a child process: its report, what it or the plug-in printed, how it ended, and a
 * limit of time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi.h"

#if defined(__SANITIZE_ADDRESS__)
/* A child ends in the midst of its work; what a plug-in leaves behind is C.leaks's affair. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}
#endif

typedef struct {
    char text[16384]; /* whole lines so far, cut where there is too much */
    size_t n;
    char line[1024];
    size_t n_line;
    char skip[512];
    int failures;
    bool ended;
} report;

static void keep(report *r, const char *fmt, ...) NDP_PRINTF(2, 3);
static void keep(report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(r->text + r->n, sizeof r->text - r->n, fmt, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < sizeof r->text - r->n)
        r->n += (size_t)n;
    r->text[r->n] = 0;
}

static void take_line(report *r)
{
    switch (r->line[0]) {
    case 'F':
        if (r->failures++ < 20)
            keep(r, "# %s\n", r->line + 1);
        break;
    case 'S':
        snprintf(r->skip, sizeof r->skip, "%s", r->line + 1);
        break;
    case 'E':
        r->ended = true;
        break;
    default:
        keep(r, "# %s\n", r->line + 1);
    }
}

static void take_report(report *r, const char *data, ssize_t n)
{
    for (ssize_t i = 0; i < n; i++) {
        if (data[i] != '\n') {
            if (r->n_line < sizeof r->line - 1)
                r->line[r->n_line++] = data[i];
            continue;
        }
        r->line[r->n_line] = 0;
        take_line(r);
        r->n_line = 0;
    }
}

static bool run_needs(uint32_t needs)
{
    if (needs)
        abi_load();
    if (needs & ~(uint32_t)ABI_LOADED)
        abi_open();
    if ((needs & ABI_STREAMS) && !abi.has_stream)
        abi_skip("the device has no ndp.stream/1, or does not say NDP_DEV_ASYNC");
    if ((needs & ABI_COPY) && !abi.p.copy)
        abi_skip("the plug-in has no copy");
    return true;
}

_Noreturn static void child(const abi_check *check, int report_fd, int output_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing stays behind where a runner loses patience */
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(output_fd, 1);
    dup2(output_fd, 2);
    close(null);
    close(output_fd);
    abi_report_to(report_fd);
    abi.id = check->id;
    abi_host_init();
    run_needs(check->needs);
    check->run();
    abi_end();
}

/* Collects both pipes until they are closed or the time is over; false: it is over. */
static bool collect(int report_fd, int output_fd, report *r, report *output)
{
    struct pollfd p[2] = {{report_fd, POLLIN, 0}, {output_fd, POLLIN, 0}};
    double end = abi_seconds() + abi.timeout_s;
    char data[4096];
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        double left = r->ended ? 0.2 : end - abi_seconds();
        int ready = left > 0 ? poll(p, 2, (int)(left * 1e3) + 1) : 0;
        if (ready == 0)
            return r->ended;
        for (int i = 0; i < 2 && ready > 0; i++) {
            if (!p[i].revents)
                continue;
            ssize_t n = read(p[i].fd, data, sizeof data);
            if (n <= 0)
                p[i].fd = -1;
            else if (i == 0)
                take_report(r, data, n);
            else
                keep(output, "%.*s", (int)n, data);
        }
    }
    return true;
}

static void show_output(const report *output)
{
    const char *p = output->text;
    for (int lines = 0; *p && lines < 60; lines++) {
        size_t n = strcspn(p, "\n");
        printf("# printed: %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static void show(const abi_check *check, int number, const report *r, const report *output)
{
    bool ok = r->failures == 0;
    printf("%sok %d - %s: %s%s%s\n", ok ? "" : "not ", number, check->id, check->what,
           ok && r->skip[0] ? " # SKIP " : "", ok ? r->skip : "");
    fputs(r->text, stdout);
    if (!ok) {
        show_output(output);
        printf("# replay: %s@%llu\n", check->id, (unsigned long long)abi.seed);
    }
    fflush(stdout);
}

bool abi_run(const abi_check *check, int number)
{
    int to_report[2], to_output[2], status = 0;
    char inside[400];
    static report r, output;
    memset(&r, 0, sizeof r);
    memset(&output, 0, sizeof output);
    fflush(stdout);
    if (pipe2(to_report, O_CLOEXEC) != 0 || pipe2(to_output, O_CLOEXEC) != 0) {
        printf("not ok %d - %s: no pipe: %s\n", number, check->id, strerror(errno));
        return false;
    }
    abi_flight_begin();
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0); /* so that what it forks can be ended with it */
        close(to_report[0]);
        close(to_output[0]);
        child(check, to_report[1], to_output[1]);
    }
    close(to_report[1]);
    close(to_output[1]);
    bool in_time = pid > 0 && collect(to_report[0], to_output[0], &r, &output);
    close(to_report[0]);
    close(to_output[0]);
    if (pid > 0) {
        if (!in_time || r.ended)
            kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (!r.ended && abi_in_flight(inside, sizeof inside))
        keep(&r, "# inside the plug-in's %s\n", inside);
    if (!in_time)
        keep(&r, "# it did not end within %u s and was killed\n", abi.timeout_s);
    else if (!r.ended && WIFSIGNALED(status))
        keep(&r, "# it died of signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!r.ended)
        keep(&r, "# the plug-in ended the process, with status %d\n", WEXITSTATUS(status));
    r.failures += !r.ended;
    show(check, number, &r, &output);
    return r.failures == 0;
}

int abi_child(void (*fn)(void *arg), void *arg, unsigned timeout_s)
{
    int status = 0;
    pid_t pid = fork();
    abi_need(pid >= 0, "no process: %s", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        fn(arg);
        exit(0);
    }
    for (double end = abi_seconds() + timeout_s; abi_seconds() < end; abi_sleep_ms(1)) {
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid)
            return status;
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

void abi_child_must_end(void (*fn)(void *arg), void *arg, const char *what)
{
    unsigned limit = abi.timeout_s > 4 ? abi.timeout_s / 2 : abi.timeout_s;
    int status = abi_child(fn, arg, limit);
    if (status == -1)
        abi_fail("%s: it did not end within %u s", what, limit);
    else if (WIFSIGNALED(status))
        abi_fail("%s: it died of signal %d (%s)", what, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        abi_expect(WEXITSTATUS(status) == 0, "%s: the process ended with status %d", what,
                   WEXITSTATUS(status));
}
