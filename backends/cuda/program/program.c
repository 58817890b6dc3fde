/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.fused/1": programs put together as PTX, which the driver assembles, or compiled by
 * NVRTC, for the exact device, and kept by the core's kernel cache; their kernels, queued with one
 * struct of parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/assemble.h"
#include "program/kernel.h"
#include "program/ptx.h"
#include "program/text.h"
#include "program/walks.h"

static const char options[] = "--std=c++17 --fmad=false --device-as-default-execution-space";

/* ---- code ---- */
static CUresult load_image(const cuda_program_kernel *k, cuda_program_code *c, const void *image)
{
    static const char *const names[] = {"program_flat", "program_strided", "program_rows"};
    CUresult r = cu.cuModuleLoadData(&c->module, image);
    if (r == CUDA_SUCCESS)
        r = cu.cuModuleGetFunction(&c->function, c->module, names[k->how]);
    /* More shared memory than 48 KiB is to be asked for; some of the most is the kernel's own. */
    if (r == CUDA_SUCCESS && k->how == CUDA_PROGRAM_ROWS && k->dev->shared_most > 48 << 10)
        r = cu.cuFuncSetAttribute(c->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                  k->dev->shared_most - 4096);
    return r;
}

static int shorten(const char *source, const char **text, char **room)
{
    cuda_texts some;
    cuda_text words = {0};
    const int fewer = cuda_program_prune(source, &some, &words);
    *room = words.data;
    for (int i = 0; fewer && i < some.n; i++)
        text[i] = some.text[i];
    if (!fewer)
        free(words.data);
    return fewer;
}

static int add_source(cuda_program_kernel *k, int whole, cuda_program_rows_facts *rows, char *why,
                      size_t n)
{
    cuda_text text = {0};
    const int made = cuda_program_source(&k->program, whole, &text, rows, why, n);
    k->code[whole].source = text.data;
    return made;
}

static int32_t compile_source(cuda_program_kernel *k, int whole, cuda_nvrtc_code *code)
{
    const cuda_texts *texts = cuda_program_texts();
    char why[256] = "";
    cuda_program_rows_facts rows; /* which are known, and read by calls meanwhile */
    const cuda_nvrtc_headers headers = {.n = texts->n,
                                        .text = texts->text,
                                        .name = texts->name,
                                        .shorten = shorten,
                                        .simple = k->how != CUDA_PROGRAM_ROWS};
    if (!k->code[whole].source && !add_source(k, whole, &rows, why, sizeof why))
        return cuda_error(NDP_ERR_MEMORY, "the source of an expression: %s", why);
    return cuda_nvrtc_compile_with(k->dev, "expression", k->code[whole].source, options, &headers,
                                   code);
}

/* Called where the kernel cache has no code; which: of whose code. */
typedef struct {
    const cuda_program_kernel *kernel;
    int whole;
} which;

static int32_t write_ptx(void *ctx, char **out)
{
    const which *w = ctx;
    cuda_text text = {0};
    if (cuda_program_ptx(&w->kernel->program, w->kernel->dev->capability, w->whole, &text)) {
        *out = text.data;
        return NDP_OK;
    }
    free(text.data);
    return text.failed ? cuda_error(NDP_ERR_MEMORY, "no host memory for an expression's PTX")
                       : cuda_error(NDP_ERR_ARGUMENT, "this build lacks a body for an expression");
}

/* What the driver does not assemble, an old one for instance, is compiled, and what nvcc made no body
 * for when the plug-in was built. */
static int32_t make_code(cuda_program_kernel *k, int whole, cuda_nvrtc_code *code)
{
    cuda_program_code *c = &k->code[whole];
    which w = {k, whole};
    const int32_t status =
        c->key ? cuda_assemble(k->dev, "expression", c->key, write_ptx, &w, code) : NDP_OK;
    if (c->key && status == NDP_ERR_ARGUMENT) {
        free(c->key);
        c->key = NULL;
        cuda_host->log(cuda_host->ctx, NDP_LOG_INFO,
                       "an expression's PTX is not assembled: it is compiled by NVRTC");
    }
    return c->key ? status : compile_source(k, whole, code);
}

