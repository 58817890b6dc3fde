/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of the exchange share: another library's streams, made with the plug-in's own table,
 * and work on them. */
#ifndef NDOCK_TESTS_EXCHANGE_H
#define NDOCK_TESTS_EXCHANGE_H
#include "tests/stream/harness.h"

/* A stream that ndock did not make. */
UNUSED static uint64_t strangers_stream(void)
{
    const void *table = NULL;
    struct ndp_dev *d;
    ndp_stream *s = NULL;
    DO(nd_device_group(sim[0], "ndp.stream/1", &table, &d));
    if (((const ndp_stream_1 *)table)->create(d, 0, 0, &s) != NDP_OK)
        bail("no stream");
    return (uint64_t)(uintptr_t)s;
}

/* fill(a, value) or a read of a, as if another library had queued it on the stream of that handle.
 */
UNUSED static void on_handle(uint64_t handle, const nd_array *a, int write)
{
    nd_stream *s = NULL;
    nd_array *r = NULL;
    DO(nd_stream_wrap(sim[0], handle, NULL, NULL, &s));
    DO(nd_stream_push(s));
    if (write)
        DO(nd_fill(a, nd_float(7)));
    else
        DO(nd_negative(a, &r));
    DO(nd_stream_pop(s));
    nd_release(r);
    nd_stream_release(s);
}

UNUSED static uint64_t handle_number(nd_stream *s)
{
    uint64_t h = 0;
    DO(nd_stream_native(s, &h));
    return h;
}

/* Calls that make the host wait. */
UNUSED static uint64_t host_waits(void)
{
    return calls(0, "sync") + calls(0, "stream_sync") + calls(0, "event_sync") + calls(0, "read");
}

UNUSED static void no_race(const char *what)
{
    is_int(races(), 0, what);
    show_races();
}
#endif
