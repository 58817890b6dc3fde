/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A device for tests of backends: memory from malloc, streams whose work ends when the test says
 * so, and a log of what was asked of it. Programs link with --wrap=nd__device_hooks. */
#ifndef NDOCK_TEST_MOCK_H
#define NDOCK_TEST_MOCK_H
#include "core/memory/conf/settings.h"
#include "core/memory/report/report.h"
#include "tests/tap.h"

struct ndp_mem {
    char *p;
    uint64_t n;
    bool wrapped;
};
typedef struct {
    nd_stream s;
    uint64_t queued;
    atomic_ullong done;
    uint64_t capture;
} mock_stream;
struct ndp_event {
    mock_stream *s;
    uint64_t seq;
};
typedef struct {
    nd_device device;
    bool hide; /* the host may not touch the memory but by read and write */
    atomic_ullong in_use;
    uint64_t limit;
    atomic_int allocs, frees, waits, events, pins;
} mock;
static mock mock_devices[2];

__attribute__((unused)) static void must(nd_status status)
{
    if (status != ND_OK)
        bail(nd_last_error()->message);
}

static mock *mock_of(void *ctx)
{
    return ctx;
}

static nd_status mock_segment_alloc(void *ctx, nd_stream *s, uint64_t n, ndp_mem **mem, char **host)
{
    mock *m = mock_of(ctx);
    (void)s;
    *mem = NULL;
    *host = NULL;
    m->allocs++;
    if (m->limit && m->in_use + n > m->limit)
        return nd__fail(ND_ERR_MEMORY, "alloc", -1, "the mock has no room");
    *mem = malloc(sizeof **mem);
    **mem = (ndp_mem){.p = aligned_alloc(4096, (n + 4095) / 4096 * 4096), .n = n};
    memset((*mem)->p, 0x11, n);
    m->in_use += n;
    *host = m->hide ? NULL : (*mem)->p;
    return ND_OK;
}

static void mock_segment_free(void *ctx, nd_stream *s, ndp_mem *mem, uint64_t n)
{
    mock *m = mock_of(ctx);
    (void)s;
    m->frees++;
    m->in_use -= n;
    free(mem->p);
    free(mem);
}

static nd_status mock_record(void *ctx, nd_stream *stream, ndp_event **out)
{
    mock_stream *s = (mock_stream *)stream;
    *out = NULL;
    if (s && s->done < s->queued) {
        *out = malloc(sizeof **out);
        **out = (ndp_event){s, s->queued};
        mock_of(ctx)->events++;
    }
    return ND_OK;
}

static nd_status mock_query(void *ctx, ndp_event *e, int32_t *done)
{
    (void)ctx;
    *done = e->s->done >= e->seq;
    return ND_OK;
}

static nd_status mock_synchronize(void *ctx, ndp_event *e)
{
    mock_of(ctx)->waits++;
    if (e->s->done < e->seq)
        e->s->done = e->seq;
    return ND_OK;
}

static nd_status mock_wait(void *ctx, nd_stream *s, ndp_event *e)
{
    (void)ctx;
    (void)s;
    (void)e;
    return ND_OK;
}

static void mock_give_back(void *ctx, ndp_event *e)
{
    mock_of(ctx)->events--;
    free(e);
}

static uint64_t mock_capture_id(void *ctx, nd_stream *s)
{
    (void)ctx;
    return s ? ((mock_stream *)s)->capture : 0;
}

static nd_status mock_usage(void *ctx, uint64_t *free_bytes, uint64_t *total)
{
    mock *m = mock_of(ctx);
    *total = m->limit;
    *free_bytes = m->limit ? m->limit - m->in_use : 0;
    return ND_OK;
}

