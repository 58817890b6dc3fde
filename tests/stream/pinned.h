/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pinned arrays, copies that do not wait, and what the host waited for. */
#ifndef NDOCK_TESTS_PINNED_H
#define NDOCK_TESTS_PINNED_H
#include "tests/stream/harness.h"

UNUSED static nd_array *pinned(nd_dtype dtype, int64_t n)
{
    nd_array *a = NULL;
    DO(nd_empty_pinned(sim[0], dtype, 1, &n, &a));
    return a;
}
UNUSED static const nd_copy_opts no_wait = {.size = sizeof no_wait, .non_blocking = 1};

UNUSED static uint64_t waits_for(int32_t reason)
{
    uint64_t counts[ND_WAIT_REASONS];
    nd_sync_watch_counts(counts);
    return counts[reason];
}

UNUSED static uint64_t host_waits(void)
{
    return calls(0, "sync") + calls(0, "stream_sync") + calls(0, "event_sync") + calls(0, "read") +
           calls(0, "write");
}

#endif
