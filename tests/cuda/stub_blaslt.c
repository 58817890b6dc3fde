/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcublasLt.so.13 that remembers what it was asked for, and refuses what the real one refuses though it
 * has an algorithm; STUB_BLASLT_REFUSES: every product. It computes nothing, unless memory of the
 * pretended device is memory of the host (STUB_CUDA_MEMORY): then products of real numbers, in double
 * precision, without what follows them. */
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

enum { WORKSPACE_ALIGN = 256, SCALE_ALIGN = 16 };
enum { WORKSPACE = 1 << 16 }; /* what every algorithm says that it needs */

/* Of the latest product that was chosen an algorithm for, and how many were run; of all: handles
 * made, runs without the workspace that the algorithm needs, and runs that were refused. */
struct {
    int compute, scale, a, b, out;
    unsigned schemes;
    _Atomic int runs, handles, without;
    int epilogue;
    _Atomic int refused;
} stub_blaslt_asked = {-1, -1, -1, -1, -1, ~0u, 0, 0, 0, -1, 0};

int stub_products; /* how many products were computed */

/* The library's descriptions are opaque to everybody else. */
typedef struct {
    int compute, scale, type, turn[2], batch;
    unsigned schemes;
    long long rows, columns, line, step;
    int epilogue;
    unsigned long long scale_at[2];
} note;

