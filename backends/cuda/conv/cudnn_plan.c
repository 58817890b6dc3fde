/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which engine of cuDNN computes a convolution: the first that its heuristics name, that is
 * deterministic and sums as the definition does. None by Fourier's or Winograd's transforms is taken,
 * whose errors are those of larger sums, by its notes or by what was measured, and none that narrows operands
 * or sums. */
#include <string.h>
#include "conv/cudnn_names.h"

enum { MOST_CHOICES = 64, ALIGNMENT = 16 };
static const uint64_t most_work = (uint64_t)1 << 30; /* bytes of work area */

/* ---- descriptors ---- */

/* A new descriptor that lives as long as the plan; NULL: there is none. */
static void *make(cudnn_plan *p, int kind)
{
    void *d = NULL;
    if (p->n_parts == CUDNN_MOST_PARTS || cuda_cudnn.cudnnBackendCreateDescriptor(kind, &d) != 0)
        return NULL;
    p->part[p->n_parts++] = d;
    return d;
}

static int put(void *descriptor, int name, int type, int64_t n, const void *elements)
{
    return descriptor &&
           cuda_cudnn.cudnnBackendSetAttribute(descriptor, name, type, n, elements) == 0;
}

static int put_one(void *descriptor, int name, void *other)
{
    return other && put(descriptor, name, CUDNN_IS_DESCRIPTOR, 1, &other);
}

static int finish(void *descriptor)
{
    return cuda_cudnn.cudnnBackendFinalize(descriptor) == 0;
}

void cuda_cudnn_drop(cudnn_plan *p)
{
    while (p->n_parts > 0)
        cuda_cudnn.cudnnBackendDestroyDescriptor(p->part[--p->n_parts]);
    p->plan = NULL;
    p->usable = 0;
}

/* ---- the graph of one operation ---- */

static int type_of(int32_t dtype)
{
    return dtype == NDP_F64    ? CUDNN_F64
           : dtype == NDP_F16  ? CUDNN_F16
           : dtype == NDP_BF16 ? CUDNN_BF16
                               : CUDNN_F32;
}

static void *tensor(cudnn_plan *p, int i)
{
    const cudnn_key *k = &p->key;
    const int type = type_of(k->dtype);
    const int64_t id = i + 1, alignment = ALIGNMENT;
    void *d = make(p, CUDNN_TENSOR);
    return put(d, CUDNN_TENSOR_ID, CUDNN_IS_INT64, 1, &id) &&
                   put(d, CUDNN_TENSOR_TYPE, CUDNN_IS_DATA_TYPE, 1, &type) &&
                   put(d, CUDNN_TENSOR_ALIGNMENT, CUDNN_IS_INT64, 1, &alignment) &&
                   put(d, CUDNN_TENSOR_EXTENT, CUDNN_IS_INT64, k->ndim, k->extent[i]) &&
                   put(d, CUDNN_TENSOR_STRIDE, CUDNN_IS_INT64, k->ndim, k->stride[i]) && finish(d)
               ? d
               : NULL;
}

static void *convolution(cudnn_plan *p)
{
    const cudnn_key *k = &p->key;
    const int64_t axes = k->ndim - 2;
    const int compute = k->dtype == NDP_F64 ? CUDNN_F64 : CUDNN_F32, mode = CUDNN_CROSS_CORRELATION;
    void *d = make(p, CUDNN_CONVOLUTION);
    return put(d, CUDNN_CONV_AXES, CUDNN_IS_INT64, 1, &axes) &&
                   put(d, CUDNN_CONV_COMPUTE, CUDNN_IS_DATA_TYPE, 1, &compute) &&
                   put(d, CUDNN_CONV_MODE, CUDNN_IS_CONVOLUTION_MODE, 1, &mode) &&
                   put(d, CUDNN_CONV_BEFORE, CUDNN_IS_INT64, axes, k->before) &&
                   put(d, CUDNN_CONV_AFTER, CUDNN_IS_INT64, axes, k->after) &&
                   put(d, CUDNN_CONV_DILATION, CUDNN_IS_INT64, axes, k->dilation) &&
                   put(d, CUDNN_CONV_STRIDE, CUDNN_IS_INT64, axes, k->step) && finish(d)
               ? d
               : NULL;
}

