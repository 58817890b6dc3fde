/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.code/1": OpenCL C of programs. An array is passed as its buffer where that begins with
 * it or can be cut there; a kernel that has one parameter more for each array gets the buffer and,
 * behind it, the array's offset in bytes as a ulong, which no alignment limits. */
#include <stdlib.h>
#include <string.h>
#include "host/opencl.h"

enum { MAX_ARGUMENTS = 256 };

struct ndp_function {
    ndp_function *next;
    cl_kernel handle;
    char *name;
    uint32_t n_arguments;
};
struct ndp_module {
    cl_program program;
    char *name;
    ndp_function *functions; /* under the device's lock */
};

static int32_t limits(ndp_dev *dev, ndp_code_limits *out)
{
    if (out->size < NDP_END(ndp_code_limits, shared_bytes))
        return ocl_error(NDP_ERR_PLUGIN, "ndp_code_limits of %u bytes is too short", out->size);
    for (int i = 0; i < 3; i++) {
        out->grid[i] = INT32_MAX;
        out->block[i] = (uint32_t)dev->facts.max_group;
    }
    out->block_threads = (uint32_t)dev->facts.max_group;
    out->n_arguments = UINT32_MAX; /* it depends on how arrays are passed */
    out->shared_bytes = 0;
    return NDP_OK;
}

static void unload(ndp_dev *dev, ndp_module *m)
{
    (void)dev;
    for (ndp_function *f; (f = m->functions) != NULL; free(f)) {
        m->functions = f->next;
        cl.clReleaseKernel(f->handle);
        free(f->name);
    }
    if (m->program)
        cl.clReleaseProgram(m->program);
    free(m->name);
    free(m);
}

static int32_t load(ndp_dev *dev, const ndp_module_source *s, ndp_module **out)
{
    *out = NULL;
    ndp_module *m = calloc(1, sizeof *m);
    if (m)
        m->name = strdup(s->name);
    int32_t status = m && m->name ? NDP_OK : NDP_ERR_MEMORY;
    if (status != NDP_OK)
        (void)ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a module");
    else
        status = ocl_program_of_user(dev, s, &m->program);
    if (status == NDP_OK)
        *out = m;
    else if (m)
        unload(dev, m);
    return status;
}

static ndp_function *make_function(const ndp_module *m, const char *name, cl_int *r)
{
    cl_uint n = 0;
    ndp_function *f = calloc(1, sizeof *f);
    *r = CL_OUT_OF_HOST_MEMORY;
    if (f)
        f->name = strdup(name);
    if (f && f->name)
        f->handle = cl.clCreateKernel(m->program, name, r);
    if (*r == CL_SUCCESS)
        *r = cl.clGetKernelInfo(f->handle, CL_KERNEL_NUM_ARGS, sizeof n, &n, NULL);
    if (*r == CL_SUCCESS) {
        f->n_arguments = n;
        return f;
    }
    if (f && f->handle)
        cl.clReleaseKernel(f->handle);
    if (f)
        free(f->name);
    free(f);
    return NULL;
}

static int32_t function(ndp_dev *dev, ndp_module *m, const char *name, ndp_function **out,
                        ndp_code_limits *most)
{
    cl_int r;
    size_t threads = 0;
    *out = NULL;
    ndp_function *f = make_function(m, name, &r);
    if (r == CL_INVALID_KERNEL_NAME)
        return ocl_host->error(ocl_host->ctx, NDP_ERR_ARGUMENT, r, "%s has no kernel \"%s\"",
                               m->name, name);
    if (!f)
        return ocl_fail(r, "making the kernel %s of %s", name, m->name);
    pthread_mutex_lock(&dev->lock);
    f->next = m->functions;
    *out = m->functions = f;
    pthread_mutex_unlock(&dev->lock);
    const int32_t status = limits(dev, most);
    if (status == NDP_OK &&
        cl.clGetKernelWorkGroupInfo(f->handle, dev->facts.id, CL_KERNEL_WORK_GROUP_SIZE,
                                    sizeof threads, &threads, NULL) == CL_SUCCESS &&
        threads > 0 && threads < most->block_threads)
        most->block_threads = (uint32_t)threads;
    return status;
}

/* ---- launches ---- */
typedef struct {
    const ndp_dev *dev;
    const ndp_function *f;
    int by_offset; /* arrays are passed as buffer and offset */
    cl_mem made[MAX_ARGUMENTS];
    int n_made;
    cl_uint place;
} passing;

