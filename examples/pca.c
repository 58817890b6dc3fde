/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Principal components of the Fashion-MNIST images: the singular vectors of the images less their
 * mean. By the theorem of Eckart and Young no k other pictures reproduce the images better, and what
 * is lost is the sum of the squares of the other singular values; both sides are printed. */
#include "picture.h"
#include <getopt.h>
#include <math.h>
#include <ndock/check.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 28, PIXELS = SIDE * SIDE, ROWS = 4, COLUMNS = 8, SHOWN = COLUMNS, ENLARGED = 3 };

typedef struct {
    const char *data, *device, *picture;
    long images, components;
} options;

/* x (n, 784) less mean (784) is u diag(s) vh; the rows of vh are the components. */
typedef struct {
    nd_array *x, *mean, *u, *s, *vh;
} analysis;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double value_of(nd_array *a)
{
    double value;
    ND_CHECK(nd_item_f64(a, &value));
    nd_release(a);
    return value;
}

/* The first rows (columns) of a matrix: a view. */
static nd_array *first_of(const nd_array *a, int axis, int64_t n)
{
    nd_index place[2] = {nd_all_of(), nd_all_of()};
    nd_array *view;
    place[axis] = nd_range(0, n, 1);
    ND_CHECK(nd_slice(a, place, axis + 1, &view));
    return view;
}

/* The images of 0 to 1, f32 (n, 784), n at most as many as wanted. */
static nd_array *read_images(const char *folder, long wanted)
{
    char path[4096];
    nd_array *bytes, *some, *rows, *x;
    snprintf(path, sizeof path, "%s/train-images-idx3-ubyte.gz", folder);
    if (access(path, F_OK) != 0)
        path[strlen(path) - strlen(".gz")] = '\0';
    ND_CHECK(nd_idx_load(path, NULL, &bytes));
    if (nd_ndim(bytes) != 3 || nd_shape(bytes)[1] * nd_shape(bytes)[2] != PIXELS) {
        fprintf(stderr, "pca: %s: not images of 28 x 28\n", path);
        exit(1);
    }
    some = first_of(bytes, 0, wanted);
    ND_CHECK(nd_reshape(some, 2, (int64_t[]){nd_shape(some)[0], PIXELS}, &rows));
    ND_CHECK(nd_astype(rows, ND_F32, &x));
    ND_CHECK(nd_divide_scalar_into(x, nd_float(255), x));
    nd_release_all(3, (nd_array *[]){bytes, some, rows});
    return x;
}

static analysis analyse(nd_array *x)
{
    analysis a = {.x = x};
    nd_reduce_opts rows = {.size = sizeof rows, .axes = (int32_t[]){0}, .naxes = 1};
    nd_array *centred;
    ND_CHECK(nd_mean(x, &rows, &a.mean));
    ND_CHECK(nd_subtract(x, a.mean, &centred));
    ND_CHECK(nd_svd(centred, NULL, &a.u, &a.s, &a.vh));
    nd_release(centred);
    return a;
}

/* The first images made of the mean and k components. */
static nd_array *made_of(const analysis *a, int64_t k, int64_t images)
{
    nd_array *s = first_of(a->s, 0, k), *vh = first_of(a->vh, 0, k), *u = first_of(a->u, 0, images);
    nd_array *columns = first_of(u, 1, k), *scaled, *x;
    ND_CHECK(nd_multiply(columns, s, &scaled));
    ND_CHECK(nd_matmul(scaled, vh, NULL, &x));
    ND_CHECK(nd_add_into(x, a->mean, x));
    nd_release_all(5, (nd_array *[]){s, vh, u, columns, scaled});
    return x;
}

/* ---- what was found ---- */

static double sum_of_squares(const nd_array *a)
{
    nd_array *squares, *sum;
    nd_reduce_opts wide = {.size = sizeof wide, .dtype = ND_F64};
    ND_CHECK(nd_square(a, &squares));
    ND_CHECK(nd_sum(squares, &wide, &sum));
    nd_release(squares);
    return value_of(sum);
}

/* Of all variance the first k components have this share. */
static double explained(const analysis *a, int64_t k)
{
    nd_array *s = first_of(a->s, 0, k);
    const double share = sum_of_squares(s) / sum_of_squares(a->s);
    nd_release(s);
    return share;
}

/* The same from the images themselves. */
static double reproduced(const analysis *a, int64_t k)
{
    nd_array *x = made_of(a, k, nd_shape(a->x)[0]);
    ND_CHECK(nd_subtract_into(x, a->x, x));
    const double lost = sum_of_squares(x);
    nd_release(x);
    return 1 - lost / sum_of_squares(a->s);
}

