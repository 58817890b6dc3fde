/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.fused/1": a program becomes one kernel, whose values are private variables. The formulas
 * are there for one dtype at a time, so that its operations have to be of one dtype; others, and
 * conversions, are left to the core, which runs them one by one. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fused/fused.h"

enum {
    MOST_OPERANDS = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT,
    PARAMETERS = 960 /* bytes: with as many buffers, what every device takes */
};

void ocl_put(ocl_writer *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = w->failed ? -1 : vsnprintf(w->text + w->n, w->room - w->n, fmt, args);
    va_end(args);
    w->failed = n < 0 || (size_t)n >= w->room - w->n;
    w->n += w->failed ? 0 : (size_t)n;
}

/* ---- what is taken ---- */
int32_t ocl_fused_dtype_of(const ndp_program *p, int32_t value)
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
        if ((ndp_op_class(k->op) > NDP_CLASS_TERNARY && !ocl_is_reduction(k)) ||
            !(ocl_domain(dev, k->op) >> *dtype & 1) || !ocl_computes(dev, *dtype) ||
            (k->dtype != *dtype && k->dtype != NDP_BOOL))
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
static void write_struct(ocl_writer *w, int ndim)
{
    const ndp_program *p = w->p;
    const unsigned operands = p->n_in + p->n_out;
    ocl_put(w,
            "struct fused {\n    long offset[%u], shape[%d], stride[%u][%d];\n    ulong n, "
            "scalar[%u][2];\n};\n",
            operands, ndim, operands, ndim, p->n_scalar ? p->n_scalar : 1);
}

void ocl_put_head(ocl_writer *w, const char *name, const char *index, int dims)
{
    const unsigned operands = w->p->n_in + w->p->n_out;
    ocl_put(w, "kernel %s(", name);
    for (unsigned i = 0; i < operands; i++)
        ocl_put(w, "bytes p%u, ", i);
    ocl_put(w, "struct fused e)\n{\n    ulong i = %s;\n    if (i >= e.n)\n        return;\n",
            index);
    for (unsigned i = 0; i < operands; i++)
        ocl_put(w, "    p%u += e.offset[%u];\n    long at%u = 0;\n", i, i, i);
    for (int d = dims - 1; d >= 0; d--) {
        char quotient[40] = "0";
        if (d > 0)
            snprintf(quotient, sizeof quotient, "i / (ulong)e.shape[%d]", d);
        ocl_put(w, "    {\n        ulong q = %s, x = i - q * (ulong)e.shape[%d];\n        i = q;\n",
                quotient, d);
        for (unsigned i = 0; i < operands; i++)
            ocl_put(w, "        at%u += (long)x * e.stride[%u][%d];\n", i, i, d);
        ocl_put(w, "    }\n");
    }
}

void ocl_put_load(ocl_writer *w, uint32_t input, const char *along)
{
    const char *name = ndp_dtype_name(w->p->dtype[input]);
    ocl_put(w, "    computed_%s v%u = load_%s(p%u, at%u%s);\n", name, input, name, input, input,
            along);
}

void ocl_put_scalars(ocl_writer *w)
{
    const ndp_program *p = w->p;
    for (uint32_t i = 0; i < p->n_scalar; i++) {
        const char *name = ndp_dtype_name(p->dtype[p->n_in + i]);
        ocl_put(w, "    computed_%s v%u = scalar_%s(e.scalar[%u][0], e.scalar[%u][1]);\n", name,
                p->n_in + i, name, i, i);
    }
}

/* Values of 16 bits are rounded as they would be in memory. */
void ocl_put_instruction(ocl_writer *w, const ndp_instruction *k, uint32_t value)
{
    const char *name = ndp_dtype_name(k->dtype);
    const int half = k->dtype == NDP_F16 || k->dtype == NDP_BF16;
    ocl_put(w, "    computed_%s v%u = ", name, value);
    if (half)
        ocl_put(w, "widen_%s(narrow_%s(", name, name);
    ocl_put(w, "nd_%s(", ocl_op_name(k->op));
    for (int i = 0; i < 3 && k->arg[i] >= 0; i++)
        ocl_put(w, i ? ", v%d" : "v%d", (int)k->arg[i]);
    ocl_put(w, half ? ")));\n" : ");\n");
}

static void write_elements(ocl_writer *w, int ndim)
{
    const ndp_program *p = w->p;
    ocl_put_head(w, "void fused", "get_global_id(0)", ndim);
    for (uint32_t i = 0; i < p->n_in; i++)
        ocl_put_load(w, i, "");
    ocl_put_scalars(w);
    for (uint32_t i = 0; i < p->n_instruction; i++)
        ocl_put_instruction(w, &p->instruction[i], p->n_in + p->n_scalar + i);
    for (uint32_t i = 0; i < p->n_out; i++)
        ocl_put(w, "    store_%s(p%u, at%u, v%d);\n",
                ndp_dtype_name(ocl_fused_dtype_of(p, p->out[i])), p->n_in + i, p->n_in + i,
                (int)p->out[i]);
    ocl_put(w, "}\n");
}

