/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The heat equation u_t = u_xx + u_yy on a square of side 1 with periodic edges, from two warm spots:
 * solved exactly in space and time by the FFT, and by finite differences; the error between both
 * falls with the square of the cells' width.
 *
 * Each Fourier mode exp(2 pi i (kx x + ky y)) of u(0) decays by exp(-4 pi^2 (kx^2 + ky^2) t). */
#include "picture.h"
#include <getopt.h>
#include <math.h>
#include <ndock/check.h>
#include <string.h>
#include <time.h>

static const double pi = 3.14159265358979323846,
                    courant = 0.25; /* dt/h^2; the limit of stability */
enum { SMALLEST = 32, LARGEST = 4096 };

typedef struct {
    const char *device, *picture;
    long cells;
    double end;
} options;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* cos(2 pi (x - centre)) along an axis of n cells. */
static nd_array *wave(int64_t n, double centre)
{
    nd_array *x;
    ND_CHECK(nd_arange(NULL, ND_F64, nd_int(0), nd_int(n), nd_int(1), &x));
    ND_CHECK(nd_multiply_scalar_into(x, nd_float(2 * pi / (double)n), x));
    ND_CHECK(nd_subtract_scalar_into(x, nd_float(2 * pi * centre), x));
    ND_CHECK(nd_cos_into(x, x));
    return x;
}

/* u += height*exp((cos(2 pi (x - at[0])) + cos(2 pi (y - at[1])) - 2)/(2 pi width)^2): a Gaussian
 * where it is narrow, and smooth across the edges. */
static void add_spot(const nd_array *u, const double at[2], double width, double height)
{
    const int64_t n = nd_shape(u)[0];
    nd_array *x = wave(n, at[0]), *y = wave(n, at[1]), *column, *spot;
    ND_CHECK(nd_reshape(y, 2, (int64_t[]){n, 1}, &column));
    ND_CHECK(nd_add(column, x, &spot));
    ND_CHECK(nd_subtract_scalar_into(spot, nd_float(2), spot));
    ND_CHECK(nd_multiply_scalar_into(spot, nd_float(1 / pow(2 * pi * width, 2)), spot));
    ND_CHECK(nd_exp_into(spot, spot));
    ND_CHECK(nd_multiply_scalar_into(spot, nd_float(height), spot));
    ND_CHECK(nd_add_into(u, spot, u));
    nd_release_all(4, (nd_array *[]){x, y, column, spot});
}

static nd_array *start(int64_t n)
{
    nd_array *u;
    ND_CHECK(nd_zeros(NULL, ND_F64, 2, (int64_t[]){n, n}, &u));
    add_spot(u, (double[]){0.35, 0.4}, 0.07, 1);
    add_spot(u, (double[]){0.65, 0.7}, 0.1, 0.6);
    return u;
}

/* ---- by the FFT: once, whatever the time ---- */

static nd_array *spectral(const nd_array *u, double end)
{
    const int64_t n = nd_shape(u)[0];
    nd_array *modes, *kx, *ky, *column, *decay, *result;
    ND_CHECK(nd_rfftn(u, NULL, &modes));
    ND_CHECK(nd_rfftfreq(NULL, ND_F64, n, 1 / (double)n, &kx));
    ND_CHECK(nd_fftfreq(NULL, ND_F64, n, 1 / (double)n, &ky));
    ND_CHECK(nd_square_into(kx, kx));
    ND_CHECK(nd_square_into(ky, ky));
    ND_CHECK(nd_reshape(ky, 2, (int64_t[]){n, 1}, &column));
    ND_CHECK(nd_add(column, kx, &decay));
    ND_CHECK(nd_multiply_scalar_into(decay, nd_float(-4 * pi * pi * end), decay));
    ND_CHECK(nd_exp_into(decay, decay));
    ND_CHECK(nd_multiply_into(modes, decay, modes));
    nd_fft_opts back = {
        .size = sizeof back, .axes = (int32_t[]){0, 1}, .lengths = nd_shape(u), .naxes = 2};
    ND_CHECK(nd_irfftn(modes, &back, &result));
    nd_release_all(5, (nd_array *[]){modes, kx, ky, column, decay});
    return result;
}

