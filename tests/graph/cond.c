/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * G21: work that graphs do by the value of an array. */
#include "tests/graph/lab.h"

static nd_array *number(int32_t value)
{
    nd_array *a = NULL;
    DO(nd_full(device, ND_I32, 0, NULL, nd_int(value), &a));
    return a;
}

static void set(nd_array *a, int32_t value)
{
    DO(nd_fill(a, nd_int(value)));
}

/* A graph that adds to x. */
static nd_graph *adds(nd_array *x, double by)
{
    nd_graph *g = begin();
    DO(nd_add_scalar_into(x, nd_float(by), x));
    DO(nd_graph_end(g));
    return g;
}

/* A graph that doubles x, then runs one of the bodies, then takes 1 from x. */
static nd_graph *around(nd_array *x, int32_t kind, nd_array *value, nd_graph **bodies, int32_t n)
{
    nd_graph *g = begin();
    DO(nd_multiply_scalar_into(x, nd_float(2), x));
    DO(nd_graph_cond(g, kind, value, bodies, n));
    DO(nd_subtract_scalar_into(x, nd_float(1), x));
    DO(nd_graph_end(g));
    return g;
}

static double launched(nd_graph *g, nd_array *x, nd_array *value, int32_t to)
{
    DO(nd_fill(x, nd_float(3)));
    set(value, to);
    launch(g);
    return value_of(x);
}

static void test_if(void)
{
    nd_array *x = filled(N, 3), *value = number(0);
    nd_graph *bodies[] = {adds(x, 10), adds(x, 100)};
    nd_graph *one = around(x, ND_GRAPH_IF, value, bodies, 1);
    ok(launched(one, x, value, 1) == 15, "%s: G21: if runs its body", where);
    ok(launched(one, x, value, 0) == 5, "%s: G21: or does not", where);
    ok(launched(one, x, value, -7) == 15, "%s: G21: anything but 0 is true", where);
    nd_graph *two = around(x, ND_GRAPH_IF, value, bodies, 2);
    nd_graph_release(bodies[0]);
    nd_graph_release(bodies[1]);
    ok(launched(two, x, value, 1) == 15, "%s: G21: if-else keeps and runs its first body", where);
    ok(launched(two, x, value, 0) == 105, "%s: G21: or its second", where);
    same(nd_graph_segments(two), 2, "%s: G21: the graph is split there", where);
    char *json = NULL;
    DO(nd_graph_text(two, ND_GRAPH_JSON, &json));
    ok(json && strstr(json, "\"then\": \"if\""), "%s: G22: and its text says by what", where);
    free(json);
    nd_graph_release(one);
    nd_graph_release(two);
    nd_release(x);
    nd_release(value);
}
ON_BOTH(test_if)

/* x grows by 5 as long as it is below 100: the test is the device's own. */
static void test_while(void)
{
    const nd_index first[] = {nd_at(0)};
    nd_array *x = filled(N, 0), *head = NULL, *below = NULL;
    DO(nd_slice(x, first, 1, &head));
    DO(nd_less_scalar(head, nd_float(100), &below));
    nd_graph *body = begin();
    DO(nd_add_scalar_into(x, nd_float(5), x));
    DO(nd_less_scalar_into(head, nd_float(100), below));
    DO(nd_graph_end(body));
    nd_graph *g = begin();
    DO(nd_less_scalar_into(head, nd_float(100), below));
    DO(nd_graph_cond(g, ND_GRAPH_WHILE, below, &body, 1));
    DO(nd_graph_end(g));
    for (int start = 0; start < 150; start += 37) {
        float want = (float)start;
        while (want < 100)
            want += 5;
        DO(nd_fill(x, nd_float(start)));
        launch(g);
        ok(value_of(x) == want, "%s: G21: while from %d matches the loop of the host", where,
           start);
    }
    nd_graph_release(body);
    nd_graph_release(g);
    nd_release(x);
    nd_release(head);
    nd_release(below);
}
ON_BOTH(test_while)

