/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One plan of a Fourier transform that two streams use at once, and two threads at once, each on a
 * stream of its own: results have the bits that they have one after another, also where the plan is
 * forgotten while its work is queued, and the plan cache counts one plan and every use of it. On the
 * CPU and the simulated device, with ONE_PLAN_ON_CUDA on cuda:0 (tests/cuda/). */
#include <pthread.h>
#include <stdbool.h>
#include <ndock/ndock.h>
#include <ndock/sim.h>
#include "tests/tap.h"

enum { PAIR = 2, MOST = 2 * 16 * 1024 }; /* streams or threads; doubles of a result at most */

typedef struct {
    const char *name;
    nd_dtype dtype;
    int64_t shape[2];
} row;
static const row rows[] = {{"16 of 1024, c64", ND_C64, {16, 1024}},
                           {"of a prime length, c128", ND_C128, {1, 4099}},
                           {"of real numbers, 9 of 1000, f32", ND_F32, {9, 1000}},
                           {"of real numbers, an odd length, f64", ND_F64, {3, 945}}};

typedef struct {
    nd_array *in;
    nd_stream *stream;
    char want[MOST * sizeof(double)]; /* the result's bytes, computed alone */
    size_t nbytes;
} user;

static nd_device *device, *planner; /* who computes, in whose cache the plans are */
static const char *where;
static user users[PAIR];
static int rounds;

#define DO(call) done((call), #call, __LINE__)
static void done(nd_status status, const char *what, int line)
{
    if (status == ND_OK)
        return;
    tap_ok(0, __FILE__, line, "%s", what);
    bail(nd_last_error()->message);
}

/* Like is_int, with printf text. */
#define same(got, want, ...)                          \
    do {                                              \
        const long long got_ = (got), want_ = (want); \
        if (!ok(got_ == want_, __VA_ARGS__))          \
            diag("got %lld, want %lld", got_, want_); \
    } while (0)

static nd_plan_stats stats(void)
{
    nd_plan_stats s = {.size = sizeof s};
    DO(nd_plan_cache_stats(planner, &s));
    return s;
}

static int64_t uses(const nd_plan_stats *before)
{
    const nd_plan_stats now = stats();
    return now.hits + now.misses - before->hits - before->misses;
}

static nd_status transform(const nd_array *a, nd_array **r)
{
    const nd_dtype dtype = nd_dtype_of(a);
    return dtype == ND_F32 || dtype == ND_F64 ? nd_rfft(a, NULL, r) : nd_fft(a, NULL, r);
}

/* Numbers of a pattern that is the user's alone. */
static nd_array *numbers(const row *of, int number)
{
    static double values[MOST];
    const int64_t n = of->shape[0] * of->shape[1];
    const bool is_complex = of->dtype == ND_C64 || of->dtype == ND_C128;
    const nd_layout layout = {.size = sizeof layout,
                              .dtype = is_complex ? ND_C128 : ND_F64,
                              .ndim = 2,
                              .shape = of->shape};
    nd_array *wide = NULL, *a = NULL;
    for (int64_t i = 0; i < n * (is_complex ? 2 : 1); i++)
        values[i] = (double)((i * (37 + 4 * number) + i * i % 11) % 101) / 16 - 3;
    DO(nd_from_host(&layout, values, device, &wide));
    DO(nd_astype(wide, of->dtype, &a));
    nd_release(wide);
    return a;
}

/* Whether the result has the user's bits; takes the reference. */
static bool has_bits(const user *u, nd_array *r)
{
    char got[sizeof u->want];
    const bool same =
        nd_to_host(r, got, u->nbytes) == ND_OK && memcmp(got, u->want, u->nbytes) == 0;
    nd_release(r);
    return same;
}

/* Operands, streams, and results one after another. Returns how often a transform asks for its plan. */
static int64_t set_up(const row *of)
{
    nd_plan_stats before = {0};
    DO(nd_plan_cache_clear(planner));
    for (int i = 0; i < PAIR; i++) {
        user *u = &users[i];
        nd_array *r = NULL;
        u->in = numbers(of, i);
        DO(nd_stream_create(device, NULL, &u->stream));
        DO(nd_synchronize(device));
        before = stats();
        DO(transform(u->in, &r));
        u->nbytes = (size_t)nd_size(r) * nd_dtype_size(nd_dtype_of(r));
        if (u->nbytes > sizeof u->want)
            bail("a result without room");
        DO(nd_to_host(r, u->want, u->nbytes));
        nd_release(r);
        same(stats().misses - before.misses, i == 0, "%s: %s: %s", where, of->name,
             i == 0 ? "the first one makes the plan" : "the second one has it");
    }
    return uses(&before);
}

static void tear_down(void)
{
    for (int i = 0; i < PAIR; i++) {
        nd_release(users[i].in);
        nd_stream_release(users[i].stream);
    }
}

/* ---- two streams of one thread ---- */

