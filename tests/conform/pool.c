/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: pools, resampling, unfold and fold of random geometry, over random views.
 *
 * All but max_pool are linear, axis by axis: the definition gives, for each axis, the share of every
 * element of the image in every element of the result. Expected values are the sums of the products
 * of these shares, in long double; gradients those of the transposed table. */
#include <math.h>
#include "tests/conform/conform.h"

enum { MAX, AVG, UPSAMPLE, UNFOLD, KINDS };
typedef struct {
    const char *name;
    nd_op op;
    int kind;
    bool back;
} function;
static const function functions[] = {
    {"max_pool", ND_OP_max_pool, MAX, false},
    {"max_pool_grad", ND_OP_max_pool_grad, MAX, true},
    {"avg_pool", ND_OP_avg_pool, AVG, false},
    {"avg_pool_grad", ND_OP_avg_pool_grad, AVG, true},
    {"upsample", ND_OP_upsample, UPSAMPLE, false},
    {"upsample_grad", ND_OP_upsample_grad, UPSAMPLE, true},
    {"unfold", ND_OP_unfold, UNFOLD, false},
    {"fold", ND_OP_fold, UNFOLD, true},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

enum { MOST = 64 }; /* elements of an axis, or windows by taps */
typedef struct {
    const function *f;
    nd_dtype dtype;
    int rank, lead, method;
    bool adaptive, ceil, exclude, corners, by_scale;
    int64_t n, c, divisor;
    int64_t image[3], result[3], kernel[3], stride[3], padding[3], dilation[3], grid[3];
    double scale[3];
    long double share[3][MOST][MOST]; /* of element e in element p: [p][e] */
    bool covered[3][MOST][MOST];      /* e is in window p */
    int ndim[2];
    int64_t shape[2][5], size[2]; /* of the image, of the result */
    mirror in;
    nd_array *indices;              /* of the gradient of max_pool */
    long double *want, *sizes, all; /* all: the size of the largest element that there is */
    int64_t *position;
} trial;

/* ---- the definitions along one axis ---- */

static void cover(trial *t, int d, int64_t p, int64_t e, long double share)
{
    t->covered[d][p][e] = true;
    t->share[d][p][e] += share;
}

static void pool_axis(trial *t, int d)
{
    const int64_t n = t->image[d], pad = t->padding[d];
    for (int64_t p = 0; p < t->result[d]; p++) {
        int64_t count = 0, in_padded = 0;
        for (int64_t e = -pad; e < n + pad; e++) {
            bool inside = false;
            for (int64_t k = 0; k < t->kernel[d]; k++)
                inside |= e == p * t->stride[d] - pad + k * t->dilation[d];
            if (t->adaptive)
                inside = e >= (int64_t)floor((double)(p * n) / (double)t->result[d]) &&
                         e < (int64_t)ceil((double)((p + 1) * n) / (double)t->result[d]);
            in_padded += inside;
            if (inside && e >= 0 && e < n) {
                count++;
                cover(t, d, p, e, 1);
            }
        }
        const int64_t by = t->divisor ? 1 : t->exclude || t->adaptive ? count : in_padded;
        for (int64_t e = 0; e < n; e++)
            t->share[d][p][e] /= by ? by : 1;
    }
}

static long double cubic(long double x)
{
    const long double a = -0.75L;
    x = fabsl(x);
    return x <= 1  ? (a + 2) * x * x * x - (a + 3) * x * x + 1
           : x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a
                   : 0;
}

static int64_t at_edge(int64_t e, int64_t n)
{
    return e < 0 ? 0 : e >= n ? n - 1 : e;
}

static void upsample_axis(trial *t, int d)
{
    const int64_t n = t->image[d], m = t->result[d];
    const long double ratio = t->by_scale ? 1 / t->scale[d] : (long double)n / m;
    for (int64_t p = 0; p < m; p++) {
        if (t->method <= ND_UPSAMPLE_NEAREST_EXACT) {
            const int64_t twice = 2 * p + (t->method == ND_UPSAMPLE_NEAREST_EXACT);
            const int64_t e = t->by_scale ? (int64_t)floor((double)twice / 2 * (1 / t->scale[d]))
                                          : twice * n / (2 * m);
            cover(t, d, p, at_edge(e, n), 1);
            continue;
        }
        long double place = t->corners ? (m > 1 ? (long double)p * (n - 1) / (m - 1) : 0)
                                       : ratio * (p + 0.5L) - 0.5L;
        if (t->method == ND_UPSAMPLE_LINEAR && place < 0)
            place = 0;
        for (int64_t e = (int64_t)floorl(place) - 1; e <= (int64_t)floorl(place) + 2; e++) {
            const long double far = fabsl(place - e);
            cover(t, d, p, at_edge(e, n),
                  t->method == ND_UPSAMPLE_CUBIC ? cubic(far)
                  : far < 1                      ? 1 - far
                                                 : 0);
        }
    }
}

static void unfold_axis(trial *t, int d)
{
    for (int64_t k = 0; k < t->kernel[d]; k++)
        for (int64_t p = 0; p < t->grid[d]; p++) {
            const int64_t e = p * t->stride[d] - t->padding[d] + k * t->dilation[d];
            if (e >= 0 && e < t->image[d])
                cover(t, d, k * t->grid[d] + p, e, 1);
        }
}

/* ---- the oracle ---- */

static int64_t volume(const int64_t v[3])
{
    return v[0] * v[1] * v[2];
}

/* Element p of a plane of the result in C order; unfold has taps before positions. */
static int64_t place_of(const trial *t, const int64_t p[3])
{
    int64_t at = 0, windows = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t by = t->f->kind == UNFOLD ? t->kernel[d] : t->result[d];
        at = at * by + (t->f->kind == UNFOLD ? p[d] / t->grid[d] : p[d]);
        windows = windows * t->grid[d] + p[d] % t->grid[d];
    }
    return t->f->kind == UNFOLD ? at * volume(t->grid) + windows : at;
}

