/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bytes between host and device, and within the device, in stream order. Pageable memory goes
 * through our own pinned chunks: the driver's way may return before it has read the source, and
 * moves less than half of what the bus takes. */
#include <string.h>
#include "host/backend.h"

enum { SHORT = CUDA_SMALL_CHUNK };

/* A transfer between pageable memory and the device, chunk by chunk: chunk i is at
 * i % CUDA_LARGE_CHUNKS. */
typedef struct {
    ndp_dev *dev;
    CUstream stream;
    CUdeviceptr at;
    char *host;
    uint64_t nbytes, n; /* n: chunks in all */
    cuda_chunk *chunk[CUDA_LARGE_CHUNKS];
    uint64_t taken, given; /* chunks */
    cuda_job job;
} transfer;

static size_t chunk_size(const transfer *t, uint64_t i)
{
    uint64_t left = t->nbytes - i * CUDA_LARGE_CHUNK;
    return (size_t)(left < CUDA_LARGE_CHUNK ? left : CUDA_LARGE_CHUNK);
}

static cuda_chunk **chunk_of(transfer *t, uint64_t i)
{
    return &t->chunk[i % CUDA_LARGE_CHUNKS];
}

/* One more chunk if there is one; *got says so. */
static int32_t take(transfer *t, int *got)
{
    *got = 0;
    if (t->taken == t->n || t->taken - t->given == CUDA_LARGE_CHUNKS)
        return NDP_OK;
    cuda_chunk **c = chunk_of(t, t->taken);
    int32_t status = cuda_ring_take(t->dev, CUDA_RING_LARGE, t->taken == t->given, c);
    *got = status == NDP_OK && *c;
    t->taken += (uint64_t)*got;
    return status;
}

static void give(transfer *t)
{
    cuda_ring_give(t->dev, CUDA_RING_LARGE, *chunk_of(t, t->given));
    t->given++;
}

static int32_t finish(transfer *t, int32_t status)
{
    cuda_job_end(&t->job);
    while (t->given < t->taken)
        give(t);
    return status;
}

/* ---- to the device: threads fill chunks ahead of the bus ---- */
static int32_t fill_chunks(transfer *t)
{
    int got;
    int32_t status = take(t, &got);
    while (status == NDP_OK && got) {
        uint64_t i = t->taken - 1;
        cuda_job_add(&t->job, (*chunk_of(t, i))->host, t->host + i * CUDA_LARGE_CHUNK,
                     chunk_size(t, i));
        status = take(t, &got);
    }
    return status;
}

static int32_t send_chunk(transfer *t)
{
    uint64_t i = t->given;
    cuda_chunk *c = *chunk_of(t, i);
    cuda_job_wait(&t->job, i);
    CUresult r =
        cu.cuMemcpyHtoDAsync(t->at + i * CUDA_LARGE_CHUNK, c->host, chunk_size(t, i), t->stream);
    if (r == CUDA_SUCCESS)
        r = cuda_ring_mark(c, t->stream);
    give(t);
    return cuda_fail(r, "copying %llu bytes to cuda:%u", (unsigned long long)t->nbytes,
                     t->dev->index);
}

static int32_t write_chunks(transfer *t)
{
    int32_t status = NDP_OK;
    cuda_job_begin(&t->job);
    while (status == NDP_OK && t->given < t->n) {
        status = fill_chunks(t);
        if (status == NDP_OK)
            status = send_chunk(t);
    }
    return finish(t, status);
}

/* ---- from the device: threads empty chunks behind the bus ---- */
static int32_t request_chunks(transfer *t)
{
    int got;
    int32_t status = take(t, &got);
    while (status == NDP_OK && got) {
        uint64_t i = t->taken - 1;
        cuda_chunk *c = *chunk_of(t, i);
        CUresult r = cu.cuMemcpyDtoHAsync(c->host, t->at + i * CUDA_LARGE_CHUNK, chunk_size(t, i),
                                          t->stream);
        if (r == CUDA_SUCCESS)
            r = cuda_ring_mark(c, t->stream);
        status = cuda_fail(r, "copying %llu bytes from cuda:%u", (unsigned long long)t->nbytes,
                           t->dev->index);
        if (status == NDP_OK)
            status = take(t, &got);
    }
    return status;
}

