/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Exchange without copies by DLPack (versioned, 1.x). The structs are the public DLPack ABI under
 * ndock's names, so that <dlpack/dlpack.h> may be included beside this. Source: DLPack 1.3
 * specification. */
#ifndef NDOCK_DLPACK_H
#define NDOCK_DLPACK_H
#include <ndock/base.h>

ND_BEGIN_DECLS

#define ND_DLPACK_MAJOR 1
#define ND_DLPACK_MINOR 3
enum {
    ND_DL_CPU = 1,
    ND_DL_CUDA = 2,
    ND_DL_CUDA_HOST = 3,
    ND_DL_OPENCL = 4,
    ND_DL_EXT = 12,
    ND_DL_CUDA_MANAGED = 13
};
enum { ND_DL_READ_ONLY = 1, ND_DL_IS_COPIED = 2 };

typedef struct {
    int32_t device_type, device_id;
} nd_dl_device;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} nd_dl_dtype;
typedef struct {
    void *data;
    nd_dl_device device;
    int32_t ndim;
    nd_dl_dtype dtype;
    int64_t *shape, *strides; /* strides in elements */
    uint64_t byte_offset;
} nd_dl_tensor;
typedef struct nd_dl_managed {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct nd_dl_managed *self);
    uint64_t flags;
    nd_dl_tensor tensor;
} nd_dl_managed;

/* A managed tensor that holds a reference to a; *out->deleter(*out) gives it back. Pending work is
 * finished first. ND_ERR_UNSUPPORTED for devices without addresses. */
ND_API ND_MUST_USE nd_status nd_to_dlpack(const nd_array *a, nd_dl_managed **out);
/* An array over a foreign tensor: a view (the deleter runs with the last array over it), or, when
 * data are not aligned to their dtype, a copy (the deleter runs at once). The tensor is taken over
 * on success and untouched on failure. Another major version, lanes other than 1, sub-byte or
 * unknown dtypes, and sizes that overflow are errors. */
ND_API ND_MUST_USE nd_status nd_from_dlpack(nd_dl_managed *managed, nd_array **out);

ND_END_DECLS
#endif