static long double value_at(const trial *t, int64_t i)
{
    const cell c = mirror_cell(&t->in, t->in.ndim, t->in.shape, i);
    return c.kind == ND_KIND_FLOAT ? c.re : (long double)c.i;
}

static void largest(trial *t, int64_t plane, int64_t to, const int64_t p[3])
{
    long double best = -INFINITY;
    int64_t position = -1;
    for (int64_t e = 0; e < volume(t->image); e++) {
        const int64_t d0 = e / t->image[2] / t->image[1], d1 = e / t->image[2] % t->image[1];
        if (!t->covered[0][p[0]][d0] || !t->covered[1][p[1]][d1] ||
            !t->covered[2][p[2]][e % t->image[2]])
            continue;
        const long double x = value_at(t, plane * volume(t->image) + e);
        if (position < 0 || x > best || (isnan(x) && !isnan(best))) {
            best = x;
            position = e;
        }
    }
    t->want[to] = best;
    t->position[to] = position;
}

static void add_shares(trial *t, int64_t plane, int64_t to, const int64_t p[3])
{
    for (int64_t e = 0; e < volume(t->image); e++) {
        const int64_t d0 = e / t->image[2] / t->image[1], d1 = e / t->image[2] % t->image[1];
        const int64_t from = plane * volume(t->image) + e;
        const long double share = t->share[0][p[0]][d0] * t->share[1][p[1]][d1] *
                                  t->share[2][p[2]][e % t->image[2]] /
                                  (long double)(t->divisor ? t->divisor : 1);
        if (share == 0)
            continue;
        const long double part = share * value_at(t, t->f->back ? to : from);
        t->want[t->f->back ? from : to] += part;
        t->sizes[t->f->back ? from : to] += fabsl(part);
    }
}

static void expect(trial *t)
{
    int64_t p[3];
    for (int64_t i = 0; i < t->in.size; i++)
        if (fabsl(value_at(t, i)) > t->all)
            t->all = fabsl(value_at(t, i));
    for (int d = 0; d < 3; d++)
        if (t->f->kind == UPSAMPLE)
            upsample_axis(t, d);
        else if (t->f->kind == UNFOLD)
            unfold_axis(t, d);
        else
            pool_axis(t, d);
    for (int64_t plane = 0; plane < t->n * t->c; plane++)
        for (p[0] = 0; p[0] < t->result[0]; p[0]++)
            for (p[1] = 0; p[1] < t->result[1]; p[1]++)
                for (p[2] = 0; p[2] < t->result[2]; p[2]++) {
                    const int64_t to = plane * volume(t->result) + place_of(t, p);
                    if (t->f->kind == MAX)
                        largest(t, plane, to, p);
                    else
                        add_shares(t, plane, to, p);
                }
}

/* ---- geometry ---- */

