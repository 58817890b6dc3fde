/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels as the core sees them: made once per op, dtypes and choice, kept with their device. */
#include <stdlib.h>
#include <string.h>
#include "host/opencl.h"

static void key_dtypes(const ndp_call *like, int32_t out[OCL_KEY_DTYPES])
{
    uint32_t n = 0;
    memset(out, 0, OCL_KEY_DTYPES * sizeof *out);
    for (uint32_t i = 0; i < like->n_in && n < OCL_KEY_DTYPES; i++)
        out[n++] = like->in[i].dtype;
    for (uint32_t i = 0; i < like->n_out && n < OCL_KEY_DTYPES; i++)
        out[n++] = like->out[i].dtype;
}

static ocl_kernel *find_made(const ndp_dev *dev, int32_t op, const int32_t *dtype, int32_t choice)
{
    for (ocl_kernel *k = dev->kernels; k; k = k->next)
        if (k->op == op && k->choice == choice && memcmp(k->dtype, dtype, sizeof k->dtype) == 0)
            return k;
    return NULL;
}

static int32_t make_functions(ocl_kernel *k, const ocl_recipe *recipe, cl_program program)
{
    cl_int r = CL_SUCCESS;
    for (int i = 0; i < OCL_FUNCTIONS && recipe->function[i] && r == CL_SUCCESS; i++)
        k->function[i] = cl.clCreateKernel(program, recipe->function[i], &r);
    return ocl_fail(r, "making a kernel of opencl:%u", k->dev->index);
}

static int32_t make_kernel(ndp_dev *dev, const ndp_call *like, const ocl_recipe *recipe,
                           ocl_kernel **out, char *why, size_t n)
{
    ocl_text text;
    cl_program program;
    ocl_text_begin(&text, dev);
    recipe->write_text(&text, like);
    int32_t status = ocl_program_get(dev, &text, &program, why, n);
    if (status != NDP_OK)
        return status;
    ocl_kernel *k = calloc(1, sizeof *k);
    if (k) {
        k->base = (ndp_kernel){.size = sizeof k->base,
                               .needs = recipe->needs,
                               .max_ndim = NDP_MAX_NDIM,
                               .scratch = recipe->scratch,
                               .run = recipe->run};
        k->dev = dev;
        k->op = like->op;
        k->choice = recipe->choice;
        key_dtypes(like, k->dtype);
        pthread_mutex_init(&k->lock, NULL);
        status = make_functions(k, recipe, program);
    } else {
        status = ocl_error(NDP_ERR_MEMORY, "no host memory for the record of a kernel");
    }
    cl.clReleaseProgram(program); /* kernels keep it */
    if (status != NDP_OK) {
        free(k);
        return status;
    }
    k->next = dev->kernels;
    *out = dev->kernels = k;
    return NDP_OK;
}

int32_t ocl_kernel_get(ndp_dev *dev, const ndp_call *like, const ocl_recipe *recipe,
                       const ndp_kernel **out, char *why, size_t n)
{
    int32_t dtype[OCL_KEY_DTYPES], status = NDP_OK;
    key_dtypes(like, dtype);
    pthread_mutex_lock(&dev->lock);
    ocl_kernel *k = find_made(dev, like->op, dtype, recipe->choice);
    if (!k)
        status = make_kernel(dev, like, recipe, &k, why, n);
    pthread_mutex_unlock(&dev->lock);
    *out = k ? &k->base : NULL;
    return status;
}

int32_t ocl_launch(const ocl_kernel *given, int function, ndp_stream *s, int ndim,
                   const size_t *groups, const size_t *group, const ocl_arg *args, int n_args)
{
    ocl_kernel *k = (ocl_kernel *)(uintptr_t)given; /* arguments are set in the function */
    ndp_stream *at = ocl_stream(k->dev, s);
    size_t items[3];
    cl_int r = CL_SUCCESS;
    for (int d = 0; d < ndim; d++)
        items[d] = groups[d] * group[d];
    pthread_mutex_lock(&k->lock);
    for (int i = 0; i < n_args && r == CL_SUCCESS; i++)
        r = cl.clSetKernelArg(k->function[function], (cl_uint)i, args[i].size, args[i].value);
    if (r == CL_SUCCESS)
        r = cl.clEnqueueNDRangeKernel(at->queue, k->function[function], (cl_uint)ndim, NULL, items,
                                      group, 0, NULL, NULL);
    pthread_mutex_unlock(&k->lock);
    if (r == CL_SUCCESS)
        ocl_queued(at);
    return ocl_fail(r, "queueing %s on opencl:%u", ocl_op_name(k->op), k->dev->index);
}

int32_t ocl_launch_flat(const ocl_kernel *k, int function, ndp_stream *s, uint64_t n,
                        const ocl_arg *args, int n_args)
{
    const size_t group = OCL_GROUP, groups = (n + OCL_GROUP - 1) / OCL_GROUP;
    return n == 0 ? NDP_OK : ocl_launch(k, function, s, 1, &groups, &group, args, n_args);
}
