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
    const void *params; /* by class, below; NULL for UNARY, BINARY, TERNARY, FILL, COPY, COMPRESS,
                           NONZERO */
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
/* REDUCE, ARGREDUCE: the last n_reduced dimensions of in[0] are reduced, in C order for
 * positions. */
typedef struct {
    uint32_t size;
    int32_t n_reduced;
    double correction; /* var, std: divisor is count - correction */
} ndp_reduce;
/* SCAN along the last dimension of in[0]. */
typedef struct {
    uint32_t size, zero;
} ndp_scan;
/* NORM over the last n_reduced dimensions; scale is in[1], bias in[n_in - 1], each broadcast to
 * in[0]'s shape by stride 0. */
typedef struct {
    uint32_t size;
    int32_t n_reduced;
    double eps;
    int32_t has_scale, has_bias;
} ndp_norm;
enum {
    NDP_EPILOGUE_NONE = 0,
    NDP_EPILOGUE_RELU = 1,
    NDP_EPILOGUE_GELU = 2,
    NDP_EPILOGUE_GELU_TANH = 3,
    NDP_EPILOGUE_SIGMOID = 4,
    NDP_EPILOGUE_SILU = 5,
    NDP_EPILOGUE_TANH = 6
};
/* MATMUL: out = epilogue(alpha * in[0]@in[1] + beta * out + bias); in[2] is the bias if has_bias.
 * beta 0: out is not read. All are in a compute of f32 for f16/bf16, of the dtype itself else;
 * integer out may be wider (i8 -> i32), exact, wrapping. */
typedef struct {
    uint32_t size;
    int32_t epilogue, has_bias, zero;
    double alpha, beta;
} ndp_matmul;
/* TAKE, GATHER, SCATTER: the axis of in[0] (of out[0] for SCATTER). Negative indices count from the
 * end. An index out of range is NDP_ERR_INDEX with nothing written; an asynchronous plug-in uses
 * call->status. */
typedef struct {
    uint32_t size;
    int32_t axis;
} ndp_index;
/* SORT along the last dimension. topk: out[0] values, out[1] i64 positions, k = out's last
 * extent. order_statistics: as many from `first` on as out's last extent. */
typedef struct {
    uint32_t size;
    int32_t descending, stable, zero;
    int64_t first; /* of order_statistics, partition and argpartition: a position in sorted order */
} ndp_sort;
/* SEARCH. */
typedef struct {
    uint32_t size;
    int32_t right; /* 0: first position with sorted[i] >= v, 1: first with sorted[i] > v */
} ndp_search;
/* IOTA: out[i] = start + i*step. */
typedef struct {
    uint32_t size, zero;
    ndp_scalar start, step; /* i64/u64, f64 or c128 by the kind of out */
} ndp_iota;
/* FFT over the last n_axes dimensions: sums of in[j]*exp(-+2*pi*i*j*k/n), times scale. There is at
 * least one dimension before them. fft_r2c, fft_c2r: the last dimension is the real one, of extent n
 * on the real side and n/2 + 1 on the other. The operand is not written to. */
typedef struct {
    uint32_t size;
    int32_t n_axes;
    int32_t inverse, zero; /* the exponent's sign: 0 is -, 1 is + */
    double scale;
} ndp_fft;
/* QUANT. Blocks are dense rows of bytes; floats are f16, bf16, f32 or f64 (quantize: f32), dense rows. quant_tmpl.h says what blocks
 * mean. matmul_q: each 32 elements of a row of a become codes round(x*(1/d)), half away from zero, of d = max|x|/127 (all 0 where d
 * is, NaN where one of them is not finite); the product sums scale*d*(sum of codes' products) over 16 elements each. */
typedef struct {
    uint32_t size;
    int32_t format; /* a row of quant.def */
} ndp_quant;
/* RANDOM. Element i (C order) of out comes from Philox 4x32-10 block counter + i/L, word i mod L,
 * where L is 4 for results up to 32 bits and 2 for 64-bit ones (words 2l, 2l+1 form one u64, low
 * first). key[0], key[1] are the low and high halves of key; the 128-bit counter is counter[0]
 * (low), counter[1]. Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC11.
 *
 *   uniform   u = (w >> 8) * 2^-24 for f16, bf16 and f32, (w >> 11) * 2^-53 for f64; then
 *             low + u * (high - low) in f32 or f64, rounded once more for f16 and bf16. A result
 *             that rounds up to high becomes the largest value below it.
 *   normal    Box-Muller on the pair (2p, 2p+1): u1 = ((w >> 8) + 1) * 2^-24 or
 *             ((w >> 11) + 1) * 2^-53, u2 as for uniform, r = sqrt(-2 log u1), angle = 2 pi u2;
 *             even elements r cos(angle), odd ones r sin(angle); then mean + std * z, all in f32
 *             or f64.
 *   integers  range = high - low (0: the full width); the result is low + floor(w * range / 2^W)
 *             with W 32 for dtypes up to 32 bits and 64 for 64-bit ones (multiply-shift).
 *
 * The ops from gamma on refuse what they try, so each element has blocks of its own: block t of element
 * i is that of counter + i + t * 2^96 (modulo 2^128), t below 2^17. Their parameters are operands of
 * f64, a being in[0], b in[1] and so on; a, b, low and high of ndp_random are not used. They compute in
 * f64, by the formulas of random_real_tmpl.h, random_count_tmpl.h and random_urn_tmpl.h, which say
 * which words of which block they take, and are made of operations that IEEE 754 rounds alone: every
 * device has the same bits. The f64 is then rounded to out's dtype, or saturates in integers. A
 * parameter outside of its domain gives NaN, 0 in integers. */
