/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions of cuSOLVER and cuBLAS. A device has one handle of each, whose stream is set before each
 * run, under a lock; work areas are scratch of the call, from the core, as in blaslt.c. Some
 * functions of cuSOLVER want memory of the host as well, which they are done with when they return.
 */
#include <limits.h>
#include <stdlib.h>
#include "linalg/solver_table.h"

enum { BLAS_WORK = 4 << 20 };

static const solver_functions *const fn = &cuda_solver_fn;
static const blas_functions *const blas = &cuda_solver_blas;

/* ---- errors ---- */

static const char *const function_names[SOLVER_FUNCTIONS] = {
    [SOLVER_POTRF] = "cusolverDnXpotrf", [SOLVER_GETRF] = "cusolverDnXgetrf",
    [SOLVER_GETRS] = "cusolverDnXgetrs", [SOLVER_GEQRF] = "cusolverDnXgeqrf",
    [SOLVER_ORGQR] = "cusolverDnXorgqr", [SOLVER_SYEVD] = "cusolverDnXsyevd",
    [SOLVER_GEEV] = "cusolverDnXgeev",   [SOLVER_SYEV_BATCHED] = "cusolverDnXsyevBatched",
    [SOLVER_TRSM] = "cublasXtrsm",       [SOLVER_GEMM] = "cublasXgemmStridedBatched",
    [SOLVER_GESVD] = "cusolverDnXgesvd", [SOLVER_GESVDP] = "cusolverDnXgesvdp"};

static int32_t failed(const ndp_dev *dev, const solver_job *j, int r)
{
    static const char *const types[] = {"f32", "f64", "c64", "c128"};
    return cuda_host->error(
        cuda_host->ctx, r == SOLVER_ALLOC_FAILED ? NDP_ERR_MEMORY : NDP_ERR_INTERNAL, r,
        "%s on cuda:%u: status %d for a matrix of %lld x %lld of %s, batch %lld",
        function_names[j->function], dev->index, r, (long long)j->m, (long long)j->n,
        types[j->type], (long long)j->count);
}

/* ---- work areas ---- */

static int data_type(int32_t type) /* cudaDataType */
{
    static const int types[] = {0, 1, 4, 5};
    return types[type];
}
static int real_type(int32_t type)
{
    return type == SOLVER_F32 || type == SOLVER_C64 ? 0 : 1;
}
static size_t element_size(int32_t type)
{
    static const size_t sizes[] = {4, 8, 8, 16};
    return sizes[type];
}
static void *pointer(const solver_operand *o, int64_t i)
{
    return (void *)(uintptr_t)(o->at + (CUdeviceptr)(i * o->step));
}

typedef struct {
    size_t device, host;
} room;

/* What functions of the old kind want is counted in elements. */
static int old_work(const struct cuda_solver *s, const solver_job *j, room *r)
{
    int elements = 0;
    const int result =
        fn->orgqr_size[j->type](s->solver, (int)j->m, (int)j->n, (int)j->k, pointer(&j->a, 0),
                                (int)j->a.ld, pointer(&j->tau, 0), &elements);
    r->device = (size_t)elements * element_size(j->type);
    r->host = 0;
    return result;
}

static int eigen_work(const struct cuda_solver *s, const solver_job *j, room *r)
{
    const int type = data_type(j->type), real = real_type(j->type);
    void *a = pointer(&j->a, 0), *w = pointer(&j->w, 0), *v = pointer(&j->v, 0);
    if (j->function == SOLVER_SYEVD)
        return fn->cusolverDnXsyevd_bufferSize(s->solver, s->params, j->vectors, j->uplo, j->n,
                                               type, a, j->a.ld, real, w, type, &r->device,
                                               &r->host);
    if (j->function == SOLVER_SYEV_BATCHED)
        return fn->cusolverDnXsyevBatched_bufferSize(s->solver, s->params, j->vectors, j->uplo,
                                                     j->n, type, a, j->a.ld, real, w, type,
                                                     &r->device, &r->host, j->count);
    return fn->cusolverDnXgeev_bufferSize(s->solver, s->params, 0, j->vectors, j->n, type, a,
                                          j->a.ld, type, w, type, NULL, j->n, type, v, j->v.ld,
                                          type, &r->device, &r->host);
}

