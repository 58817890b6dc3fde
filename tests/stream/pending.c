/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * P3: host arrays that a device still writes to: whatever uses one waits for it, once. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "core/ops/ops.h"
#include "tests/stream/pinned.h"

/* ---- P3 ---- */
enum { ITEM, OPERATION, ADDRESS, PRINT, NPY, SAFETENSORS, UPLOAD, VIEW, INTO, WAYS };
static const char *const ways[] = {"nd_item",  "an operation", "nd_data",
                                   "printing", "npy_save",     "safetensors",
                                   "upload",   "a view of it", "being written to"};

static double look(int way, nd_array *h, const char *path)
{
    void *p;
    char *text;
    nd_array *r = NULL;
    nd_index first = nd_at(0);
    double value = -1;
    switch (way) {
    case ITEM:
        return value_of(h);
    case OPERATION:
        DO(nd_add(h, h, &r));
        value = value_of(r) / 2;
        break;
    case ADDRESS:
        DO(nd_data(h, &p));
        return *(float *)p;
    case PRINT:
        DO(nd_format(h, NULL, &text));
        value = strstr(text, "[3.") ? 3 : -1;
        free(text);
        return value;
    case NPY:
        DO(nd_npy_save(path, h, NULL));
        DO(nd_npy_load(path, cpu, &r));
        value = value_of(r);
        break;
    case SAFETENSORS: {
        nd_named_array named = {"a", h};
        nd_safetensors *file;
        DO(nd_safetensors_save(path, 1, &named, NULL, NULL));
        DO(nd_safetensors_open(path, &file));
        DO(nd_safetensors_load(file, "a", cpu, &r));
        nd_safetensors_close(file);
        value = value_of(r);
        break;
    }
    case UPLOAD:
        DO(nd_copy(h, sim[1], &r));
        value = value_of(r);
        break;
    case VIEW:
        DO(nd_slice(h, &first, 1, &r));
        value = value_of(r);
        break;
    case INTO:
        DO(nd_add_into(h, h, h));
        return value_of(h) / 2;
    }
    nd_release(r);
    return value;
}

static void test_pending(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/ndock-copies-%ld", (long)getpid());
    DO(nd_sync_watch_set(ND_SYNC_COUNT));
    for (int way = 0; way < WAYS; way++) {
        nd_array *d = filled(sim[0], 6, 3), *h = pinned(ND_F32, 6);
        DO(nd_fill(h, nd_float(0)));
        control->log_clear(dev[0]);
        nd_sync_watch_reset();
        DO(nd_copy_to(d, h, &no_wait));
        ok(host_waits() == 0 && pending(0, NULL) > 0, "P3: device to pinned returns at once");
        ok(look(way, h, path) == 3, "P3: %s waits for the copy", ways[way]);
        is_int(waits_for(ND_WAIT_EVENT), 1, "P3: once, for the copy's event");
        nd_release(h);
        nd_release(d);
    }
    unlink(path);
    nd_array *d = filled(sim[0], 6, 3), *h = pinned(ND_F32, 6);
    DO(nd_copy_to(d, h, &no_wait));
    DO(nd_sync_watch_set(ND_SYNC_ERROR));
    void *p = NULL;
    is_int(nd_data(h, &p), ND_ERR_STATE, "P3: where waiting is forbidden, so is a pending array");
    DO(nd_sync_watch_set(ND_SYNC_OFF));
    DO(nd_data(h, &p));
    ok(*(float *)p == 3, "P3: and it is whole later");
    DO(nd_fill(d, nd_float(4)));
    DO(nd_copy_to(d, h, &no_wait));
    nd_release(h); /* pending */
    nd_release(d);
    DO(nd_synchronize(sim[0]));
    ok(1, "P3: a pending array may be dropped");
    settle();
}

/* Every family of operations; each is given a pending matrix (3, 3), and h's values are all 1. */
enum { FAMILIES = 23 };
static nd_status operate(int which, const nd_array *h, const nd_array *ready, nd_array **r)
{
    nd_array *dst = (nd_array *)ready;
    nd_matmul_opts bias = {.size = sizeof bias, .bias = h};
    nd_random_key key = {1, {0, 0}};
    nd_scalar one = nd_float(1);
    switch (which) {
    case 0:
        return nd_exp(h, r);
    case 1:
        return nd_add(ready, h, r);
    case 2:
        return nd_add_into(ready, h, dst);
    case 3:
        return nd_add_scalar(h, one, r);
    case 4:
        return nd_sum(h, NULL, r);
    case 5:
        return nd_argmax(h, NULL, r);
    case 6:
        return nd_softmax(h, NULL, r);
    case 7:
        return nd_matmul(ready, h, NULL, r);
    case 8:
        return nd_matmul(ready, ready, &bias, r);
    case 9:
        return nd_take(h, ready, 0, r);
    case 10:
        return nd_sort(h, NULL, r);
    case 11:
        return nd_concat(2, (const nd_array *[]){ready, h}, 0, r);
    case 12:
        return nd_stack(2, (const nd_array *[]){ready, h}, 0, r);
    case 13:
        return nd_assign(h, dst);
    case 14:
        return nd_fill(h, one);
    case 15:
        return nd_random_uniform_into(&key, 0, 1, (nd_array *)h);
    case 16:
        return nd_copy(h, NULL, r);
    case 17:
        return nd_astype(h, ND_F64, r);
    case 18:
        return nd_tril(h, 0, r);
    case 19:
        return nd_unique_values(h, r);
    case 20:
        return nd_sum_into(ready, NULL, h);
    case 21:
        return nd_matmul_into(ready, ready, NULL, h);
    default: /* h itself, which a fast path would serve */
        return nd_add_into(ready, ready, (nd_array *)h);
    }
}

