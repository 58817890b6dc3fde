/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of the OpenCL plug-in share. */
#ifndef NDOCK_OPENCL_H
#define NDOCK_OPENCL_H
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <ndock/plugin_facts.h>
#include <pthread.h>
#include <stdatomic.h>

#define OCL_NAME "opencl"
#define OCL_VERSION "0.1"
enum { OCL_MAX_DEVICES = 64, OCL_MAX_NDIM = 8, OCL_GROUP = 64 };

/* ---- host.c ---- */
extern const ndp_host *ocl_host; /* set by the entry */
int32_t ocl_op_class(int32_t op);
const char *ocl_op_name(int32_t op);
/* Whether the device computes in the dtype: none does in one that is only stored, and one without
 * f64 does not in f64 and c128. */
int ocl_computes(const ndp_dev *dev, int32_t dtype);
/* Dtypes that the op table allows and the device computes in. */
uint64_t ocl_domain(const ndp_dev *dev, int32_t op);
/* Why there is no kernel, with the op and its dtypes; NDP_ERR_UNSUPPORTED. */
int32_t ocl_unsupported(const ndp_call *like, char *why, size_t n);

/* ---- library.c ---- */
typedef struct {
#define CL_FN(name) __typeof__(name) *name;
#include "host/library.def"
} ocl_library;
extern ocl_library cl; /* whole once ocl_library_open() succeeded */
/* NDP_ERR_UNSUPPORTED: why says what is missing, and what to install. */
int32_t ocl_library_open(char *why, size_t n);
const ndh_library_1 *ocl_library_service(void); /* the host's; NULL: it has none */
const char *ocl_error_name(cl_int r);
/* NDP_OK for CL_SUCCESS; else the error of that code, with printf text of what was tried. */
int32_t ocl_fail(cl_int r, const char *fmt, ...) NDP_PRINTF(2, 3);
#define ocl_error(status, ...) ocl_host->error(ocl_host->ctx, (status), 0, __VA_ARGS__)

/* ---- guard.c: what drivers change of the process is put back ---- */
typedef struct ocl_guard ocl_guard;
ocl_guard *ocl_guard_begin(void); /* NULL, which end() takes, where there is no memory */
void ocl_guard_end(ocl_guard *g);

/* ---- device.c ---- */
typedef struct ocl_order ocl_order; /* order.c: how far a queue has got */
struct ndp_stream {
    ndp_dev *dev;
    cl_command_queue queue;
    ocl_order *order;
};
typedef struct {
    cl_device_id id;
    cl_platform_id platform;
    char name[128], vendor[128], driver[128], version[128], platform_version[128];
    cl_uint align_bits, units;
    cl_ulong memory, max_alloc, local_memory;
    size_t max_group;
    int f64, denormals, correct_divide, local_is_fast;
    int clblast; /* products are offered to it first */
} ocl_facts;
struct ndp_dev {
    uint32_t index;
    ocl_facts facts;
    cl_context context; /* made by the first open(), kept for kernels that live as long */
    ndp_stream own;     /* the default one */
    atomic_uint_least64_t allocated;
    atomic_int copies;    /* of small writes on their way */
    pthread_mutex_t lock; /* of what follows */
    struct ocl_kernel *kernels;
};
int32_t ocl_probe(uint32_t *count, char *why, size_t n);
int32_t ocl_info(uint32_t index, ndp_device_info *out);
int32_t ocl_open(uint32_t index, ndp_dev **out);
void ocl_close(ndp_dev *dev);

/* ---- memory.c ---- */
struct ndp_mem {
    cl_mem buffer;
    uint64_t nbytes;
    void *host; /* of pinned memory: mapped for good */
};
int32_t ocl_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out);
void ocl_free(ndp_dev *dev, ndp_mem *mem);
int32_t ocl_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src,
                  uint64_t nbytes);
int32_t ocl_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                 uint64_t nbytes);
int32_t ocl_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                 uint64_t src_offset, uint64_t nbytes);
/* Returns when the copies of writes that are done are free again. */
void ocl_copies_wait(ndp_dev *dev);
extern const ndp_memory_1 ocl_memory_group;

/* ---- order.c ---- */
static inline ndp_stream *ocl_stream(ndp_dev *dev, ndp_stream *s)
{
    return s ? s : &dev->own;
}
/* s becomes a stream of the queue; foreign: commands that are not ours may come to it. */
int32_t ocl_stream_init(ndp_dev *dev, cl_command_queue queue, int foreign, ndp_stream *s);
/* When a stream is gone: the record of its queue goes with the last one. */
void ocl_order_drop(ocl_order *o);
/* Whether all that was queued is done. */
cl_int ocl_order_look(ocl_order *o, int32_t *done);
/* A command was queued there: it is on its way, and query() knows of it. */
void ocl_queued(ndp_stream *s);
int32_t ocl_sync(ndp_dev *dev, ndp_stream *s);
/* 1: e's work is done, 0: it is not; negative: its error. */
cl_int ocl_is_done(cl_event e, int32_t *done);

/* ---- stream.c ---- */
extern const ndp_stream_1 ocl_stream_group;

/* ---- event.c ---- */
int32_t ocl_event_wait(ndp_dev *dev, ndp_stream *s, ndp_event *e);
int32_t ocl_event_create(ndp_dev *dev, uint64_t flags, ndp_event **out);
void ocl_event_destroy(ndp_dev *dev, ndp_event *e);
int32_t ocl_event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s);
int32_t ocl_event_query(ndp_dev *dev, ndp_event *e, int32_t *done);
int32_t ocl_event_sync(ndp_dev *dev, ndp_event *e);
int32_t ocl_event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms);

