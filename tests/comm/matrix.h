/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every collective, in every dtype, on views of every kind, against what one rank alone computes of
 * the same numbers. The ranks of this process are called one after the other and looked at
 * afterwards; the others do the same elsewhere. */
#ifndef NDOCK_TESTS_COMM_MATRIX_H
#define NDOCK_TESTS_COMM_MATRIX_H
#include <complex.h>
#include <math.h>
#include <ndock/comm.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { DENSE, TRANSPOSED, STRIDED, REVERSED, REPEATED, EMPTY, NO_AXES, KINDS };
static const char *const view_names[KINDS] = {"dense",    "transposed", "strided",     "reversed",
                                              "repeated", "empty",      "without axes"};
enum { MOST_RANKS = 8 };

static void fine(nd_status status)
{
    if (status != ND_OK)
        bail(nd_last_error()->message);
}

static int is_complex(nd_dtype d)
{
    return d == ND_C64 || d == ND_C128;
}

static int is_signed(nd_dtype d)
{
    return d == ND_I8 || d == ND_I16 || d == ND_I32 || d == ND_I64 || is_complex(d) ||
           d == ND_F16 || d == ND_BF16 || d == ND_F32 || d == ND_F64;
}

/* What rank brings at position i: small, so that sums and products are exact in every dtype. */
static double complex value(nd_dtype d, int rank, int64_t i)
{
    if (d == ND_BOOL)
        return (rank * 3 + i) % 4 == 0;
    double re = (double)((rank * 7 + i * 3) % (is_signed(d) ? 4 : 3)) - (is_signed(d) ? 1 : 0);
    double im = is_complex(d) ? (double)((rank + i) % 3) - 1 : 0;
    return CMPLX(re, im);
}

/* Results of integers wrap. */
static double complex wrapped(nd_dtype d, double complex v)
{
    const int64_t x = (int64_t)creal(v);
    switch (d) {
    case ND_I8:
        return (double)(int8_t)x;
    case ND_U8:
        return (double)(uint8_t)x;
    default:
        return d == ND_BOOL ? creal(v) != 0 : v;
    }
}

/* The reduction at position i of what `of` gives for each rank. */
static double complex reduced(nd_dtype d, int n, int op, int64_t i)
{
    double complex all = value(d, 0, i);
    for (int r = 1; r < n; r++) {
        const double complex v = value(d, r, i);
        if (d == ND_BOOL)
            all = op == ND_COMM_SUM || op == ND_COMM_MAX ? creal(all) || creal(v)
                                                         : creal(all) && creal(v);
        else if (op == ND_COMM_PROD)
            all *= v;
        else if (op == ND_COMM_MIN || op == ND_COMM_MAX)
            all = (op == ND_COMM_MIN) == (creal(v) < creal(all)) ? v : all;
        else
            all += v;
    }
    if (op != ND_COMM_AVG)
        return wrapped(d, all);
    const int floating = d == ND_F16 || d == ND_BF16 || d == ND_F32 || d == ND_F64 || is_complex(d);
    return floating ? all / n : floor(creal(all) / n);
}

/* ---- arrays ---- */
static int shape_of(int kind, int rows, int64_t *shape)
{
    int ndim = 0;
    if (rows)
        shape[ndim++] = rows;
    if (kind != NO_AXES) {
        shape[ndim++] = kind == EMPTY ? 0 : 3;
        shape[ndim++] = 5;
    }
    return ndim;
}

static int64_t count_of(int kind)
{
    return kind == EMPTY ? 0 : kind == NO_AXES ? 1 : 15;
}

/* A view of that kind and shape over memory of its own, without values. */
static nd_array *view_of(nd_device *dev, nd_dtype d, int kind, int ndim, const int64_t *shape)
{
    int64_t whole[4];
    nd_array *a = NULL, *v = NULL;
    memcpy(whole, shape, (size_t)ndim * sizeof *shape);
    if (kind == TRANSPOSED)
        for (int i = 0; i < ndim; i++)
            whole[i] = shape[ndim - 1 - i];
    if (kind == STRIDED)
        whole[ndim - 1] *= 2;
    fine(nd_zeros(dev, d, ndim, whole, &a));
    const nd_index odd[2] = {nd_ellipsis(), nd_range(1, ND_END_OPEN, 2)};
    if (kind == TRANSPOSED)
        fine(nd_transpose(a, &v));
    else if (kind == STRIDED)
        fine(nd_slice(a, odd, 2, &v));
    else if (kind == REVERSED)
        fine(nd_flip(a, 0, NULL, &v));
    else
        v = nd_retain(a);
    nd_release(a);
    return v;
}

