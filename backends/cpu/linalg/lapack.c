/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A LAPACK opened at run time: OpenBLAS, MKL, the reference, or the copy that scipy-openblas brings,
 * whose names have a prefix. It is never linked.
 *
 * LAPACK's xerbla may end the process, so no routine is ever given what it would refuse: extents
 * are at least one, leading dimensions are large enough, and matrices with NaN or infinities, on
 * which some iterations never end, are answered before (eigen.c, svd.c).
 *
 * Integers are passed as int64_t: a routine with 32-bit ones reads and writes the low half, which
 * comes first (little-endian processors alone are served then). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "linalg/lapack_calls.h"

/* From this extent on our own factorisations are faster than those of an outdated library
 * (bench/linalg.py). */
#define OWN_FROM 192

static const char *const names[ROUTINES][LIN_DTYPES] = {
    [POTRF] = {"spotrf", "dpotrf", "cpotrf", "zpotrf"},
    [GETRF] = {"sgetrf", "dgetrf", "cgetrf", "zgetrf"},
    [GETRS] = {"sgetrs", "dgetrs", "cgetrs", "zgetrs"},
    [GEQRF] = {"sgeqrf", "dgeqrf", "cgeqrf", "zgeqrf"},
    [ORGQR] = {"sorgqr", "dorgqr", "cungqr", "zungqr"},
    [SYEVD] = {"ssyevd", "dsyevd", "cheevd", "zheevd"},
    [GEEV] = {"sgeev", "dgeev", "cgeev", "zgeev"},
    [GESDD] = {"sgesdd", "dgesdd", "cgesdd", "zgesdd"},
};
/* How libraries decorate these names; wide: their integers have 64 bits. */
static const struct {
    const char *before, *after;
    int wide;
} decorations[] = {
    {"", "_", 0}, {"scipy_", "_", 0}, {"scipy_", "_64_", 1}, {"", "_64_", 1}, {"", "", 0}};

lin_lapack_routines lin_lapack;
static struct {
    char name[256];
    int alone;                /* nobody else in the process had opened the library */
    int (*set_local)(int);    /* threads of the calling thread's calls; returns the number before */
    void (*set_threads)(int); /* of all calls */
    int (*get_threads)(void); /* that a call takes */
    int outdated;             /* see find_outdated() */
} lapack;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Whether the user has named none: the first that is found will do. */
static int any_will_do(void)
{
    return !cpu_set.lapack || strcmp(cpu_set.lapack, "auto") == 0;
}

/* ---- opening ---- */

/* ISO C has no cast from a data pointer to a function's. */
static void copy_pointer(void *to, void *symbol)
{
    memcpy(to, &symbol, sizeof symbol);
}

static int find_routines(void *lib, int d)
{
    for (int r = 0; r < ROUTINES; r++)
        for (int t = 0; t < LIN_DTYPES; t++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s%s", decorations[d].before, names[r][t],
                     decorations[d].after);
            lin_lapack.routine[r][t] = dlsym(lib, name);
            if (!lin_lapack.routine[r][t])
                return 0;
        }
    lin_lapack.wide = decorations[d].wide;
    return 1;
}

static void *first_of(void *lib, const char *const *symbols, size_t n)
{
    void *found = NULL;
    for (size_t i = 0; i < n && !found; i++)
        found = dlsym(lib, symbols[i]);
    return found;
}

static void find_setters(void *lib)
{
    static const char *const local[] = {
        "openblas_set_num_threads_local", "scipy_openblas_set_num_threads_local",
        "scipy_openblas_set_num_threads_local64_", "MKL_Set_Num_Threads_Local"};
    static const char *const global[] = {"openblas_set_num_threads",
                                         "scipy_openblas_set_num_threads",
                                         "scipy_openblas_set_num_threads64_"};
    static const char *const getters[] = {"openblas_get_num_threads",
                                          "scipy_openblas_get_num_threads",
                                          "scipy_openblas_get_num_threads64_"};
    copy_pointer(&lapack.set_local, first_of(lib, local, sizeof local / sizeof *local));
    copy_pointer(&lapack.set_threads, first_of(lib, global, sizeof global / sizeof *global));
    copy_pointer(&lapack.get_threads, first_of(lib, getters, sizeof getters / sizeof *getters));
}

/* On processors newer than itself OpenBLAS falls back to its kernels for SSE, whose products reach a
 * tenth of the speed of our own kernels for AVX-512. */
