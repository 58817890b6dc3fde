/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: convolutions of random geometry, over random views, channels last among them.
 *
 * One walk over the definition, in long double, gives every expected value: each product of an
 * element of the image, of the weight and of the result. Forward it adds to the result, backward to
 * the image or the weight. An error is within a few units times the square root of how many
 * products there are, of the sum of their sizes. */
#include <math.h>
#include "tests/conform/conform.h"

enum { IMAGE, WEIGHT, GRID, SIDES };
typedef struct {
    const char *name;
    nd_op op;
    int made;    /* which side is computed of the others */
    bool turned; /* conv_transpose */
} function;
static const function functions[] = {
    {"conv", ND_OP_conv, GRID, false},
    {"conv_transpose", ND_OP_conv_input, IMAGE, true},
    {"conv_grad_input", ND_OP_conv_input, IMAGE, false},
    {"conv_grad_weight", ND_OP_conv_weight, WEIGHT, false},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

typedef struct {
    const function *f;
    nd_dtype dtype;
    int rank;
    bool one_image, same, has_bias;
    int64_t n, groups, c, o; /* channels of a group */
    int64_t image[3], kernel[3], grid[3], stride[3], padding[3], dilation[3], more[3];
    int ndim[SIDES];
    int64_t shape[SIDES][5], size[SIDES];
    mirror in[SIDES], bias;
    nd_conv_opts opts;
    long double *value[SIDES], *weight_of; /* weight_of: sums of the products' sizes */
    int64_t *count;
} trial;

/* ---- the oracle ---- */

static void add_product(trial *t, int64_t image, int64_t weight, int64_t grid)
{
    const int64_t at[SIDES] = {image, weight, grid};
    long double product = 1;
    for (int i = 0; i < SIDES; i++)
        if (i != t->f->made)
            product *= t->value[i][at[i]];
    t->value[t->f->made][at[t->f->made]] += product;
    t->weight_of[at[t->f->made]] += fabsl(product);
    t->count[at[t->f->made]]++;
}

/* Element of the image that tap k of window p meets along an axis, -1: none. */
static int64_t element(const trial *t, int d, int64_t p, int64_t k)
{
    const int64_t before = t->same ? t->dilation[d] * (t->kernel[d] - 1) / 2 : t->padding[d];
    const int64_t e = p * t->stride[d] - before + k * t->dilation[d];
    return e >= 0 && e < t->image[d] ? e : -1;
}

/* All positions and taps of one pair of channels in one image. */
static void walk_pair(trial *t, int64_t image, int64_t weight, int64_t grid)
{
    int64_t p[3], k[3];
    for (p[0] = 0; p[0] < t->grid[0]; p[0]++)
        for (p[1] = 0; p[1] < t->grid[1]; p[1]++)
            for (p[2] = 0; p[2] < t->grid[2]; p[2]++)
                for (k[0] = 0; k[0] < t->kernel[0]; k[0]++)
                    for (k[1] = 0; k[1] < t->kernel[1]; k[1]++)
                        for (k[2] = 0; k[2] < t->kernel[2]; k[2]++) {
                            int64_t e[3], at_p = 0, at_k = 0, at_e = 0, inside = 1;
                            for (int d = 0; d < 3; d++) {
                                e[d] = element(t, d, p[d], k[d]);
                                inside &= e[d] >= 0;
                                at_e = at_e * t->image[d] + e[d];
                                at_p = at_p * t->grid[d] + p[d];
                                at_k = at_k * t->kernel[d] + k[d];
                            }
                            if (inside)
                                add_product(t, image + at_e, weight + at_k, grid + at_p);
                        }
}

static int64_t volume(const int64_t v[3])
{
    return v[0] * v[1] * v[2];
}

static bool expect(trial *t)
{
    const int64_t size = t->size[t->f->made];
    for (int i = 0; i < SIDES; i++) {
        t->value[i] = calloc((size_t)t->size[i] + 1, sizeof **t->value);
        for (int64_t j = 0; t->value[i] && i != t->f->made && j < t->size[i]; j++) {
            const cell c = mirror_cell(&t->in[i], t->ndim[i], t->in[i].shape, j);
            t->value[i][j] = c.kind == ND_KIND_FLOAT ? c.re : (long double)c.i;
        }
    }
    t->weight_of = calloc((size_t)size + 1, sizeof *t->weight_of);
    t->count = calloc((size_t)size + 1, sizeof *t->count);
    if (!t->value[0] || !t->value[1] || !t->value[2] || !t->weight_of || !t->count)
        return false;
    for (int64_t n = 0; n < t->n; n++)
        for (int64_t g = 0; g < t->groups; g++)
            for (int64_t o = 0; o < t->o; o++)
                for (int64_t c = 0; c < t->c; c++)
                    walk_pair(t, ((n * t->groups + g) * t->c + c) * volume(t->image),
                              ((g * t->o + o) * t->c + c) * volume(t->kernel),
                              ((n * t->groups + g) * t->o + o) * volume(t->grid));
    return true;
}

/* ---- checks ---- */

static void check_elements(const trial *t, const char *data, nd_dtype dtype)
{
    const int made = t->f->made;
    const nd_dtype sums = t->dtype == ND_F64 ? ND_F64 : ND_F32;
    const int64_t channels = t->groups * (made == GRID ? t->o : t->c);
    const int64_t plane = made == WEIGHT ? 1 : volume(made == GRID ? t->grid : t->image);
    char text[2][128];
    for (int64_t i = 0; i < t->size[made] && !failing(); i++) {
        long double want = t->value[made][i], bias = 0;
        if (t->has_bias)
            bias = mirror_cell(&t->bias, 1, t->bias.shape, i / plane % channels).re;
        want += bias;
        const long double parts = t->weight_of[i] + fabsl(bias);
        const long double tolerance =
            2 * (sqrtl((long double)t->count[i]) + 2) * cell_ulp(sums, parts) +
            cell_ulp(t->dtype, want) + cell_ulp(dtype, want);
        const cell got = cell_read(dtype, data + (size_t)i * nd_dtype_size(dtype));
        /* What the operation's dtype has no number for is infinite in a wider destination too. */
        if (!cell_within(isinf(got.re) ? t->dtype : dtype, got, cell_real(want), tolerance))
            fail_case("%s of %s, rank %d, %lld images, %lld groups of %lld and %lld channels, "
                      "kernel %lldx%lldx%lld, stride %lld %lld %lld, dilation %lld %lld %lld: "
                      "element %lld is %s, not %s",
                      t->f->name, nd_dtype_name(t->dtype), t->rank, (long long)t->n,
                      (long long)t->groups, (long long)t->c, (long long)t->o,
                      (long long)t->kernel[0], (long long)t->kernel[1], (long long)t->kernel[2],
                      (long long)t->stride[0], (long long)t->stride[1], (long long)t->stride[2],
                      (long long)t->dilation[0], (long long)t->dilation[1],
                      (long long)t->dilation[2], (long long)i, cell_text(got, text[0]),
                      cell_text(cell_real(want), text[1]));
    }
}

static nd_status fresh(const trial *t, nd_array **r)
{
    const nd_array *x = t->in[IMAGE].array, *w = t->in[WEIGHT].array, *y = t->in[GRID].array;
    const nd_array *bias = t->has_bias ? t->bias.array : NULL;
    const int made = t->f->made;
    if (made == GRID)
        return nd_conv(x, w, bias, &t->opts, r);
    if (t->f->turned)
        return nd_conv_transpose(y, w, bias, &t->opts, r);
    if (made == IMAGE)
        return nd_conv_grad_input(y, w, t->ndim[IMAGE], t->shape[IMAGE], &t->opts, r);
    return nd_conv_grad_weight(x, y, t->ndim[WEIGHT], t->shape[WEIGHT], &t->opts, r);
}

static nd_status into(const trial *t, const nd_array *dst)
{
    const nd_array *x = t->in[IMAGE].array, *w = t->in[WEIGHT].array, *y = t->in[GRID].array;
    const nd_array *bias = t->has_bias ? t->bias.array : NULL;
    if (t->f->made == GRID)
        return nd_conv_into(x, w, bias, &t->opts, dst);
    if (t->f->turned)
        return nd_conv_transpose_into(y, w, bias, &t->opts, dst);
    if (t->f->made == IMAGE)
        return nd_conv_grad_input_into(y, w, &t->opts, dst);
    return nd_conv_grad_weight_into(x, y, &t->opts, dst);
}

static void check_result(const trial *t, const nd_array *r)
{
    char *data = fetch(r);
    if (data)
        check_elements(t, data, nd_dtype_of(r));
    free(data);
}

static void check_into(const trial *t)
{
    const view_wish wish = {.writable = true};
    const int made = t->f->made;
    mirror dst;
    if (mirror_shaped(&dst, random_below(4) ? t->dtype : ND_F64, t->ndim[made], t->shape[made],
                      &wish) &&
        good(into(t, dst.array), "into")) {
        check_result(t, dst.array);
        if (!mirror_untouched(&dst))
            fail_case("%s_into wrote beside its destination", t->f->name);
    }
    mirror_release(&dst);
}

/* ---- cases ---- */

static void random_axis(trial *t, int d)
{
    const int64_t most = t->rank == 1 ? 40 : t->rank == 2 ? 9 : 5;
    t->kernel[d] = 1 + random_below(t->rank == 3 ? 3 : 4);
    t->stride[d] = t->same ? 1 : 1 + random_below(3);
    t->dilation[d] = random_below(2) ? 1 : 1 + random_below(3);
    t->padding[d] = random_below(2) ? 0 : random_below(4);
    t->more[d] = 0;
    const int64_t reach = t->dilation[d] * (t->kernel[d] - 1) + 1;
    t->image[d] = 1 + random_below(most);
    if (t->f->turned) {
        t->grid[d] = 1 + random_below(most / 2 + 1);
        const int64_t limit = t->stride[d] > t->dilation[d] ? t->stride[d] : t->dilation[d];
        t->more[d] = t->same ? 0 : random_below(limit);
        while ((t->grid[d] - 1) * t->stride[d] - 2 * t->padding[d] + reach + t->more[d] < 1)
            t->padding[d]--;
        t->image[d] =
            t->same ? t->grid[d]
                    : (t->grid[d] - 1) * t->stride[d] - 2 * t->padding[d] + reach + t->more[d];
        return;
    }
    if (!t->same && t->image[d] + 2 * t->padding[d] < reach)
        t->image[d] = reach + random_below(3);
    t->grid[d] =
        t->same ? t->image[d] : (t->image[d] + 2 * t->padding[d] - reach) / t->stride[d] + 1;
}

static void set_shape(trial *t, int side, int64_t a, int64_t b, const int64_t s[3])
{
    int ndim = 0;
    if (side == WEIGHT || !t->one_image)
        t->shape[side][ndim++] = a;
    t->shape[side][ndim++] = b;
    for (int d = 3 - t->rank; d < 3; d++)
        t->shape[side][ndim++] = s[d];
    t->ndim[side] = ndim;
    t->size[side] = 1;
    for (int d = 0; d < ndim; d++)
        t->size[side] *= t->shape[side][d];
}

static void random_geometry(trial *t)
{
    t->rank = 1 + (int)random_below(3);
    t->same = random_below(6) == 0;
    t->one_image = random_below(8) == 0;
    t->n = t->one_image ? 1 : random_below(10) ? 1 + random_below(3) : 0;
    const bool depthwise = random_below(4) == 0;
    const bool many = depthwise && random_below(4) == 0; /* vectors of single channels */
    t->groups = many ? 8 * (2 + random_below(4)) : 1 + random_below(depthwise ? 9 : 3);
    t->c = depthwise ? 1 : 1 + random_below(random_below(6) ? 4 : 20);
    t->o = many ? 1 : depthwise ? 1 + random_below(2) : 1 + random_below(random_below(6) ? 4 : 20);
    for (int d = 0; d < 3; d++)
        if (d < 3 - t->rank) {
            t->kernel[d] = t->stride[d] = t->dilation[d] = t->image[d] = t->grid[d] = 1;
            t->padding[d] = t->more[d] = 0;
        } else
            random_axis(t, d);
    set_shape(t, IMAGE, t->n, t->groups * t->c, t->image);
    set_shape(t, WEIGHT, t->groups * t->o, t->c, t->kernel);
    set_shape(t, GRID, t->n, t->groups * t->o, t->grid);
    t->has_bias = (t->f->made == GRID || t->f->turned) && random_below(2);
    const int lead = 3 - t->rank;
    t->opts = (nd_conv_opts){.size = sizeof t->opts,
                             .stride = t->stride + lead,
                             .padding = t->padding + lead,
                             .dilation = t->dilation + lead,
                             .output_padding = t->f->turned ? t->more + lead : NULL,
                             .groups = t->groups,
                             .padding_mode = t->same ? ND_PADDING_SAME : ND_PADDING_GIVEN};
}

static bool make_operands(trial *t)
{
    const view_wish wish = {.tame = true};
    const int64_t channels = t->groups * (t->f->made == GRID ? t->o : t->c);
    bool made = true;
    for (int i = 0; i < SIDES && made; i++)
        if (i != t->f->made)
            made = mirror_shaped(&t->in[i], t->dtype, t->ndim[i], t->shape[i], &wish);
    return made && (!t->has_bias || mirror_shaped(&t->bias, t->dtype, 1, &channels, &wish));
}

static void one_case(const function *f, nd_dtype dtype)
{
    trial t = {.f = f, .dtype = dtype};
    nd_array *r = NULL;
    random_geometry(&t);
    if (make_operands(&t) && expect(&t) && good(fresh(&t, &r), f->name)) {
        if (nd_dtype_of(r) != dtype || nd_ndim(r) != t.ndim[f->made] ||
            memcmp(nd_shape(r), t.shape[f->made], (size_t)nd_ndim(r) * sizeof(int64_t)) != 0)
            fail_case("%s of %s gives %s, or another shape", f->name, nd_dtype_name(dtype),
                      nd_dtype_name(nd_dtype_of(r)));
        else
            check_result(&t, r);
        if (random_below(3) == 0)
            check_into(&t);
    }
    nd_release(r);
    for (int i = 0; i < SIDES; i++) {
        mirror_release(&t.in[i]);
        free(t.value[i]);
    }
    mirror_release(&t.bias);
    free(t.weight_of);
    free(t.count);
}

void conform_conv(void)
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
