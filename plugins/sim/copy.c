/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Bytes between host and blocks, and between blocks, of one device or of two. In a copy's body,
 * mem[0] is the destination and mem[1] the source. */
#include <string.h>
#include "checker.h"
#include "graph.h"
#include "simulator.h"

static int32_t no_room(void)
{
    return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a copy");
}

static int32_t check_queue(ndp_dev *dev, const sim_queue *q, const char *what)
{
    return q && q->dev == dev
               ? NDP_OK
               : sim_fail(NDP_ERR_DEVICE, 400, "%s: the stream is not of sim:%d", what, dev->index);
}

static int32_t queue_write(sim_queue *q, ndp_mem *mem, uint64_t offset, const void *src, uint64_t n)
{
    void *bytes;
    sim_body *b = sim_body_new(SIM_OP_WRITE, "write", q->dev, n, &bytes);
    if (!b)
        return no_room();
    memcpy(bytes, src, n);
    b->src = bytes;
    b->dst = mem->alias + offset;
    b->dst_offset = offset;
    b->nbytes = n;
    sim_body_use(b, 0, mem);
    return sim_push(q, b, NULL);
}

int32_t sim_write(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src,
                  uint64_t n)
{
    sim_call c = {
        .entry = SIM_write, .dev = dev, .stream = s, .mem = mem, .offset = offset, .nbytes = n};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK)
        status = check_queue(dev, q, "write");
    if (status == NDP_OK && q->capture)
        status = sim_capture_forbids("write from pageable memory", q);
    if (status == NDP_OK)
        status = sim_check_range(dev, mem, offset, n, "write");
    if (status == NDP_OK && n)
        status = queue_write(q, mem, offset, src, n);
    return sim_leave(&c, status);
}

static int32_t queue_read(sim_queue *q, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n)
{
    uint64_t position = 0;
    sim_body *b = sim_body_new(SIM_OP_READ, "read", q->dev, 0, NULL);
    if (!b)
        return no_room();
    b->src = mem->alias + offset;
    b->src_offset = offset;
    b->dst = dst;
    b->nbytes = n;
    sim_body_use(b, 1, mem);
    int32_t status = sim_push(q, b, &position);
    if (status == NDP_OK) {
        sim_host_saw(&q->clock);
        q->refs++;
        sim_need(q, position);
        sim_host_waited(q->time);
        status = sim_take_error(q);
        sim_queue_unref(q);
    }
    return status;
}

int32_t sim_read(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n)
{
    sim_call c = {
        .entry = SIM_read, .dev = dev, .stream = s, .mem = mem, .offset = offset, .nbytes = n};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK)
        status = check_queue(dev, q, "read");
    if (status == NDP_OK)
        status = sim_capture_forbids("read", q);
    if (status == NDP_OK)
        status = sim_check_range(dev, mem, offset, n, "read");
    if (status == NDP_OK)
        status = queue_read(q, mem, offset, dst, n);
    return sim_leave(&c, status);
}

static int32_t queue_copy(sim_queue *q, const char *name, ndp_mem *dst, uint64_t dst_offset,
                          ndp_mem *src, uint64_t src_offset, uint64_t n)
{
    sim_body *b = sim_body_new(SIM_OP_COPY, name, q->dev, 0, NULL);
    if (!b)
        return no_room();
    b->dst = dst->alias + dst_offset;
    b->src = src->alias + src_offset;
    b->dst_offset = dst_offset;
    b->src_offset = src_offset;
    b->nbytes = n;
    sim_body_use(b, 0, dst);
    sim_body_use(b, 1, src);
    return sim_push(q, b, NULL);
}

int32_t sim_copy(ndp_dev *dev, ndp_stream *s, ndp_mem *dst, uint64_t dst_offset, ndp_mem *src,
                 uint64_t src_offset, uint64_t n)
{
    sim_call c = {
        .entry = SIM_copy, .dev = dev, .stream = s, .mem = dst, .offset = dst_offset, .nbytes = n};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(dev, s);
    if (status == NDP_OK)
        status = check_queue(dev, q, "copy");
    if (status == NDP_OK)
        status = sim_check_range(dev, dst, dst_offset, n, "copy");
    if (status == NDP_OK)
        status = sim_check_range(dev, src, src_offset, n, "copy");
    if (status == NDP_OK && n)
        status = queue_copy(q, "copy", dst, dst_offset, src, src_offset, n);
    return sim_leave(&c, status);
}

static int32_t peer_copy(ndp_dev *from, ndp_stream *s, ndp_mem *src, uint64_t src_offset,
                         ndp_dev *to, ndp_mem *dst, uint64_t dst_offset, uint64_t n)
{
    sim_call c = {.entry = SIM_peer_copy,
                  .dev = from,
                  .stream = s,
                  .mem = src,
                  .offset = src_offset,
                  .nbytes = n};
    int32_t status = sim_enter(&c);
    sim_queue *q = sim_queue_of(from, s);
    if (status == NDP_OK && to->lost)
        status = sim_fail_lost(to);
    if (status == NDP_OK)
        status = check_queue(from, q, "peer copy");
    if (status == NDP_OK)
        status = sim_check_range(from, src, src_offset, n, "peer copy");
    if (status == NDP_OK)
        status = sim_check_range(to, dst, dst_offset, n, "peer copy");
    if (status == NDP_OK && n)
        status = queue_copy(q, "peer copy", dst, dst_offset, src, src_offset, n);
    return sim_leave(&c, status);
}

/* NDOCK_SIM_PEERS: "all", "none", or rows of 0 and 1, one per device, separated by commas. */
int32_t sim_peer_allowed(int32_t from, int32_t to)
{
    const char *row = sim_set.peers;
    if (from == to || strcmp(row, "none") == 0)
        return from == to;
    if (strcmp(row, "all") == 0)
        return 1;
    for (int32_t i = 0; i < from && row; i++) {
        row = strchr(row, ',');
        row = row ? row + 1 : NULL;
    }
    return row && strcspn(row, ",") > (size_t)to && row[to] == '1';
}

static int32_t peer_can_access(ndp_dev *dev, ndp_dev *peer, int32_t *yes)
{
    *yes = sim_peer_allowed(dev->index, peer->index);
    return NDP_OK;
}

static int32_t peer_enable(ndp_dev *dev, ndp_dev *peer)
{
    sim_call c = {.entry = SIM_peer_enable, .dev = dev, .nbytes = (uint64_t)peer->index};
    int32_t status = sim_enter(&c);
    if (status == NDP_OK && !sim_peer_allowed(dev->index, peer->index))
        status = sim_fail(NDP_ERR_DEVICE, 217,
                          "sim:%d cannot reach the memory of sim:%d (NDOCK_SIM_PEERS is %s)",
                          dev->index, peer->index, sim_set.peers);
    if (status == NDP_OK)
        dev->enabled_peers[peer->index] = 1;
    return sim_leave(&c, status);
}

const ndp_peer_1 sim_peer_group = {
    .size = sizeof(ndp_peer_1),
    .copy = peer_copy,
    .can_access = peer_can_access,
    .enable = peer_enable,
};
