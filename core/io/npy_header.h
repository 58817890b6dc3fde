/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The header of a .npy file: read from bytes, and written as text. */
#ifndef NDOCK_CORE_IO_NPY_HEADER_H
#define NDOCK_CORE_IO_NPY_HEADER_H
#include "core/io/elements.h"
#include "core/base/text.h"

typedef struct {
    nd__elements elements; /* shape as in the header; dtype 0 if opaque */
    int32_t fortran;       /* the first axis varies fastest */
    int32_t opaque;        /* bytes of an element of NumPy's void dtype; 0: another dtype */
    size_t data;           /* where the elements start */
} nd__npy_header;

/* path is for messages. */
nd_status nd__npy_header_read(const char *op, const char *path, const unsigned char *data,
                              size_t size, nd__npy_header *out);
/* Everything before the elements, byte for byte as numpy.save (2.x) writes it. */
void nd__npy_header_write(nd_text *out, nd_dtype dtype, int fortran, int ndim,
                          const int64_t *shape);
#endif
