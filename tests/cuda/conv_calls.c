/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Convolutions of the CUDA plug-in without a GPU: its kernels are compiled for the host; cuDNN, cuBLASLt
 * and the driver pretend. Random geometries and layouts are compared with the CPU's results, which the
 * conformance suite judges, with the libraries and without; every kernel must have run. */
#include "tests/cuda/forms.h"
#include "tests/cuda/stubs.h"

/* NDOCK_TEST_LONG=1: as many as reach every kernel, for most of a minute. */
enum { TRIALS = 48, TRIALS_SLICE = 12, DIAGONAL = 24, GATHERED = 12, WIDE = 4, THIN = 10 };
enum { FORWARD, TRANSPOSED, INPUT, WEIGHT, KINDS };
static const char *const names[KINDS] = {"conv", "conv_transpose", "conv_grad_input",
                                         "conv_grad_weight"};
static int trials; /* of each kind */

typedef struct {
    int kind, lead, bias, fast; /* fast: TF32 is allowed */
    nd_dtype dtype;
    int64_t n, co, ci, image[3], grid[3], kernel[3], stride[3], padding[3], dilation[3], more[3];
    nd_conv_opts o;
    form x, w, y, b;
} trial;

static int64_t windows_of(const trial *t, int d)
{
    const int64_t reach = t->dilation[d] * (t->kernel[d] - 1) + 1;
    return (t->image[d] + 2 * t->padding[d] - reach) / t->stride[d] + 1;
}

static void random_axis(trial *t, int d, int three)
{
    t->kernel[d] = three ? 3 : 1 + below(3);
    t->stride[d] = three && t->kind == INPUT ? 1 : 1 + (below(three ? 3 : 2) > 0);
    if (three && d == 2 && t->lead < 2 && below(4))
        t->stride[d] = t->stride[1];
    t->dilation[d] = three ? 1 : 1 + below(2);
    t->padding[d] = three ? 1 : below(3);
    const int64_t reach = t->dilation[d] * (t->kernel[d] - 1) + 1;
    t->image[d] =
        three ? t->stride[d] * (d == 2 ? (three == 2 ? 6 : 8) : 1 + below(3)) : reach + below(7);
    if (t->o.padding_mode == ND_PADDING_SAME) {
        t->stride[d] = 1;
        t->grid[d] = t->image[d];
        return;
    }
    t->grid[d] = windows_of(t, d);
    t->more[d] = t->image[d] - ((t->grid[d] - 1) * t->stride[d] - 2 * t->padding[d] + reach);
}

/* Windows of single elements, whose products the library computes. */
static void point_axis(trial *t, int d)
{
    t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
    t->padding[d] = 0;
    t->image[d] = t->grid[d] = d == 2 ? 8 * (1 + below(2)) : 2 + below(4);
}

/* As many as windows are unfolded for, or more in each of some groups. */
static void more_channels(trial *t, int kind, int wide, int turn)
{
    t->dtype = below(2) ? ND_F32 : ND_F64;
    t->o.groups = wide ? 1 : 2 + below(2);
    t->co = wide ? (kind == FORWARD ? 128 : 64) + below(8)
                 : t->o.groups * (turn & 1 ? 8 : 4 + below(10));
    t->ci = wide ? (turn & 1 ? 4 : 3) : t->o.groups * (turn & 1 ? 4 : 1 + below(10));
    t->lead = t->lead ? t->lead : 1;
    t->n = 1 + below(2);
}

