/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Linear algebra of the CUDA plug-in without a GPU: its kernels are compiled for the host,
 * cuSOLVER, cuBLAS and the driver pretend, so that layouts, sizes, scratch memory, what becomes of
 * matrices that cannot be decomposed, and the kernels' arithmetic are the plug-in's own. Random
 * batches are compared with the CPU's results, or, where these are not unique, with what they
 * claim. */
#include <stdbool.h>
#include <complex.h>
#include <math.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

enum { TRIALS = 12, FEW = 3, MOST = 45, WIDEST = 70 };

static nd_device *dev, *cpu;
static uint64_t state = 20261125;
static int64_t below(int64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state >> 11) % n;
}
static double uniform(void)
{
    return (double)below(1 << 20) / (1 << 19) - 1;
}

/* ---- batches of matrices: a copy on the host, in complex numbers, and an array on each device
 * ---- */

typedef struct {
    nd_dtype dtype;
    int64_t batch, m, n;
    int mode; /* how it lies: 0 dense, 1 transposed, 2 with gaps */
    double complex *e;
} matrix;

static int is_complex(nd_dtype d)
{
    return d == ND_C64 || d == ND_C128;
}
static int is_single(nd_dtype d)
{
    return d == ND_F32 || d == ND_C64;
}

static double complex *element(const matrix *a, int64_t b, int64_t i, int64_t j)
{
    return &a->e[(b * a->m + i) * a->n + j];
}

static matrix new_matrix(nd_dtype dtype, int64_t batch, int64_t m, int64_t n)
{
    matrix a = {dtype, batch, m, n, (int)below(3), NULL};
    a.e = calloc((size_t)(batch * m * n + 1), sizeof *a.e);
    for (int64_t i = 0; i < batch * m * n; i++)
        a.e[i] = uniform() + (is_complex(dtype) ? uniform() * I : 0);
    if (is_single(dtype))
        for (int64_t i = 0; i < batch * m * n; i++)
            a.e[i] = (double complex)(float complex)a.e[i];
    return a;
}

static void put(nd_dtype d, void *at, int64_t i, double complex x)
{
    if (d == ND_F32)
        ((float *)at)[i] = (float)creal(x);
    else if (d == ND_F64)
        ((double *)at)[i] = creal(x);
    else if (d == ND_C64)
        ((float complex *)at)[i] = (float complex)x;
    else
        ((double complex *)at)[i] = x;
}

/* The view of an array (batch, m, n) that lies as mode says; *base: the whole array. */
static nd_status place_matrix(const matrix *a, nd_device *device, nd_array **base, nd_array **view)
{
    const int turned = a->mode == 1, gaps = a->mode == 2;
    const int64_t rows = turned ? a->n : a->m, columns = turned ? a->m : a->n;
    const int64_t whole[3] = {a->batch, rows + gaps, columns * (1 + gaps)};
    const int64_t size = whole[0] * whole[1] * whole[2];
    char *data = calloc((size_t)size + 1, 16);
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t i = 0; i < a->m; i++)
            for (int64_t j = 0; j < a->n; j++)
                put(a->dtype, data,
                    (b * whole[1] + (turned ? j : i)) * whole[2] + (turned ? i : j) * (1 + gaps),
                    *element(a, b, i, j));
    const nd_layout layout = {.size = sizeof layout, .dtype = a->dtype, .ndim = 3, .shape = whole};
    const nd_index cut[3] = {nd_range(0, a->batch, 1), nd_range(0, rows, 1),
                             nd_range(0, columns * (1 + gaps), 1 + gaps)};
    const int32_t order[3] = {0, turned ? 2 : 1, turned ? 1 : 2};
    nd_array *part = NULL;
    *base = *view = NULL;
    nd_status status = nd_from_host(&layout, data, device, base);
    if (status == ND_OK)
        status = nd_slice(*base, cut, 3, &part);
    if (status == ND_OK)
        status = nd_permute(part, 3, order, view);
    nd_release(part);
    free(data);
    return status;
}

