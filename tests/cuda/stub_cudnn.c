/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcudnn.so.9 that only pretends: convolutions by their definition, in double precision, on memory
 * of the host, from descriptors of the backend API as the plug-in made them; what is not finished, or of
 * another kind than it should be, is refused. Heuristics name first a Winograd, a nondeterministic, a
 * tensor-core and an inexact engine without notes, which are not to be chosen for f32 (the last one for the
 * gradient of weights), and one that cannot be planned; the one that
 * computes comes last, with three axes by the fallback alone, and not at all with groups and three axes. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include "conv/cudnn_names.h"

#pragma GCC visibility push(default)

/* Prototypes of all that is defined here. */
#define CUDNN_FN(type, name, parameters) type name parameters;
#include "conv/cudnn.def"

enum { BAD = 2000, WORK = 64, MOST = 8, BYTES = 48 };
enum { WINOGRAD, NONDETERMINISTIC, TENSOR, INEXACT, BROKEN, GOOD, ENGINES };
enum { INEXACT_NUMBER = 17 };

typedef struct node {
    int kind, finished, used, engine;
    struct node *graph;
    struct {
        int name, type;
        int64_t n;
        char bytes[BYTES];
    } has[MOST];
} node;

typedef struct {
    int type, n, extent[5], stride[5];
    int step[3], dilation[3], groups; /* a convolution's, whose extent is its padding */
} layout;

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

/* ---- descriptors ---- */
int cudnnBackendCreateDescriptor(int kind, void **out)
{
    node *d = calloc(1, sizeof *d);
    if (d)
        d->kind = kind;
    *out = d;
    return d ? 0 : BAD;
}
int cudnnBackendDestroyDescriptor(void *d)
{
    free(d);
    return 0;
}
static size_t size_of(int type)
{
    return type == CUDNN_IS_DATA_TYPE || type == CUDNN_IS_FLOAT ||
                   type == CUDNN_IS_CONVOLUTION_MODE || type == CUDNN_IS_HEURISTICS_MODE
               ? 4
               : 8;
}
int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t n, const void *elements)
{
    node *d = descriptor;
    const size_t nbytes = (size_t)n * size_of(type);
    if (d->finished || d->used == MOST || nbytes > BYTES)
        return BAD;
    if (type == CUDNN_IS_DESCRIPTOR && !(*(node *const *)elements)->finished)
        return BAD;
    d->has[d->used].name = name;
    d->has[d->used].type = type;
    d->has[d->used].n = n;
    memcpy(d->has[d->used++].bytes, elements, nbytes);
    return 0;
}
static const void *find(const node *d, int name)
{
    for (int i = 0; d && i < d->used; i++)
        if (d->has[i].name == name)
            return d->has[i].bytes;
    return NULL;
}
static node *other(const node *d, int name, int kind)
{
    node *const *at = find(d, name);
    return at && (*at)->kind == kind ? *at : NULL;
}
/* How many attributes a descriptor of the kind needs. */
static int wanted(int kind)
{
    switch (kind) {
    case CUDNN_TENSOR:
        return 5;
    case CUDNN_CONVOLUTION:
        return 7;
    case CUDNN_FORWARD:
    case CUDNN_BACKWARD_DATA:
    case CUDNN_BACKWARD_FILTER:
        return 6;
    case CUDNN_GRAPH:
    case CUDNN_HEURISTICS:
    case CUDNN_PLAN:
        return 2;
    default:
        return kind == CUDNN_PACK ? 3 : -1;
    }
}
int cudnnBackendFinalize(void *descriptor)
{
    node *d = descriptor;
    if (d->used != wanted(d->kind))
        return BAD;
    if (d->kind == CUDNN_PLAN) {
        const node *config = other(d, CUDNN_PLAN_CONFIG, CUDNN_CONFIG);
        if (!config || config->engine == BROKEN)
            return BAD;
        d->engine = config->engine;
        d->graph = config->graph;
    }
    d->finished = 1;
    return 0;
}