typedef struct {
    uint32_t size, zero;
    uint64_t key, counter[2];
    double a, b;       /* uniform: low, high; normal: mean, standard deviation */
    int64_t low, high; /* integers; the bit patterns of u64 for unsigned; high exclusive */
} ndp_random;

/* FACTOR, SOLVE, EIGEN, SVD: matrices in a batch b, the leading dimension of every operand, whose
 * stride may be zero for an input; all extents are at least one. Views have any strides; a kernel
 * copies into its scratch memory what its library wants in another order. Matrices of one batch do
 * not affect each other: NaN in one gives NaN in its results alone, and iterations have a limit.
 *
 * check 1: a matrix that is singular or not positive definite, or an iteration that does not
 * converge, is NDP_ERR_LINALG, with a text such as "matrix 3 of the batch is singular: pivot 5 of 8
 * is zero"; an asynchronous plug-in uses call->status: status, op, matrix, pivot (from 0; below 0:
 * an iteration), n. Outputs may be written in part. check 0: nothing is reported, and the results
 * of such a matrix are what arithmetic gives, infinities or NaN. */
typedef struct {
    uint32_t size;
    int32_t upper; /* cholesky: the triangle that is read, and written; the other becomes zero */
    int32_t check, zero;
} ndp_factor; /* lu: pivots[i] >= i is the row that was exchanged with row i, in this order; row i
                 of l u is row perm[i] of a. A zero pivot leaves its column of l as it is */
enum { NDP_TRANS_N = 0, NDP_TRANS_T = 1, NDP_TRANS_C = 2 }; /* op(a): a, a^T, a^H */
typedef struct {
    uint32_t size;
    int32_t upper, trans, unit_diagonal; /* upper, unit_diagonal: of solve_triangular, of a itself
                                            before op; the other triangle is not read */
    int32_t right;                       /* solve_triangular: x op(a) = b with b (b, k, n) */
    int32_t check;
} ndp_solve;
typedef struct {
    uint32_t size;
    int32_t upper; /* eigh: the triangle that is read; the diagonal counts as real */
    int32_t check, zero;
} ndp_eigen; /* eigenvectors have length 1, and their component of the largest magnitude (the first
                of those that are equal but for rounding) is real and positive */
typedef struct {
    uint32_t size;
    int32_t check;
} ndp_svd;
/* ENTROPY. A y that is `ignore` gives 0, with gradient 0; another that is not in [0, n) is
 * NDP_ERR_INDEX. */
typedef struct {
    uint32_t size;
    int32_t has_weights;
    double smoothing;
    int64_t ignore;
} ndp_entropy;
/* ATTENTION. A query head h sees key head h*k/h_all. Query i sees key j where the mask, if it is
 * bool, is true, and, if causal, where j <= i + diagonal; a mask of numbers is added to the scores.
 * Weight (b, h, i, j), number ((b*h_all + h)*m + i)*n + j, is dropped as DROPOUT does. What sees no
 * key has logsumexp -inf, result 0 and gradient 0. */
typedef struct {
    uint32_t size;
    int32_t has_mask, causal, zero;
    int64_t diagonal;
    double scale, dropout;
    uint64_t key, counter[2];
} ndp_attention;
/* ROPE: pairs are (2i, 2i+1) if interleaved, else (i, i + d/2); inverse turns back. */
typedef struct {
    uint32_t size;
    int32_t interleaved, inverse;
} ndp_rope;
/* DROPOUT. Element i is dropped where word i mod 4 of Philox block counter + i/4, as of RANDOM, is
 * below floor(p * 2^32); the others are divided by 1 - p, in f32 or f64. 0 <= p < 1. */
typedef struct {
    uint32_t size, zero;
    double p;
    uint64_t key, counter[2];
} ndp_dropout;

/* CONV, POOL, RESAMPLE, UNFOLD: images (n, c, d, h, w); those of fewer axes come with extents of 1 in
 * front, and parameters that fit. Window p of an axis covers the elements p*stride - before +
 * t*dilation, t = 0 ... kernel - 1; what lies outside of the image counts as zero, in max_pool as
 * nothing. Extents of windows are those of operands, where one has them. Every stride may be any;
 * inputs may have strides of zero. windows.h has the arithmetic. */
typedef struct {
    uint32_t size;
    int32_t epilogue; /* NDP_EPILOGUE_*, of conv and conv_input, after the bias */
    int64_t groups;   /* channels are cut into so many parts, each of which meets its own weights */
    int64_t stride[3], dilation[3], before[3];
    int32_t has_bias, zero;
} ndp_conv;
typedef struct {
    uint32_t size;
    int32_t adaptive; /* window p covers floor(p*in/out) ... ceil((p + 1)*in/out) - 1; the next five
                         fields count for nothing */
    int64_t kernel[3], stride[3], dilation[3], before[3];
    int64_t divisor; /* avg_pool: what sums are divided by; 0: the elements of the window that lie
                                in the image with `before` more on both sides */
    int32_t exclude_padding; /* divisor 0: those in the image itself */
    int32_t zero;
} ndp_pool; /* A position is i64, -1 of a window without elements. */
enum {
    NDP_RESAMPLE_NEAREST = 0,
    NDP_RESAMPLE_NEAREST_EXACT = 1,
    NDP_RESAMPLE_LINEAR = 2,
    NDP_RESAMPLE_CUBIC = 3
};
typedef struct {
    uint32_t size;
    int32_t method, align_corners, zero;
    double ratio[3]; /* source elements an element of the result; 0: the quotient of the extents */
} ndp_resample;
typedef struct {
    uint32_t size, zero;
    int64_t stride[3], dilation[3], before[3];
} ndp_unfold;

