/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pictures for the examples: libpng's simplified interface (png.h, "Simplified API"; the manual's
 * section of that name), declared here so that neither its headers nor the library need be there
 * when the examples are built. */
#include "picture.h"
#include <dlfcn.h>
#include <ndock/check.h>
#include <string.h>

/* png_image: version is 1, format 0 for greys and 2 for red, green, blue of 8 bits. */
typedef struct {
    void *opaque;
    uint32_t version, width, height, format, flags, colormap_entries, warning_or_error;
    char message[64];
} png_image;
typedef int write_to_file(png_image *image, const char *path, int convert_to_8_bit,
                          const void *pixels, int32_t row_stride, const void *colormap);

static write_to_file *open_libpng(void)
{
    void *library = dlopen("libpng16.so.16", RTLD_NOW | RTLD_LOCAL), *symbol = NULL;
    if (!library || !(symbol = dlsym(library, "png_image_write_to_file"))) {
        fprintf(stderr,
                "pictures need libpng 1.6: %s; install libpng16-16 (Debian, Ubuntu) or libpng\n",
                dlerror());
        return NULL;
    }
    write_to_file *function;
    memcpy(&function, &symbol, sizeof function);
    return function;
}

static int write_pixels(const char *path, const nd_array *a, const void *pixels)
{
    write_to_file *write = open_libpng();
    png_image image = {.version = 1,
                       .height = (uint32_t)nd_shape(a)[0],
                       .width = (uint32_t)nd_shape(a)[1],
                       .format = nd_ndim(a) == 3 ? 2 : 0};
    char part[4096];
    if (!write)
        return -1;
    if (snprintf(part, sizeof part, "%s.part", path) >= (int)sizeof part) {
        fprintf(stderr, "%s: the name is too long\n", path);
        return -1;
    }
    if (!write(&image, part, 0, pixels, 0, NULL)) {
        fprintf(stderr, "%s: libpng: %s\n", part, image.message);
        remove(part);
        return -1;
    }
    if (rename(part, path) != 0) {
        perror(path);
        remove(part);
        return -1;
    }
    return 0;
}

int picture_save(const char *path, const nd_array *a)
{
    const int ndim = nd_ndim(a);
    if (nd_dtype_of(a) != ND_U8 || nd_size(a) == 0 || (ndim != 2 && ndim != 3) ||
        (ndim == 3 && nd_shape(a)[2] != 3)) {
        fprintf(stderr, "%s: a picture is u8 (height, width) or (height, width, 3), not empty\n",
                path);
        return -1;
    }
    void *pixels = malloc((size_t)nd_size(a));
    if (!pixels) {
        fprintf(stderr, "%s: out of memory\n", path);
        return -1;
    }
    ND_CHECK(nd_to_host(a, pixels, (size_t)nd_size(a)));
    int status = write_pixels(path, a, pixels);
    free(pixels);
    return status;
}

/* 0 to 1 as 0 to 255, rounded; what is outside becomes the nearest of the two. */
static nd_array *to_bytes(const nd_array *a)
{
    nd_array *x, *bytes;
    ND_CHECK(nd_maximum_scalar(a, nd_float(0), &x));
    ND_CHECK(nd_minimum_scalar_into(x, nd_float(1), x));
    ND_CHECK(nd_multiply_scalar_into(x, nd_float(255), x));
    ND_CHECK(nd_round_into(x, x));
    ND_CHECK(nd_astype(x, ND_U8, &bytes));
    nd_release(x);
    return bytes;
}

nd_array *picture_grid(const nd_array *a, int64_t rows, int64_t columns)
{
    const int64_t height = nd_shape(a)[1], width = nd_shape(a)[2];
    nd_array *bytes = to_bytes(a), *apart, *exchanged, *grid;
    ND_CHECK(nd_reshape(bytes, 4, (int64_t[]){rows, columns, height, width}, &apart));
    ND_CHECK(nd_permute(apart, 4, (int32_t[]){0, 2, 1, 3}, &exchanged));
    ND_CHECK(nd_reshape_copy(exchanged, 2, (int64_t[]){rows * height, columns * width}, &grid));
    nd_release_all(3, (nd_array *[]){bytes, apart, exchanged});
    return grid;
}

nd_array *picture_glow(const nd_array *a)
{
    nd_array *colour[3], *all, *bytes;
    for (int i = 0; i < 3; i++) {
        ND_CHECK(nd_multiply_scalar(a, nd_float(3), &colour[i]));
        ND_CHECK(nd_subtract_scalar_into(colour[i], nd_float(i), colour[i]));
    }
    ND_CHECK(nd_stack(3, (const nd_array *const *)colour, 2, &all));
    bytes = to_bytes(all);
    nd_release_all(3, colour);
    nd_release(all);
    return bytes;
}
