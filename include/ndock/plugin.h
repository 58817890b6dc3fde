/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The one header a plug-in author reads: the C table a device exposes to ndock, and the services it
 * gets back.
 *
 * A plug-in is a shared object that exports one function, ndock_plugin_entry_0, and links nothing
 * of ndock. It fills an ndp_plugin. About ten functions are required; with those alone the whole
 * public API works, since the core stages what is missing through the CPU. Everything else is an
 * optional group, asked for by name through ndp_plugin.group.
 *
 * Tables are owned by their filler, begin with their size, and only ever grow at the end; the
 * reader copies min(own, given) bytes once at load. Until 1.0 the minor must match exactly.
 * Integers have fixed widths; no C enum, bool or long crosses the boundary.
 *
 * A plug-in never prints, exits, aborts, installs signal handlers, changes the environment, locale
 * or floating-point mode, throws across the boundary, or leaves the caller's own device context
 * changed. It starts no thread before open().
 *
 * Slots of the required set are never NULL and never answer UNSUPPORTED, but for probe, which says
 * so of a missing library. A slot of a group may be NULL where its comment says so; one that is
 * there answers UNSUPPORTED where its comment says so, or where the request names a choice that the
 * device does not have (flags, a dtype, an address space), and then has done nothing. run() never
 * does: find() does.
 *
 * Files: what a plug-in needs beside its own file (programs that it starts, firmware, code that it
 * loads) lies in the folder ndock-NAME.d beside it, which it finds by dladdr() of a function of its
 * own. `ndock conform` adds them to the certificate.
 *
 * Threads: entry, probe, info and shutdown run one at a time under the loader's lock. Everything
 * else may be called from any thread at once, except that the core never queues work on one stream
 * from two threads at the same time; a third may wait for the stream meanwhile (sync, read). */
#ifndef NDOCK_PLUGIN_H
#define NDOCK_PLUGIN_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NDP_ABI_MAJOR 0
#define NDP_ABI_MINOR 1
#define NDP_ENTRY "ndock_plugin_entry_0"
#define NDP_MAX_NDIM 64
/* End of a field: sizes are compared with it, never with sizeof, so that tail padding is never a
 * field. */
#define NDP_END(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))
#if defined(__GNUC__)
#define NDP_EXPORT __attribute__((visibility("default")))
#define NDP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define NDP_EXPORT
#define NDP_PRINTF(fmt, args)
#endif

enum { /* status codes, the core's own (status.def); 0 is success */
#define ND_STATUS(name, value, text, python) NDP_ERR_##name = value,
#include "status.def"
       NDP_OK = 0
};
enum { /* element types; NDP_F32 ... */
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) NDP_##NAME = id,
#include "dtype.def"
       NDP_DTYPE_END /* one above the highest */
};
enum { /* op classes; NDP_CLASS_UNARY ... */
#define ND_OP_CLASS(NAME, id, doc) NDP_CLASS_##NAME = id,
#include "opclass.def"
       NDP_CLASS_END
};
enum { /* ops; NDP_OP_add ... Ids from NDP_OP_RUNTIME are registered by programs at run time. */
       NDP_OP_NONE = 0,
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) NDP_OP_##name,
#include "op.def"
       NDP_OP_END,
       NDP_OP_RUNTIME = 0x10000
};

typedef struct ndp_dev ndp_dev;       /* an opened device; the plug-in's own */
typedef struct ndp_mem ndp_mem;       /* a block of device memory; the plug-in's own */
typedef struct ndp_stream ndp_stream; /* NULL: the device's default stream */
typedef struct ndp_event ndp_event;

/* One value. v.u for bool and unsigned, v.i for signed, v.f for every real floating dtype, v.c for
 * complex (real, imaginary). Values in a call are already rounded to dtype. */
typedef struct {
    int32_t dtype, zero;
    union {
        int64_t i;
        uint64_t u;
        double f, c[2];
    } v;
} ndp_scalar;