/* ---- by finite differences: forward in time, five points in space ---- */

/* The n x n cells of a padded grid, moved by so many rows and columns. */
static nd_array *cells(const nd_array *grid, int64_t down, int64_t right)
{
    const int64_t n = nd_shape(grid)[0] - 2;
    nd_array *view;
    ND_CHECK(nd_slice(
        grid,
        (nd_index[]){nd_range(1 + down, 1 + down + n, 1), nd_range(1 + right, 1 + right + n, 1)}, 2,
        &view));
    return view;
}

static nd_array *edge(const nd_array *grid, int axis, int64_t at)
{
    nd_index place[2] = {nd_all_of(), nd_all_of()};
    nd_array *view;
    place[axis] = nd_at(at);
    ND_CHECK(nd_slice(grid, place, 2, &view));
    return view;
}

/* Views of a grid with one more cell on each side; made once, since they follow what is written. */
typedef struct {
    nd_array *grid, *u, *near[4]; /* the cells, and those above, below, left and right of them */
    nd_array *halo[4], *opposite[4];
    nd_array *sum;
} stencil;

static stencil make_stencil(const nd_array *u)
{
    const int64_t n = nd_shape(u)[0], last[2] = {0, n + 1}, from[2] = {n, 1};
    stencil s;
    ND_CHECK(nd_zeros(NULL, ND_F64, 2, (int64_t[]){n + 2, n + 2}, &s.grid));
    s.u = cells(s.grid, 0, 0);
    for (int i = 0; i < 4; i++) {
        const int64_t step = i % 2 ? 1 : -1;
        s.near[i] = i < 2 ? cells(s.grid, step, 0) : cells(s.grid, 0, step);
        s.halo[i] = edge(s.grid, i / 2, last[i % 2]);
        s.opposite[i] = edge(s.grid, i / 2, from[i % 2]);
    }
    ND_CHECK(nd_empty(NULL, ND_F64, 2, (int64_t[]){n, n}, &s.sum));
    ND_CHECK(nd_assign(u, s.u));
    return s;
}

static void release_stencil(stencil *s)
{
    nd_release_all(4, s->near);
    nd_release_all(4, s->halo);
    nd_release_all(4, s->opposite);
    nd_release_all(3, (nd_array *[]){s->grid, s->u, s->sum});
}

/* u += ratio*(the four around - 4 u), ratio = dt/h^2 */
static void step(const stencil *s, double ratio)
{
    for (int i = 0; i < 4; i++)
        ND_CHECK(nd_assign(s->opposite[i], s->halo[i]));
    ND_CHECK(nd_add_into(s->near[0], s->near[1], s->sum));
    ND_CHECK(nd_add_into(s->sum, s->near[2], s->sum));
    ND_CHECK(nd_add_into(s->sum, s->near[3], s->sum));
    ND_CHECK(nd_multiply_scalar_into(s->sum, nd_float(ratio), s->sum));
    ND_CHECK(nd_multiply_scalar_into(s->u, nd_float(1 - 4 * ratio), s->u));
    ND_CHECK(nd_add_into(s->u, s->sum, s->u));
}

static long steps_of(int64_t n, double end)
{
    return (long)ceil(end * (double)(n * n) / courant);
}

static nd_array *differences(const nd_array *u, double end)
{
    const int64_t n = nd_shape(u)[0];
    const long steps = steps_of(n, end);
    stencil s = make_stencil(u);
    nd_array *result;
    for (long i = 0; i < steps; i++)
        step(&s, end * (double)(n * n) / (double)steps);
    ND_CHECK(nd_compact(s.u, &result));
    release_stencil(&s);
    return result;
}

/* ---- both ---- */

static double largest(const nd_array *a)
{
    nd_array *max;
    double value;
    ND_CHECK(nd_max(a, NULL, &max));
    ND_CHECK(nd_item_f64(max, &value));
    nd_release(max);
    return value;
}

static nd_array *apart(const nd_array *a, const nd_array *b)
{
    nd_array *d;
    ND_CHECK(nd_subtract(a, b, &d));
    ND_CHECK(nd_abs_into(d, d));
    return d;
}