/* The elements of a dense array of two or three axes; a vector of each batch is a column. */
static matrix fetch(const nd_array *r)
{
    const int64_t *shape = nd_shape(r);
    const nd_dtype d = nd_dtype_of(r);
    matrix a = {d, shape[0], shape[1], nd_ndim(r) > 2 ? shape[2] : 1, 0, NULL};
    const int64_t n = nd_size(r);
    char *data = malloc((size_t)n * 16 + 1);
    a.e = calloc((size_t)n + 1, sizeof *a.e);
    if (nd_to_host(r, data, (size_t)n * nd_dtype_size(d)) != ND_OK)
        printf("cannot read: %s\n", nd_last_error()->message);
    for (int64_t i = 0; i < n; i++)
        a.e[i] = d == ND_F32   ? (double complex)((float *)data)[i]
                 : d == ND_F64 ? (double complex)((double *)data)[i]
                 : d == ND_I64 ? (double complex)((int64_t *)data)[i]
                 : d == ND_C64 ? (double complex)((float complex *)data)[i]
                               : ((double complex *)data)[i];
    free(data);
    return a;
}

/* The largest difference over the largest element; huge for NaN and other shapes. */
static double apart(const matrix *a, const matrix *b)
{
    double most = 0, largest = 1e-30;
    if (a->batch != b->batch || a->m != b->m || a->n != b->n)
        return HUGE_VAL;
    for (int64_t i = 0; i < a->batch * a->m * a->n; i++) {
        const double d = cabs(a->e[i] - b->e[i]);
        if (!(d < HUGE_VAL))
            return HUGE_VAL;
        most = fmax(most, d);
        largest = fmax(largest, cabs(b->e[i]));
    }
    return most / largest;
}

/* ---- one operation on both devices ---- */

enum { CHOLESKY, LU, QR, SOLVE, LU_SOLVE, TRIANGULAR, EIGH, EIGVALSH, SVD, SVDVALS, EIG, KINDS };
static const char *const names[KINDS] = {"cholesky", "lu",         "qr",   "solve",
                                         "lu_solve", "triangular", "eigh", "eigvalsh",
                                         "svd",      "svdvals",    "eig"};
typedef struct {
    int kind, into, shared; /* shared: one matrix for all right sides */
    matrix a, b;
    nd_linalg_opts o;
    nd_array *array[8], *out[3]; /* bases and views */
} trial;

static nd_status call(trial *t, nd_device *device)
{
    nd_array **x = t->array, **r = t->out;
    nd_array *lu = NULL, *pivots = NULL;
    nd_status status = place_matrix(&t->a, device, &x[0], &x[1]);
    if (status == ND_OK && t->b.e)
        status = place_matrix(&t->b, device, &x[2], &x[3]);
    if (status == ND_OK && t->into)
        status = place_matrix(t->b.e ? &t->b : &t->a, device, &x[4], &x[5]);
    if (status != ND_OK)
        return status;
    nd_array *given = x[1];
    const nd_index first[1] = {nd_at(0)};
    if (t->shared && nd_slice(x[1], first, 1, &x[6]) == ND_OK)
        given = x[6];
    switch (t->kind) {
    case CHOLESKY:
        if (!t->into)
            return nd_cholesky(given, &t->o, &r[0]);
        status = nd_cholesky_into(given, &t->o, x[5]);
        r[0] = nd_retain(x[4]); /* all of it: what lies around the view stays */
        return status;
    case LU:
        return nd_lu_factor(given, &t->o, &r[0], &r[1]);
    case QR:
        return nd_qr(given, &t->o, &r[0], &r[1]);
    case SOLVE:
        return nd_solve(given, x[3], &t->o, &r[0]);
    case TRIANGULAR:
        return nd_solve_triangular(given, x[3], &t->o, &r[0]);
    case LU_SOLVE:
        status = nd_lu_factor(given, NULL, &lu, &pivots);
        if (status == ND_OK)
            status = nd_lu_solve(lu, pivots, x[3], &t->o, &r[0]);
        nd_release(lu);
        nd_release(pivots);
        return status;
    case EIGH:
        return nd_eigh(given, &t->o, &r[0], &r[1]);
    case EIGVALSH:
        return nd_eigvalsh(given, &t->o, &r[0]);
    case SVD:
        return nd_svd(given, &t->o, &r[0], &r[1], &r[2]);
    case EIG:
        return nd_eig(given, &t->o, &r[0], &r[1]);
    default:
        return nd_svdvals(given, &t->o, &r[0]);
    }
}

