/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Images of 16 bits whose channels lie side by side, and their weights, as floats in scratch memory: what reads
 * channels side by side reads elements in the type of the sums, and each more than once, as products for the gradient for
 * the weight do. Sums are the same floats
 * as of the elements as they were. */
#include <string.h>
#include "conv/conv.h"

enum { TURN_BYTES = 4 << 20 /* of floats that are made at a time, where images are independent */ };

static int is_half(int32_t dtype)
{
    return dtype == NDP_F16 || dtype == NDP_BF16;
}

static int lies_beside(const ndp_view *v)
{
    return v->stride[1] == 1 && v->stride[4] != 1 && v->shape[1] > 1;
}

/* Axes in the order of memory that floats have. */
static const int *order_of(const ndp_view *v)
{
    static const int beside[5] = {0, 2, 3, 4, 1}, rows[5] = {0, 1, 2, 3, 4};
    return v->stride[1] == 1 && v->shape[1] > 1 ? beside : rows;
}

/* Views of `n` on the first axis, at `offset` in the scratch memory, which there is none of yet while it is
 * counted; returns where the next begins. */
static int64_t make_view(cv_wide *w, int i, const ndp_view *from, int64_t n, int64_t offset)
{
    const int *order = order_of(from);
    int64_t step = 1;
    for (int d = 4; d >= 0; d--) {
        w->shape[i][d] = d == 0 ? n : from->shape[d];
        w->stride[i][order[d]] = step;
        step *= order[d] == 0 ? n : from->shape[order[d]];
    }
    w->in[i] = (ndp_view){.mem = w->whole->scratch.mem ? w->whole->scratch.mem : from->mem,
                          .offset_bytes = w->whole->scratch.offset_bytes + offset,
                          .shape = w->shape[i],
                          .stride = w->stride[i],
                          .dtype = NDP_F32,
                          .ndim = 5};
    return offset + mm_round_up(step * (int64_t)sizeof(float), 64);
}

int cv_wide_make(cv_wide *w, const ndp_call *call)
{
    const int weight = call->op == NDP_OP_conv_weight;
    const ndp_view *x = &call->in[0], *y = &call->in[1];
    const int64_t groups = ((const ndp_conv *)call->params)->groups;
    const int direct = weight && call->out[0].shape[0] / groups >= CV_LEAST_OUT;
    if (!is_half(x->dtype) || cv_pairs_serves(call) ||
        !(lies_beside(x) || (weight && lies_beside(y)) || direct))
        return 0;
    w->whole = call;
    w->call = *call;
    for (uint32_t i = 0; i < call->n_in; i++)
        w->in[i] = call->in[i];
    w->out = call->out[0];
    w->call.in = w->in;
    w->call.out = &w->out;
    int64_t each = (int64_t)sizeof(float);
    for (int d = 1; d < 5; d++)
        each *= x->shape[d];
    w->images = weight || each * x->shape[0] <= TURN_BYTES ? x->shape[0]
                : each < TURN_BYTES                        ? TURN_BYTES / each
                                                           : 1;
    w->bytes = make_view(w, 0, x, w->images, 0);
    w->bytes = make_view(w, 1, y, y->shape[0], w->bytes);
    for (int d = 0; d < 5; d++)
        w->shape[2][d] = d || weight ? w->out.shape[d] : w->images;
    w->out.shape = w->shape[2];
    w->scratch_bytes = ndp_view_size(&call->scratch) - w->bytes;
    w->call.scratch.offset_bytes += w->bytes;
    w->call.scratch.shape = &w->scratch_bytes;
    return 1;
}

typedef struct {
    const mm_kernels *k;
    const ndp_view *from, *to;
    int64_t first; /* of the first axis, in from */
} copy;

/* Tasks count lines of the first three axes in the order of memory. */
static void copy_lines(void *ctx, int64_t begin, int64_t end)
{
    const copy *c = ctx;
    const ndp_view *from = c->from, *to = c->to;
    const int *order = order_of(from);
    for (int64_t task = begin; task < end; task++) {
        int64_t rest = task, source = c->first * from->stride[0], target = 0;
        for (int d = 2; d >= 0; d--) {
            const int64_t at = rest % to->shape[order[d]];
            rest /= to->shape[order[d]];
            source += at * from->stride[order[d]];
            target += at * to->stride[order[d]];
        }
        c->k->load[from->dtype](cpu_ptr(from) + source * 2, from->stride[order[3]],
                                from->stride[order[4]], to->shape[order[3]], to->shape[order[4]],
                                cpu_ptr(to) + target * (int64_t)sizeof(float));
    }
}

static void copy_view(const ndp_view *from, const ndp_view *to, int64_t first)
{
    const int *order = order_of(from);
    copy c = {mm_kernels_for(from->dtype, NDP_F32), from, to, first};
    const int64_t lines = to->shape[order[0]] * to->shape[order[1]] * to->shape[order[2]];
    const int64_t line = to->shape[order[3]] * to->shape[order[4]];
    cpu_parallel(lines, cv_grain(lines, 1 + (1 << 14) / (line + 1)), copy_lines, &c);
}

int cv_wide_turn(cv_wide *w, int64_t *first)
{
    const ndp_call *call = w->whole;
    const int64_t all = call->in[0].shape[0], left = all - *first;
    if (left <= 0 && !(all == 0 && *first == 0))
        return 0;
    const int64_t n = left < w->images ? left : w->images;
    w->shape[0][0] = n;
    if (call->op != NDP_OP_conv_weight) {
        w->shape[2][0] = n;
        w->out.offset_bytes = call->out[0].offset_bytes +
                              *first * call->out[0].stride[0] * ndp_dtype_size(call->out[0].dtype);
    }
    copy_view(&call->in[0], &w->in[0], *first);
    if (*first == 0)
        copy_view(&call->in[1], &w->in[1], 0);
    *first += n > 0 ? n : 1;
    return 1;
}
