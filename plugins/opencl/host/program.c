/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * OpenCL C put together at run time, and compiled once: the host's kernel cache keeps binaries for
 * the next process where it has one. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/opencl.h"

/* ---- text ---- */

void ocl_text_define(ocl_text *t, const char *name, const char *fmt, ...)
{
    size_t at = strlen(t->head);
    va_list ap;
    at += (size_t)snprintf(t->head + at, OCL_HEAD - at, "#define %s ", name);
    va_start(ap, fmt);
    at += (size_t)vsnprintf(t->head + at, OCL_HEAD - at, fmt, ap);
    va_end(ap);
    snprintf(t->head + at, OCL_HEAD - at, "\n");
}

void ocl_text_begin(ocl_text *t, const ndp_dev *dev)
{
    t->head[0] = 0;
    t->n_parts = 0;
    ocl_text_define(t, "HAVE_F64", "%d", dev->facts.f64);
    ocl_text_define(t, "CORRECT_DIVIDE", "%d", dev->facts.correct_divide);
    ocl_text_add(t, ocl_text_prelude);
}

void ocl_text_add(ocl_text *t, const char *part)
{
    t->part[t->n_parts++] = part;
}

void ocl_text_dtype(ocl_text *t, const char *name, int32_t dtype)
{
    char with[64];
    int kind = ndp_dtype_kind(dtype);
    int64_t bits = 8 * ndp_dtype_size(dtype);
    int wide = dtype == NDP_F64 || dtype == NDP_C128;
    ocl_text_define(t, name, "%s", ndp_dtype_name(dtype));
    snprintf(with, sizeof with, "%s_KIND", name);
    ocl_text_define(t, with, "%d", kind);
    snprintf(with, sizeof with, "%s_BITS", name);
    ocl_text_define(t, with, "%d", (int)bits);
    snprintf(with, sizeof with, "%s_CLASS", name);
    ocl_text_define(t, with, "%s",
                    kind == NDP_KIND_INT                     ? "L"
                    : kind & (NDP_KIND_UINT | NDP_KIND_BOOL) ? "U"
                    : wide                                   ? "D"
                                                             : "F");
}

void ocl_text_formulas(ocl_text *t, int32_t dtype)
{
    ocl_text_dtype(t, "T", dtype);
    if (ndp_dtype_kind(dtype) == NDP_KIND_COMPLEX) {
        ocl_text_add(t, ocl_text_complex);
        ocl_text_add(t, ocl_text_scalar_complex_tmpl);
        ocl_text_add(t, ocl_text_scalar_complex_log_tmpl);
    } else {
        if (dtype == NDP_F64)
            ocl_text_add(t, ocl_text_trig);
        ocl_text_add(t, ocl_text_scalar);
        ocl_text_add(t, ocl_text_scalar_tmpl);
        ocl_text_add(t, ocl_text_divide);
    }
}

static char *whole_text(const ocl_text *t)
{
    size_t n = strlen(t->head) + 1, at;
    for (int i = 0; i < t->n_parts; i++)
        n += strlen(t->part[i]);
    char *text = malloc(n);
    if (!text)
        return NULL;
    memcpy(text, t->head, at = strlen(t->head));
    for (int i = 0; i < t->n_parts; i++) {
        memcpy(text + at, t->part[i], strlen(t->part[i]));
        at += strlen(t->part[i]);
    }
    text[at] = 0;
    return text;
}

/* ---- compiling ---- */

typedef struct {
    ndp_dev *dev;
    const char *source, *options;
    cl_program program; /* made by compile(); NULL if the cache had the code */
    char *why;
    size_t n;
    const char *name; /* of a user's program, whose mistakes are the user's; else NULL */
} build;

static char *build_log(const build *b, cl_program p)
{
    size_t n = 0;
    cl.clGetProgramBuildInfo(p, b->dev->facts.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n);
    char *log = n ? ocl_host->alloc(ocl_host->ctx, n + 1, 16) : NULL;
    if (!log)
        return NULL;
    log[0] = 0;
    cl.clGetProgramBuildInfo(p, b->dev->facts.id, CL_PROGRAM_BUILD_LOG, n, log, NULL);
    log[n] = 0;
    return log;
}

static int32_t build_failed(const build *b, cl_int r, const char *log)
{
    if (b->name)
        return ocl_host->error(ocl_host->ctx, NDP_ERR_ARGUMENT, r,
                               "%s does not compile for opencl:%u: %s", b->name, b->dev->index,
                               log && log[0] ? log : ocl_error_name(r));
    snprintf(b->why, b->n, "the OpenCL compiler of opencl:%u (%s) refuses its kernel: %.400s",
             b->dev->index, b->dev->facts.platform_version,
             log && log[0] ? log : ocl_error_name(r));
    ocl_host->log(ocl_host->ctx, NDP_LOG_WARN, "%s", b->why);
    return ocl_host->error(ocl_host->ctx, NDP_ERR_UNSUPPORTED, r, "%s", b->why);
}

static int32_t build_source(build *b, char **log)
{
    cl_int r;
    cl_program p = cl.clCreateProgramWithSource(b->dev->context, 1, &b->source, NULL, &r);
    if (r != CL_SUCCESS)
        return ocl_fail(r, "giving the compiler of opencl:%u a program", b->dev->index);
    r = cl.clBuildProgram(p, 1, &b->dev->facts.id, b->options, NULL, NULL);
    *log = build_log(b, p);
    if (r != CL_SUCCESS) {
        int32_t status = build_failed(b, r, *log);
        cl.clReleaseProgram(p);
        return status;
    }
    b->program = p;
    return NDP_OK;
}

