/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What readers and writers of .npy share, be it a file or a member of an archive. Texts op and path
 * are for messages. */
#ifndef NDOCK_CORE_IO_NPY_H
#define NDOCK_CORE_IO_NPY_H
#include "core/base/text.h"
#include "core/io/elements.h"
#include "core/io/npy_header.h"

/* Decides what opaque elements are read as; dtype 0: they are refused. */
nd_status nd__npy_opaque(const char *op, const char *path, nd_dtype dtype, nd__npy_header *h);
/* Bytes of the elements that the header promises; ND_ERR_FORMAT where fewer are there. */
nd_status nd__npy_nbytes(const char *op, const char *path, const nd__npy_header *h, uint64_t there,
                         uint64_t *nbytes);
/* The array of that header with the elements at data, which are all there. */
nd_status nd__npy_elements(const char *op, nd__npy_header *h, const void *data, nd_device *device,
                           nd_array **out);

/* An array as the bytes of a .npy file: the header, then the elements. */
typedef struct {
    nd_text header;
    nd__host_copy copy;
    nd_array *reversed; /* NULL, or the transpose, which is what is dense */
} nd__npy_content;
nd_status nd__npy_content_open(const char *op, const nd_array *a, nd__npy_content *out);
void nd__npy_content_close(nd__npy_content *content);
#endif