static void *operation(cudnn_plan *p)
{
    /* Attributes: image, weight, grid, the convolution, alpha, beta. */
    static const struct {
        int32_t op;
        int kind, name[6];
    } rows[3] = {{NDP_OP_conv, CUDNN_FORWARD, {704, 703, 705, 702, 700, 701}},
                 {NDP_OP_conv_input, CUDNN_BACKWARD_DATA, {710, 709, 711, 708, 706, 707}},
                 {NDP_OP_conv_weight, CUDNN_BACKWARD_FILTER, {716, 715, 717, 714, 712, 713}}};
    static const float factor[2] = {1, 0};
    static const double factor_f64[2] = {1, 0};
    const int wide = p->key.dtype == NDP_F64, type = wide ? CUDNN_IS_DOUBLE : CUDNN_IS_FLOAT;
    int i = 0;
    while (rows[i].op != p->key.op)
        i++;
    void *d = make(p, rows[i].kind);
    for (int j = 0; j < 3; j++)
        if (!put_one(d, rows[i].name[j], tensor(p, j)))
            return NULL;
    if (!put_one(d, rows[i].name[3], convolution(p)))
        return NULL;
    for (int j = 0; j < 2; j++)
        if (!put(d, rows[i].name[4 + j], type, 1, wide ? (const void *)&factor_f64[j] : &factor[j]))
            return NULL;
    return finish(d) ? d : NULL;
}

static void *graph(cudnn_plan *p, void *handle)
{
    void *one = operation(p), *d = one ? make(p, CUDNN_GRAPH) : NULL;
    return put_one(d, CUDNN_GRAPH_OPERATIONS, one) &&
                   put(d, CUDNN_GRAPH_HANDLE, CUDNN_IS_HANDLE, 1, &handle) && finish(d)
               ? d
               : NULL;
}

/* ---- engines ---- */

static int allows(const cudnn_key *k, int note)
{
    const int exact = k->dtype == NDP_F64 || (k->dtype == NDP_F32 && !k->tf32);
    return !(note == CUDNN_NOTE_NONDETERMINISTIC || note == CUDNN_NOTE_NARROWED_SUMS ||
             note == CUDNN_NOTE_FOURIER ||
             (note >= CUDNN_NOTE_WINOGRAD && note <= CUDNN_NOTE_WINOGRAD_LAST) ||
             (k->dtype == NDP_F32 && exact && note == CUDNN_NOTE_TENSOR_CORE) ||
             (exact && note == CUDNN_NOTE_NARROWED_OPERANDS));
}

