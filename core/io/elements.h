/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements as they lie in files: byte order, sizes, and the way into and out of arrays. */
#ifndef NDOCK_CORE_IO_ELEMENTS_H
#define NDOCK_CORE_IO_ELEMENTS_H
#include <ndock/ndock.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { ND__HOST_IS_BIG = 1 };
#else
enum { ND__HOST_IS_BIG = 0 };
#endif

/* Dense elements in C order. */
typedef struct {
    nd_dtype dtype;
    int32_t ndim;
    int32_t swap; /* the numbers' bytes are in the order that is not the host's */
    int64_t shape[ND_MAX_NDIM];
} nd__elements;

/* Bytes that extents of at least 0 take; 0 is returned when that does not fit 63 bits. */
int nd__elements_nbytes(int32_t ndim, const int64_t *shape, size_t item, uint64_t *nbytes);

/* Reverses the bytes of every number; a complex element is two. dst may be src. */
void nd__elements_swap(void *dst, const void *src, size_t nbytes, nd_dtype dtype);

/* A new array with the elements at src (any alignment). Any byte but 0 becomes a true bool. */
nd_status nd__elements_load(const char *op, const nd__elements *e, const void *src,
                            nd_device *device, nd_array **out);

/* An array's elements in host memory, dense in C order: its own memory where that is possible. */
typedef struct {
    const void *data;
    size_t nbytes;
    void *owned;
} nd__host_copy;
/* big: the bytes of the numbers are wanted most significant first. */
nd_status nd__host_copy_open(const char *op, const nd_array *a, int big, nd__host_copy *out);
void nd__host_copy_close(nd__host_copy *copy);
#endif
