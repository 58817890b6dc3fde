/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Checks of events and of the ends of streams, and what they share. */
#ifndef NDOCK_TESTS_ABI_STREAMS_H
#define NDOCK_TESTS_ABI_STREAMS_H
#include "abi.h"

/* n blocks of nbytes each; block i holds abi_fill(.., i + 1000). */
typedef struct {
    ndp_mem *mem[16];
    size_t n, nbytes;
} chain;
chain chain_new(size_t n, size_t nbytes);
/* Queues copies 0 to 1, 1 to 2 ... so that each comes to hold the bytes of block 0. */
void chain_run(const chain *c, ndp_stream *s);
/* Block i holds the bytes of block 0, as read on s. */
bool chain_moved(const chain *c, size_t i, ndp_stream *s, const char *what);
void chain_free(const chain *c); /* nothing is queued on it */
bool stream_done(ndp_stream *s);
/* Behind a gate g, NULL where there is none: a failure if s is done within a while. */
void stands_still(const abi_gate *g, ndp_stream *s, const char *why_not);
bool event_done(ndp_event *e);

void abi_check_event_query(void);
void abi_check_event_sync(void);
void abi_check_event_elapsed(void);
void abi_check_copy_queued(void);
void abi_check_sync_own(void);
void abi_check_other_device(void);
void abi_check_unrecorded(void);
void abi_check_rerecord(void);
void abi_check_destroy_returns(void);
void abi_check_event_destroy(void);
void abi_check_wrap_stream(void);
void abi_check_default_stream(void);
void abi_check_error_at_sync(void);
void abi_check_pool_order(void);
void abi_check_priorities(void);
#endif
