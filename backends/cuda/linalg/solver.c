/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuSOLVER and cuBLAS. A device has one handle of each, whose stream is set before each run, under a
 * lock; work areas are scratch of the call, from the core, as in blaslt.c. Some functions of cuSOLVER
 * want memory of the host as well, which they are done with when they return. */
#include "linalg/solver.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALLOC_FAILED = 2, NOT_SUPPORTED = 9, TRSM_WORK = 4 << 20 };

typedef struct {
#define SOLVER_FN(name, required, parameters) int(*name) parameters;
#define SOLVER_FOUR(field, s, d, c, z, parameters) int(*field[4]) parameters;
#define BLAS_FN(name, required, parameters)
#define BLAS_FOUR(field, s, d, c, z, parameters)
#include "linalg/solver.def"
} solver_functions;

typedef struct {
#define SOLVER_FN(name, required, parameters)
#define SOLVER_FOUR(field, s, d, c, z, parameters)
#define BLAS_FN(name, required, parameters) int(*name) parameters;
#define BLAS_FOUR(field, s, d, c, z, parameters) int(*field[4]) parameters;
#include "linalg/solver.def"
} blas_functions;

struct cuda_solver {
    void *solver, *params, *jacobi, *blas;
    pthread_mutex_t lock; /* of the handles */
};

static solver_functions fn;
static blas_functions blas;
static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static int32_t library_state = NDP_ERR_NOT_READY; /* under the lock until it is anything else */

/* ---- the libraries ---- */

#define INSTALL_SOLVER                                                                           \
    "install the CUDA toolkit's libcusolver (Debian and Ubuntu: libcusolver-13-0), or put its "  \
    "folder into LD_LIBRARY_PATH"
#define INSTALL_BLAS                                                                             \
    "install the CUDA toolkit's libcublas (Debian and Ubuntu: libcublas-13-0), or put its "      \
    "folder into LD_LIBRARY_PATH"

static int32_t version_text(const void *table, char *text, size_t n)
{
    int v = 0;
    if (((const solver_functions *)table)->cusolverGetVersion(&v) != 0)
        v = 0;
    snprintf(text, n, "%d.%d.%d", v / 1000, v % 1000 / 100, v % 100);
    return NDP_OK;
}

