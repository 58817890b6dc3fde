/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group G: the process around the plug-in, which is not the plug-in's: its end, its children, its
 * signals, its other plug-ins, and its settings. */
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "abi.h"

extern char **environ;

static void slow_function(void *arg)
{
    (void)arg;
    abi_sleep_ms(30);
}

/* Ends as main does, with work of every kind queued. */
static void leave_pending(void *arg)
{
    (void)arg;
    abi_load();
    abi_open();
    ndp_mem *a = abi_alloc(1 << 20), *b = abi_alloc(1 << 20);
    ndp_stream *s = abi.has_stream ? abi_stream() : NULL;
    for (int i = 0; i < 20; i++) {
        if (abi.stream.launch_host)
            abi_call(abi.stream.launch_host(abi.dev, s, slow_function, NULL), "launch_host");
        if (abi.p.copy)
            abi_copy(s, b, 0, a, 0, 1 << 20);
    }
}

static void exit_pending(void)
{
    abi_child_must_end(leave_pending, NULL, "exit with work queued and the device open");
}

static void leave_closed(void *arg)
{
    uint32_t count = 0;
    char why[256] = "";
    (void)arg;
    abi_load();
    if (abi.p.probe(&count, why, sizeof why) != NDP_OK || count == 0)
        return;
    abi_life(false);
    abi.p.shutdown();
}

static void exit_clean(void)
{
    abi_child_must_end(leave_closed, NULL, "exit after close and shutdown");
}

static void life_of_child(void *arg)
{
    uint32_t count = 0;
    char why[256] = "";
    (void)arg;
    if (abi.p.probe(&count, why, sizeof why) == NDP_OK && count > 0)
        abi_life(false);
}

static void fork_before_open(void)
{
    abi_load();
    abi_child_must_end(life_of_child, NULL, "a child forked before open, which uses the device");
    life_of_child(NULL);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* A child of an opened device does not use it (the core refuses that), but it lives and ends. */
static void fork_after_open(void)
{
    unsigned char bytes[4096];
    ndp_mem *m = abi_alloc(sizeof bytes);
    abi_fill(bytes, sizeof bytes, 1);
    abi_write(NULL, m, 0, bytes, sizeof bytes);
    if (abi.p.copy)
        for (size_t i = 0; i < 16; i++) /* its threads are at work */
            abi_copy(NULL, m, 2048, m, 0, 16);
    abi_child_must_end(nothing, NULL, "a child forked after open, which ends by exit");
    abi_read(NULL, m, 0, bytes, 2048);
    abi_filled(bytes, 2048, 1, 0, "the parent's block after its child's end");
    abi_free(m);
    abi_close();
    abi.p.shutdown();
}

static atomic_int alarms; /* lock-free, as a handler needs it */

static void on_alarm(int signal)
{
    (void)signal;
    atomic_fetch_add(&alarms, 1);
}

/* A signal every 200 us, without SA_RESTART: what waits is interrupted again and again. */
static void signals(void)
{
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval storm = {{0, 200}, {0, 200}}, calm = {{0, 0}, {0, 0}};
    enum { BYTES = 1 << 20 };
    unsigned char *bytes = abi_bytes(BYTES);
    ndp_mem *a = abi_alloc(BYTES), *b = abi_alloc(BYTES);
    ndp_stream *s = abi.has_stream ? abi_stream() : NULL;
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &storm, NULL);
    for (uint64_t round = 0; round < 20; round++) {
        abi_fill(bytes, BYTES, round);
        abi_write(s, a, 0, bytes, BYTES);
        if (abi.stream.launch_host)
            abi_call(abi.stream.launch_host(abi.dev, s, slow_function, NULL), "launch_host");
        if (abi.p.copy)
            abi_copy(s, b, 0, a, 0, BYTES);
        abi_call(abi.p.sync(abi.dev, s), "sync while signals come");
        abi_read(s, abi.p.copy ? b : a, 0, bytes, BYTES);
        if (!abi_filled(bytes, BYTES, round, 0, "bytes moved while signals come"))
            break;
    }
    setitimer(ITIMER_REAL, &calm, NULL);
    abi_diag("%d signals came", atomic_load(&alarms));
}