/* A kernel that find() returned. The plug-in owns it, for the life of the process. */
typedef struct ndp_kernel ndp_kernel;
struct ndp_kernel {
    uint32_t size;
    uint32_t needs;   /* NDP_NEEDS_*: the core packs operands until they hold */
    uint32_t flags;   /* reserved, 0 */
    int32_t max_ndim; /* largest rank it takes after merging; at least 1. Elementwise operands of a
                         higher rank come packed into one dimension; others as they were found */
    /* Bytes of scratch that this call wants; NULL: none. */
    uint64_t (*scratch)(const ndp_kernel *kernel, const ndp_call *call);
    int32_t (*run)(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);
};
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

/* Group "ndp.stream/1": in-order queues and events. Absent: every call completes before it returns,
 * and the core's shim stands in. Work on one stream runs in the order of the calls; work on two
 * streams is ordered by events alone. Nothing here blocks the host but sync and event_sync.
 *
 * Handles may be used again by the plug-in as soon as they are destroyed: the core never keys
 * anything by them. stream NULL is the device's default stream throughout. */
#define NDP_EVENT_TIMING 1u   /* event_elapsed is wanted */
#define NDP_EVENT_BLOCKING 2u /* event_sync sleeps rather than spins */
#define NDP_EVENT_INTERPROCESS 4u
typedef struct {
    uint32_t size, zero;
    /* priority lies within priority_range(); lower numbers are more urgent. flags: 0. */
    int32_t (*create)(ndp_dev *dev, int32_t priority, uint64_t flags, ndp_stream **out);
    void (*destroy)(ndp_dev *dev, ndp_stream *stream); /* returns at once; queued work still runs */
    int32_t (*query)(ndp_dev *dev, ndp_stream *stream, int32_t *done);
    int32_t (*sync)(ndp_dev *dev, ndp_stream *stream); /* as ndp_plugin.sync */
    /* Later work on the stream waits for the event's latest record before this call; an event that
     * was never recorded orders nothing. The event may be of another device of this plug-in. */
    int32_t (*wait)(ndp_dev *dev, ndp_stream *stream, ndp_event *event);
    int32_t (*event_create)(ndp_dev *dev, uint64_t flags, ndp_event **out);
    void (*event_destroy)(ndp_dev *dev, ndp_event *event);
    int32_t (*event_record)(ndp_dev *dev, ndp_event *event, ndp_stream *stream);
    int32_t (*event_query)(ndp_dev *dev, ndp_event *event, int32_t *done);
    int32_t (*event_sync)(ndp_dev *dev, ndp_event *event);
    int32_t (*event_elapsed)(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms);
    int32_t (*priority_range)(ndp_dev *dev, int32_t *lowest, int32_t *highest);
    int32_t (*native)(ndp_dev *dev, ndp_stream *stream, uint64_t *handle);
    /* A stream of somebody else as ours; destroy() then drops the wrapper alone. Refuses a handle
     * of another device. */
    int32_t (*wrap)(ndp_dev *dev, uint64_t handle, ndp_stream **out);
    /* fn(arg) runs on a thread of the plug-in, in stream order; it may not call the plug-in. */
    int32_t (*launch_host)(ndp_dev *dev, ndp_stream *stream, void (*fn)(void *arg), void *arg);
} ndp_stream_1;

/* Group "ndp.pool/1": stream-ordered allocation by the plug-in itself. */
typedef struct {
    uint32_t size, zero;
    int32_t (*alloc)(ndp_dev *dev, ndp_stream *stream, uint64_t nbytes, ndp_mem **out);
    void (*free)(ndp_dev *dev, ndp_stream *stream, ndp_mem *mem);
    int32_t (*trim)(ndp_dev *dev, uint64_t keep_bytes);
    int32_t (*usage)(ndp_dev *dev, uint64_t *used_bytes, uint64_t *reserved_bytes);
} ndp_pool_1;

/* Group "ndp.memory/1": what the core's caching allocator can use beyond alloc and free. reserve()
 * makes a block of addresses without memory; commit() puts memory behind [offset, offset + nbytes),
 * set_access() makes it usable, decommit() takes the memory away again; alloc's free() gives the
 * addresses back (all must be decommitted). offset and nbytes are multiples of granularity().
 * Slots but usage may be NULL together. */
