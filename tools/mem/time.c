/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From a trace of events to the lives of blocks: when each was there, and what was live at the
 * peak. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/mem/mem.h"

enum { NO_TAG = 9, OTHER_TAGS = 10 }; /* colours; both are greys */
enum { SINGLES = 400 };               /* blocks that are drawn one by one; the others by group */

/* Open spans by address: open addressing, sized for the events. */
typedef struct {
    uint64_t *address;
    size_t *span; /* index + 1; 0: empty */
    size_t mask;
} open_map;

static size_t *slot(open_map *m, uint64_t address)
{
    size_t i = (size_t)((address * 0x9E3779B97F4A7C15u) >> 20) & m->mask;
    while (m->span[i] && m->address[i] != address)
        i = (i + 1) & m->mask;
    m->address[i] = address;
    return &m->span[i];
}

/* An address keeps its slot; SIZE_MAX there: no span is open. */
static mem_span *opened(mem_life *l, open_map *m, uint64_t address)
{
    size_t i = *slot(m, address);
    return i && i != SIZE_MAX ? &l->spans[i - 1] : NULL;
}

static void open_span(mem_life *l, open_map *m, const mem_span *span)
{
    *slot(m, span->address) = l->n_spans + 1;
    l->spans[l->n_spans++] = *span;
}

/* Spans that were there before the trace are born at event 0. */
static void follow(const mem_device *d, mem_life *l, open_map *m)
{
    for (size_t i = 0; i < d->n_events; i++) {
        const mem_event *e = &d->events[i];
        size_t now = i + 1;
        mem_span *s;
        if (e->action == MEM_ALLOC) {
            if ((s = opened(l, m, e->address)) != NULL)
                s->death = s->requested ? s->requested : now; /* its end is not in the trace */
            open_span(l, m,
                      &(mem_span){.address = e->address,
                                  .size = e->size,
                                  .stream = e->stream,
                                  .tag = e->tag,
                                  .birth = now,
                                  .death = SIZE_MAX});
        } else if (e->action == MEM_FREE_REQUESTED || e->action == MEM_FREE_COMPLETED) {
            if (!opened(l, m, e->address))
                open_span(l, m,
                          &(mem_span){.address = e->address,
                                      .size = e->size,
                                      .stream = e->stream,
                                      .tag = "",
                                      .death = SIZE_MAX});
            s = opened(l, m, e->address);
            s->requested = s->requested ? s->requested : now;
            if (e->action == MEM_FREE_COMPLETED) {
                s->death = now;
                *slot(m, e->address) = SIZE_MAX;
            }
        }
    }
}

/* Blocks of the snapshot that the trace does not know were there before it; those that it knows
 * have their tags from it. What was to be freed and is in no segment any more has been. */
static void add_blocks(const mem_device *d, mem_life *l, open_map *m)
{
    size_t traced = l->n_spans;
    for (size_t i = 0; i < d->n_segments; i++)
        for (size_t k = 0; k < d->segments[i].n; k++) {
            mem_block *b = &d->segments[i].blocks[k];
            mem_span *s = b->state == MEM_INACTIVE ? NULL : opened(l, m, b->address);
            if (s) {
                b->tag = b->tag[0] ? b->tag : s->tag;
                s->requested = b->state == MEM_PENDING ? 0 : s->requested;
            } else if (b->state != MEM_INACTIVE) {
                open_span(l, m,
                          &(mem_span){.address = b->address,
                                      .size = b->size,
                                      .stream = d->segments[i].stream,
                                      .tag = b->tag,
                                      .death = SIZE_MAX});
            }
        }
    for (size_t i = 0; i < traced; i++)
        if (l->spans[i].death == SIZE_MAX && l->spans[i].requested)
            l->spans[i].death = l->spans[i].requested;
}

static int by_birth(const void *a, const void *b)
{
    const mem_span *s = a, *t = b;
    if (s->birth != t->birth)
        return s->birth < t->birth ? -1 : 1;
    if (s->size != t->size)
        return s->size > t->size ? -1 : 1;
    return s->address < t->address ? -1 : s->address > t->address;
}

