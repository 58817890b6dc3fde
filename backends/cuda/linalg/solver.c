/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuSOLVER and cuBLAS, opened when they are first wanted, and a device's handles. */
#include "linalg/solver_table.h"
#include <stdlib.h>

solver_functions cuda_solver_fn;
blas_functions cuda_solver_blas;

/* ---- the libraries ---- */

#define INSTALL_SOLVER                                                                          \
    "install the CUDA toolkit's libcusolver (Debian and Ubuntu: libcusolver-13-0), or put its " \
    "folder into LD_LIBRARY_PATH"
#define INSTALL_BLAS                                                                        \
    "install the CUDA toolkit's libcublas (Debian and Ubuntu: libcublas-13-0), or put its " \
    "folder into LD_LIBRARY_PATH"

static int32_t version_text(const void *table, char *text, size_t n)
{
    int v = 0;
    const int result = ((const solver_functions *)table)->cusolverGetVersion(&v);
    return cuda_version_text(result, v, text, n);
}

static int32_t open_solver(void)
{
    static const char *const sonames[] = {"libcusolver.so.12", "libcusolver.so.11"};
    static const ndh_symbol symbols[] = {
#define SOLVER_FN(name, required, parameters) {#name, offsetof(solver_functions, name), required},
#define SOLVER_FOUR(field, s, d, c, z, parameters)                                                \
    {#s, offsetof(solver_functions, field[0]), 1}, {#d, offsetof(solver_functions, field[1]), 1}, \
        {#c, offsetof(solver_functions, field[2]), 1},                                            \
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
    return cuda_open_library(&library, &cuda_solver_fn);
}

static int32_t open_blas(void)
{
    static const char *const sonames[] = {"libcublas.so.13", "libcublas.so.12"};
    static const ndh_symbol symbols[] = {
#define SOLVER_FN(name, required, parameters)
#define SOLVER_FOUR(field, s, d, c, z, parameters)
#define BLAS_FN(name, required, parameters) {#name, offsetof(blas_functions, name), required},
#define BLAS_FOUR(field, s, d, c, z, parameters)                                              \
    {#s, offsetof(blas_functions, field[0]), 1}, {#d, offsetof(blas_functions, field[1]), 1}, \
        {#c, offsetof(blas_functions, field[2]), 1}, {#z, offsetof(blas_functions, field[3]), 1},
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
    return cuda_open_library(&library, &cuda_solver_blas);
}

static int32_t open_both(void)
{
    const int32_t status = open_solver();
    return status == NDP_OK ? open_blas() : status;
}

int32_t cuda_solver_open(void)
{
    static cuda_optional libraries =
        CUDA_OPTIONAL(open_both, NDP_LOG_WARN,
                      "no cuSOLVER or cuBLAS, so linear algebra of GPUs is computed by the "
                      "CPU; " INSTALL_SOLVER);
    return cuda_optional_open(&libraries);
}

const char *cuda_solver_missing(void)
{
    return "cuSOLVER (libcusolver.so.12 or libcusolver.so.11) or cuBLAS (libcublas.so.13 or "
           "libcublas.so.12) cannot be opened: " INSTALL_SOLVER;
}

int cuda_solver_has_geev(void)
{
    return cuda_solver_fn.cusolverDnXgeev && cuda_solver_fn.cusolverDnXgeev_bufferSize;
}

const char *cuda_solver_no_geev(void)
{
    return "this cuSOLVER has no cusolverDnXgeev: install the one of CUDA 12.8 or later (Debian "
           "and "
           "Ubuntu: libcusolver-13-0)";
}

int cuda_solver_has_syev_batched(void)
{
    return cuda_solver_fn.cusolverDnXsyevBatched &&
           cuda_solver_fn.cusolverDnXsyevBatched_bufferSize;
}

/* ---- handles ---- */

static void drop(struct cuda_solver *s)
{
    if (s->blas)
        cuda_solver_blas.cublasDestroy_v2(s->blas);
    if (s->params)
        cuda_solver_fn.cusolverDnDestroyParams(s->params);
    if (s->solver)
        cuda_solver_fn.cusolverDnDestroy(s->solver);
    free(s);
}

int32_t cuda_solver_make(ndp_dev *dev)
{
    if (dev->solver)
        return NDP_OK;
    struct cuda_solver *s = calloc(1, sizeof *s);
    if (!s)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the handles of cuSOLVER");
    int r = cuda_solver_fn.cusolverDnCreate(&s->solver);
    if (r == 0)
        r = cuda_solver_fn.cusolverDnCreateParams(&s->params);
    if (r == 0)
        r = cuda_solver_blas.cublasCreate_v2(&s->blas);
    if (r != 0) {
        drop(s);
        return cuda_host->error(
            cuda_host->ctx, r == SOLVER_ALLOC_FAILED ? NDP_ERR_MEMORY : NDP_ERR_INTERNAL, r,
            "cuda:%u: a handle of cuSOLVER or cuBLAS cannot be made (%d)", dev->index, r);
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