typedef struct {
    uint32_t size, zero;
    int32_t (*usage)(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes);
    int32_t (*granularity)(ndp_dev *dev, uint64_t *nbytes);
    int32_t (*reserve)(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
    int32_t (*commit)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    int32_t (*set_access)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
    int32_t (*decommit)(ndp_dev *dev, ndp_mem *mem, uint64_t offset, uint64_t nbytes);
} ndp_memory_1;

/* Group "ndp.peer/1": copies between two devices of this plug-in without the host. */
typedef struct {
    uint32_t size, zero;
    /* Queued on the stream of the source's device. Never needs peer access. */
    int32_t (*copy)(ndp_dev *from, ndp_stream *stream, ndp_mem *src, uint64_t src_offset,
                    ndp_dev *to, ndp_mem *dst, uint64_t dst_offset, uint64_t nbytes);
    int32_t (*can_access)(ndp_dev *dev, ndp_dev *peer, int32_t *yes);
    int32_t (*enable)(ndp_dev *dev, ndp_dev *peer); /* kernels of dev may use peer's memory */
} ndp_peer_1;

/* Group "ndp.graph/1": capture of a stream's work instead of running it. Errors have the native
 * codes of CUDA: 900 unsupported, 901 invalidated, 902 merge, 903 unmatched, 904 unjoined, 905
 * isolation, 906 implicit, 907 captured event, 908 wrong thread. */
typedef struct ndp_graph ndp_graph;
typedef struct ndp_exec ndp_exec; /* a graph made ready to run */
enum { NDP_CAPTURE_GLOBAL = 0, NDP_CAPTURE_THREAD_LOCAL = 1, NDP_CAPTURE_RELAXED = 2 };
enum { NDP_CAPTURE_NONE = 0, NDP_CAPTURE_ACTIVE = 1, NDP_CAPTURE_INVALIDATED = 2 };
typedef struct {
    uint32_t size, zero;
    int32_t (*begin)(ndp_dev *dev, ndp_stream *stream, int32_t mode);
    int32_t (*end)(ndp_dev *dev, ndp_stream *stream, ndp_graph **out); /* *out NULL on failure */
    /* status NDP_CAPTURE_*, id unique in the process and never 0 while capturing. Streams that
     * joined by waiting for a captured event report the id of the capture they joined. */
    int32_t (*info)(ndp_dev *dev, ndp_stream *stream, int32_t *status, uint64_t *id);
    void (*destroy)(ndp_dev *dev, ndp_graph *graph);
    /* The next four may be NULL together. */
    /* The graph may go once there is an exec of it. */
    int32_t (*instantiate)(ndp_dev *dev, ndp_graph *graph, ndp_exec **out);
    /* Queued; runs of one exec never overlap, on whatever streams of the device. */
    int32_t (*launch)(ndp_dev *dev, ndp_exec *exec, ndp_stream *stream);
    /* The exec does what graph does from the next launch on. *updated 0: the graph has another
     * shape; the exec is as it was, and another one is to be instantiated. */
    int32_t (*update)(ndp_dev *dev, ndp_exec *exec, ndp_graph *graph, int32_t *updated);
    void (*exec_destroy)(ndp_dev *dev, ndp_exec *exec);
    /* The next three may be NULL together. */
    /* How many nodes the capture that the stream is in has so far: work that is queued from now on
     * becomes those from this number on. */
    int32_t (*nodes)(ndp_dev *dev, ndp_stream *stream, uint64_t *count);
    /* Until patch_end, what the calling thread queues on the device is not queued: it takes the
     * place of exec's nodes from first on, one after another, from the next launch on. Work that
     * cannot take a node's place is NDP_ERR_UNSUPPORTED; the node then is as it was. */
    int32_t (*patch_begin)(ndp_dev *dev, ndp_exec *exec, uint64_t first, uint64_t count);
    /* NDP_ERR_UNSUPPORTED: other than count nodes were given, or one of them was refused. */
    int32_t (*patch_end)(ndp_dev *dev, ndp_exec *exec);
} ndp_graph_1;

/* Group "ndp.map/1": addresses. */
typedef struct {
    uint32_t size, zero;
    /* Where the block begins in the device's address space. */
    int32_t (*address)(ndp_dev *dev, ndp_mem *mem, uint64_t *address);
    /* Foreign memory as a block; free() then frees the handle alone. */
    int32_t (*wrap)(ndp_dev *dev, uint64_t address, uint64_t nbytes, ndp_mem **out);
    /* The host's address of the whole block, or UNSUPPORTED. */
    int32_t (*map)(ndp_dev *dev, ndp_mem *mem, void **host);
    int32_t (*unmap)(ndp_dev *dev, ndp_mem *mem);
    /* Page-locked host memory that the device reaches: ndp_plugin.copy between it and device memory
     * is queued and returns at once. Freed by free(). */
    int32_t (*pin)(ndp_dev *dev, uint64_t nbytes, ndp_mem **out, void **host);
    /* These two may be NULL together. Page-locks memory of the program's own, which is then as
     * pin()'s; free() unlocks it and leaves the memory. NDP_ERR_ARGUMENT: some of it is locked. */
    int32_t (*register_host)(ndp_dev *dev, void *host, uint64_t nbytes, ndp_mem **out);
    /* Is the address in page-locked memory that the device reaches, whoever locked it? Makes no
     * context. */
    int32_t (*is_pinned)(ndp_dev *dev, const void *host, int32_t *yes);
} ndp_map_1;

/* Group "ndp.pointer/1": what is known of addresses, whoever they are from. */
typedef struct {
    uint32_t size, flags;    /* NDP_POINTER_* */
    uint32_t index, zero;    /* of the device of this plug-in whose memory it is */
    uint64_t device_address; /* where that device sees it, 0: it does not */
    uint64_t host_address;   /* where the host sees it, 0: it does not */
    uint64_t base, nbytes;   /* of the allocation it lies in; nbytes 0: unknown */
    uint64_t context;        /* the driver's handle of its context, 0: none */
} ndp_pointer_info;
#define NDP_POINTER_MANAGED 1u /* moves between host and device by itself */
#define NDP_POINTER_HOST 2u    /* host memory that the device reaches */
typedef struct {
    uint32_t size, zero;
    /* Any opened device may be asked about memory of all of them. NDP_ERR_ARGUMENT: the plug-in
     * does not know the address. Queues and waits for nothing. */
    int32_t (*info)(ndp_dev *dev, uint64_t address, ndp_pointer_info *out);
} ndp_pointer_1;

/* Group "ndp.math/1": which arithmetic really runs. Absent: mode changes nothing. */
typedef struct {
    uint32_t size, zero;
    /* The bits of mode that the op honours on this device in that dtype. mnk: extents m, n, k of a
     * matrix product; NULL: of any. Touches no device. */
    uint32_t (*effective)(ndp_dev *dev, int32_t op, int32_t dtype, const int64_t *mnk,
                          uint32_t mode);
} ndp_math_1;

/* Group "ndp.code/1": code that programs bring along. */
enum {
    NDP_CODE_SOURCE = 1, /* text, which the plug-in compiles (CUDA C++, OpenCL C, C) */
    NDP_CODE_PTX = 2,    /* text, which the driver compiles */
    NDP_CODE_BINARY = 3, /* for the exact device (a cubin or fat binary) */
    NDP_CODE_HOST = 4    /* an array of ndp_host_function: functions of this process */
};
typedef struct ndp_module ndp_module;     /* loaded code; the plug-in's own */
typedef struct ndp_function ndp_function; /* of a module; goes with it */
typedef struct {
    uint32_t size;
    int32_t kind;     /* NDP_CODE_* */
    const void *code; /* the program's; a text has a 0 after its nbytes */
    uint64_t nbytes;
    const char *name;    /* for people and in messages; never NULL */
    const char *options; /* for the compiler, separated by blanks; never NULL */
} ndp_module_source;
/* What kind HOST consists of. argument[i] points to a value, or is the address of an operand's
 * element zero. Called once a launch, in stream order; it may use no device. */
typedef struct {
    const char *name;
    void (*run)(const uint32_t grid[3], const uint32_t block[3], void *const *argument);
} ndp_host_function;
typedef struct {
    uint32_t size;
    uint32_t grid[3], block[3]; /* the most in each direction */
    uint32_t block_threads;     /* the most threads in a block; of a function: its own limit */
    uint32_t n_arguments;       /* of a function: how many it takes; UINT32_MAX: unknown */
    uint32_t zero;              /* reserved */
    uint64_t shared_bytes;      /* the most that a launch may ask for */
} ndp_code_limits;
typedef struct {           /* frozen: passed in arrays */
    ndp_mem *mem;          /* an operand: its address plus offset_bytes is the argument. NULL: */
    uint64_t offset_bytes; /* of the operand's element zero */
    const void *value;     /* bytes by value, read before launch() returns */
    uint64_t nbytes;
} ndp_launch_argument;
typedef struct {
    uint32_t size, n_arguments;
    uint32_t grid[3], block[3];
    uint64_t shared_bytes;
    const ndp_launch_argument *argument;
} ndp_launch;
typedef struct {
    uint32_t size;
    uint32_t kinds; /* bit NDP_CODE_* set: load() takes it */
    int32_t (*limits)(ndp_dev *dev, ndp_code_limits *out);
    /* A failed compile is NDP_ERR_ARGUMENT with the compiler's log in the error detail. */
    int32_t (*load)(ndp_dev *dev, const ndp_module_source *source, ndp_module **out);
    /* Nothing that is queued uses it any more. */
    void (*unload)(ndp_dev *dev, ndp_module *module);
    /* NDP_ERR_ARGUMENT: there is none of that name. limits: as far as this function goes. */
    int32_t (*function)(ndp_dev *dev, ndp_module *module, const char *name, ndp_function **out,
                        ndp_code_limits *limits);
    /* Queued. The limits hold, and every number is at least 1. */
    int32_t (*launch)(ndp_dev *dev, ndp_stream *stream, ndp_function *function,
                      const ndp_launch *launch);
} ndp_code_1;

/* Group "ndp.comm/1": collectives, by which the ranks of a communicator exchange elements. Every rank
 * has a device, in this process or in another one, and makes the same calls in the same order. A
 * plug-in without devices may have the group too (that of MPI): dev is NULL then, and operands lie in
 * blocks of the CPU plug-in.
 *
 * A call is an operation of its stream: queued where the device queues work, complete on return
 * else. It never waits without end. Once the time limit has passed, or another rank is lost, was
 * aborted, has left, or made another call (another function, operation, dtype, count or root), the
 * communicator has failed: the work fails (NDP_ERR_ASYNC from whatever waits for the stream, or
 * NDP_ERR_COMM from the call itself where it does not queue), every later call returns NDP_ERR_COMM,
 * async_error() tells why, and the text names rank and function. Other streams go on.
 *
 * Operands are dense in C order (any strides where NDP_COMM_STRIDED is set) and lie in memory of the
 * rank's device. in and out of a reduction may be one view; else they do not overlap. Every rank has
 * the same bits as the result of a reduction, and the same ranks have the same bits in every run.
 * Slots from all_reduce on may be NULL, but for at least one of all_gather, broadcast, or send with
 * recv: the core makes those that are missing of the others. */
#define NDP_COMM_ID_BYTES 128
typedef struct ndp_comm ndp_comm; /* one rank's part in a communicator; the plug-in's own */
enum {
    NDP_COMM_SUM = 0,
    NDP_COMM_PROD = 1,
    NDP_COMM_MIN = 2, /* and MAX: NaN if any is */
    NDP_COMM_MAX = 3,
    NDP_COMM_AVG = 4, /* the sum over the number of ranks; of floating dtypes alone */
    NDP_COMM_OPS = 5
};
/* One exchange. Pointees live for the call only. n: how many ranks there are. */
typedef struct {
    uint32_t size;
    int32_t reduce; /* NDP_COMM_SUM ..., of reductions */
    int32_t peer;   /* the root of reduce and broadcast; the other rank of send and recv */
    int32_t zero;
    ndp_view in;  /* mem NULL: there is none (recv; broadcast away from the root) */
    ndp_view out; /* mem NULL: there is none (send; reduce away from the root, broadcast at it) */
} ndp_exchange;
#define NDP_COMM_STRIDED 1u /* takes operands of any strides, those of in zero or negative too */
typedef struct {
    uint32_t size, flags; /* NDP_COMM_* */
    /* Bit d set: the operation (NDP_COMM_SUM ...) is done in dtype d by all_reduce, reduce and
     * reduce_scatter. Everything else takes every dtype. Touches no device. */
    uint64_t (*dtypes)(ndp_dev *dev, int32_t reduce);
    /* NDP_COMM_ID_BYTES bytes, which name a new communicator to all its ranks. */
    int32_t (*unique_id)(ndp_dev *dev, void *id);
    /* Joins it as `rank` of n. Waits for the others, at most timeout_ms, but inside a group, where
     * it returns at once and the communicator may be used when the group has ended. timeout_ms is
     * kept for every later call. */
    int32_t (*init)(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out);
    /* Leaves. What was queued still runs; others that go on calling get an error. NULL is fine. */
    void (*destroy)(ndp_dev *dev, ndp_comm *comm);
    /* Everything of this rank that is queued or waits fails soon, and so do the others'. */
    int32_t (*abort)(ndp_dev *dev, ndp_comm *comm);
    /* NDP_OK, or NDP_ERR_COMM with the text of what made it fail. Never waits. */
    int32_t (*async_error)(ndp_dev *dev, ndp_comm *comm);
    /* Calls of this thread between the two, of one or several communicators of this plug-in, are one
     * operation, whose parts run at once. They nest. May be NULL together, on devices that queue. */
    int32_t (*group_begin)(ndp_dev *dev);
    int32_t (*group_end)(ndp_dev *dev);
    /* ---- end of the required set; of what follows in and out are, for a count of elements c: */
    /* c, c */
    int32_t (*all_reduce)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c; c at the root */
    int32_t (*reduce)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c at the root, which has no out; c elsewhere */
    int32_t (*broadcast)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c; n * c, by rank. The first extent of out is n, the others are in's. */
    int32_t (*all_gather)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* n * c, by rank; c. The first extent of in is n. */
    int32_t (*reduce_scatter)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm,
                              const ndp_exchange *x);
    /* n * c, by the rank that gets it; n * c, by the rank that gave it. The first extents are n. */
    int32_t (*all_to_all)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* c to the peer, in the order of the calls; c from it */
    int32_t (*send)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    int32_t (*recv)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm, const ndp_exchange *x);
    /* Work behind it on the stream runs after all ranks have come to it. */
    int32_t (*barrier)(ndp_dev *dev, ndp_stream *stream, ndp_comm *comm);
    /* NDP_OK, or NDP_ERR_UNSUPPORTED with what is missing, and what to do: then the core exchanges
     * by way of the host. NULL: nothing can be missing. Touches no device. */
    int32_t (*available)(ndp_dev *dev);
} ndp_comm_1;