/* ---- two plug-ins in one process ---- */
static int32_t open_second(const ndp_plugin **out, ndp_dev **dev)
{
    static ndp_host host;
    uint32_t count = 0;
    char why[256] = "";
    const ndp_plugin *second = NULL;
    abi_host_of(&host, "with");
    if (abi.with)
        second = abi_open_file(abi.with, &host);
    else if (strcmp(abi.p.name, "cpu") != 0)
        second = abi_other_plugin(&host, "cpu");
    if (!second || second->probe(&count, why, sizeof why) != NDP_OK || count == 0)
        abi_skip("there is no second plug-in to load: give one by --with FILE");
    *out = second;
    return second->open(0, dev);
}

static void check_second(const ndp_plugin *p, ndp_dev *dev, uint64_t tag)
{
    unsigned char bytes[5000];
    ndp_mem *m = NULL;
    abi_call(p->alloc(dev, sizeof bytes, &m), "alloc of the second plug-in");
    abi_fill(bytes, sizeof bytes, tag);
    abi_call(p->write(dev, NULL, m, 0, bytes, sizeof bytes), "write of the second plug-in");
    memset(bytes, 0, sizeof bytes);
    abi_call(p->read(dev, NULL, m, 0, bytes, sizeof bytes), "read of the second plug-in");
    abi_filled(bytes, sizeof bytes, tag, 0, "a block of the second plug-in");
    p->free(dev, m);
}

static void many(void)
{
    const ndp_plugin *second = NULL;
    ndp_dev *dev = NULL;
    unsigned char bytes[5000];
    abi_load();
    abi_call(open_second(&second, &dev), "open of the second plug-in");
    abi_open();
    for (uint64_t round = 0; round < abi.count; round++) {
        ndp_mem *m = abi_alloc(sizeof bytes);
        abi_fill(bytes, sizeof bytes, round);
        abi_write(NULL, m, 0, bytes, sizeof bytes);
        check_second(second, dev, round + 1);
        memset(bytes, 0, sizeof bytes);
        abi_read(NULL, m, 0, bytes, sizeof bytes);
        abi_filled(bytes, sizeof bytes, round, 0, "a block used between those of another plug-in");
        abi_free(m);
    }
    abi_close();
    abi.p.shutdown();
    check_second(second, dev, 3); /* lives on without this one */
    second->close(dev);
}

/* ---- what is the process's own ---- */
static void whole_life(void)
{
    abi_load();
    abi_open();
    abi_close();
    abi_life(false);
    ndp_mem *huge = NULL;
    abi_call(abi.p.open(0, &abi.dev), "open(0)");
    (void)abi.p.alloc(abi.dev, UINT64_MAX, &huge); /* a failure must be as quiet */
    abi_close();
    abi.p.shutdown();
}

static void no_output(void)
{
    struct stat now[2];
    char path[] = "/tmp/conform-abi-XXXXXX";
    int fd = mkstemp(path), saved[2] = {dup(1), dup(2)};
    abi_need(fd >= 0, "conform-abi itself can make no file in /tmp");
    unlink(path);
    dup2(fd, 1);
    dup2(fd, 2);
    whole_life();
    fflush(NULL);
    fstat(fd, &now[0]);
    dup2(saved[0], 1);
    dup2(saved[1], 2);
    char text[200] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    abi_expect(now[0].st_size == 0, "the plug-in prints %lld bytes: \"%.*s\"",
               (long long)now[0].st_size, n > 0 ? (int)n : 0, text);
}

/* All of it as one text. */
static char *environment(void)
{
    size_t n = 1;
    for (char **e = environ; *e; e++)
        n += strlen(*e) + 1;
    char *all = abi_bytes(n);
    for (char **e = environ; *e; e++)
        strcat(strcat(all, *e), "\n");
    return all;
}

