/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading a snapshot: keys in any order, unknown ones skipped, as the format may grow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/mem/mem.h"
#include "tools/tool.h"

enum { MOST_DEVICES = 4096 };

static void *grown(void *list, size_t n, size_t size)
{
    bool full = n == 0 || (n >= 8 && (n & (n - 1)) == 0);
    void *p = full ? realloc(list, (n < 8 ? 8 : 2 * n) * size) : list;
    if (!p) {
        fprintf(stderr, "ndock: mem: out of memory\n");
        exit(1);
    }
    return p;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* true or false, by its first letter; nd__json_skip checks the rest. */
static bool truth(nd__json *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at))
        j->at++;
    bool yes = j->at < j->end && *j->at == 't';
    (void)nd__json_skip(j);
    return yes;
}

static int state_of(nd__json *j, const char *name)
{
    static const char *const states[] = {"active_allocated", "active_pending_free", "inactive"};
    for (int i = 0; i < MEM_STATES; i++)
        if (is(name, states[i]))
            return i;
    nd__json_fail(j, "the state of a block is none of active_allocated, active_pending_free and "
                     "inactive");
    return MEM_INACTIVE;
}

static mem_block read_block(nd__json *j)
{
    mem_block b = {.tag = "", .state = MEM_INACTIVE};
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        if (!nd__json_key(j, &key))
            break;
        if (is(key, "address"))
            b.address = json_read_count(j);
        else if (is(key, "size"))
            b.size = json_read_count(j);
        else if (is(key, "requested_size"))
            b.requested = json_read_count(j);
        else if (is(key, "state"))
            b.state = state_of(j, json_read_text(j));
        else if (is(key, "tag"))
            b.tag = json_read_text(j);
        else
            (void)nd__json_skip(j);
    }
    return b;
}

static void read_blocks(nd__json *j, mem_segment *s)
{
    int first = 1;
    uint64_t at = s->address;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        mem_block b = read_block(j);
        b.address = b.address ? b.address : at;
        at = b.address + b.size;
        s->blocks = grown(s->blocks, s->n, sizeof *s->blocks);
        s->blocks[s->n++] = b;
        s->bytes[b.state] += b.size;
    }
}

static uint64_t read_pool(nd__json *j)
{
    uint64_t last = 0;
    int first = 1;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first))
        last = json_read_count(j);
    return last;
}

static mem_segment read_segment(nd__json *j)
{
    mem_segment s = {0};
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        if (!nd__json_key(j, &key))
            break;
        if (is(key, "device"))
            s.device = (int)json_read_count(j);
        else if (is(key, "address"))
            s.address = json_read_count(j);
        else if (is(key, "total_size"))
            s.total = json_read_count(j);
        else if (is(key, "stream"))
            s.stream = json_read_count(j);
        else if (is(key, "segment_type"))
            s.large = is(json_read_text(j), "large");
        else if (is(key, "segment_pool_id"))
            s.pool = read_pool(j);
        else if (is(key, "is_expandable"))
            s.expandable = truth(j);
        else if (is(key, "blocks"))
            read_blocks(j, &s);
        else
            (void)nd__json_skip(j);
    }
    return s;
}

/* The device of a number; made when it is met first. */
static mem_device *device_of(nd__json *j, mem_snapshot *s, int number)
{
    for (size_t i = 0; i < s->n_devices; i++)
        if (s->devices[i].number == number)
            return &s->devices[i];
    if (number < 0 || s->n_devices >= MOST_DEVICES) {
        nd__json_fail(j, "more devices than there can be");
        return NULL;
    }
    s->devices = grown(s->devices, s->n_devices, sizeof *s->devices);
    mem_device *d = &s->devices[s->n_devices++];
    *d = (mem_device){.number = number, .name = "", .allocator = ""};
    return d;
}

static void read_segments(nd__json *j, mem_snapshot *out)
{
    int first = 1;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        mem_segment s = read_segment(j);
        mem_device *d = device_of(j, out, s.device);
        if (!d) {
            free(s.blocks);
            break;
        }
        d->segments = grown(d->segments, d->n_segments, sizeof *d->segments);
        d->segments[d->n_segments++] = s;
    }
}

static int action_of(const char *name)
{
    static const struct {
        const char *name;
        int action;
    } names[] = {{"alloc", MEM_ALLOC},
                 {"free_requested", MEM_FREE_REQUESTED},
                 {"free_completed", MEM_FREE_COMPLETED},
                 {"segment_alloc", MEM_SEGMENT_ALLOC},
                 {"segment_map", MEM_SEGMENT_ALLOC},
                 {"segment_free", MEM_SEGMENT_FREE},
                 {"segment_unmap", MEM_SEGMENT_FREE},
                 {"oom", MEM_OOM},
                 {"user", MEM_NOTE}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is(name, names[i].name))
            return names[i].action;
    return MEM_OTHER;
}