static void random_trial(trial *t, int kind)
{
    static int cycle[KINDS];    /* of depthwise ones */
    static int turns[KINDS][2]; /* of wide ones and groups, for layouts and vectors */
    static const nd_dtype dtypes[3] = {ND_F32, ND_F64, ND_BF16};
    const int point = below(4) == 0, depthwise = !point && below(2);
    const int round = cycle[kind] / 5;
    const int way =
        depthwise ? cycle[kind]++ % 5 : -1; /* single channels in planes, in odd rows of halves, */
    const int three = way == 0 || way == 2 ? 1 : way == 1 ? 2 : 0;
    const int beside = way == 2 || (way == 3 && round % 2 == 0); /* in whole vectors, or a few */
    const int wide = !point && !depthwise && below(2);           /* whose windows are unfolded */
    *t = (trial){.kind = kind, .dtype = dtypes[below(3)], .n = 1 + below(2), .lead = (int)below(3)};
    t->o.groups = depthwise ? 2 + below(3) : point ? 1 : 1 + below(2);
    t->co = t->o.groups * (three ? 1 : depthwise ? 1 + below(3) : 1 + below(below(5) ? 6 : 80));
    t->ci = t->o.groups * (three ? 1 : depthwise ? 1 + below(3) : 1 + below(6));
    const int whole = way == 4; /* planes of windows of any size */
    if (three == 2 || whole) {
        t->dtype = ND_BF16;
        t->lead = 1;
    }
    if (whole)
        t->co = t->ci = t->o.groups;
    const int scattered = three == 2 && round % 2; /* planes do not follow each other */
    const int some = !point && !depthwise && !wide && below(3) > 0;
    const int turn = wide || some ? turns[kind][some]++ : 0;
    if (wide || some)
        more_channels(t, kind, wide, turn);
    if (beside) {
        t->ci = t->co = t->o.groups = 8 * (1 + below(2));
        t->lead = t->lead == 2 && !three ? 2 : 1;
    }
    t->bias = kind <= TRANSPOSED && below(2);
    t->o.padding_mode =
        kind != TRANSPOSED && !point && below(5) == 0 ? ND_PADDING_SAME : ND_PADDING_GIVEN;
    t->o.epilogue = kind <= TRANSPOSED && below(3) == 0 ? (int32_t)below(7) : 0;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        if (d >= t->lead && point)
            point_axis(t, d);
        else if (d >= t->lead)
            random_axis(t, d, d == 1 && beside && round % 2 == 0 ? 0 : three);
    }
    if (kind == WEIGHT && below(3) == 0 && !beside) /* long sums are cut */
        t->n = 40;
    int64_t x[5] = {t->n, t->ci}, w[5] = {t->co, t->ci / t->o.groups}, y[5] = {t->n, t->co};
    for (int d = t->lead, to = 2; d < 3; d++, to++) {
        x[to] = t->image[d];
        w[to] = t->kernel[d];
        y[to] = t->grid[d];
    }
    const int gaps = wide && turn % 4 == 2 && (turn / 4 + (kind == WEIGHT)) % 2 == 0;
    const int last = beside || ((wide || some) && turn & 2),
              alike = last || three || whole || below(4) < (wide || some ? 3 : 2);
    form *const f[3] = {&t->x, &t->w, &t->y};
    const int64_t *const shape[3] = {x, w, y};
    for (int i = 0; i < 3; i++)
        *f[i] = form_of(t->dtype, 5 - t->lead, shape[i],
                        scattered || (i == 0 && gaps) ? GAPS
                        : last                        ? BESIDE
                        : alike                       ? PLANES
                                                      : (int)below(LAYOUTS));
    t->b = form_of(t->dtype, 1, kind == TRANSPOSED ? &t->ci : &t->co, PLANES);
}

static nd_status call(const trial *t, nd_array *const *v)
{
    nd_conv_opts o = t->o;
    const nd_array *bias = t->bias ? v[3] : NULL;
    o.size = sizeof o;
    o.stride = t->stride + t->lead;
    o.padding = o.padding_mode == ND_PADDING_SAME ? NULL : t->padding + t->lead;
    o.dilation = t->dilation + t->lead;
    o.output_padding = t->kind == TRANSPOSED ? t->more + t->lead : NULL;
    switch (t->kind) {
    case FORWARD:
        return nd_conv_into(v[0], v[1], bias, &o, v[2]);
    case TRANSPOSED:
        return nd_conv_transpose_into(v[2], v[1], bias, &o, v[0]);
    case INPUT:
        return nd_conv_grad_input_into(v[2], v[1], &o, v[0]);
    default:
        return nd_conv_grad_weight_into(v[0], v[2], &o, v[1]);
    }
}

static int made_by(int kind)
{
    return kind == FORWARD ? 2 : kind == WEIGHT ? 1 : 0;
}

