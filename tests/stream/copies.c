/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies that do not wait: pinned memory, and the same bits as copies that do. */
#include <unistd.h>
#include "tests/stream/pinned.h"

static uint64_t pinned_in_use(void)
{
    nd_memory_stats m = {.size = sizeof m};
    DO(nd_memory_stats_get(sim[0], &m));
    return (uint64_t)m.pinned_blocks.current;
}

/* ---- P1 ---- */
static void test_upload(void)
{
    enum { N = 1000 };
    void *first, *second;
    nd_array *h = pinned(ND_F32, N), *d = vector(sim[0], N);
    ok(nd_is_pinned(h), "P1: a pinned array");
    ok(nd_device_of(h) == cpu, "P1: is the cpu's");
    DO(nd_fill(h, nd_float(7)));
    DO(nd_data(h, &first));
    DO(nd_synchronize(sim[0]));
    check_on();
    control->log_clear(dev[0]);
    DO(nd_copy_to(h, d, &no_wait));
    is_int(host_waits(), 0, "P1: pinned to device returns without waiting");
    ok(pending(0, NULL) > 0, "P1: the copy is only queued");
    nd_release(h);
    h = pinned(ND_F32, N);
    DO(nd_data(h, &second));
    ok(first != second,
       "P1: the block, dropped at once, is not used again before the copy is done");
    is_int(pinned_in_use(), 1, "P1: it counts as free all the same");
    DO(nd_fill(h, nd_float(9)));
    step(0, NULL, 1000);
    nd_array *again = pinned(ND_F32, N);
    DO(nd_data(again, &second));
    ok(first == second, "P1: it is when the event has passed");
    ok(value_of(d) == 7, "P1: what arrived is what was sent");
    is_int(races(), 0, "P1: no race");
    nd_release(again);
    nd_release(h);
    nd_release(d);
    settle();
}

/* The second user's copy may come before the first one's end, or not: the order is an event's. */
static void test_reuse(void)
{
    enum { N = 500 };
    nd_stream *s = new_stream(0);
    nd_array *d = vector(sim[0], N), *e = vector(sim[0], N);
    DO(nd_stream_wait_stream(s, default_stream(0)));
    check_on();
    for (int i = 0; i < 20; i++) {
        nd_copy_opts o = {.size = sizeof o, .non_blocking = 1, .stream = i % 2 ? s : NULL};
        nd_array *h = pinned(ND_F32, N);
        DO(nd_fill(h, nd_float(i)));
        DO(nd_copy_to(h, i % 2 ? d : e, &o));
        nd_release(h);
        step(0, i % 3 ? s : default_stream(0), (uint64_t)(i % 5));
    }
    DO(nd_synchronize(sim[0]));
    ok(value_of(d) == 19 && value_of(e) == 18, "P1: blocks that go round carry the right values");
    is_int(races(), 0, "P1: without a race");
    show_races();
    nd_release(d);
    nd_release(e);
    nd_stream_release(s);
    settle();
}