static void random_window(trial *t, int d)
{
    const bool is_avg = t->f->kind == AVG;
    t->kernel[d] = 1 + random_below(t->f->kind == UNFOLD && t->rank > 1 ? 3 : 4);
    t->stride[d] = 1 + random_below(3);
    t->dilation[d] = is_avg || random_below(2) ? 1 : 1 + random_below(3);
    const int64_t reach = t->dilation[d] * (t->kernel[d] - 1) + 1;
    t->padding[d] = random_below((t->f->kind == UNFOLD ? 3 : reach / 2) + 1);
    t->image[d] = 1 + random_below(t->rank == 1 ? 30 : t->rank == 2 ? 9 : 5);
    if (t->image[d] + 2 * t->padding[d] < reach)
        t->image[d] = reach;
    const int64_t room = t->image[d] + 2 * t->padding[d] - reach;
    t->grid[d] = room / t->stride[d] + 1;
    if (t->ceil) {
        t->grid[d] = (room + t->stride[d] - 1) / t->stride[d] + 1;
        if ((t->grid[d] - 1) * t->stride[d] >= t->image[d] + t->padding[d])
            t->grid[d]--;
    }
    t->result[d] = t->f->kind == UNFOLD ? t->grid[d] * t->kernel[d] : t->grid[d];
    if (t->result[d] > MOST) {
        t->image[d] = t->grid[d] = t->result[d] = t->kernel[d] = 1;
        t->padding[d] = 0;
    }
}

static void random_axis(trial *t, int d)
{
    random_window(t, d);
    if (t->adaptive)
        t->result[d] = t->grid[d] = 1 + random_below(7);
    if (t->f->kind != UPSAMPLE)
        return;
    t->image[d] = 1 + random_below(t->rank == 1 ? 20 : 6);
    t->result[d] = t->grid[d] = 1 + random_below(t->rank == 1 ? 40 : 9);
    t->scale[d] = (double)(1 + random_below(40)) / 16;
    if (t->by_scale) {
        if ((double)t->image[d] * t->scale[d] < 1)
            t->scale[d] = 1;
        t->result[d] = t->grid[d] = (int64_t)((double)t->image[d] * t->scale[d]);
    }
}

static void set_shape(trial *t, int side, const int64_t s[3])
{
    int ndim = 0;
    if (t->lead == 2)
        t->shape[side][ndim++] = t->n;
    t->shape[side][ndim++] = t->c;
    if (side == 1 && t->f->kind == UNFOLD) {
        t->shape[side][ndim - 1] = t->c * volume(t->kernel);
        t->shape[side][ndim++] = volume(t->grid);
    } else {
        for (int d = 3 - t->rank; d < 3; d++)
            t->shape[side][ndim++] = s[d];
    }
    t->ndim[side] = ndim;
    t->size[side] = t->n * t->c * volume(s);
}

static void random_geometry(trial *t)
{
    const bool pools = t->f->kind == MAX || t->f->kind == AVG;
    t->rank = 1 + (int)random_below(3);
    t->lead = t->f->kind == UPSAMPLE || random_below(6) ? 2 : 1;
    t->n = t->lead == 1 ? 1 : random_below(10) ? 1 + random_below(2) : 0;
    t->c = 1 + random_below(random_below(5) ? 3 : 9);
    t->adaptive = pools && random_below(4) == 0;
    t->ceil = pools && !t->adaptive && random_below(3) == 0;
    t->exclude = random_below(2);
    t->divisor = t->f->kind == AVG && random_below(4) == 0 ? 1 + random_below(9) : 0;
    t->method = (int)random_below(4);
    t->corners = t->method >= ND_UPSAMPLE_LINEAR && random_below(2);
    t->by_scale = random_below(3) == 0;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->result[d] = t->grid[d] = t->kernel[d] = t->stride[d] = 1;
        t->dilation[d] = 1;
        t->padding[d] = 0;
        t->scale[d] = 1;
        if (d >= 3 - t->rank)
            random_axis(t, d);
    }
    set_shape(t, 0, t->image);
    set_shape(t, 1, t->result);
}

/* ---- calls ---- */

static nd_pooling_opts pool_options(const trial *t)
{
    const int lead = 3 - t->rank;
    return (nd_pooling_opts){.size = sizeof(nd_pooling_opts),
                             .kernel = t->adaptive ? NULL : t->kernel + lead,
                             .stride = t->stride + lead,
                             .padding = t->padding + lead,
                             .dilation = t->dilation + lead,
                             .output = t->adaptive ? t->result + lead : NULL,
                             .rank = t->rank,
                             .ceil_mode = t->ceil,
                             .exclude_padding = t->exclude,
                             .divisor = t->divisor};
}