static void add_totals(mem_life *l)
{
    for (size_t i = 0; i < l->n_spans; i++) {
        const mem_span *s = &l->spans[i];
        l->total[s->birth] += s->size;
        if (s->death < l->n_events)
            l->total[s->death] -= s->size; /* wraps, and back when summed */
    }
    for (size_t i = 1; i < l->n_events; i++) {
        l->total[i] += l->total[i - 1];
        if (l->total[i] > l->total[l->peak])
            l->peak = i;
    }
}

/* Backwards from what is reserved now. */
static void add_reserved(const mem_device *d, mem_life *l)
{
    mem_sums sums;
    mem_sum(d, &sums);
    uint64_t now = sums.reserved;
    for (size_t i = d->n_events; i-- > 0;) {
        const mem_event *e = &d->events[i];
        l->reserved[i + 1] = now;
        if (e->action == MEM_SEGMENT_ALLOC)
            now = now > e->size ? now - e->size : 0;
        else if (e->action == MEM_SEGMENT_FREE)
            now += e->size;
    }
    l->reserved[0] = now;
}

/* ---- groups: tags, or classes of size where nothing has a tag ---- */
static bool at_peak(const mem_life *l, const mem_span *s)
{
    return s->birth <= l->peak && l->peak < s->death;
}

static int by_weight(const void *a, const void *b)
{
    const mem_group *g = a, *h = b;
    if (g->at_peak != h->at_peak)
        return g->at_peak > h->at_peak ? -1 : 1;
    return g->highest > h->highest ? -1 : g->highest < h->highest;
}

/* All tags with their bytes, heaviest first; malloc'ed. */
static mem_group *all_tags(const mem_life *l, size_t *n)
{
    enum { MOST_TAGS = 4096 };
    mem_group *g = calloc(MOST_TAGS, sizeof *g);
    *n = 0;
    for (size_t i = 0; g && i < l->n_spans; i++) {
        const mem_span *s = &l->spans[i];
        size_t k = 0;
        while (k < *n && strcmp(g[k].name, s->tag) != 0)
            k++;
        if (k == MOST_TAGS)
            continue;
        if (k == *n)
            g[(*n)++].name = s->tag;
        g[k].at_peak += at_peak(l, s) ? s->size : 0;
        g[k].highest += s->size;
    }
    if (g)
        qsort(g, *n, sizeof *g, by_weight);
    return g;
}

static int group_of_tag(mem_life *l, const char *tag)
{
    for (int k = 0; k < l->n_groups; k++)
        if (strcmp(l->groups[k].name, tag) == 0)
            return k;
    return MEM_GROUPS - 1;
}

static int group_of_size(uint64_t size)
{
    int k = 0;
    for (uint64_t limit = 4096; k < 5 && size > limit; limit *= 16)
        k++;
    return k;
}

static bool group_by_tag(mem_life *l)
{
    size_t n;
    mem_group *tags = all_tags(l, &n);
    if (!tags)
        return false;
    for (size_t k = 0; k < n && k < MEM_GROUPS - 1; k++)
        l->groups[l->n_groups++] = tags[k];
    if (n >= MEM_GROUPS)
        l->groups[l->n_groups++] = (mem_group){.name = "other tags"};
    free(tags);
    return true;
}

static void group_by_size(mem_life *l)
{
    static const char *const names[] = {"up to 4 KiB",  "up to 64 KiB",  "up to 1 MiB",
                                        "up to 16 MiB", "up to 256 MiB", "over 256 MiB"};
    for (l->n_groups = 0; l->n_groups < 6; l->n_groups++)
        l->groups[l->n_groups].name = names[l->n_groups];
}

