/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuBLASLt. Matrices in C order are the library's column-major ones transposed, so a product is
 * asked for as out^T = b^T a^T: the library's A is our b.
 *
 * The workspace is scratch of the call, from the core: it is ordered by the stream, may be
 * captured, and no two calls share it, so the same problem gives the same bits on any number of
 * streams. CUBLAS_WORKSPACE_CONFIG bounds it. */
#include "matmul/blaslt.h"
#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS_MAX = 4096, BUCKETS = 512, COMPUTE_32F_EMULATED_16BFX9 = 78 /* cublas_api.h, 12.9 */ };

typedef struct {
#define LT_FN(name) __typeof__(name) *name;
#include "matmul/blaslt.def"
} functions;

typedef struct plan {
    struct plan *next;
    uint64_t hash;
    blaslt_key key;
    int served, told; /* told: that it was refused when it ran */
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, out; /* the library's A and B */
    cublasLtMatmulAlgo_t algo;
    uint64_t workspace;
    int32_t scale; /* dtype of alpha and beta */
} plan;

struct cuda_blaslt {
    functions fn;
    cublasLtHandle_t handle;
    pthread_mutex_t lock; /* of the plans, whose descriptors are changed for each call's bias */
    plan *plans[BUCKETS];
    int n_plans;
    uint64_t workspace_max;
    int tf32; /* allowed by the environment, and there in the hardware */
    int bf16x9;
};

/* ---- the library ---- */

static int32_t version_text(const void *table, char *text, size_t n)
{
    size_t v = ((const functions *)table)->cublasLtGetVersion();
    size_t major = v >= 100000 ? 10000 : 1000;
    snprintf(text, n, "%zu.%zu.%zu", v / major, v % major / 100, v % 100);
    return NDP_OK;
}