static int32_t open_solver(void)
{
    static const char *const sonames[] = {"libcusolver.so.12", "libcusolver.so.11"};
    static const ndh_symbol symbols[] = {
#define SOLVER_FN(name, required, parameters) {#name, offsetof(solver_functions, name), required},
#define SOLVER_FOUR(field, s, d, c, z, parameters)      \
    {#s, offsetof(solver_functions, field[0]), 1},      \
        {#d, offsetof(solver_functions, field[1]), 1},  \
        {#c, offsetof(solver_functions, field[2]), 1},  \
        {#z, offsetof(solver_functions, field[3]), 1},
#define BLAS_FN(name, required, parameters)
#define BLAS_FOUR(field, s, d, c, z, parameters)
#include "linalg/solver.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "cuSOLVER",
        .install = INSTALL_SOLVER,
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    return cuda_open_library(&library, &fn);
}

static int32_t open_blas(void)
{
    static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12"};
    static const ndh_symbol symbols[] = {
#define SOLVER_FN(name, required, parameters)
#define SOLVER_FOUR(field, s, d, c, z, parameters)
#define BLAS_FN(name, required, parameters) {#name, offsetof(blas_functions, name), required},
#define BLAS_FOUR(field, s, d, c, z, parameters)      \
    {#s, offsetof(blas_functions, field[0]), 1},      \
        {#d, offsetof(blas_functions, field[1]), 1},  \
        {#c, offsetof(blas_functions, field[2]), 1},  \
        {#z, offsetof(blas_functions, field[3]), 1},
#include "linalg/solver.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "cuBLAS",
        .install = INSTALL_BLAS,
        .sonames = sonames,
        .symbols = symbols,
    };
    return cuda_open_library(&library, &blas);
}

int32_t cuda_solver_open(void)
{
    pthread_mutex_lock(&library_lock);
    if (library_state == NDP_ERR_NOT_READY) {
        const int there = open_solver() == NDP_OK && open_blas() == NDP_OK;
        library_state = there ? NDP_OK : NDP_ERR_UNSUPPORTED;
        if (!there)
            cuda_host->log(cuda_host->ctx, NDP_LOG_WARN,
                           "no cuSOLVER or cuBLAS, so linear algebra of GPUs is computed by the "
                           "CPU; %s",
                           INSTALL_SOLVER);
    }
    const int32_t status = library_state;
    pthread_mutex_unlock(&library_lock);
    return status;
}

const char *cuda_solver_missing(void)
{
    return "cuSOLVER (libcusolver.so.12 or libcusolver.so.11) or cuBLAS (libcublas.so.13 or "
           "libcublas.so.12) cannot be opened: " INSTALL_SOLVER;
}

int cuda_solver_has_geev(void)
{
    return fn.cusolverDnXgeev && fn.cusolverDnXgeev_bufferSize;
}

const char *cuda_solver_no_geev(void)
{
    return "this cuSOLVER has no cusolverDnXgeev: install the one of CUDA 12.8 or later (Debian and "
           "Ubuntu: libcusolver-13-0)";
}

int cuda_solver_has_syev_batched(void)
{
    return fn.cusolverDnXsyevBatched && fn.cusolverDnXsyevBatched_bufferSize;
}

/* ---- handles ---- */

static void drop(struct cuda_solver *s)
{
    if (s->blas)
        blas.cublasDestroy_v2(s->blas);
    if (s->jacobi)
        fn.cusolverDnDestroyGesvdjInfo(s->jacobi);
    if (s->params)
        fn.cusolverDnDestroyParams(s->params);
    if (s->solver)
        fn.cusolverDnDestroy(s->solver);
    free(s);
}

int32_t cuda_solver_make(ndp_dev *dev)
{
    if (dev->solver)
        return NDP_OK;
    struct cuda_solver *s = calloc(1, sizeof *s);
    if (!s)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the handles of cuSOLVER");
    int r = fn.cusolverDnCreate(&s->solver);
    if (r == 0)
        r = fn.cusolverDnCreateParams(&s->params);
    if (r == 0)
        r = fn.cusolverDnCreateGesvdjInfo(&s->jacobi);
    if (r == 0)
        r = blas.cublasCreate_v2(&s->blas);
    if (r != 0) {
        drop(s);
        return cuda_host->error(cuda_host->ctx,
                                r == ALLOC_FAILED ? NDP_ERR_MEMORY : NDP_ERR_INTERNAL, r,
                                "cuda:%u: a handle of cuSOLVER or cuBLAS cannot be made (%d)",
                                dev->index, r);
    }
    pthread_mutex_init(&s->lock, NULL);
    dev->solver = s;
    return NDP_OK;
}

void cuda_solver_close(ndp_dev *dev)
{
    struct cuda_solver *s = dev->solver;
    cuda_scope scope;
    if (!s || cuda_enter(dev, &scope) != NDP_OK)
        return;
    dev->solver = NULL;
    pthread_mutex_destroy(&s->lock);
    drop(s);
    cuda_leave(&scope);
}

/* ---- errors ---- */

static const char *const function_names[SOLVER_FUNCTIONS] = {
    [SOLVER_POTRF] = "cusolverDnXpotrf",  [SOLVER_GETRF] = "cusolverDnXgetrf",
    [SOLVER_GETRS] = "cusolverDnXgetrs",  [SOLVER_GEQRF] = "cusolverDnXgeqrf",
    [SOLVER_ORGQR] = "cusolverDnXorgqr",  [SOLVER_SYEVD] = "cusolverDnXsyevd",
    [SOLVER_GEEV] = "cusolverDnXgeev",    [SOLVER_SYEV_BATCHED] = "cusolverDnXsyevBatched",
    [SOLVER_TRSM] = "cublasXtrsm",        [SOLVER_GESVDJ] = "cusolverDnXgesvdj",
    [SOLVER_GESVDP] = "cusolverDnXgesvdp"};

static int32_t failed(const ndp_dev *dev, const solver_job *j, int r)
{
    static const char *const types[] = {"f32", "f64", "c64", "c128"};
    return cuda_host->error(cuda_host->ctx,
                            r == ALLOC_FAILED ? NDP_ERR_MEMORY : NDP_ERR_INTERNAL, r,
                            "%s on cuda:%u: status %d for a matrix of %lld x %lld of %s, batch %lld",
                            function_names[j->function], dev->index, r, (long long)j->m,
                            (long long)j->n, types[j->type], (long long)j->count);
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
    const int m = (int)j->m, n = (int)j->n;
    int elements = 0, result;
    if (j->function == SOLVER_ORGQR)
        result = fn.orgqr_size[j->type](s->solver, m, n, (int)j->k, pointer(&j->a, 0),
                                        (int)j->a.ld, pointer(&j->tau, 0), &elements);
    else
        result = fn.gesvdj_size[j->type](s->solver, j->vectors, j->thin, m, n, pointer(&j->a, 0),
                                         (int)j->a.ld, pointer(&j->w, 0), pointer(&j->u, 0),
                                         (int)j->u.ld, pointer(&j->v, 0), (int)j->v.ld, &elements,
                                         s->jacobi);
    r->device = (size_t)elements * element_size(j->type);
    r->host = 0;
    return result;
}

static int eigen_work(const struct cuda_solver *s, const solver_job *j, room *r)
{
    const int type = data_type(j->type), real = real_type(j->type);
    void *a = pointer(&j->a, 0), *w = pointer(&j->w, 0), *v = pointer(&j->v, 0);
    if (j->function == SOLVER_SYEVD)
        return fn.cusolverDnXsyevd_bufferSize(s->solver, s->params, j->vectors, j->uplo, j->n, type,
                                              a, j->a.ld, real, w, type, &r->device, &r->host);
    if (j->function == SOLVER_SYEV_BATCHED)
        return fn.cusolverDnXsyevBatched_bufferSize(s->solver, s->params, j->vectors, j->uplo, j->n,
                                                    type, a, j->a.ld, real, w, type, &r->device,
                                                    &r->host, j->count);
    return fn.cusolverDnXgeev_bufferSize(s->solver, s->params, 0, j->vectors, j->n, type, a,
                                         j->a.ld, type, w, type, NULL, j->n, type, v, j->v.ld, type,
                                         &r->device, &r->host);
}

static int find_work(const struct cuda_solver *s, const solver_job *j, room *r)
{
    const int type = data_type(j->type);
    void *a = pointer(&j->a, 0);
    *r = (room){0, 0};
    switch (j->function) {
    case SOLVER_POTRF:
        return fn.cusolverDnXpotrf_bufferSize(s->solver, s->params, j->uplo, j->n, type, a, j->a.ld,
                                              type, &r->device, &r->host);
    case SOLVER_GETRF:
        return fn.cusolverDnXgetrf_bufferSize(s->solver, s->params, j->m, j->n, type, a, j->a.ld,
                                              type, &r->device, &r->host);
    case SOLVER_GEQRF:
        return fn.cusolverDnXgeqrf_bufferSize(s->solver, s->params, j->m, j->n, type, a, j->a.ld,
                                              type, pointer(&j->tau, 0), type, &r->device,
                                              &r->host);
    case SOLVER_GESVDP:
        return fn.cusolverDnXgesvdp_bufferSize(
            s->solver, s->params, j->vectors, j->thin, j->m, j->n, type, a, j->a.ld,
            real_type(j->type), pointer(&j->w, 0), type, pointer(&j->u, 0), j->u.ld, type,
            pointer(&j->v, 0), j->v.ld, type, &r->device, &r->host);
    case SOLVER_ORGQR:
    case SOLVER_GESVDJ:
        return old_work(s, j, r);
    case SOLVER_GETRS:
        return 0;
    case SOLVER_TRSM:
        r->device = TRSM_WORK;
        return 0;
    default:
        return eigen_work(s, j, r);
    }
}

/* Functions of the old kind take sizes of 32 bits. */
static int is_too_large(const solver_job *j)
{
    const int old = j->function == SOLVER_ORGQR || j->function == SOLVER_GESVDJ ||
                    j->function == SOLVER_TRSM;
    return old && (j->m > INT_MAX || j->n > INT_MAX || j->a.ld > INT_MAX || j->b.ld > INT_MAX);
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
        return fn.cusolverDnXsyevd(s->solver, s->params, j->vectors, j->uplo, j->n, type, a,
                                   j->a.ld, real, w, type, work, r->device, host, r->host, info);
    if (j->function == SOLVER_SYEV_BATCHED)
        return fn.cusolverDnXsyevBatched(s->solver, s->params, j->vectors, j->uplo, j->n, type, a,
                                         j->a.ld, real, w, type, work, r->device, host, r->host,
                                         info, j->count);
    return fn.cusolverDnXgeev(s->solver, s->params, 0, j->vectors, j->n, type, a, j->a.ld, type, w,
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
    if (j->function == SOLVER_GESVDJ)
        return fn.gesvdj[j->type](s->solver, j->vectors, j->thin, (int)j->m, (int)j->n, a,
                                  (int)j->a.ld, w, u, (int)j->u.ld, v, (int)j->v.ld, work,
                                  (int)(r->device / element_size(j->type)), info, s->jacobi);
    const int result = fn.cusolverDnXgesvdp(
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
    return blas.trsm[j->type](s->blas, j->side, j->uplo, j->trans, j->unit, (int)j->m, (int)j->n,
                              one, pointer(&j->a, i), (int)j->a.ld, pointer(&j->b, i),
                              (int)j->b.ld);
}

static int run_one(const struct cuda_solver *s, solver_job *j, int64_t i, const room *r, void *host)
{
    const int type = data_type(j->type);
    void *a = pointer(&j->a, i), *work = (void *)(uintptr_t)j->work;
    int *info = (int *)(uintptr_t)j->info + i;
    switch (j->function) {
    case SOLVER_POTRF:
        return fn.cusolverDnXpotrf(s->solver, s->params, j->uplo, j->n, type, a, j->a.ld, type,
                                   work, r->device, host, r->host, info);
    case SOLVER_GETRF:
        return fn.cusolverDnXgetrf(s->solver, s->params, j->m, j->n, type, a, j->a.ld,
                                   pointer(&j->pivots, i), type, work, r->device, host, r->host,
                                   info);
    case SOLVER_GETRS:
        return fn.cusolverDnXgetrs(s->solver, s->params, j->trans, j->n, j->k, type, a, j->a.ld,
                                   pointer(&j->pivots, i), type, pointer(&j->b, i), j->b.ld, info);
    case SOLVER_GEQRF:
        return fn.cusolverDnXgeqrf(s->solver, s->params, j->m, j->n, type, a, j->a.ld, type,
                                   pointer(&j->tau, i), type, work, r->device, host, r->host, info);
    case SOLVER_ORGQR:
        return fn.orgqr[j->type](s->solver, (int)j->m, (int)j->n, (int)j->k, a, (int)j->a.ld,
                                 pointer(&j->tau, i), work,
                                 (int)(r->device / element_size(j->type)), info);
    case SOLVER_GESVDJ:
    case SOLVER_GESVDP:
        return run_svd(s, j, i, r, host);
    case SOLVER_TRSM:
        return run_trsm(s, j, i);
    default:
        return run_eigen(s, j, i, r, host);
    }
}

static int queue(const struct cuda_solver *s, solver_job *j, CUstream stream)
{
    const int64_t times = j->function == SOLVER_SYEV_BATCHED ? 1 : j->count;
    room r;
    int result = find_work(s, j, &r);
    if (result == 0 && r.device > j->work_bytes)
        return ALLOC_FAILED;
    void *host = r.host ? malloc(r.host) : NULL;
    if (r.host && !host)
        return ALLOC_FAILED;
    j->moved = 0;
    if (result == 0 && j->function == SOLVER_TRSM) {
        result = blas.cublasSetStream_v2(s->blas, stream);
        if (result == 0)
            result = blas.cublasSetWorkspace_v2(s->blas, (void *)(uintptr_t)j->work, r.device);
    } else if (result == 0)
        result = fn.cusolverDnSetStream(s->solver, stream);
    for (int64_t i = 0; i < times && result == 0; i++)
        result = run_one(s, j, i, &r, host);
    free(host);
    return result;
}

/* Functions that wait for parts of their work would break a capture, and leave its stream useless. */
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
