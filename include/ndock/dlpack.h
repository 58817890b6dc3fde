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
enum { ND_DL_COPY_IF_NEEDED = 0, ND_DL_COPY_ALWAYS = 1, ND_DL_COPY_NEVER = 2 };
/* A consumer's stream, as __dlpack__ takes it: none given, which is the legacy default one; no
 * order wanted; else 1 the legacy default stream, 2 the calling thread's, or a handle. 0 is refused
 * as ambiguous. */
#define ND_DL_STREAM_NONE INT64_MIN
#define ND_DL_STREAM_UNORDERED (-1)

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

/* The form before DLPack 1.0, without version and flags. */
typedef struct nd_dl_legacy {
    nd_dl_tensor tensor;
    void *manager_ctx;
    void (*deleter)(struct nd_dl_legacy *self);
} nd_dl_legacy;

/* A managed tensor that holds a reference to a; *out->deleter(*out) gives it back. Pending work is
 * finished first. ND_ERR_UNSUPPORTED for devices without addresses. */
ND_API ND_MUST_USE nd_status nd_to_dlpack(const nd_array *a, nd_dl_managed **out);
/* An array over a foreign tensor: a view (the deleter runs with the last array over it), or, when
 * data are not aligned to their dtype, a copy (the deleter runs at once). The tensor is taken over
 * on success and untouched on failure. Another major version, lanes other than 1, sub-byte or
 * unknown dtypes, and sizes that overflow are errors. */
ND_API ND_MUST_USE nd_status nd_from_dlpack(nd_dl_managed *managed, nd_array **out);

typedef struct {
    uint32_t size;
    int32_t copy;        /* ND_DL_COPY_*; a copy is flagged ND_DL_IS_COPIED */
    int64_t stream;      /* ND_DL_STREAM_* or the consumer's; host memory takes the two alone */
    int32_t has_device;  /* device is where the tensor is wanted */
    nd_dl_device device; /* a's own, or {ND_DL_CPU, 0}: a copy in host memory, complete on return */
} nd_dl_export_opts;
/* The same in stream order: the consumer's stream waits for pending work on a, by one event for
 * each other stream that has some, and the host does not. With ND_DL_STREAM_NONE nothing waits
 * while the thread's current stream is being captured. opts NULL: no copy, ND_DL_STREAM_NONE.
 * ND_ERR_ARGUMENT: a stream that cannot be, or ND_DL_COPY_NEVER where a copy is needed.
 * ND_ERR_DEVICE: another device. */
ND_API ND_MUST_USE nd_status nd_dlpack_export(const nd_array *a, const nd_dl_export_opts *opts,
                                              nd_dl_managed **out);
/* ND_ERR_READONLY for a read-only array, which this form cannot say. */
ND_API ND_MUST_USE nd_status nd_dlpack_export_legacy(const nd_array *a,
                                                     const nd_dl_export_opts *opts,
                                                     nd_dl_legacy **out);
typedef struct {
    uint32_t size, zero;
    int64_t stream; /* on which the contents come about: the current one waits for it;
                       ND_DL_STREAM_UNORDERED or _NONE: the current one need not wait */
} nd_dl_import_opts;
/* nd_from_dlpack in stream order. A tensor of device type ND_DL_EXT must be one of this library's.
 * opts NULL: the contents are, or will be, there for the thread's current stream of the device, as
 * after __dlpack__(stream=current). */
ND_API ND_MUST_USE nd_status nd_dlpack_import(nd_dl_managed *managed, const nd_dl_import_opts *opts,
                                              nd_array **out);
ND_API ND_MUST_USE nd_status nd_dlpack_import_legacy(nd_dl_legacy *managed,
                                                     const nd_dl_import_opts *opts, nd_array **out);
/* Where a's memory is, in DLPack's terms: pinned memory is the CPU's; devices that DLPack does not
 * know are ND_DL_EXT, which only this library understands. */
ND_API ND_MUST_USE nd_status nd_dlpack_device(const nd_array *a, nd_dl_device *out);
/* A tensor that is valid as long as a: nothing is copied, retained or waited for; a's read-only
 * flag is the caller's to keep. */
ND_API ND_MUST_USE nd_status nd_dlpack_view(const nd_array *a, nd_dl_tensor *out);

ND_END_DECLS
#endif