/* The part of the buffer from offset on, or the buffer itself. */
static int32_t part_of(passing *p, uint32_t i, const ndp_launch_argument *a, cl_mem *out)
{
    cl_int r;
    const cl_buffer_region region = {a->offset_bytes, a->mem->nbytes - a->offset_bytes};
    *out = a->mem->buffer;
    if (a->offset_bytes == 0)
        return NDP_OK;
    if (a->offset_bytes * 8 % p->dev->facts.align_bits)
        return ocl_error(NDP_ERR_ARGUMENT,
                         "%s: array %u begins %llu bytes into its buffer, and opencl:%u passes "
                         "addresses at multiples of %u; pass a dense copy, or take __global char * "
                         "and a ulong of offset for every array",
                         p->f->name, i, (unsigned long long)a->offset_bytes, p->dev->index,
                         p->dev->facts.align_bits / 8);
    *out = cl.clCreateSubBuffer(a->mem->buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                &region, &r);
    if (r == CL_SUCCESS)
        p->made[p->n_made++] = *out;
    return ocl_fail(r, "passing array %u of %s", i, p->f->name);
}

static int32_t set(passing *p, size_t n, const void *value)
{
    const cl_int r = cl.clSetKernelArg(p->f->handle, p->place, n, value);
    if (r == CL_INVALID_ARG_SIZE || r == CL_INVALID_ARG_INDEX || r == CL_INVALID_ARG_VALUE)
        return ocl_host->error(ocl_host->ctx, NDP_ERR_ARGUMENT, r,
                               "%s: parameter %u is not of %zu bytes", p->f->name, p->place, n);
    p->place++;
    return ocl_fail(r, "passing parameter %u of %s", p->place - 1, p->f->name);
}

static int32_t pass(passing *p, uint32_t i, const ndp_launch_argument *a)
{
    if (a->value)
        return set(p, (size_t)a->nbytes, a->value);
    cl_mem buffer = a->mem->buffer;
    const cl_ulong offset = a->offset_bytes;
    int32_t status = p->by_offset ? NDP_OK : part_of(p, i, a, &buffer);
    if (status == NDP_OK)
        status = set(p, sizeof buffer, &buffer);
    if (status == NDP_OK && p->by_offset)
        status = set(p, sizeof offset, &offset);
    return status;
}

static int32_t begin(passing *p, const ndp_launch *l)
{
    uint32_t arrays = 0;
    for (uint32_t i = 0; i < l->n_arguments; i++)
        arrays += !l->argument[i].value;
    p->by_offset = arrays && p->f->n_arguments == l->n_arguments + arrays;
    if (l->n_arguments > MAX_ARGUMENTS || (!p->by_offset && p->f->n_arguments != l->n_arguments))
        return ocl_error(NDP_ERR_ARGUMENT, "%s: %u arguments are given, the kernel has %u",
                         p->f->name, l->n_arguments, p->f->n_arguments);
    return NDP_OK;
}

static cl_int enqueue(ndp_stream *at, const ndp_function *f, const ndp_launch *l)
{
    size_t items[3], group[3];
    for (int d = 0; d < 3; d++) {
        group[d] = l->block[d];
        items[d] = (size_t)l->grid[d] * l->block[d];
    }
    return cl.clEnqueueNDRangeKernel(at->queue, f->handle, 3, NULL, items, group, 0, NULL, NULL);
}

static int32_t launch(ndp_dev *dev, ndp_stream *s, ndp_function *f, const ndp_launch *l)
{
    ndp_stream *at = ocl_stream(dev, s);
    passing p = {.dev = dev, .f = f};
    int32_t status = begin(&p, l);
    if (status != NDP_OK)
        return status;
    pthread_mutex_lock(&dev->lock); /* a kernel's arguments are part of it */
    for (uint32_t i = 0; i < l->n_arguments && status == NDP_OK; i++)
        status = pass(&p, i, &l->argument[i]);
    if (status == NDP_OK) {
        const cl_int r = enqueue(at, f, l);
        if (r == CL_SUCCESS)
            ocl_queued(at);
        status = r == CL_INVALID_WORK_GROUP_SIZE || r == CL_INVALID_WORK_ITEM_SIZE
                     ? ocl_host->error(ocl_host->ctx, NDP_ERR_ARGUMENT, r,
                                       "%s: opencl:%u takes no groups of %u x %u x %u work-items",
                                       f->name, dev->index, l->block[0], l->block[1], l->block[2])
                     : ocl_fail(r, "queueing %s on opencl:%u", f->name, dev->index);
    }
    pthread_mutex_unlock(&dev->lock);
    for (int i = 0; i < p.n_made; i++)
        cl.clReleaseMemObject(p.made[i]); /* what is queued keeps them */
    return status;
}

const ndp_code_1 ocl_code_group = {
    .size = sizeof(ndp_code_1),
    .kinds = 1u << NDP_CODE_SOURCE,
    .limits = limits,
    .load = load,
    .unload = unload,
    .function = function,
    .launch = launch,
};