/* What gesvd is to compute of its factors, in LAPACK's letters. */
static signed char left_job(const solver_job *j)
{
    return j->vectors ? (j->thin ? 'S' : 'A') : 'N';
}
static signed char right_job(const solver_job *j)
{
    return j->vectors ? 'A' : 'N';
}

static int find_work(const struct cuda_solver *s, const solver_job *j, room *r)
{
    const int type = data_type(j->type);
    void *a = pointer(&j->a, 0);
    *r = (room){0, 0};
    switch (j->function) {
    case SOLVER_POTRF:
        return fn->cusolverDnXpotrf_bufferSize(s->solver, s->params, j->uplo, j->n, type, a,
                                               j->a.ld, type, &r->device, &r->host);
    case SOLVER_GETRF:
        return fn->cusolverDnXgetrf_bufferSize(s->solver, s->params, j->m, j->n, type, a, j->a.ld,
                                               type, &r->device, &r->host);
    case SOLVER_GEQRF:
        return fn->cusolverDnXgeqrf_bufferSize(s->solver, s->params, j->m, j->n, type, a, j->a.ld,
                                               type, pointer(&j->tau, 0), type, &r->device,
                                               &r->host);
    case SOLVER_GESVDP:
        return fn->cusolverDnXgesvdp_bufferSize(
            s->solver, s->params, j->vectors, j->thin, j->m, j->n, type, a, j->a.ld,
            real_type(j->type), pointer(&j->w, 0), type, pointer(&j->u, 0), j->u.ld, type,
            pointer(&j->v, 0), j->v.ld, type, &r->device, &r->host);
    case SOLVER_GESVD:
        return fn->cusolverDnXgesvd_bufferSize(
            s->solver, s->params, left_job(j), right_job(j), j->m, j->n, type, a, j->a.ld,
            real_type(j->type), pointer(&j->w, 0), type, pointer(&j->u, 0), j->u.ld, type,
            pointer(&j->v, 0), j->v.ld, type, &r->device, &r->host);
    case SOLVER_ORGQR:
        return old_work(s, j, r);
    case SOLVER_GETRS:
        return 0;
    case SOLVER_TRSM:
    case SOLVER_GEMM:
        r->device = BLAS_WORK;
        return 0;
    default:
        return eigen_work(s, j, r);
    }
}

static int is_blas(const solver_job *j)
{
    return j->function == SOLVER_TRSM || j->function == SOLVER_GEMM;
}

/* Whether all matrices are one call. */
static int takes_batch(const solver_job *j)
{
    return j->function == SOLVER_SYEV_BATCHED || j->function == SOLVER_GEMM;
}

/* Functions of the old kind take sizes of 32 bits. */
static int is_too_large(const solver_job *j)
{
    const int old = j->function == SOLVER_ORGQR || is_blas(j);
    return old && (j->m > INT_MAX || j->n > INT_MAX || j->a.ld > INT_MAX || j->b.ld > INT_MAX ||
                   (takes_batch(j) && (j->count > INT_MAX || j->k > INT_MAX)));
}

/* Inside cuda_enter(). Sizes are asked for before run() finds out that the device was closed. */
static int32_t have_handles(ndp_dev *dev)
{
    if (dev->solver)
        return NDP_OK;
    pthread_mutex_lock(&dev->lock);
    const int32_t status = cuda_solver_make(dev);
    pthread_mutex_unlock(&dev->lock);
    return status;
}

int32_t cuda_solver_work(ndp_dev *dev, const solver_job *j, uint64_t *nbytes)
{
    cuda_scope scope;
    room r = {0, 0};
    int result = 0;
    *nbytes = 0;
    if (is_too_large(j))
        return cuda_error(NDP_ERR_OVERFLOW, "%s takes matrices of fewer than 2^31 rows",
                          function_names[j->function]);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    status = have_handles(dev);
    if (status == NDP_OK) {
        pthread_mutex_lock(&dev->solver->lock);
        result = find_work(dev->solver, j, &r);
        pthread_mutex_unlock(&dev->solver->lock);
    }
    cuda_leave(&scope);
    *nbytes = r.device;
    return result == 0 ? status : failed(dev, j, result);
}