static void test_pending_everywhere(void)
{
    const int64_t shape[] = {3, 3};
    int waited = 0;
    DO(nd_sync_watch_set(ND_SYNC_COUNT));
    for (int i = 0; i < FAMILIES; i++) {
        nd_array *d = NULL, *h = NULL, *ready = NULL, *r = NULL, *view = NULL;
        DO(nd_ones(sim[0], ND_F32, 2, shape, &d));
        DO(nd_empty_pinned(sim[0], ND_F32, 2, shape, &h));
        DO(nd_permute(h, 2, (int32_t[]){1, 0}, &view));
        DO(nd_ones(cpu, ND_F32, 2, shape, &ready));
        DO(nd_copy_to(d, h, &no_wait));
        nd_sync_watch_reset();
        (void)!operate(i, i % 2 ? view : h, ready, &r);
        uint64_t n = waits_for(ND_WAIT_EVENT);
        waited += n == 1;
        if (n != 1)
            diag("operation %d waited %d times for its operand", i, (int)n);
        nd_release(r);
        nd_release(view);
        nd_release(ready);
        nd_release(h);
        nd_release(d);
    }
    DO(nd_sync_watch_set(ND_SYNC_OFF));
    is_int(waited, FAMILIES, "P3: operations of every family wait for a pending operand");
    settle();
}

/* ---- P3: several threads want one pending array at once ---- */
enum { READERS = 4, COPIES = 300 };
typedef struct {
    pthread_barrier_t begin, end;
    nd_array *host;
    float wanted;
    atomic_int wrong;
} shared_read;

static void *read_pending(void *arg)
{
    shared_read *r = arg;
    for (int i = 0; i < COPIES; i++) {
        float got[2] = {0};
        int32_t done;
        pthread_barrier_wait(&r->begin);
        r->wrong += nd_array_query(r->host, &done) != ND_OK;
        r->wrong += nd_to_host(r->host, got, sizeof got) != ND_OK;
        r->wrong += got[0] != r->wanted || got[1] != r->wanted;
        pthread_barrier_wait(&r->end);
    }
    return NULL;
}

