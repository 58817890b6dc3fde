/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.pool/1": blocks allocated and freed in stream order. What is freed on a stream serves
 * that stream again at once, and the device once the stream has got there. Freeing is an operation
 * that writes the whole block: the checker sees whoever uses it later or unordered. */
#include <string.h>
#include "checker.h"
#include "graph.h"
#include "simulator.h"

static ndp_mem *kept_for(ndp_dev *dev, const sim_queue *q, uint64_t nbytes)
{
    for (ndp_mem *m = dev->blocks; m; m = m->next)
        if (m->freed_on == q && m->nbytes == nbytes)
            return m;
    return NULL;
}

static int32_t take(ndp_dev *dev, sim_queue *q, uint64_t nbytes, ndp_mem **out)
{
    ndp_mem *kept = kept_for(dev, q, nbytes);
    if (!kept) {
        int32_t status = sim_mem_alloc(dev, nbytes, out);
        if (status == NDP_OK)
            (*out)->pooled = 1;
        return status;
    }
    kept->freed_on = NULL;
    sim_queue_unref(q);
    *out = kept;
    return NDP_OK;
}

static int32_t pool_alloc(ndp_dev *dev, ndp_stream *s, uint64_t nbytes, ndp_mem **out)
{
    sim_call c = {.entry = SIM_pool_alloc, .dev = dev, .stream = s, .nbytes = nbytes};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = sim_capture_forbids("pool_alloc", sim_queue_of(dev, s));
    if (status == NDP_OK)
        status = take(dev, sim_queue_of(dev, s), nbytes ? nbytes : 1, out);
    c.mem = *out;
    return sim_leave(&c, status);
}

static int32_t queue_free(sim_queue *q, ndp_mem *mem)
{
    sim_body *b = sim_body_new(SIM_OP_FREE, "pool free", q->dev, 0, NULL);
    if (!b)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a free");
    b->dst = mem->alias;
    b->nbytes = mem->nbytes;
    sim_body_use(b, 0, mem);
    return sim_push(q, b, &mem->freed_at);
}

static void pool_free(ndp_dev *dev, ndp_stream *s, ndp_mem *mem)
{
    sim_call c = {.entry = SIM_pool_free,
                  .dev = dev,
                  .stream = s,
                  .mem = mem,
                  .nbytes = mem ? mem->nbytes : 0};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (mem && status == NDP_OK)
        status = queue_free(q, mem);
    if (mem && status == NDP_OK) {
        mem->freed_on = q;
        q->refs++;
    }
    (void)sim_leave(&c, status);
}

static void count(const ndp_dev *dev, uint64_t *used, uint64_t *reserved)
{
    *used = *reserved = 0;
    for (const ndp_mem *m = dev->blocks; m; m = m->next) {
        if (m->pooled && !m->dead)
            *reserved += m->nbytes;
        if (m->pooled && !m->dead && !m->freed_on)
            *used += m->nbytes;
    }
}

static void trim(ndp_dev *dev, uint64_t keep_bytes)
{
    uint64_t used, reserved;
    count(dev, &used, &reserved);
    for (ndp_mem *m = dev->blocks, *next; m && reserved > keep_bytes; m = next) {
        next = m->next;
        if (!m->freed_on || m->freed_on->done < m->freed_at || m->uses)
            continue;
        reserved -= m->nbytes;
        sim_queue_unref(m->freed_on);
        m->freed_on = NULL;
        sim_accesses_free(m); /* the free came after them all, and is over */
        sim_mem_free(m);
    }
}

static int32_t pool_trim(ndp_dev *dev, uint64_t keep_bytes)
{
    sim_call c = {.entry = SIM_pool_trim, .dev = dev, .nbytes = keep_bytes};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK)
        trim(dev, keep_bytes);
    return sim_leave(&c, status);
}

static int32_t pool_usage(ndp_dev *dev, uint64_t *used_bytes, uint64_t *reserved_bytes)
{
    sim_call c = {.entry = SIM_pool_usage, .dev = dev};
    int32_t status = sim_enter(&c);
    count(dev, used_bytes, reserved_bytes);
    return sim_leave(&c, status);
}

const ndp_pool_1 sim_pool_group = {.size = sizeof(ndp_pool_1),
                                   .alloc = pool_alloc,
                                   .free = pool_free,
                                   .trim = pool_trim,
                                   .usage = pool_usage};
