/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random calls of every public function, by the table of tests/calls: each argument is a valid one,
 * NULL, or wrong: sizes of structs, negative counts, values that no enum has, arrays of other
 * shapes and dtypes that earlier calls made. Whatever is passed, the call returns, a failure has
 * its message and no result, and nothing is read or written that was not given; the sanitizers see
 * to the latter. What C cannot check is not tried: pointers to less than their count says.
 *
 *   calls.t [--seed N] [--calls N] [--seconds N]
 *
 * Calls are made in children of BATCH calls each, so that a crash is told with its seed and its
 * last call: `calls.t --seed N --calls 5000` repeats it. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/fuzz/fuzz_calls.h"
#include "tests/calls/calls.inc"
#include "tests/tap.h"

enum { BATCH = 5000, LATE_S = 120 };

/* What the parent reads of a child that has died. */
typedef struct {
    char text[512];
    long calls, refused;
    unsigned char made[ND_CALLS], done[ND_CALLS]; /* called; without an error */
} shared;
static shared *now;
static unsigned char ever_made[ND_CALLS], ever_done[ND_CALLS]; /* by any child */
uint64_t fuzz_state;
nd_array *fuzz_pool[POOL];

/* What ends an object, for which a caller who does so twice is beyond help; what prints; and what
 * would lift the cap that keeps arrays of 2^31 elements out. */
static bool left_out(const nd_call *c)
{
    static const char *const names[] = {"nd_release_all",    "nd_print",
                                        "nd_memory_cap_set", "nd_memory_cap_set_fraction",
                                        "nd_allocator_set",  NULL};
    return ends(c->name, "_release") || ends(c->name, "_retain") || ends(c->name, "_close") ||
           among(names, c->name);
}

/* ---- one call ---- */
static void note(const nd_call *c, const nd_value *v)
{
    int n = snprintf(now->text, sizeof now->text, "%s(", c->name);
    for (int i = 0; i < c->n && n < (int)sizeof now->text - 64; i++)
        n += c->argument[i].member == 'd'
                 ? snprintf(now->text + n, 64, "%s%g", i ? ", " : "", v[i].d)
                 : snprintf(now->text + n, 64, "%s%lld", i ? ", " : "", (long long)v[i].i);
}

static void wrong(const char *what)
{
    size_t n = strlen(now->text);
    snprintf(now->text + n, sizeof now->text - n, "): %s (%s)", what, nd_last_error()->message);
    _exit(3);
}

/* A failure says why, and leaves no array behind. */
static void judge(const nd_call *c, const nd_value *v, nd_value result)
{
    nd_status status = (nd_status)result.i;
    if (strcmp(c->result, "nd_status") != 0 || status == ND_OK)
        return;
    if (strcmp(c->name, "nd_custom_error") == 0) /* it returns what it is given */
        return;
    now->refused++;
    if (status < 0 || status >= ND_STATUS_END)
        wrong("it returned what is no status");
    if (nd_last_error()->status != status || !nd_last_error()->message[0])
        wrong("the failure has no message");
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->argument[i].type, "nd_array **") == 0 && v[i].p && *(nd_array **)v[i].p)
            wrong("a failure gave an array");
}

/* No extent is longer than the room for a list of arrays, which nd_unstack makes of an axis; one
 * without elements can be. */
static bool is_short(const nd_array *a)
{
    for (int d = 0; d < nd_ndim(a); d++)
        if (nd_shape(a)[d] > 500)
            return false;
    return true;
}

/* One array of the results goes to the pool, where it replaces another. */
static void keep(const nd_call *c, nd_value *v)
{
    for (int i = 0; i < c->n; i++) {
        nd_array **out = v[i].p;
        if (strcmp(c->argument[i].type, "nd_array **") != 0 || !out || !*out)
            continue;
        nd_array **place = &fuzz_pool[below(POOL)];
        if (nd_size(*out) > 4096 || !is_short(*out)) /* small ones, so that calls stay short */
            continue;
        nd_release(*place);
        *place = nd_retain(*out);
        return;
    }
}

