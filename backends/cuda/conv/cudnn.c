/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuDNN's convolutions: which there are, by its heuristics, remembered with their descriptors. Only
 * deterministic algorithms that sum as the definition does are taken: none by Fourier or Winograd's
 * transforms, whose errors are those of larger sums. */
#include "conv/cudnn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cudnnConvolutionFwdAlgoPerf_t and the two like it. */
typedef struct {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} cudnn_choice;

enum { DATA_FLOAT = 0, DATA_DOUBLE = 1, DATA_HALF = 2, DATA_BFLOAT16 = 9 };
enum { FORMAT_NCHW = 0, FORMAT_NHWC = 1, CROSS_CORRELATION = 1, DETERMINISTIC = 1 };
enum { MATH_DEFAULT = 0, MATH_TENSOR = 1, MATH_FMA = 3 };
enum { CHOICES = 8, MOST_PLANS = 1024, ALLOC_FAILED = 1003, ALLOC_FAILED_8 = 2 };

static struct {
#define CUDNN_FN(type, name, parameters) type(*name) parameters;
#include "conv/cudnn.def"
} fn;

typedef struct plan plan;
struct plan {
    plan *next;
    cudnn_key key;
    void *image, *weight, *grid, *conv;
    int usable, algorithm;
    size_t nbytes;
};
struct cuda_cudnn {
    void *handle;
    pthread_mutex_t lock; /* of all of it */
    plan *plans;
    int n;
};

/* ---- the library ---- */
#define INSTALL                                                                                   \
    "install cuDNN 9 (Debian and Ubuntu: libcudnn9-cuda-13; from PyPI: nvidia-cudnn-cu13, whose " \
    "nvidia/cudnn/lib belongs into LD_LIBRARY_PATH)"

static int32_t version_text(const void *table, char *text, size_t n)
{
    (void)table;
    const size_t v = fn.cudnnGetVersion();
    snprintf(text, n, "%zu.%zu.%zu", v / 10000, v % 10000 / 100, v % 100);
    return NDP_OK;
}

