/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * An allocator as it is written for PyTorch (the pair), and the same as a table; built as a shared
 * object of its own that knows nothing of the library but the table's layout. */
#include <stdlib.h>
#include <sys/types.h>
#include <ndock/memory.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT extern struct pair_record {
    int allocs, frees, device, inits, records, pools;
    long long last_size, in_use, refuse_above;
    void *stream;
} pair_record;
struct pair_record pair_record;

EXPORT void *my_malloc(ssize_t size, int device, void *stream);
EXPORT void my_free(void *ptr, ssize_t size, int device, void *stream);
void *my_malloc(ssize_t size, int device, void *stream)
{
    pair_record.allocs++;
    pair_record.device = device;
    pair_record.stream = stream;
    pair_record.last_size = size;
    if (pair_record.refuse_above && pair_record.in_use + size > pair_record.refuse_above)
        return NULL;
    pair_record.in_use += size;
    return malloc((size_t)size);
}
void my_free(void *ptr, ssize_t size, int device, void *stream)
{
    pair_record.frees++;
    pair_record.device = device;
    pair_record.stream = stream;
    pair_record.in_use -= size;
    free(ptr);
}

static void *table_alloc(void *ctx, int64_t nbytes, int32_t device, void *stream)
{
    (void)ctx;
    return my_malloc((ssize_t)nbytes, device, stream);
}
static void table_free(void *ctx, void *ptr, int64_t nbytes, int32_t device, void *stream)
{
    (void)ctx;
    my_free(ptr, (ssize_t)nbytes, device, stream);
}
static int32_t table_init(void *ctx, int32_t count)
{
    (void)ctx;
    pair_record.inits += count;
    return 0;
}
static void table_record(void *ctx, void *ptr, void *stream)
{
    (void)ctx;
    (void)ptr;
    pair_record.records++;
    pair_record.stream = stream;
}
static int32_t table_stats(void *ctx, int32_t device, uint64_t *allocated, uint64_t *reserved)
{
    (void)ctx;
    (void)device;
    *allocated = (uint64_t)pair_record.in_use;
    *reserved = 1 << 20;
    return 0;
}
static int32_t table_begin(void *ctx, int32_t device, uint64_t pool)
{
    (void)ctx;
    (void)device;
    pair_record.pools += (int)pool;
    return 0;
}
static int32_t table_end(void *ctx, int32_t device, uint64_t pool)
{
    (void)ctx;
    (void)device;
    (void)pool;
    return 5;
}
EXPORT extern const nd_allocator_table my_table;
const nd_allocator_table my_table = {.size = sizeof my_table,
                                     .alloc = table_alloc,
                                     .free = table_free,
                                     .init = table_init,
                                     .record_stream = table_record,
                                     .stats = table_stats,
                                     .begin_pool = table_begin,
                                     .end_pool = table_end};
EXPORT extern const nd_allocator_table my_short_table;
const nd_allocator_table my_short_table = {.size = 16, .alloc = table_alloc, .free = table_free};
