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
#include "linalg/lapack.h"
#include "linalg/spectral.h"

enum { POTRF, GETRF, GETRS, GEQRF, ORGQR, SYEVD, GEEV, GESDD, ROUTINES };
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

static struct {
    char name[256];
    void *routine[ROUTINES][LIN_DTYPES];
    int wide;
    int alone;                /* nobody else in the process had opened the library */
    int (*set_local)(int);    /* threads of the calling thread's calls; returns the number before */
    void (*set_threads)(int); /* of all calls */
    int (*get_threads)(void); /* that a call takes */
} lapack;
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
            lapack.routine[r][t] = dlsym(lib, name);
            if (!lapack.routine[r][t])
                return 0;
        }
    lapack.wide = decorations[d].wide;
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
    const int any = !wanted || strcmp(wanted, "auto") == 0;
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
    if (!wanted || strcmp(wanted, "auto") == 0)
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
    const int64_t most = lapack.wide ? INT64_MAX / 64 : INT32_MAX / 16;
    (void)x;
    return lin_lapack_is_open() && !atomic_load(&forked) && (m > LIN_SMALL || n > LIN_SMALL) &&
           m <= most / n && (cpu_threads() > 1 || follows());
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

/* ---- calls ---- */

/* A result that the routine has written as an integer of its own width. */
static int64_t integer(int64_t word)
{
    int32_t low;
    if (lapack.wide)
        return word;
    memcpy(&low, &word, sizeof low);
    return low;
}

/* What a query has left in the first element of work, as a number of elements. */
static int64_t wanted_work(const lin_context *x, const void *first)
{
    float f;
    double d;
    memcpy(&f, first, sizeof f);
    memcpy(&d, first, sizeof d);
    const double n = x->real == 4 ? f : d;
    return (int64_t)(n + n * 1e-6) + 8; /* f32 rounds large counts */
}

#define ROUTINE(fn_type, r) \
    fn_type *routine;       \
    memcpy(&routine, &lapack.routine[r][x->type], sizeof routine)

typedef void potrf_fn(const char *, const int64_t *, void *, const int64_t *, int64_t *, size_t);
typedef void getrf_fn(const int64_t *, const int64_t *, void *, const int64_t *, void *, int64_t *);
typedef void getrs_fn(const char *, const int64_t *, const int64_t *, const void *, const int64_t *,
                      const void *, void *, const int64_t *, int64_t *, size_t);
typedef void geqrf_fn(const int64_t *, const int64_t *, void *, const int64_t *, void *, void *,
                      const int64_t *, int64_t *);
typedef void orgqr_fn(const int64_t *, const int64_t *, const int64_t *, void *, const int64_t *,
                      const void *, void *, const int64_t *, int64_t *);
typedef void syevd_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                      void *, const int64_t *, void *, const int64_t *, int64_t *, size_t, size_t);
typedef void heevd_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                      void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
                      int64_t *, size_t, size_t);
typedef void geev_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                     void *, void *, const int64_t *, void *, const int64_t *, void *,
                     const int64_t *, int64_t *, size_t, size_t);
typedef void cgeev_fn(const char *, const char *, const int64_t *, void *, const int64_t *, void *,
                      void *, const int64_t *, void *, const int64_t *, void *, const int64_t *,
                      void *, int64_t *, size_t, size_t);
typedef void gesdd_fn(const char *, const int64_t *, const int64_t *, void *, const int64_t *,
                      void *, void *, const int64_t *, void *, const int64_t *, void *,
                      const int64_t *, void *, int64_t *, size_t);
typedef void cgesdd_fn(const char *, const int64_t *, const int64_t *, void *, const int64_t *,
                       void *, void *, const int64_t *, void *, const int64_t *, void *,
                       const int64_t *, void *, void *, int64_t *, size_t);

static int is_complex(const lin_context *x)
{
    return x->size != x->real;
}