/* A switch whose second body is an if. */
static void test_switch(void)
{
    nd_array *x = filled(N, 3), *value = number(0), *inner = number(1);
    nd_graph *leaf = adds(x, 1000);
    nd_graph *bodies[] = {adds(x, 10), around(x, ND_GRAPH_IF, inner, &leaf, 1), adds(x, 30)};
    nd_graph *g = around(x, ND_GRAPH_SWITCH, value, bodies, 3);
    ok(launched(g, x, value, 0) == 15, "%s: G21: switch runs the first", where);
    ok(launched(g, x, value, 2) == 35, "%s: G21: the last", where);
    ok(launched(g, x, value, 3) == 5, "%s: G21: none past it", where);
    ok(launched(g, x, value, -1) == 5, "%s: G21: none before the first", where);
    ok(launched(g, x, value, 1) == 1010, "%s: G21: and one that has a condition itself", where);
    set(inner, 0);
    ok(launched(g, x, value, 1) == 10, "%s: G21: whose value is looked at then", where);
    for (int i = 0; i < 3; i++)
        nd_graph_release(bodies[i]);
    nd_graph_release(leaf);
    nd_graph_release(g);
    nd_release(x);
    nd_release(value);
    nd_release(inner);
    same(settled(), 0, "%s: G21: and in the end nothing is left", where);
}
ON_BOTH(test_switch)

static void nothing(void *ctx)
{
    (void)ctx;
}

static void refuse(nd_graph *g, int32_t kind, nd_array *value, nd_graph *body, int32_t n,
                   nd_status want, const char *word)
{
    nd_graph *bodies[] = {body, body, body};
    same(nd_graph_cond(g, kind, value, bodies, n), want, "%s: G21: refused: %s", where, word);
    ok(strstr(nd_last_error()->message, word) != NULL, "%s: G21: which it says", where);
}

static void test_refused(void)
{
    nd_array *x = filled(N, 0), *value = number(1), *one = filled(1, 1);
    nd_random_key key = {.key = 5};
    nd_graph *body = adds(x, 1), *host = begin(), *random = NULL, *empty = NULL;
    DO(nd_stream_launch_host(stream, nothing, NULL));
    DO(nd_graph_end(host));
    random = begin();
    DO(nd_graph_random(random, &key));
    DO(nd_random_normal_into(&key, 0, 1, x));
    nd_random_skip(&key, N, ND_F32);
    DO(nd_graph_end(random));
    empty = begin();
    DO(nd_graph_abort(empty));
    nd_graph *g = begin();
    refuse(g, 3, value, body, 1, ND_ERR_ARGUMENT, "3 is no condition");
    refuse(g, ND_GRAPH_IF, value, body, 3, ND_ERR_ARGUMENT, "3 bodies");
    refuse(g, ND_GRAPH_WHILE, value, body, 2, ND_ERR_ARGUMENT, "2 bodies");
    refuse(g, ND_GRAPH_SWITCH, value, body, 0, ND_ERR_ARGUMENT, "0 bodies");
    refuse(g, ND_GRAPH_IF, one, body, 1, ND_ERR_DTYPE, "f32");
    refuse(g, ND_GRAPH_IF, x, body, 1, ND_ERR_SHAPE, "600 elements");
    refuse(g, ND_GRAPH_IF, value, NULL, 1, ND_ERR_ARGUMENT, "NULL");
    refuse(g, ND_GRAPH_IF, value, g, 1, ND_ERR_ARGUMENT, "itself");
    refuse(g, ND_GRAPH_IF, value, host, 1, ND_ERR_ARGUMENT, "host function");
    refuse(g, ND_GRAPH_IF, value, random, 1, ND_ERR_ARGUMENT, "random");
    refuse(g, ND_GRAPH_IF, value, empty, 1, ND_ERR_STATE, "empty");
    same(nd_stream_is_capturing(stream), 1, "%s: G21: the capture goes on", where);
    DO(nd_graph_cond(g, ND_GRAPH_IF, value, &body, 1));
    DO(nd_graph_end(g));
    refuse(g, ND_GRAPH_IF, value, body, 1, ND_ERR_STATE, "ended");
    DO(nd_fill(x, nd_float(0)));
    launch(g);
    ok(value_of(x) == 1, "%s: G21: and is right", where);
    nd_graph *graphs[] = {body, host, random, empty, g};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        nd_graph_release(graphs[i]);
    nd_release(x);
    nd_release(value);
    nd_release(one);
}
ON_BOTH(test_refused)