static int32_t open_library(void)
{
    static const char *const sonames[] = {"libcudnn.so.9"};
    static const ndh_symbol symbols[] = {
#define CUDNN_FN(type, name, parameters) \
    {#name, (uint32_t)((const char *)&fn.name - (const char *)&fn), 1},
#include "conv/cudnn.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "cuDNN",
        .install = INSTALL,
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    return cuda_open_library(&library, &fn);
}

static int is_there(void)
{
    static cuda_optional cudnn = CUDA_OPTIONAL(open_library, NDP_LOG_INFO,
                                               "no cuDNN: convolutions of GPUs are computed by "
                                               "ndock's own kernels, which are slower; " INSTALL);
    return cuda_optional_open(&cudnn) == NDP_OK;
}

/* ---- keys ---- */

/* Strides of a packed operand: 0 in C order, 1 with the second axis innermost, -1 neither. */
static int packing_of(const ndp_view *v)
{
    for (int last = 0; last < 2; last++) {
        int64_t step = last ? v->shape[1] : 1;
        int fits = !last || v->shape[1] == 1 || v->stride[1] == 1;
        for (int d = 4; d >= 0 && fits; d--) {
            if (last && d == 1)
                continue;
            fits = v->shape[d] == 1 || v->stride[d] == step;
            step *= v->shape[d];
        }
        if (fits)
            return last;
    }
    return -1;
}

/* Extents and packed strides of an operand, without its third axis where ndim is 4. */
static int take_operand(cudnn_key *key, int i, const ndp_view *v, int last)
{
    int64_t step = last ? v->shape[1] : 1;
    for (int d = 4, to = key->ndim - 1; d >= 0; d--) {
        if (key->ndim == 4 && d == 2)
            continue;
        key->extent[i][to] = (int32_t)v->shape[d];
        key->stride[i][to--] = (int32_t)(last && d == 1 ? 1 : step);
        if (!last || d != 1)
            step *= v->shape[d];
        if (step > INT32_MAX)
            return 0;
    }
    return 1;
}

static int is_flat(const ndp_call *call, const ndp_view *image, const ndp_view *weight,
                   const ndp_view *grid)
{
    const ndp_conv *c = call->params;
    return image->shape[2] == 1 && weight->shape[2] == 1 && grid->shape[2] == 1 &&
           c->before[0] == 0;
}

/* cuDNN pads both sides alike. */
static int is_even(const ndp_conv *c, const ndp_view *image, const ndp_view *weight,
                   const ndp_view *grid)
{
    for (int d = 0; d < 3; d++) {
        const int64_t reach = (weight->shape[2 + d] - 1) * c->dilation[d] + 1;
        if ((image->shape[2 + d] + 2 * c->before[d] - reach) / c->stride[d] + 1 !=
            grid->shape[2 + d])
            return 0;
    }
    return 1;
}

int cuda_cudnn_key(cudnn_key *key, const ndp_call *call, const ndp_view *image,
                   const ndp_view *weight, const ndp_view *grid)
{
    const ndp_conv *c = call->params;
    const int packing[3] = {packing_of(image), packing_of(weight), packing_of(grid)};
    memset(key, 0, sizeof *key);
    if (packing[0] < 0 || packing[1] < 0 || packing[2] < 0 || !is_even(c, image, weight, grid) ||
        (packing[1] == 1 && (packing[0] != 1 || packing[2] != 1)))
        return 0;
    key->op = call->op;
    key->dtype = image->dtype;
    key->tf32 = image->dtype == NDP_F32 && call->mode & NDP_MODE_FAST_MATH;
    key->ndim = is_flat(call, image, weight, grid) ? 4 : 5;
    key->weight_last = packing[1];
    key->groups = (int32_t)c->groups;
    for (int d = 5 - (key->ndim - 2), to = 0; d < 5; d++, to++) {
        key->padding[to] = (int32_t)c->before[d - 2];
        key->step[to] = (int32_t)c->stride[d - 2];
        key->dilation[to] = (int32_t)c->dilation[d - 2];
    }
    return take_operand(key, 0, image, packing[0]) && take_operand(key, 1, weight, packing[1]) &&
           take_operand(key, 2, grid, packing[2]);
}

/* ---- plans ---- */

static int type_of(int32_t dtype)
{
    return dtype == NDP_F64    ? DATA_DOUBLE
           : dtype == NDP_F16  ? DATA_HALF
           : dtype == NDP_BF16 ? DATA_BFLOAT16
                               : DATA_FLOAT;
}

static int describe(plan *p)
{
    const cudnn_key *k = &p->key;
    const int type = type_of(k->dtype), compute = k->dtype == NDP_F64 ? DATA_DOUBLE : DATA_FLOAT;
    const int math = ndp_dtype_size(k->dtype) == 2 ? MATH_TENSOR
                     : k->tf32                     ? MATH_DEFAULT
                                                   : MATH_FMA;
    return fn.cudnnCreateTensorDescriptor(&p->image) == 0 &&
           fn.cudnnCreateFilterDescriptor(&p->weight) == 0 &&
           fn.cudnnCreateTensorDescriptor(&p->grid) == 0 &&
           fn.cudnnCreateConvolutionDescriptor(&p->conv) == 0 &&
           fn.cudnnSetTensorNdDescriptor(p->image, type, k->ndim, k->extent[0], k->stride[0]) ==
               0 &&
           fn.cudnnSetFilterNdDescriptor(p->weight, type,
                                         k->weight_last ? FORMAT_NHWC : FORMAT_NCHW, k->ndim,
                                         k->extent[1]) == 0 &&
           fn.cudnnSetTensorNdDescriptor(p->grid, type, k->ndim, k->extent[2], k->stride[2]) == 0 &&
           fn.cudnnSetConvolutionNdDescriptor(p->conv, k->ndim - 2, k->padding, k->step,
                                              k->dilation, CROSS_CORRELATION, compute) == 0 &&
           fn.cudnnSetConvolutionGroupCount(p->conv, k->groups) == 0 &&
           fn.cudnnSetConvolutionMathType(p->conv, math) == 0;
}

/* Fourier's and Winograd's algorithms, by their numbers in each of the three enumerations. */
static int is_plain(int32_t op, int algorithm)
{
    return op == NDP_OP_conv         ? algorithm <= 3
           : op == NDP_OP_conv_input ? algorithm <= 1
                                     : algorithm <= 1 || algorithm == 3;
}

static int ask(const struct cuda_cudnn *c, const plan *p, int *n, cudnn_choice *choice)
{
    if (p->key.op == NDP_OP_conv)
        return fn.cudnnGetConvolutionForwardAlgorithm_v7(c->handle, p->image, p->weight, p->conv,
                                                         p->grid, CHOICES, n, choice);
    if (p->key.op == NDP_OP_conv_input)
        return fn.cudnnGetConvolutionBackwardDataAlgorithm_v7(
            c->handle, p->weight, p->grid, p->conv, p->image, CHOICES, n, choice);
    return fn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(c->handle, p->image, p->grid, p->conv,
                                                            p->weight, CHOICES, n, choice);
}

static void choose(const struct cuda_cudnn *c, plan *p)
{
    static const size_t most = (size_t)1 << 30; /* bytes of work area */
    cudnn_choice choice[CHOICES];
    int n = 0;
    memset(choice, 0, sizeof choice);
    if (!describe(p) || ask(c, p, &n, choice) != 0)
        return;
    for (int i = 0; i < n && !p->usable; i++) {
        const cudnn_choice *a = &choice[i];
        const int tensor_f32 = p->key.dtype == NDP_F32 && !p->key.tf32 && a->math != MATH_FMA;
        if (a->status != 0 || a->determinism != DETERMINISTIC || a->memory > most ||
            !is_plain(p->key.op, a->algorithm) || tensor_f32 ||
            fn.cudnnSetConvolutionMathType(p->conv, a->math) != 0)
            continue;
        p->usable = 1;
        p->algorithm = a->algorithm;
        p->nbytes = a->memory;
    }
}

static void drop_plans(struct cuda_cudnn *c)
{
    while (c->plans) {
        plan *p = c->plans;
        c->plans = p->next;
        if (p->image)
            fn.cudnnDestroyTensorDescriptor(p->image);
        if (p->weight)
            fn.cudnnDestroyFilterDescriptor(p->weight);
        if (p->grid)
            fn.cudnnDestroyTensorDescriptor(p->grid);
        if (p->conv)
            fn.cudnnDestroyConvolutionDescriptor(p->conv);
        free(p);
    }
    c->n = 0;
}

/* Inside cuda_enter(), under the lock. NULL: no host memory. */
static plan *find_plan(struct cuda_cudnn *c, const cudnn_key *key)
{
    for (plan *p = c->plans; p; p = p->next)
        if (memcmp(&p->key, key, sizeof *key) == 0)
            return p;
    if (c->n == MOST_PLANS)
        drop_plans(c);
    plan *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->key = *key;
    choose(c, p);
    p->next = c->plans;
    c->plans = p;
    c->n++;
    return p;
}

/* The device's handle; NULL: it cannot be made. Inside cuda_enter(). */
static struct cuda_cudnn *handle_of(ndp_dev *dev)
{
    pthread_mutex_lock(&dev->lock);
    if (!dev->cudnn) {
        struct cuda_cudnn *c = calloc(1, sizeof *c);
        if (c && fn.cudnnCreate(&c->handle) == 0) {
            pthread_mutex_init(&c->lock, NULL);
            dev->cudnn = c;
        } else {
            free(c);
        }
    }
    struct cuda_cudnn *c = dev->cudnn;
    pthread_mutex_unlock(&dev->lock);
    return c;
}

int cuda_cudnn_has(ndp_dev *dev, const cudnn_key *key, uint64_t *nbytes)
{
    cuda_scope scope;
    int has = 0;
    if (!is_there() || cuda_enter(dev, &scope) != NDP_OK)
        return 0;
    CUstreamCaptureMode mode = cuda_capture_relax(); /* what is loaded is no part of a graph */
    struct cuda_cudnn *c = handle_of(dev);
    if (c) {
        pthread_mutex_lock(&c->lock);
        const plan *p = find_plan(c, key);
        has = p && p->usable;
        *nbytes = has ? p->nbytes : 0;
        pthread_mutex_unlock(&c->lock);
    }
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return has;
}

/* ---- calls ---- */

static void *pointer(CUdeviceptr at)
{
    return (void *)(uintptr_t)at;
}

static int queue(const struct cuda_cudnn *c, const plan *p, CUdeviceptr image, CUdeviceptr weight,
                 CUdeviceptr grid, void *work)
{
    static const float one = 1, zero = 0;
    static const double one_f64 = 1, zero_f64 = 0;
    const int wide = p->key.dtype == NDP_F64;
    const void *alpha = wide ? (const void *)&one_f64 : &one;
    const void *beta = wide ? (const void *)&zero_f64 : &zero;
    void *x = pointer(image), *w = pointer(weight), *y = pointer(grid);
    if (p->key.op == NDP_OP_conv)
        return fn.cudnnConvolutionForward(c->handle, alpha, p->image, x, p->weight, w, p->conv,
                                          p->algorithm, work, p->nbytes, beta, p->grid, y);
    if (p->key.op == NDP_OP_conv_input)
        return fn.cudnnConvolutionBackwardData(c->handle, alpha, p->weight, w, p->grid, y, p->conv,
                                               p->algorithm, work, p->nbytes, beta, p->image, x);
    return fn.cudnnConvolutionBackwardFilter(c->handle, alpha, p->image, x, p->grid, y, p->conv,
                                             p->algorithm, work, p->nbytes, beta, p->weight, w);
}

int32_t cuda_cudnn_run(ndp_dev *dev, ndp_stream *s, const cudnn_key *key, CUdeviceptr image,
                       CUdeviceptr weight, CUdeviceptr grid, CUdeviceptr work, uint64_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_patch_refuse("a convolution of cuDNN");
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    struct cuda_cudnn *c = handle_of(dev);
    int r = ALLOC_FAILED_8;
    if (c) {
        pthread_mutex_lock(&c->lock);
        const plan *p = find_plan(c, key);
        if (p && p->usable && p->nbytes <= nbytes) {
            r = fn.cudnnSetStream(c->handle, cuda_stream(dev, s));
            if (r == 0)
                r = queue(c, p, image, weight, grid, p->nbytes ? pointer(work) : NULL);
        }
        pthread_mutex_unlock(&c->lock);
    }
    cuda_leave(&scope);
    if (r == 0)
        return NDP_OK;
    return cuda_host->error(
        cuda_host->ctx,
        r == ALLOC_FAILED_8 || r == ALLOC_FAILED ? NDP_ERR_MEMORY : NDP_ERR_INTERNAL, r,
        "%s on cuda:%u: cuDNN says %d", cuda_op_name(key->op), dev->index, r);
}

void cuda_cudnn_close(ndp_dev *dev)
{
    struct cuda_cudnn *c = dev->cudnn;
    cuda_scope scope;
    if (!c || cuda_enter(dev, &scope) != NDP_OK)
        return;
    dev->cudnn = NULL;
    drop_plans(c);
    fn.cudnnDestroy(c->handle);
    pthread_mutex_destroy(&c->lock);
    free(c);
    cuda_leave(&scope);
}
