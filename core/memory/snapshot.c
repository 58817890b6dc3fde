/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Snapshots: the form of segments and blocks, the JSON of everything, and the file of it. The keys
 * are those of PyTorch's snapshots, so that its viewer opens ours; schema, devices, requested
 * device names and tags are added. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "core/io/file.h"
#include "core/memory/pickle.h"

enum { DEFAULT_TRACE = 100000 }; /* events, with NDOCK_MEMORY_SNAPSHOT */

/* ---- the form ---- */
void nd__text_json(nd_text *t, const char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    nd__text_add(t, "\"");
    for (const char *p = text; *p;) {
        size_t plain = 0;
        while ((unsigned char)p[plain] >= 0x20 && p[plain] != '"' && p[plain] != '\\')
            plain++;
        if (plain) {
            nd__text_add(t, "%.*s", (int)plain, p);
            p += plain;
            continue;
        }
        if (!*p)
            break;
        const char *found = strchr(from, *p);
        if (found)
            nd__text_add(t, "\\%c", to[found - from]);
        else
            nd__text_add(t, "\\u%04x", (unsigned char)*p);
        p++;
    }
    nd__text_add(t, "\"");
}

static void comma(nd_text *t)
{
    if (t->len && t->data[t->len - 1] != '[')
        nd__text_add(t, ",");
    nd__text_add(t, "\n");
}

static int number_of(const nd_device *device)
{
    return device ? device->ordinal : 0;
}

void nd__snapshot_segment_begin(nd_text *t, const nd_snapshot_segment *s)
{
    if (t->len && t->data[t->len - 1] != '[')
        nd__text_add(t, ",\n");
    nd__text_add(t, "{\"device\": %d, \"address\": %llu, \"total_size\": %llu, ",
                 number_of(s->device), (unsigned long long)s->address,
                 (unsigned long long)s->total);
    nd__text_add(t, "\"allocated_size\": %llu, \"active_size\": %llu, \"requested_size\": %llu, ",
                 (unsigned long long)s->allocated, (unsigned long long)s->active,
                 (unsigned long long)s->requested);
    nd__text_add(t,
                 "\"stream\": %llu, \"segment_type\": \"%s\", \"segment_pool_id\": [0, %llu], "
                 "\"is_expandable\": %s, \"frames\": [], \"blocks\": [",
                 (unsigned long long)s->stream, s->large ? "large" : "small",
                 (unsigned long long)s->pool, s->expandable ? "true" : "false");
}

void nd__snapshot_block(nd_text *t, uint64_t address, uint64_t nbytes, uint64_t requested,
                        int32_t state, const char *tag)
{
    static const char *const states[] = {"active_allocated", "active_pending_free", "inactive"};
    comma(t);
    nd__text_add(t,
                 " {\"address\": %llu, \"size\": %llu, \"requested_size\": %llu, \"state\": "
                 "\"%s\", \"frames\": [], \"tag\": ",
                 (unsigned long long)address, (unsigned long long)nbytes,
                 (unsigned long long)requested, states[state]);
    nd__text_json(t, tag ? tag : "");
    nd__text_add(t, "}");
}

void nd__snapshot_segment_end(nd_text *t)
{
    nd__text_add(t, "]}");
}