/* The start, the end and the difference beside each other, the last magnified to be seen. */
static void draw(const char *path, const nd_array *first, const nd_array *last,
                 const nd_array *error)
{
    nd_array *shown[3], *row, *bytes;
    const double scale = largest(first);
    ND_CHECK(nd_divide_scalar(first, nd_float(scale), &shown[0]));
    ND_CHECK(nd_divide_scalar(last, nd_float(scale), &shown[1]));
    ND_CHECK(nd_divide_scalar(error, nd_float(largest(error)), &shown[2]));
    ND_CHECK(nd_concat(3, (const nd_array *const *)shown, 1, &row));
    bytes = picture_glow(row);
    if (picture_save(path, bytes) != 0)
        exit(1);
    printf("%s: the start, the end, and the difference times %.0f\n", path, scale / largest(error));
    nd_release_all(3, shown);
    nd_release(row);
    nd_release(bytes);
}

/* Returns the largest difference, so that the next grid is compared with it. */
static double solve(const options *o, int64_t n, double before)
{
    nd_array *u = start(n);
    (void)largest(u); /* it is there before the clock starts */
    const double begin = seconds();
    nd_array *exact = spectral(u, o->end);
    (void)largest(exact);
    const double middle = seconds();
    nd_array *stepped = differences(u, o->end), *error = apart(stepped, exact);
    const double most = largest(error), end = seconds();
    printf("%6lld  %8ld  %10.2f  %10.2f  %10.2e", (long long)n, steps_of(n, o->end),
           1e3 * (middle - begin), 1e3 * (end - middle), most);
    printf(before > 0 ? "  %6.2f\n" : "\n", before / most);
    if (o->picture && n == o->cells)
        draw(o->picture, u, exact, error);
    nd_release_all(4, (nd_array *[]){u, exact, stepped, error});
    return most;
}

static const char usage[] =
    "Usage: heat [OPTION]...\n"
    "Solve the heat equation on a periodic square by the FFT and by finite differences.\n\n"
    "  --cells N       of a side, 32 to 4096: grids of 32, 64 ... up to N cells (default 256)\n"
    "  --time T        when the solutions are compared, above 0, up to 1 (default 0.002)\n"
    "  --picture FILE  a PNG of the start, the end and the difference\n"
    "  --device NAME   cpu, cuda:0, ..., or auto, the best there is (default auto)\n"
    "  --help          print this and exit";

static options parse(int argc, char **argv)
{
    static const struct option known[] = {{"cells", 1, NULL, 'c'},   {"time", 1, NULL, 't'},
                                          {"picture", 1, NULL, 'p'}, {"device", 1, NULL, 'd'},
                                          {"help", 0, NULL, 'h'},    {NULL, 0, NULL, 0}};
    options o = {.device = "auto", .cells = 256, .end = 0.002};
    char *rest = "";
    for (int c; !*rest && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'h':
            puts(usage);
            exit(0);
        case 'c':
            o.cells = strtol(optarg, &rest, 10);
            break;
        case 't':
            o.end = strtod(optarg, &rest);
            break;
        case 'p':
            o.picture = optarg;
            break;
        case 'd':
            o.device = optarg;
            break;
        default:
            rest = "?";
        }
    }
    if (*rest || optind < argc || o.cells < SMALLEST || o.cells > LARGEST ||
        !(o.end > 0 && o.end <= 1)) {
        fputs("heat: a wrong option. Try 'heat --help'.\n", stderr);
        exit(2);
    }
    return o;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    nd_device *device;
    nd_device_info info;
    ND_CHECK(nd_device_get(o.device, &device));
    ND_CHECK(nd_device_set_current(device));
    nd_device_describe(device, &info);
    printf("ndock %s on %s: %s\n\n", nd_version(), info.name, info.description);
    printf(" cells     steps    FFT [ms]  steps [ms]  difference  ratio\n");
    double error = 0;
    int64_t n = SMALLEST;
    for (; n < o.cells; n *= 2)
        error = solve(&o, n, error);
    solve(&o, o.cells, n == o.cells ? error : 0);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