static nd_hooks mock_hooks(mock *m)
{
    return (nd_hooks){.ctx = m,
                      .segment_ctx = m,
                      .segment_alloc = mock_segment_alloc,
                      .segment_free = mock_segment_free,
                      .record = mock_record,
                      .query = mock_query,
                      .wait = mock_wait,
                      .synchronize = mock_synchronize,
                      .give_back = mock_give_back,
                      .capture_id = mock_capture_id,
                      .usage = mock_usage};
}

/* What the library asks for in place of the plug-in's own. */
void __real_nd__device_hooks(nd_device *device, nd_hooks *out);
void __wrap_nd__device_hooks(nd_device *device, nd_hooks *out);
void __wrap_nd__device_hooks(nd_device *device, nd_hooks *out)
{
    *out = mock_hooks((mock *)(void *)device);
}
nd_status __wrap_nd__mem_write(nd_device *, ndp_mem *, uint64_t, const void *, uint64_t);
nd_status __wrap_nd__mem_write(nd_device *d, ndp_mem *mem, uint64_t at, const void *p, uint64_t n)
{
    (void)d;
    memcpy(mem->p + at, p, n);
    return ND_OK;
}
nd_status __wrap_nd__mem_read(nd_device *, ndp_mem *, uint64_t, void *, uint64_t);
nd_status __wrap_nd__mem_read(nd_device *d, ndp_mem *mem, uint64_t at, void *p, uint64_t n)
{
    (void)d;
    memcpy(p, mem->p + at, n);
    return ND_OK;
}

static int32_t mock_address(ndp_dev *dev, ndp_mem *mem, uint64_t *address)
{
    (void)dev;
    *address = (uint64_t)(uintptr_t)mem->p;
    return NDP_OK;
}

static int32_t mock_map_wrap(ndp_dev *dev, uint64_t address, uint64_t n, ndp_mem **out)
{
    (void)dev;
    *out = malloc(sizeof **out);
    **out = (ndp_mem){.p = (char *)(uintptr_t)address, .n = n, .wrapped = true};
    return NDP_OK;
}

static int32_t mock_pin(ndp_dev *dev, uint64_t n, ndp_mem **out, void **host)
{
    char *p;
    nd_status status = mock_segment_alloc(dev, NULL, n, out, &p);
    mock_of(dev)->pins += status == ND_OK;
    *host = status == ND_OK ? (*out)->p : NULL;
    return status;
}

static void mock_free(ndp_dev *dev, ndp_mem *mem)
{
    mock *m = mock_of(dev);
    if (!mem->wrapped) {
        mock_segment_free(m, NULL, mem, mem->n);
        return;
    }
    free(mem);
}

__attribute__((unused)) static mock *mock_device(int i)
{
    mock *m = &mock_devices[i];
    memset(m, 0, offsetof(mock, device) + offsetof(nd_device, backend));
    m->device.dev = (ndp_dev *)(void *)m;
    m->device.ordinal = i;
    snprintf(m->device.name, sizeof m->device.name, "mock:%d", i);
    m->device.host_visible = true;
    m->device.map.size = sizeof m->device.map;
    m->device.map.address = mock_address;
    m->device.map.wrap = mock_map_wrap;
    m->device.map.pin = mock_pin;
    m->device.p.free = mock_free;
    m->hide = false;
    m->limit = m->in_use = 0;
    m->allocs = m->frees = m->waits = m->events = m->pins = 0;
    return m;
}

__attribute__((unused)) static mock_stream *mock_stream_new(mock *m, uint64_t id)
{
    mock_stream *s = calloc(1, sizeof *s);
    atomic_init(&s->s.refs, 1);
    atomic_init(&s->s.holds, 1);
    s->s.id = id;
    s->s.device = &m->device;
    s->s.handle = (ndp_stream *)(uintptr_t)(0x1000 + id);
    return s;
}

__attribute__((unused)) static void mock_work(mock_stream *s)
{
    s->queued++;
}
__attribute__((unused)) static void mock_finish(mock_stream *s)
{
    s->done = s->queued;
}
#endif
