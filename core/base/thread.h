/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a thread has of its own: its current device and streams, guards, labels, sync watch, and the
 * suspects of its latest fault. */
#ifndef NDOCK_CORE_THREAD_H
#define NDOCK_CORE_THREAD_H
#include <stdbool.h>
#include <ndock/ndock.h>

#define ND_TAG_SIZE 64

typedef struct {
    nd_device *device; /* current before the push */
    nd_stream *stream; /* of pushed's device before the push; NULL for a device guard */
    const void *pushed;
} nd_guard;
typedef struct nd_thread {
    nd_device *device;   /* current; NULL: not asked for yet */
    nd_stream **current; /* by device ordinal; NULL: the default stream */
    int n_current;
    nd_guard *guards;
    int n_guards, guard_room;
    char (*tags)[ND_TAG_SIZE];
    int n_tags, tag_room;
    void *math; /* run/math.c: settings pushed by nd_math_push */
    int n_math;
    int32_t watch, watch_before[16], n_watch;
    uint64_t waits[ND_WAIT_REASONS];
    nd_op_note *suspects; /* of the latest fault; ND_RING of them, made with the first */
    int32_t n_suspects;
    char *expr_reason; /* fuse/run.c: of the latest run of an expression; NULL: none yet */
    void *comm_group;  /* collective/group.c: the open group */
    bool in_host_function;
} nd_thread;
nd_thread *nd__thread(void); /* NULL: out of memory */
extern _Thread_local nd_thread *nd__self __attribute__((tls_model("initial-exec")));
/* The innermost label, "" if there is none. */
const char *nd__tag(void);
/* Refuses a call from a host function, which may not use devices. */
nd_status nd__refuse_inside(const char *op);

#endif