/* data: of x, w, y, bias; what the call makes is read back. */
static nd_status run_on(int which, const trial *t, char **data)
{
    nd_array *base[4] = {NULL, NULL, NULL, NULL}, *view[4] = {NULL, NULL, NULL, NULL};
    const form *const f[4] = {&t->x, &t->w, &t->y, &t->b};
    const int made = made_by(t->kind);
    nd_status status = ND_OK;
    for (int i = 0; i < 4 && status == ND_OK; i++)
        status = place_array(f[i], data[i], which, &base[i], &view[i]);
    if (status == ND_OK)
        status = call(t, view);
    if (status == ND_OK)
        status =
            nd_to_host(base[made], data[made], (size_t)f[made]->room * nd_dtype_size(t->dtype));
    for (int i = 0; i < 4; i++) {
        nd_release(view[i]);
        nd_release(base[i]);
    }
    return status;
}

static void show(const trial *t)
{
    printf("%s of %s, n %d o %d c %d groups %d, bias %d epilogue %d, layouts %d %d %d",
           names[t->kind], nd_dtype_name(t->dtype), (int)t->n, (int)t->co, (int)t->ci,
           (int)t->o.groups, t->bias, (int)t->o.epilogue, t->x.layout, t->w.layout, t->y.layout);
    for (int d = 0; d < 3; d++)
        printf(", %d to %d (%d, %d, %d, %d)", (int)t->image[d], (int)t->grid[d], (int)t->kernel[d],
               (int)t->stride[d], (int)t->padding[d], (int)t->dilation[d]);
    printf(": %s\n", nd_last_error()->message);
}

/* Where operands of windows in two dimensions lie. */
static void place_planes(trial *t, int image, int grid)
{
    const int64_t x[4] = {t->n, t->ci, t->image[1], t->image[2]};
    const int64_t w[4] = {t->co, t->ci / t->o.groups, t->kernel[1], t->kernel[2]};
    const int64_t y[4] = {t->n, t->co, t->grid[1], t->grid[2]};
    t->x = form_of(t->dtype, 4, x, image);
    t->w = form_of(t->dtype, 4, w, (int)below(LAYOUTS));
    t->y = form_of(t->dtype, 4, y, grid);
    t->b = form_of(t->dtype, 1, &t->co, PLANES);
}

/* The weight's gradient of a first layer: windows of few elements, and many of them. */
static void short_trial(trial *t)
{
    *t = (trial){.kind = WEIGHT, .lead = 1, .dtype = ND_F32, .n = 3, .co = 61, .ci = 3};
    t->o.groups = 1;
    for (int d = 0; d < 3; d++)
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
    for (int d = 1; d < 3; d++) {
        t->image[d] = d == 1 ? 131 : 127;
        t->kernel[d] = d == 1 ? 7 : 6;
        t->stride[d] = t->padding[d] = 2;
        t->dilation[d] = 1 + below(2);
        t->grid[d] = windows_of(t, d);
    }
    place_planes(t, GAPS, PLANES);
}

/* The weight's gradient of single elements, whose sums of images fill no whole line of memory. */
static void odd_sums_trial(trial *t)
{
    *t = (trial){.kind = WEIGHT, .lead = 1, .dtype = ND_F64, .n = 2, .co = 5, .ci = 8};
    t->o.groups = 1;
    for (int d = 0; d < 3; d++) {
        t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        t->image[d] = t->grid[d] = d ? 6 : 1;
    }
    t->x = form_of(t->dtype, 4, (int64_t[]){2, 8, 6, 6}, PLANES);
    t->w = form_of(t->dtype, 4, (int64_t[]){5, 8, 1, 1}, PLANES);
    t->y = form_of(t->dtype, 4, (int64_t[]){2, 5, 6, 6}, PLANES);
    t->b = form_of(t->dtype, 1, &t->co, PLANES);
}

/* Groups of 4, 8 and 16 channels of 16 bits, which tensor cores take: rows of whole vectors, of channels or of
 * pixels, of odd sizes, and with gaps; tiles that share a width, and one and two pieces of channels a block. */
static void diagonal_trial(trial *t, int turn)
{
    static const int layouts[4] = {PLANES, BESIDE, PLANES, GAPS};
    const int size = 4 << turn % 3, kind = turn / 3 % 2 ? INPUT : FORWARD;
    const int layout = layouts[turn % 4], wide = turn % 4 == 2;
    *t = (trial){.kind = kind, .lead = 1, .dtype = ND_BF16, .n = 2, .bias = kind == FORWARD};
    t->co = t->ci = 16 * (1 + turn % 5);
    t->o.groups = t->co / size;
    t->o.epilogue = kind == FORWARD ? turn % 7 : 0;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        if (d == 0)
            continue;
        t->kernel[d] = 2 + below(2);
        t->dilation[d] = 1 + below(2);
        t->stride[d] = 1 + below(2 + (kind == INPUT));
        t->padding[d] = below(3);
        t->image[d] = d == 1 ? 11 + below(9) : wide ? 8 * (16 + below(4)) : turn & 4 ? 16 : 13;
        t->grid[d] = windows_of(t, d);
    }
    place_planes(t, layout, turn % 3 ? layout : PLANES);
}