static mem_event read_event(nd__json *j)
{
    mem_event e = {.action = MEM_OTHER, .tag = "", .text = ""};
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        if (!nd__json_key(j, &key))
            break;
        if (is(key, "action"))
            e.action = action_of(json_read_text(j));
        else if (is(key, "addr"))
            e.address = json_read_count(j);
        else if (is(key, "size"))
            e.size = json_read_count(j);
        else if (is(key, "stream"))
            e.stream = json_read_count(j);
        else if (is(key, "time_us"))
            e.time_us = (int64_t)json_read_count(j);
        else if (is(key, "tag"))
            e.tag = json_read_text(j);
        else if (is(key, "text"))
            e.text = json_read_text(j);
        else
            (void)nd__json_skip(j);
    }
    return e;
}

/* One list a device, by its number. */
static void read_traces(nd__json *j, mem_snapshot *s)
{
    int first_list = 1;
    (void)nd__json_enter(j, '[');
    for (int k = 0; nd__json_next(j, '[', &first_list); k++) {
        mem_device *d = NULL;
        int first = 1;
        (void)nd__json_enter(j, '[');
        while (nd__json_next(j, '[', &first)) {
            mem_event e = read_event(j);
            if (!d && !(d = device_of(j, s, k)))
                return;
            d->events = grown(d->events, d->n_events, sizeof *d->events);
            d->events[d->n_events++] = e;
        }
    }
}

static void read_devices(nd__json *j, mem_snapshot *s)
{
    const char *key;
    int first_device = 1;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first_device)) {
        const char *name = "", *allocator = "";
        uint64_t memory = 0;
        int k = 0, first = 1;
        (void)nd__json_enter(j, '{');
        while (nd__json_next(j, '{', &first)) {
            if (!nd__json_key(j, &key))
                break;
            if (is(key, "device"))
                k = (int)json_read_count(j);
            else if (is(key, "name"))
                name = json_read_text(j);
            else if (is(key, "allocator"))
                allocator = json_read_text(j);
            else if (is(key, "memory_bytes"))
                memory = json_read_count(j);
            else
                (void)nd__json_skip(j);
        }
        mem_device *d = device_of(j, s, k);
        if (!d)
            return;
        d->name = name;
        d->allocator = allocator;
        d->memory = memory;
    }
}

static void read_settings(nd__json *j, mem_snapshot *s)
{
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        if (!nd__json_key(j, &key))
            break;
        if (is(key, "NDOCK_ALLOC_CONF"))
            s->settings = json_read_text(j);
        else
            (void)nd__json_skip(j);
    }
}

static void read_all(nd__json *j, mem_snapshot *s)
{
    const char *key;
    bool segments = false;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first)) {
        if (!nd__json_key(j, &key))
            break;
        segments |= is(key, "segments");
        if (is(key, "version"))
            s->version = json_read_text(j);
        else if (is(key, "time_us"))
            s->time_us = (int64_t)json_read_count(j);
        else if (is(key, "devices"))
            read_devices(j, s);
        else if (is(key, "segments"))
            read_segments(j, s);
        else if (is(key, "device_traces"))
            read_traces(j, s);
        else if (is(key, "allocator_settings"))
            read_settings(j, s);
        else
            (void)nd__json_skip(j);
    }
    (void)nd__json_end(j);
    if (!segments)
        nd__json_fail(j, "no \"segments\": this is not a snapshot of memory");
}

static int by_number(const void *a, const void *b)
{
    return ((const mem_device *)a)->number - ((const mem_device *)b)->number;
}

static int by_size(const void *a, const void *b)
{
    const mem_segment *s = a, *t = b;
    if (s->total != t->total)
        return s->total > t->total ? -1 : 1;
    return s->address < t->address ? -1 : s->address > t->address;
}

int mem_read(const char *path, mem_snapshot *s)
{
    nd__json j;
    size_t n;
    *s = (mem_snapshot){.version = "", .settings = ""};
    s->text = tool_read_file("ndock: mem", path, &n);
    if (!s->text)
        return 1;
    if (n >= 2 && (unsigned char)s->text[0] == 0x80) {
        fprintf(stderr, "ndock: mem: %s is a pickle; save the snapshot as JSON\n", path);
        return 1;
    }
    s->arena = malloc(n + 1);
    if (!s->arena) {
        fprintf(stderr, "ndock: mem: out of memory\n");
        return 1;
    }
    nd__json_start(&j, s->text, n, s->arena);
    read_all(&j, s);
    if (j.error) {
        fprintf(stderr, "ndock: mem: %s, byte %zu: %s\n", path, j.error_at, j.error);
        return 1;
    }
    if (s->n_devices)
        qsort(s->devices, s->n_devices, sizeof *s->devices, by_number);
    for (size_t i = 0; i < s->n_devices; i++)
        if (s->devices[i].n_segments)
            qsort(s->devices[i].segments, s->devices[i].n_segments, sizeof(mem_segment), by_size);
    return 0;
}

void mem_free(mem_snapshot *s)
{
    for (size_t i = 0; i < s->n_devices; i++) {
        for (size_t k = 0; k < s->devices[i].n_segments; k++)
            free(s->devices[i].segments[k].blocks);
        free(s->devices[i].segments);
        free(s->devices[i].events);
    }
    free(s->devices);
    free(s->text);
    free(s->arena);
}
