/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.fused/1": a program becomes one kernel, whose values are private variables. The formulas
 * are there for one dtype at a time, so that its operations have to be of one dtype; others, and
 * conversions, are left to the core, which runs them one by one. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/opencl.h"

enum {
    MOST_OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT,
    PARAMETERS = 960 /* bytes: with as many buffers, what every device takes */
};

typedef struct {
    ocl_kernel kernel; /* its base is what the core has */
    uint32_t n_in, n_out, n_scalar;
    int ndim;
} fused_kernel;

typedef struct {
    const ndp_program *p;
    int32_t dtype; /* that operations compute in */
    char *text;
    size_t n, room;
    int failed;
} writer;

NDP_PRINTF(2, 3) static void add(writer *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = w->failed ? -1 : vsnprintf(w->text + w->n, w->room - w->n, fmt, args);
    va_end(args);
    w->failed = n < 0 || (size_t)n >= w->room - w->n;
    w->n += w->failed ? 0 : (size_t)n;
}

/* ---- what is taken ---- */
static int32_t dtype_of(const ndp_program *p, int32_t value)
{
    const int32_t first = (int32_t)(p->n_in + p->n_scalar);
    return value < first ? p->dtype[value] : p->instruction[value - first].dtype;
}

/* Bytes of the kernel's struct of parameters. */
static size_t parameter_bytes(const ndp_program *p, size_t ndim)
{
    const size_t operands = p->n_in + p->n_out;
    return 8 * (operands + ndim + operands * ndim + 1) + 16 * (p->n_scalar ? p->n_scalar : 1);
}

static int is_of_one_dtype(const ndp_dev *dev, const ndp_program *p, int32_t *dtype, char *why,
                           size_t n)
{
    *dtype = p->n_instruction ? p->instruction[0].compute : 0;
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        if (k->op == NDP_OP_copy || k->compute != *dtype)
            return snprintf(why, n, "opencl fuses operations of one dtype, without conversions"), 0;
        if (ndp_op_class(k->op) > NDP_CLASS_TERNARY || !(ocl_domain(dev, k->op) >> *dtype & 1) ||
            !ocl_computes(dev, *dtype) || (k->dtype != *dtype && k->dtype != NDP_BOOL))
            return snprintf(why, n, "opencl has no formula of %s for %s", ocl_op_name(k->op),
                            ndp_dtype_name(*dtype)),
                   0;
    }
    for (uint32_t v = 0; v < p->n_in + p->n_scalar; v++)
        if (p->dtype[v] != *dtype && p->dtype[v] != NDP_BOOL)
            return snprintf(why, n, "opencl fuses operations of one dtype, without conversions"), 0;
    return *dtype != 0;
}

/* ---- text ---- */
static void add_parameters(writer *w, int ndim)
{
    const ndp_program *p = w->p;
    const unsigned operands = p->n_in + p->n_out;
    add(w,
        "struct fused {\n    long offset[%u], shape[%d], stride[%u][%d];\n    ulong n, "
        "scalar[%u][2];\n};\nkernel void fused(",
        operands, ndim, operands, ndim, p->n_scalar ? p->n_scalar : 1);
    for (unsigned i = 0; i < operands; i++)
        add(w, "bytes p%u, ", i);
    add(w, "struct fused e)\n{\n    ulong i = get_global_id(0);\n    if (i >= e.n)\n        "
           "return;\n");
    for (unsigned i = 0; i < operands; i++)
        add(w, "    p%u += e.offset[%u];\n    long at%u = 0;\n", i, i, i);
    for (int d = ndim - 1; d >= 0; d--) {
        char quotient[40] = "0";
        if (d > 0)
            snprintf(quotient, sizeof quotient, "i / (ulong)e.shape[%d]", d);
        add(w, "    {\n        ulong q = %s, x = i - q * (ulong)e.shape[%d];\n        i = q;\n",
            quotient, d);
        for (unsigned i = 0; i < operands; i++)
            add(w, "        at%u += (long)x * e.stride[%u][%d];\n", i, i, d);
        add(w, "    }\n");
    }
}

static void add_values(writer *w)
{
    const ndp_program *p = w->p;
    for (uint32_t i = 0; i < p->n_in; i++) {
        const char *name = ndp_dtype_name(p->dtype[i]);
        add(w, "    computed_%s v%u = load_%s(p%u, at%u);\n", name, i, name, i, i);
    }
    for (uint32_t i = 0; i < p->n_scalar; i++) {
        const char *name = ndp_dtype_name(p->dtype[p->n_in + i]);
        add(w, "    computed_%s v%u = scalar_%s(e.scalar[%u][0], e.scalar[%u][1]);\n", name,
            p->n_in + i, name, i, i);
    }
}

/* Values of 16 bits are rounded as they would be in memory. */
static void add_instruction(writer *w, const ndp_instruction *k, uint32_t value)
{
    const char *name = ndp_dtype_name(k->dtype);
    const int half = k->dtype == NDP_F16 || k->dtype == NDP_BF16;
    add(w, "    computed_%s v%u = ", name, value);
    if (half)
        add(w, "widen_%s(narrow_%s(", name, name);
    add(w, "nd_%s(", ocl_op_name(k->op));
    for (int i = 0; i < 3 && k->arg[i] >= 0; i++)
        add(w, i ? ", v%d" : "v%d", (int)k->arg[i]);
    add(w, half ? ")));\n" : ");\n");
}

