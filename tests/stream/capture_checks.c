/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What looks at the order of work leaves captures alone: hazard mode, the stream check, and the
 * allocator of pinned memory. */
#include "tests/stream/capture.h"

/* a is written on one stream, and read in a capture of another one. */
typedef struct {
    nd_stream *writer, *captured;
    nd_array *a, *r;
    session c;
} scene;

static scene begin_scene(void)
{
    scene s = {.writer = new_stream(0), .captured = new_stream(0)};
    s.a = filled(sim[0], N, 1);
    s.r = filled(sim[0], N, 0);
    DO(nd_synchronize(sim[0]));
    return s;
}

static nd_status read_in_capture(scene *s, const char *what)
{
    DO(nd_stream_push(s->writer));
    DO(nd_fill(s->a, nd_float(2)));
    DO(nd_stream_pop(s->writer));
    s->c = begin(s->captured, NDP_CAPTURE_RELAXED, NULL);
    DO(nd_stream_push(s->captured));
    nd_status status = nd_negative_into(s->a, s->r);
    DO(nd_stream_pop(s->captured));
    end(&s->c, what);
    return status;
}

static void end_scene(scene *s)
{
    drop(&s->c);
    nd_release(s->a);
    nd_release(s->r);
    nd_stream_release(s->writer);
    nd_stream_release(s->captured);
    settle();
}

static void s14_check(void)
{
    scene s = begin_scene();
    char *text = NULL;
    int64_t n = -1;
    nd_stream_check_set(1);
    is_int(read_in_capture(&s, "S14"), ND_OK, "S14: an operation is captured under the check");
    DO(nd_stream_check_report(&text, &n));
    is_int(n, 0, "S14: what is captured does not run, and is no race");
    free(text);
    nd_stream_check_set(0);
    end_scene(&s);
}

/* Neighbours: the one's last byte lies before the other's first. */
static void s14_neighbours(void)
{
    scene s = begin_scene();
    nd_array *half[2];
    char *text = NULL;
    int64_t n = -1;
    nd_stream_check_set(1);
    for (int i = 0; i < 2; i++) {
        const nd_index at = nd_range(i * N / 2, (i + 1) * N / 2, 1);
        DO(nd_slice(s.a, &at, 1, &half[i]));
        DO(nd_stream_push(i ? s.writer : s.captured));
        DO(nd_fill(half[i], nd_float(i)));
        DO(nd_stream_pop(i ? s.writer : s.captured));
    }
    DO(nd_stream_check_report(&text, &n));
    is_int(n, 0, "S14: writes of neighbouring parts on two streams are no race");
    free(text);
    nd_stream_check_set(0);
    for (int i = 0; i < 2; i++)
        nd_release(half[i]);
    end_scene(&s);
}

static void s13_hazard_mode(void)
{
    scene s = begin_scene();
    nd_hazard_mode_set(1);
    DO(nd_fill(s.r, nd_float(1)));
    is_int(read_in_capture(&s, "S13"), ND_OK, "S13: hazard mode lets a captured operation be");
    nd_hazard_mode_set(0);
    end_scene(&s);
}

/* An event that was recorded in a capture has not happened, and happens with the graph alone. */
static void a10_event(void)
{
    nd_stream *s = new_stream(0);
    nd_event *e = NULL;
    int32_t over = 1;
    DO(nd_event_create(sim[0], NULL, &e));
    session c = begin(s, NDP_CAPTURE_RELAXED, NULL);
    DO(nd_event_record(e, s));
    end(&c, "A10");
    is_int(nd_event_query(e, &over), ND_ERR_CAPTURE, "A10: an event of a capture cannot be asked");
    has_text(nd_last_error()->message, "record it again outside", "A10: the error says what to do");
    is_int(nd_event_synchronize(e), ND_ERR_CAPTURE, "A10: nor waited for");
    DO(nd_event_record(e, s));
    is_int(nd_event_synchronize(e), ND_OK, "A10: recorded again outside it can");
    drop(&c);
    nd_event_release(e);
    nd_stream_release(s);
    settle();
}

/* A new record lets go of the stream of the one before. */
static void a12_record_elsewhere(void)
{
    nd_stream *s = new_stream(0), *other = new_stream(0);
    nd_event *e = NULL;
    DO(nd_event_create(sim[0], NULL, &e));
    DO(nd_event_record(e, s));
    DO(nd_event_record(e, other));
    DO(nd_synchronize(sim[0]));
    const uint64_t gone = calls(0, "stream_destroy");
    nd_stream_release(s);
    is_int(calls(0, "stream_destroy") - gone, 1,
           "A12: an event keeps the stream of its record alone");
    nd_event_release(e);
    nd_stream_release(other);
    settle();
}

static void g6_pinned_memory(void)
{
    const nd_copy_opts no_wait = {.size = sizeof no_wait, .non_blocking = 1};
    int64_t n = N;
    nd_array *host = NULL, *d = filled(sim[0], N, 1);
    nd_stream *s = new_stream(0);
    DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &host));
    DO(nd_copy_to(host, d, &no_wait));
    session c = begin(s, NDP_CAPTURE_GLOBAL, NULL);
    control->log_clear(dev[0]);
    nd_release(host);
    is_int(asked(), 0, "G6: freeing pinned memory in a capture asks the driver for nothing");
    end(&c, "G6");
    drop(&c);
    nd_release(d);
    nd_stream_release(s);
    settle();
}

TAP_MAIN({"s14_check", s14_check}, {"s14_neighbours", s14_neighbours},
         {"s13_hazard_mode", s13_hazard_mode}, {"a10_event", a10_event},
         {"a12_record_elsewhere", a12_record_elsewhere}, {"g6_pinned_memory", g6_pinned_memory})