/* Channels enough for products that gather elements: pixels or channels side by side, tiles of either height that rows
 * and pixels do not fill, and for the weight's gradient several parts of the terms. */
static void gathered_trial(trial *t, int turn)
{
    const int kind = turn % 3 == 0 ? FORWARD : turn % 3 == 1 ? INPUT : WEIGHT;
    const int layout = turn / 3 % 2 == 0 ? PLANES : BESIDE, tall = turn / 6 % 2 * 64;
    *t = (trial){.kind = kind, .lead = 1, .dtype = ND_F32, .n = 2, .bias = kind == FORWARD};
    const int more = kind == WEIGHT; /* terms, of which a product has 256 at least */
    t->n += 2 * more;
    t->co = kind == INPUT ? 32 + 16 * below(2) : tall + 56 + 4 * below(3);
    t->ci = kind == INPUT ? tall + 60 + below(5) : kind == WEIGHT ? 64 : 32 + 16 * below(2);
    t->o.groups = 1;
    t->o.epilogue = kind == FORWARD ? turn % 7 : 0;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        if (d == 0)
            continue;
        t->kernel[d] = 2 + below(2);
        t->dilation[d] = 1 + below(2);
        t->stride[d] = kind == INPUT ? 1 : 1 + below(2);
        t->padding[d] = below(3);
        t->image[d] = d == 1 ? 23 + 20 * more + below(9) : 12 + 2 * below(4);
        t->grid[d] = windows_of(t, d);
    }
    place_planes(t, layout, layout);
}

/* Along an axis of the image, of pixels side by side: in turn 0 planes of the grid are whole vectors, in turn 2 odd ones. */
static void plane_axis(trial *t, int d, int turn)
{
    if (d == 1 && turn == 2)
        t->image[d] = 9;
    if (d == 2) {
        t->dilation[d] = t->padding[d] = 1;
        t->image[d] = turn ? 10 : 11;
    }
    t->grid[d] = windows_of(t, d);
}

/* Whole tiles of both channels, for the weight's gradient by warpgroups: pixels or channels side by side, one and two tiles
 * of rows, terms that fill no step, blocks that begin and end within tiles. */
static void wide_trial(trial *t, int turn)
{
    *t = (trial){.kind = WEIGHT, .lead = 1, .dtype = ND_F32, .n = 4};
    t->co = 128 * (1 + turn / 2 % 2);
    t->ci = 128;
    t->o.groups = 1;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        if (d == 0)
            continue;
        t->kernel[d] = d == 1 && turn / 2 % 2 ? 1 : 2;
        t->dilation[d] = 1 + below(2);
        t->stride[d] = 1 + (turn == 1);
        t->padding[d] = below(3);
        t->image[d] = (9 + below(2)) * t->stride[d];
        t->grid[d] = windows_of(t, d);
        if (turn % 2 == 0)
            plane_axis(t, d, turn);
    }
    const int layout = turn % 2 ? BESIDE : PLANES;
    place_planes(t, layout, layout);
}

/* Images of one to four channels, which tensor cores take: windows of any size whose taps fill no whole steps, one and two
 * slabs of channels of the result, tiles that overhang, results in whole vectors of pixels or of channels, and others. */