/* ---- running ---- */

static int run_eigen(const struct cuda_solver *s, const solver_job *j, int64_t i, const room *r,
                     void *host)
{
    const int type = data_type(j->type), real = real_type(j->type);
    void *a = pointer(&j->a, i), *w = pointer(&j->w, i), *v = pointer(&j->v, i),
         *work = (void *)(uintptr_t)j->work;
    int *info = (int *)(uintptr_t)j->info + i;
    if (j->function == SOLVER_SYEVD)
        return fn->cusolverDnXsyevd(s->solver, s->params, j->vectors, j->uplo, j->n, type, a,
                                    j->a.ld, real, w, type, work, r->device, host, r->host, info);
    if (j->function == SOLVER_SYEV_BATCHED)
        return fn->cusolverDnXsyevBatched(s->solver, s->params, j->vectors, j->uplo, j->n, type, a,
                                          j->a.ld, real, w, type, work, r->device, host, r->host,
                                          info, j->count);
    return fn->cusolverDnXgeev(s->solver, s->params, 0, j->vectors, j->n, type, a, j->a.ld, type, w,
                               type, NULL, j->n, type, v, j->v.ld, type, work, r->device, host,
                               r->host, info);
}

static int run_svd(const struct cuda_solver *s, solver_job *j, int64_t i, const room *r, void *host)
{
    const int type = data_type(j->type);
    void *a = pointer(&j->a, i), *w = pointer(&j->w, i), *u = pointer(&j->u, i),
         *v = pointer(&j->v, i), *work = (void *)(uintptr_t)j->work;
    int *info = (int *)(uintptr_t)j->info + i;
    double moved = 0;
    if (j->function == SOLVER_GESVD)
        return fn->cusolverDnXgesvd(s->solver, s->params, left_job(j), right_job(j), j->m, j->n,
                                    type, a, j->a.ld, real_type(j->type), w, type, u, j->u.ld, type,
                                    v, j->v.ld, type, work, r->device, host, r->host, info);
    const int result = fn->cusolverDnXgesvdp(
        s->solver, s->params, j->vectors, j->thin, j->m, j->n, type, a, j->a.ld, real_type(j->type),
        w, type, u, j->u.ld, type, v, j->v.ld, type, work, r->device, host, r->host, info, &moved);
    j->moved = moved > j->moved ? moved : j->moved;
    return result;
}

static int run_trsm(const struct cuda_solver *s, const solver_job *j, int64_t i)
{
    static const float one_f[2] = {1, 0};
    static const double one_d[2] = {1, 0};
    const void *one = real_type(j->type) ? (const void *)one_d : (const void *)one_f;
    return blas->trsm[j->type](s->blas, j->side, j->uplo, j->trans, j->unit, (int)j->m, (int)j->n,
                               one, pointer(&j->a, i), (int)j->a.ld, pointer(&j->b, i),
                               (int)j->b.ld);
}

static int run_gemm(const struct cuda_solver *s, const solver_job *j)
{
    static const float f[2][2] = {{1, 0}, {0, 0}};
    static const double d[2][2] = {{1, 0}, {0, 0}};
    const int wide = real_type(j->type);
    const long long size = (long long)element_size(j->type);
    return blas->gemm[j->type](s->blas, j->trans, 0, (int)j->m, (int)j->n, (int)j->k,
                               wide ? (const void *)d[0] : f[0], pointer(&j->a, 0), (int)j->a.ld,
                               j->a.step / size, pointer(&j->b, 0), (int)j->b.ld, j->b.step / size,
                               wide ? (const void *)d[1] : f[1], pointer(&j->u, 0), (int)j->u.ld,
                               j->u.step / size, (int)j->count);
}