static int32_t open_library(functions *fn)
{
    static const char *const sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
    static const ndh_symbol symbols[] = {
#define LT_FN(name) {#name, offsetof(functions, name), 1},
#include "matmul/blaslt.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "cuBLASLt",
        .install = "install the CUDA toolkit's libcublas (Debian and Ubuntu: libcublas-13-0), or "
                   "put its folder into LD_LIBRARY_PATH",
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    return cuda_open_library(&library, fn);
}

static uint64_t workspace_max(const ndp_dev *dev)
{
    const ndh_workspace_1 *service = cuda_host->service(cuda_host->ctx, "ndh.workspace/1");
    const char *text = getenv("CUBLAS_WORKSPACE_CONFIG");
    uint64_t nbytes = 0;
    if (!service)
        return 0;
    if (text && service->parse(cuda_host->ctx, text, &nbytes) == NDP_OK)
        return nbytes;
    if (text)
        cuda_host->log(cuda_host->ctx, NDP_LOG_WARN,
                       "CUBLAS_WORKSPACE_CONFIG=%s is malformed (\":KiB:count\" is right); using "
                       "the default",
                       text);
    return service->default_nbytes(cuda_host->ctx, dev->capability / 10);
}

void cuda_blaslt_open(ndp_dev *dev)
{
    int32_t wanted = 1;
    if (dev->blaslt_tried)
        return;
    dev->blaslt_tried = 1;
    cuda_host->param(cuda_host->ctx, "BLASLT", NDP_PARAM_BOOL,
                     "use cuBLASLt for matrix products (else ndock's own kernels)", &wanted);
    struct cuda_blaslt *lt = wanted ? calloc(1, sizeof *lt) : NULL;
    if (!lt)
        return;
    if (open_library(&lt->fn) != NDP_OK || lt->fn.cublasLtCreate(&lt->handle) != 0) {
        cuda_host->log(cuda_host->ctx, NDP_LOG_WARN,
                       "cuda:%u: no cuBLASLt, so matrix products run in ndock's own, slower "
                       "kernels; `ndock info` says why",
                       dev->index);
        free(lt);
        return;
    }
    const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");
    pthread_mutex_init(&lt->lock, NULL);
    lt->workspace_max = workspace_max(dev);
    lt->tf32 = dev->capability >= 80 && !(tf32 && strcmp(tf32, "0") == 0);
    lt->bf16x9 =
        (dev->capability == 100 || dev->capability == 103) && lt->fn.cublasLtGetVersion() >= 120900;
    dev->blaslt = lt;
}

/* ---- which arithmetic ---- */

uint32_t cuda_blaslt_mode(const ndp_dev *dev, int32_t dtype, uint32_t mode)
{
    const struct cuda_blaslt *lt = dev->blaslt;
    uint32_t can = NDP_MODE_DETERMINISTIC;
    if (!lt)
        return mode & can;
    if (dtype == NDP_F32)
        can |= (lt->tf32 ? NDP_MODE_FAST_MATH : 0) | (lt->bf16x9 ? NDP_MODE_BF16X9 : 0);
    else if (dtype == NDP_F16)
        can |= NDP_MODE_REDUCED_SUMS | NDP_MODE_NO_SPLIT_K | NDP_MODE_F16_SUMS;
    else if (dtype == NDP_F8_E4M3 || dtype == NDP_F8_E5M2)
        can |= NDP_MODE_FP8_FAST;
    else if (dtype == NDP_BF16)
        can |= NDP_MODE_REDUCED_SUMS | NDP_MODE_NO_SPLIT_K;
    return mode & can;
}

static cudaDataType_t library_type(int32_t dtype)
{
    static const cudaDataType_t types[NDP_DTYPE_END] = {
        [NDP_I8] = CUDA_R_8I,          [NDP_I32] = CUDA_R_32I,  [NDP_F16] = CUDA_R_16F,
        [NDP_BF16] = CUDA_R_16BF,      [NDP_F32] = CUDA_R_32F,  [NDP_F64] = CUDA_R_64F,
        [NDP_C64] = CUDA_C_32F,        [NDP_C128] = CUDA_C_64F, [NDP_F8_E4M3] = CUDA_R_8F_E4M3,
        [NDP_F8_E5M2] = CUDA_R_8F_E5M2};
    return types[dtype];
}

static int is_f8(const blaslt_key *k)
{
    return k->dtype == NDP_F8_E4M3 || k->dtype == NDP_F8_E5M2;
}

/* M5: the compute type for a dtype and mode; scale is the dtype of alpha and beta. */
static cublasComputeType_t compute_type(const blaslt_key *k, uint32_t mode, int32_t *scale)
{
    *scale = is_f8(k) || k->dtype == NDP_F16 || k->dtype == NDP_BF16 ? NDP_F32 : k->dtype;
    switch (k->dtype) {
    case NDP_I8:
        *scale = NDP_I32;
        return CUBLAS_COMPUTE_32I;
    case NDP_F64:
    case NDP_C128:
        return CUBLAS_COMPUTE_64F;
    case NDP_F16:
        if (!(mode & NDP_MODE_F16_SUMS) || k->out != NDP_F16)
            return CUBLAS_COMPUTE_32F;
        *scale = NDP_F16;
        return CUBLAS_COMPUTE_16F;
    default:
        return mode & NDP_MODE_FAST_MATH ? CUBLAS_COMPUTE_32F_FAST_TF32
               : mode & NDP_MODE_BF16X9  ? (cublasComputeType_t)COMPUTE_32F_EMULATED_16BFX9
                                         : CUBLAS_COMPUTE_32F;
    }
}

/* M5: how partial sums of a split k may be added up. In place means in the dtype of the result. */
static uint32_t reduction_schemes(const blaslt_key *k, uint32_t mode)
{
    uint32_t exact = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (mode & NDP_MODE_NO_SPLIT_K)
        return CUBLASLT_REDUCTION_SCHEME_NONE;
    return mode & NDP_MODE_REDUCED_SUMS || ndp_dtype_size(k->out) > 2
               ? CUBLASLT_REDUCTION_SCHEME_MASK
               : exact;
}

/* ---- plans ---- */

static void plan_free(const functions *fn, plan *p)
{
    if (p->product)
        fn->cublasLtMatmulDescDestroy(p->product);
    if (p->a)
        fn->cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        fn->cublasLtMatrixLayoutDestroy(p->b);
    if (p->out)
        fn->cublasLtMatrixLayoutDestroy(p->out);
    free(p);
}

static void forget_all(struct cuda_blaslt *lt)
{
    for (int i = 0; i < BUCKETS; i++)
        while (lt->plans[i]) {
            plan *p = lt->plans[i];
            lt->plans[i] = p->next;
            plan_free(&lt->fn, p);
        }
    lt->n_plans = 0;
}

void cuda_blaslt_close(ndp_dev *dev)
{
    struct cuda_blaslt *lt = dev->blaslt;
    cuda_scope scope;
    dev->blaslt_tried = 0;
    if (!lt || cuda_enter(dev, &scope) != NDP_OK)
        return;
    dev->blaslt = NULL;
    forget_all(lt);
    lt->fn.cublasLtDestroy(lt->handle);
    pthread_mutex_destroy(&lt->lock);
    free(lt);
    cuda_leave(&scope);
}

static int make_layout(const functions *fn, const blaslt_key *k, int32_t dtype, int64_t rows,
                       int64_t columns, int64_t line, int64_t step, cublasLtMatrixLayout_t *out)
{
    const int32_t batch = (int32_t)k->batch;
    if (fn->cublasLtMatrixLayoutCreate(out, library_type(dtype), (uint64_t)rows, (uint64_t)columns,
                                       line) != 0)
        return 0;
    return batch == 1 ||
           (fn->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                 sizeof batch) == 0 &&
            fn->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                 &step, sizeof step) == 0);
}