/* One operand. Frozen: it is passed in arrays. The element at index x lies offset_bytes +
 * nbytes*sum(x[d]*stride[d]) into mem; strides count elements and may be zero (inputs) or negative.
 * mem NULL: the operand is ndp_call.scalar[offset_bytes]; shape and stride still have the call's
 * rank, strides zero. Bounds have been checked. */
typedef struct {
    ndp_mem *mem;
    int64_t offset_bytes;
    const int64_t *shape, *stride;
    int32_t dtype, ndim;
    uint64_t flags; /* NDP_VIEW_* */
} ndp_view;
#define NDP_VIEW_CONTIGUOUS 1u /* dense in C order */

/* One operation. Pointees live for the call only: an asynchronous plug-in copies what it needs. The
 * core guarantees: shapes broadcast, dimensions merged and ordered, dtypes cast to the op's,
 * overlap cured, destination writable and not overlapping itself. A bool may lie in memory that
 * others wrote: any byte but 0 is true. What is computed is 0 or 1; a byte that is only moved may
 * stay as it is. */
typedef struct {
    uint32_t size; /* of this struct */
    int32_t op;    /* NDP_OP_* */
    uint32_t n_in, n_out, n_scalar;
    uint32_t mode; /* NDP_MODE_* */
    const ndp_view *in, *out;
    const ndp_scalar *scalar;
    const void *params; /* by class, below; NULL for UNARY, BINARY, TERNARY, FILL, COPY; of COMPRESS
                           and NONZERO only where the kernel has NDP_KERNEL_KEEPS_COUNTS */
    ndp_view scratch; /* u8, as many bytes as the kernel's scratch() asked for; mem NULL if none */
    /* i64[5]: status, op, position, value of a bad index and the extent it exceeds (or what the
     * classes of linear algebra leave there), for asynchronous devices; mem NULL if none. The core zeroes the words, when it makes them and
     * after it has read a bad index from them; a kernel never does. The calls queued on a stream
     * share them: a kernel writes them where the first is still 0, so that the first bad index
     * stays. */
    ndp_view status;
} ndp_call;
/* What arithmetic may be, of matrix products so far; fixed when the call is made. A device without
 * a way to do it takes it for a hint; group "ndp.math/1" says which it honours. */
#define NDP_MODE_FAST_MATH 1u       /* f32: operands rounded to tf32's 10 bits of fraction */
#define NDP_MODE_BF16X9 2u          /* f32: by nine products of bf16 parts, with f32's accuracy */
#define NDP_MODE_REDUCED_SUMS 4u    /* f16, bf16: partial sums of a split k in the result's dtype */
#define NDP_MODE_NO_SPLIT_K 8u      /* f16, bf16: k is not split */
#define NDP_MODE_F16_SUMS 16u       /* f16: summed in f16 */
#define NDP_MODE_F64_EMULATED 32u   /* f64: by integer or reduced-precision units */
#define NDP_MODE_FP8_FAST 64u       /* fp8: sums may lose bits */
#define NDP_MODE_DETERMINISTIC 128u /* the same bits run to run */

/* Parameter structs, by class; size first, append-only. */
#include "plugin_params.h"

/* A kernel that find() returned. The plug-in owns it, for the life of the process. */
typedef struct ndp_kernel ndp_kernel;
struct ndp_kernel {
    uint32_t size;
    uint32_t needs;   /* NDP_NEEDS_*: the core packs operands until they hold */
    uint32_t flags;   /* NDP_KERNEL_* */
    int32_t max_ndim; /* largest rank it takes after merging; at least 1. Elementwise operands of a
                         higher rank come packed into one dimension; others as they were found */
    /* Bytes of scratch that this call wants; NULL: none. */
    uint64_t (*scratch)(const ndp_kernel *kernel, const ndp_call *call);
    int32_t (*run)(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);
};
/* COMPRESS, NONZERO: a call without capacity leaves what it counted in its scratch memory, and one with
 * ndp_select.counted finds it there. Without the flag the core counts by count_nonzero first. */