/* ---- P4 ---- */
static void test_pageable(void)
{
    int64_t n = 6, half = 3;
    nd_array *d = filled(sim[0], n, 3), *h = NULL, *p = pinned(ND_F32, n), *gaps = NULL;
    nd_index every_other = nd_range(0, n, 2);
    DO(nd_zeros(cpu, ND_F32, 1, &n, &h));
    DO(nd_sync_watch_set(ND_SYNC_COUNT));
    nd_sync_watch_reset();
    DO(nd_copy_to(d, h, &no_wait));
    is_int(waits_for(ND_WAIT_PAGEABLE), 1, "P4: device to pageable waits, and the watch says why");
    is_int(waits_for(ND_WAIT_COPY) + waits_for(ND_WAIT_ITEM), 0, "P4: and for nothing else");
    is_int(pending(0, NULL), 0, "P4: it is done on return");
    ok(value_of(h) == 3, "P4: with the right values");
    nd_sync_watch_reset();
    DO(nd_copy_to(h, d, &no_wait));
    is_int(waits_for(ND_WAIT_PAGEABLE), 1, "P4: pageable to device counts as one, too");
    is_int(waits_for(ND_WAIT_COPY), 0, "P4: and as nothing else");
    nd_sync_watch_reset();
    DO(nd_copy_to(d, h, NULL));
    is_int(waits_for(ND_WAIT_PAGEABLE), 0, "P4: a blocking copy is no pageable one");
    is_int(waits_for(ND_WAIT_COPY), 1, "P4: but a copy");
    DO(nd_slice(p, &every_other, 1, &gaps));
    nd_release(d);
    d = filled(sim[0], half, 5);
    nd_sync_watch_reset();
    DO(nd_copy_to(d, gaps, &no_wait));
    is_int(waits_for(ND_WAIT_PAGEABLE), 1, "P4: a pinned view with gaps waits, and says so");
    ok(value_of(gaps) == 5, "P4: with the right values");
    DO(nd_sync_watch_push(ND_SYNC_ERROR));
    is_int(nd_copy_to(h, d, &no_wait), ND_ERR_SHAPE, "P4: other errors come first");
    nd_release(d);
    d = vector(sim[0], n);
    is_int(nd_copy_to(h, d, &no_wait), ND_ERR_STATE,
           "P4: where waiting is forbidden it is refused");
    DO(nd_sync_watch_pop());
    DO(nd_sync_watch_set(ND_SYNC_OFF));
    nd_release(gaps);
    nd_release(p);
    nd_release(h);
    nd_release(d);
    settle();
}

/* ---- P5 ---- */
static uint64_t seed = 12345;
static int64_t draw(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)((seed >> 11) % (uint64_t)below);
}

enum { ROWS = 4, COLUMNS = 6, ALL = ROWS * COLUMNS };

/* (4, 6), numbers that every dtype has. */
static nd_array *base_on(nd_device *device, int is_pinned, nd_dtype dtype, double factor)
{
    const int64_t shape[] = {ROWS, COLUMNS};
    nd_array *numbers = NULL, *a = NULL, *flat = NULL;
    if (is_pinned)
        DO(nd_empty_pinned(sim[0], dtype, 2, shape, &a));
    else
        DO(nd_empty(device, dtype, 2, shape, &a));
    DO(nd_linspace(cpu, ND_F64, nd_float(0), nd_float(ALL * factor), ALL, 0, &flat));
    DO(nd_reshape(flat, 2, shape, &numbers));
    nd_array *converted = NULL;
    DO(nd_astype(numbers, dtype, &converted));
    DO(nd_assign(converted, a));
    nd_release(converted);
    nd_release(numbers);
    nd_release(flat);
    return a;
}

typedef struct {
    nd_index row, column;
    int transpose;
} look_at;

/* Of rows x columns elements: a part, backwards or with gaps. */
static look_at random_view(int64_t rows, int64_t columns, int dense)
{
    look_at v = {.row = nd_range(0, rows, 1), .column = nd_range(0, columns, 1)};
    int64_t r = draw(ROWS - rows + 1), c = draw(COLUMNS - columns + 1);
    if (dense)
        return v;
    v.row = nd_range(r, r + rows, 1);
    v.column = nd_range(c, c + columns, 1);
    if (2 * columns <= COLUMNS && draw(2))
        v.column = nd_range(0, 2 * columns, 2);
    return v;
}

static nd_array *take_view(const nd_array *base, look_at v, int flip)
{
    nd_array *a = NULL, *b = NULL;
    nd_index i[] = {v.row, v.column};
    DO(nd_slice(base, i, 2, &a));
    if (!flip)
        return a;
    DO(nd_flip(a, 1, (int32_t[]){flip - 1}, &b));
    nd_release(a);
    return b;
}

static int same_bytes(const nd_array *a, const nd_array *b)
{
    char x[ALL * 16], y[ALL * 16];
    size_t n = ALL * nd_dtype_size(nd_dtype_of(a));
    DO(nd_to_host(a, x, n));
    DO(nd_to_host(b, y, n));
    return memcmp(x, y, n) == 0;
}