static int set_bias(const functions *fn, plan *p, CUdeviceptr bias)
{
    return fn->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                              sizeof bias) == 0;
}

/* What 8-bit floating operands need besides: how sums are kept, scales, the bias's type. The addresses
 * of scales that are set here serve the choice of algorithm alone. */
static int describe_f8(const functions *fn, plan *p)
{
    const blaslt_key *k = &p->key;
    const int8_t fast = (k->mode & NDP_MODE_FP8_FAST) != 0;
    const int32_t lines = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    const int32_t bias = library_type(k->out);
    const CUdeviceptr some = 256;
    const struct {
        cublasLtMatmulDescAttributes_t name;
        const void *value;
        size_t size;
        int wanted;
    } all[] = {
        {CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast, 1},
        {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias, sizeof bias, k->has_bias},
        {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &some, sizeof some, k->scaled != BLASLT_PLAIN},
        {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &some, sizeof some, k->scaled != BLASLT_PLAIN},
        {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &lines, sizeof lines, k->scaled == BLASLT_SCALED_LINES},
        {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &lines, sizeof lines,
         k->scaled == BLASLT_SCALED_LINES}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].wanted && fn->cublasLtMatmulDescSetAttribute(p->product, all[i].name,
                                                                all[i].value, all[i].size) != 0)
            return 0;
    return 1;
}

/* The library's A is our b. */
static int set_scales(const functions *fn, plan *p, const CUdeviceptr scale[2])
{
    return fn->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                              &scale[1], sizeof *scale) == 0 &&
           fn->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                                              &scale[0], sizeof *scale) == 0;
}

/* The library's GELU is that of the tangent hyperbolic. */
static int32_t epilogue_of(const blaslt_key *k)
{
    switch (k->epilogue) {
    case NDP_EPILOGUE_RELU:
        return k->has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case NDP_EPILOGUE_GELU_TANH:
        return k->has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default:
        return k->has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    }
}