/* Every other call is of the next function of the table, so that each has its turn. */
static void one_call(void)
{
    static unsigned turn;
    const int k = once_in(2) ? (int)(turn++ % ND_CALLS) : below(ND_CALLS);
    const nd_call *c = &nd_calls[k];
    nd_value v[ND_CALL_MAX], result = {0};
    if (left_out(c))
        return;
    for (int i = 0; i < c->n; i++) {
        v[i] = fuzz_widened(&c->argument[i], world_value(c, i), i);
        if (once_in(3))
            v[i] = fuzz_wild(c, &c->argument[i], v[i]);
    }
    note(c, v);
    c->call(v, &result);
    judge(c, v, result);
    now->calls++;
    bool succeeded = strcmp(c->result, "nd_status") != 0 || result.i == ND_OK;
    now->made[k] = 1;
    now->done[k] |= succeeded;
    if (succeeded && strcmp(c->result, "nd_status") == 0)
        keep(c, v);
    world_clear(c, v, succeeded);
}

/* What calls have set for the process: limits that would refuse all that follows, guards that were
 * pushed, and memory without an end. */
static void restore(void)
{
    nd_device *cpu = NULL;
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_device_set_current(cpu) != ND_OK ||
        nd_memory_cap_set(cpu, UINT64_C(256) << 20) != ND_OK ||
        nd_memory_conf_set("backend:caching,cross_stream:before_oom") != ND_OK)
        wrong("the process cannot be set back");
    nd_log_set(NULL, NULL, 0);
}

static void child(uint64_t seed, long calls)
{
    setenv("NDOCK_COMM_TIMEOUT", "20", 1); /* for ranks that nobody is */
    fuzz_state = seed;
    if (!world_make())
        wrong("the values for the calls cannot be made");
    for (int i = 0; i < POOL; i++) {
        const int64_t shape[3] = {1 + below(3), below(4), 2};
        if (nd_zeros(NULL, 1 + below(ND_DTYPE_END - 1), below(4), shape, &fuzz_pool[i]) != ND_OK)
            fuzz_pool[i] = NULL;
    }
    for (long i = 0; i < calls; i++) {
        if (i % 500 == 0)
            restore();
        one_call();
    }
    now->text[0] = 0;
    for (int i = 0; i < POOL; i++)
        nd_release(fuzz_pool[i]);
    world_remove_files();
    fflush(NULL);
    _exit(0);
}

static bool batch(uint64_t seed, long calls)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(LATE_S); /* a call that waits for ever is a failure too */
        child(seed, calls);
    }
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    diag("--seed %llu, %s %d, call %ld: %s", (unsigned long long)seed,
         WIFSIGNALED(status) ? "signal" : "exit status",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), now->calls, now->text);
    return false;
}

static long option(int argc, char **argv, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return atol(argv[i + 1]);
    return otherwise;
}

/* What a child has called. */
static void remember(void)
{
    for (int k = 0; k < ND_CALLS; k++) {
        ever_made[k] |= now->made[k];
        ever_done[k] |= now->done[k];
    }
}

/* How many functions were never called; those that never succeeded are told. */
static int unreached(void)
{
    int n = 0;
    for (int k = 0; k < ND_CALLS; k++) {
        const nd_call *c = &nd_calls[k];
        if (left_out(c))
            continue;
        n += !ever_made[k];
        if (!ever_done[k])
            diag("%s: %s", c->name, ever_made[k] ? "no call succeeded" : "never called");
    }
    return n;
}

int main(int argc, char **argv)
{
    const long seed = option(argc, argv, "--seed", 1), seconds = option(argc, argv, "--seconds", 0);
    const long calls = option(argc, argv, "--calls", seconds ? LONG_MAX : 2 * BATCH);
    const time_t end = time(NULL) + seconds;
    long made = 0, refused = 0, bad = 0;
    now = mmap(NULL, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (now == MAP_FAILED)
        bail("no shared memory");
    for (long i = 0; made < calls && bad < 20 && (!seconds || time(NULL) < end); i++) {
        *now = (shared){0};
        bad += !batch((uint64_t)(seed + i), calls - made < BATCH ? calls - made : BATCH);
        made += now->calls ? now->calls : 1;
        refused += now->refused;
        remember();
    }
    diag("%ld calls of %d functions, %ld of them refused", made, ND_CALLS, refused);
    ok(bad == 0, "random calls of the C API: none crashes, hangs, or fails without a word");
    ok(made < BATCH || unreached() == 0, "every function but those that end objects is called");
    ok(refused > made / 10 && refused < made * 9 / 10, "some are refused, and some are not");
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