static void test_pending_together(void)
{
    shared_read r = {.host = pinned(ND_F32, 2)};
    nd_array *d = vector(sim[0], 2);
    pthread_t t[READERS];
    pthread_barrier_init(&r.begin, NULL, READERS + 1);
    pthread_barrier_init(&r.end, NULL, READERS + 1);
    for (int i = 0; i < READERS; i++)
        pthread_create(&t[i], NULL, read_pending, &r);
    for (int i = 0; i < COPIES; i++) {
        r.wanted = (float)i;
        DO(nd_fill(d, nd_float(i)));
        DO(nd_copy_to(d, r.host, &no_wait));
        pthread_barrier_wait(&r.begin);
        pthread_barrier_wait(&r.end);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(t[i], NULL);
    is_int(r.wrong, 0, "P3: threads that wait for one pending array all find it written");
    pthread_barrier_destroy(&r.begin);
    pthread_barrier_destroy(&r.end);
    nd_release(d);
    nd_release(r.host);
    settle();
}

/* ---- P3: two copies into the halves of one pinned array, on two streams ---- */
enum { HALF = 3 };
typedef struct {
    nd_array *from[2], *whole, *half[2];
    nd_stream *s[2];
} halves;

/* As two threads that both have looked before either copies: each looks at the array through
 * nd_copy_to, which waits for what is pending by then; the copies themselves are these. */
static halves copy_halves(void)
{
    halves h = {.whole = pinned(ND_F32, 2 * HALF)};
    DO(nd_fill(h.whole, nd_float(0)));
    for (int i = 0; i < 2; i++) {
        nd_index at = nd_range(i * HALF, (i + 1) * HALF, 1);
        h.from[i] = filled(sim[0], HALF, 7 + i);
        DO(nd_slice(h.whole, &at, 1, &h.half[i]));
        h.s[i] = new_stream(0);
    }
    DO(nd_synchronize(sim[0]));
    DO(nd_sync_watch_set(ND_SYNC_ERROR)); /* neither copy may wait */
    for (int i = 0; i < 2; i++) {
        DO(nd_stream_push(h.s[i]));
        DO(nd__transfer("copy_to", h.from[i], h.half[i], true));
        DO(nd_stream_pop(h.s[i]));
    }
    DO(nd_sync_watch_set(ND_SYNC_OFF));
    return h;
}

static void drop_halves(halves *h)
{
    for (int i = 0; i < 2; i++) {
        nd_release(h->half[i]);
        nd_release(h->from[i]);
        nd_stream_release(h->s[i]);
    }
    nd_release(h->whole);
    settle();
}

static void test_pending_halves(void)
{
    for (int first = 0; first < 2; first++) {
        halves h = copy_halves();
        int32_t over = 1;
        ok(pending(0, h.s[0]) > 0 && pending(0, h.s[1]) > 0, "P3: both copies are queued");
        step(0, h.s[first], 100);
        DO(nd_array_query(h.whole, &over));
        is_int(over, 0, "P3: with one of two copies done, the array is not");
        ok(value_of(h.half[!first]) == 7 + !first,
           "P3: who reads the other half waits for its copy");
        DO(nd_array_query(h.whole, &over));
        is_int(over, 1, "P3: then the array is done");
        ok(value_of(h.half[first]) == 7 + first, "P3: and both halves are right");
        drop_halves(&h);
    }
    halves h = copy_halves();
    ok(value_of(h.half[0]) == 7 && value_of(h.half[1]) == 8,
       "P3: with neither done, each half is what was copied there");
    drop_halves(&h);
    void *p = NULL;
    h = copy_halves();
    DO(nd_data(h.whole, &p));
    ok(((float *)p)[0] == 7 && ((float *)p)[HALF] == 8, "P3: one look waits for both copies");
    drop_halves(&h);
}

/* More often than there can be events to spare from the tests before. */
static void test_pending_halves_dropped(void)
{
    enum { TIMES = 300 };
    uint64_t events = 0;
    for (int i = 0; i < TIMES; i++) {
        halves h = copy_halves();
        drop_halves(&h); /* both pending */
        if (i == 0)
            events = calls(0, "event_create");
    }
    ok(reserved(0) == 0, "P3: an array with two pending copies may be dropped");
    is_int(calls(0, "event_create") - events, 0, "P3: and gives the events of both back");
}

/* The device still writes there: the memory is nobody else's yet. */
static void test_pending_dropped(void)
{
    nd_array *d = filled(sim[0], HALF, 5), *e = filled(sim[0], HALF, 6), *h = pinned(ND_F32, HALF);
    nd_stream *s = new_stream(0), *t = new_stream(0);
    DO(nd_synchronize(sim[0]));
    check_on();
    DO(nd_stream_push(s));
    DO(nd_copy_to(d, h, &no_wait));
    DO(nd_stream_pop(s));
    nd_release(h);
    h = pinned(ND_F32, HALF);
    DO(nd_stream_push(t));
    DO(nd_copy_to(e, h, &no_wait));
    DO(nd_stream_pop(t));
    is_int(races(), 0,
           "P3: pinned memory that a dropped array's copy still writes to is not used again");
    show_races();
    ok(value_of(h) == 6, "P3: and the new array is what was copied");
    control->set_checker(dev[0], 0);
    nd_release(h);
    nd_release(d);
    nd_release(e);
    nd_stream_release(s);
    nd_stream_release(t);
    settle();
}

/* One event is kept a stream: a later copy covers an earlier one. */
static void test_pending_again(void)
{
    nd_array *d = filled(sim[0], HALF, 5), *h = pinned(ND_F32, HALF);
    nd_stream *s = new_stream(0);
    DO(nd_synchronize(sim[0]));
    DO(nd_stream_push(s));
    uint64_t made = calls(0, "event_create");
    for (int i = 0; i < 50; i++)
        DO(nd__transfer("copy_to", d, h, true));
    DO(nd_stream_pop(s));
    ok(calls(0, "event_create") - made <= 2, "P3: fifty copies on one stream keep one event");
    DO(nd_sync_watch_set(ND_SYNC_COUNT));
    nd_sync_watch_reset();
    ok(value_of(h) == 5, "P3: the array is what was copied");
    is_int(waits_for(ND_WAIT_EVENT), 1, "P3: after one wait");
    DO(nd_sync_watch_set(ND_SYNC_OFF));
    nd_release(h);
    nd_release(d);
    nd_stream_release(s);
    settle();
}

TAP_MAIN({"pending", test_pending}, {"pending_everywhere", test_pending_everywhere},
         {"pending_together", test_pending_together}, {"pending_halves", test_pending_halves},
         {"pending_halves_dropped", test_pending_halves_dropped},
         {"pending_dropped", test_pending_dropped}, {"pending_again", test_pending_again})
