/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C21, C23: a pool whose segments come from a program's own allocator. */
#include <stdlib.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

typedef struct {
    int allocs, frees;
    int64_t in_use, largest;
    int refuse;
} ledger;

static void *take(void *ctx, int64_t nbytes, int32_t device, void *stream)
{
    ledger *l = ctx;
    void *p = NULL;
    (void)device;
    (void)stream;
    if (l->refuse || posix_memalign(&p, 4096, (size_t)nbytes) != 0)
        return NULL;
    l->allocs++;
    l->in_use += nbytes;
    l->largest = nbytes > l->largest ? nbytes : l->largest;
    return p;
}

static void give(void *ctx, void *p, int64_t nbytes, int32_t device, void *stream)
{
    ledger *l = ctx;
    (void)device;
    (void)stream;
    l->frees++;
    l->in_use -= nbytes;
    free(p);
}

static nd_array *full(int64_t n, nd_status want, const char *text)
{
    nd_array *a = NULL;
    is_int(nd_full(NULL, ND_F32, 1, &n, nd_int(7), &a), want, text);
    return a;
}

static void upstream(void)
{
    const nd_allocator_table table = {.size = sizeof table, .alloc = take, .free = give};
    ledger l = {0};
    nd_allocator *mine = NULL;
    nd_pool *pool = NULL;
    nd_scalar sum = {0};
    nd_array *total = NULL;
    is_int(nd_allocator_create(&table, &l, &mine), ND_OK, "C21 an allocator of the program's");
    const nd_pool_opts opts = {.size = sizeof opts, .upstream = mine};
    is_int(nd_pool_create(NULL, &opts, &pool), ND_OK, "C23 a pool over it");
    nd_allocator_release(mine); /* the pool holds it */
    is_int(nd_pool_push(pool), ND_OK, "its scope");
    nd_array *a = full(1000000, ND_OK, "an array in the pool"),
             *b = full(1000, ND_OK, "a small one, from a segment of its own kind");
    is_int(l.allocs, 2, "C23 two segments came from upstream");
    is_int(nd_pool_segments(pool), 2, "C23 as the pool says");
    ok(l.in_use == nd_pool_reserved_bytes(pool), "C24 and their bytes");
    is_int(nd_sum(a, NULL, &total), ND_OK, "the memory works");
    is_int(nd_item(total, &sum), ND_OK, "and is read");
    ok(sum.v.f == 7e6, "with what was written");
    nd_release(total);
    l.refuse = 1;
    ok(full(30000000, ND_ERR_MEMORY, "C21 NULL from upstream is out of memory") == NULL,
       "with no array");
    l.refuse = 0;
    is_int(nd_pool_pop(pool), ND_OK, "the scope's end");
    int before = l.allocs;
    nd_array *outside = full(3000000, ND_OK, "outside the scope");
    is_int(l.allocs, before, "C23 nothing comes from the pool");
    nd_release(outside);
    nd_pool_release(pool);
    ok(l.in_use > 0, "C23 memory stays while arrays are in it");
    nd_release(a);
    nd_release(b);
    is_int(l.frees, l.allocs, "C23 and goes back upstream with the last");
    ok(l.in_use == 0, "all bytes of it");
}

TAP_MAIN({"upstream", upstream})
