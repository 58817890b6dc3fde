/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * FFTW 3, opened at run time. Each transform goes through dense memory of a thread's own, so that
 * any strides are served and operands stay as they are; plans are FFTW's estimates, of one length,
 * kept in the device's plan cache. Making and destroying plans is FFTW's to do one at a time;
 * running them is not. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fft/fftw.h"
#include "fft/line.h"
#include "host/choice.h"

enum { DESTROY_INPUT = 1, UNALIGNED = 2, ESTIMATE = 64 }; /* of fftw3.h */

typedef struct {
    void *(*plan_dft_1d)(int n, void *in, void *out, int sign, unsigned flags);
    void *(*plan_dft_r2c_1d)(int n, void *in, void *out, unsigned flags);
    void *(*plan_dft_c2r_1d)(int n, void *in, void *out, unsigned flags);
    void (*execute_dft)(void *plan, void *in, void *out);
    void (*execute_dft_r2c)(void *plan, void *in, void *out);
    void (*execute_dft_c2r)(void *plan, void *in, void *out);
    void (*destroy_plan)(void *plan);
} library;
static library fftw[2]; /* double, single */
static const char *missing;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

/* ---- the library ---- */

static int open_one(const char *soname, const char *prefix, library *out)
{
    static const char *const names[] = {"plan_dft_1d", "plan_dft_r2c_1d", "plan_dft_c2r_1d",
                                        "execute_dft", "execute_dft_r2c", "execute_dft_c2r",
                                        "destroy_plan"};
    void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    char name[40];
    for (size_t i = 0; lib && i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "%s_%s", prefix, names[i]);
        void *symbol = dlsym(lib, name);
        if (!symbol)
            return 0;
        /* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
        memcpy((char *)out + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return lib != NULL;
}

static void open_all(void)
{
    if (!open_one("libfftw3.so.3", "fftw", &fftw[0]))
        missing = "libfftw3.so.3";
    else if (!open_one("libfftw3f.so.3", "fftwf", &fftw[1]))
        missing = "libfftw3f.so.3";
}

int cpu_fftw_wanted(void)
{
    return cpu_fft_library && strcmp(cpu_fft_library, "fftw") == 0;
}

int cpu_fftw_serves(char *why, size_t n)
{
    if (!cpu_fftw_wanted())
        return 1;
    pthread_once(&once, open_all);
    if (missing)
        snprintf(why, n,
                 "NDOCK_CPU_FFT=fftw: %s cannot be opened; install FFTW 3 (Debian and Ubuntu: "
                 "libfftw3-double3 and libfftw3-single3), or leave the variable out for the own "
                 "kernels",
                 missing);
    return missing == NULL;
}

/* ---- plans ---- */
typedef struct {
    char name[8];
    int64_t n;
    int32_t kind, single, sign, zero;
} plan_key;
typedef struct {
    const library *f;
    void *plan;
} plan;

static int64_t complex_count(const plan_key *k)
{
    return k->kind == CPU_FFT_COMPLEX ? k->n : k->n / 2 + 1;
}

static void plan_free(void *value)
{
    plan *p = value;
    if (p) {
        pthread_mutex_lock(&planner);
        p->f->destroy_plan(p->plan);
        pthread_mutex_unlock(&planner);
    }
    free(p);
}

static int32_t plan_make(void *arg, void **value, uint64_t *nbytes)
{
    const plan_key *k = arg;
    const unsigned flags = DESTROY_INPUT | UNALIGNED | ESTIMATE;
    const size_t room = (size_t)complex_count(k) * (k->single ? 8 : 16);
    const library *f = &fftw[k->single];
    plan *p = calloc(1, sizeof *p);
    void *in = malloc(room), *out = malloc(room);
    if (p && in && out) {
        const int n = (int)k->n;
        p->f = f;
        pthread_mutex_lock(&planner);
        p->plan = k->kind == CPU_FFT_COMPLEX      ? f->plan_dft_1d(n, in, out, k->sign, flags)
                  : k->kind == CPU_FFT_TO_COMPLEX ? f->plan_dft_r2c_1d(n, in, out, flags)
                                                  : f->plan_dft_c2r_1d(n, in, out, flags);
        pthread_mutex_unlock(&planner);
    }
    free(in);
    free(out);
    if (!p || !p->plan) {
        free(p);
        return cpu_error(NDP_ERR_MEMORY, "FFTW made no plan of length %lld", (long long)k->n);
    }
    *nbytes = room; /* FFTW does not say what a plan takes: about a root for each element */
    *value = p;
    return NDP_OK;
}

static const ndh_plan_1 *plans(void)
{
    const ndh_plan_1 *s = cpu_host->size >= NDP_END(ndp_host, service) && cpu_host->service
                              ? cpu_host->service(cpu_host->ctx, "ndh.plan/1")
                              : NULL;
    return s && s->size >= NDP_END(ndh_plan_1, release) ? s : NULL;
}

/* *use NULL: the host keeps no plans, and this one is the caller's to free. */
static int32_t acquire(plan_key *key, ndh_plan **use, plan **out)
{
    const ndh_plan_1 *service = plans();
    void *value = NULL;
    uint64_t nbytes;
    int32_t status = NDP_ERR_DEVICE;
    *use = NULL;
    if (service)
        status = service->acquire(cpu_host->ctx, &cpu_device, key, sizeof *key, plan_make,
                                  plan_free, key, use, &value);
    if (status == NDP_ERR_DEVICE)
        status = plan_make(key, &value, &nbytes);
    *out = value;
    return status;
}

/* ---- one transform: to dense memory, there, and back ---- */

/* n numbers of `parts` parts, `step` bytes apart on the strided side, times scale; imaginary parts
 * times sign, too. */
#define DEFINE_MOVE(name, real)                                                                 \
    static void name(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n, \
                     int parts, double scale, double sign)                                      \
    {                                                                                           \
        const real re = (real)scale, im = (real)(scale * sign);                                 \
        for (int64_t j = 0; j < n; j++) {                                                       \
            const real *x = (const real *)(from + j * from_step);                               \
            real *y = (real *)(to + j * to_step);                                               \
            y[0] = x[0] * re;                                                                   \
            if (parts == 2)                                                                     \
                y[1] = x[1] * im;                                                               \
        }                                                                                       \
    }
DEFINE_MOVE(move_f32, float)
DEFINE_MOVE(move_f64, double)

static void move(const cpu_fftw_axis *x, char *to, int64_t to_step, const char *from,
                 int64_t from_step, int64_t n, int parts, double scale, double sign)
{
    (x->size == 4 ? move_f32 : move_f64)(to, to_step, from, from_step, n, parts, scale, sign);
}

/* Of elements that have no partner the imaginary part is not read. */
static void real_ends(const cpu_fftw_axis *x, char *half)
{
    memset(half + x->size, 0, (size_t)x->size);
    if (x->n % 2 == 0)
        memset(half + x->n / 2 * 2 * x->size + x->size, 0, (size_t)x->size);
}

static void transform(const cpu_fftw_axis *x, const plan *p, const char *in, char *out, char *a,
                      char *b)
{
    const int64_t pair = 2 * x->size, half = x->n / 2 + 1;
    if (x->kind == CPU_FFT_COMPLEX) {
        move(x, a, pair, in, x->in_step, x->n, 2, 1, 1);
        p->f->execute_dft(p->plan, a, b);
        move(x, out, x->out_step, b, pair, x->n, 2, x->scale, 1);
    } else if (x->kind == CPU_FFT_TO_COMPLEX) {
        move(x, a, x->size, in, x->in_step, x->n, 1, 1, 1);
        p->f->execute_dft_r2c(p->plan, a, b);
        move(x, out, x->out_step, b, pair, half, 2, x->scale, x->inverse ? -1 : 1);
    } else {
        move(x, a, pair, in, x->in_step, half, 2, 1, x->inverse ? 1 : -1);
        real_ends(x, a);
        p->f->execute_dft_c2r(p->plan, a, b);
        move(x, out, x->out_step, b, x->size, x->n, 1, x->scale, 1);
    }
}

/* ---- all of an axis ---- */
typedef struct {
    const cpu_fftw_axis *x;
    const plan *p;
    int64_t slots, room;
} work;

static int64_t room_of(const cpu_fftw_axis *x)
{
    const int64_t nbytes = (x->n + 2) * 2 * x->size;
    return (nbytes + CPU_FFT_ALIGN - 1) / CPU_FFT_ALIGN * CPU_FFT_ALIGN;
}

static int64_t slots_of(const cpu_fftw_axis *x)
{
    const int64_t threads = cpu_threads();
    return x->others->size < threads ? x->others->size : threads;
}

int64_t cpu_fftw_memory(const cpu_fftw_axis *x)
{
    return 2 * room_of(x) * slots_of(x);
}

static void run_slots(void *ctx, int64_t begin, int64_t end)
{
    const work *w = ctx;
    const cpu_fftw_axis *x = w->x;
    for (int64_t s = begin; s < end; s++) {
        char *a = x->memory + 2 * s * w->room, *b = a + w->room;
        const int64_t to = x->others->size * (s + 1) / w->slots;
        for (int64_t u = x->others->size * s / w->slots; u < to; u++) {
            cpu_place at;
            cpu_place_seek(&at, x->others, u);
            transform(x, w->p, x->in + at.offset[0], x->out + at.offset[1], a, b);
        }
    }
}

int32_t cpu_fftw_run(const cpu_fftw_axis *x)
{
    plan_key key;
    ndh_plan *use;
    plan *p;
    memset(&key, 0, sizeof key);
    memcpy(key.name, "fftw", 5);
    key.n = x->n;
    key.kind = x->kind;
    key.single = x->size == 4;
    key.sign = x->kind == CPU_FFT_COMPLEX && x->inverse ? 1 : -1;
    if (x->n > INT32_MAX)
        return cpu_error(NDP_ERR_OVERFLOW, "a transform of %lld elements is too long for FFTW",
                         (long long)x->n);
    int32_t status = acquire(&key, &use, &p);
    if (status != NDP_OK)
        return status;
    work w = {x, p, slots_of(x), room_of(x)};
    cpu_parallel(w.slots, 1, run_slots, &w);
    if (use)
        plans()->release(cpu_host->ctx, use, NULL);
    else
        plan_free(p);
    return NDP_OK;
}