int64_t lin_lapack_cholesky(const lin_context *x, int64_t n, char *a, int64_t lda)
{
    ROUTINE(potrf_fn, POTRF);
    int64_t info = 0;
    routine("L", &n, a, &lda, &info, 1);
    const int64_t failed = integer(info);
    if (failed <= 0)
        return 0;
    double pivot;
    x->leaf->real_part(lin_at(x, a, lda, failed - 1, failed - 1), &pivot);
    float single;
    memcpy(&single, &pivot, sizeof single);
    return (x->real == 4 ? single != single : pivot != pivot) ? -1 : failed;
}

void lin_lapack_lu(const lin_context *x, int64_t m, int64_t n, char *a, int64_t lda,
                   int64_t *pivots)
{
    ROUTINE(getrf_fn, GETRF);
    int64_t info = 0;
    const int64_t least = m < n ? m : n;
    routine(&m, &n, a, &lda, pivots, &info);
    for (int64_t i = least - 1; i >= 0; i--) { /* narrow ones lie in the first half */
        int32_t narrow;
        memcpy(&narrow, (char *)pivots + i * 4, sizeof narrow);
        pivots[i] = (lapack.wide ? pivots[i] : narrow) - 1;
    }
}

void lin_lapack_lu_solve(const lin_context *x, int64_t n, int64_t k, int32_t trans, const char *lu,
                         int64_t *pivots, char *b)
{
    ROUTINE(getrs_fn, GETRS);
    int64_t info = 0;
    for (int64_t i = 0; i < n; i++) { /* as lin_lapack_lu found them */
        const int64_t wide = pivots[i] + 1;
        const int32_t narrow = (int32_t)wide;
        memcpy((char *)pivots + i * (lapack.wide ? 8 : 4),
               lapack.wide ? (const void *)&wide : &narrow, lapack.wide ? 8 : 4);
    }
    routine(trans == NDP_TRANS_N   ? "N"
            : trans == NDP_TRANS_T ? "T"
                                   : "C",
            &n, &k, lu, &n, pivots, b, &n, &info, 1);
}

/* ---- qr ---- */

int64_t lin_lapack_qr_bytes(const lin_context *x, int64_t m, int64_t n, int64_t k)
{
    const int64_t least = m < n ? m : n, query = -1;
    int64_t info = 0;
    double first[2] = {0, 0};
    {
        ROUTINE(geqrf_fn, GEQRF);
        routine(&m, &n, first, &m, first, first, &query, &info);
    }
    int64_t work = wanted_work(x, first);
    ROUTINE(orgqr_fn, ORGQR);
    routine(&m, &k, &least, first, &m, first, first, &query, &info);
    if (wanted_work(x, first) > work)
        work = wanted_work(x, first);
    return (mm_round_up(least, 8) + work) * x->size;
}

void lin_lapack_qr(const lin_context *x, int64_t m, int64_t n, int64_t k, char *a, int64_t lda,
                   char *q, char *work, int64_t work_bytes)
{
    const int64_t least = m < n ? m : n;
    char *tau = work;
    int64_t info = 0;
    work += mm_round_up(least, 8) * x->size;
    const int64_t lwork = work_bytes / x->size - mm_round_up(least, 8);
    {
        ROUTINE(geqrf_fn, GEQRF);
        routine(&m, &n, a, &lda, tau, work, &lwork, &info);
    }
    if (!q)
        return;
    for (int64_t j = 0; j < least; j++)
        memcpy(lin_at(x, q, m, 0, j), lin_at(x, a, lda, 0, j), (size_t)(m * x->size));
    ROUTINE(orgqr_fn, ORGQR);
    routine(&m, &k, &least, q, &m, tau, work, &lwork, &info);
}

/* ---- eigh ---- */

/* Elements of work, real numbers of rwork, integers of iwork; one after the other in work. */
typedef struct {
    int64_t work, rwork, iwork;
} room;

static char *rwork_of(const lin_context *x, const room *r, char *work)
{
    return work + mm_round_up(r->work * x->size, 64);
}

static char *iwork_of(const lin_context *x, const room *r, char *work)
{
    return rwork_of(x, r, work) + mm_round_up(r->rwork * x->real, 64);
}