/* dst NULL: into *r, with the positions of max_pool beside it. */
static nd_status call(const trial *t, const nd_array *dst, nd_array **r, nd_array **positions)
{
    const nd_array *a = t->in.array;
    const int lead = 3 - t->rank, kind = t->f->kind;
    const nd_pooling_opts pool = pool_options(t);
    const nd_upsample_opts up = {.size = sizeof up,
                                 .extents = t->by_scale ? NULL : t->result + lead,
                                 .scale = t->by_scale ? t->scale + lead : NULL,
                                 .method = t->method,
                                 .align_corners = t->corners};
    const nd_unfold_opts windows = {.size = sizeof windows,
                                    .kernel = t->kernel + lead,
                                    .stride = t->stride + lead,
                                    .padding = t->padding + lead,
                                    .dilation = t->dilation + lead,
                                    .rank = t->rank};
    if (kind == UPSAMPLE && t->f->back)
        return dst ? nd_upsample_grad_into(a, &up, dst)
                   : nd_upsample_grad(a, t->ndim[0], t->shape[0], &up, r);
    if (kind == UPSAMPLE)
        return dst ? nd_upsample_into(a, &up, dst) : nd_upsample(a, &up, r);
    if (kind == UNFOLD && t->f->back)
        return dst ? nd_fold_into(a, &windows, dst) : nd_fold(a, t->image + lead, &windows, r);
    if (kind == UNFOLD)
        return dst ? nd_unfold_into(a, &windows, dst) : nd_unfold(a, &windows, r);
    if (kind == AVG && t->f->back)
        return dst ? nd_avg_pool_grad_into(a, &pool, dst)
                   : nd_avg_pool_grad(a, t->ndim[0], t->shape[0], &pool, r);
    if (kind == AVG)
        return dst ? nd_avg_pool_into(a, &pool, dst) : nd_avg_pool(a, &pool, r);
    if (t->f->back)
        return dst ? nd_max_pool_grad_into(a, t->indices, &pool, dst)
                   : nd_max_pool_grad(a, t->indices, t->ndim[0], t->shape[0], &pool, r);
    return dst ? nd_max_pool_into(a, &pool, dst, NULL) : nd_max_pool(a, &pool, r, positions);
}

/* ---- checks ---- */

static void check_elements(const trial *t, const char *data, nd_dtype dtype)
{
    const nd_dtype sums = t->dtype == ND_F64 ? ND_F64 : ND_F32;
    const bool exact = t->f->kind == MAX && !t->f->back;
    char text[2][128];
    for (int64_t i = 0; i < t->size[!t->f->back] && !failing(); i++) {
        const cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        /* Places are counted in f64, and cubic shares change with them by 2 at most. */
        const long double places = t->f->kind == UPSAMPLE ? (t->by_scale ? 2e-14L : 1e-15L) : 0;
        const long double tolerance = exact ? 0
                                            : 8 * cell_ulp(sums, t->sizes[i]) +
                                                  cell_ulp(t->dtype, t->want[i]) + places * t->all;
        if (!cell_within(dtype, got, cell_real(t->want[i]), tolerance))
            fail_case("%s of %s, rank %d, %lldx%lldx%lld to %lldx%lldx%lld, kernel %lldx%lldx%lld: "
                      "element %lld is %s, not %s",
                      t->f->name, nd_dtype_name(t->dtype), t->rank, (long long)t->image[0],
                      (long long)t->image[1], (long long)t->image[2], (long long)t->result[0],
                      (long long)t->result[1], (long long)t->result[2], (long long)t->kernel[0],
                      (long long)t->kernel[1], (long long)t->kernel[2], (long long)i,
                      cell_text(got, text[0]), cell_text(cell_real(t->want[i]), text[1]));
    }
}

static void check_result(const trial *t, const nd_array *r)
{
    char *data = fetch(r);
    if (data)
        check_elements(t, data, nd_dtype_of(r));
    free(data);
}

static void check_positions(const trial *t, const nd_array *positions)
{
    char *data = fetch(positions);
    for (int64_t i = 0; data && i < t->size[1] && !failing(); i++) {
        int64_t got;
        memcpy(&got, data + 8 * i, 8);
        if (got != t->position[i])
            fail_case("max_pool: position %lld is %lld, not %lld", (long long)i, (long long)got,
                      (long long)t->position[i]);
    }
    free(data);
}

