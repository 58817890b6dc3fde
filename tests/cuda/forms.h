/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * For tests that compare two devices: random numbers that all dtypes have, in arrays of several
 * layouts. */
#ifndef NDOCK_TESTS_CUDA_FORMS_H
#define NDOCK_TESTS_CUDA_FORMS_H
#include <math.h>
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static nd_device *devices[2]; /* cuda, cpu */
static uint64_t state = 20261125;
static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}

/* ---- arrays of any layout: dense, with channels side by side, or with gaps ---- */
enum { PLANES, BESIDE, GAPS, LAYOUTS };
typedef struct {
    nd_dtype dtype;
    int ndim, layout;
    int64_t shape[5], stride[5], size, room; /* room: elements in memory */
} form;

static form form_of(nd_dtype dtype, int ndim, const int64_t *shape, int layout)
{
    form f = {.ndim = ndim, .layout = layout, .dtype = dtype, .size = 1};
    int64_t step = layout == GAPS ? 2 : 1;
    if (layout == BESIDE) { /* the second axis innermost */
        f.stride[1] = 1;
        step = shape[1];
    }
    for (int d = ndim - 1; d >= 0; d--) {
        f.size *= f.shape[d] = shape[d];
        if (layout == BESIDE && d == 1)
            continue;
        f.stride[d] = step;
        step *= shape[d];
    }
    f.room = step;
    return f;
}

static int64_t place_of(const form *f, int64_t i)
{
    int64_t at = 0;
    for (int d = f->ndim - 1; d >= 0; d--) {
        at += i % f->shape[d] * f->stride[d];
        i /= f->shape[d];
    }
    return at;
}

static double get(const form *f, const char *data, int64_t i)
{
    const int64_t at = place_of(f, i);
    uint32_t bits;
    float single;
    if (f->dtype == ND_I64)
        return (double)((const int64_t *)(const void *)data)[at];
    if (f->dtype == ND_F64)
        return ((const double *)(const void *)data)[at];
    if (f->dtype == ND_F32)
        return ((const float *)(const void *)data)[at];
    bits = (uint32_t)((const uint16_t *)(const void *)data)[at] << 16;
    memcpy(&single, &bits, sizeof single);
    return single;
}

/* Eighths from -2 to 2, which all dtypes have, and for pools of the largest a NaN now and then. */
static void put(const form *f, char *data, int64_t at, int nans)
{
    double x = (double)(below(33) - 16) / 8;
    if (nans && below(40) == 0)
        x = NAN;
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (f->dtype == ND_F64)
        ((double *)(void *)data)[at] = x;
    else if (f->dtype == ND_F32)
        ((float *)(void *)data)[at] = single;
    else
        ((uint16_t *)(void *)data)[at] = (uint16_t)(bits >> 16);
}

static char *random_data(const form *f, int nans)
{
    char *data = malloc((size_t)(f->room + 1) * 8);
    for (int64_t i = 0; data && i < f->room; i++)
        put(f, data, i, nans);
    return data;
}

/* The array that lies in memory, and the view of it of that form. */
static nd_status place_array(const form *f, const void *data, int which, nd_array **base,
                             nd_array **view)
{
    const nd_layout layout = {
        .size = sizeof layout, .dtype = f->dtype, .ndim = 1, .shape = &f->room};
    nd_status status = nd_from_host(&layout, data, devices[which], base);
    return status != ND_OK ? status : nd_as_strided(*base, f->ndim, f->shape, f->stride, 0, view);
}

static int same(const form *f, const char *a, const char *b, double unit)
{
    for (int64_t i = 0; i < f->size; i++) {
        const double x = get(f, a, i), y = get(f, b, i);
        if (!(x == y || fabs(x - y) <= unit * (4 + fabs(y)) || (isnan(x) && isnan(y)))) {
            printf("element %lld is %.9g, not %.9g: ", (long long)i, x, y);
            return 0;
        }
    }
    return 1;
}
#endif