static void release(trial *t)
{
    for (int i = 0; i < 8; i++)
        nd_release(t->array[i]);
    for (int i = 0; i < 3; i++)
        nd_release(t->out[i]);
    memset(t->array, 0, sizeof t->array);
    memset(t->out, 0, sizeof t->out);
}

/* Hermitian and positive definite of any matrix; or with a heavy diagonal; or upper triangular. */
static void prepare(trial *t)
{
    matrix *a = &t->a;
    const int heavy = t->kind == SOLVE || t->kind == LU_SOLVE || t->kind == TRIANGULAR;
    for (int64_t b = 0; b < a->batch; b++)
        for (int64_t i = 0; i < a->m && i < a->n; i++) {
            if (t->kind == CHOLESKY)
                *element(a, b, i, i) = 3 * (double)a->n + i;
            else if (heavy)
                *element(a, b, i, i) += 3 + (double)a->n / 4;
            for (int64_t j = 0; t->kind == EIG && j < i; j++)
                *element(a, b, i, j) = 0;
            if (t->kind == EIG)
                *element(a, b, i, i) = 3.0 * (double)i + (is_complex(a->dtype) ? I : 0);
        }
}

static void choose(trial *t, int kind, int large)
{
    static const nd_dtype dtypes[4] = {ND_F32, ND_F64, ND_C64, ND_C128};
    const nd_dtype dtype = dtypes[below(4)];
    const int rotates = kind == SVD || kind == SVDVALS; /* which takes the host long */
    const int64_t batch = 1 + below(large ? 2 - rotates : 6), low = large > 1 ? 65 : large ? 33 : 1;
    const int64_t span = large > 1 ? WIDEST - 64 : large ? MOST - 32 : below(3) ? 9 : 32;
    const int wide = kind == LU || kind == QR || kind == SVD || kind == SVDVALS;
    const int sides = kind == SOLVE || kind == LU_SOLVE || kind == TRIANGULAR;
    const int64_t m = low + below(span);
    *t = (trial){.kind = kind, .o = {.size = sizeof t->o}};
    const int64_t most = large && rotates && below(4) ? 12 : low + span - 1;
    t->a = new_matrix(dtype, batch, m, wide ? 1 + below(most) : m);
    t->o.upper = (int32_t)below(2);
    t->o.full = (int32_t)below(2);
    t->o.trans = (int32_t)below(3);
    t->o.right = kind == TRIANGULAR && below(2);
    t->o.unit_diagonal = kind == TRIANGULAR && below(4) == 0;
    t->into = kind == CHOLESKY && below(2);
    t->shared = kind != CHOLESKY && sides && below(3) == 0;
    if (t->o.unit_diagonal) /* else the solution grows beyond all measure */
        for (int64_t i = 0; i < batch * m * m; i++)
            t->a.e[i] /= 4 * (double)m;
    if (sides) {
        const int64_t k = 1 + below(below(4) ? 5 : 40);
        t->b = new_matrix(dtype, batch, t->o.right ? k : m, t->o.right ? m : k);
    }
    prepare(t);
}

