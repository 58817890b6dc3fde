/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program's own kernels and operations: code loaded for one device (CUDA C++, PTX, cubin), its
 * functions queued on our streams over our arrays, and operations that have a form for the CPU and
 * one for each plug-in that they know.
 *
 * Any thread may call anything here. Work is queued like that of every other operation: fault
 * reports name it, hazard mode and the stream check see what it reads and writes, a captured stream
 * records it. */
#ifndef NDOCK_CUSTOM_H
#define NDOCK_CUSTOM_H
#include <ndock/base.h>
#include <ndock/dtype.h>
#include <ndock/op.h>

ND_BEGIN_DECLS

/* ---- modules: code of a program for one device ---- */
typedef struct nd_module nd_module;     /* counted */
typedef struct nd_function nd_function; /* of a module, and goes with it */
enum {
    ND_CODE_SOURCE = 1, /* text, compiled for the exact device and kept in the kernel cache
                           (cache.h): for cuda CUDA C++ by NVRTC, its functions extern "C"; for
                           opencl OpenCL C; for cpu and sim C, by the compiler that NDOCK_CPU_CC
                           names, its functions ND_BLOCK_KERNEL(name) of "ndock_kernel.h", which
                           are called for each block of the grid */
    ND_CODE_PTX = 2,    /* text, compiled by the driver */
    ND_CODE_BINARY = 3, /* a cubin or a fat binary */
    ND_CODE_HOST = 4    /* an array of nd_host_function, for cpu and sim */
};
/* argument[i] points to a value, or is the address of element 0 of an array's memory. Called once a
 * launch, in stream order; it may not call ndock. */
typedef struct {
    const char *name;
    void (*run)(const uint32_t grid[3], const uint32_t block[3], void *const *argument);
} nd_host_function;
typedef struct {
    uint32_t size;
    int32_t kind;        /* ND_CODE_* */
    const void *code;    /* copied; host functions must stay */
    size_t nbytes;       /* 0: a text that ends in 0 */
    const char *name;    /* for messages; NULL: "module" */
    const char *options; /* for the compiler, separated by blanks: "-DN=4 -I/usr/local/cuda/include"
                            (for its <cuda_fp16.h>); NULL: none */
} nd_module_opts;
/* Loads (and compiles) code for the device (NULL: current). ND_ERR_UNSUPPORTED: its plug-in takes
 * no such code, or the compiler's library is missing; ND_ERR_ARGUMENT: the code is wrong, the
 * compiler's log is in the error; ND_ERR_CAPTURE while a capture forbids it. */
ND_API ND_MUST_USE nd_status nd_module_load(nd_device *device, const nd_module_opts *opts,
                                            nd_module **out);
/* The same module for everyone who asks for the same code on the device, loaded by the first and
 * kept: for device forms, which run often. Borrowed; it lives as long as the process. */
ND_API ND_MUST_USE nd_status nd_module_get(nd_device *device, const nd_module_opts *opts,
                                           nd_module **out);
ND_API nd_module *nd_module_retain(nd_module *module);
/* NULL is fine. The last release waits for work that is queued on the device, if the module's
 * functions were launched; a graph keeps the modules that it launches. */
ND_API void nd_module_release(nd_module *module);
/* The function of that name; borrowed from the module. ND_ERR_ARGUMENT: it has none. */
ND_API ND_MUST_USE nd_status nd_module_function(nd_module *module, const char *name,
                                                nd_function **out);
/* What a launch of the function may ask for. */
typedef struct {
    uint32_t size;
    uint32_t grid[3], block[3], block_threads; /* the most in each direction, and in a block */
    uint32_t n_arguments;                      /* UINT32_MAX: unknown */
    uint64_t shared_bytes;                     /* dynamic shared memory */
} nd_function_limits;
ND_API ND_MUST_USE nd_status nd_function_limits_get(const nd_function *function,
                                                    nd_function_limits *out);

/* ---- launches ---- */
typedef struct {
    const nd_array *array; /* the address of its element (0, ..., 0) is the argument. NULL: */
    const void *value;     /* nbytes by value, as the function's parameter has them */
    uint32_t nbytes;
    int32_t writes; /* the function writes to the array (it may read it as well) */
} nd_launch_arg;
static inline nd_launch_arg nd_launch_in(const nd_array *a)
{
    nd_launch_arg x;
    x.array = a;
    x.value = NULL;
    x.nbytes = 0;
    x.writes = 0;
    return x;
}
static inline nd_launch_arg nd_launch_out(const nd_array *a)
{
    nd_launch_arg x;
    x.array = a;
    x.value = NULL;
    x.nbytes = 0;
    x.writes = 1;
    return x;
}
static inline nd_launch_arg nd_launch_bytes(const void *value, uint32_t nbytes)
{
    nd_launch_arg x;
    x.array = NULL;
    x.value = value;
    x.nbytes = nbytes;
    x.writes = 0;
    return x;
}
typedef struct {
    uint32_t size;
    nd_dtype dtype;    /* unused, 0 */
    nd_stream *stream; /* NULL: the current one of the module's device */
    uint32_t grid[3];  /* blocks; but for the first number 0 counts as 1, so {n} is enough */
    uint32_t block[3]; /* threads of a block; the same */
    uint64_t shared_bytes;
} nd_launch_opts;
/* Queues one launch. The function must keep within the elements of the arrays it is given.
 * ND_ERR_DEVICE: an array or the stream is of another device; ND_ERR_READONLY, ND_ERR_OVERLAP: an
 * array that it writes; ND_ERR_ARGUMENT: beyond a limit of the device or the function, or another
 * number of arguments than the function has, or of another size; a grid or block that begins with
 * 0. */
