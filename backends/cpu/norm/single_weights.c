/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Gradients for scale and bias of normalisations of single precision and below, of the partial sums that the passes
 * for the other gradient leave. They are added up in one order. */
#include "norm/single_grad.h"

enum { SUMS, WEIGHT, WEIGHTS = WEIGHT + 2 }; /* operands: doubles; bytes of both results */

/* Of parts: each has the sums for all elements of a row. */
static void of_layers(const cpu_single_grad_plan *q, const ndp_call *call)
{
    const int64_t n = q->p->n;
    for (uint32_t k = 1; k < call->n_out; k++) {
        double *total = q->partial + (k - 1) * (uint64_t)n;
        for (int64_t part = 1; part < q->parts; part++) {
            const double *more = total + part * n * CPU_SINGLE_PARTIAL;
            for (int64_t i = 0; i < n; i++)
                total[i] += more[i];
        }
        q->p->loops->store[q->p->dtype](cpu_ptr(&call->out[k]), cpu_single_bytes(q->p->dtype, 1),
                                        total, n);
    }
}

/* Dimensions of the call, those of the weights and those that are summed over, with steps of the partial sums, which
 * are of rows in C order, and of their segments. */
static void make_walks(const cpu_single_grad_plan *q, const ndp_call *call, cpu_walk *weights,
                       cpu_walk *sums)
{
    const ndp_norm *params = call->params;
    const ndp_view *x = &call->in[1];
    const int kept = x->ndim - params->n_reduced;
    const int end = q->way == CPU_SINGLE_COLUMNS ? kept : x->ndim - q->cut.dims;
    const int64_t bytes = cpu_single_bytes(q->p->dtype, 1);
    int64_t step[NDP_MAX_NDIM], next = CPU_SINGLE_PARTIAL;
    for (int d = end - 1; d >= 0; next *= x->shape[d], d--)
        step[d] = next;
    cpu_walk_begin(weights, WEIGHTS);
    cpu_walk_begin(sums, WEIGHTS);
    for (int d = 0; d < end; d++) {
        const int64_t steps[WEIGHTS] = {step[d], call->out[1].stride[d] * bytes,
                                        call->n_out > 2 ? call->out[2].stride[d] * bytes : 0};
        cpu_walk_add(call->out[1].shape[d] == 1 ? sums : weights, x->shape[d], steps);
    }
    cpu_walk_end(weights);
    cpu_walk_end(sums);
}

void cpu_single_weights(const cpu_single_grad_plan *q, const ndp_call *call)
{
    cpu_walk weights, sums;
    cpu_place w, at;
    if (q->way == CPU_SINGLE_LAYERS) {
        of_layers(q, call);
        return;
    }
    make_walks(q, call, &weights, &sums);
    cpu_place_seek(&w, &weights, 0);
    for (int64_t i = 0; i < weights.size; i++, cpu_place_step(&w, 1)) {
        double total[CPU_SINGLE_PARTIAL] = {0};
        cpu_place_seek(&at, &sums, 0);
        for (int64_t j = 0; j < sums.size; j++, cpu_place_step(&at, 1))
            for (int k = 0; k < CPU_SINGLE_PARTIAL; k++)
                total[k] += q->partial[w.offset[SUMS] + at.offset[SUMS] + k];
        for (uint32_t k = 1; k < call->n_out; k++)
            q->p->loops->store[q->p->dtype](
                (char *)cpu_ptr(&call->out[k]) + w.offset[WEIGHT + k - 1], 0, &total[k - 1], 1);
    }
}
