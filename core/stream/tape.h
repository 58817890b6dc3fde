/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Tapes: what was queued in a capture, call by call, in an order that respects all dependencies.
 * Beside the graph that a plug-in makes, a tape says what is in it; on devices that capture
 * nothing, the tape is the graph, and is played. */
#ifndef NDOCK_CORE_TAPE_H
#define NDOCK_CORE_TAPE_H
#include "core/stream/streams.h"

enum {
    ND_NODE_KERNEL, /* kernel and call */
    ND_NODE_COPY,   /* nbytes from one block to another */
    ND_NODE_HOST,   /* fn(arg) */
    ND_NODE_OTHER   /* known by its name alone; only in captures of a plug-in */
};

typedef struct {
    int32_t kind;
    const char *name; /* immortal */
    char tag[ND_TAG_SIZE];
    uint32_t member;            /* of the tape: whose stream it was queued on */
    uint32_t *before, n_before; /* the nodes that this one comes after, by number */
    uint64_t first, count;      /* of the plug-in's own nodes, where it counts them */
    const ndp_kernel *kernel;   /* KERNEL */
    ndp_call call;              /* its pointees are in the node's own memory */
    ndp_mem *dst, *src;         /* COPY */
    uint64_t dst_offset, src_offset, nbytes;
    void (*fn)(void *arg);        /* HOST */
    nd_status (*step)(void *arg); /* HOST, in the place of fn, on devices that queue nothing */
    void *arg;
} nd_node;

/* A stream in the capture, and the nodes that its next one comes after. */
typedef struct {
    nd_stream *stream; /* retained until the capture has ended; then NULL */
    uint64_t id;
    uint32_t *tail, n_tail;
} nd_tape_member;

/* Counted by the capture, by the graph, and by events that were recorded in it. */
typedef struct nd_tape {
    atomic_int refs;
    pthread_mutex_t lock; /* of what follows */
    nd_device *device;
    uint64_t id;  /* of the capture */
    bool native;  /* the plug-in captures as well, so that calls are queued after all */
    bool grows;   /* the capture takes memory from the device where it lacks some */
    bool weak;    /* the graph keeps no arrays */
    bool no_pool; /* what is allocated meanwhile is everybody's, so that it is kept */
    bool reports; /* some node leaves bad indices in a status word */
    bool ended;
    const char *offence; /* the first operation that the plug-in refused; immortal; NULL: none */
    nd_node **node;
    uint32_t n, room;
    nd_tape_member *member; /* the first is where the capture began */
    uint32_t n_members;
    void **kept; /* storages, each with a reference that drop gives up */
    uint32_t n_kept, kept_room;
    void (*drop)(void *kept);
} nd_tape;

/* How many captures are underway in the process: nothing below matters while there are none. */
extern atomic_int nd__captures;
static inline bool nd__captures_now(void)
{
    return atomic_load_explicit(&nd__captures, memory_order_acquire) != 0;
}
/* What is allocated or computed on the device has a stream to go to, or a capture to be noted in: the
 * one question of the fast path. */
static inline bool nd__is_noted(const nd_device *d)
{
    return atomic_load_explicit(&d->noted, memory_order_acquire) != 0;
}
/* The tape of the capture that the stream is in; NULL: none that ndock knows of. */
static inline nd_tape *nd__tape_of(const nd_stream *s)
{
    return s ? atomic_load_explicit(&s->tape, memory_order_acquire) : NULL;
}
/* Whether what is queued on the stream goes to a tape alone. */
static inline bool nd__is_recorded(const nd_stream *s)
{
    const nd_tape *t = nd__tape_of(s);
    return t && !t->native;
}
/* The same of the calling thread's stream, on devices that queue nothing as well. */
nd_tape *nd__tape_here(nd_device *device);

nd_tape *nd__tape_new(nd_device *device, bool native); /* NULL: no memory */
nd_tape *nd__tape_retain(nd_tape *t);
void nd__tape_release(nd_tape *t); /* NULL is fine */

/* Adds what was queued on s, which is in the capture. The errors are of memory alone. */
nd_status nd__tape_kernel(nd_tape *t, nd_stream *s, const ndp_kernel *k, const ndp_call *call,
                          nd_node **out);
/* first: how many nodes the plug-in had before. */
nd_status nd__tape_copy(nd_tape *t, nd_stream *s, const char *name, uint64_t first, ndp_mem *dst,
                        uint64_t dst_offset, ndp_mem *src, uint64_t src_offset, uint64_t nbytes);
nd_status nd__tape_host(nd_tape *t, nd_stream *s, const char *name, void (*fn)(void *), void *arg);
/* On a device that queues nothing: what a launch calls, and which may fail. */
nd_status nd__tape_step(nd_tape *t, nd_stream *s, const char *name, nd_status (*step)(void *arg),
                        void *arg);
nd_status nd__tape_other(nd_tape *t, nd_stream *s, const char *name);
/* How many nodes the plug-in's own capture has by now; 0 where it does not count them. */
uint64_t nd__tape_native_nodes(nd_tape *t, nd_stream *s);
/* The graph keeps the storage, whose reference is given away. */
nd_status nd__tape_keep(nd_tape *t, void *storage, void (*drop)(void *));

/* ---- who is in a capture ---- */
/* The stream is in it from now on; its first operation comes after nothing. */
nd_status nd__tape_enlist(nd_tape *t, nd_stream *s, const char *op);
/* What the stream's next operation would come after: a copy for free(), *n of them. */
nd_status nd__tape_mark(nd_tape *t, nd_stream *s, const char *op, uint32_t **seen, uint32_t *n);
/* s, which joins if it is in no capture, comes after these nodes. */
nd_status nd__tape_join(nd_tape *t, nd_stream *s, const char *op, const uint32_t *seen, uint32_t n);
/* How many nodes the capture has that s is in; 0: it is in none. */
uint32_t nd__tape_length(const nd_stream *s);
/* Whether the next operation of s comes after all that `other` queued among the first n nodes, both
 * being in one capture. */
bool nd__tape_follows(const nd_stream *s, const nd_stream *other, uint32_t n);
/* All streams are themselves again. */
void nd__tape_end(nd_tape *t);
/* Streams with work that the first one does not come after, by their ids, as a text; false: there
 * are none. */
bool nd__tape_unjoined(nd_tape *t, char *text, size_t n);

#endif