static void thin_trial(trial *t, int turn)
{
    static const int layouts[3] = {PLANES, BESIDE, GAPS};
    *t = (trial){.kind = FORWARD, .lead = 1, .n = 2, .ci = 1 + (turn + 2) % 4, .bias = turn % 2};
    t->fast = turn % 5 == 4;
    t->dtype = t->fast || turn % 2 ? ND_F32 : ND_BF16;
    if (t->dtype == ND_F32 && !t->fast) /* of fewer channels they are not thin */
        t->ci = 3 + turn / 2 % 2;
    t->co = turn % 3 ? 64 + 4 * below(4) : 37;
    t->o.groups = 1;
    t->o.epilogue = turn % 7;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        if (d == 0)
            continue;
        t->kernel[d] = (turn % 2 && t->ci < 3 ? 9 : 5) - below(2) * (t->ci != 1);
        t->dilation[d] = 1 + below(2);
        t->stride[d] = 1 + below(3);
        t->padding[d] = below(4);
        t->grid[d] = d == 1 ? 27 : turn % 4 < 2 ? 20 : 21;
        t->image[d] = (t->grid[d] - 1) * t->stride[d] + (t->kernel[d] - 1) * t->dilation[d] + 1 -
                      2 * t->padding[d] + below(t->stride[d]);
    }
    place_planes(t, layouts[turn % 3], layouts[turn / 2 % 3]);
}

/* Gradients for images of three and of nine channels, all channels innermost. */
static void last_trial(trial *t, int64_t channels)
{
    *t = (trial){.kind = INPUT, .lead = 1, .dtype = ND_F32, .n = 2, .co = 65, .ci = channels};
    t->o.groups = 1;
    for (int d = 0; d < 3; d++) {
        t->image[d] = t->grid[d] = t->kernel[d] = t->stride[d] = t->dilation[d] = 1;
        if (d == 0)
            continue;
        t->kernel[d] = 3 + d;
        t->stride[d] = t->padding[d] = 2;
        t->image[d] = 10 + 3 * d;
        t->grid[d] = windows_of(t, d);
    }
    place_planes(t, BESIDE, BESIDE);
    t->w = form_of(t->dtype, 4, (int64_t[]){t->co, t->ci, 4, 5}, BESIDE);
}

/* An infinity of 16 bits. */
static void put_infinity(const form *f, char *data)
{
    ((uint16_t *)(void *)data)[place_of(f, below(f->size))] = 0x7f80;
}

/* Numbers of f32 with all their bits, of which products of parts lose none; and one that has no parts. */
static void fill_bits(const form *f, char *data, float special)
{
    float *const x = (float *)(void *)data;
    for (int64_t i = 0; i < f->room; i++)
        x[i] += (float)below(1 << 22) * 0x1p-24f;
    if (special != 0)
        x[place_of(f, below(f->size))] = special;
}

enum {
    SHORT = KINDS,
    ODD_SUMS,
    FIRST_DIAGONAL, /* those for tensor cores */
    FIRST_GATHERED = FIRST_DIAGONAL + DIAGONAL,
    FIRST_WIDE = FIRST_GATHERED + GATHERED,
    FIRST_THIN = FIRST_WIDE + WIDE,
    THREE_LAST = FIRST_THIN + THIN,
    NINE_LAST,
    ALL_KINDS
};

static int one_trial(int which)
{
    trial t;
    int kind = which;
    if (kind >= THREE_LAST)
        last_trial(&t, kind == NINE_LAST ? 9 : 3);
    else if (kind >= FIRST_THIN)
        thin_trial(&t, kind - FIRST_THIN);
    else if (kind >= FIRST_WIDE)
        wide_trial(&t, kind - FIRST_WIDE);
    else if (kind >= FIRST_GATHERED)
        gathered_trial(&t, kind - FIRST_GATHERED);
    else if (kind >= FIRST_DIAGONAL)
        diagonal_trial(&t, kind - FIRST_DIAGONAL);
    else if (kind == SHORT)
        short_trial(&t);
    else if (kind == ODD_SUMS)
        odd_sums_trial(&t);
    else
        random_trial(&t, kind);
    kind = t.kind;
    const form *const f[4] = {&t.x, &t.w, &t.y, &t.b};
    const int made = made_by(kind);
    char *data[4], *other;
    for (int i = 0; i < 4; i++)
        data[i] = random_data(f[i], 0);
    const int gathered =
        which >= FIRST_GATHERED && which < THREE_LAST && t.dtype == ND_F32 && !t.fast;
    const int turn = which - FIRST_GATHERED;
    static const float specials[6] = {0, INFINITY, 0, NAN, -INFINITY, 3.4e38f};
    for (int i = 0; gathered && i < 3; i++)
        if (i != made)
            fill_bits(f[i], data[i], specials[(turn / 3 + turn + i) % 6]);
    if (which >= FIRST_THIN && t.dtype == ND_BF16 && turn % 4 < 2)
        put_infinity(f[turn % 4], data[turn % 4]);
    other = malloc((size_t)f[made]->room * 8);
    memcpy(other, data[made], (size_t)f[made]->room * 8);
    nd_status status = run_on(1, &t, data);
    if (status == ND_OK)
        status = nd_math_set_allow_tf32(t.fast); /* after the CPU has computed what is expected */
    char *expected = data[made];
    data[made] = other;
    if (status == ND_OK)
        status = run_on(0, &t, data);
    if (status == ND_OK)
        status = nd_math_set_allow_tf32(0);
    const double terms = kind == WEIGHT ? (double)(t.y.size / t.co) : (double)(t.w.size);
    const double summed = kind == WEIGHT ? terms : terms / (double)(kind == INPUT ? t.ci : t.co);
    const double unit = gathered             ? 0x1p-25 * summed
                        : t.dtype == ND_BF16 ? 0x1p-7
                        : t.dtype == ND_F32  ? 0x1p-22 * (8 + terms)
                                             : 0x1p-50 * (8 + terms);
    const int good = status == ND_OK && same(f[made], other, expected, unit);
    if (!good)
        show(&t);
    free(expected);
    for (int i = 0; i < 4; i++)
        free(data[i]);
    return good;
}

