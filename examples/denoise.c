/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Takes the noise out of an image by its Fourier transform: Wiener's filter, which keeps of each
 * frequency what is signal there, 1 - noise/power.
 *
 * White noise of deviation s on n pixels has power n s^2 at every frequency, and its magnitudes there
 * are Rayleigh distributed with median s sqrt(n ln 2). An image has most of its frequencies empty, so
 * the median of all magnitudes tells s. The power at a frequency is the mean of those around it. */
#include "picture.h"
#include <getopt.h>
#include <math.h>
#include <ndock/check.h>
#include <string.h>
#include <time.h>

static const double pi = 3.14159265358979323846;
enum {
    REACH = 2,
    AROUND = 2 * REACH + 1
}; /* the power is the mean of AROUND x AROUND frequencies */
/* More than the noise is taken off the power: its mean varies, and a frequency that is kept by mistake
 * does more harm than one that is lost. */
static const double caution = 1.3;

typedef struct {
    const char *device, *image, *picture;
    long side, seed;
    double noise;
} options;

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

/* ---- the image ---- */

/* f32 (n, n): in a disc cosine rings that grow finer outwards, 0.1 to 0.9, on grey. */
static nd_array *rings(int64_t n)
{
    nd_array *x, *column, *squares, *disc, *image;
    ND_CHECK(nd_linspace(NULL, ND_F32, nd_float(-1), nd_float(1), n, 1, &x));
    ND_CHECK(nd_square_into(x, x));
    ND_CHECK(nd_reshape(x, 2, (int64_t[]){n, 1}, &column));
    ND_CHECK(nd_add(column, x, &squares));
    ND_CHECK(nd_less_scalar(squares, nd_float(0.8), &disc));
    ND_CHECK(nd_multiply_scalar(squares, nd_float(10 * pi), &image));
    ND_CHECK(nd_cos_into(image, image));
    ND_CHECK(nd_multiply_scalar_into(image, nd_float(0.4), image));
    ND_CHECK(nd_multiply_into(image, disc, image));
    ND_CHECK(nd_add_scalar_into(image, nd_float(0.5), image));
    nd_release_all(4, (nd_array *[]){x, column, squares, disc});
    return image;
}

/* A matrix of numbers from 0 to 1. */
static nd_array *read_image(const char *path)
{
    nd_array *a, *image;
    ND_CHECK(nd_npy_load(path, NULL, &a));
    if (nd_ndim(a) != 2 || nd_size(a) == 0) {
        fprintf(stderr, "denoise: %s has %d axes, or is empty; an image has two\n", path,
                nd_ndim(a));
        exit(1);
    }
    ND_CHECK(nd_astype(a, ND_F32, &image));
    nd_release(a);
    return image;
}

static nd_array *with_noise(const nd_array *image, double deviation, long seed)
{
    const nd_random_key key = {.key = (uint64_t)seed};
    nd_array *noise;
    ND_CHECK(nd_random_normal(NULL, ND_F32, 2, nd_shape(image), &key, 0, deviation, &noise));
    ND_CHECK(nd_add_into(noise, image, noise));
    return noise;
}

/* ---- the filter ---- */

/* The mean of the AROUND places around each along the axis, cyclically. */
static nd_array *mean_around(const nd_array *a, int32_t axis)
{
    nd_array *sum, *moved;
    ND_CHECK(nd_zeros_like(a, 0, &sum));
    for (int64_t shift = -REACH; shift <= REACH; shift++) {
        ND_CHECK(nd_roll(a, 1, &shift, &axis, &moved));
        ND_CHECK(nd_add_into(sum, moved, sum));
        nd_release(moved);
    }
    ND_CHECK(nd_divide_scalar_into(sum, nd_float(AROUND), sum));
    return sum;
}

/* The power of the noise at every frequency, from the magnitudes. */
static double noise_power(const nd_array *magnitudes)
{
    nd_array *median;
    ND_CHECK(nd_median(magnitudes, NULL, &median));
    const double middle = value_of(median);
    return middle * middle / log(2);
}

/* 1 - noise/power where that is above 0; the mean of the image, at frequency 0, stays. */
static nd_array *gain_of(const nd_array *magnitudes, double noise)
{
    nd_array *power, *rows, *gain, *first;
    ND_CHECK(nd_square(magnitudes, &power));
    rows = mean_around(power, 0);
    gain = mean_around(rows, 1);
    ND_CHECK(nd_reciprocal_into(gain, gain));
    ND_CHECK(nd_multiply_scalar_into(gain, nd_float(-caution * noise), gain));
    ND_CHECK(nd_add_scalar_into(gain, nd_float(1), gain));
    ND_CHECK(nd_maximum_scalar_into(gain, nd_float(0), gain));
    ND_CHECK(nd_slice(gain, (nd_index[]){nd_at(0), nd_at(0)}, 2, &first));
    ND_CHECK(nd_fill(first, nd_float(1)));
    nd_release_all(3, (nd_array *[]){power, rows, first});
    return gain;
}

