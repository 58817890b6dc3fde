/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pictures and the ends of programs, for the examples. */
#ifndef PICTURE_H
#define PICTURE_H
#include <ndock/ndock.h>

/* A PNG file of a: u8, (height, width) in greys or (height, width, 3) in red, green and blue, on any
 * device. Written by libpng 1.6, which is opened when first wanted; what is at path stays as it was
 * where that fails. 0, or -1 after a line on the standard error that says what to do. */
int picture_save(const char *path, const nd_array *a);

/* u8 (rows*height, columns*width): a (n, height, width) of 0 (black) to 1 (white), n = rows*columns,
 * image after image in rows. The caller's own. */
nd_array *picture_grid(const nd_array *a, int64_t rows, int64_t columns);

/* u8 (height, width, 3): a (height, width) of 0 to 1 as the colours of what glows: black, red, yellow,
 * white. The caller's own. */
nd_array *picture_glow(const nd_array *a);

#endif