typedef struct {
    nd_device **from, **to;
    int from_pinned, to_pinned, dense;
    const char *name;
} route;

static const route routes[] = {{&cpu, &sim[0], 1, 0, 0, "pinned to device"},
                               {&sim[0], &cpu, 0, 1, 1, "device to pinned"},
                               {&sim[0], &cpu, 0, 1, 0, "device to a view of pinned"},
                               {&sim[0], &sim[1], 0, 0, 0, "device to device"},
                               {&sim[1], &cpu, 0, 1, 0, "device to another's pinned"}};

static int copy_twice(const route *r, nd_dtype from, nd_dtype to)
{
    nd_array *src = base_on(*r->from, r->from_pinned, from, 1.25);
    nd_array *a = base_on(*r->to, r->to_pinned, to, 0), *b = base_on(*r->to, r->to_pinned, to, 0);
    int64_t rows = 1 + draw(ROWS), columns = r->dense ? COLUMNS : 1 + draw(COLUMNS);
    look_at at = random_view(rows, columns, r->dense);
    int64_t wide = draw(2); /* the source broadcasts over rows */
    nd_array *s = take_view(src, random_view(wide ? 1 : rows, columns, 0), (int)draw(3));
    int flip = r->dense ? 0 : (int)draw(3);
    nd_array *x = take_view(a, at, flip), *y = take_view(b, at, flip);
    DO(nd_copy_to(s, x, NULL));
    DO(nd_copy_to(s, y, &no_wait));
    int same = same_bytes(a, b);
    nd_release(x);
    nd_release(y);
    nd_release(s);
    nd_release(src);
    nd_release(a);
    nd_release(b);
    return same;
}

static int is_complex(nd_dtype t)
{
    return t == ND_C64 || t == ND_C128;
}

static void test_same_bits(void)
{
    control->set_mode(dev[0], NDSIM_AUTO);
    control->set_mode(dev[1], NDSIM_AUTO);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        int tried = 0, same = 0;
        for (nd_dtype from = 1; from < ND_DTYPE_END; from++)
            for (nd_dtype to = 1; to < ND_DTYPE_END; to++) {
                if (is_complex(from) && !is_complex(to))
                    continue;
                int equal = copy_twice(&routes[i], from, to);
                tried++;
                same += equal;
                if (!equal)
                    diag("%s: %s to %s", routes[i].name, nd_dtype_name(from), nd_dtype_name(to));
            }
        ok(tried > 150 && same == tried, "P5: %s, the bits of the blocking copy for %d dtype pairs",
           routes[i].name, tried);
    }
    control->set_mode(dev[0], NDSIM_STEPPED);
    control->set_mode(dev[1], NDSIM_STEPPED);
    settle();
}

/* Conversion and packing are the device's: the host moves the bytes as they are. */
static void test_on_device(void)
{
    nd_array *h = base_on(cpu, 1, ND_U8, 1), *d = base_on(sim[0], 0, ND_F32, 0);
    control->log_clear(dev[0]);
    DO(nd_copy_to(h, d, &no_wait));
    is_int(calls(0, "copy"), 1, "P5: one copy of bytes");
    is_int(calls(0, "run"), 1, "P5: and the device converts");
    nd_release(h);
    h = base_on(cpu, 1, ND_F64, 1);
    control->log_clear(dev[0]);
    DO(nd_copy_to(d, h, &no_wait));
    is_int(calls(0, "run"), 1, "P5: on the way back, too");
    is_int(calls(0, "copy"), 1, "P5: before the bytes move");
    nd_release(h);
    h = base_on(cpu, 1, ND_F32, 1);
    control->log_clear(dev[0]);
    DO(nd_copy_to(d, h, &no_wait));
    is_int(calls(0, "run"), 0, "P5: where nothing is to be converted, nothing is run");
    control->log_clear(dev[0]);
    DO(nd_copy_to(h, d, &no_wait));
    is_int(calls(0, "run") + calls(0, "alloc"), 0, "P5: in either direction");
    nd_array *other = base_on(sim[1], 0, ND_F64, 0);
    control->log_clear(dev[0]);
    control->log_clear(dev[1]);
    DO(nd_copy_to(d, other, NULL));
    is_int(calls(0, "peer_copy"), 1, "P5: device to device, one copy of bytes");
    is_int(host_waits(), 0, "P5: the host waits for nothing");
    is_int(calls(1, "read") + calls(1, "write"), 0, "P5: nor has it the bytes");
    nd_release(other);
    nd_release(h);
    nd_release(d);
    nd_array *row = NULL, *tall = NULL;
    h = pinned(ND_F32, 3);
    DO(nd_full(sim[0], ND_F32, 3, (int64_t[]){1, 1, 3}, nd_float(2), &tall));
    DO(nd_copy_to(tall, h, &no_wait));
    ok(value_of(h) == 2, "P5: leading extents of one are dropped, as nd_assign does");
    nd_release(row);
    nd_release(tall);
    nd_release(h);
    settle();
}