#define NDP_KERNEL_KEEPS_COUNTS 1u
#define NDP_NEEDS_CONTIGUOUS 1u /* every operand dense in C order (scalars stay scalars) */
#define NDP_NEEDS_NO_NEGATIVE 2u
#define NDP_NEEDS_NO_BROADCAST 4u /* no zero strides */

/* Group "ndp.op/1": kernels. */
typedef struct {
    uint32_t size, zero;
    /* Bit d set: the op runs on this device when its first array input (its destination, for ops
     * without inputs and of class RANDOM) has dtype d. Touches no device. */
    uint64_t (*dtypes)(ndp_dev *dev, int32_t op);
    /* Kernel for calls like this one: capability query, warm-up and look-up in one. The answer may
     * depend only on the op, the dtypes, the rank, which operands are scalars or contiguous, and
     * the mode; never on pointers or values. A found kernel serves every call with that key, never
     * answers UNSUPPORTED, allocates no device memory and blocks nothing. NDP_ERR_UNSUPPORTED:
     * write the reason to why. */
    int32_t (*find)(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                    size_t n);
} ndp_op_1;

/* The other optional groups: of order and memory, of code made at run time, of collectives. */
#include "plugin_order.h"
#include "plugin_code.h"
#include "plugin_exchange.h"

/* Group "ndp.math/1": which arithmetic really runs. Absent: mode changes nothing. */
typedef struct {
    uint32_t size, zero;
    /* The bits of mode that the op honours on this device in that dtype. mnk: extents m, n, k of a
     * matrix product; NULL: of any. Touches no device. */
    uint32_t (*effective)(ndp_dev *dev, int32_t op, int32_t dtype, const int64_t *mnk,
                          uint32_t mode);
} ndp_math_1;

/* Group "ndp.info/1": facts for people, as `ndock info` prints them. */
typedef struct {
    uint32_t size, zero;
    /* The i-th pair of texts ("simd", "avx2"), each cut to n bytes; NDP_ERR_INDEX past the last. */
    int32_t (*item)(ndp_dev *dev, uint32_t i, char *key, char *value, size_t n);
} ndp_info_1;

typedef struct {
    uint32_t size, flags; /* NDP_DEV_* */
    uint64_t memory_bytes, align_bytes, max_alloc_bytes;
    uint64_t dtypes;              /* bit d set: arrays of dtype d can live here */
    int32_t priority, zero;       /* higher is preferred for "auto"; the CPU has 0 */
    char name[64], unique_id[64]; /* model; PCI bus id or UUID, "" if it has none */
} ndp_device_info;
#define NDP_DEV_HOST_VISIBLE 1u /* its memory is ordinary host memory: map() costs nothing */
#define NDP_DEV_ASYNC 2u        /* work may complete after the call returned */

typedef struct ndp_plugin ndp_plugin;

enum { NDP_PARAM_I64 = 1, NDP_PARAM_F64 = 2, NDP_PARAM_BOOL = 3, NDP_PARAM_TEXT = 4 };
enum {
    NDP_LOG_ERROR = 1,
    NDP_LOG_WARN = 2,
    NDP_LOG_INFO = 3,
    NDP_LOG_DEBUG = 4,
    NDP_LOG_TRACE = 5
};

/* Services of the core; owned by it, valid for the life of the process. Callable from any thread.
 * ctx is passed back as given. */
