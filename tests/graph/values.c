/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What changes from launch to launch: arguments, and random numbers. */
#include <stdlib.h>
#include <string.h>
#include "tests/graph/lab.h"

/* ---- G11 ---- */
static void refused(nd_status status, nd_status want, const char *text, const char *what)
{
    same(status, want, "%s: G11: %s is refused", where, what);
    ok(strstr(nd_last_error()->message, text) != NULL, "%s: G11: and it says so", where);
}

static void test_arguments(void)
{
    nd_array *x = filled(N, 1), *z = filled(N, 2), *y = NULL, *sum = NULL, *in[2], *out[2];
    int32_t i = -1, o = -1, k = -1;
    nd_graph *g = begin();
    DO(nd_multiply(x, z, &y));
    DO(nd_add_into(y, x, y));
    DO(nd_sum(y, NULL, &sum));
    DO(nd_graph_end(g));
    DO(nd_graph_arg(g, x, &i));
    DO(nd_graph_arg(g, y, &o));
    same(nd_graph_arg_count(g), 2, "%s: G11: two arguments", where);
    launch(g);
    ok(value_of(y) == 3, "%s: G11: they stand for themselves first", where);
    for (int t = 0; t < 2; t++) {
        in[t] = filled(N, 10 + t);
        out[t] = filled(N, 0);
    }
    for (int t = 0; t < 6; t++) {
        nd_array *p = in[t % 2], *r = out[(t / 2) % 2];
        DO(nd_graph_set_arg(g, i, p));
        DO(nd_graph_set_arg(g, o, r));
        launch(g);
        ok(value_of(r) == 3 * (10 + t % 2), "%s: G11: then other arrays, both ways", where);
        ok(value_of(sum) == N * 3 * (10 + t % 2), "%s: G11: and all who read them", where);
    }
    ok(value_of(y) == 3, "%s: G11: the captured one is left alone", where);
    nd_array *wide = NULL, *shorter = filled(N - 1, 0), *every = NULL, *odd = NULL,
             *more = filled(2 * N, 0);
    DO(nd_astype(x, ND_F64, &wide));
    const nd_index second[] = {nd_range(0, 2 * N, 2)}, late[] = {nd_range(1, N + 1, 1)};
    DO(nd_slice(more, second, 1, &every));
    DO(nd_slice(more, late, 1, &odd));
    refused(nd_graph_set_arg(g, i, wide), ND_ERR_DTYPE, "f64", "another dtype");
    refused(nd_graph_set_arg(g, i, shorter), ND_ERR_SHAPE, "599", "another shape");
    refused(nd_graph_set_arg(g, i, every), ND_ERR_SHAPE, "strides", "another stride");
    refused(nd_graph_set_arg(g, i, odd), ND_ERR_ARGUMENT, "multiple of 16", "another alignment");
    refused(nd_graph_set_arg(g, o, z), ND_ERR_ARGUMENT, "shares memory", "a result over an input");
    refused(nd_graph_set_arg(g, i, out[0]), ND_ERR_ARGUMENT, "shares memory",
            "an input over a result");
    refused(nd_graph_set_arg(g, 2, z), ND_ERR_ARGUMENT, "2 arguments", "a number that is none");
    refused(nd_graph_arg(g, more, &k), ND_ERR_ARGUMENT, "neither reads nor writes", "a stranger");
    nd_array *half = NULL;
    const nd_index first[] = {nd_range(0, N / 2, 1)};
    DO(nd_slice(z, first, 1, &half));
    refused(nd_graph_arg(g, half, &k), ND_ERR_ARGUMENT, "across", "a part of an operand");
    launch(g);
    ok(value_of(out[0]) == 33 || value_of(out[1]) == 33, "%s: G11: refusals change nothing", where);
    nd_release(in[0]);
    nd_release(in[1]);
    nd_release(x);
    launch(g);
    ok(value_of(sum) == N * 33, "%s: G10: the graph keeps its arguments", where);
    nd_graph_release(g);
    nd_array *all[] = {y, z, sum, out[0], out[1], wide, shorter, every, odd, more, half};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        nd_release(all[n]);
}
ON_BOTH(test_arguments)