static int64_t room_bytes(const lin_context *x, const room *r)
{
    return mm_round_up(r->work * x->size, 64) + mm_round_up(r->rwork * x->real, 64) +
           mm_round_up(r->iwork * 8, 64);
}

static int64_t call_eigh(const lin_context *x, int64_t n, int vectors, char *a, int64_t lda,
                         char *w, const room *r, char *work, char *rwork, char *iwork)
{
    const char *job = vectors ? "V" : "N";
    int64_t info = 0;
    if (is_complex(x)) {
        ROUTINE(heevd_fn, SYEVD);
        routine(job, "L", &n, a, &lda, w, work, &r->work, rwork, &r->rwork, iwork, &r->iwork, &info,
                1, 1);
    } else {
        ROUTINE(syevd_fn, SYEVD);
        routine(job, "L", &n, a, &lda, w, work, &r->work, iwork, &r->iwork, &info, 1, 1);
    }
    return integer(info);
}

static room eigh_room(const lin_context *x, int64_t n, int vectors)
{
    const room query = {-1, -1, -1};
    double first[2] = {0, 0}, real[2] = {0, 0};
    int64_t count[2] = {0, 0};
    (void)call_eigh(x, n, vectors, (char *)first, n, (char *)first, &query, (char *)first,
                    (char *)real, (char *)count);
    room r = {wanted_work(x, first), is_complex(x) ? wanted_work(x, real) : 0, integer(count[0])};
    return r;
}

int64_t lin_lapack_eigh_bytes(const lin_context *x, int64_t n, int vectors)
{
    const room r = eigh_room(x, n, vectors);
    return room_bytes(x, &r);
}

int lin_lapack_eigh(const lin_context *x, int64_t n, int vectors, char *a, int64_t lda, char *w,
                    char *work, int64_t work_bytes)
{
    const room r = eigh_room(x, n, vectors);
    (void)work_bytes;
    return call_eigh(x, n, vectors, a, lda, w, &r, work, rwork_of(x, &r, work),
                     iwork_of(x, &r, work)) == 0;
}

/* ---- eig ---- */

/* w: of real matrices the real parts, then the imaginary ones; v as LAPACK has it. */
static int64_t call_eig(const lin_context *x, int64_t n, char *a, int64_t lda, char *w, char *v,
                        const room *r, char *work, char *rwork)
{
    const char *job = v ? "V" : "N";
    const int64_t one = 1;
    int64_t info = 0;
    char none[16];
    if (is_complex(x)) {
        ROUTINE(cgeev_fn, GEEV);
        routine("N", job, &n, a, &lda, w, none, &one, v ? v : none, v ? &n : &one, work, &r->work,
                rwork, &info, 1, 1);
    } else {
        ROUTINE(geev_fn, GEEV);
        routine("N", job, &n, a, &lda, w, w + n * x->size, none, &one, v ? v : none, v ? &n : &one,
                work, &r->work, &info, 1, 1);
    }
    return integer(info);
}

static room eig_room(const lin_context *x, int64_t n, int vectors)
{
    const room query = {-1, 0, 0};
    double first[2] = {0, 0}, other[8];
    (void)call_eig(x, n, (char *)other, n, (char *)other, vectors ? (char *)other : NULL, &query,
                   (char *)first, (char *)other);
    return (room){wanted_work(x, first), 2 * n, 0};
}

int64_t lin_lapack_eig_bytes(const lin_context *x, int64_t n, int vectors)
{
    const room r = eig_room(x, n, vectors);
    return room_bytes(x, &r) + (is_complex(x) ? 0 : (n * n * vectors + 2 * n) * x->size);
}

/* Complex vectors of a real matrix: column j and j + 1 are the real and imaginary part of the first
 * of two conjugates. */
