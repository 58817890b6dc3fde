/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Where messages go: the standard error output by default, limited; NDOCK_LOG's level and file; the
 * program's sink over both. Each case is a process of its own, since the environment is read once.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

static char said[8192];

/* What body writes to descriptor 2 in a child whose NDOCK_LOG is value (NULL: unset). */
static void run_child(const char *value, void (*body)(void))
{
    int ends[2], status = 0;
    size_t n = 0;
    said[0] = 0;
    if (pipe(ends) != 0)
        bail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        unsetenv("NDOCK_FALLBACK");
        if (value)
            setenv("NDOCK_LOG", value, 1);
        else
            unsetenv("NDOCK_LOG");
        body();
        exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + n, sizeof said - 1 - n)) > 0;)
        n += (size_t)got;
    said[n] = 0;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        diag("the child ended with status %d", status);
}

static int lines(void)
{
    int n = 0;
    for (const char *p = said; *p; p++)
        n += *p == '\n';
    return n;
}

/* Each wait is one warning: "synchronize waits for sim:0". */
static void warn(int times)
{
    nd_device *sim;
    if (nd_device_get("sim:0", &sim) != ND_OK || nd_sync_watch_set(ND_SYNC_WARN) != ND_OK)
        exit(1);
    for (int i = 0; i < times; i++)
        if (nd_synchronize(sim) != ND_OK)
            exit(1);
}
static void warn_once(void)
{
    warn(1);
}
static void warn_often(void)
{
    warn(30);
}

static void sink(void *ctx, int32_t level, const char *message)
{
    (void)ctx;
    (void)level;
    fprintf(stderr, "SINK %s\n", message);
}
static void warn_sink(void)
{
    nd_log_set(sink, NULL, ND_LOG_WARN);
    warn(1);
}
static void warn_after_sink(void)
{
    nd_log_set(sink, NULL, ND_LOG_WARN);
    nd_log_set(NULL, NULL, ND_LOG_WARN);
    warn(1);
}

static void levels(void)
{
    static const char text[] = "ndock: warning: synchronize waits for sim:0";
    run_child(NULL, warn_once);
    has_text(said, text, "without NDOCK_LOG a warning is a line on the standard error output");
    is_int(lines(), 1, "one line");
    run_child("off", warn_once);
    is_str(said, "", "off: silence");
    run_child("error", warn_once);
    is_str(said, "", "error: no warnings");
    run_child("debug", warn_once);
    has_text(said, text, "debug: warnings too");
    run_child("loud", warn_once);
    has_text(said, text, "what is no level counts as unset");
    has_text(said, "NDOCK_LOG=loud is not understood", "and is told");
}

static void limit(void)
{
    run_child("warn", warn_often);
    int n = lines();
    ok(n >= 10 && n < 20, "30 warnings at once are some ten lines");
    diag("%d lines", n);
    has_text(said, "further messages were left out", "which say that there were more");
    run_child("info", warn_often);
    ok(lines() >= 30, "at level info nothing is left out");
}

static void file(void)
{
    char folder[] = "/tmp/ndock-log-XXXXXX", path[64], value[80], kept[8192] = "";
    if (!mkdtemp(folder))
        bail("no temporary folder");
    snprintf(path, sizeof path, "%s/log", folder);
    snprintf(value, sizeof value, "warn:%s", path);
    run_child(value, warn_often);
    is_str(said, "", "with a file nothing is on the standard error output");
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, kept, sizeof kept - 1);
    ok(n > 0, "the file is there");
    snprintf(said, sizeof said, "%s", kept);
    is_int(lines(), 30, "and has every line");
    close(fd);
    unlink(path);
    rmdir(folder);
    run_child("warn:/no/such/folder/log", warn_once);
    has_text(said, "cannot be opened", "a file that cannot be opened is told");
    has_text(said, "synchronize waits", "and its messages are not lost");
}

static void sinks(void)
{
    run_child("off", warn_sink);
    is_str(said, "SINK synchronize waits for sim:0: synchronize\n",
           "a sink stands above NDOCK_LOG");
    run_child("off", warn_after_sink);
    has_text(said, "ndock: warning: synchronize waits", "NULL is the default sink again");
}

/* An operation of a program without a form for sim: it is staged. */
static nd_status shape_of(void *ctx, const nd_custom_shape *in, const void *params,
                          nd_custom_shape *out)
{
    (void)ctx;
    (void)params;
    *out = *in;
    return ND_OK;
}
static nd_status nothing(void *ctx, const nd_custom_view *in, const void *params,
                         const nd_custom_view *out)
{
    (void)ctx;
    (void)in;
    (void)params;
    (void)out;
    return ND_OK;
}
static void stage_two(void)
{
    nd_custom_def def = {.size = sizeof def, .n_in = 1, .n_out = 1, .shape = shape_of};
    static const char *const names[] = {"first_staged", "second_staged"};
    const int64_t shape[1] = {4};
    nd_device *sim;
    nd_array *a, *out;
    def.cpu = nothing;
    if (nd_device_get("sim:0", &sim) != ND_OK || nd_ones(sim, ND_F32, 1, shape, &a) != ND_OK)
        exit(1);
    for (int i = 0; i < 4; i++) {
        const nd_custom_op *op = nd_custom_find(names[i % 2]);
        const nd_array *in[1] = {a};
        def.name = names[i % 2];
        if ((!op && nd_custom_register(&def, &op) != ND_OK) ||
            nd_custom_apply(op, in, NULL, NULL, &out) != ND_OK)
            exit(1);
        nd_release(out);
    }
    nd_release(a);
}

static void fallbacks(void)
{
    run_child(NULL, stage_two);
    is_int(lines(), 2, "one line an operation that is staged");
    has_text(said, "first_staged is staged through the CPU on sim:0", "the first one");
    has_text(said, "copies its operands to the host and back", "says what it costs");
    has_text(said, "ndock info --suggest", "and what to run");
    const char *second = strstr(said, "second_staged");
    ok(second && !strstr(second, "--suggest"), "which the second one does not repeat");
}

TAP_MAIN({"levels", levels}, {"limit", limit}, {"file", file}, {"sinks", sinks},
         {"fallbacks", fallbacks})