/* Whether an engine was measured to be further off than its notes tell. */
static int is_inexact(const cudnn_key *k, int64_t number)
{
    static const struct {
        int32_t op;
        int number;
    } rows[] = {
#define CUDNN_INEXACT(op, number, error) {NDP_OP_##op, number},
#include "conv/cudnn_inexact.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (k->dtype == NDP_F32 && rows[i].op == k->op && rows[i].number == number)
            return 1;
    return 0;
}

static int is_allowed(const cudnn_plan *p, void *config)
{
    int note[CUDNN_MOST_NOTES];
    int64_t n = 0, number = 0;
    void *engine = NULL;
    if (cuda_cudnn.cudnnBackendCreateDescriptor(CUDNN_ENGINE, &engine) != 0)
        return 0;
    int good = cuda_cudnn.cudnnBackendGetAttribute(config, CUDNN_CONFIG_ENGINE, CUDNN_IS_DESCRIPTOR,
                                                   1, &n, &engine) == 0 &&
               cuda_cudnn.cudnnBackendGetAttribute(engine, CUDNN_ENGINE_NUMBER, CUDNN_IS_INT64, 1,
                                                   &n, &number) == 0 &&
               !is_inexact(&p->key, number) &&
               cuda_cudnn.cudnnBackendGetAttribute(engine, CUDNN_ENGINE_NOTES, CUDNN_IS_NOTE,
                                                   CUDNN_MOST_NOTES, &n, note) == 0;
    for (int64_t i = 0; good && i < n; i++)
        good = allows(&p->key, note[i]);
    cuda_cudnn.cudnnBackendDestroyDescriptor(engine);
    return good;
}

/* Whether a plan can be made of a configuration: an engine may be named that does not serve. */
static int plan_with(cudnn_plan *p, void *handle, void *config)
{
    int64_t n = 0, nbytes = 0;
    void *d = NULL;
    if (cuda_cudnn.cudnnBackendCreateDescriptor(CUDNN_PLAN, &d) != 0)
        return 0;
    if (put(d, CUDNN_PLAN_HANDLE, CUDNN_IS_HANDLE, 1, &handle) &&
        put_one(d, CUDNN_PLAN_CONFIG, config) && finish(d) &&
        cuda_cudnn.cudnnBackendGetAttribute(d, CUDNN_PLAN_WORK, CUDNN_IS_INT64, 1, &n, &nbytes) ==
            0 &&
        nbytes >= 0 && (uint64_t)nbytes <= most_work && p->n_parts + 2 <= CUDNN_MOST_PARTS) {
        p->part[p->n_parts++] = config;
        p->part[p->n_parts++] = p->plan = d;
        p->nbytes = (uint64_t)nbytes;
        return p->usable = 1;
    }
    cuda_cudnn.cudnnBackendDestroyDescriptor(d);
    return 0;
}

/* Configurations that heuristics name, in their order; how many. */
static int64_t ask(void *graph, int mode, void **config)
{
    int64_t n = 0;
    void *d = NULL;
    if (cuda_cudnn.cudnnBackendCreateDescriptor(CUDNN_HEURISTICS, &d) != 0)
        return 0;
    if (put_one(d, CUDNN_HEURISTICS_GRAPH, graph) &&
        put(d, CUDNN_HEURISTICS_MODE, CUDNN_IS_HEURISTICS_MODE, 1, &mode) && finish(d)) {
        int64_t room = 0;
        while (room < MOST_CHOICES &&
               cuda_cudnn.cudnnBackendCreateDescriptor(CUDNN_CONFIG, &config[room]) == 0)
            room++;
        if (cuda_cudnn.cudnnBackendGetAttribute(d, CUDNN_HEURISTICS_RESULTS, CUDNN_IS_DESCRIPTOR,
                                                room, &n, config) != 0)
            n = 0;
        n = n < room ? n : room;
        for (int64_t i = n; i < room; i++)
            cuda_cudnn.cudnnBackendDestroyDescriptor(config[i]);
    }
    cuda_cudnn.cudnnBackendDestroyDescriptor(d);
    return n;
}

static void choose(cudnn_plan *p, void *handle, void *graph, int mode)
{
    void *config[MOST_CHOICES];
    const int64_t n = ask(graph, mode, config);
    for (int64_t i = 0; i < n; i++)
        if (p->usable || !is_allowed(p, config[i]) || !plan_with(p, handle, config[i]))
            cuda_cudnn.cudnnBackendDestroyDescriptor(config[i]);
}

void cuda_cudnn_plan(cudnn_plan *p, void *handle)
{
    void *whole = graph(p, handle);
    if (whole)
        choose(p, handle, whole, CUDNN_BY_MODEL);
    if (whole && !p->usable)
        choose(p, handle, whole, CUDNN_BY_FALLBACK);
    if (!p->usable)
        cuda_cudnn_drop(p);
}
