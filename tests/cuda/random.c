/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers of the GPU are the CPU's, bit for bit; normal f64 to a few units in the last
 * place. */
#include "tests/cuda/gpu.h"

enum { UNIFORM, NORMAL, INTEGERS };

typedef struct {
    int kind;
    nd_dtype dtype;
    int64_t n;
    double a, b; /* low and high, or mean and deviation */
    uint64_t counter;
} draw;

static const int64_t MANY = 1 << 24, ODD = (1 << 20) + 3;

static nd_array *make(nd_device *device, const draw *d)
{
    const nd_random_key key = {.key = 0x9e3779b97f4a7c15u, .counter = {d->counter, UINT64_MAX}};
    nd_array *out = NULL;
    if (d->kind == UNIFORM)
        DO(nd_random_uniform(device, d->dtype, 1, &d->n, &key, d->a, d->b, &out));
    else if (d->kind == NORMAL)
        DO(nd_random_normal(device, d->dtype, 1, &d->n, &key, d->a, d->b, &out));
    else
        DO(nd_random_integers(device, d->dtype, 1, &d->n, &key, (int64_t)d->a, (int64_t)d->b,
                              &out));
    return out;
}

/* The values of a draw, in host memory. */
static void *values(nd_device *device, const draw *d)
{
    size_t nbytes = (size_t)d->n * nd_dtype_size(d->dtype);
    void *host = malloc(nbytes);
    nd_array *a = make(device, d);
    if (!host)
        bail("no memory");
    DO(nd_to_host(a, host, nbytes));
    nd_release(a);
    return host;
}

static nd_device *cpu(void)
{
    nd_device *device = NULL;
    DO(nd_device_get("cpu", &device));
    return device;
}

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

/* How far apart in units of the last place, of f64. */
static int64_t farthest(const int64_t *a, const int64_t *b, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t x = a[i] < 0 ? INT64_MIN - a[i] : a[i], y = b[i] < 0 ? INT64_MIN - b[i] : b[i];
        most = magnitude(x - y) > most ? magnitude(x - y) : most;
    }
    return most;
}

static void compare(const draw *d)
{
    static const char *const kinds[] = {"uniform", "normal", "integers"};
    void *ours = values(gpu, d), *theirs = values(cpu(), d);
    size_t size = nd_dtype_size(d->dtype), n = (size_t)d->n, wrong = 0;
    if (d->kind == NORMAL && d->dtype == ND_F64)
        wrong = farthest(ours, theirs, d->n) > 4;
    else
        for (size_t i = 0; i < n; i++)
            wrong += memcmp((char *)ours + i * size, (char *)theirs + i * size, size) != 0;
    ok(wrong == 0, "%s of %s, %lld values, %g and %g, counter %llx: %zu differ", kinds[d->kind],
       nd_dtype_name(d->dtype), (long long)d->n, d->a, d->b, (unsigned long long)d->counter, wrong);
    free(ours);
    free(theirs);
}

static void each_dtype(int kind, const nd_dtype *dtypes, int count, double a, double b)
{
    /* The last counter carries into the second word after 2^8 blocks, and that into the third. */
    const uint64_t counters[] = {0, 12345, UINT64_MAX - 255};
    for (int i = 0; i < count; i++)
        for (int c = 0; c < 3; c++)
            compare(&(draw){kind, dtypes[i], c ? ODD : MANY, a, b, counters[c]});
}

static const nd_dtype floating[] = {ND_F32, ND_F64, ND_F16, ND_BF16};

static void uniform(void)
{
    each_dtype(UNIFORM, floating, 4, 0, 1); /* a range that is a power of two */
    each_dtype(UNIFORM, floating, 4, -3, 7.1);
    each_dtype(UNIFORM, floating, 4, 1, 1.0078125); /* rounds up to the limit */
}

static void normal(void)
{
    each_dtype(NORMAL, floating, 4, 0, 1);
    each_dtype(NORMAL, (const nd_dtype[]){ND_F32, ND_BF16}, 2, 2.5, 0.3);
}

static void integers(void)
{
    const nd_dtype all[] = {ND_I8, ND_I16, ND_I32, ND_I64, ND_U8, ND_U16, ND_U32, ND_U64};
    each_dtype(INTEGERS, all, 8, 0, 100);
}

/* Every third element backwards: no vectors, and another order in memory. */
static void *strided(nd_device *device, int64_t n)
{
    const nd_random_key key = {.key = 7, .counter = {UINT64_MAX - 99, 0}};
    const nd_index backwards = nd_range(ND_END_OPEN, ND_END_OPEN, -3);
    const int64_t whole = 3 * n;
    float *host = malloc((size_t)whole * 4);
    nd_array *a = NULL, *view = NULL;
    if (!host)
        bail("no memory");
    DO(nd_zeros(device, ND_F32, 1, &whole, &a));
    DO(nd_slice(a, &backwards, 1, &view));
    DO(nd_random_normal_into(&key, 0, 1, view));
    DO(nd_to_host(a, host, (size_t)whole * 4));
    nd_release(view);
    nd_release(a);
    return host;
}

static void views(void)
{
    int64_t n = ODD;
    void *ours = strided(gpu, n), *theirs = strided(cpu(), n);
    ok(memcmp(ours, theirs, (size_t)n * 12) == 0, "normal of f32 into every third, backwards");
    free(ours);
    free(theirs);
}

GPU_MAIN({"uniform", uniform}, {"normal", normal}, {"integers", integers}, {"views", views})