static cublasStatus_t make(void **out, note n)
{
    note *made = malloc(sizeof *made);
    if (!made)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *made = n;
    *out = made;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t drop(void *p)
{
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtCreate(cublasLtHandle_t *out)
{
    stub_blaslt_asked.handles++;
    return make((void **)out, (note){0});
}

cublasStatus_t CUBLASWINAPI cublasLtDestroy(cublasLtHandle_t handle)
{
    return drop(handle);
}

size_t CUBLASWINAPI cublasLtGetVersion(void)
{
    return 130000;
}

const char *CUBLASWINAPI cublasLtGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "a failure";
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                                     cublasComputeType_t compute,
                                                     cudaDataType_t scale)
{
    return make((void **)out, (note){.compute = (int)compute, .scale = (int)scale});
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return drop(desc);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                           cublasLtMatmulDescAttributes_t name,
                                                           const void *value, size_t n)
{
    if (name == CUBLASLT_MATMUL_DESC_COMPUTE_TYPE && n == sizeof(int))
        memcpy(&((note *)desc)->compute, value, n);
    if (name == CUBLASLT_MATMUL_DESC_SCALE_TYPE && n == sizeof(int))
        memcpy(&((note *)desc)->scale, value, n);
    if (name == CUBLASLT_MATMUL_DESC_TRANSA)
        memcpy(&((note *)desc)->turn[0], value, n);
    if (name == CUBLASLT_MATMUL_DESC_TRANSB)
        memcpy(&((note *)desc)->turn[1], value, n);
    if (name == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
        memcpy(&((note *)desc)->scale_at[0], value, n);
    if (name == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
        memcpy(&((note *)desc)->scale_at[1], value, n);
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE && n == sizeof(int))
        memcpy(&((note *)desc)->epilogue, value, n);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                                       cudaDataType type, uint64_t rows,
                                                       uint64_t columns, int64_t line)
{
    return make((void **)out, (note){.type = (int)type,
                                     .batch = 1,
                                     .rows = (long long)rows,
                                     .columns = (long long)columns,
                                     .line = line});
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return drop(layout);
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t name,
                                                             const void *value, size_t n)
{
    if (name == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        memcpy(&((note *)layout)->batch, value, n);
    if (name == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
        memcpy(&((note *)layout)->step, value, n);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    return make((void **)out, (note){.schemes = ~0u});
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t wish)
{
    return drop(wish);
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t wish, cublasLtMatmulPreferenceAttributes_t name, const void *value,
    size_t n)
{
    if (name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && n == sizeof(unsigned))
        memcpy(&((note *)wish)->schemes, value, n);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t wish, int wanted, cublasLtMatmulHeuristicResult_t found[], int *n)
{
    const note *p = (const note *)desc;
    (void)handle;
    (void)c;
    stub_blaslt_asked.compute = p->compute;
    stub_blaslt_asked.scale = p->scale;
    stub_blaslt_asked.epilogue = p->epilogue;
    stub_blaslt_asked.a = ((const note *)a)->type;
    stub_blaslt_asked.b = ((const note *)b)->type;
    stub_blaslt_asked.out = ((const note *)d)->type;
    stub_blaslt_asked.schemes = ((const note *)wish)->schemes;
    *n = wanted > 0;
    if (*n) {
        memset(found, 0, sizeof *found);
        found->workspaceSize = WORKSPACE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static double get(const note *x, const void *at, long long i)
{
    unsigned bits;
    float single;
    if (x->type == CUDA_R_64F)
        return ((const double *)at)[i];
    if (x->type == CUDA_R_32F)
        return ((const float *)at)[i];
    bits = (unsigned)((const unsigned short *)at)[i] << 16;
    memcpy(&single, &bits, sizeof single);
    return single;
}

static void put(const note *x, void *at, long long i, double value)
{
    float single = (float)value;
    unsigned bits;
    memcpy(&bits, &single, sizeof bits);
    if (x->type == CUDA_R_64F)
        ((double *)at)[i] = value;
    else if (x->type == CUDA_R_32F)
        ((float *)at)[i] = single;
    else
        ((unsigned short *)at)[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static int is_computed(const note *x)
{
    return x->type == CUDA_R_64F || x->type == CUDA_R_32F || x->type == CUDA_R_16BF;
}

/* Matrices are column-major. */
static void multiply(const note *p, const note *a, const void *a_at, const note *b,
                     const void *b_at, const note *d, void *d_at)
{
    const long long depth = p->turn[0] ? a->rows : a->columns;
    stub_products++;
    for (long long z = 0; z < d->batch; z++)
        for (long long j = 0; j < d->columns; j++)
            for (long long i = 0; i < d->rows; i++) {
                double sum = 0;
                for (long long k = 0; k < depth; k++)
                    sum += get(a, a_at,
                               z * a->step + (p->turn[0] ? i * a->line + k : k * a->line + i)) *
                           get(b, b_at,
                               z * b->step + (p->turn[1] ? k * b->line + j : j * b->line + k));
                put(d, d_at, z * d->step + j * d->line + i, sum);
            }
}

static cublasStatus_t refused(const note *p, const void *workspace)
{
    if ((uintptr_t)workspace % WORKSPACE_ALIGN != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    return getenv("STUB_BLASLT_REFUSES") || (p->scale_at[0] | p->scale_at[1]) % SCALE_ALIGN != 0
               ? CUBLAS_STATUS_NOT_SUPPORTED
               : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                           const void *alpha, const void *a,
                                           cublasLtMatrixLayout_t a_layout, const void *b,
                                           cublasLtMatrixLayout_t b_layout, const void *beta,
                                           const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                                           cublasLtMatrixLayout_t d_layout,
                                           const cublasLtMatmulAlgo_t *algo, void *workspace,
                                           size_t n, cudaStream_t stream)
{
    const note *x = (const note *)a_layout, *y = (const note *)b_layout,
               *out = (const note *)d_layout;
    (void)handle, (void)alpha, (void)beta, (void)c, (void)c_layout, (void)algo, (void)stream;
    const cublasStatus_t status = refused((const note *)desc, workspace);
    if (status != CUBLAS_STATUS_SUCCESS) {
        stub_blaslt_asked.refused++;
        return status;
    }
    if (getenv("STUB_CUDA_MEMORY") && is_computed(x) && is_computed(y) && is_computed(out))
        multiply((const note *)desc, x, a, y, b, out, d);
    stub_blaslt_asked.runs++;
    stub_blaslt_asked.without += !workspace || n < WORKSPACE;
    return CUBLAS_STATUS_SUCCESS;
}