static void print_shares(const analysis *a)
{
    const int64_t all = nd_shape(a->s)[0];
    printf("components  variance explained  of the images' own\n");
    for (int64_t k = 1; k <= all; k *= 4)
        printf("%10lld  %17.2f %%  %16.2f %%\n", (long long)k, 100 * explained(a, k),
               100 * reproduced(a, k));
}

/* ---- the picture ---- */

/* Components have both signs: 0 becomes grey, the largest magnitude black or white. */
static nd_array *as_greys(const nd_array *rows)
{
    nd_reduce_opts pixels = {
        .size = sizeof pixels, .axes = (int32_t[]){1}, .naxes = 1, .keepdims = 1};
    nd_array *magnitude, *most, *greys;
    ND_CHECK(nd_abs(rows, &magnitude));
    ND_CHECK(nd_max(magnitude, &pixels, &most));
    ND_CHECK(nd_divide(rows, most, &greys));
    ND_CHECK(nd_multiply_scalar_into(greys, nd_float(0.5), greys));
    ND_CHECK(nd_add_scalar_into(greys, nd_float(0.5), greys));
    nd_release_all(2, (nd_array *[]){magnitude, most});
    return greys;
}

/* Two rows of components, a row of images, and the same images made of k components. */
static void draw(const options *o, const analysis *a)
{
    nd_array *vh = first_of(a->vh, 0, (ROWS - 2) * COLUMNS),
             *parts[3] = {as_greys(vh), first_of(a->x, 0, SHOWN), made_of(a, o->components, SHOWN)};
    nd_array *rows, *images;
    ND_CHECK(nd_concat(3, (const nd_array *const *)parts, 0, &rows));
    ND_CHECK(nd_reshape(rows, 3, (int64_t[]){ROWS * COLUMNS, SIDE, SIDE}, &images));
    nd_array *grid = picture_grid(images, ROWS, COLUMNS), *tall, *large;
    ND_CHECK(nd_repeat(grid, ENLARGED, 0, &tall));
    ND_CHECK(nd_repeat(tall, ENLARGED, 1, &large));
    if (picture_save(o->picture, large) != 0)
        exit(1);
    printf("%s: the first %d components; %d images; the same made of %ld components\n", o->picture,
           (ROWS - 2) * COLUMNS, SHOWN, o->components);
    nd_release_all(3, parts);
    nd_release_all(6, (nd_array *[]){vh, rows, images, grid, tall, large});
}

static const char usage[] =
    "Usage: pca [OPTION]...\n"
    "Principal components of the Fashion-MNIST training images, by a singular value "
    "decomposition.\n\n"
    "  --data DIR      folder of train-images-idx3-ubyte, plain or .gz\n"
    "                  (default /usr/share/datasets/fashion-mnist, Debian's "
    "dataset-fashion-mnist)\n"
    "  --images N      the first N images, 784 or more (default 60000)\n"
    "  --components N  that images are made of in the picture, 1 to 784 (default 64)\n"
    "  --picture FILE  a PNG of components, images, and the images made of components\n"
    "  --device NAME   cpu, cuda:0, ..., or auto, the best there is (default auto)\n"
    "  --help          print this and exit";

static options parse(int argc, char **argv)
{
    static const struct option known[] = {
        {"data", 1, NULL, 'i'},    {"images", 1, NULL, 'n'}, {"components", 1, NULL, 'k'},
        {"picture", 1, NULL, 'p'}, {"device", 1, NULL, 'd'}, {"help", 0, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    options o = {.data = "/usr/share/datasets/fashion-mnist",
                 .device = "auto",
                 .images = 60000,
                 .components = 64};
    char *rest = "";
    for (int c; !*rest && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'h':
            puts(usage);
            exit(0);
        case 'i':
            o.data = optarg;
            break;
        case 'n':
            o.images = strtol(optarg, &rest, 10);
            break;
        case 'k':
            o.components = strtol(optarg, &rest, 10);
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
    if (*rest || optind < argc || o.images < PIXELS || o.components < 1 || o.components > PIXELS) {
        fputs("pca: a wrong option. Try 'pca --help'.\n", stderr);
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
    printf("ndock %s on %s: %s\n", nd_version(), info.name, info.description);
    nd_array *x = read_images(o.data, o.images);
    (void)sum_of_squares(x); /* it is there before the clock starts */
    const double begin = seconds();
    analysis a = analyse(x);
    (void)sum_of_squares(a.s);
    printf("%lld images of %d pixels: %.2f s\n\n", (long long)nd_shape(x)[0], PIXELS,
           seconds() - begin);
    print_shares(&a);
    if (o.picture)
        draw(&o, &a);
    nd_release_all(5, (nd_array *[]){a.x, a.mean, a.u, a.s, a.vh});
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