static int32_t empty_chunk(transfer *t, uint64_t i)
{
    cuda_chunk *c = *chunk_of(t, i);
    CUresult r = cuda_ring_wait(c);
    if (r == CUDA_SUCCESS)
        cuda_job_add(&t->job, t->host + i * CUDA_LARGE_CHUNK, c->host, chunk_size(t, i));
    return cuda_fail(r, "copying %llu bytes from cuda:%u", (unsigned long long)t->nbytes,
                     t->dev->index);
}

static int32_t read_chunks(transfer *t)
{
    uint64_t arrived = 0; /* half the chunks are for the bus, half for the threads */
    int32_t status = NDP_OK;
    cuda_job_begin(&t->job);
    while (status == NDP_OK && t->given < t->n) {
        status = request_chunks(t);
        if (status == NDP_OK && arrived < t->taken)
            status = empty_chunk(t, arrived++);
        if (status == NDP_OK &&
            (arrived - t->given >= CUDA_LARGE_CHUNKS / 2 || arrived == t->taken)) {
            cuda_job_wait(&t->job, t->given);
            give(t);
        }
    }
    return finish(t, status);
}

/* ---- a chunk at most: the calling thread alone ---- */
static int32_t write_short(ndp_dev *dev, CUstream stream, CUdeviceptr at, const void *src,
                           size_t nbytes)
{
    cuda_chunk *c;
    int32_t status = cuda_ring_take(dev, CUDA_RING_SMALL, 1, &c);
    if (status != NDP_OK)
        return status;
    memcpy(c->host, src, nbytes);
    CUresult r = cu.cuMemcpyHtoDAsync(at, c->host, nbytes, stream);
    if (r == CUDA_SUCCESS)
        r = cuda_ring_mark(c, stream);
    cuda_ring_give(dev, CUDA_RING_SMALL, c);
    return cuda_fail(r, "copying %zu bytes to cuda:%u", nbytes, dev->index);
}

static int32_t read_short(ndp_dev *dev, CUstream stream, CUdeviceptr at, void *dst, size_t nbytes)
{
    cuda_chunk *c;
    int32_t status = cuda_ring_take(dev, CUDA_RING_SMALL, 1, &c);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyDtoHAsync(c->host, at, nbytes, stream);
    if (r == CUDA_SUCCESS)
        r = cuda_ring_mark(c, stream);
    if (r == CUDA_SUCCESS)
        r = cuda_ring_wait(c);
    if (r == CUDA_SUCCESS)
        memcpy(dst, c->host, nbytes);
    cuda_ring_give(dev, CUDA_RING_SMALL, c);
    return cuda_fail(r, "copying %zu bytes from cuda:%u", nbytes, dev->index);
}

/* ---- memory that is page-locked already: the bus reads or writes it itself ---- */
static int is_pinned(const void *p, uint64_t nbytes)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)p, start = 0;
    unsigned type = 0;
    size_t range = 0;
    int yes =
        cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) == CUDA_SUCCESS &&
        type == CU_MEMORYTYPE_HOST &&
        cu.cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at) ==
            CUDA_SUCCESS &&
        cu.cuPointerGetAttribute(&range, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at) == CUDA_SUCCESS &&
        start <= at && nbytes <= range && at - start <= range - nbytes;
    cuda_log_forget(); /* "no such pointer" is no failure */
    return yes;
}

/* Waits for the bus alone, not for what others queue behind it; a chunk lends its event. */
static int32_t move_direct(ndp_dev *dev, CUstream stream, CUdeviceptr at, void *host,
                           uint64_t nbytes, int to_host)
{
    cuda_chunk *c;
    int32_t status = cuda_ring_take(dev, CUDA_RING_SMALL, 1, &c);
    if (status != NDP_OK)
        return status;
    CUresult r = to_host ? cu.cuMemcpyDtoHAsync(host, at, nbytes, stream)
                         : cu.cuMemcpyHtoDAsync(at, host, nbytes, stream);
    if (r == CUDA_SUCCESS)
        r = cuda_ring_mark(c, stream);
    if (r == CUDA_SUCCESS)
        r = cuda_ring_wait(c);
    cuda_ring_give(dev, CUDA_RING_SMALL, c);
    return cuda_fail(r, "copying %llu bytes %s cuda:%u", (unsigned long long)nbytes,
                     to_host ? "from" : "to", dev->index);
}