/* |u s vh - a| and |u^H u - 1| and |vh vh^H - 1| of what is in out. */
static double svd_error(const trial *t)
{
    matrix u = fetch(t->out[0]), s = fetch(t->out[1]), v = fetch(t->out[2]);
    double worst = 0;
    for (int64_t b = 0; b < t->a.batch; b++) {
        for (int64_t i = 0; i < t->a.m; i++)
            for (int64_t j = 0; j < t->a.n; j++) {
                double complex sum = -*element(&t->a, b, i, j);
                for (int64_t k = 0; k < s.m; k++)
                    sum += *element(&u, b, i, k) * *element(&s, b, k, 0) * *element(&v, b, k, j);
                worst = cabs(sum) <= worst ? worst : cabs(sum);
            }
        for (int64_t i = 0; i < u.n; i++)
            for (int64_t j = 0; j < u.n; j++) {
                double complex sum = -(i == j);
                for (int64_t k = 0; k < u.m; k++)
                    sum += conj(*element(&u, b, k, i)) * *element(&u, b, k, j);
                worst = cabs(sum) <= worst ? worst : cabs(sum);
            }
        for (int64_t i = 0; i < v.m; i++)
            for (int64_t j = 0; j < v.m; j++) {
                double complex sum = -(i == j);
                for (int64_t k = 0; k < v.n; k++)
                    sum += *element(&v, b, i, k) * conj(*element(&v, b, j, k));
                worst = cabs(sum) <= worst ? worst : cabs(sum);
            }
    }
    free(u.e);
    free(s.e);
    free(v.e);
    return isnan(worst) ? HUGE_VAL : worst;
}

/* |a v - v w| of an upper triangular a. */
static double eig_error(const trial *t)
{
    matrix w = fetch(t->out[0]), v = fetch(t->out[1]);
    double worst = 0;
    for (int64_t b = 0; b < t->a.batch; b++)
        for (int64_t i = 0; i < t->a.n; i++)
            for (int64_t j = 0; j < t->a.n; j++) {
                double complex sum = -*element(&v, b, i, j) * *element(&w, b, j, 0);
                for (int64_t k = 0; k < t->a.n; k++)
                    sum += *element(&t->a, b, i, k) * *element(&v, b, k, j);
                worst = cabs(sum) <= worst ? worst : cabs(sum);
            }
    free(w.e);
    free(v.e);
    return worst / (3 * (double)t->a.n);
}

static double compare(trial *t)
{
    matrix ours[3] = {{0}};
    double worst = 0;
    if (t->kind == EIG) {
        worst = eig_error(t);
        release(t);
        return worst;
    }
    if (t->kind == SVD)
        worst = svd_error(t);
    for (int i = 0; i < 3; i++)
        if (t->out[i])
            ours[i] = fetch(t->out[i]);
    release(t);
    if (call(t, cpu) != ND_OK)
        worst = HUGE_VAL;
    for (int i = 0; i < 3 && worst < HUGE_VAL; i++)
        if (t->out[i] && (t->kind != SVD || i == 1)) {
            matrix theirs = fetch(t->out[i]);
            worst = fmax(worst, apart(&ours[i], &theirs));
            free(theirs.e);
        }
    for (int i = 0; i < 3; i++)
        free(ours[i].e);
    release(t);
    return worst;
}

/* How large the matrices of a trial are: of each way of decomposing them some, or TEST_LARGE's. */
static int largeness(int i)
{
    const char *text = getenv("TEST_LARGE");
    if (text)
        return atoi(text);
    return i / KINDS % 4 == 3 ? 1 + (i / KINDS % 8 == 7) : i % KINDS == EIG;
}

static void compute_all(int trials)
{
    int good = 0, shown = 0;
    const char *only = getenv("TEST_KIND");
    for (int i = 0; i < trials * KINDS && shown < 8; i++) {
        trial t;
        choose(&t, i % KINDS, largeness(i));
        double error = 0;
        nd_status status = ND_OK;
        if (!only || strcmp(only, names[t.kind]) == 0)
            status = call(&t, dev);
        else {
            free(t.a.e);
            free(t.b.e);
            continue;
        }
        error = status == ND_OK ? compare(&t) : HUGE_VAL;
        const int same = error < (is_single(t.a.dtype) ? 2e-4 : 4e-11);
        good += same;
        shown += !same;
        if (!same)
            printf(
                "%s of %s (%d, %d, %d), mode %d: %g apart; upper %d full %d trans %d right %d unit "
                "%d sides %d into %d %s\n",
                names[t.kind], nd_dtype_name(t.a.dtype), (int)t.a.batch, (int)t.a.m, (int)t.a.n,
                t.a.mode, error, t.o.upper, t.o.full, t.o.trans, t.o.right, t.o.unit_diagonal,
                (int)t.b.n, t.into, status == ND_OK ? "" : nd_last_error()->message);
        release(&t);
        free(t.a.e);
        free(t.b.e);
    }
    printf("computed: %d\n", good);
}