static void spread_pairs(const lin_context *x, int64_t n, const char *w, const char *v, char *out_w,
                         char *out_v)
{
    const size_t size = (size_t)x->real;
    char zero[8] = {0};
    for (int64_t j = 0; j < n; j++) {
        memcpy(out_w + 2 * j * x->real, w + j * x->real, size);
        memcpy(out_w + (2 * j + 1) * x->real, w + (n + j) * x->real, size);
    }
    for (int64_t j = 0, next; v && j < n; j = next) {
        const char *im = w + (n + j) * x->real;
        const int pair = memcmp(im, zero, size) != 0 && j + 1 < n;
        next = j + 1 + pair;
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = j; k < next; k++) {
                char *to = out_v + 2 * (i + k * n) * x->real;
                memcpy(to, lin_at(x, v, n, i, j), size);
                memcpy(to + x->real, pair ? lin_at(x, v, n, i, j + 1) : zero, size);
            }
        if (pair) {
            lin_context complex = *x;
            lin_context_complex(&complex);
            complex.leaf->conjugate(n, out_v + 2 * (j + 1) * n * x->real);
        }
    }
}

int lin_lapack_eig(const lin_context *x, int64_t n, char *a, int64_t lda, char *w, char *v,
                   char *work, int64_t work_bytes)
{
    const room r = eig_room(x, n, v != NULL);
    char *own = work + room_bytes(x, &r), *own_w = own, *own_v = own + 2 * n * x->size;
    (void)work_bytes;
    if (is_complex(x))
        return call_eig(x, n, a, lda, w, v, &r, work, rwork_of(x, &r, work)) == 0;
    if (call_eig(x, n, a, lda, own_w, v ? own_v : NULL, &r, work, rwork_of(x, &r, work)))
        return 0;
    spread_pairs(x, n, own_w, v ? own_v : NULL, w, v);
    return 1;
}

/* ---- svd ---- */

static int64_t call_svd(const lin_context *x, int64_t m, int64_t n, int full, char *a, int64_t lda,
                        char *s, char *u, char *vt, const room *r, char *work, char *rwork,
                        char *iwork)
{
    const int64_t least = m < n ? m : n, ldvt = !u ? 1 : full ? n : least, ldu = u ? m : 1;
    const char *job = !u ? "N" : full ? "A" : "S";
    int64_t info = 0;
    char none[16];
    if (is_complex(x)) {
        ROUTINE(cgesdd_fn, GESDD);
        routine(job, &m, &n, a, &lda, s, u ? u : none, &ldu, u ? vt : none, &ldvt, work, &r->work,
                rwork, iwork, &info, 1);
    } else {
        ROUTINE(gesdd_fn, GESDD);
        routine(job, &m, &n, a, &lda, s, u ? u : none, &ldu, u ? vt : none, &ldvt, work, &r->work,
                iwork, &info, 1);
    }
    return integer(info);
}

/* rwork by LAPACK's documentation of CGESDD. */
static room svd_room(const lin_context *x, int64_t m, int64_t n, int full, int vectors)
{
    const int64_t least = m < n ? m : n, most = m < n ? n : m;
    const room query = {-1, 0, 0};
    double first[2] = {0, 0}, other[8];
    char *o = (char *)other;
    (void)call_svd(x, m, n, full, o, m, o, vectors ? o : NULL, o, &query, (char *)first, o, o);
    room r = {.work = wanted_work(x, first), .iwork = 8 * least};
    if (is_complex(x)) {
        const int64_t a = 5 * least * least + 5 * least,
                      b = 2 * most * least + 2 * least * least + least;
        r.rwork = vectors ? (a > b ? a : b) : 7 * least;
    }
    return r;
}

int64_t lin_lapack_svd_bytes(const lin_context *x, int64_t m, int64_t n, int full, int vectors)
{
    const room r = svd_room(x, m, n, full, vectors);
    return room_bytes(x, &r);
}

int lin_lapack_svd(const lin_context *x, int64_t m, int64_t n, int full, char *a, int64_t lda,
                   char *s, char *u, char *vt, char *work, int64_t work_bytes)
{
    const room r = svd_room(x, m, n, full, u != NULL);
    (void)work_bytes;
    return call_svd(x, m, n, full, a, lda, s, u, vt, &r, work, rwork_of(x, &r, work),
                    iwork_of(x, &r, work)) == 0;
}