/* What the cache keeps. A driver that gives no binary has its kernels compiled in each process. */
static void take_binary(const build *b, ndh_compiled *out)
{
    size_t n = 0;
    unsigned char *code = NULL;
    if (cl.clGetProgramInfo(b->program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) ==
            CL_SUCCESS &&
        n > 0)
        code = ocl_host->alloc(ocl_host->ctx, n, 16);
    if (code && cl.clGetProgramInfo(b->program, CL_PROGRAM_BINARIES, sizeof code, &code, NULL) !=
                    CL_SUCCESS) {
        ocl_host->free(ocl_host->ctx, code);
        code = NULL;
    }
    out->code = code;
    out->nbytes = code ? n : 0;
}

static int32_t compile(void *arg, ndh_compiled *out)
{
    build *b = arg;
    int32_t status = build_source(b, &out->log);
    if (status == NDP_OK)
        take_binary(b, out);
    return status;
}

static int32_t build_binary(build *b, const void *code, size_t nbytes)
{
    cl_int r, state;
    const unsigned char *binary = code;
    cl_program p = cl.clCreateProgramWithBinary(b->dev->context, 1, &b->dev->facts.id, &nbytes,
                                                &binary, &state, &r);
    if (r == CL_SUCCESS && state == CL_SUCCESS)
        r = cl.clBuildProgram(p, 1, &b->dev->facts.id, b->options, NULL, NULL);
    if (r == CL_SUCCESS && state == CL_SUCCESS) {
        b->program = p;
        return NDP_OK;
    }
    if (p)
        cl.clReleaseProgram(p);
    return NDP_ERR_FORMAT; /* made by another build of the driver */
}

static int32_t keeps_binaries = 1;

void ocl_program_settings(void)
{
    ocl_host->param(ocl_host->ctx, "BINARIES", NDP_PARAM_BOOL,
                    "keep the driver's binaries in ndock's kernel cache; 0 saves the time to fetch "
                    "them where the driver has a cache of its own",
                    &keeps_binaries);
}

static const ndh_kernel_1 *kernel_cache(void)
{
    const ndh_kernel_1 *cache = NULL;
    if (keeps_binaries && ocl_host->size >= NDP_END(ndp_host, service) && ocl_host->service)
        cache = ocl_host->service(ocl_host->ctx, "ndh.kernel/1");
    return cache && cache->size >= NDP_END(ndh_kernel_1, release) ? cache : NULL;
}

static int32_t build_cached(build *b, const ndh_kernel_1 *cache)
{
    const ocl_facts *f = &b->dev->facts;
    char arch[400];
    const void *code = NULL;
    uint64_t nbytes = 0;
    ndh_code *kept = NULL;
    snprintf(arch, sizeof arch, "%s %s %s", f->name, f->driver, f->version);
    ndh_kernel_key key = {.size = sizeof key,
                          .source = b->source,
                          .options = b->options,
                          .arch = arch,
                          .compiler = f->platform_version,
                          .library = "ndock-opencl " OCL_VERSION};
    int32_t status = cache->get(ocl_host->ctx, &key, 0, compile, b, &kept, &code, &nbytes);
    if (status == NDP_OK && !b->program)
        status = nbytes ? build_binary(b, code, nbytes) : NDP_ERR_FORMAT;
    cache->release(ocl_host->ctx, kept);
    return status;
}

/* From the cache, or by the compiler. */
static int32_t build_any(build *b)
{
    char *log = NULL;
    const ndh_kernel_1 *cache = kernel_cache();
    int32_t status = cache ? build_cached(b, cache) : NDP_ERR_FORMAT;
    if (status == NDP_ERR_FORMAT)
        status = build_source(b, &log);
    ocl_host->free(ocl_host->ctx, log);
    return status;
}

static const char *usual_options(const ndp_dev *dev)
{
    return dev->facts.correct_divide ? "-w -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                                     : "-w -cl-std=CL1.2"; /* a compiler may not print warnings */
}

int32_t ocl_program_of_user(ndp_dev *dev, const ndp_module_source *s, cl_program *out)
{
    char options[2048];
    const int n = snprintf(options, sizeof options, "%s %s", usual_options(dev), s->options);
    build b = {.dev = dev, .source = s->code, .options = options, .name = s->name};
    *out = NULL;
    if (n >= (int)sizeof options)
        return ocl_error(NDP_ERR_ARGUMENT, "%s: the options have %zu bytes", s->name,
                         strlen(s->options));
    const int32_t status = build_any(&b);
    *out = b.program;
    return status;
}

int32_t ocl_program_get(ndp_dev *dev, const ocl_text *t, cl_program *out, char *why, size_t n)
{
    char *source = whole_text(t);
    build b = {.dev = dev, .source = source, .options = usual_options(dev), .why = why, .n = n};
    *out = NULL;
    if (!source)
        return ocl_error(NDP_ERR_MEMORY, "no host memory for the text of a kernel");
    const int32_t status = build_any(&b);
    if (status != NDP_OK && why[0] == 0)
        snprintf(why, n, "its kernel does not compile on opencl:%u", dev->index);
    free(source);
    *out = b.program;
    return status;
}