/* From source to the function on the device as it is open now; under the lock. */
static int32_t load(cuda_program_kernel *k, cuda_program_code *c)
{
    cuda_nvrtc_code code;
    cuda_scope scope;
    unsigned epoch = atomic_load(&k->dev->epoch);
    int32_t status = make_code(k, (int)(c - k->code), &code);
    if (status != NDP_OK)
        return status;
    status = cuda_enter(k->dev, &scope);
    if (status == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax(); /* loading code is no part of a graph */
        status = cuda_fail(load_image(k, c, code.code), "loading an expression's code on cuda:%u",
                           k->dev->index);
        cuda_capture_restore(mode);
        cuda_leave(&scope);
    }
    cuda_nvrtc_release(&code);
    if (status == NDP_OK)
        atomic_store_explicit(&c->epoch, epoch + 1, memory_order_release);
    return status;
}

/* The functions of a device that was closed are gone; the kernel is the core's until discard(). */
static int32_t need_function(cuda_program_kernel *k, cuda_program_code *c)
{
    int32_t status = NDP_OK;
    if (atomic_load_explicit(&c->epoch, memory_order_acquire) == atomic_load(&k->dev->epoch) + 1)
        return NDP_OK;
    pthread_mutex_lock(&k->lock);
    if (atomic_load(&c->epoch) != atomic_load(&k->dev->epoch) + 1)
        status = load(k, c);
    pthread_mutex_unlock(&k->lock);
    return status;
}

/* ---- calls ---- */
int32_t cuda_program_launch(cuda_program_kernel *k, int whole, ndp_stream *s, uint64_t blocks,
                            uint32_t threads, uint32_t shared_bytes, void *params)
{
    cuda_scope scope;
    void *arguments[] = {params};
    cuda_program_code *c = &k->code[whole];
    int32_t status = need_function(k, c);
    status = status == NDP_OK ? cuda_enter(k->dev, &scope) : status;
    if (status != NDP_OK)
        return status;
    CUresult r = CUDA_SUCCESS;
    if (cuda_patching())
        status = cuda_patch_kernel(&(CUDA_KERNEL_NODE_PARAMS){.func = c->function,
                                                              .gridDimX = (unsigned)blocks,
                                                              .gridDimY = 1,
                                                              .gridDimZ = 1,
                                                              .blockDimX = threads,
                                                              .blockDimY = 1,
                                                              .blockDimZ = 1,
                                                              .sharedMemBytes = shared_bytes,
                                                              .kernelParams = arguments});
    else
        r = cuda_queue_early(k->dev, c->function, s, (uint32_t)blocks, threads, shared_bytes,
                             params);
    cuda_leave(&scope);
    return r == CUDA_SUCCESS ? status : cuda_fail(r, "an expression on cuda:%u", k->dev->index);
}

void cuda_program_scalars(const ndp_call *call, cuda_program_scalar *to)
{
    for (uint32_t i = 0; i < call->n_scalar; i++)
        cuda_store_scalar(&call->scalar[i], &to[i]);
}

/* A grid has at most 2^31 - 1 blocks, more than any memory has room for elements. */
static int32_t run_flat(cuda_program_kernel *k, ndp_stream *s, const ndp_call *call)
{
    cuda_program_flat p;
    const uint64_t each = (uint64_t)CUDA_PROGRAM_THREADS * (uint64_t)k->width;
    p.n = (uint64_t)ndp_view_size(&call->out[0]);
    p.aligned = 1;
    p.zero = 0;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        p.operand[i] = cuda_ptr(cuda_program_operand(call, i));
        p.aligned = p.aligned && p.operand[i] % 16 == 0;
    }
    cuda_program_scalars(call, p.scalar);
    return cuda_program_launch(k, p.aligned && p.n % (uint64_t)k->width == 0, s,
                               (p.n + each - 1) / each, CUDA_PROGRAM_THREADS, 0, &p);
}

/* Dimensions outermost first, as in the call. */
typedef struct {
    cuda_program_kernel *kernel;
    ndp_stream *stream;
    const ndp_call *call;
    int64_t shape[NDP_MAX_NDIM];
    uint64_t operand[CUDA_PROGRAM_OPERANDS]; /* addresses of element zero */
} strided_call;