/* |v w v^H - a| in units of eps |a|, in the Frobenius norm, of Hermitian matrices in single precision:
 * LAPACK has about 6, rotations that are rounded carelessly 29. */
static double eigh_units(nd_dtype dtype, int64_t n)
{
    trial t = {.kind = EIGH, .o = {.size = sizeof t.o}, .a = new_matrix(dtype, 1, n, n)};
    double error = 0, whole = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++)
            *element(&t.a, 0, i, j) =
                i == j ? creal(*element(&t.a, 0, i, j)) : conj(*element(&t.a, 0, j, i));
    if (call(&t, dev) != ND_OK)
        return HUGE_VAL;
    matrix w = fetch(t.out[0]), v = fetch(t.out[1]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double complex e = *element(&t.a, 0, i, j);
            double complex sum = -e;
            for (int64_t k = 0; k < n; k++)
                sum += *element(&v, 0, i, k) * *element(&w, 0, k, 0) * conj(*element(&v, 0, j, k));
            error += creal(sum * conj(sum));
            whole += creal(e * conj(e));
        }
    free(w.e);
    free(v.e);
    release(&t);
    free(t.a.e);
    return sqrt(error / whole) / 0x1p-23;
}

/* |x^T x - 1|, or |x x^T - 1| by rows, over sqrt(n) in units of eps, in the Frobenius norm, of a
 * result of a trial of n rows, which ends. */
static double units_from_one(trial *t, int result, bool by_rows, int64_t n)
{
    if (call(t, dev) != ND_OK)
        return HUGE_VAL;
    matrix x = fetch(t->out[result]);
    double error = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double complex sum = -(i == j);
            for (int64_t k = 0; k < n; k++)
                sum += by_rows ? *element(&x, 0, i, k) * *element(&x, 0, j, k)
                               : *element(&x, 0, k, i) * *element(&x, 0, k, j);
            error += creal(sum * conj(sum));
        }
    free(x.e);
    release(t);
    free(t->a.e);
    return sqrt(error / (double)n) / 0x1p-52;
}

/* Of u, of n rows of half their rank, whose lesser columns are what rounding has left: LAPACK has 4.7
 * of 40 rows, and as far from orthogonal as the columns of a may stay, sqrt(n) eps, u is to 8. */
static double svd_units(int64_t n)
{
    trial t = {.kind = SVD, .o = {.size = sizeof t.o}, .a = new_matrix(ND_F64, 1, n, n)};
    for (int64_t i = 0; i < n * n; i++)
        if (i % n >= n / 2)
            *element(&t.a, 0, i / n, i % n) = *element(&t.a, 0, i / n, i % n - n / 2);
    return units_from_one(&t, 0, false, n);
}

/* Of v, of n random rows: LAPACK has 7.5 of 64 rows, as have rotations from the first to the last, and
 * a cluster 1.8, whose v is made orthogonal before the last ones. */
static double right_units(int64_t n)
{
    trial t = {.kind = SVD, .o = {.size = sizeof t.o}, .a = new_matrix(ND_F64, 1, n, n)};
    return units_from_one(&t, 2, true, n);
}

/* Whether eigh gives each of a batch what it gives it alone: a warp has several matrices, sweeps until
 * the last of them is done, and one of two equal values has to stay the first. */
