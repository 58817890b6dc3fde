/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock mem`: a snapshot of memory as read from its file, and what draws it. */
#ifndef NDOCK_TOOL_MEM_H
#define NDOCK_TOOL_MEM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/text.h"

enum { MEM_ALLOCATED, MEM_PENDING, MEM_INACTIVE, MEM_STATES };
enum {
    MEM_ALLOC,
    MEM_FREE_REQUESTED,
    MEM_FREE_COMPLETED,
    MEM_SEGMENT_ALLOC,
    MEM_SEGMENT_FREE,
    MEM_OOM,
    MEM_NOTE,
    MEM_OTHER
};
/* Texts point into the file's text (mem_snapshot.arena); never NULL. */
typedef struct {
    uint64_t address, size, requested;
    int state;
    const char *tag;
} mem_block;
typedef struct {
    int device;
    uint64_t address, total, stream, pool;
    bool large, expandable;
    mem_block *blocks;
    size_t n;
    uint64_t bytes[MEM_STATES];
} mem_segment;
typedef struct {
    int action;
    uint64_t address, size, stream;
    int64_t time_us;
    const char *tag, *text;
} mem_event;
typedef struct {
    int number;
    const char *name, *allocator;
    uint64_t memory;
    mem_segment *segments; /* largest first */
    size_t n_segments;
    mem_event *events;
    size_t n_events;
} mem_device;
typedef struct {
    const char *version, *settings;
    int64_t time_us;
    mem_device *devices;
    size_t n_devices;
    char *text, *arena;
} mem_snapshot;

/* read.c. 0, or 1 after a message; mem_free is fine either way. */
int mem_read(const char *path, mem_snapshot *out);
void mem_free(mem_snapshot *s);

/* sum.c */
typedef struct {
    uint64_t reserved, allocated, pending, inactive, inactive_split, requested, largest_free;
    size_t blocks[MEM_STATES];
    double fragmentation; /* of the free bytes, the part outside the largest piece; 0 to 1 */
} mem_sums;
void mem_sum(const mem_device *d, mem_sums *out);
/* "1.50 GiB" into a buffer that lives until the eighth call after. */
const char *mem_size(double bytes);
const char *mem_number(double value, int digits); /* with thin spaces; lives as long */
/* A step for round ticks, so that at most n of them reach limit: powers of two of bytes, or 1, 2, 5
 * times a power of ten. */
double mem_byte_step(double limit, int n);
double mem_step(double limit, int n);

/* time.c: the device's life from its trace. */
typedef struct {
    uint64_t address, size, stream;
    const char *tag;
    size_t birth, death; /* alive after event i if birth <= i < death */
    size_t requested;    /* event of its free_requested; 0: none */
    int group;
    bool single; /* drawn by itself */
} mem_span;
typedef struct {
    const char *name, *text; /* text: for people */
    uint64_t at_peak, highest;
    int colour; /* class g0, g1 ... of the picture */
} mem_group;
enum { MEM_GROUPS = 10 }; /* the last one: tags beyond the colours */
typedef struct {
    mem_span *spans; /* by birth */
    size_t n_spans;
    size_t n_events;  /* of allocations and frees; event 0 is the beginning */
    int64_t *time_us; /* of each */
    uint64_t *total;  /* live bytes after each */
    uint64_t *reserved;
    size_t peak;
    int64_t begin_us, end_us;
    bool by_tag;
    mem_group groups[MEM_GROUPS];
    int n_groups;
} mem_life;
int mem_life_of(const mem_snapshot *s, const mem_device *d, mem_life *out); /* 1: no memory */
void mem_life_free(mem_life *life);

/* axis.c: from times to 0 ... 1. */
enum { MEM_PAUSES = 12 };
typedef struct {
    int64_t from_us, to_us, shown_us; /* nothing happened; shortened to shown_us */
} mem_pause;
typedef struct {
    int64_t begin_us, end_us, shown_us;
    mem_pause pauses[MEM_PAUSES]; /* in order */
    int n;
} mem_axis;
void mem_axis_of(const mem_life *life, mem_axis *out);
double mem_axis_at(const mem_axis *axis, int64_t time_us);

/* draw.c, chart.c: SVG. */
#define MEM_WIDTH 1200
#define MEM_MARGIN 36
void mem_draw(const mem_snapshot *s, bool html, nd_text *out);
/* From y down; returns the y where it ends. */
double mem_draw_chart(const mem_device *d, const mem_life *life, double y, nd_text *out);
void mem_text(nd_text *out, const char *text);                    /* escaped */
const char *mem_cut(const char *text, double width, double size); /* ends in "…" where too wide */
#endif