/* Group "ndp.ipc/1": memory and events of a device, named for other processes of this machine. Names
 * have NDP_IPC_BYTES bytes. */
#define NDP_IPC_BYTES 64
typedef struct {
    uint32_t size, zero;
    /* The name of the allocation in which the block lies; *offset_bytes: where the block begins in it.
     * NDP_ERR_UNSUPPORTED: this kind of memory has no name; the text says what to do. */
    int32_t (*memory)(ndp_dev *dev, ndp_mem *mem, void *name, uint64_t *offset_bytes);
    /* In another process: the allocation's address here, for map.wrap, until it is closed as often as
     * it was opened. */
    int32_t (*open)(ndp_dev *dev, const void *name, uint64_t *address);
    void (*close)(ndp_dev *dev, uint64_t address);
    /* The name of an event that was made with NDP_EVENT_INTERPROCESS, and the same event in another
     * process. May be NULL together. */
    int32_t (*event)(ndp_dev *dev, ndp_event *event, void *name);
    int32_t (*event_open)(ndp_dev *dev, const void *name, ndp_event **out);
} ndp_ipc_1;

/* Group "ndp.fused/1": several elementwise operations in one pass. A group and no op class, since a
 * kernel of "ndp.op/1" may depend on dtypes and layouts alone, and a program is a value that code is
 * made of, which has an end. */