ND_API ND_MUST_USE nd_status nd_launch(nd_function *function, const nd_launch_arg *args, int32_t n,
                                       const nd_launch_opts *opts);

/* ---- operations of a program ---- */
enum { ND_CUSTOM_MAX = 16 }; /* inputs, and outputs */
/* What the shape rule sees of an operand, and says of a result. */
typedef struct {
    nd_dtype dtype;
    int32_t ndim;
    int64_t shape[ND_MAX_NDIM];
} nd_custom_shape;
/* What the CPU form sees. */
typedef struct {
    void *data; /* of element (0, ..., 0) */
    nd_dtype dtype;
    int32_t ndim;
    const int64_t *shape, *stride; /* in elements */
} nd_custom_view;
/* Callbacks return ND_OK or what nd_custom_error returned; they may be called from several threads
 * at once. ctx is the definition's, params what nd_custom_apply was given. */
typedef nd_status (*nd_custom_shape_fn)(void *ctx, const nd_custom_shape *in, const void *params,
                                        nd_custom_shape *out);
/* Computes the outputs, which are dense and overlap no input; inputs may have any strides. */
typedef nd_status (*nd_custom_cpu_fn)(void *ctx, const nd_custom_view *in, const void *params,
                                      const nd_custom_view *out);
/* Queues the work: nd_launch, or any operations that write into the outputs. stream is the current
 * one while it runs. Outputs are dense and overlap no input. */
typedef nd_status (*nd_custom_device_fn)(void *ctx, nd_stream *stream, const nd_array *const *in,
                                         const void *params, nd_array *const *out);
/* The gradients of the inputs, of the inputs' shapes, by any operations; grad_in[i] may stay NULL
 * where there is none. grad_out[i] may be NULL. */
typedef nd_status (*nd_custom_backward_fn)(void *ctx, const nd_array *const *in,
                                           const nd_array *const *out,
                                           const nd_array *const *grad_out, const void *params,
                                           nd_array **grad_in);
/* Sets this thread's error, for callbacks: `return nd_custom_error(ND_ERR_SHAPE, "...", ...)`. */
ND_API nd_status nd_custom_error(nd_status status, const char *fmt, ...) ND_PRINTF(2, 3);

typedef struct {
    const char *plugin; /* "cuda" */
    nd_custom_device_fn run;
} nd_custom_form;
typedef struct {
    uint32_t size;
    int32_t n_in, n_out; /* at least one output */
    uint32_t params_nbytes;
    const char *name, *doc; /* name: [a-z][a-z0-9_]*, of no other operation */
    void *ctx;
    nd_custom_shape_fn shape;
    nd_custom_cpu_fn cpu;        /* NULL: none */
    const nd_custom_form *forms; /* n_forms of them; copied */
    int32_t n_forms, zero;
    nd_custom_backward_fn backward; /* NULL: none */
} nd_custom_def;
typedef struct nd_custom_op nd_custom_op; /* lives as long as the process */

/* Texts are copied, functions and ctx must stay. ND_ERR_ARGUMENT: the definition is incomplete, or
 * the name is in use. */
ND_API ND_MUST_USE nd_status nd_custom_register(const nd_custom_def *def, const nd_custom_op **out);
/* By name; NULL if there is none. */
ND_API const nd_custom_op *nd_custom_find(const char *name);
ND_API const char *nd_custom_name(const nd_custom_op *op);
/* Whether the operation has a form of its own for the device (NULL: current). */
ND_API int32_t nd_custom_has_form(const nd_custom_op *op, nd_device *device);

/* Applies the operation to n_in arrays of one device; out receives n_out new, dense arrays there
 * (all NULL on failure). params: params_nbytes bytes, read before this returns. A device without a
 * form of its own is served by the CPU form on copies, counted and logged like every staged
 * operation (nd_fallback_get); under NDOCK_FALLBACK=error that is ND_ERR_UNSUPPORTED, as it is
 * where there is no CPU form. opts: stream alone is looked at. An operation without inputs runs on
 * the stream's device, or the current one. */
ND_API ND_MUST_USE nd_status nd_custom_apply(const nd_custom_op *op, const nd_array *const *in,
                                             const void *params, const nd_apply_opts *opts,
                                             nd_array **out);
/* The same into n_out existing views of exactly those shapes and dtypes, which may overlap
 * inputs. */
ND_API ND_MUST_USE nd_status nd_custom_apply_into(const nd_custom_op *op, const nd_array *const *in,
                                                  const void *params, const nd_apply_opts *opts,
                                                  const nd_array *const *dst);
/* Calls the operation's backward function: grad_in receives n_in new arrays, each maybe NULL.
 * ND_ERR_UNSUPPORTED: it has none. */
ND_API ND_MUST_USE nd_status nd_custom_backward(const nd_custom_op *op, const nd_array *const *in,
                                                const nd_array *const *out,
                                                const nd_array *const *grad_out, const void *params,
                                                nd_array **grad_in);

/* A form of an elementwise operation of nd_op_register for one plug-in: queues work that computes
 * dst from the operands (args[i].array NULL: a scalar), all of one dtype, arrays broadcast to dst's
 * shape by their strides; dst overlaps none of them unless it is the same view. ND_ERR_ARGUMENT: no
 * such operation, or it has a form for the plug-in. */
typedef nd_status (*nd_op_device_fn)(void *ctx, nd_stream *stream, const nd_arg *args, int32_t n,
                                     const nd_array *dst);
ND_API ND_MUST_USE nd_status nd_op_set_device_form(nd_op op, const char *plugin, nd_op_device_fn fn,
                                                   void *ctx);

ND_END_DECLS
#endif
