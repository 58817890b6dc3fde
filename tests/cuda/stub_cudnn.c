/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcudnn.so.9 that only pretends: convolutions by their definition, in double precision, on memory
 * of the host, from descriptors as the plug-in made them. Heuristics name a nondeterministic and a
 * Winograd algorithm first, which are not to be chosen, and none for 5 dimensions with groups. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} cudnn_choice;
typedef cudnn_choice choice;
/* Prototypes of all that is defined here. */
#define CUDNN_FN(type, name, parameters) type name parameters;
#include "conv/cudnn.def"

typedef struct {
    int type, n, extent[5], stride[5]; /* a convolution's: padding, step and dilation */
    int step[3], dilation[3], groups, math;
} descriptor;
enum { BAD = 2000, WORK = 64, GOOD_ALGORITHM = 1 };

int stub_convolutions; /* how many were computed */
static int handles;

size_t cudnnGetVersion(void)
{
    return 91000;
}
int cudnnCreate(void **handle)
{
    handles++;
    *handle = &handles;
    return 0;
}
int cudnnDestroy(void *handle)
{
    handles--;
    return handle == &handles ? 0 : BAD;
}
int cudnnSetStream(void *handle, CUstream stream)
{
    (void)stream;
    return handle == &handles ? 0 : BAD;
}

static int make(void **d)
{
    *d = calloc(1, sizeof(descriptor));
    return *d ? 0 : BAD;
}
static int drop(void *d)
{
    free(d);
    return 0;
}
int cudnnCreateTensorDescriptor(void **d)
{
    return make(d);
}
int cudnnDestroyTensorDescriptor(void *d)
{
    return drop(d);
}
int cudnnCreateFilterDescriptor(void **d)
{
    return make(d);
}
int cudnnDestroyFilterDescriptor(void *d)
{
    return drop(d);
}
int cudnnCreateConvolutionDescriptor(void **d)
{
    return make(d);
}
int cudnnDestroyConvolutionDescriptor(void *d)
{
    return drop(d);
}

int cudnnSetTensorNdDescriptor(void *tensor, int type, int n, const int *extent, const int *stride)
{
    descriptor *d = tensor;
    d->type = type;
    d->n = n;
    memcpy(d->extent, extent, (size_t)n * sizeof *extent);
    memcpy(d->stride, stride, (size_t)n * sizeof *stride);
    return n == 4 || n == 5 ? 0 : BAD;
}

/* Packed; format 1: channels innermost. */
int cudnnSetFilterNdDescriptor(void *filter, int type, int format, int n, const int *extent)
{
    descriptor *d = filter;
    int step = format ? extent[1] : 1;
    d->type = type;
    d->n = n;
    memcpy(d->extent, extent, (size_t)n * sizeof *extent);
    for (int i = n - 1; i >= 0; i--) {
        if (format && i == 1)
            continue;
        d->stride[i] = step;
        step *= extent[i];
    }
    if (format)
        d->stride[1] = 1;
    return n == 4 || n == 5 ? 0 : BAD;
}

int cudnnSetConvolutionNdDescriptor(void *conv, int n, const int *padding, const int *stride,
                                    const int *dilation, int mode, int compute)
{
    descriptor *d = conv;
    d->n = n;
    memcpy(d->extent, padding, (size_t)n * sizeof *padding);
    memcpy(d->step, stride, (size_t)n * sizeof *stride);
    memcpy(d->dilation, dilation, (size_t)n * sizeof *dilation);
    return mode == 1 && (compute == 0 || compute == 1) ? 0 : BAD;
}
int cudnnSetConvolutionMathType(void *conv, int math)
{
    ((descriptor *)conv)->math = math;
    return 0;
}
int cudnnSetConvolutionGroupCount(void *conv, int groups)
{
    ((descriptor *)conv)->groups = groups;
    return 0;
}

/* ---- heuristics ---- */
static int choices(const descriptor *conv, int winograd, int asked, int *given, choice *c)
{
    const choice all[4] = {
        {.algorithm = winograd, .determinism = 1, .math = conv->math},
        {.algorithm = 0, .determinism = 0, .math = conv->math},
        {.algorithm = 0, .status = BAD, .determinism = 1, .math = conv->math},
        {.algorithm = GOOD_ALGORITHM, .memory = WORK, .determinism = 1, .math = conv->math}};
    *given = conv->n == 3 && conv->groups > 1 ? 2 : 4;
    *given = *given < asked ? *given : asked;
    memcpy(c, all, (size_t)*given * sizeof *c);
    return 0;
}
int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *conv, void *y,
                                           int asked, int *given, choice *c)
{
    (void)handle, (void)x, (void)w, (void)y;
    return choices(conv, 6, asked, given, c);
}
int cudnnGetConvolutionBackwardDataAlgorithm_v7(void *handle, void *w, void *y, void *conv, void *x,
                                                int asked, int *given, choice *c)
{
    (void)handle, (void)x, (void)w, (void)y;
    return choices(conv, 4, asked, given, c);
}
int cudnnGetConvolutionBackwardFilterAlgorithm_v7(void *handle, void *x, void *y, void *conv,
                                                  void *w, int asked, int *given, choice *c)
{
    (void)handle, (void)x, (void)w, (void)y;
    return choices(conv, 5, asked, given, c);
}