/* The image without its noise, whose deviation it was told to have is found on the way. */
static nd_array *denoise(const nd_array *noisy, double *deviation)
{
    nd_array *modes, *magnitudes, *back, *image;
    ND_CHECK(nd_fftn(noisy, NULL, &modes));
    ND_CHECK(nd_abs(modes, &magnitudes));
    const double noise = noise_power(magnitudes);
    nd_array *gain = gain_of(magnitudes, noise);
    ND_CHECK(nd_multiply_into(modes, gain, modes));
    ND_CHECK(nd_ifftn(modes, NULL, &back));
    ND_CHECK(nd_real(back, &image));
    nd_release_all(4, (nd_array *[]){modes, magnitudes, gain, back});
    *deviation = sqrt(noise / (double)nd_size(noisy));
    return image;
}

/* ---- what it was worth ---- */

/* Peak signal to noise ratio in dB, for images from 0 to 1. */
static double psnr(const nd_array *a, const nd_array *truth)
{
    nd_array *d, *mean;
    ND_CHECK(nd_subtract(a, truth, &d));
    ND_CHECK(nd_square_into(d, d));
    ND_CHECK(nd_mean(d, NULL, &mean));
    nd_release(d);
    return -10 * log10(value_of(mean));
}

static void draw(const char *path, const nd_array *truth, const nd_array *noisy,
                 const nd_array *clean)
{
    nd_array *stack, *grid;
    ND_CHECK(nd_stack(3, (const nd_array *[]){truth, noisy, clean}, 0, &stack));
    grid = picture_grid(stack, 1, 3);
    if (picture_save(path, grid) != 0)
        exit(1);
    printf("%s: the image, with noise, and without it again\n", path);
    nd_release_all(2, (nd_array *[]){stack, grid});
}

static const char usage[] =
    "Usage: denoise [OPTION]...\n"
    "Add noise to an image and take it out by a filter in its Fourier transform.\n\n"
    "  --image FILE    a .npy file, a matrix of numbers from 0 to 1 (default: rings in a disc)\n"
    "  --side N        pixels of a side of the rings, 16 to 16384 (default 512)\n"
    "  --noise S       standard deviation of the noise, 0 to 10 (default 0.2)\n"
    "  --seed N        of the noise (default 1)\n"
    "  --picture FILE  a PNG of the image, with noise, and without it\n"
    "  --device NAME   cpu, cuda:0, ..., or auto, the best there is (default auto)\n"
    "  --help          print this and exit";

static options parse(int argc, char **argv)
{
    static const struct option known[] = {{"image", 1, NULL, 'i'},   {"side", 1, NULL, 'n'},
                                          {"noise", 1, NULL, 's'},   {"seed", 1, NULL, 'k'},
                                          {"picture", 1, NULL, 'p'}, {"device", 1, NULL, 'd'},
                                          {"help", 0, NULL, 'h'},    {NULL, 0, NULL, 0}};
    options o = {.device = "auto", .side = 512, .seed = 1, .noise = 0.2};
    char *rest = "";
    for (int c; !*rest && (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'h':
            puts(usage);
            exit(0);
        case 'i':
            o.image = optarg;
            break;
        case 'n':
            o.side = strtol(optarg, &rest, 10);
            break;
        case 's':
            o.noise = strtod(optarg, &rest);
            break;
        case 'k':
            o.seed = strtol(optarg, &rest, 10);
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
    if (*rest || optind < argc || o.side < 16 || o.side > 16384 ||
        !(o.noise >= 0 && o.noise <= 10)) {
        fputs("denoise: a wrong option. Try 'denoise --help'.\n", stderr);
        exit(2);
    }
    return o;
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    nd_device *device;
    nd_device_info info;
    double found;
    ND_CHECK(nd_device_get(o.device, &device));
    ND_CHECK(nd_device_set_current(device));
    nd_device_describe(device, &info);
    printf("ndock %s on %s: %s\n", nd_version(), info.name, info.description);
    nd_array *truth = o.image ? read_image(o.image) : rings(o.side);
    nd_array *noisy = with_noise(truth, o.noise, o.seed);
    const double before = psnr(noisy, truth), begin = seconds();
    nd_array *clean = denoise(noisy, &found);
    const double after = psnr(clean, truth), end = seconds();
    printf("%lld x %lld pixels, noise of deviation %g, found %.3g: %.2f dB before, %.2f dB after, "
           "%.1f ms\n",
           (long long)nd_shape(truth)[0], (long long)nd_shape(truth)[1], o.noise, found, before,
           after, 1e3 * (end - begin));
    if (o.picture)
        draw(o.picture, truth, noisy, clean);
    nd_release_all(3, (nd_array *[]){truth, noisy, clean});
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
