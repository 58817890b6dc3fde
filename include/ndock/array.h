/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The array: shape, strides, offset, dtype, device, and a counted handle to storage. Making one
 * from host memory and getting data back. */
#ifndef NDOCK_ARRAY_H
#define NDOCK_ARRAY_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

/* Count up; returns a. Any thread. */
ND_API nd_array *nd_retain(nd_array *a);
/* Count down, and free with the last; NULL is fine. Pending work on the storage finishes first. Any
 * thread. */
ND_API void nd_release(nd_array *a);
/* nd_release of n arrays, each of which becomes NULL. Any thread. */
ND_API void nd_release_all(int n, nd_array **arrays);
/* Whether nd_release(a) might wait now: only where it is the last use of foreign memory on a device
 * that has worked with it, unless the stream that its owner named waits instead. Any thread; NULL
 * is fine. */
ND_API int32_t nd_release_waits(const nd_array *a);

/* Attributes; they never change. shape and strides (in elements) live as long as the array. */
ND_API int nd_ndim(const nd_array *a);
ND_API const int64_t *nd_shape(const nd_array *a);
ND_API const int64_t *nd_strides(const nd_array *a);
ND_API int64_t
nd_offset(const nd_array *a); /* of element 0 from the start of the storage, in elements */
ND_API int64_t nd_size(const nd_array *a); /* number of elements */
ND_API nd_dtype nd_dtype_of(const nd_array *a);
ND_API nd_device *nd_device_of(const nd_array *a);
ND_API int nd_is_contiguous(const nd_array *a); /* dense in C order; extents of one are ignored */
ND_API int nd_is_readonly(const nd_array *a);
/* Whether the two arrays use the same storage (not whether elements overlap). */
ND_API int nd_shares_storage(const nd_array *a, const nd_array *b);

enum { ND_LAYOUT_READONLY = 1 };
/* How elements lie in foreign memory. The pointer that goes with it is that of element (0, ...,
 * 0). */
typedef struct {
    uint32_t size; /* sizeof(nd_layout) */
    nd_dtype dtype;
    int32_t ndim, flags;   /* ND_LAYOUT_* */
    const int64_t *shape;  /* ndim extents */
    const int64_t *stride; /* in elements; NULL: C order */
} nd_layout;

/* A new array on device (NULL: current) with a copy of host memory; the memory is the caller's
 * again on return. Errors: SHAPE, OVERFLOW, DTYPE, DEVICE, MEMORY. */
ND_API ND_MUST_USE nd_status nd_from_host(const nd_layout *layout, const void *data,
                                          nd_device *device, nd_array **out);
/* Copy every element to host memory, dense in C order; waits. nbytes must be exactly size *
 * nd_dtype_size. */
ND_API ND_MUST_USE nd_status nd_to_host(const nd_array *a, void *data, size_t nbytes);
/* An array over memory of somebody else, without a copy: host memory for a host-visible device, a
 * device address for others that can. release(ctx) is called once, when the last array over it is
 * gone, from any thread; NULL: never. On failure release is not called. Memory not aligned to its
 * dtype is ND_ERR_ARGUMENT (nd_from_host copies). */
ND_API ND_MUST_USE nd_status nd_wrap(const nd_layout *layout, void *ptr, nd_device *device,
                                     void (*release)(void *ctx), void *ctx, nd_array **out);
/* The value of an array of one element; waits. kind is BOOL, I64, U64, F64 or C128 by the dtype. */
ND_API ND_MUST_USE nd_status nd_item(const nd_array *a, nd_scalar *out);
/* The same as a double (integers beyond 2^53 are rounded; complex is ND_ERR_DTYPE), or as an
 * integer (ND_ERR_OVERFLOW where it is none, or out of range). *out is 0 on failure. */
ND_API ND_MUST_USE nd_status nd_item_f64(const nd_array *a, double *out);
ND_API ND_MUST_USE nd_status nd_item_i64(const nd_array *a, int64_t *out);
/* Address of element (0, ..., 0) in the device's address space, after waiting for pending work;
 * NULL for an empty array. ND_ERR_UNSUPPORTED when the device has no addresses. Writing through it
 * is the caller's affair: check nd_is_readonly. */
ND_API ND_MUST_USE nd_status nd_data(const nd_array *a, void **out);

/* A new, dense array with the same values on device (NULL: a's own). Always a copy. */
ND_API ND_MUST_USE nd_status nd_copy(const nd_array *a, nd_device *device, nd_array **out);
/* a itself (retained) if it is on the device already, else a copy there. */
ND_API ND_MUST_USE nd_status nd_to_device(const nd_array *a, nd_device *device, nd_array **out);
/* a itself (retained) if it is dense in C order, else a copy that is. */
ND_API ND_MUST_USE nd_status nd_compact(const nd_array *a, nd_array **out);
/* A new array of another dtype; see op copy for the conversions. Complex to real is ND_ERR_DTYPE
 * (use nd_real). Always a copy. */
ND_API ND_MUST_USE nd_status nd_astype(const nd_array *a, nd_dtype dtype, nd_array **out);
/* Assign: src, broadcast and converted, into the view dst. Overlap is handled as if src were copied
 * first. dst's device may be another. */
ND_API ND_MUST_USE nd_status nd_assign(const nd_array *src, const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_fill(const nd_array *dst, nd_scalar value);

/* Text like NumPy's str() (ND_PRINT_STR) or repr() (ND_PRINT_REPR: array([...], dtype, device)).
 * summarise: above threshold elements only edge items are shown. NULL options: repr, precision 8,
 * threshold 1000, edge 3, width 75, host copy of what is shown only. *out is malloc'ed: free()
 * it. */
enum { ND_PRINT_REPR = 0, ND_PRINT_STR = 1 };
typedef struct {
    uint32_t size;
    int32_t style, precision, edge_items, line_width,
        suppress; /* suppress: never scientific notation */
    int64_t threshold;
} nd_print_opts;
ND_API ND_MUST_USE nd_status nd_format(const nd_array *a, const nd_print_opts *opts, char **out);

ND_END_DECLS
#endif