/* ---- convolutions ---- */
static double get(const descriptor *d, const void *at, size_t i)
{
    unsigned bits;
    float single;
    if (d->type == 1)
        return ((const double *)at)[i];
    if (d->type == 0)
        return ((const float *)at)[i];
    bits = (unsigned)((const unsigned short *)at)[i] << 16;
    memcpy(&single, &bits, sizeof single);
    return single;
}
static void put(const descriptor *d, void *at, size_t i, double value)
{
    float single = (float)value;
    unsigned bits;
    memcpy(&bits, &single, sizeof bits);
    if (d->type == 1)
        ((double *)at)[i] = value;
    else if (d->type == 0)
        ((float *)at)[i] = single;
    else
        ((unsigned short *)at)[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static size_t count(const descriptor *d)
{
    size_t n = 1;
    for (int i = 0; i < d->n; i++)
        n *= (size_t)d->extent[i];
    return n;
}
static size_t place(const descriptor *d, size_t i, int *at)
{
    size_t to = 0;
    for (int k = d->n - 1; k >= 0; k--) {
        at[k] = (int)(i % (size_t)d->extent[k]);
        i /= (size_t)d->extent[k];
        to += (size_t)at[k] * (size_t)d->stride[k];
    }
    return to;
}

/* Adds each product of the definition to where it belongs: 0 image, 1 weight, 2 grid. */
static int convolve(const descriptor *const d[3], const descriptor *conv, void *const data[3],
                    int made)
{
    const size_t n = count(d[made]);
    double *sum = calloc(n, sizeof *sum);
    if (!sum)
        return BAD;
    for (size_t i = 0; i < count(d[2]); i++)
        for (size_t j = 0; j < count(d[1]); j++) {
            int y[5], w[5], inside = 1;
            size_t at[3] = {0, 0, 0}, element = 0;
            at[2] = place(d[2], i, y);
            at[1] = place(d[1], j, w);
            if (w[0] != y[1])
                continue;
            const int group = w[0] / (d[1]->extent[0] / conv->groups);
            const int x[2] = {y[0], group * d[1]->extent[1] + w[1]};
            for (int k = 0; k < d[0]->n; k++) {
                const int e = k < 2 ? x[k]
                                    : y[k] * conv->step[k - 2] - conv->extent[k - 2] +
                                          w[k] * conv->dilation[k - 2];
                inside = inside && e >= 0 && e < d[0]->extent[k];
                at[0] += (size_t)e * (size_t)d[0]->stride[k];
                element = element * (size_t)d[0]->extent[k] + (size_t)e;
            }
            if (inside)
                sum[made == 0   ? element
                    : made == 1 ? j
                                : i] += (made == 0 ? 1 : get(d[0], data[0], at[0])) *
                                        (made == 1 ? 1 : get(d[1], data[1], at[1])) *
                                        (made == 2 ? 1 : get(d[2], data[2], at[2]));
        }
    for (size_t i = 0; i < n; i++) {
        int at[5];
        const size_t to = place(d[made], i, at);
        put(d[made], data[made], to, sum[i]);
    }
    free(sum);
    stub_convolutions++;
    return 0;
}

static int run(void *handle, void *x, const void *x_at, void *w, const void *w_at, void *y,
               const void *y_at, void *conv, int algorithm, void *work, size_t nbytes, int made)
{
    const descriptor *const d[3] = {x, w, y};
    void *const data[3] = {(void *)x_at, (void *)w_at, (void *)y_at};
    if (handle != &handles || algorithm != GOOD_ALGORITHM || nbytes < WORK || !work)
        return BAD;
    memset(work, 0xff, nbytes);
    return convolve(d, conv, data, made);
}
int cudnnConvolutionForward(void *handle, const void *alpha, void *x, const void *x_at, void *w,
                            const void *w_at, void *conv, int algorithm, void *work, size_t nbytes,
                            const void *beta, void *y, void *y_at)
{
    (void)alpha, (void)beta;
    return run(handle, x, x_at, w, w_at, y, y_at, conv, algorithm, work, nbytes, 2);
}
int cudnnConvolutionBackwardData(void *handle, const void *alpha, void *w, const void *w_at,
                                 void *y, const void *y_at, void *conv, int algorithm, void *work,
                                 size_t nbytes, const void *beta, void *x, void *x_at)
{
    (void)alpha, (void)beta;
    return run(handle, x, x_at, w, w_at, y, y_at, conv, algorithm, work, nbytes, 0);
}
int cudnnConvolutionBackwardFilter(void *handle, const void *alpha, void *x, const void *x_at,
                                   void *y, const void *y_at, void *conv, int algorithm, void *work,
                                   size_t nbytes, const void *beta, void *w, void *w_at)
{
    (void)alpha, (void)beta;
    return run(handle, x, x_at, w, w_at, y, y_at, conv, algorithm, work, nbytes, 1);
}