/* ---- P9 ---- */
static nd_status copy_and_change(int change, int by_event)
{
    float *p;
    nd_event *e = NULL;
    nd_array *h = pinned(ND_F32, 100), *d = vector(sim[0], 100);
    DO(nd_fill(h, nd_float(1)));
    DO(nd_event_create(sim[0], NULL, &e));
    DO(nd_data(h, (void **)&p));
    DO(nd_copy_to(h, d, &no_wait));
    if (change)
        p[50] = 2;
    DO(nd_event_record(e, NULL));
    nd_status status = by_event ? nd_event_synchronize(e) : nd_synchronize(sim[0]);
    nd_event_release(e);
    nd_release(h);
    nd_release(d);
    return status;
}

static void test_modified(void)
{
    is_int(copy_and_change(1, 0), ND_OK, "P9: off, nobody notices a source that was modified");
    setenv("NDOCK_COPY_CHECK", "1", 1);
    is_int(copy_and_change(0, 0), ND_OK, "P9: on, a source left alone is fine");
    is_int(copy_and_change(1, 0), ND_ERR_ASYNC, "P9: one that was modified is reported");
    has_text(nd_last_error()->message, "pinned source", "P9: by its name");
    is_int(copy_and_change(1, 1), ND_ERR_ASYNC, "P9: to who waits for an event after it, too");
    is_int(nd_synchronize(sim[0]), ND_OK, "P9: once");
    setenv("NDOCK_COPY_CHECK", "0", 1);
    is_int(copy_and_change(1, 0), ND_OK, "P9: 0 is off");
    unsetenv("NDOCK_COPY_CHECK");
    settle();
}

/* ---- P10 ---- */
static void test_cap(void)
{
    nd_array *a = NULL, *b = NULL;
    int64_t n = 1 << 16;
    DO(nd_memory_empty_host_cache(sim[0]));
    DO(nd_memory_pinned_cap_set(sim[0], 1 << 16));
    DO(nd_empty_pinned(sim[0], ND_U8, 1, &n, &a));
    is_int(nd_empty_pinned(sim[0], ND_U8, 1, &n, &b), ND_ERR_MEMORY, "P10: beyond the cap");
    ok(b == NULL, "P10: there is no array");
    has_text(nd_last_error()->message, "cap of 65536", "P10: the error names the cap");
    nd_release(a);
    DO(nd_empty_pinned(sim[0], ND_U8, 1, &n, &b));
    ok(b != NULL, "P10: what was given back may be had again");
    nd_release(b);
    DO(nd_memory_pinned_cap_set(sim[0], 0));
    n *= 2;
    DO(nd_empty_pinned(sim[0], ND_U8, 1, &n, &b));
    ok(b != NULL, "P10: 0 is the default cap");
    nd_release(b);
    settle();
}

TAP_MAIN({"upload", test_upload}, {"reuse", test_reuse}, {"pageable", test_pageable},
         {"same_bits", test_same_bits}, {"on_device", test_on_device}, {"modified", test_modified},
         {"cap", test_cap})
