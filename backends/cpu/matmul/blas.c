/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A CBLAS opened at run time, when NDOCK_CPU_BLAS asks for one.
 *
 * By default the own kernels serve: they are as fast, and give the same bits on any number of
 * threads. OpenBLAS does not (0.3.21: five shapes of six differ between one and two threads), and
 * its thread count is a setting of the whole process, which a plug-in must not change. So a BLAS
 * keeps its own threads and its own rounding, and is left alone where one thread was asked for, and
 * in a forked child. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include "matmul/matmul.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 }; /* of cblas.h */
typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const void *, int, const void *, int,
                         float, void *, int);
typedef void (*dgemm_fn)(int, int, int, int, int, int, double, const void *, int, const void *, int,
                         double, void *, int);
typedef void (*zgemm_fn)(int, int, int, int, int, int, const void *, const void *, int,
                         const void *, int, const void *, void *, int);
static struct {
    const char *name;
    sgemm_fn s;
    dgemm_fn d;
    zgemm_fn c, z;
} blas;
static pthread_once_t blas_once = PTHREAD_ONCE_INIT;

/* All four products of the library, or nothing. */
static int blas_open(const char *name)
{
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return 0;
    /* POSIX lets a data pointer carry a function's address; ISO C has no cast for it. */
    void *symbols[4] = {dlsym(lib, "cblas_sgemm"), dlsym(lib, "cblas_dgemm"),
                        dlsym(lib, "cblas_cgemm"), dlsym(lib, "cblas_zgemm")};
    if (!symbols[0] || !symbols[1] || !symbols[2] || !symbols[3]) {
        dlclose(lib);
        return 0;
    }
    memcpy(&blas.s, &symbols[0], sizeof blas.s);
    memcpy(&blas.d, &symbols[1], sizeof blas.d);
    memcpy(&blas.c, &symbols[2], sizeof blas.c);
    memcpy(&blas.z, &symbols[3], sizeof blas.z);
    blas.name = name;
    return 1;
}

static void blas_init(void)
{
    static const char *const candidates[] = {"libopenblas.so.0", "libblis.so.4", "libblis.so.3",
                                             "libmkl_rt.so.2",   "libmkl_rt.so", "libcblas.so.3",
                                             "libblas.so.3"};
    const char *wanted = cpu_set.blas;
    if (!wanted || strcmp(wanted, "auto") == 0 || strcmp(wanted, "own") == 0)
        return;
    if (strcmp(wanted, "any") != 0)
        (void)blas_open(wanted);
    for (size_t i = 0; strcmp(wanted, "any") == 0 && i < sizeof candidates / sizeof *candidates;
         i++)
        if (blas_open(candidates[i]))
            break;
    if (!blas.name)
        cpu_host->log(cpu_host->ctx, NDP_LOG_WARN,
                      "NDOCK_CPU_BLAS=%s: no such library with cblas_sgemm, dgemm, cgemm and zgemm "
                      "could be opened; matrix products use the own kernels",
                      wanted);
}

const char *cpu_blas_name(void)
{
    pthread_once(&blas_once, blas_init);
    return blas.name ? blas.name : "own kernels";
}

/* An operand as BLAS takes it: unit stride along one dimension, rows that do not overlap. */
static int blas_operand(const mm_operand *x, int64_t rows, int64_t columns, int *trans, int *ld)
{
    int64_t stride;
    if (x->column == 1 || columns == 1) {
        *trans = NO_TRANS;
        stride = rows == 1 && x->row < columns ? columns : x->row;
        if (stride < columns || (columns == 1 && x->column != 1 && stride < 1))
            return 0;
    } else if (x->row == 1) {
        *trans = TRANS;
        stride = x->column;
        if (stride < rows)
            return 0;
    } else {
        return 0;
    }
    *ld = stride <= INT32_MAX ? (int)stride : 0;
    return *ld > 0;
}

int mm_blas_serves(const mm_plan *p)
{
    int trans, ld;
    pthread_once(&blas_once, blas_init);
    return blas.name && cpu_threads() > 1 && p->path == MM_SHARED && p->k->dtype >= NDP_F32 &&
           mm_is_native(p->k, p->a.dtype) && mm_is_native(p->k, p->b.dtype) &&
           mm_is_native(p->k, p->out.dtype) && p->scale.f_alpha != 0 && p->m <= INT32_MAX &&
           p->n <= INT32_MAX && p->depth <= INT32_MAX &&
           blas_operand(&p->a, p->m, p->depth, &trans, &ld) &&
           blas_operand(&p->b, p->depth, p->n, &trans, &ld) && p->out.column == 1 &&
           blas_operand(&p->out, p->m, p->n, &trans, &ld);
}

void mm_blas_product(const mm_plan *p, const char *a, const char *b, char *out)
{
    int ta = NO_TRANS, tb = NO_TRANS, tc = NO_TRANS, lda = 1, ldb = 1, ldc = 1;
    const int m = (int)p->m, n = (int)p->n, k = (int)p->depth;
    const double alpha = p->scale.f_alpha, beta = p->scale.f_beta;
    (void)blas_operand(&p->a, p->m, p->depth, &ta, &lda);
    (void)blas_operand(&p->b, p->depth, p->n, &tb, &ldb);
    (void)blas_operand(&p->out, p->m, p->n, &tc, &ldc);
    if (p->k->dtype == NDP_F32) {
        blas.s(ROW_MAJOR, ta, tb, m, n, k, (float)alpha, a, lda, b, ldb, (float)beta, out, ldc);
    } else if (p->k->dtype == NDP_F64) {
        blas.d(ROW_MAJOR, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, out, ldc);
    } else if (p->k->dtype == NDP_C64) {
        const float calpha[2] = {(float)alpha, 0}, cbeta[2] = {(float)beta, 0};
        blas.c(ROW_MAJOR, ta, tb, m, n, k, calpha, a, lda, b, ldb, cbeta, out, ldc);
    } else {
        const double zalpha[2] = {alpha, 0}, zbeta[2] = {beta, 0};
        blas.z(ROW_MAJOR, ta, tb, m, n, k, zalpha, a, lda, b, ldb, zbeta, out, ldc);
    }
}
