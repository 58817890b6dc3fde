/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bytes between host and device, and within the device, in stream order. */
#include "backend.h"

int32_t cuda_write(ndp_dev *dev, ndp_stream *s, ndp_mem *m, uint64_t offset, const void *src,
                   uint64_t nbytes)
{
    cuda_scope scope;
    CUstream stream = cuda_stream(dev, s);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    /* From pageable memory the driver may return before it has read all of src. */
    CUresult r = cu.cuMemcpyHtoDAsync(m->base + offset, src, nbytes, stream);
    if (r == CUDA_SUCCESS)
        r = cu.cuStreamSynchronize(stream);
    cuda_leave(&scope);
    return cuda_fail(r, "copying %llu bytes to cuda:%u", (unsigned long long)nbytes, dev->index);
}

int32_t cuda_read(ndp_dev *dev, ndp_stream *s, ndp_mem *m, uint64_t offset, void *dst,
                  uint64_t nbytes)
{
    cuda_scope scope;
    CUstream stream = cuda_stream(dev, s);
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyDtoHAsync(dst, m->base + offset, nbytes, stream);
    if (r == CUDA_SUCCESS)
        r = cu.cuStreamSynchronize(stream);
    cuda_leave(&scope);
    return cuda_fail(r, "copying %llu bytes from cuda:%u", (unsigned long long)nbytes, dev->index);
}

int32_t cuda_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                  uint64_t src_offset, uint64_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyAsync(dst->base + dst_offset, src->base + src_offset, nbytes,
                                  cuda_stream(dev, s));
    cuda_leave(&scope);
    return cuda_fail(r, "copying %llu bytes on cuda:%u", (unsigned long long)nbytes, dev->index);
}
