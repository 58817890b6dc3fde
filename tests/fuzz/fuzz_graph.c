/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: captures, launches and arguments of graphs in whatever order the bytes say, on a
 * device that queues and one that does not. After each input no stream is being captured. */
#include "tests/fuzz/fuzz.h"

enum { ARRAYS = 4, GRAPHS = 2, STEPS = 64 };

typedef struct {
    nd_device *device;
    nd_stream *stream, *other;
    nd_graph *graph[GRAPHS];
    nd_array *a[ARRAYS];
    nd_random_key key;
} world;

static void must(nd_status status)
{
    if (status != ND_OK)
        abort();
}

/* A failure says why. */
static void may(nd_status status)
{
    if (status != ND_OK && (nd_last_error()->status != status || !nd_last_error()->message[0]))
        abort();
}

static void replace(nd_array **place, nd_status status, nd_array *made)
{
    may(status);
    if ((status == ND_OK) != (made != NULL))
        abort();
    if (!made)
        return;
    nd_release(*place);
    *place = made;
}

static nd_status between(void *ctx)
{
    (void)ctx;
    return ND_OK;
}

static void let_go(void *ctx)
{
    (void)ctx;
}

/* Operations, which are captured or run. */
static void compute(world *w, fuzz_reader *r)
{
    nd_array **x = &w->a[fuzz_byte(r) % ARRAYS], **y = &w->a[fuzz_byte(r) % ARRAYS], *made = NULL;
    const int64_t shape[1] = {8};
    nd_status status = ND_OK;
    switch (fuzz_byte(r) % 6) {
    case 0:
        status = nd_add(*x, *y, &made);
        break;
    case 1:
        may(nd_add_into(*x, *y, *x));
        return;
    case 2:
        status = nd_random_normal(w->device, ND_F32, 1, shape, &w->key, 0, 1, &made);
        break;
    case 3:
        status = nd_sum(*x, NULL, &made);
        nd_release(made);
        may(status);
        return;
    case 4:
        may(nd_stream_wait_stream(w->stream, w->other));
        return;
    default:
        may(nd_stream_wait_stream(w->other, w->stream));
        return;
    }
    replace(x, status, made);
}

static void change(world *w, fuzz_reader *r)
{
    nd_graph **g = &w->graph[fuzz_byte(r) % GRAPHS], *other = w->graph[fuzz_byte(r) % GRAPHS];
    const nd_graph_opts opts = {
        .size = sizeof opts, .mode = (int32_t)fuzz_number(r, 1, 4), .weak = fuzz_byte(r) % 8 == 0};
    const int32_t index = (int32_t)fuzz_number(r, 1, 3);
    nd_array *a = w->a[fuzz_byte(r) % ARRAYS];
    nd_graph *made = NULL;
    int32_t seen;
    char *text = NULL;
    switch (fuzz_byte(r) % 10) {
    case 0:
    case 1:
        may(nd_graph_begin(fuzz_byte(r) % 4 ? w->stream : w->other, &opts, &made));
        if (made) {
            nd_graph_release(*g);
            *g = made;
        }
        return;
    case 2:
    case 3:
        may(nd_graph_end(*g));
        return;
    case 4:
        may(nd_graph_launch(*g, fuzz_byte(r) % 4 ? w->stream : w->other, NULL));
        return;
    case 5:
        may(nd_graph_arg(*g, a, &seen));
        return;
    case 6:
        may(nd_graph_set_arg(*g, index, a));
        return;
    case 7:
        may(nd_graph_break(*g, between, NULL, let_go));
        return;
    case 8:
        may(nd_graph_text(*g, index & 1, &text));
        free(text);
        may(nd_graph_random(*g, &w->key));
        return;
    default:
        may(index & 1 ? nd_graph_abort(*g) : nd_graph_update(*g, other, &seen));
    }
}

static void begin(world *w, const char *device)
{
    const int64_t shape[1] = {8};
    must(nd_device_get(device, &w->device));
    must(nd_stream_create(w->device, NULL, &w->stream));
    must(nd_stream_create(w->device, NULL, &w->other));
    must(nd_stream_push(w->stream));
    for (int i = 0; i < ARRAYS; i++)
        must(nd_full(w->device, ND_F32, 1, shape, nd_float(i), &w->a[i]));
}

/* Whatever was begun is given up with its graph. */
static void end(world *w)
{
    for (int i = 0; i < GRAPHS; i++)
        nd_graph_release(w->graph[i]);
    if (nd_stream_is_capturing(w->stream) || nd_stream_is_capturing(w->other))
        abort();
    must(nd_synchronize(w->device));
    nd_release_all(ARRAYS, w->a);
    must(nd_stream_pop(w->stream));
    nd_stream_release(w->other);
    nd_stream_release(w->stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_reader r = {data, size};
    world w = {.key = {1, {0, 0}}};
    begin(&w, fuzz_byte(&r) & 1 ? "sim:0" : "cpu");
    for (int i = 0; i < STEPS && r.left; i++)
        (fuzz_byte(&r) & 1 ? compute : change)(&w, &r);
    end(&w);
    return 0;
}