/* Transforms on both streams in turn, none of which is waited for. The plan is forgotten after some, or never. */
static int on_streams(int64_t forget_at)
{
    nd_array *r[PAIR] = {NULL}, *kept[PAIR][4] = {{NULL}};
    int wrong = 0;
    for (int i = 0; i < rounds; i++) {
        if (i == forget_at)
            DO(nd_plan_cache_clear(planner));
        for (int k = 0; k < PAIR; k++) {
            DO(nd_stream_push(users[k].stream));
            DO(transform(users[k].in, &r[k]));
            DO(nd_stream_pop(users[k].stream));
            nd_release(kept[k][i % 4]);
            kept[k][i % 4] = r[k];
        }
    }
    DO(nd_synchronize(device));
    for (int k = 0; k < PAIR; k++)
        for (int i = 0; i < 4; i++)
            wrong += !has_bits(&users[k], kept[k][i]);
    return wrong;
}

static void two_streams(const row *of, int64_t asks)
{
    const nd_plan_stats before = stats();
    same(on_streams(-1), 0, "%s: %s: two streams with one plan have the same bits", where,
         of->name);
    same(stats().misses - before.misses, 0, "%s: %s: no second plan is made", where, of->name);
    same(uses(&before), asks * rounds * PAIR, "%s: %s: every use is a hit", where, of->name);
    same(stats().count, before.count, "%s: %s: and as many plans are kept", where, of->name);
    same(on_streams(rounds / 2), 0, "%s: %s: also when it is forgotten while queued work uses it",
         where, of->name);
    same(stats().in_flight, 0, "%s: %s: and none is left in flight", where, of->name);
}

/* ---- two threads, each on a stream of its own ---- */
static pthread_barrier_t begin;

static void *compute(void *arg)
{
    user *u = arg;
    intptr_t wrong = nd_stream_push(u->stream) != ND_OK;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < rounds; i++) {
        nd_array *r = NULL;
        if (transform(u->in, &r) != ND_OK)
            wrong++;
        else
            wrong += !has_bits(u, r);
    }
    wrong += nd_stream_pop(u->stream) != ND_OK;
    return (void *)wrong;
}

static intptr_t on_threads(void)
{
    pthread_t t[PAIR];
    intptr_t wrong = 0;
    pthread_barrier_init(&begin, NULL, PAIR);
    for (int i = 0; i < PAIR; i++)
        if (pthread_create(&t[i], NULL, compute, &users[i]) != 0)
            bail("no thread");
    for (int i = 0; i < PAIR; i++) {
        void *theirs = NULL;
        pthread_join(t[i], &theirs);
        wrong += (intptr_t)theirs;
    }
    pthread_barrier_destroy(&begin);
    return wrong;
}

static void two_threads(const row *of, int64_t asks)
{
    DO(nd_plan_cache_clear(planner));
    nd_plan_stats before = stats();
    same(on_threads(), 0, "%s: %s: two threads that make and use one plan have the same bits",
         where, of->name);
    const int64_t made = stats().misses - before.misses;
    ok(made >= 1 && made <= PAIR, "%s: %s: %lld of them asked for it before there was one", where,
       of->name, (long long)made);
    same(uses(&before), asks * rounds * PAIR, "%s: %s: every use is a hit or a miss", where,
         of->name);
    same(stats().count, 1, "%s: %s: one plan is kept", where, of->name);
    before = stats();
    same(on_threads(), 0, "%s: %s: again, with the plan that is there", where, of->name);
    same(stats().misses - before.misses, 0, "%s: %s: which both find", where, of->name);
    same(stats().in_flight, 0, "%s: %s: none is left in flight", where, of->name);
}

/* ---- devices ---- */
static const ndsim_control_1 *simulator(ndp_dev **dev)
{
    const void *table = NULL;
    return nd_device_group(device, NDSIM_GROUP, &table, dev) == ND_OK ? table : NULL;
}

static void on(const char *name, const char *whose)
{
    ndp_dev *dev = NULL;
    uint64_t races = 0;
    where = name;
    rounds = getenv("NDOCK_TEST_SLICE") ? 12 : 60;
    DO(nd_device_get(name, &device));
    DO(nd_device_get(whose, &planner));
    DO(nd_device_set_current(device));
    const ndsim_control_1 *sim = simulator(&dev);
    if (sim)
        DO(sim->set_checker(dev, 1));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int64_t asks = set_up(&rows[i]);
        two_streams(&rows[i], asks);
        two_threads(&rows[i], asks);
        tear_down();
    }
    if (!sim)
        return;
    DO(sim->race_count(dev, &races));
    same((int64_t)races, 0, "%s: the checker of races saw none", where);
    DO(sim->set_checker(dev, 0));
}

#ifdef ONE_PLAN_ON_CUDA
#include "tests/cuda/path.h"

__attribute__((constructor)) static void find_gpu(void)
{
    open_cuda(&device);
}

static void on_cuda(void)
{
    on("cuda:0", "cuda:0");
}
TAP_MAIN({"cuda", on_cuda})
#else
static void on_cpu(void)
{
    on("cpu", "cpu");
}

/* Its kernels are the CPU's, and so are their plans. */
static void on_sim(void)
{
    on("sim:0", "cpu");
}
TAP_MAIN({"cpu", on_cpu}, {"sim", on_sim})
#endif
