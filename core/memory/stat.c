/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arithmetic on memory statistics. */
#include "core/memory/memory.h"

/* The records of four counts each, from allocation to workspace_bytes, are treated as one array. */
#define FIRST_STAT offsetof(nd_memory_stats, allocation)
#define STATS ((offsetof(nd_memory_stats, num_alloc_retries) - FIRST_STAT) / sizeof(nd_memory_stat))
#define FIRST_COUNT offsetof(nd_memory_stats, num_alloc_retries)
#define COUNTS ((offsetof(nd_memory_stats, max_split_size) - FIRST_COUNT) / sizeof(int64_t))

static nd_memory_stat *stat_at(nd_memory_stats *s, size_t i)
{
    return (nd_memory_stat *)((char *)s + FIRST_STAT) + i;
}

static int64_t *count_at(nd_memory_stats *s, size_t i)
{
    return (int64_t *)((char *)s + FIRST_COUNT) + i;
}

void nd__stat_reset(nd_memory_stat *kept, bool peak, bool accumulated)
{
    if (peak)
        kept->peak = nd__stat_now(kept);
    if (accumulated) {
        kept->current = nd__stat_now(kept);
        kept->freed = 0;
        kept->allocated = -kept->current;
    }
}

void nd__stats_read(const nd_memory_stats *kept, nd_memory_stats *out)
{
    *out = *kept;
    for (size_t i = 0; i < STATS; i++)
        *stat_at(out, i) = nd__stat_read(stat_at(out, i));
}

void nd__stats_reset(nd_memory_stats *s, bool peak, bool accumulated)
{
    for (size_t i = 0; i < STATS; i++)
        nd__stat_reset(stat_at(s, i), peak, accumulated);
    for (size_t i = 0; accumulated && i < COUNTS; i++)
        *count_at(s, i) = 0;
    if (accumulated)
        s->garbage_collections = 0;
}

void nd__stats_sum(nd_memory_stats *sum, const nd_memory_stats *s)
{
    nd_memory_stats other = *s;
    for (size_t i = 0; i < STATS; i++) {
        nd_memory_stat *to = stat_at(sum, i), *from = stat_at(&other, i);
        to->current += from->current;
        to->peak += from->peak;
        to->allocated += from->allocated;
        to->freed += from->freed;
    }
    for (size_t i = 0; i < COUNTS; i++)
        *count_at(sum, i) += *count_at(&other, i);
    sum->garbage_collections += s->garbage_collections;
}
