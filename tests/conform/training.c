/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which operations of a training step a device leaves to the CPU. None has to be its own for any
 * tier, but whoever buys the device wants to know: the certificate names them. */
#include "tests/conform/works.h"

enum { ROWS = 32, COLUMNS = 16 };
static uint64_t staged_before;
static char staged[400];

static uint64_t staged_calls(void)
{
    nd_fallback_stats s;
    nd_fallback_get(&s);
    return s.staged_calls;
}

/* One operation of the step; its name is kept where the CPU computed it. */
static bool did(nd_status status, const char *name)
{
    const bool fine = good(status, name);
    const uint64_t now = staged_calls();
    const size_t used = strlen(staged);
    if (now != staged_before && used + strlen(name) + 3 < sizeof staged)
        snprintf(staged + used, sizeof staged - used, "%s%s", used ? ", " : "", name);
    staged_before = now;
    return fine;
}

/* A layer, its loss and the layer's gradient: a classifier in miniature. */
static void step(const works_in *in)
{
    nd_array *h = NULL, *r = NULL, *p = NULL, *l = NULL, *picked = NULL, *loss = NULL, *w = NULL;
    nd_array *mask = NULL, *g = NULL, *t = NULL, *grad = NULL, *best = NULL, *kept = NULL;
    const nd_reduce_opts rows = {.size = sizeof rows, .naxes = 1, .axes = (const int32_t[]){1}};
    nd_array *sums = NULL, *change = NULL;
    const bool fine =
        did(nd_take(in->a, in->rows, 0, &h), "take") &&
        did(nd_matmul(h, in->square, NULL, &r), "matmul") &&
        did(nd_maximum_scalar(r, nd_int(0), &w), "maximum") &&
        did(nd_greater_scalar(r, nd_int(0), &mask), "greater") &&
        did(nd_softmax(w, NULL, &p), "softmax") &&
        did(nd_log_softmax(w, NULL, &l), "log_softmax") &&
        did(nd_multiply(l, in->b, &picked), "multiply") &&
        did(nd_sum(picked, NULL, &loss), "sum") && did(nd_argmax(p, &rows, &best), "argmax") &&
        did(nd_subtract(p, in->b, &g), "subtract") && did(nd_where(mask, g, p, &kept), "where") &&
        did(nd_matrix_transpose(h, &t), "transpose") &&
        did(nd_matmul(t, kept, NULL, &grad), "matmul") &&
        did(nd_index_add(in->a, in->rows, g, 0, &sums), "index_add") &&
        did(nd_multiply_scalar(grad, nd_float(0.01), &change), "multiply");
    (void)fine;
    nd_array *all[] = {h, r, p, l, picked, loss, w, mask, g, t, grad, best, kept, sums, change};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        nd_release(all[i]);
}

void conform_training(void)
{
    works_in in = {0};
    char text[480];
    if (!run.kit || run.probing || !wanted("training"))
        return;
    begin_op("training");
    staged_before = staged_calls();
    staged[0] = 0;
    if (works_make(&in, ROWS, COLUMNS))
        step(&in);
    works_release(&in);
    snprintf(text, sizeof text, "of a training step the CPU computes: %s", staged);
    if (staged[0])
        skip_op(text);
    end_op();
}
