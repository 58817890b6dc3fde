/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libcublasLt.so.13 that computes nothing and remembers what it was asked for. */
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

enum { WORKSPACE = 1 << 16 }; /* what every algorithm says that it needs */

/* Of the latest product that was chosen an algorithm for, and how many were run; of all: handles
 * made, and runs without the workspace that the algorithm needs. */
struct {
    int compute, scale, a, b, out;
    unsigned schemes;
    _Atomic int runs, handles, without;
    int epilogue;
} stub_blaslt_asked = {-1, -1, -1, -1, -1, ~0u, 0, 0, 0, -1};

/* The library's descriptions are opaque to everybody else. */
typedef struct {
    int compute, scale, type;
    unsigned schemes;
    int epilogue;
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
    if (name == CUBLASLT_MATMUL_DESC_EPILOGUE && n == sizeof(int))
        memcpy(&((note *)desc)->epilogue, value, n);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                                       cudaDataType type, uint64_t rows,
                                                       uint64_t columns, int64_t line)
{
    (void)rows;
    (void)columns;
    (void)line;
    return make((void **)out, (note){.type = (int)type});
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return drop(layout);
}

cublasStatus_t CUBLASWINAPI cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t name,
                                                             const void *value, size_t n)
{
    (void)layout;
    (void)name;
    (void)value;
    (void)n;
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

cublasStatus_t CUBLASWINAPI cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                           const void *alpha, const void *a,
                                           cublasLtMatrixLayout_t a_layout, const void *b,
                                           cublasLtMatrixLayout_t b_layout, const void *beta,
                                           const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                                           cublasLtMatrixLayout_t d_layout,
                                           const cublasLtMatmulAlgo_t *algo, void *workspace,
                                           size_t n, cudaStream_t stream)
{
    (void)handle, (void)desc, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout;
    (void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algo, (void)stream;
    stub_blaslt_asked.runs++;
    stub_blaslt_asked.without += !workspace || n < WORKSPACE;
    return CUBLAS_STATUS_SUCCESS;
}
