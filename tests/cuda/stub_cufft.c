/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcufft.so.12 that transforms memory of the host (STUB_CUDA_MEMORY=1) by the sums of the
 * definition, in any layout that the real one has, and counts. As the real one may, it destroys the
 * operand of a transform to real numbers, and writes the gaps between rows of real numbers that lie as they would
 * in the operand's place, n/2 + 1 pairs a row. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

enum { HANDLES = 1 << 14, WORK = 4096, AXES = 3 };
enum { INVALID_PLAN = 1, INVALID_VALUE = 4, NO_WORKSPACE = 13 };

/* Of all: plans made and destroyed, transforms run, and those among them without a work area or a
 * stream that was set, and with a layout of more than dense elements. */
struct {
    _Atomic int made, destroyed, runs, without, strided;
} stub_cufft_counts;

typedef struct {
    int live, automatic, type, rank, dense, has_stream;
    long long n[AXES], embed[2][AXES], step[2], apart[2], batch;
    void *area;
} plan;
static plan plans[HANDLES];
static _Atomic int handles;

int cufftGetVersion(int *version);
int cufftCreate(int *handle);
int cufftDestroy(int handle);
int cufftSetAutoAllocation(int handle, int allocate);
int cufftSetStream(int handle, void *stream);
int cufftSetWorkArea(int handle, void *area);
int cufftMakePlanMany64(int handle, int rank, long long *n, long long *in_embed, long long in_step,
                        long long in_apart, long long *out_embed, long long out_step,
                        long long out_apart, int type, long long batch, size_t *work);

int cufftGetVersion(int *version)
{
    *version = 12000;
    return 0;
}

int cufftCreate(int *handle)
{
    const int at = handles++;
    if (at >= HANDLES)
        return INVALID_PLAN;
    plans[at] = (plan){.live = 1, .automatic = 1};
    *handle = at;
    return 0;
}

int cufftDestroy(int handle)
{
    stub_cufft_counts.destroyed++;
    plans[handle].live = 0;
    return 0;
}

int cufftSetAutoAllocation(int handle, int allocate)
{
    plans[handle].automatic = allocate;
    return 0;
}

int cufftSetStream(int handle, void *stream)
{
    (void)stream; /* the driver that pretends has streams without an address */
    plans[handle].has_stream = 1;
    return 0;
}

int cufftSetWorkArea(int handle, void *area)
{
    plans[handle].area = area;
    memset(area, 0x55, WORK);
    return 0;
}

/* ---- layouts ---- */

/* Extents of a side: the last one is of half the elements where a real transform is complex. */
static long long extent(const plan *p, int side, int axis)
{
    const int halved = (p->type & 15) == (side ? 0xa : 0xc) && axis == p->rank - 1;
    return halved ? p->n[axis] / 2 + 1 : p->n[axis];
}

int cufftMakePlanMany64(int handle, int rank, long long *n, long long *in_embed, long long in_step,
                        long long in_apart, long long *out_embed, long long out_step,
                        long long out_apart, int type, long long batch, size_t *work)
{
    plan *p = &plans[handle];
    if (p->automatic || rank < 1 || rank > AXES || !in_embed != !out_embed || batch < 1)
        return INVALID_VALUE;
    p->type = type;
    p->rank = rank;
    p->batch = batch;
    p->dense = !in_embed;
    memcpy(p->n, n, (size_t)rank * sizeof *n);
    for (int side = 0; side < 2; side++) {
        const long long *embed = side ? out_embed : in_embed;
        p->step[side] = p->dense ? 1 : side ? out_step : in_step;
        p->apart[side] = p->dense ? 1 : side ? out_apart : in_apart;
        for (int i = 0; i < rank; i++) {
            p->embed[side][i] = p->dense ? extent(p, side, i) : embed[i];
            p->apart[side] *= p->dense ? extent(p, side, i) : 1;
            if (p->embed[side][i] < extent(p, side, i) || p->step[side] < 1)
                return INVALID_VALUE;
        }
    }
    *work = WORK;
    stub_cufft_counts.made++;
    return 0;
}

/* Where element `at`, of a side's extents in C order, of number b is. */
static long long place(const plan *p, int side, long long b, long long at)
{
    long long place = 0, step = 1;
    for (int i = p->rank - 1; i >= 0; i--) {
        place += at % extent(p, side, i) * step;
        at /= extent(p, side, i);
        step *= p->embed[side][i];
    }
    return place * p->step[side] + b * p->apart[side];
}

static long long size(const plan *p, int side)
{
    long long n = 1;
    for (int i = 0; i < p->rank; i++)
        n *= side < 0 ? p->n[i] : extent(p, side, i);
    return n;
}

static double complex get(const void *at, long long i, int single, int real)
{
    if (real)
        return single ? ((const float *)at)[i] : ((const double *)at)[i];
    return single ? (double complex)((const float complex *)at)[i]
                  : ((const double complex *)at)[i];
}