/* from(i) of n elements, in C order, as an array of that view kind. */
static nd_array *filled(nd_device *dev, nd_dtype d, int kind, int ndim, const int64_t *shape,
                        const double complex *values)
{
    nd_device *cpu;
    nd_array *wide = NULL, *cast = NULL, *real = NULL;
    const nd_layout layout = {
        .size = sizeof layout, .dtype = ND_C128, .ndim = ndim, .shape = shape};
    nd_array *a = view_of(dev, d, kind, ndim, shape);
    fine(nd_device_get("cpu", &cpu));
    fine(nd_from_host(&layout, values, cpu, &wide));
    if (!is_complex(d))
        fine(nd_real(wide, &real));
    fine(nd_astype(real ? real : wide, d, &cast));
    fine(nd_assign(cast, a));
    nd_release(cast);
    nd_release(real);
    nd_release(wide);
    return a;
}

/* What rank brings: `rows` parts of the kind's shape, 0: one without an axis for it. */
static nd_array *brought(nd_device *dev, nd_dtype d, int kind, int rank, int rows)
{
    double complex values[MOST_RANKS * 15];
    int64_t shape[4], n = count_of(kind) * (rows ? rows : 1);
    const int ndim = shape_of(kind, rows, shape);
    for (int64_t i = 0; i < n; i++)
        values[i] = value(d, rank, kind == REPEATED ? i % 5 : i);
    if (kind != REPEATED)
        return filled(dev, d, kind, ndim, shape, values);
    nd_array *row = filled(dev, d, DENSE, 1, shape + ndim - 1, values), *a = NULL;
    fine(nd_broadcast_to(row, ndim, shape, &a));
    nd_release(row);
    return a;
}

/* ---- what came out ---- */
static double tolerance(nd_dtype d, int op)
{
    if (op != ND_COMM_AVG)
        return 0;
    return d == ND_BF16                 ? 0x1p-8
           : d == ND_F16                ? 0x1p-11
           : d == ND_F32 || d == ND_C64 ? 0x1p-23
                                        : 0x1p-52;
}

static int holds(const nd_array *a, const double complex *want, double eps)
{
    double complex got[MOST_RANKS * 15];
    nd_array *wide = NULL, *host = NULL;
    nd_device *cpu;
    fine(nd_device_get("cpu", &cpu));
    fine(nd_to_device(a, cpu, &host));
    fine(nd_astype(host, ND_C128, &wide));
    fine(nd_to_host(wide, got, (size_t)nd_size(wide) * sizeof *got));
    int64_t bad = -1;
    for (int64_t i = 0; i < nd_size(wide) && bad < 0; i++)
        if (!(cabs(got[i] - want[i]) <= eps * cabs(want[i])))
            bad = i;
    if (bad >= 0)
        diag("element %lld is %g%+gi, not %g%+gi", (long long)bad, creal(got[bad]), cimag(got[bad]),
             creal(want[bad]), cimag(want[bad]));
    nd_release(host);
    nd_release(wide);
    return bad < 0;
}

/* ---- one case: a collective, a dtype, a kind of view, for the ranks of this process ---- */
enum { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, RING, COLLECTIVES };
static const char *const collective_names[COLLECTIVES] = {
    "all_reduce",     "reduce",     "broadcast", "all_gather",
    "reduce_scatter", "all_to_all", "send, recv"};

typedef struct {
    int what, op, kind, into;
    nd_dtype d;
} matrix_case;

static int takes_rows(int what)
{
    return what == REDUCE_SCATTER || what == ALL_TO_ALL;
}

static void start(const matrix_case *m, nd_comm *c, nd_array **in, nd_array **out)
{
    const int n = nd_comm_size(c), rank = nd_comm_rank(c), root = n - 1;
    nd_device *dev = nd_comm_device(c);
    const nd_comm_opts opts = {.size = sizeof opts, .reduce = m->op};
    int64_t shape[4];
    *out = NULL;
    *in = brought(dev, m->d, m->kind, rank, takes_rows(m->what) ? n : 0);
    const int ndim =
        shape_of(m->kind, m->what == ALL_GATHER || m->what == ALL_TO_ALL ? n : 0, shape);
    if (m->into || m->what == RING)
        *out = view_of(dev, m->d, m->kind == REPEATED ? STRIDED : m->kind, ndim, shape);
    switch (m->what) {
    case ALL_REDUCE:
        fine(m->into ? nd_comm_all_reduce_into(c, *in, &opts, *out)
                     : nd_comm_all_reduce(c, *in, &opts, out));
        break;
    case REDUCE:
        fine(m->into ? nd_comm_reduce_into(c, *in, root, &opts, *out)
                     : nd_comm_reduce(c, *in, root, &opts, out));
        break;
    case BROADCAST:
        nd_release(*out);
        *out = view_of(dev, m->d, m->kind == REPEATED ? STRIDED : m->kind, ndim, shape);
        fine(nd_assign(*in, *out));
        fine(nd_comm_broadcast(c, *out, root, NULL));
        break;
    case ALL_GATHER:
        fine(m->into ? nd_comm_all_gather_into(c, *in, NULL, *out)
                     : nd_comm_all_gather(c, *in, NULL, out));
        break;
    case REDUCE_SCATTER:
        fine(m->into ? nd_comm_reduce_scatter_into(c, *in, &opts, *out)
                     : nd_comm_reduce_scatter(c, *in, &opts, out));
        break;
    case ALL_TO_ALL:
        fine(m->into ? nd_comm_all_to_all_into(c, *in, NULL, *out)
                     : nd_comm_all_to_all(c, *in, NULL, out));
        break;
    default: /* to the next rank, in a ring */
        fine(nd_comm_group_begin(c));
        fine(nd_comm_send(c, *in, (rank + 1) % n, NULL));
        fine(nd_comm_recv(c, *out, (rank + n - 1) % n, NULL));
        fine(nd_comm_group_end(c));
    }
}