/* ---- the entries ---- */
static int32_t refuse_capture(const ndp_dev *dev, const ndp_stream *s)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult r = s ? cu.cuStreamIsCapturing(s->handle, &state) : CUDA_SUCCESS;
    if (r != CUDA_SUCCESS)
        return cuda_fail(r, "looking at a stream of cuda:%u", dev->index);
    return state == CU_STREAM_CAPTURE_STATUS_NONE
               ? NDP_OK
               : cuda_error(NDP_ERR_CAPTURE,
                            "a copy of pageable memory cannot be captured; copy from or to pinned "
                            "memory, or before the capture");
}

static int32_t to_device(ndp_dev *dev, ndp_stream *s, CUdeviceptr at, const void *src, uint64_t n)
{
    int32_t status = refuse_capture(dev, s);
    if (status != NDP_OK)
        return status;
    CUstream stream = cuda_stream(dev, s);
    if (n <= SHORT)
        return write_short(dev, stream, at, src, (size_t)n);
    if (is_pinned(src, n))
        return move_direct(dev, stream, at, (void *)(uintptr_t)src, n, 0);
    transfer t = {.dev = dev, .stream = stream, .at = at, .host = (char *)(uintptr_t)src};
    t.nbytes = n;
    t.n = (n + CUDA_LARGE_CHUNK - 1) / CUDA_LARGE_CHUNK;
    return write_chunks(&t);
}

static int32_t to_host(ndp_dev *dev, ndp_stream *s, CUdeviceptr at, void *dst, uint64_t n)
{
    int32_t status = refuse_capture(dev, s);
    if (status != NDP_OK)
        return status;
    CUstream stream = cuda_stream(dev, s);
    if (n <= SHORT)
        return read_short(dev, stream, at, dst, (size_t)n);
    if (is_pinned(dst, n))
        return move_direct(dev, stream, at, dst, n, 1);
    transfer t = {.dev = dev, .stream = stream, .at = at, .host = dst, .nbytes = n};
    t.n = (n + CUDA_LARGE_CHUNK - 1) / CUDA_LARGE_CHUNK;
    return read_chunks(&t);
}

int32_t cuda_write(ndp_dev *dev, ndp_stream *s, ndp_mem *m, uint64_t offset, const void *src,
                   uint64_t nbytes)
{
    cuda_scope scope;
    if (nbytes == 0)
        return NDP_OK;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    status = to_device(dev, s, m->base + offset, src, nbytes);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return status;
}

int32_t cuda_read(ndp_dev *dev, ndp_stream *s, ndp_mem *m, uint64_t offset, void *dst,
                  uint64_t nbytes)
{
    cuda_scope scope;
    int32_t status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUstreamCaptureMode mode = cuda_capture_relax();
    if (nbytes > 0)
        status = to_host(dev, s, m->base + offset, dst, nbytes);
    cuda_capture_restore(mode);
    cuda_leave(&scope);
    return status == NDP_OK ? cuda_stream_look(cuda_stream_handle(dev, s)) : status;
}

int32_t cuda_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                  uint64_t src_offset, uint64_t nbytes)
{
    cuda_scope scope;
    if (nbytes == 0)
        return NDP_OK;
    int32_t status = cuda_patch_refuse("a copy");
    if (status == NDP_OK)
        status = cuda_enter(dev, &scope);
    if (status != NDP_OK)
        return status;
    CUresult r = cu.cuMemcpyAsync(dst->base + dst_offset, src->base + src_offset, nbytes,
                                  cuda_stream(dev, s));
    cuda_leave(&scope);
    return cuda_fail(r, "copying %llu bytes on cuda:%u", (unsigned long long)nbytes, dev->index);
}