/* ---- heuristics ---- */
static const node *operation_of(const node *graph)
{
    node *const *at = find(graph, CUDNN_GRAPH_OPERATIONS);
    return at ? *at : NULL;
}
/* Attributes of image, weight, grid, convolution. */
static const int *names_of(const node *operation)
{
    static const int names[3][4] = {
        {704, 703, 705, 702}, {716, 715, 717, 714}, {710, 709, 711, 708}};
    return names[operation->kind - CUDNN_FORWARD];
}
static int read_tensor(const node *operation, int i, layout *d)
{
    const node *t = other(operation, names_of(operation)[i], CUDNN_TENSOR);
    const int64_t *extent = find(t, CUDNN_TENSOR_EXTENT), *stride = find(t, CUDNN_TENSOR_STRIDE);
    const int64_t *id = find(t, CUDNN_TENSOR_ID);
    if (!t || *id != i + 1)
        return 0;
    d->type = *(const int *)find(t, CUDNN_TENSOR_TYPE);
    for (int k = 0; k < 5; k++) {
        d->extent[k] = (int)extent[k];
        d->stride[k] = (int)stride[k];
    }
    d->n = extent[4] == 0 ? 4 : 5;
    return 1;
}
static int read_graph(const node *graph, layout d[3], layout *conv)
{
    const node *o = operation_of(graph);
    const node *c = o ? other(o, names_of(o)[3], CUDNN_CONVOLUTION) : NULL;
    for (int i = 0; i < 3; i++)
        if (!c || !read_tensor(o, i, &d[i]))
            return 0;
    conv->n = (int)*(const int64_t *)find(c, CUDNN_CONV_AXES);
    for (int i = 0; i < conv->n; i++) {
        conv->extent[i] = (int)((const int64_t *)find(c, CUDNN_CONV_BEFORE))[i];
        conv->step[i] = (int)((const int64_t *)find(c, CUDNN_CONV_STRIDE))[i];
        conv->dilation[i] = (int)((const int64_t *)find(c, CUDNN_CONV_DILATION))[i];
        const int after = (int)((const int64_t *)find(c, CUDNN_CONV_AFTER))[i];
        const int reach = (d[1].extent[2 + i] - 1) * conv->dilation[i] + 1;
        if ((d[0].extent[2 + i] + conv->extent[i] + after - reach) / conv->step[i] + 1 !=
            d[2].extent[2 + i])
            return 0;
    }
    conv->groups = d[0].extent[1] / d[1].extent[1];
    return conv->n == d[0].n - 2;
}
static int results(const node *heuristics, int64_t asked, int64_t *n, node **config)
{
    node *graph = other(heuristics, CUDNN_HEURISTICS_GRAPH, CUDNN_GRAPH);
    const int fallback = *(const int *)find(heuristics, CUDNN_HEURISTICS_MODE) == CUDNN_BY_FALLBACK;
    layout d[3], conv;
    if (!graph || !read_graph(graph, d, &conv))
        return BAD;
    *n = conv.n == 2 || (fallback && conv.groups == 1) ? ENGINES : GOOD;
    for (int i = 0; i < *n && i < asked; i++) {
        config[i]->engine = i;
        config[i]->graph = graph;
        config[i]->finished = 1;
    }
    return 0;
}
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t asked, int64_t *n,
                             void *elements)
{
    static const int notes[ENGINES] = {
        CUDNN_NOTE_WINOGRAD, CUDNN_NOTE_NONDETERMINISTIC, CUDNN_NOTE_TENSOR_CORE, 9, 9, 9};
    const node *d = descriptor;
    (void)type;
    *n = 1;
    if (!d->finished)
        return BAD;
    switch (name) {
    case CUDNN_HEURISTICS_RESULTS:
        return results(d, asked, n, elements);
    case CUDNN_CONFIG_ENGINE:
        (*(node **)elements)->engine = d->engine;
        (*(node **)elements)->finished = 1;
        return 0;
    case CUDNN_ENGINE_NUMBER:
        *(int64_t *)elements = d->engine == INEXACT ? INEXACT_NUMBER : 1000 + d->engine;
        return 0;
    case CUDNN_ENGINE_NOTES:
        *(int *)elements = notes[d->engine];
        return 0;
    case CUDNN_PLAN_WORK:
        *(int64_t *)elements = WORK;
        return 0;
    default:
        return BAD;
    }
}

/* ---- convolutions ---- */
static double get(const layout *d, const void *at, size_t i)
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
static void put(const layout *d, void *at, size_t i, double value)
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

static size_t count(const layout *d)
{
    size_t n = 1;
    for (int i = 0; i < d->n; i++)
        n *= (size_t)d->extent[i];
    return n;
}
static size_t place(const layout *d, size_t i, int *at)
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
static int convolve(const layout *const d[3], const layout *conv, void *const data[3], int made)
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

int cudnnBackendExecute(void *handle, void *plan, void *pack)
{
    const node *p = plan, *v = pack;
    void *const *at = find(v, CUDNN_PACK_POINTERS), *const *work = find(v, CUDNN_PACK_WORK);
    layout d[3], conv;
    if (handle != &handles || !p->finished || !v->finished || !at || !*work ||
        !read_graph(p->graph, d, &conv) || p->engine == WINOGRAD || p->engine == NONDETERMINISTIC ||
        (p->engine == TENSOR && d[0].type == CUDNN_F32))
        return BAD;
    const int kind = operation_of(p->graph)->kind;
    if (p->engine == INEXACT && d[0].type == CUDNN_F32 && kind == CUDNN_BACKWARD_FILTER)
        return BAD;
    const layout *const all[3] = {&d[0], &d[1], &d[2]};
    memset(*work, 0xff, WORK);
    return convolve(all, &conv, at,
                    kind == CUDNN_FORWARD         ? 2
                    : kind == CUDNN_BACKWARD_DATA ? 0
                                                  : 1);
}