static bool eigh_is_alone(nd_dtype dtype, int64_t batch, int64_t n)
{
    trial all = {.kind = EIGH, .o = {.size = sizeof all.o}, .a = new_matrix(dtype, batch, n, n)};
    bool same = true;
    for (int64_t b = 1; b < batch; b += 2) /* equal values, and few sweeps */
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                *element(&all.a, b, i, j) = i == j || (b > 1 && i == j + 2 && i % 4 == 2);
    *element(&all.a, batch - 1, n - 1, 0) = NAN; /* of which the others know nothing either */
    same = call(&all, dev) == ND_OK;
    for (int64_t b = 0; b < batch && same; b++) {
        trial one = {.kind = EIGH, .o = {.size = sizeof one.o}, .a = new_matrix(dtype, 1, n, n)};
        for (int64_t i = 0; i < n * n; i++)
            *element(&one.a, 0, i / n, i % n) = *element(&all.a, b, i / n, i % n);
        same = call(&one, dev) == ND_OK;
        for (int k = 0; k < 2 && same; k++) {
            matrix whole = fetch(all.out[k]), own = fetch(one.out[k]);
            for (int64_t i = 0; i < (k ? n * n : n); i++) {
                const int64_t row = k ? i / n : i, column = k ? i % n : 0;
                const double complex x = *element(&whole, b, row, column),
                                     y = *element(&own, 0, row, column);
                same = same && (b == batch - 1 ? x != x && y != y : x == y);
            }
            free(whole.e);
            free(own.e);
        }
        release(&one);
        free(one.a.e);
    }
    release(&all);
    free(all.a.e);
    return same;
}

static int look(void)
{
    if (nd_device_get("cuda:0", &dev) != ND_OK || nd_device_get("cpu", &cpu) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    const double real = eigh_units(ND_F32, 32), pairs = eigh_units(ND_C64, 20);
    printf("eigh: %s (%g, %g)\n", real < 12 && pairs < 12 ? "close" : "off", real, pairs);
    const double vectors = svd_units(40);
    printf("svd: %s (%g)\n", vectors < 5.5 ? "close" : "off", vectors);
    const double right = right_units(64);
    printf("svd's v: %s (%g)\n", right < 4 ? "close" : "off", right);
    printf("alone: %d\n", eigh_is_alone(ND_F32, 7, 6) && eigh_is_alone(ND_F64, 5, 8) &&
                              eigh_is_alone(ND_C128, 5, 11) && eigh_is_alone(ND_F32, 3, 16));
    compute_all(getenv("TEST_LARGE") ? FEW : TRIALS);
    return 0;
}
#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1"
#define SAYS(word, what)                   \
    do                                     \
        if (!has_text(answer, word, what)) \
            diag("%s", answer);            \
    while (0)

static void results(void)
{
    char all[40];
    snprintf(all, sizeof all, "computed: %d\n", TRIALS * KINDS);
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error"), NO_NVML);
    SAYS(all, "random batches are decomposed as by the CPU");
    SAYS("eigh: close", "rotations in single precision round little");
    SAYS("svd: close",
         "singular vectors of a rank-deficient matrix are orthogonal as LAPACK's are");
    SAYS("svd's v: close", "those of a cluster are more so");
    SAYS("alone: 1", "eigenvalues do not depend on the others of the batch");
    snprintf(all, sizeof all, "computed: %d\n", FEW * KINDS);
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_LARGE=1", "STUB_CUDA_SHARED=1024"), NO_NVML);
    SAYS(all, "so are larger ones where a block has no room for them");
    snprintf(all, sizeof all, "computed: %d\n", FEW);
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_LARGE=1", "TEST_KIND=svd"), NO_NVML);
    SAYS(all, "singular vectors are where a cluster has the matrix");
    ask(MACHINE(ONE, "NDOCK_FALLBACK=error", "TEST_LARGE=1", "TEST_KIND=svd",
                "STUB_CUDA_CAPABILITY=80", "STUB_CUDA_SHARED=26624"),
        NO_NVML);
    SAYS(all, "singular vectors are, where a block has room for the matrix alone");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"results", results}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
