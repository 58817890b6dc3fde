/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA Array Interface, version 3, in C: device memory described for another library and taken
 * from one, without a copy, each side's queued work in order. The rules are those of the Python
 * dictionary, field by field; a binding only converts. Source: CUDA Array Interface (Version 3),
 * Numba's documentation.
 *
 * Works on every device that has addresses and is not host memory. Any thread may call anything. */
#ifndef NDOCK_CAI_H
#define NDOCK_CAI_H
#include <ndock/base.h>
#include <ndock/dtype.h>

ND_BEGIN_DECLS

#define ND_CAI_VERSION 3
/* nd_cai.stream: nothing is pending. Every other value is a stream: 1 the legacy default stream, 2
 * the calling thread's default one, else a handle; never 0. */
#define ND_CAI_NO_STREAM INT64_MIN
enum {
    ND_CAI_READ_ONLY = 1,
    ND_CAI_MASKED = 2 /* the dictionary's mask is not None: refused on import, never exported */
};

/* One array. Set size to sizeof(nd_cai) before either call. */
typedef struct {
    uint32_t size;
    int32_t version;        /* ND_CAI_VERSION; older ones have no stream */
    uint64_t data;          /* device address of element 0, 0 exactly when there are no elements */
    uint32_t flags;         /* ND_CAI_* */
    int32_t ndim;           /* 0 to ND_MAX_NDIM */
    const int64_t *shape;   /* ndim extents; exported: the array's own */
    const int64_t *strides; /* bytes; NULL exactly when C-contiguous; exported: in room */
    int64_t stream;         /* on which work may be queued, or ND_CAI_NO_STREAM */
    char typestr[8];        /* "<f4": byte order, kind, bytes an element */
    char dtype[16]; /* ndock's extension: the name behind a typestr "<V2", as "bf16"; else "" */
    int64_t room[ND_MAX_NDIM]; /* of an export's strides: copy those when you copy the struct */
} nd_cai;

/* What an export says of order. */
enum {
    ND_CAI_EXPORT_DEFAULT = 0, /* nd_cai_export_policy */
    ND_CAI_EXPORT_STREAM = 1,  /* a stream behind which all pending work lies */
    ND_CAI_EXPORT_NONE = 2,    /* no stream, whatever is pending: the caller sees to the order */
    ND_CAI_EXPORT_SYNC = 3 /* the host waits for pending work, then no stream: for consumers that
                          ignore streams (PyTorch's import, mpi4py) */
};
enum { ND_CAI_VENDOR_DTYPES = 1 }; /* bf16 as "<V2" with its name in dtype */
typedef struct {
    uint32_t size;
    int32_t policy; /* ND_CAI_EXPORT_* */
    uint32_t flags; /* ND_CAI_VENDOR_DTYPES */
} nd_cai_export_opts;
/* Describes a. Nothing is retained for the caller: keep a while the description is used. opts may
 * be NULL.
 *
 * stream is the producer's for an array that was imported, else the calling thread's current one of
 * a's device; every other stream with pending work on a's memory is joined into it by one event
 * (host: no wait); it is kept as long as the memory. ND_CAI_NO_STREAM when nothing is pending, as
 * far as is known without waiting.
 *
 * ND_ERR_UNSUPPORTED: host memory, a device without addresses. ND_ERR_DTYPE: bf16 without
 * ND_CAI_VENDOR_DTYPES (no typestr says it; use DLPack). ND_ERR_CAPTURE: work is pending on a
 * stream that is being captured, or outside the capture of the current one. */
ND_API ND_MUST_USE nd_status nd_cai_export(const nd_array *a, const nd_cai_export_opts *opts,
                                           nd_cai *out);

enum { ND_CAI_SYNC_DEFAULT = 0, ND_CAI_SYNC_ON = 1, ND_CAI_SYNC_OFF = 2 };
enum { ND_CAI_LENIENT = 1 }; /* stream 0 is taken for 1, with a warning in the log */
typedef struct {
    uint32_t size;
    int32_t sync;      /* ND_CAI_SYNC_* */
    uint32_t flags;    /* ND_CAI_LENIENT */
    nd_device *device; /* NULL: the one whose memory data is (no elements: the current one) */
    void (*release)(
        void *ctx); /* called once, when nothing uses the memory any more; may be NULL */
    void *ctx;
} nd_cai_import_opts;
/* An array over the described memory, of one reference; desc is not needed afterwards. On failure
 * release is not called. opts may be NULL.
 *
 * With a stream, and unless sync is off, the thread's current stream of the device waits for what
 * is queued there, and after each use of the memory on another stream than that one, it waits for
 * us: the producer may go on at once. The host never waits. (Work in a captured graph is the
 * caller's to order.) Without, release comes when the host has seen our uses done.
 *
 * ND_ERR_ARGUMENT: a field that cannot be (a length, the address, stream 0, strides that are no
 * multiple of the element). ND_ERR_DTYPE: an unknown typestr, or foreign byte order.
 * ND_ERR_UNSUPPORTED: a mask, a version above 3, memory not aligned to its elements, host memory.
 * ND_ERR_OVERFLOW: elements outside the address space. ND_ERR_DEVICE: memory of no device here. */
ND_API ND_MUST_USE nd_status nd_cai_import(const nd_cai *desc, const nd_cai_import_opts *opts,
                                           nd_array **out);

/* Process-wide settings: NDOCK_CAI_EXPORT=stream|none|sync (at first stream), NDOCK_CAI_SYNC=0 (at
 * first on) and NDOCK_CAI_CHECK=1 (at first off: an import is not compared with the allocation that
 * its address belongs to), or set here. ND_ERR_ARGUMENT for another value; an environment that is
 * not understood is logged once and counts as unset. */
ND_API ND_MUST_USE nd_status nd_cai_export_policy_set(int32_t policy);
ND_API int32_t nd_cai_export_policy(void);
ND_API ND_MUST_USE nd_status nd_cai_sync_set(int32_t sync); /* ND_CAI_SYNC_ON or _OFF */
ND_API int32_t nd_cai_sync(void);
enum { ND_CAI_CHECK_ON = 1, ND_CAI_CHECK_OFF = 2 };
ND_API ND_MUST_USE nd_status nd_cai_check_set(int32_t check);
ND_API int32_t nd_cai_check(void);

/* "<f4" of a dtype; ND_ERR_DTYPE for one that has none. And back: of any dtype here, in native
 * order; vendor: NULL, or a name that goes with "<V2". typestr "<f2" is always f16. */
ND_API ND_MUST_USE nd_status nd_typestr(nd_dtype dtype, char out[8]);
ND_API ND_MUST_USE nd_status nd_dtype_of_typestr(const char *typestr, const char *vendor,
                                                 nd_dtype *out);

/* What is known of an address. */
typedef struct {
    uint32_t size; /* set before the call */
    int32_t managed, host_accessible, device_accessible;
    nd_device *device;       /* whose memory it is */
    uint64_t device_address; /* where the device sees it; 0: it does not */
    uint64_t host_address;   /* where the host sees it; 0: it does not */
    uint64_t base, nbytes;   /* of the allocation it lies in; nbytes 0: unknown */
    uint64_t context;        /* the driver's handle of its context; 0: none */
} nd_pointer_info;
/* device NULL: asks the current device's plug-in, then others that know addresses; ordinary host
 * memory is the CPU's. ND_ERR_ARGUMENT: address 0, or one that the named device does not know.
 * Opens a device of a plug-in that has none open only for "cuda". */
ND_API ND_MUST_USE nd_status nd_ptr_info(uint64_t address, nd_device *device, nd_pointer_info *out);

ND_END_DECLS
#endif