typedef struct {
    uint32_t size;
    uint16_t major, minor;
    void *ctx;
    /* Sets the calling thread's error detail and returns its code: `return host->error(host->ctx,
     * NDP_ERR_MEMORY, rc, "...")`. */
    int32_t (*error)(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
        NDP_PRINTF(4, 5);
    void (*log)(void *ctx, int32_t level, const char *fmt, ...) NDP_PRINTF(3, 4);
    void *(*alloc)(void *ctx, size_t nbytes, size_t align);
    void (*free)(void *ctx, void *p);
    /* Environment NDOCK_<PLUGIN>_<NAME>, parsed by type, listed by `ndock info`. *out keeps its
     * value when the variable is unset. TEXT: out is const char **, owned by the core. A malformed
     * value is reported and ignored. */
    int32_t (*param)(void *ctx, const char *name, int32_t type, const char *help, void *out);
    /* The core drops its caches of the device; nonzero: something was freed, try again. */
    int32_t (*reclaim)(void *ctx, ndp_dev *dev, uint64_t need_bytes);
    /* Another plug-in's table by name ("cpu"), loaded if need be; NULL if there is none. */
    const ndp_plugin *(*plugin)(void *ctx, const char *name);
    /* Optional services, as groups the other way round: a table that begins with its size, NULL for
     * an unknown id. Below: "ndh.plan/1", "ndh.kernel/1", "ndh.workspace/1", "ndh.library/1",
     * "ndh.visible/1", "ndh.conf/1", "ndh.param/1". */
    const void *(*service)(void *ctx, const char *id);
} ndp_host;

/* The plug-in's table; static, owned by the plug-in. */
struct ndp_plugin {
    uint32_t size;
    uint16_t major, minor;
    const char *name, *version, *vendor; /* name: [a-z][a-z0-9_]*, the device string's first part */
    /* How many devices there are now; cheap, without opening one, and asked again until one is open
     * (so that variables of the environment count until then). When 0, why is required.
     * NDP_ERR_UNSUPPORTED: a library it needs is missing (named in why); NDP_ERR_PLUGIN: the driver
     * is too old (why has both versions). */
    int32_t (*probe)(uint32_t *count, char *why, size_t n);
    /* The caller sets out->size: write only within it. */
    int32_t (*info)(uint32_t index, ndp_device_info *out);
    int32_t (*open)(uint32_t index, ndp_dev **out);
    void (*close)(ndp_dev *dev);
    /* At least nbytes (> 0), aligned to align_bytes of info(). NDP_ERR_MEMORY when there is no
     * room. */
    int32_t (*alloc)(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
    void (*free)(ndp_dev *dev, ndp_mem *mem);
    /* Host memory to and from a block, in stream order; the host memory is the caller's again on
     * return (so read waits for the stream). */
    int32_t (*write)(ndp_dev *dev, ndp_stream *stream, ndp_mem *mem, uint64_t offset_bytes,
                     const void *src, uint64_t nbytes);
    int32_t (*read)(ndp_dev *dev, ndp_stream *stream, ndp_mem *mem, uint64_t offset_bytes,
                    void *dst, uint64_t nbytes);
    /* Returns when the stream's work is done, with its pending error: NDP_ERR_LOST for one that the
     * device cannot recover from, NDP_ERR_ASYNC else. */
    int32_t (*sync)(ndp_dev *dev, ndp_stream *stream);
    void (*shutdown)(void); /* every device is closed; stop own threads. May be called twice */
    /* ---- end of the required set ---- */
    /* Queued, like a kernel; either side may be pinned host memory of this device. */
    int32_t (*copy)(ndp_dev *dev, ndp_stream *stream, ndp_mem *dst, uint64_t dst_offset_bytes,
                    ndp_mem *src, uint64_t src_offset_bytes, uint64_t nbytes);
    /* The table of that group, "ndp.op/1" ..., of vendors in reverse-DNS form; NULL: it is
     * absent. */
    const void *(*group)(ndp_dev *dev, const char *id);
};
#define NDP_PLUGIN_REQUIRED_END NDP_END(ndp_plugin, shutdown)

#include "plugin_service.h"

/* The export: pure (no device, thread, lock or file), may be called twice. NULL, after host->error,
 * if it cannot serve this host. */
typedef const ndp_plugin *(*ndp_entry_fn)(const ndp_host *host);
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host);

#ifdef __cplusplus
}
#endif
#endif