static void find_outdated(void *lib)
{
    static const char *const getters[] = {"openblas_get_corename", "scipy_openblas_get_corename",
                                          "scipy_openblas_get_corename64_"};
    const char *(*get_name)(void);
    copy_pointer(&get_name, first_of(lib, getters, sizeof getters / sizeof *getters));
    const char *core = get_name ? get_name() : NULL;
    lapack.outdated = core && cpu_isa() >= CPU_ISA_AVX2 &&
                      (strcmp(core, "Prescott") == 0 || strcmp(core, "Nehalem") == 0);
}

static int open_library(const char *name)
{
    void *there = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int found = 0;
    for (size_t d = 0; lib && d < sizeof decorations / sizeof *decorations && !found; d++)
        found = find_routines(lib, (int)d);
    if (!found) {
        if (lib)
            dlclose(lib);
        return 0;
    }
    lapack.alone = !there;
    find_setters(lib);
    find_outdated(lib);
    snprintf(lapack.name, sizeof lapack.name, "%s", name);
    return 1;
}

static int is_little_endian(void)
{
    const int64_t one = 1;
    char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static atomic_int forked; /* a forked child: the library's threads are not there */

static void child_after_fork(void)
{
    atomic_store(&forked, 1);
}

static void open_once(void)
{
    static const char *const candidates[] = {"libopenblas.so.0", "libmkl_rt.so.2", "libmkl_rt.so",
                                             "liblapack.so.3"};
    const char *wanted = cpu_set.lapack;
    const int any = any_will_do();
    (void)pthread_atfork(NULL, NULL, child_after_fork);
    if (!is_little_endian() || (!any && (strcmp(wanted, "own") == 0 || strcmp(wanted, "off") == 0)))
        return;
    for (size_t i = 0; any && i < sizeof candidates / sizeof *candidates; i++)
        if (open_library(candidates[i]))
            return;
    if (!any && !open_library(wanted))
        cpu_host->log(
            cpu_host->ctx, NDP_LOG_WARN,
            "NDOCK_CPU_LAPACK=%s: no such library with LAPACK's routines could be opened; "
            "linear algebra uses the own kernels; install libopenblas0 or liblapack3 and leave the "
            "variable out",
            wanted);
}

int lin_lapack_is_open(void)
{
    pthread_once(&once, open_once);
    return lapack.name[0] != 0;
}

void lin_lapack_missing(const char *op, char *why, size_t n)
{
    static const char cure[] = "install libopenblas0 or liblapack3";
    const char *wanted = cpu_set.lapack;
    if (any_will_do())
        snprintf(why, n,
                 "%s needs a LAPACK, and none was found: %s, or name one by NDOCK_CPU_LAPACK", op,
                 cure);
    else if (strcmp(wanted, "own") == 0 || strcmp(wanted, "off") == 0)
        snprintf(why, n,
                 "%s needs a LAPACK, and NDOCK_CPU_LAPACK=%s leaves it out: %s and leave the "
                 "variable out",
                 op, wanted, cure);
    else
        snprintf(why, n,
                 "%s needs a LAPACK, and NDOCK_CPU_LAPACK=%.80s cannot be opened as one: %s and "
                 "leave the variable out",
                 op, wanted, cure);
}

const char *cpu_lapack_name(void)
{
    return lin_lapack_is_open() ? lapack.name : "own kernels";
}

/* ---- threads ---- */

/* Whether the library takes no more threads than we have. A setting of the whole process is changed
 * only where nobody else had opened the library; else it may be what is wanted already. */
static int follows(void)
{
    return lapack.set_local || (lapack.set_threads && lapack.alone) ||
           (lapack.get_threads && lapack.get_threads() <= cpu_threads());
}

int lin_lapack_serves(const lin_context *x, int64_t m, int64_t n)
{
    /* workspaces have a few times m n elements, which the routines' integers count */
    const int64_t most = lin_lapack.wide ? INT64_MAX / 64 : INT32_MAX / 16;
    (void)x;
    return lin_lapack_is_open() && !atomic_load(&forked) && (m > LIN_SMALL || n > LIN_SMALL) &&
           m <= most / n && (cpu_threads() > 1 || follows());
}

int lin_lapack_factors(const lin_context *x, int64_t m, int64_t n)
{
    return lin_lapack_serves(x, m, n) &&
           !(any_will_do() && lapack.outdated && m >= OWN_FROM && n >= OWN_FROM);
}

int lin_lapack_enter(int alone)
{
    const int threads = alone ? cpu_threads() : 1;
    if (lapack.set_local)
        return lapack.set_local(threads);
    if (lapack.set_threads && lapack.alone && !atomic_load(&forked))
        lapack.set_threads(threads);
    return 0;
}

void lin_lapack_leave(int before)
{
    if (lapack.set_local)
        lapack.set_local(before);
}
