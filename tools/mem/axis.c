/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The axis of time. A program that queues work in a burst and then waits would leave nothing to see
 * on an even axis, so a pause longer than all the rest is shortened, and marked as such. */
#include <stdio.h>
#include <stdlib.h>
#include "tools/mem/mem.h"

static int64_t shown_total(const mem_axis *a)
{
    int64_t total = a->end_us - a->begin_us;
    for (int i = 0; i < a->n; i++)
        total -= a->pauses[i].to_us - a->pauses[i].from_us - a->pauses[i].shown_us;
    return total > 0 ? total : 1;
}

static int is_pause(const mem_axis *a, int64_t from)
{
    for (int i = 0; i < a->n; i++)
        if (a->pauses[i].from_us == from)
            return 1;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const mem_pause *p = a, *q = b;
    return p->from_us < q->from_us ? -1 : p->from_us > q->from_us;
}

void mem_axis_of(const mem_life *l, mem_axis *a)
{
    *a = (mem_axis){.begin_us = l->begin_us, .end_us = l->end_us};
    while (a->n < MEM_PAUSES && l->n_events > 8) {
        int64_t total = shown_total(a), longest = 0;
        size_t at = 0;
        for (size_t i = 0; i + 1 < l->n_events; i++) {
            int64_t gap = l->time_us[i + 1] - l->time_us[i];
            if (gap > longest && !is_pause(a, l->time_us[i])) {
                longest = gap;
                at = i;
            }
        }
        if (5 * longest < 2 * total)
            break;
        a->pauses[a->n++] = (mem_pause){.from_us = l->time_us[at], .to_us = l->time_us[at + 1]};
    }
    int64_t busy = shown_total(a); /* pauses have no length yet; each gets an eighth of the rest */
    for (int i = 0; i < a->n; i++)
        a->pauses[i].shown_us = busy / 8 + 1;
    qsort(a->pauses, (size_t)a->n, sizeof *a->pauses, by_time);
    a->shown_us = shown_total(a);
}

double mem_axis_at(const mem_axis *a, int64_t t)
{
    double x = (double)(t - a->begin_us);
    for (int i = 0; i < a->n && t > a->pauses[i].from_us; i++) {
        const mem_pause *p = &a->pauses[i];
        double length = (double)(p->to_us - p->from_us),
               in = t < p->to_us ? (double)(t - p->from_us) : length;
        x -= in * (1 - (double)p->shown_us / length);
    }
    return x / (double)a->shown_us;
}
