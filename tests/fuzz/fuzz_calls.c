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
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/calls/world.h"
#include "tests/calls/calls.inc"
#include "tests/tap.h"

enum { BATCH = 5000, POOL = 24, LIST = 128, LATE_S = 120 };

/* What the parent reads of a child that has died. */
typedef struct {
    char text[512];
    long calls, refused;
} shared;
static shared *now;
static uint64_t state;
static nd_array *pool[POOL]; /* arrays that calls made */

static uint32_t draw(void) /* SplitMix64 */
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32 ^ z);
}

static int below(int n)
{
    return (int)(draw() % (uint32_t)n);
}

static bool once_in(int n)
{
    return below(n) == 0;
}

static bool starts(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool ends(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool among(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

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

/* ---- values ---- */
static int64_t wild_number(void)
{
    static const int64_t values[] = {INT64_MIN, INT64_MIN + 1,
                                     INT64_MAX, INT64_MAX / 2,
                                     INT32_MIN, INT32_MAX,
                                     -1,        -2,
                                     -99,       0,
                                     1,         2,
                                     3,         7,
                                     64,        65,
                                     99,        4096,
                                     1 << 20,   (int64_t)1 << 40};
    return values[below((int)(sizeof values / sizeof values[0]))];
}

/* Counts of lists that the caller gives are negative, or no more than LIST entries: what lies
 * behind a pointer is the caller's word. Ranks that are too large are refused before they are used.
 */
static int64_t wild_count(void)
{
    static const int64_t values[] = {-1, INT32_MIN, INT64_MIN, 0, 1, 2, 3, 5, 8, 63, 64, 65, 100};
    return values[below((int)(sizeof values / sizeof values[0]))];
}

static bool is_count(const nd_call *c, const char *name)
{
    static const char *const names[] = {"n",      "ndim",     "naxes", "nreps", "count",
                                        "nbytes", "max_size", "room",  NULL};
    return among(names, name) || strstr(c->name, "memory_cap") || ends(c->name, "_cap_set");
}

static const int64_t *wild_list(const char *type)
{
    static int64_t wide[LIST];
    static int32_t narrow[LIST];
    for (int i = 0; i < LIST; i++) {
        int64_t v = once_in(8) ? wild_number() : below(5) - 1;
        wide[i] = v;
        narrow[i] = (int32_t)v;
    }
    return strstr(type, "int64_t") ? wide : (const int64_t *)(const void *)narrow;
}

static nd_array *some_array(void)
{
    return pool[below(POOL)];
}

static const nd_array *const *array_list(void)
{
    static const nd_array *list[LIST];
    for (int i = 0; i < LIST; i++)
        list[i] = once_in(16) ? NULL : some_array();
    return list;
}

/* Options of which nothing but the size is sure: all else is zero, which means defaults. */
static void *sized(void)
{
    static const uint32_t sizes[] = {0, 1, 3, 4, 5, 8, 12, 16, 24, 40, 64, 200, 4096, UINT32_MAX};
    static union {
        max_align_t align;
        uint32_t size;
        char bytes[4096];
    } record;
    memset(&record, 0, sizeof record);
    record.size = sizes[below((int)(sizeof sizes / sizeof sizes[0]))];
    return record.size == UINT32_MAX
               ? NULL
               : &record; /* larger than the record: again the caller's word */
}

static void *reduce_options(void)
{
    static nd_reduce_opts o;
    o = (nd_reduce_opts){.size = once_in(4) ? (uint32_t)below(80) : sizeof o,
                         .dtype = (nd_dtype)(once_in(3) ? wild_number() : 0),
                         .axes = once_in(3) ? NULL
                                            : (const int32_t *)(const void *)wild_list("int32_t"),
                         .naxes = (int32_t)wild_count(),
                         .keepdims = below(3) - 1,
                         .correction = below(4) - 1};
    return &o;
}

static double wild_real(void)
{
    static const double values[] = {0, -0.0, 1, -1, 0.5, 1e300, -1e300, 1e-320};
    int i = below(10);
    return i < 8 ? values[i] : i == 8 ? (double)NAN : (double)INFINITY;
}

static nd_scalar wild_scalar(void)
{
    nd_scalar s = once_in(3)   ? nd_float(wild_real())
                  : once_in(2) ? nd_int(wild_number())
                               : nd_bool(below(2));
    if (once_in(20))
        s.kind = (nd_dtype)wild_number();
    return s;
}

static void *wild_pointer(const nd_call_argument *a, void *valid)
{
    if (strcmp(a->type, "const nd_array *") == 0 || strcmp(a->type, "nd_array *") == 0)
        return some_array();
    if (strcmp(a->type, "const nd_array *const *") == 0)
        return (void *)(uintptr_t)array_list();
    if (strcmp(a->type, "const nd_reduce_opts *") == 0)
        return reduce_options();
    if (ends(a->type, "_opts *") && !strstr(a->type, "module") && !strstr(a->type, "launch"))
        return sized();
    bool list = strcmp(a->type, "const int64_t *") == 0 || strcmp(a->type, "const int32_t *") == 0;
    return list ? (void *)(uintptr_t)wild_list(a->type) : valid;
}

/* Lists that stay as the world has them, so that counts must not be more than they hold. */
static bool counts_something_short(const nd_call *c)
{
    static const char *const lists[] = {"const nd_arg *",
                                        "const nd_index *",
                                        "nd_stream *const *",
                                        "const nd_named_array *",
                                        "const nd_warmup_item *",
                                        "const nd_launch_arg *",
                                        "const int64_t *const *",
                                        "const void *",
                                        "void *",
                                        NULL};
    for (int i = 0; i < c->n; i++)
        if (among(lists, c->argument[i].type) || strstr(c->argument[i].type, "nd_plugin_report") ||
            strstr(c->argument[i].type, "nd_library_report"))
            return true;
    return false;
}

/* Memory of the caller's that is described by another argument. */
static bool describes_memory(const nd_call *c)
{
    return starts(c->name, "nd_wrap") || starts(c->name, "nd_from_host") ||
           starts(c->name, "nd_host_") || starts(c->name, "nd_cai") || strstr(c->name, "launch") ||
           strstr(c->name, "native") || strstr(c->name, "wrap") || strstr(c->name, "ptr_info");
}

static nd_value wild_value(const nd_call *c, const nd_call_argument *a, nd_value valid)
{
    bool output = strstr(a->type, "**") && !strstr(a->type, "const *");
    if (a->member == 'p' && once_in(12))
        return (nd_value){.p = NULL};
    if (a->member == 'f' && once_in(6))
        return (nd_value){.p = NULL};
    if (a->member == 'p' && !output && !describes_memory(c))
        return (nd_value){.p = wild_pointer(a, valid.p)};
    if (a->member == 'd')
        return (nd_value){.d = wild_real()};
    if (a->member == 's')
        return (nd_value){.s = wild_scalar()};
    if (a->member != 'i')
        return valid;
    if (is_count(c, a->name) || describes_memory(c))
        return (nd_value){.i = counts_something_short(c) || describes_memory(c) ? -1 - below(3)
                                                                                : wild_count()};
    return (nd_value){.i = wild_number()};
}

/* The world's lists hold two entries; these go on as far as any count may say. */
static nd_value widened(const nd_call_argument *a, nd_value v, int i)
{
    static int64_t wide[ND_CALL_MAX][LIST];
    static int32_t narrow[ND_CALL_MAX][LIST];
    static const nd_array *arrays[ND_CALL_MAX][LIST];
    for (int k = 0; v.p && k < LIST; k++)
        if (strcmp(a->type, "const int64_t *") == 0)
            wide[i][k] = k < 2 ? ((const int64_t *)v.p)[k] : 1;
        else if (strcmp(a->type, "const int32_t *") == 0)
            narrow[i][k] = k < 2 ? ((const int32_t *)v.p)[k] : 0;
        else if (strcmp(a->type, "const nd_array *const *") == 0)
            arrays[i][k] = ((const nd_array *const *)v.p)[k % 2];
    if (v.p && strcmp(a->type, "const int64_t *") == 0)
        v.p = wide[i];
    else if (v.p && strcmp(a->type, "const int32_t *") == 0)
        v.p = narrow[i];
    else if (v.p && strcmp(a->type, "const nd_array *const *") == 0)
        v.p = arrays[i];
    return v;
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

/* One array of the results goes to the pool, where it replaces another. */
static void keep(const nd_call *c, nd_value *v)
{
    for (int i = 0; i < c->n; i++) {
        nd_array **out = v[i].p;
        if (strcmp(c->argument[i].type, "nd_array **") != 0 || !out || !*out)
            continue;
        nd_array **place = &pool[below(POOL)];
        if (nd_size(*out) > 4096) /* small ones, so that calls stay short */
            continue;
        nd_release(*place);
        *place = nd_retain(*out);
        return;
    }
}

static void one_call(void)
{
    const nd_call *c = &nd_calls[below(ND_CALLS)];
    nd_value v[ND_CALL_MAX], result = {0};
    if (left_out(c))
        return;
    for (int i = 0; i < c->n; i++) {
        v[i] = widened(&c->argument[i], world_value(c, i), i);
        if (once_in(3))
            v[i] = wild_value(c, &c->argument[i], v[i]);
    }
    note(c, v);
    c->call(v, &result);
    judge(c, v, result);
    now->calls++;
    bool succeeded = strcmp(c->result, "nd_status") != 0 || result.i == ND_OK;
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
    state = seed;
    if (!world_make())
        wrong("the values for the calls cannot be made");
    for (int i = 0; i < POOL; i++) {
        const int64_t shape[3] = {1 + below(3), below(4), 2};
        if (nd_zeros(NULL, 1 + below(ND_DTYPE_END - 1), below(4), shape, &pool[i]) != ND_OK)
            pool[i] = NULL;
    }
    for (long i = 0; i < calls; i++) {
        if (i % 500 == 0)
            restore();
        one_call();
    }
    now->text[0] = 0;
    for (int i = 0; i < POOL; i++)
        nd_release(pool[i]);
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
    }
    diag("%ld calls of %d functions, %ld of them refused", made, ND_CALLS, refused);
    ok(bad == 0, "random calls of the C API: none crashes, hangs, or fails without a word");
    ok(refused > made / 10 && refused < made * 9 / 10, "some are refused, and some are not");
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
