/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the host files of the CUDA plug-in share. Every function that talks to the driver does so
 * between cuda_enter() and cuda_leave(), so that the caller's own current context is as before. */
#ifndef NDOCK_CUDA_BACKEND_H
#define NDOCK_CUDA_BACKEND_H
#include <ndock/plugin.h>
#include <pthread.h>
#include "driver.h"

enum { CUDA_MAX_DEVICES = 64, CUDA_THREADS = 256 };

extern const ndp_host *cuda_host; /* set by the entry */

/* An error with printf text; returns status. */
#define cuda_error(status, ...) cuda_host->error(cuda_host->ctx, (status), 0, __VA_ARGS__)

/* ---- device.c ---- */
struct ndp_dev {
    uint32_t index;
    CUdevice ordinal;
    CUcontext context;        /* the primary one; NULL while the device is closed */
    int sm_count, capability; /* 90: 9.0 */
    CUstream default_stream;  /* CU_STREAM_LEGACY or CU_STREAM_PER_THREAD */
    pthread_mutex_t lock;     /* of what follows: modules and kernels */
    struct cuda_module *modules;
    struct cuda_kernel *kernels;
    struct cuda_blaslt *blaslt; /* NULL: not there, or not asked for yet */
    int blaslt_tried;
};
int32_t cuda_probe(uint32_t *count, char *why, size_t n);
int32_t cuda_info(uint32_t index, ndp_device_info *out);
int32_t cuda_open(uint32_t index, ndp_dev **out);
void cuda_close(ndp_dev *);
/* Makes the device's context current; scope remembers whether it was not. */
typedef struct {
    int pushed;
} cuda_scope;
int32_t cuda_enter(const ndp_dev *, cuda_scope *);
void cuda_leave(const cuda_scope *);

/* ---- memory.c ---- */
typedef enum {
    CUDA_MEM_DEVICE,   /* cuMemAlloc */
    CUDA_MEM_PINNED,   /* cuMemHostAlloc */
    CUDA_MEM_FOREIGN,  /* map.wrap: not ours to free */
    CUDA_MEM_RESERVED, /* addresses of ndp.memory/1 */
    CUDA_MEM_POOL      /* cuMemAllocAsync */
} cuda_mem_kind;
struct ndp_mem {
    CUdeviceptr base;
    uint64_t nbytes;
    cuda_mem_kind kind;
    void *host;  /* of pinned memory */
    void *extra; /* of RESERVED: the pieces of physical memory */
};
int32_t cuda_alloc(ndp_dev *, uint64_t nbytes, ndp_mem **out);
void cuda_free(ndp_dev *, ndp_mem *);
extern const ndp_memory_1 cuda_memory_group;
extern const ndp_map_1 cuda_map_group;

/* ---- copy.c ---- */
int32_t cuda_write(ndp_dev *, ndp_stream *, ndp_mem *, uint64_t offset, const void *src,
                   uint64_t nbytes);
int32_t cuda_read(ndp_dev *, ndp_stream *, ndp_mem *, uint64_t offset, void *dst, uint64_t nbytes);
int32_t cuda_copy(ndp_dev *, ndp_stream *, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                  uint64_t src_offset, uint64_t nbytes);

/* ---- stream.c: an ndp_stream is the CUstream itself, NULL the device's default one ---- */
static inline CUstream cuda_stream(const ndp_dev *dev, ndp_stream *s)
{
    return s ? (CUstream)(void *)s : dev->default_stream;
}
int32_t cuda_sync(ndp_dev *, ndp_stream *);
extern const ndp_stream_1 cuda_stream_group;

/* ---- module.c: code of the plug-in, loaded once per device when it is first wanted ---- */
enum { /* CUDA_MODULE_elementwise_F32 ... */
#define CUDA_MODULE(file, dtype) CUDA_MODULE_##file##_##dtype,
#include "modules.def"
       CUDA_MODULES
};
/* A kernel by name. Inside cuda_enter(). */
int32_t cuda_function(ndp_dev *, int module, const char *name, CUfunction *out);
/* The module of a file that is compiled per dtype; negative: there is none for this dtype. */
int cuda_module_of(const char *file, int32_t dtype);
void cuda_modules_unload(ndp_dev *);

/* ---- kernel.c: what find() answers ---- */
enum { CUDA_FUNCTIONS = 10, CUDA_KEY_DTYPES = 5 };
typedef struct cuda_kernel cuda_kernel;
struct cuda_kernel {
    ndp_kernel base;
    ndp_dev *dev;
    int32_t op;
    int32_t dtype[CUDA_KEY_DTYPES];      /* of inputs, then outputs; 0 past the last */
    int32_t choice;                      /* the class's own: what else tells kernels apart */
    CUfunction function[CUDA_FUNCTIONS]; /* the class's own: its variants */
    cuda_kernel *next;
};
/* The device's kernel for the call's op and dtypes and the class's choice: one that was made
 * before, or a new one after make(kernel, like) has set run, scratch and functions. make() runs
 * inside cuda_enter() and under the device's lock; it returns a status with a detail. */
int32_t cuda_kernel_get(ndp_dev *, const ndp_call *like, int32_t choice,
                        int32_t (*make)(cuda_kernel *, const ndp_call *like),
                        const ndp_kernel **out);
/* Queues a kernel whose one parameter is the struct. */
int32_t cuda_launch(const cuda_kernel *, CUfunction, ndp_stream *, uint32_t blocks,
                    uint32_t threads, uint32_t shared_bytes, void *params);
/* The same with a grid of two dimensions. */
int32_t cuda_launch_2d(const cuda_kernel *, CUfunction, ndp_stream *, uint32_t blocks_x,
                       uint32_t blocks_y, uint32_t threads, uint32_t shared_bytes, void *params);

/* ---- op.c, and one entry per class ---- */
typedef struct {
    /* Mask of dtypes (of the first input; of the output for ops without inputs) the op runs in. */
    uint64_t (*dtypes)(int32_t op);
    /* The kernel for calls like this one. NDP_ERR_UNSUPPORTED: the reason is in why. */
    int32_t (*find)(ndp_dev *, const ndp_call *like, const ndp_kernel **out, char *why, size_t n);
} cuda_class;
#define CUDA_CLASS(CLASS, table) extern const cuda_class table;
#include "classes.def"
extern const ndp_op_1 cuda_op_group;
extern const ndp_math_1 cuda_math_group; /* matmul.c */
/* Legal dtypes of an op by the op table: mask of its domain. */
uint64_t cuda_domain_dtypes(int32_t op);
int32_t cuda_op_class(int32_t op);
const char *cuda_op_name(int32_t op);
/* Why there is no kernel, with the op and its dtypes; NDP_ERR_UNSUPPORTED. */
int32_t cuda_unsupported(const ndp_call *like, char *why, size_t n);

/* ---- views ---- */
/* Address of the element at index zero of an operand (not for scalars). */
static inline CUdeviceptr cuda_ptr(const ndp_view *v)
{
    return v->mem->base + (CUdeviceptr)v->offset_bytes;
}
static inline int64_t cuda_dtype_size(int32_t dtype)
{
    static const uint8_t nbytes[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, size, KIND, name, standard, numpy, dlpack, doc) [id] = size,
#include <ndock/dtype.def>
    };
    return nbytes[dtype];
}
static inline int64_t cuda_view_size(const ndp_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}
/* Stores a scalar as an element of its own dtype; element has room for 16 bytes. */
void cuda_store_scalar(const ndp_scalar *s, void *element);

#endif