static void check_into(const trial *t)
{
    const view_wish wish = {.writable = true};
    const int side = !t->f->back;
    mirror dst;
    if (mirror_shaped(&dst, random_below(4) ? t->dtype : ND_F64, t->ndim[side], t->shape[side],
                      &wish) &&
        good(call(t, dst.array, NULL, NULL), "into")) {
        check_result(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s_into wrote beside its destination", t->f->name);
    }
    mirror_release(&dst);
}

/* Positions of the gradient of max_pool: of some element of the image, or none. */
static bool make_indices(trial *t)
{
    int64_t *v = malloc((size_t)(t->size[1] + 1) * sizeof *v);
    const nd_layout layout = {
        .size = sizeof layout, .dtype = ND_I64, .ndim = t->ndim[1], .shape = t->shape[1]};
    const int64_t plane = volume(t->image);
    for (int64_t i = 0; v && i < t->size[1]; i++) {
        int64_t at = 0, p = i % volume(t->grid), e[3];
        for (int d = 2; d >= 0; d--) {
            const int64_t window = p % t->grid[d];
            p /= t->grid[d];
            do
                e[d] = random_below(t->image[d]);
            while (!t->covered[d][window][e[d]] && random_below(50));
            if (!t->covered[d][window][e[d]])
                at = -1;
        }
        v[i] = at < 0 ? -1 : (e[0] * t->image[1] + e[1]) * t->image[2] + e[2];
        if (v[i] < 0)
            continue;
        const int64_t to = i / volume(t->grid) * plane + v[i];
        t->want[to] += value_at(t, i);
        t->sizes[to] += fabsl(value_at(t, i));
    }
    const bool made = v && nd_from_host(&layout, v, run.device, &t->indices) == ND_OK;
    free(v);
    return made;
}

static bool prepare(trial *t)
{
    const view_wish wish = {.tame = t->f->kind != MAX || t->f->back};
    const int side = t->f->back, made = !side;
    if (!mirror_shaped(&t->in, t->dtype, t->ndim[side], t->shape[side], &wish))
        return false;
    t->want = calloc((size_t)t->size[made] + 1, sizeof *t->want);
    t->sizes = calloc((size_t)t->size[made] + 1, sizeof *t->sizes);
    t->position = calloc((size_t)t->size[made] + 1, sizeof *t->position);
    if (!t->want || !t->sizes || !t->position)
        return false;
    if (t->f->op != ND_OP_max_pool_grad) {
        expect(t);
        return true;
    }
    for (int d = 0; d < 3; d++)
        pool_axis(t, d);
    return make_indices(t);
}

static void one_case(const function *f, nd_dtype dtype)
{
    trial *t = calloc(1, sizeof *t);
    nd_array *r = NULL, *positions = NULL;
    if (!t)
        return;
    t->f = f;
    t->dtype = dtype;
    random_geometry(t);
    const bool both = f->op == ND_OP_max_pool && random_below(2);
    if (prepare(t) && good(call(t, NULL, &r, both ? &positions : NULL), f->name)) {
        const int side = !f->back;
        if (nd_dtype_of(r) != dtype || nd_ndim(r) != t->ndim[side] ||
            memcmp(nd_shape(r), t->shape[side], (size_t)nd_ndim(r) * sizeof(int64_t)) != 0)
            fail_case("%s of %s gives %s, or another shape", f->name, nd_dtype_name(dtype),
                      nd_dtype_name(nd_dtype_of(r)));
        else
            check_result(t, r);
        if (positions)
            check_positions(t, positions);
        if (random_below(3) == 0)
            check_into(t);
    }
    nd_release(r);
    nd_release(positions);
    nd_release(t->indices);
    mirror_release(&t->in);
    free(t->want);
    free(t->sizes);
    free(t->position);
    free(t);
}

void conform_pool(void)
{
    static const nd_dtype dtypes[] = {ND_F32, ND_F64, ND_F16, ND_BF16};
    for (int f = 0; f < FUNCTIONS; f++) {
        if (!wanted(functions[f].name))
            continue;
        begin_op(functions[f].name);
        for (int i = 0; i < run.count && !failing(); i++)
            if (begin_case(i))
                one_case(&functions[f], dtypes[i % 4]);
        end_op();
    }
}