#define NDP_PROGRAM_MAX_IN 16
#define NDP_PROGRAM_MAX_OUT 8
#define NDP_PROGRAM_MAX_SCALARS 64
typedef struct {     /* frozen: passed in arrays */
    int32_t op;      /* of class UNARY, BINARY or TERNARY; NDP_OP_copy converts arg[0] to dtype */
    int32_t dtype;   /* of the result */
    int32_t compute; /* dtype of the operands (where: of the last two; copy: of its operand) */
    int32_t arg[3];  /* values; -1: none. Value v is input v of the call, then scalar v - n_in, then
                        the result of instruction v - n_in - n_scalar, an earlier one */
} ndp_instruction;
/* Results have the bits that the kernels of "ndp.op/1" give one after the other: each value is
 * rounded to its dtype, nothing is contracted. Inputs and results of a call have one shape; an input
 * may be broadcast by strides of zero. Two results may be the same value, a result may be an input. */
typedef struct {
    uint32_t size, flags; /* NDP_PROGRAM_* */
    uint32_t n_in, n_scalar, n_instruction, n_out;
    const int32_t *dtype; /* of the inputs, then of the scalars */
    const ndp_instruction *instruction;
    const int32_t *out; /* the values that are results, in the order of the call's */
} ndp_program;
#define NDP_PROGRAM_FLAT 1u /* every operand of every call is dense, and of rank 1 */
typedef struct {
    uint32_t size, zero;
    /* The kernel of a program, whose calls have op NDP_OP_NONE and no params. All that it needs of
     * the program is copied. needs 0, max_ndim NDP_MAX_NDIM. NDP_ERR_UNSUPPORTED with the reason in
     * why: the core runs the operations one by one. May take long, and is called by one thread at a
     * time for one program. */
    int32_t (*compile)(ndp_dev *dev, const ndp_program *program, const ndp_kernel **out, char *why,
                       size_t n);
    /* Nothing that is queued uses the kernel any more. */
    void (*discard)(ndp_dev *dev, const ndp_kernel *kernel);
} ndp_fused_1;

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

