/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The debug allocator's patterns, in memory that the host may or may not touch, and the mistakes
 * that show in them. */
#include <stdio.h>
#include <stdlib.h>
#include "core/memory/plain/debug.h"

enum { CHUNK = 1 << 16 };

static char *segment_host(const nd_plain_block *b)
{
    return b->base.host ? b->base.host - b->base.offset : NULL;
}

/* Waits for a pattern to be written. A write is queued in the calling thread's stream, and whoever
 * looks at the pattern next may have another; a read waits until the write is done. */
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

/* Finds the first of n bytes that is not the pattern (n if all are) and its value. */
static nd_status find(const nd_plain *p, const nd_plain_block *b, uint64_t from, uint64_t n,
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

void nd__debug_mistake(nd_debug *d, const nd_plain_block *b, const char *what)
{
    char line[512], tag[ND_TRACE_TEXT + 16] = "no tag";
    const char *name = d->plain.base.device ? d->plain.base.device->name : "";
    if (b && b->tag[0])
        snprintf(tag, sizeof tag, "tag \"%s\"", b->tag);
    if (b)
        snprintf(line, sizeof line, "%s: %s, block of %llu bytes at 0x%llx, %s", name, what,
                 (unsigned long long)b->base.requested,
                 (unsigned long long)(b->address + b->base.offset), tag);
    else
        snprintf(line, sizeof line, "%s: %s", name, what);
    if (d->n_mistakes++ < ND_MOST_MISTAKES)
        nd__text_add(&d->mistakes, "%s\n", line);
    nd__log(ND_LOG_ERROR, "memory: %s", line);
}

static void check_range(nd_debug *d, nd_debug_block *r, uint64_t from, uint64_t n, int pattern,
                        const char *what)
{
    char text[160];
    uint64_t at;
    int value = 0;
    const nd_plain_block *b = &r->plain;
    if (r->reported || find(&d->plain, b, from, n, pattern, &at, &value) != ND_OK || at == n)
        return;
    r->reported = true;
    snprintf(text, sizeof text, "%s: byte %lld is 0x%02x", what,
             (long long)(from + at) - (long long)b->base.offset, (unsigned)value);
    nd__debug_mistake(d, b, text);
}

void nd__debug_check_zones(nd_debug *d, nd_debug_block *r)
{
    const nd_plain_block *b = &r->plain;
    uint64_t end = b->base.offset + b->base.requested;
    check_range(d, r, end, b->segment - end, ND_FILL_ZONE, "written past the end");
    check_range(d, r, 0, b->base.offset, ND_FILL_ZONE, "written before the beginning");
}

void nd__debug_check_freed(nd_debug *d, nd_debug_block *r)
{
    check_range(d, r, r->plain.base.offset, r->plain.base.requested, ND_FILL_FREED,
                "written after free");
    nd__debug_check_zones(d, r);
}