static int look(void)
{
    int done = 0;
    const char *ends[2] = {"", ""};
    if (nd_device_get("cuda:0", &devices[0]) != ND_OK ||
        nd_device_get("cpu", &devices[1]) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    for (int i = 0; i < trials * KINDS; i++)
        done += one_trial(i % KINDS);
    for (int kind = KINDS; kind < ALL_KINDS; kind++)
        done += one_trial(kind);
    printf("computed: %d\n", done);
    const int left = idle_kernels("stub_conv_idle", ends);
    printf("idle: %d %s %s\n", left, ends[0], ends[1]);
    printf("by warpgroups: %d\n", counted("libcuda.so.1", "stub_conv_wide_count"));
    printf("cuDNN: %d\n", counted("libcudnn.so.9", "stub_convolutions"));
    printf("cuBLASLt: %d\n", counted("libcublasLt.so.13", "stub_products"));
    return 0;
}

#define ONE                                                                                   \
    "STUB_CUDA_COUNT=1", "STUB_CUDA_PROCESSORS=2", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1", \
        "NDOCK_FALLBACK=error"
static void with(int what)
{
    char all[40];
    snprintf(all, sizeof all, "computed: %d\n", trials * KINDS + ALL_KINDS - KINDS);
    ask(MACHINE(ONE), NO_NVML | what);
    if (!has_text(answer, all,
                  what ? "by ndock's own kernels" : "by the libraries, where they have them"))
        diag("%s", answer);
}

static void by_refused_products(void)
{
    char all[40];
    snprintf(all, sizeof all, "computed: %d\n", trials * KINDS + ALL_KINDS - KINDS);
    ask(MACHINE(ONE, "STUB_BLASLT_REFUSES=1"), NO_NVML);
    if (!has_text(answer, all, "by ndock's own kernels where cuBLASLt refuses"))
        diag("%s", answer);
}

static void own_kernels(void)
{
    char wide[40];
    with(NO_CUDNN | NO_BLASLT);
    snprintf(wide, sizeof wide, "by warpgroups: %d\n", CUDA_HAS_90A ? WIDE : 0);
    has_text(answer, wide, "the weight's gradient by warpgroups, where they were compiled");
    if (trials == TRIALS && !has_text(answer, "idle: 8 unfold_beside_F32 conv_finish_image_F32\n",
                                      "each kernel was run"))
        diag("%s", answer);
}

static void by_libraries(void)
{
    with(0);
    ok(!strstr(answer, "cuDNN: -1") && !strstr(answer, "cuDNN: 0"), "cuDNN was asked");
    ok(!strstr(answer, "cuBLASLt: -1") && !strstr(answer, "cuBLASLt: 0"), "cuBLASLt was asked");
    if (trials == TRIALS && !ok(!strstr(answer, "fold_beside") && !strstr(answer, "conv_finish"),
                                "each kernel was run that goes with them"))
        diag("%s", answer);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"own kernels", own_kernels},
                                     {"by libraries", by_libraries},
                                     {"by refused products", by_refused_products}};
    trials = getenv("NDOCK_TEST_LONG") ? TRIALS : TRIALS_SLICE;
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