/* ---- services: tables of ndp_host.service(host->ctx, id), owned by the core, valid for the life
 * of the process. ctx is host->ctx throughout. Every function may be called from any thread, inside
 * run() too; each returns a status with the thread's error detail set. No lock of the core is held
 * while a callback runs. ---- */

/* Service "ndh.plan/1": plans that are costly to make, kept per device, least recently used first
 * to go (the user sets how many and how many bytes). */
typedef struct ndh_plan ndh_plan; /* the core's: one use of a plan, from acquire to release */
typedef struct {
    uint32_t size, zero;
    /* The plan of key (key_nbytes bytes, copied, compared as a whole: begin with what tells kinds
     * of plans apart). When it is not kept, make(arg, &value, &nbytes) makes it: the core owns
     * value then, and calls destroy(value), on any thread, when it is no longer kept and no work
     * uses it. nbytes: device or host memory that it takes. A failure of make is returned as it is.
     * Workspace is no part of a plan, but of the stream: one plan may run on two streams at
     * once. */
    int32_t (*acquire)(void *ctx, ndp_dev *dev, const void *key, size_t key_nbytes,
                       int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                       void (*destroy)(void *value), void *arg, ndh_plan **out, void **value);
    /* The caller has queued its work with the plan on the stream (NULL: the default one), or has
     * given up. The plan outlives what is queued there until now; one used in a capture outlives
     * the process, since the graph may be replayed. NULL plan: nothing. */
    void (*release)(void *ctx, ndh_plan *plan, ndp_stream *stream);
    void (*clear)(void *ctx, ndp_dev *dev); /* forgets all plans of the device */
} ndh_plan_1;

/* Service "ndh.kernel/1": compiled code, kept in memory while it is used and in files for the next
 * process. Texts end in 0; NULL counts as "". All five together are the key. */
typedef struct {
    uint32_t size, zero;
    const char *source, *options, *arch; /* arch: what the code runs on, "sm_90" */
    const char *compiler;                /* with its version: "nvrtc 13.0.88" */
    const char *library;                 /* the plug-in and its version */
} ndh_kernel_key;
typedef struct { /* what compile leaves; both from host->alloc, the core's from then on */
    uint32_t size, zero;
    void *code;
    uint64_t nbytes;
    char *log; /* the compiler's words, or NULL */
} ndh_compiled;
typedef struct ndh_code ndh_code; /* the core's: code in use, from get to release */
#define NDH_KERNEL_RETRY 1u       /* compile again even if that failed before */
typedef struct {
    uint32_t size, zero;
    /* The code for key: of this process, from a file, or by compile(arg, out), which runs once
     * however many threads ask; the others wait. A failure is remembered with its log, and returned
     * to everyone who asks without NDH_KERNEL_RETRY. compile may ask for other kernels, not for its
     * own (NDP_ERR_STATE). code and nbytes stay valid until release. */
    int32_t (*get)(void *ctx, const ndh_kernel_key *key, uint32_t flags,
                   int32_t (*compile)(void *arg, ndh_compiled *out), void *arg, ndh_code **out,
                   const void **code, uint64_t *nbytes);
    void (*release)(void *ctx, ndh_code *code); /* NULL is fine */
    /* The remembered log of a failed compile, cut to n bytes; NDP_ERR_ARGUMENT if none failed. */
    int32_t (*log)(void *ctx, const ndh_kernel_key *key, char *text, size_t n);
} ndh_kernel_1;