static int32_t launch_strided(const strided_call *c, int first, uint64_t size)
{
    cuda_program_strided p;
    const ndp_call *call = c->call;
    const int ndim = call->out[0].ndim;
    const uint64_t each = CUDA_PROGRAM_THREADS * CUDA_PROGRAM_EACH;
    const int here = ndim - first, dims = c->kernel->dims; /* the kernel's others have extent 1 */
    p.n = (uint32_t)size;
    p.zero = 0;
    for (int d = 0; d < dims; d++)
        p.extent[d] = cuda_divisor_of(d < here ? (uint32_t)c->shape[ndim - 1 - d] : 1);
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        p.operand[i] = c->operand[i];
        for (int d = 0; d < dims; d++)
            p.stride[i][d] = d < here ? cuda_program_operand(call, i)->stride[ndim - 1 - d] : 0;
    }
    cuda_program_scalars(call, p.scalar);
    return cuda_program_launch(c->kernel, 1, c->stream, (size + each - 1) / each,
                               CUDA_PROGRAM_THREADS, 0, &p);
}

static void advance(strided_call *c, int d, int64_t by)
{
    for (uint32_t i = 0; i < c->call->n_in + c->call->n_out; i++) {
        const ndp_view *v = cuda_program_operand(c->call, i);
        c->operand[i] += (uint64_t)(by * v->stride[d] * ndp_dtype_size(v->dtype));
    }
}

/* Dimensions from first on: in one launch where the kernel takes as many dimensions and elements,
 * else in parts of the first dimension. */
static int32_t run_dims(strided_call *c, int first)
{
    const int ndim = c->call->out[0].ndim;
    uint64_t size = 1, limit = (UINT64_C(1) << 31) - 1;
    for (int d = first; d < ndim; d++)
        size *= (uint64_t)c->shape[d];
    if (size <= limit && ndim - first <= c->kernel->dims)
        return launch_strided(c, first, size);
    const int64_t extent = c->shape[first];
    int64_t part = 1, done = 0;
    if (ndim - first <= c->kernel->dims && limit / (size / (uint64_t)extent) > 0)
        part = (int64_t)(limit / (size / (uint64_t)extent));
    int32_t status = NDP_OK;
    for (; done < extent && status == NDP_OK; done += part) {
        c->shape[first] = extent - done < part ? extent - done : part;
        status = part == 1 ? run_dims(c, first + 1)
                           : launch_strided(c, first,
                                            size / (uint64_t)extent * (uint64_t)c->shape[first]);
        advance(c, first, part);
    }
    c->shape[first] = extent;
    advance(c, first, -done);
    return status;
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    cuda_program_kernel *k = (cuda_program_kernel *)(uintptr_t)base;
    strided_call c = {.kernel = k, .stream = s, .call = call};
    if (ndp_view_size(&call->out[0]) == 0)
        return NDP_OK;
    if (k->how == CUDA_PROGRAM_FLAT)
        return run_flat(k, s, call);
    if (k->how == CUDA_PROGRAM_ROWS)
        return cuda_program_rows_run(k, s, call);
    memcpy(c.shape, call->out[0].shape, (size_t)call->out[0].ndim * sizeof *c.shape);
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++)
        c.operand[i] = cuda_ptr(cuda_program_operand(call, i));
    return run_dims(&c, 0);
}