static void no_env(void)
{
    char before[4096] = "", after[4096] = "";
    char *env = environment();
    mode_t mask = umask(022);
    umask(mask);
    abi_need(getcwd(before, sizeof before) != NULL, "conform-abi itself has no folder");
    whole_life();
    char *now = environment();
    abi_expect(strcmp(env, now) == 0, "the plug-in changes the environment");
    abi_expect(getcwd(after, sizeof after) && strcmp(before, after) == 0,
               "the plug-in changes the folder from %s to %s", before, after);
    mode_t mask_now = umask(mask);
    abi_expect(mask_now == mask, "the plug-in changes the umask from %03o to %03o", (unsigned)mask,
               (unsigned)mask_now);
}

static uint32_t fp_mode(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_stmxcsr() & ~UINT32_C(0x3f); /* without the flags of what happened */
#else
    return 0;
#endif
}

static void locale_fpu(void)
{
    struct sigaction before[65], now;
    char locale[1000];
    snprintf(locale, sizeof locale, "%s", setlocale(LC_ALL, NULL));
    for (int s = 1; s < 65; s++)
        sigaction(s, NULL, &before[s]);
    int round = fegetround(), trap = fegetexcept();
    uint32_t mode = fp_mode();
    whole_life();
    abi_expect(strcmp(locale, setlocale(LC_ALL, NULL)) == 0,
               "the plug-in changes the locale from %s to %s", locale, setlocale(LC_ALL, NULL));
    abi_expect(fegetround() == round, "the plug-in changes how floating-point numbers are rounded");
    abi_expect(fegetexcept() == trap, "the plug-in changes which floating-point exceptions trap");
    abi_expect(fp_mode() == mode,
               "the plug-in changes the floating-point mode (MXCSR) from 0x%x to 0x%x", mode,
               fp_mode());
    for (int s = 1; s < 65; s++) {
        memset(&now, 0, sizeof now);
        if (sigaction(s, NULL, &now) == 0)
            abi_expect(now.sa_handler == before[s].sa_handler,
                       "the plug-in installs a handler of signal %d (%s)", s, strsignal(s));
    }
}

static void threads_before_open(void)
{
    uint32_t count = 0;
    char why[512] = "";
    int before = abi_threads();
    ndp_device_info info = {.size = NDP_END(ndp_device_info, unique_id)};
    abi_load();
    int loaded = abi_threads();
    abi_expect(loaded <= before, "loading it starts %d threads", loaded - before);
    if (abi.p.probe(&count, why, sizeof why) == NDP_OK && count > 0)
        abi_call(abi.p.info(0, &info), "info(0)");
    int own = abi_plugin_threads();
    abi_expect(own <= 0, "it starts %d threads before open", own);
    if (own != 0 || abi_threads() > before)
        abi_diag("%d threads of others after probe and info", abi_threads() - before);
}

const abi_check abi_process_checks[] = {
    {"G.exit_pending", "the program may end with work queued", exit_pending, 0},
    {"G.exit_clean", "the program ends well after close and shutdown", exit_clean, 0},
    {"G.fork_before_open", "a child forked before open uses the device", fork_before_open, 0},
    {"G.fork", "a child forked after open may end, and the parent goes on", fork_after_open,
     ABI_DEVICE},
    {"G.signal", "signals interrupt nothing", signals, ABI_DEVICE},
    {"G.many", "another plug-in works beside it", many, 0},
    {"G.no_output", "nothing is printed", no_output, 0},
    {"G.no_env", "environment, folder and umask stay", no_env, 0},
    {"G.locale_fpu", "locale, floating-point mode and signal handlers stay", locale_fpu, 0},
    {"G.threads_before_open", "no thread is started before open", threads_before_open, 0},
    {NULL, NULL, NULL, 0}};