/* ---- host_function.c ---- */
int32_t ocl_launch_host(ndp_dev *, ndp_stream *, void (*fn)(void *arg), void *arg);
void ocl_host_functions_stop(void);

/* ---- program.c, texts.c: OpenCL C, put together from parts ---- */
extern const char ocl_text_prelude[], ocl_text_convert[], ocl_text_scalar[], ocl_text_trig[],
    ocl_text_complex[], ocl_text_divide[], ocl_text_elementwise[], ocl_text_reduce[],
    ocl_text_total[], ocl_text_norm[], ocl_text_matmul[], ocl_text_index[], ocl_text_random[],
    ocl_text_sort[], ocl_text_scalar_tmpl[], ocl_text_scalar_complex_tmpl[],
    ocl_text_scalar_complex_log_tmpl[];
enum { OCL_TEXT_PARTS = 10, OCL_HEAD = 2048 };
typedef struct {
    char head[OCL_HEAD]; /* of #define lines */
    const char *part[OCL_TEXT_PARTS];
    int n_parts;
} ocl_text;
void ocl_text_begin(ocl_text *t, const ndp_dev *dev);
void ocl_text_define(ocl_text *t, const char *name, const char *fmt, ...) NDP_PRINTF(3, 4);
void ocl_text_add(ocl_text *t, const char *part);
/* Defines name, name_KIND, name_BITS and name_C, the kind of its computed values (F, D, L, U). */
void ocl_text_dtype(ocl_text *t, const char *name, int32_t dtype);
/* The formulas of dtype, as nd_OP. */
void ocl_text_formulas(ocl_text *t, int32_t dtype);
void ocl_program_settings(void); /* reads them; from probe() */
/* NDP_ERR_UNSUPPORTED: it does not compile; why has the compiler's words. */
int32_t ocl_program_get(ndp_dev *dev, const ocl_text *t, cl_program *out, char *why, size_t n);
/* A user's program, by its own options. NDP_ERR_ARGUMENT: it does not compile. */
int32_t ocl_program_of_user(ndp_dev *dev, const ndp_module_source *s, cl_program *out);

/* ---- code.c ---- */
extern const ndp_code_1 ocl_code_group;

/* ---- fused.c ---- */
extern const ndp_fused_1 ocl_fused_group;

/* ---- kernel.c: what find() answers ---- */
enum { OCL_FUNCTIONS = 4, OCL_KEY_DTYPES = 6 };
typedef struct ocl_kernel ocl_kernel;
struct ocl_kernel {
    ndp_kernel base;
    ndp_dev *dev;
    int32_t op, choice;
    int32_t dtype[OCL_KEY_DTYPES];
    cl_kernel function[OCL_FUNCTIONS];
    pthread_mutex_t lock; /* a function's arguments are part of it */
    ocl_kernel *next;
};
typedef struct {    /* what a class says of a kernel that is to be made */
    int32_t choice; /* what tells kernels of an op and dtypes apart */
    uint32_t needs;
    uint64_t (*scratch)(const ndp_kernel *kernel, const ndp_call *call);
    int32_t (*run)(const ndp_kernel *kernel, ndp_stream *stream, const ndp_call *call);
    const char *function[OCL_FUNCTIONS];
    void (*write_text)(ocl_text *text, const ndp_call *like);
} ocl_recipe;
int32_t ocl_kernel_get(ndp_dev *dev, const ndp_call *like, const ocl_recipe *recipe,
                       const ndp_kernel **out, char *why, size_t n);
typedef struct {
    size_t size;
    const void *value;
} ocl_arg;
/* Buffer arguments; one that is absent is given any other buffer. */
#define OCL_BUFFER(view)                     \
    {                                        \
        sizeof(cl_mem), &(view)->mem->buffer \
    }
int32_t ocl_launch(const ocl_kernel *given, int function, ndp_stream *s, int ndim,
                   const size_t *groups, const size_t *group, const ocl_arg *args, int n_args);
/* As many groups of OCL_GROUP as n work-items take. */
int32_t ocl_launch_flat(const ocl_kernel *k, int function, ndp_stream *s, uint64_t n,
                        const ocl_arg *args, int n_args);

/* ---- op.c, and the tables of the classes ---- */
typedef struct {
    uint64_t (*dtypes)(const ndp_dev *dev, int32_t op);
    int32_t (*find)(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                    size_t n);
} ocl_class;
#define OCL_CLASS(CLASS, table) extern const ocl_class table;
#include "classes.def"
extern const ndp_op_1 ocl_op_group;

/* ---- shape.c ---- */
enum { OCL_OPERANDS = 4 };
typedef struct { /* extents with the strides of several operands, in elements */
    int ndim, n;
    int64_t shape[NDP_MAX_NDIM], stride[OCL_OPERANDS][NDP_MAX_NDIM];
} ocl_dims;
/* Joins neighbours that all operands step through evenly, and drops extents of one. */
void ocl_dims_merge(ocl_dims *w);
typedef struct { /* as the kernels see them: struct dims of prelude.cl */
    cl_long shape[OCL_MAX_NDIM], stride[OCL_OPERANDS][OCL_MAX_NDIM];
    cl_ulong n;
    cl_uint ndim, zero;
} ocl_walk;
/* ndim must be OCL_MAX_NDIM at most. */
void ocl_walk_set(ocl_walk *out, const ocl_dims *w);
/* The 16 bytes of a scalar as an element of its own dtype. */
void ocl_scalar_bits(const ndp_scalar *s, cl_ulong bits[2]);
#endif