/* ---- the group ---- */
static void free_kernel(cuda_program_kernel *k)
{
    if (!k)
        return;
    for (int i = 0; i < 2; i++) {
        free(k->code[i].source);
        free(k->code[i].key);
    }
    free((void *)(uintptr_t)k->program.dtype);
    free((void *)(uintptr_t)k->program.instruction);
    free((void *)(uintptr_t)k->program.out);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

static cuda_program_kernel *new_kernel(ndp_dev *dev, const ndp_program *p)
{
    cuda_program_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    pthread_mutex_init(&k->lock, NULL);
    k->base = (ndp_kernel){.size = sizeof k->base, .max_ndim = NDP_MAX_NDIM, .run = run};
    k->dev = dev;
    k->how = p->flags & NDP_PROGRAM_ROWS   ? CUDA_PROGRAM_ROWS
             : p->flags & NDP_PROGRAM_FLAT ? CUDA_PROGRAM_FLAT
                                           : CUDA_PROGRAM_STRIDED;
    k->width = cuda_program_width(p);
    k->dims =
        k->how == CUDA_PROGRAM_ROWS ? (int)NDP_PROGRAM_RANK(p->flags) - 1 : cuda_program_dims(p);
    k->n_in = p->n_in;
    k->n_out = p->n_out;
    return k;
}

/* NDOCK_CUDA_ASSEMBLE=0: NVRTC alone, to see whether a kernel's fault is the assembled one's. */
static int is_assembled(void)
{
    int32_t wanted = 1;
    cuda_host->param(cuda_host->ctx, "ASSEMBLE", NDP_PARAM_BOOL,
                     "0: kernels of expressions are compiled by NVRTC alone", &wanted);
    return wanted != 0;
}

static void *copy_of(const void *from, size_t nbytes)
{
    void *to = malloc(nbytes ? nbytes : 1);
    return to ? memcpy(to, from, nbytes) : NULL;
}

/* The program is the core's, and code may be made later. */
static int keep_program(cuda_program_kernel *k, const ndp_program *p)
{
    k->program = *p;
    k->program.dtype = copy_of(p->dtype, (p->n_in + p->n_scalar) * sizeof *p->dtype);
    k->program.instruction = copy_of(p->instruction, p->n_instruction * sizeof *p->instruction);
    k->program.out = copy_of(p->out, p->n_out * sizeof *p->out);
    return k->program.dtype && k->program.instruction && k->program.out;
}

static int add_key(cuda_program_kernel *k, int whole)
{
    cuda_text text = {0};
    if (k->how == CUDA_PROGRAM_ROWS && !cuda_walks_facts(&k->program, &k->rows))
        return 0;
    cuda_program_key(&k->program, whole, &text);
    k->code[whole].key = text.data;
    return !text.failed;
}

/* What its code is made of: of what is assembled a key, else the source. Where a key is there for most
 * calls, the source for the others is written once one of them comes. */
static int add_sources(cuda_program_kernel *k, char *why, size_t n)
{
    const int assembles = is_assembled();
    for (int whole = 1; whole >= (k->how == CUDA_PROGRAM_STRIDED); whole--) {
        if (assembles && cuda_program_assembles(&k->program, k->dev->capability, whole) &&
            add_key(k, whole))
            continue;
        if (!k->code[1].key && !add_source(k, whole, &k->rows, why, n))
            return 0;
    }
    return 1;
}

/* What most calls will have is compiled now, to see whether it can be. */
static int32_t compile(ndp_dev *dev, const ndp_program *p, const ndp_kernel **out, char *why,
                       size_t n)
{
    *out = NULL;
    snprintf(why, n, "it is no program that kernels can be made of");
    if (p->n_in > CUDA_PROGRAM_IN || p->n_out > CUDA_PROGRAM_OUT ||
        p->n_scalar > CUDA_PROGRAM_SCALARS)
        return NDP_ERR_UNSUPPORTED;
    cuda_program_kernel *k = new_kernel(dev, p);
    if (!k || !keep_program(k, p)) {
        free_kernel(k);
        return cuda_error(NDP_ERR_MEMORY, "no host memory for the record of an expression");
    }
    if (!add_sources(k, why, n)) {
        free_kernel(k);
        return NDP_ERR_UNSUPPORTED;
    }
    int32_t status = need_function(k, &k->code[1]);
    if (status == NDP_OK) {
        *out = &k->base;
        return NDP_OK;
    }
    free_kernel(k);
    if (status == NDP_ERR_UNSUPPORTED)
        snprintf(why, n, "NVRTC, which compiles expressions, is not there");
    if (status == NDP_ERR_ARGUMENT)
        snprintf(why, n, "NVRTC refuses the expression's source");
    return status == NDP_ERR_ARGUMENT ? NDP_ERR_UNSUPPORTED : status;
}

static void discard(ndp_dev *dev, const ndp_kernel *kernel)
{
    cuda_program_kernel *k = (cuda_program_kernel *)(uintptr_t)kernel;
    cuda_scope scope;
    /* The modules of a device that was closed since went with its context. */
    for (int i = 0; i < 2; i++)
        if (atomic_load(&k->code[i].epoch) == atomic_load(&dev->epoch) + 1 &&
            cuda_enter(dev, &scope) == NDP_OK) {
            cu.cuModuleUnload(k->code[i].module);
            cuda_leave(&scope);
        }
    free_kernel(k);
}

const ndp_fused_1 cuda_fused_group = {.size = sizeof(ndp_fused_1),
                                      .compile = compile,
                                      .discard = discard,
                                      .takes = cuda_program_rows_takes};