static int run_one(const struct cuda_solver *s, solver_job *j, int64_t i, const room *r, void *host)
{
    const int type = data_type(j->type);
    void *a = pointer(&j->a, i), *work = (void *)(uintptr_t)j->work;
    int *info = (int *)(uintptr_t)j->info + i;
    switch (j->function) {
    case SOLVER_POTRF:
        return fn->cusolverDnXpotrf(s->solver, s->params, j->uplo, j->n, type, a, j->a.ld, type,
                                    work, r->device, host, r->host, info);
    case SOLVER_GETRF:
        return fn->cusolverDnXgetrf(s->solver, s->params, j->m, j->n, type, a, j->a.ld,
                                    pointer(&j->pivots, i), type, work, r->device, host, r->host,
                                    info);
    case SOLVER_GETRS:
        return fn->cusolverDnXgetrs(s->solver, s->params, j->trans, j->n, j->k, type, a, j->a.ld,
                                    pointer(&j->pivots, i), type, pointer(&j->b, i), j->b.ld, info);
    case SOLVER_GEQRF:
        return fn->cusolverDnXgeqrf(s->solver, s->params, j->m, j->n, type, a, j->a.ld, type,
                                    pointer(&j->tau, i), type, work, r->device, host, r->host,
                                    info);
    case SOLVER_ORGQR:
        return fn->orgqr[j->type](s->solver, (int)j->m, (int)j->n, (int)j->k, a, (int)j->a.ld,
                                  pointer(&j->tau, i), work,
                                  (int)(r->device / element_size(j->type)), info);
    case SOLVER_GESVD:
    case SOLVER_GESVDP:
        return run_svd(s, j, i, r, host);
    case SOLVER_TRSM:
        return run_trsm(s, j, i);
    case SOLVER_GEMM:
        return run_gemm(s, j);
    default:
        return run_eigen(s, j, i, r, host);
    }
}

static int queue(const struct cuda_solver *s, solver_job *j, CUstream stream)
{
    const int64_t times = takes_batch(j) ? 1 : j->count;
    room r;
    int result = find_work(s, j, &r);
    if (result == 0 && r.device > j->work_bytes)
        return SOLVER_ALLOC_FAILED;
    void *host = r.host ? malloc(r.host) : NULL;
    if (r.host && !host)
        return SOLVER_ALLOC_FAILED;
    j->moved = 0;
    if (result == 0 && is_blas(j)) {
        result = blas->cublasSetStream_v2(s->blas, stream);
        if (result == 0)
            result = blas->cublasSetWorkspace_v2(s->blas, (void *)(uintptr_t)j->work, r.device);
    } else if (result == 0)
        result = fn->cusolverDnSetStream(s->solver, stream);
    for (int64_t i = 0; i < times && result == 0; i++)
        result = run_one(s, j, i, &r, host);
    free(host);
    return result;
}

/* Functions that wait for parts of their work would break a capture, and leave its stream useless.
 */
static int32_t refuse_capture(const ndp_dev *dev, const solver_job *j, CUstream stream)
{
    const int waits = j->function >= SOLVER_SYEVD && j->function <= SOLVER_GESVDP;
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!waits || cu.cuStreamIsCapturing(stream, &state) != CUDA_SUCCESS ||
        state != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return NDP_OK;
    return cuda_error(NDP_ERR_CAPTURE,
                      "%s on cuda:%u waits for the device, so matrices of %lld x %lld cannot be "
                      "captured; those of up to %d x %d can",
                      function_names[j->function], dev->index, (long long)j->m, (long long)j->n,
                      LIN_SMALL, LIN_SMALL);
}

int32_t cuda_solver_run(ndp_dev *dev, ndp_stream *stream, solver_job *j)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    status = refuse_capture(dev, j, cuda_stream_handle(dev, stream));
    if (status != NDP_OK) {
        cuda_leave(&scope);
        return status;
    }
    pthread_mutex_lock(&dev->solver->lock);
    const int result = queue(dev->solver, j, cuda_stream(dev, stream));
    pthread_mutex_unlock(&dev->solver->lock);
    cuda_leave(&scope);
    return result == 0 ? NDP_OK : failed(dev, j, result);
}