/* The problem as the library describes it. */
static int describe(const functions *fn, plan *p, cublasComputeType_t compute)
{
    const blaslt_key *k = &p->key;
    const int32_t turn_a = k->transposed[1] ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t turn_b = k->transposed[0] ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t epilogue = epilogue_of(k);
    if (fn->cublasLtMatmulDescCreate(&p->product, compute, library_type(p->scale)) != 0 ||
        fn->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSA, &turn_a,
                                           sizeof turn_a) != 0 ||
        fn->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSB, &turn_b,
                                           sizeof turn_b) != 0)
        return 0;
    if (is_f8(k) && !describe_f8(fn, p))
        return 0;
    if (epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
        fn->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                           sizeof epilogue) != 0)
        return 0;
    /* The address that is set here serves the choice of algorithm alone. */
    if (k->has_bias && !set_bias(fn, p, (CUdeviceptr)k->align[3]))
        return 0;
    return make_layout(fn, k, k->dtype_b, k->transposed[1] ? k->k : k->n,
                       k->transposed[1] ? k->n : k->k, k->line[1], k->step[1], &p->a) &&
           make_layout(fn, k, k->dtype, k->transposed[0] ? k->m : k->k,
                       k->transposed[0] ? k->k : k->m, k->line[0], k->step[0], &p->b) &&
           make_layout(fn, k, k->out, k->n, k->m, k->line[2], k->step[2], &p->out);
}

static int choose(const struct cuda_blaslt *lt, plan *p, uint32_t schemes)
{
    const functions *fn = &lt->fn;
    const blaslt_key *k = &p->key;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        uint32_t value;
    } wishes[] = {
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, (uint32_t)k->align[1]},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, (uint32_t)k->align[0]},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, (uint32_t)k->align[2]},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, (uint32_t)k->align[2]},
    };
    const size_t most = lt->workspace_max;
    cublasLtMatmulHeuristicResult_t found;
    cublasLtMatmulPreference_t wish;
    int n = 0;
    if (fn->cublasLtMatmulPreferenceCreate(&wish) != 0)
        return 0;
    int ok = fn->cublasLtMatmulPreferenceSetAttribute(
                 wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most) == 0;
    for (size_t i = 0; ok && i < sizeof wishes / sizeof *wishes; i++)
        ok = fn->cublasLtMatmulPreferenceSetAttribute(wish, wishes[i].name, &wishes[i].value,
                                                      sizeof wishes[i].value) == 0;
    ok = ok &&
         fn->cublasLtMatmulAlgoGetHeuristic(lt->handle, p->product, p->a, p->b, p->out, p->out,
                                            wish, 1, &found, &n) == 0 &&
         n == 1 && found.state == CUBLAS_STATUS_SUCCESS;
    fn->cublasLtMatmulPreferenceDestroy(wish);
    if (ok) {
        p->algo = found.algo;
        p->workspace = found.workspaceSize;
    }
    return ok;
}