/* ---- who decides ---- */
/* Whether the graph's text says that the device does. */
static int by_device(nd_graph *g)
{
    char *json = NULL;
    DO(nd_graph_text(g, ND_GRAPH_JSON, &json));
    const int yes = json && strstr(json, "\"decided_by\": \"device\"") != NULL;
    free(json);
    return yes;
}

/* Launches wait for nothing where the device decides, not even where waiting is an error. Drivers
 * before CUDA 12.4 leave it to the host; sim decides itself. */
static void test_device(void)
{
    nd_device_info info;
    nd_array *x = filled(N, 3), *value = number(0);
    nd_graph *body = adds(x, 10), *g = around(x, ND_GRAPH_IF, value, &body, 1);
    nd_device_describe(device, &info);
    ok(launched(g, x, value, 1) == 15, "%s: G21: a launch", where);
    const int decides = by_device(g);
    if (!strstr(where, "cuda"))
        same(decides, info.async, "%s: G21: devices with streams decide", where);
    else
        diag("%s: conditions are decided by the %s", where, decides ? "device" : "host");
    set(value, 1);
    DO(nd_fill(x, nd_float(3)));
    DO(nd_synchronize(device));
    DO(nd_sync_watch_push(ND_SYNC_ERROR));
    const nd_status status = nd_graph_launch(g, NULL, NULL);
    DO(nd_sync_watch_pop());
    same(status == ND_OK, decides || !info.async, "%s: G21: else a launch waits", where);
    if (status == ND_OK)
        ok(value_of(x) == 15, "%s: G21: and has run", where);
    nd_graph_release(body);
    nd_graph_release(g);
    nd_release(x);
    nd_release(value);
}
ON_BOTH(test_device)

/* What is changed between launches counts, in the graph and in a body. */
static void test_changed(void)
{
    nd_array *x = filled(N, 3), *y = filled(N, 3), *value = number(1);
    nd_graph *body = adds(x, 10), *g = around(x, ND_GRAPH_IF, value, &body, 1);
    int32_t of_body = -1, of_graph = -1;
    DO(nd_graph_arg(body, x, &of_body));
    DO(nd_graph_arg(g, x, &of_graph));
    ok(launched(g, x, value, 1) == 15, "%s: G21: before anything is changed", where);
    DO(nd_graph_set_arg(body, of_body, y));
    DO(nd_fill(y, nd_float(0)));
    for (int i = 1; i <= 3; i++) {
        ok(launched(g, x, value, 1) == 5, "%s: G21: launch %d with another array in the body",
           where, i);
        ok(value_of(y) == 10 * i, "%s: G21: which has it %d times", where, i);
    }
    DO(nd_graph_set_arg(g, of_graph, y));
    for (int i = 1; i <= 3; i++) {
        set(value, i != 2);
        DO(nd_fill(y, nd_float(i)));
        launch(g);
        ok(value_of(y) == 2 * i - 1 + (i == 2 ? 0 : 10),
           "%s: G21: launch %d with another array in both", where, i);
    }
    nd_graph *other = adds(y, 1000);
    DO(nd_graph_update(body, other, NULL));
    nd_graph_release(other);
    set(value, 1);
    for (int i = 1; i <= 3; i++) {
        DO(nd_fill(y, nd_float(0)));
        launch(g);
        ok(value_of(y) == 999, "%s: G21: launch %d with a body that does something else", where, i);
    }
    nd_graph_release(body);
    nd_graph_release(g);
    nd_release(x);
    nd_release(y);
    nd_release(value);
}
ON_BOTH(test_changed)
TAP_MAIN({"if", test_if_on_both}, {"while", test_while_on_both}, {"switch", test_switch_on_both},
         {"refused", test_refused_on_both}, {"device", test_device_on_both},
         {"changed", test_changed_on_both})