/* A view of a captured array moves with it. */
static void test_views(void)
{
    const int64_t shape[2] = {20, 30};
    nd_array *x = NULL, *row = NULL, *turned = NULL, *a = NULL, *b = NULL, *other = NULL;
    nd_array *flat = filled(N, 1), *flat_other = filled(N, 5);
    int32_t i = -1;
    DO(nd_reshape(flat, 2, shape, &x));
    DO(nd_reshape(flat_other, 2, shape, &other));
    const nd_index third[] = {nd_at(3)};
    DO(nd_slice(x, third, 1, &row));
    DO(nd_transpose(x, &turned));
    nd_graph *g = begin();
    DO(nd_add_scalar(row, nd_float(1), &a));
    DO(nd_matmul(x, turned, NULL, &b));
    DO(nd_graph_end(g));
    DO(nd_graph_arg(g, x, &i));
    DO(nd_graph_set_arg(g, i, other));
    launch(g);
    ok(value_of(a) == 6, "%s: G11: a view of an argument moves with it", where);
    ok(value_of(b) == 750, "%s: G11: and so do all views", where);
    nd_graph_release(g);
    nd_array *all[] = {x, row, turned, a, b, other, flat, flat_other};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++)
        nd_release(all[n]);
}
ON_BOTH(test_views)

/* ---- G13 ---- */
enum { DRAWS = 50 };
static void draw(nd_random_key *key, nd_array *a, nd_array *b)
{
    DO(nd_random_normal_into(key, 0, 1, a));
    nd_random_skip(key, DRAWS, ND_F32);
    DO(nd_random_uniform_into(key, 0, 1, b));
    nd_random_skip(key, DRAWS, ND_F32);
}

static void read_both(const nd_array *a, const nd_array *b, float *to)
{
    DO(nd_to_host(a, to, DRAWS * sizeof *to));
    DO(nd_to_host(b, to + DRAWS, DRAWS * sizeof *to));
}

static void test_random(void)
{
    float want[5][2 * DRAWS], got[2 * DRAWS], between[2 * DRAWS];
    nd_random_key eager = {.key = 11, .counter = {UINT64_MAX - 30, 4}}, key = eager,
                  fixed = {.key = 11};
    nd_array *a = filled(DRAWS, 0), *b = filled(DRAWS, 0), *still = filled(DRAWS, 0);
    for (int i = 0; i < 5; i++) {
        draw(&eager, a, b);
        read_both(a, b, want[i]);
    }
    nd_graph *g = begin();
    DO(nd_graph_random(g, &key));
    draw(&key, a, b);
    DO(nd_random_normal_into(&fixed, 0, 1, still));
    DO(nd_graph_end(g));
    ok(key.counter[0] == UINT64_MAX - 30 && key.counter[1] == 4, "%s: G13: a capture draws nothing",
       where);
    same(nd_graph_random(g, &key), ND_ERR_STATE, "%s: G13: keys are named in the capture", where);
    float first[DRAWS], again[DRAWS];
    for (int i = 0; i < 5; i++) {
        if (i == 3) { /* a run without the graph in between */
            draw(&key, a, b);
            read_both(a, b, between);
            ok(memcmp(between, want[3], sizeof between) == 0, "%s: G13: eager draws go on", where);
            continue;
        }
        launch(g);
        read_both(a, b, got);
        ok(memcmp(got, want[i], sizeof got) == 0, "%s: G13: launch %d draws as run %d", where, i,
           i);
        DO(nd_to_host(still, i ? again : first, sizeof first));
    }
    ok(memcmp(first, again, sizeof first) == 0, "%s: G13: other keys stay", where);
    ok(key.counter[0] == eager.counter[0] && key.counter[1] == eager.counter[1],
       "%s: G13: the key is where it would be", where);
    nd_graph_release(g);
    nd_release(a);
    nd_release(b);
    nd_release(still);
}
ON_BOTH(test_random)

TAP_MAIN({"arguments", test_arguments_on_both}, {"views", test_views_on_both},
         {"random", test_random_on_both})