static uint64_t hash_of(const blaslt_key *k)
{
    uint64_t hash = 0, word;
    for (size_t i = 0; i + sizeof word <= sizeof *k; i += sizeof word) {
        memcpy(&word, (const char *)k + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}
_Static_assert(sizeof(blaslt_key) % sizeof(uint64_t) == 0, "no byte of the key is left out");

/* The problem's plan, under the lock; NULL without memory. */
static plan *plan_for(const ndp_dev *dev, struct cuda_blaslt *lt, const blaslt_key *key)
{
    uint64_t hash = hash_of(key);
    plan **bucket = &lt->plans[hash % BUCKETS];
    for (plan *p = *bucket; p; p = p->next)
        if (p->hash == hash && memcmp(&p->key, key, sizeof *key) == 0)
            return p;
    if (lt->n_plans == PLANS_MAX)
        forget_all(lt);
    plan *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    uint32_t mode = cuda_blaslt_mode(dev, key->dtype, key->mode);
    p->key = *key;
    p->hash = hash;
    cublasComputeType_t compute = compute_type(key, mode, &p->scale);
    p->served = describe(&lt->fn, p, compute) && choose(lt, p, reduction_schemes(key, mode));
    p->next = *bucket;
    *bucket = p;
    lt->n_plans++;
    return p;
}

int cuda_blaslt_serves(ndp_dev *dev, const blaslt_key *key, uint64_t *workspace)
{
    struct cuda_blaslt *lt = dev->blaslt;
    cuda_scope scope;
    if (!lt || cuda_enter(dev, &scope) != NDP_OK)
        return 0;
    pthread_mutex_lock(&lt->lock);
    const plan *p = plan_for(dev, lt, key);
    int served = p && p->served;
    *workspace = served ? p->workspace : 0;
    pthread_mutex_unlock(&lt->lock);
    cuda_leave(&scope);
    return served;
}

/* A factor in the dtype the library wants it in. */
static void store_factor(int32_t dtype, double x, void *out)
{
    ndp_scalar s = {.dtype = dtype};
    if (dtype == NDP_I32)
        s.v.i = (int64_t)x;
    else if (dtype == NDP_C64 || dtype == NDP_C128)
        s.v.c[0] = x;
    else
        s.v.f = x;
    cuda_store_scalar(&s, out);
}

static cublasStatus_t queue(struct cuda_blaslt *lt, plan *p, CUstream stream,
                            const blaslt_operands *x)
{
    _Alignas(16) unsigned char alpha[16], beta[16];
    store_factor(p->scale, x->alpha, alpha);
    store_factor(p->scale, x->beta, beta);
    if (p->key.has_bias && !set_bias(&lt->fn, p, x->bias))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    if (p->key.scaled && !set_scales(&lt->fn, p, x->scale))
        return CUBLAS_STATUS_INTERNAL_ERROR;
    return lt->fn.cublasLtMatmul(lt->handle, p->product, alpha, (const void *)(uintptr_t)x->b, p->a,
                                 (const void *)(uintptr_t)x->a, p->b, beta,
                                 (const void *)(uintptr_t)x->out, p->out, (void *)(uintptr_t)x->out,
                                 p->out, &p->algo, (void *)(uintptr_t)x->workspace, p->workspace,
                                 (cudaStream_t)stream);
}

/* What it chose an algorithm for the library refuses. */
static void tell_refused(const ndp_dev *dev, const blaslt_key *k)
{
    cuda_host->log(
        cuda_host->ctx, NDP_LOG_WARN,
        "cuBLASLt on cuda:%u refuses a product of %lld x %lld x %lld, batch %lld, dtype %d, "
        "for which it has an algorithm; ndock's own kernels compute it",
        dev->index, (long long)k->m, (long long)k->k, (long long)k->n, (long long)k->batch,
        (int)k->dtype);
}

int32_t cuda_blaslt_run(ndp_dev *dev, ndp_stream *s, const blaslt_key *key,
                        const blaslt_operands *x)
{
    struct cuda_blaslt *lt = dev->blaslt;
    cuda_scope scope;
    int32_t status = cuda_patch_refuse("a product of cuBLASLt");
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    pthread_mutex_lock(&lt->lock);
    plan *p = plan_for(dev, lt, key);
    cublasStatus_t r =
        p && p->served ? queue(lt, p, cuda_stream(dev, s), x) : CUBLAS_STATUS_NOT_SUPPORTED;
    const int refused = r == CUBLAS_STATUS_NOT_SUPPORTED, tell = refused && p && !p->told;
    if (tell)
        p->told = 1; /* once a plan */
    pthread_mutex_unlock(&lt->lock);
    cuda_leave(&scope);
    if (tell)
        tell_refused(dev, key);
    return r == CUBLAS_STATUS_SUCCESS ? NDP_OK
           : refused
               ? BLASLT_REFUSED
               : cuda_host->error(cuda_host->ctx, NDP_ERR_INTERNAL, (int64_t)r,
                                  "cuBLASLt on cuda:%u: %s for a product of %lld x %lld x %lld, "
                                  "batch %lld, dtype %d",
                                  dev->index, lt->fn.cublasLtGetStatusName(r), (long long)key->m,
                                  (long long)key->k, (long long)key->n, (long long)key->batch,
                                  (int)key->dtype);
}