static void add_groups(mem_life *l)
{
    for (size_t i = 0; i < l->n_spans; i++)
        l->by_tag |= l->spans[i].tag[0] != 0;
    if (!l->by_tag || !group_by_tag(l))
        group_by_size(l);
    for (int k = 0, colour = 0; k < l->n_groups; k++) {
        mem_group *g = &l->groups[k];
        g->at_peak = g->highest = 0;
        g->colour = !g->name[0] ? NO_TAG : k == MEM_GROUPS - 1 ? OTHER_TAGS : colour++;
        g->text = g->name[0] ? g->name : "no tag";
    }
    for (size_t i = 0; i < l->n_spans; i++) {
        mem_span *s = &l->spans[i];
        s->group = l->by_tag ? group_of_tag(l, s->tag) : group_of_size(s->size);
        l->groups[s->group].at_peak += at_peak(l, s) ? s->size : 0;
        l->groups[s->group].highest += s->size;
    }
}

/* ---- which blocks are worth a band of their own: size times duration ---- */
static const mem_life *ranked;
static double area(const mem_span *s)
{
    int64_t from = ranked->time_us[s->birth],
            to = s->death < ranked->n_events ? ranked->time_us[s->death] : ranked->end_us;
    return (double)s->size * (double)(to - from + 1);
}
static int by_area(const void *a, const void *b)
{
    double x = area(*(mem_span *const *)a), y = area(*(mem_span *const *)b);
    return x > y ? -1 : x < y;
}

static int choose_singles(mem_life *l)
{
    mem_span **order = malloc((l->n_spans + 1) * sizeof *order);
    if (!order)
        return 1;
    for (size_t i = 0; i < l->n_spans; i++)
        order[i] = &l->spans[i];
    ranked = l;
    qsort(order, l->n_spans, sizeof *order, by_area);
    for (size_t i = 0; i < l->n_spans && i < SINGLES; i++)
        order[i]->single = true;
    free(order);
    return 0;
}

static void add_times(const mem_snapshot *s, const mem_device *d, mem_life *l)
{
    const int64_t longest = (int64_t)1 << 46; /* two years; a file may say anything */
    l->begin_us = d->n_events ? d->events[0].time_us : s->time_us;
    l->begin_us = l->begin_us > INT64_MAX - 2 * longest ? 0 : l->begin_us;
    l->time_us[0] = l->begin_us;
    for (size_t i = 0; i < d->n_events; i++) {
        int64_t t = d->events[i].time_us;
        t = t > l->begin_us + longest ? l->begin_us + longest : t;
        l->time_us[i + 1] = t > l->time_us[i] ? t : l->time_us[i];
    }
    l->end_us = l->time_us[d->n_events];
    if (l->end_us <= l->begin_us)
        l->end_us = l->begin_us + 1;
}

int mem_life_of(const mem_snapshot *s, const mem_device *d, mem_life *l)
{
    size_t blocks = 0, cells = 16;
    *l = (mem_life){.n_events = d->n_events + 1};
    for (size_t i = 0; i < d->n_segments; i++)
        blocks += d->segments[i].n;
    while (cells < 2 * (d->n_events + blocks) + 2)
        cells *= 2;
    open_map m = {.address = calloc(cells, sizeof *m.address),
                  .span = calloc(cells, sizeof *m.span),
                  .mask = cells - 1};
    l->spans = calloc(d->n_events + blocks + 1, sizeof *l->spans);
    l->time_us = calloc(l->n_events, sizeof *l->time_us);
    l->total = calloc(l->n_events, sizeof *l->total);
    l->reserved = calloc(l->n_events, sizeof *l->reserved);
    int failed = !m.address || !m.span || !l->spans || !l->time_us || !l->total || !l->reserved;
    if (!failed) {
        add_times(s, d, l);
        follow(d, l, &m);
        add_blocks(d, l, &m);
        qsort(l->spans, l->n_spans, sizeof *l->spans, by_birth);
        add_totals(l);
        add_reserved(d, l);
        add_groups(l);
        failed = choose_singles(l);
    }
    free(m.address);
    free(m.span);
    return failed;
}

void mem_life_free(mem_life *l)
{
    free(l->spans);
    free(l->time_us);
    free(l->total);
    free(l->reserved);
}