static int right(const matrix_case *m, nd_comm *c, const nd_array *out)
{
    const int n = nd_comm_size(c), rank = nd_comm_rank(c), root = n - 1;
    const int64_t count = count_of(m->kind);
    const int rows = m->what == ALL_GATHER || m->what == ALL_TO_ALL ? n : 1;
    double complex want[MOST_RANKS * 15];
    if (m->what == REDUCE && rank != root)
        return m->into || out == NULL;
    for (int64_t i = 0; i < rows * count; i++) {
        const int64_t at = m->kind == REPEATED ? i % 5 : i % count;
        const int64_t mine = m->kind == REPEATED ? i % 5 : rank * count + i % count;
        const int part = (int)(i / count);
        want[i] = m->what == ALL_REDUCE || m->what == REDUCE ? reduced(m->d, n, m->op, at)
                  : m->what == BROADCAST                     ? value(m->d, root, at)
                  : m->what == ALL_GATHER                    ? value(m->d, part, at)
                  : m->what == REDUCE_SCATTER                ? reduced(m->d, n, m->op, mine)
                  : m->what == ALL_TO_ALL                    ? value(m->d, part, mine)
                                                             : value(m->d, (rank + n - 1) % n, at);
    }
    return nd_size(out) == rows * count && nd_dtype_of(out) == m->d &&
           holds(out, want, tolerance(m->d, m->op));
}

static int run_case(const matrix_case *m, nd_comm **comms, int local)
{
    nd_array *in[MOST_RANKS], *out[MOST_RANKS];
    int good = 1;
    for (int i = 0; i < local; i++)
        start(m, comms[i], &in[i], &out[i]);
    for (int i = 0; i < local; i++) {
        if (!right(m, comms[i], out[i])) {
            good = 0;
            diag("%s of rank %d: %s, %s, reduction %d%s", collective_names[m->what],
                 (int)nd_comm_rank(comms[i]), nd_dtype_name(m->d), view_names[m->kind], m->op,
                 m->into ? ", into" : "");
        }
        nd_release(in[i]);
        nd_release(out[i]);
    }
    return good;
}

static int is_legal(const matrix_case *m)
{
    const int reduces = m->what == ALL_REDUCE || m->what == REDUCE || m->what == REDUCE_SCATTER;
    if (!reduces)
        return m->op == ND_COMM_SUM;
    return !((m->op == ND_COMM_MIN || m->op == ND_COMM_MAX) && is_complex(m->d)) &&
           !(m->op == ND_COMM_AVG && m->d == ND_BOOL);
}

/* All cases of the first `most` collectives; every `step`-th of them in a slice. local ranks are of
 * this process. */
__attribute__((unused)) static void run_matrix(nd_comm **comms, int local, int step, int most)
{
    for (int what = 0; what < most; what++) {
        int bad = 0, n = 0, seen = 0;
        for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
            for (int op = ND_COMM_SUM; op <= ND_COMM_AVG; op++)
                for (int kind = 0; kind < KINDS; kind++)
                    for (int into = 0; into < 2; into++) {
                        const matrix_case m = {what, op, kind, into, d};
                        if (!is_legal(&m) || seen++ % step)
                            continue;
                        n++;
                        bad += !run_case(&m, comms, local);
                    }
        ok(bad == 0 && n > 0, "%s of %d ranks by %s: %d cases, %d wrong", collective_names[what],
           (int)nd_comm_size(comms[0]), nd_comm_transport(comms[0]), n, bad);
    }
}

#endif