/* ---- calls ---- */
static const ndp_view *operand(const ndp_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

static int32_t run(const ndp_kernel *base, ndp_stream *s, const ndp_call *call)
{
    const ocl_fused *k = (const ocl_fused *)base;
    const uint32_t operands = k->n_in + k->n_out;
    const ndp_view *first = &call->out[0];
    const int64_t n = k->is_rows ? ocl_rows_count(call) : ndp_view_size(first);
    const int group = k->is_rows && ocl_rows_in_groups(call);
    int64_t word[PARAMETERS / 8];
    ocl_arg args[MOST_OPERANDS + 1];
    uint32_t at = 0;
    for (uint32_t i = 0; i < operands; i++) {
        args[i] = (ocl_arg)OCL_BUFFER(operand(call, i));
        word[at++] = operand(call, i)->offset_bytes;
    }
    for (int d = 0; d < k->ndim; d++)
        word[at++] = k->is_rows && d == k->ndim - 1 ? ocl_rows_length(call) : first->shape[d];
    for (uint32_t i = 0; i < operands; i++)
        for (int d = 0; d < k->ndim; d++)
            word[at++] = operand(call, i)->stride[d];
    word[at++] = n;
    for (uint32_t i = 0; i < k->n_scalar; i++, at += 2)
        ocl_scalar_bits(&call->scalar[i], (cl_ulong *)(void *)&word[at]);
    at += k->n_scalar ? 0 : 2;
    args[operands] = (ocl_arg){8 * (size_t)at, word};
    return ocl_launch_flat(&k->kernel, group, s, (uint64_t)n * (group ? OCL_GROUP : 1), args,
                           (int)operands + 1);
}

/* ---- the group ---- */
static int32_t make(ndp_dev *dev, const ocl_writer *w, ocl_fused *k, char *why, size_t n)
{
    ocl_text text;
    cl_program program;
    cl_int r;
    ocl_text_begin(&text, dev);
    ocl_text_formulas(&text, w->dtype);
    if (k->is_rows)
        ocl_text_add(&text, ocl_text_total);
    ocl_text_add(&text, w->text);
    int32_t status = ocl_program_get(dev, &text, &program, why, n);
    if (status != NDP_OK)
        return status;
    k->kernel.function[0] = cl.clCreateKernel(program, k->is_rows ? "item_row" : "fused", &r);
    if (k->is_rows && r == CL_SUCCESS)
        k->kernel.function[1] = cl.clCreateKernel(program, "group_row", &r);
    cl.clReleaseProgram(program); /* the kernel keeps it */
    return ocl_fail(r, "making an expression's kernel of opencl:%u", dev->index);
}

static int32_t no_room(void)
{
    return ocl_error(NDP_ERR_MEMORY, "no host memory for an expression's source");
}

static int32_t write_program(ocl_writer *w, ocl_fused *k, int rank, char *why, size_t n)
{
    k->is_rows = (w->p->flags & NDP_PROGRAM_ROWS) != 0;
    write_struct(w, rank);
    if (k->is_rows)
        return ocl_put_rows(w, rank, why, n) ? NDP_OK : NDP_ERR_UNSUPPORTED;
    write_elements(w, rank);
    return NDP_OK;
}

static void release(const ocl_fused *k)
{
    for (int i = 0; i < 2; i++)
        if (k->kernel.function[i])
            cl.clReleaseKernel(k->kernel.function[i]);
}

static int32_t compile(ndp_dev *dev, const ndp_program *p, const ndp_kernel **out, char *why,
                       size_t n)
{
    const int rank = (int)NDP_PROGRAM_RANK(p->flags);
    ocl_writer w = {.p = p,
                    .room = 32768 + 2048 * (size_t)p->n_instruction + 640 * MOST_OPERANDS * 8};
    *out = NULL;
    if (!is_of_one_dtype(dev, p, &w.dtype, why, n))
        return NDP_ERR_UNSUPPORTED;
    if (rank < 1 || rank > OCL_MAX_NDIM || parameter_bytes(p, (size_t)rank) > PARAMETERS) {
        snprintf(why, n, "a kernel of opencl takes %d bytes of parameters, which is too few",
                 PARAMETERS);
        return NDP_ERR_UNSUPPORTED;
    }
    ocl_fused *k = calloc(1, sizeof *k);
    w.text = malloc(w.room);
    int32_t status = k && w.text ? write_program(&w, k, rank, why, n) : no_room();
    if (status == NDP_OK)
        status = w.failed ? no_room() : make(dev, &w, k, why, n);
    free(w.text);
    if (status != NDP_OK) {
        if (k)
            release(k);
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
    ocl_fused *k = (ocl_fused *)(uintptr_t)kernel;
    (void)dev;
    release(k);
    pthread_mutex_destroy(&k->kernel.lock);
    free(k);
}

const ndp_fused_1 ocl_fused_group = {
    .size = sizeof(ndp_fused_1), .compile = compile, .discard = discard, .takes = ocl_rows_takes};