static void put(void *at, long long i, double complex x, int single, int real)
{
    if (real && single)
        ((float *)at)[i] = (float)creal(x);
    else if (real)
        ((double *)at)[i] = creal(x);
    else if (single)
        ((float complex *)at)[i] = (float complex)x;
    else
        ((double complex *)at)[i] = x;
}

/* ---- sums ---- */

static void along(const plan *p, double complex *x, int axis, int sign)
{
    const long long n = p->n[axis], all = size(p, -1);
    long long inner = 1;
    double complex *line = malloc((size_t)n * sizeof *line);
    for (int i = axis + 1; i < p->rank; i++)
        inner *= p->n[i];
    for (long long at = 0; line && at < all; at++) {
        if (at / inner % n != 0)
            continue;
        for (long long k = 0; k < n; k++) {
            line[k] = 0;
            for (long long j = 0; j < n; j++)
                line[k] +=
                    x[at + j * inner] * cexp(sign * 2 * M_PI * I * (double)(j * k % n) / (double)n);
        }
        for (long long k = 0; k < n; k++)
            x[at + k * inner] = line[k];
    }
    free(line);
}

/* The number of element `at` of all n when its indices are negated. */
static long long mirrored(const plan *p, long long at)
{
    long long place = 0, step = 1;
    for (int i = p->rank - 1; i >= 0; i--) {
        const long long x = at % p->n[i];
        place += (x ? p->n[i] - x : 0) * step;
        at /= p->n[i];
        step *= p->n[i];
    }
    return place;
}

/* All elements of number b: of a halved side the others are the conjugates of those. */
static void load(const plan *p, const void *in, long long b, int single, double complex *x)
{
    const int real = (p->type & 15) == 0xa, halved = (p->type & 15) == 0xc;
    const long long all = size(p, -1), n = p->n[p->rank - 1], half = extent(p, 0, p->rank - 1);
    for (long long at = 0; at < all; at++) {
        const int there = at % n < half;
        const long long from = there ? at : mirrored(p, at);
        const long long i = halved ? from / n * half + from % n : from;
        x[at] = get(in, place(p, 0, b, i), single, real);
        if (!there)
            x[at] = conj(x[at]);
    }
}

/* As the real one does. */
static void fill_gaps(const plan *p, void *out, int single)
{
    const long long n = p->n[p->rank - 1], padded = 2 * (n / 2 + 1);
    const long long rows = size(p, 1) / n;
    const long long pitch = p->rank > 1 ? p->embed[1][p->rank - 1] : p->apart[1];
    for (long long b = 0; b < p->batch && p->step[1] == 1 && pitch == padded; b++)
        for (long long row = 0; row < rows; row++)
            for (long long i = n; i < padded; i++)
                put(out, place(p, 1, b, row * n) + i, 0, single, 1);
}

static int run(int handle, const void *in, void *out, int sign)
{
    plan *p = &plans[handle];
    const int single = p->type < 0x60, to_real = (p->type & 15) == 0xc;
    const long long n = p->n[p->rank - 1], half = extent(p, 1, p->rank - 1);
    double complex *x = malloc((size_t)size(p, -1) * sizeof *x);
    stub_cufft_counts.runs++;
    stub_cufft_counts.strided += !p->dense;
    stub_cufft_counts.without += !p->area || !p->has_stream;
    if (!x || !p->live || !p->area)
        return NO_WORKSPACE;
    for (long long b = 0; b < p->batch; b++) {
        load(p, in, b, single, x);
        for (int i = 0; i < p->rank; i++)
            along(p, x, i, sign);
        for (long long i = 0; i < size(p, 1); i++)
            put(out, place(p, 1, b, i), x[i / half * n + i % half], single, to_real);
        for (long long i = 0; to_real && i < size(p, 0); i++) /* destroyed */
            put((void *)(size_t)in, place(p, 0, b, i), NAN, single, 0);
    }
    if (to_real)
        fill_gaps(p, out, single);
    free(x);
    return 0;
}

#define TWO_WAYS(name)                                   \
    int name(int handle, void *in, void *out, int sign); \
    int name(int handle, void *in, void *out, int sign)  \
    {                                                    \
        return run(handle, in, out, sign);               \
    }
#define ONE_WAY(name, sign)                    \
    int name(int handle, void *in, void *out); \
    int name(int handle, void *in, void *out)  \
    {                                          \
        return run(handle, in, out, sign);     \
    }
TWO_WAYS(cufftExecC2C)
TWO_WAYS(cufftExecZ2Z)
ONE_WAY(cufftExecR2C, -1)
ONE_WAY(cufftExecD2Z, -1)
ONE_WAY(cufftExecC2R, 1)
ONE_WAY(cufftExecZ2D, 1)