static void write_kernel(writer *w, int ndim)
{
    const ndp_program *p = w->p;
    add_parameters(w, ndim);
    add_values(w);
    for (uint32_t i = 0; i < p->n_instruction; i++)
        add_instruction(w, &p->instruction[i], p->n_in + p->n_scalar + i);
    for (uint32_t i = 0; i < p->n_out; i++)
        add(w, "    store_%s(p%u, at%u, v%d);\n", ndp_dtype_name(dtype_of(p, p->out[i])),
            p->n_in + i, p->n_in + i, (int)p->out[i]);
    add(w, "}\n");
}

/* ---- calls ---- */
static const ndp_view *operand(const ndp_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const fused_kernel *k = (const fused_kernel *)base;
    const uint32_t operands = k->n_in + k->n_out;
    const ndp_view *first = &call->out[0];
    int64_t word[PARAMETERS / 8];
    ocl_arg args[MOST_OPERANDS + 1];
    uint32_t at = 0;
    for (uint32_t i = 0; i < operands; i++) {
        args[i] = (ocl_arg)OCL_BUFFER(operand(call, i));
        word[at++] = operand(call, i)->offset_bytes;
    }
    for (int d = 0; d < k->ndim; d++)
        word[at++] = first->shape[d];
    for (uint32_t i = 0; i < operands; i++)
        for (int d = 0; d < k->ndim; d++)
            word[at++] = operand(call, i)->stride[d];
    word[at++] = ndp_view_size(first);
    for (uint32_t i = 0; i < k->n_scalar; i++, at += 2)
        ocl_scalar_bits(&call->scalar[i], (cl_ulong *)(void *)&word[at]);
    at += k->n_scalar ? 0 : 2;
    args[operands] = (ocl_arg){8 * (size_t)at, word};
    return ocl_launch_flat(&k->kernel, 0, s, (uint64_t)ndp_view_size(first), args,
                           (int)operands + 1);
}

/* ---- the group ---- */
static int32_t make(ndp_dev *dev, const writer *w, fused_kernel *k, char *why, size_t n)
{
    ocl_text text;
    cl_program program;
    cl_int r;
    ocl_text_begin(&text, dev);
    ocl_text_formulas(&text, w->dtype);
    ocl_text_add(&text, w->text);
    int32_t status = ocl_program_get(dev, &text, &program, why, n);
    if (status != NDP_OK)
        return status;
    k->kernel.function[0] = cl.clCreateKernel(program, "fused", &r);
    cl.clReleaseProgram(program); /* the kernel keeps it */
    return ocl_fail(r, "making an expression's kernel of opencl:%u", dev->index);
}

static int32_t compile(ndp_dev *dev, const ndp_program *p, const ndp_kernel **out, char *why,
                       size_t n)
{
    const int rank = (int)NDP_PROGRAM_RANK(p->flags);
    writer w = {.p = p, .room = 8192 + 256 * (size_t)p->n_instruction + 160 * MOST_OPERANDS * 8};
    *out = NULL;
    if (!is_of_one_dtype(dev, p, &w.dtype, why, n))
        return NDP_ERR_UNSUPPORTED;
    if (rank < 1 || rank > OCL_MAX_NDIM || parameter_bytes(p, (size_t)rank) > PARAMETERS) {
        snprintf(why, n, "a kernel of opencl takes %d bytes of parameters, which is too few",
                 PARAMETERS);
        return NDP_ERR_UNSUPPORTED;
    }
    fused_kernel *k = calloc(1, sizeof *k);
    w.text = malloc(w.room);
    if (k && w.text)
        write_kernel(&w, rank);
    int32_t status = !k || !w.text || w.failed
                         ? ocl_error(NDP_ERR_MEMORY, "no host memory for an expression's source")
                         : make(dev, &w, k, why, n);
    free(w.text);
    if (status != NDP_OK) {
        free(k);
        return status;
    }
    k->kernel.base =
        (ndp_kernel){.size = sizeof k->kernel.base, .max_ndim = NDP_MAX_NDIM, .run = run};
    k->kernel.dev = dev;
    pthread_mutex_init(&k->kernel.lock, NULL);
    k->n_in = p->n_in;
    k->n_out = p->n_out;
    k->n_scalar = p->n_scalar;
    k->ndim = rank;
    *out = &k->kernel.base;
    return NDP_OK;
}

static void discard(ndp_dev *dev, const ndp_kernel *kernel)
{
    fused_kernel *k = (fused_kernel *)(uintptr_t)kernel;
    (void)dev;
    cl.clReleaseKernel(k->kernel.function[0]);
    pthread_mutex_destroy(&k->kernel.lock);
    free(k);
}

const ndp_fused_1 ocl_fused_group = {
    .size = sizeof(ndp_fused_1), .compile = compile, .discard = discard};
