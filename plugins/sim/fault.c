/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Planted faults: calls that fail, operations that fault or take long. */
#include <stdlib.h>
#include "simulator.h"

int32_t sim_plan_add(ndp_dev *dev, sim_plan plan)
{
    sim_plan *p = malloc(sizeof *p), **end = &dev->plans;
    if (!p)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a planted fault");
    *p = plan;
    p->next = NULL;
    while (*end)
        end = &(*end)->next;
    *end = p;
    return NDP_OK;
}

void sim_plans_clear(ndp_dev *dev)
{
    while (dev->plans) {
        sim_plan *p = dev->plans;
        dev->plans = p->next;
        free(p);
    }
}

static int32_t is_due(sim_plan *p, int32_t concerned)
{
    return concerned && --p->k == 0;
}

static void drop(sim_plan **at)
{
    sim_plan *p = *at;
    *at = p->next;
    free(p);
}

int32_t sim_planned_failure(ndp_dev *dev, int32_t entry)
{
    int32_t status = NDP_OK;
    for (sim_plan **at = &dev->plans; *at;) {
        sim_plan *p = *at;
        if (!is_due(p, p->what == SIM_PLAN_CALL && p->entry == entry)) {
            at = &p->next;
            continue;
        }
        if (status == NDP_OK)
            status = sim_fail(p->status, p->native,
                              "sim:%d: this call of %s was told to fail with code %lld", dev->index,
                              sim_entry_name(entry), (long long)p->native);
        drop(at);
    }
    return status;
}

void sim_plan_op(sim_queue *q, sim_op *op)
{
    for (sim_plan **at = &q->dev->plans; *at;) {
        sim_plan *p = *at;
        if (!is_due(p, p->what != SIM_PLAN_CALL && (!p->stream || p->stream == q->id))) {
            at = &p->next;
            continue;
        }
        if (p->what == SIM_PLAN_FAULT) {
            op->faulty = 1;
            op->sticky = p->sticky;
            op->native = p->native;
        } else {
            op->cost = p->ticks;
            op->real_us = p->real_us;
        }
        drop(at);
    }
}
