/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The debug allocator's patterns, in memory that the host may or may not touch. */
#include <stdlib.h>
#include "core/memory/plain/debug.h"

enum { CHUNK = 1 << 16 };

static char *segment_host(const nd_plain_block *b)
{
    return b->base.host ? b->base.host - b->base.offset : NULL;
}

/* A write is queued in the calling thread's stream, and whoever looks at the pattern next may have
 * another: a read waits until it is there. */
static nd_status wait_for_write(const nd_plain *p, const nd_plain_block *b, uint64_t end)
{
    char last;
    return nd__mem_read(p->base.device, b->base.mem, end - 1, &last, 1);
}

nd_status nd__debug_fill(const nd_plain *p, const nd_plain_block *b, uint64_t from, uint64_t n,
                         int pattern)
{
    char *host = segment_host(b);
    nd_status status = ND_OK;
    if (host) {
        memset(host + from, pattern, n);
        return ND_OK;
    }
    size_t room = n < CHUNK ? (size_t)n : CHUNK;
    char *chunk = malloc(room ? room : 1);
    if (!chunk)
        return nd__fail(ND_ERR_MEMORY, "debug", -1, "no %zu bytes for a pattern", room);
    memset(chunk, pattern, room);
    for (uint64_t i = 0; i < n && status == ND_OK; i += room) {
        uint64_t part = n - i < room ? n - i : room;
        status = nd__mem_write(p->base.device, b->base.mem, from + i, chunk, part);
    }
    free(chunk);
    return status == ND_OK && n ? wait_for_write(p, b, from + n) : status;
}

static uint64_t first_other(const char *bytes, uint64_t n, int pattern)
{
    uint64_t i = 0;
    while (i < n && (unsigned char)bytes[i] == pattern)
        i++;
    return i;
}

nd_status nd__debug_find(const nd_plain *p, const nd_plain_block *b, uint64_t from, uint64_t n,
                         int pattern, uint64_t *at, int *value)
{
    const char *host = segment_host(b);
    nd_status status = ND_OK;
    *at = n;
    if (host) {
        *at = first_other(host + from, n, pattern);
        *value = *at < n ? (unsigned char)host[from + *at] : 0;
        return ND_OK;
    }
    char *chunk = malloc(CHUNK);
    if (!chunk)
        return nd__fail(ND_ERR_MEMORY, "debug", -1, "no %d bytes to look at memory", (int)CHUNK);
    for (uint64_t i = 0; i < n && status == ND_OK && *at == n; i += CHUNK) {
        uint64_t part = n - i < CHUNK ? n - i : CHUNK;
        status = nd__mem_read(p->base.device, b->base.mem, from + i, chunk, part);
        uint64_t found = status == ND_OK ? first_other(chunk, part, pattern) : part;
        if (found < part) {
            *at = i + found;
            *value = (unsigned char)chunk[found];
        }
    }
    free(chunk);
    return status;
}