/* Service "ndh.workspace/1": scratch memory that vendor libraries want to keep between calls. */
typedef struct ndh_workspace ndh_workspace; /* the core's: one use, from acquire to release */
typedef struct {
    uint32_t size, zero;
    /* The workspace of (handle, stream), of at least nbytes (> 0), from the device's allocator;
     * made or enlarged when needed. Inside run() that cannot be: ask there before anything is
     * queued, and return NDP_ERR_NOT_READY as it is; the core makes it and calls run() again. Work
     * that uses it must be queued on that stream before release. handle: any address of the
     * plug-in's. It goes with the stream, with the last thread that asked for it, by handle_gone,
     * or when the user clears. In a capture NDP_ERR_CAPTURE: a graph's workspace must be its
     * own. */
    int32_t (*acquire)(void *ctx, ndp_dev *dev, const void *handle, ndp_stream *stream,
                       uint64_t nbytes, ndh_workspace **out, ndp_mem **mem, uint64_t *offset_bytes);
    void (*release)(void *ctx, ndh_workspace *workspace); /* NULL is fine */
    void (*handle_gone)(void *ctx, ndp_dev *dev, const void *handle);
    /* Bytes of a text such as ":4096:2:16:8", pairs of KiB and count, summed (the form of
     * CUBLAS_WORKSPACE_CONFIG); ":0:0" is none. NDP_ERR_ARGUMENT quotes a malformed one. */
    int32_t (*parse)(void *ctx, const char *text, uint64_t *nbytes);
    /* What a device of that compute capability wants by default: 32 MiB for 9, 10 and 12, else
     * 8,519,680 bytes. */
    uint64_t (*default_nbytes)(void *ctx, int32_t major);
} ndh_workspace_1;

/* Service "ndh.library/1": libraries that not every machine has. */
typedef struct {
    const char *name;
    uint32_t offset; /* of the function pointer in the table */
    int32_t required;
} ndh_symbol;
typedef struct {
    uint32_t size, n_sonames, n_symbols, zero;
    const char *name;           /* for people: "cuBLASLt" */
    const char *install;        /* what to do when it is missing */
    const char *const *sonames; /* tried in this order */
    const ndh_symbol *symbols;  /* NULL in the table if optional, absent */
    int32_t (*version)(const void *table, char *text, size_t n); /* or NULL */
} ndh_library;
typedef struct {
    uint32_t size, zero;
    /* Opens the first of the names that loads and has all required symbols, and fills the table.
     * NDP_ERR_UNSUPPORTED names the library, what was tried and what to install; it may be asked
     * for again. Never closed. The description and its texts live as long as the process. */
    int32_t (*open)(void *ctx, const ndh_library *library, void *table);
} ndh_library_1;

/* Service "ndh.visible/1": which devices CUDA_VISIBLE_DEVICES, or a variable of its form, shows. */
#define NDH_VISIBLE_UNKNOWN (-1)
typedef struct {
    uint32_t size, zero;
    /* text NULL: the variable is unset. There are count devices, uuids[i] (NULL: unknown) like
     * "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6". out, of count entries, receives *n indices in the
     * order given. *n NDH_VISIBLE_UNKNOWN: only the driver can tell (MIG, or no uuids). */
    int32_t (*parse)(void *ctx, const char *text, int32_t count, const char *const *uuids,
                     int32_t *out, int32_t *n);
} ndh_visible_1;

/* Service "ndh.conf/1": keys of NDOCK_ALLOC_CONF beside the core's own. */
typedef struct {
    uint32_t size, zero;
    /* Adds the key "PLUGIN.key"; to be called by probe(), once a key, so that all are known when
     * the plug-in is loaded. key: of a-z, 0-9 and _. help: what values there are, for errors ("all,
     * or a number of MiB"). initial: the value that holds already, as text without blanks and
     * commas. Both are copied.
     *
     * set(arg, value) makes another value hold, for the life of the process: from any thread, one
     * call at a time, with numbers in the C locale. It returns a status, with host->error's detail
     * for a value it refuses, and must be able to go back to a value that held before: when a later
     * part of the same text is refused, it is told the former value again. It may not change
     * settings itself. When the environment has a value for the key, add calls set, under the
     * loader's lock; what set refuses then is returned, and is the error of a device's first
     * allocation. */
    int32_t (*add)(void *ctx, const char *key, const char *help, const char *initial,
                   int32_t (*set)(void *arg, const char *value), void *arg);
} ndh_conf_1;

/* Service "ndh.param/1": parameters that are told as a whole, with their defaults: variables
 * NDOCK_<PLUGIN>_<NAME> of the environment. */
typedef struct {
    uint32_t size;       /* of this struct: append-only */
    int32_t type;        /* NDP_PARAM_* */
    const char *name;    /* "DEVICES", of A-Z, 0-9 and _ */
    const char *help;    /* what it is for, one line */
    const char *values;  /* what it takes, for people: "1 to 64"; NULL: words, or what help says */
    const char *initial; /* the default as text; NULL: *out as it is */
    const char *words;   /* TEXT: the values there are, "auto|stepped"; NULL: any */
    int64_t low, high;   /* I64, F64: bounds where low < high */
} ndh_param;
typedef struct {
    uint32_t size, zero;
    /* Declares the parameter and reads it: *out (int64_t, double, int32_t for BOOL, const char *
     * owned by the core) becomes the variable's value, else the default. NDP_ERR_ARGUMENT for a
     * value that is not of the form, with an error detail that names variable, value and form; *out
     * is the default then, so that the plug-in may go on (the user is told) or pass the error on.
     * Call it from probe(), for every parameter that there is: a plug-in that declares one is taken
     * to have declared all, and other variables NDOCK_<PLUGIN>_... are reported as unknown. Asked
     * for again, it is read again. */
    int32_t (*get)(void *ctx, const ndh_param *declaration, void *out);
} ndh_param_1;

/* The export: pure (no device, thread, lock or file), may be called twice. NULL, after host->error,
 * if it cannot serve this host. */
typedef const ndp_plugin *(*ndp_entry_fn)(const ndp_host *host);
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host);

#ifdef __cplusplus
}
#endif
#endif
