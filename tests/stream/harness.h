/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of streams share: the simulated devices, their control table, and short words for what
 * is done often. */
#ifndef NDOCK_TESTS_STREAM_HARNESS_H
#define NDOCK_TESTS_STREAM_HARNESS_H
#include <ndock/ndock.h>
#include <ndock/sim.h>
#include "tests/tap.h"

#define UNUSED __attribute__((unused))

static const ndsim_control_1 *control;
static nd_device *sim[4], *cpu;
static ndp_dev *dev[4];

/* A call that must succeed for the test to make sense. */
#define DO(call) done((call), #call, __LINE__)
UNUSED static void done(nd_status status, const char *what, int line)
{
    if (status == ND_OK)
        return;
    tap_ok(0, __FILE__, line, "%s", what);
    diag("%s: %s", nd_status_name(status), nd_last_error()->message);
}

__attribute__((constructor)) static void open_devices(void)
{
    char name[16];
    const void *table = NULL;
    setenv("NDOCK_SIM_MODE", "stepped", 0);
    if (nd_device_get("cpu", &cpu) != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "sim:%d", i);
        if (nd_device_get(name, &sim[i]) != ND_OK ||
            nd_device_group(sim[i], NDSIM_GROUP, &table, &dev[i]) != ND_OK || !table)
            bail("the simulated device is not there");
    }
    control = table;
    (void)!nd_device_set_current(sim[0]);
}

UNUSED static nd_stream *new_stream(int d)
{
    nd_stream *s = NULL;
    DO(nd_stream_create(sim[d], NULL, &s));
    return s;
}
UNUSED static nd_stream *default_stream(int d)
{
    nd_stream *s = NULL;
    DO(nd_stream_default(sim[d], &s));
    return s;
}
UNUSED static nd_stream *current_stream(int d)
{
    nd_stream *s = NULL;
    DO(nd_stream_current(sim[d], &s));
    nd_stream_release(s); /* the thread keeps it */
    return s;
}
/* For the control table. */
UNUSED static ndp_stream *handle_of(nd_stream *s)
{
    uint64_t h = 0;
    DO(nd_stream_native(s, &h));
    return h == 1 ? NULL : (ndp_stream *)(uintptr_t)h;
}
UNUSED static uint64_t calls(int d, const char *entry)
{
    uint64_t n = 0;
    control->log_count(dev[d], entry, &n);
    return n;
}
UNUSED static uint64_t pending(int d, nd_stream *s)
{
    uint64_t n = 0;
    control->pending(dev[d], s ? handle_of(s) : NDSIM_ANY, &n);
    return n;
}
UNUSED static uint64_t step(int d, nd_stream *s, uint64_t n)
{
    uint64_t ran = 0;
    control->step(dev[d], s ? handle_of(s) : NDSIM_ANY, n, &ran);
    return ran;
}
UNUSED static void check_on(void)
{
    control->set_checker(dev[0], 1);
    control->race_clear(dev[0]);
}
UNUSED static uint64_t races(void)
{
    uint64_t n = 0;
    control->race_count(dev[0], &n);
    return n;
}
UNUSED static void show_races(void)
{
    char text[600];
    for (uint64_t i = 0; control->race_text(dev[0], i, text, sizeof text) == NDP_OK; i++)
        diag("%s", text);
}
/* Memory is what it was at the start, and nothing is queued. */
UNUSED static int64_t reserved(int d)
{
    nd_memory_stats m = {.size = sizeof m};
    DO(nd_memory_stats_get(sim[d], &m));
    return m.reserved_bytes.all.current;
}
/* The allocator gives back what it finds done when it looks, so it is asked more than once. */
UNUSED static void settle(void)
{
    for (int i = 0; i < 4; i++) {
        DO(nd_synchronize(sim[i]));
        control->set_mode(dev[i], NDSIM_AUTO);
        for (int tries = 0; tries < 2000 && (tries == 0 || reserved(i) > 0); tries++) {
            DO(nd_synchronize(sim[i]));
            DO(nd_memory_empty_cache(sim[i]));
        }
        control->set_mode(dev[i], NDSIM_STEPPED);
    }
}

UNUSED static nd_array *vector(nd_device *d, int64_t n)
{
    nd_array *a = NULL;
    DO(nd_empty(d, ND_F32, 1, &n, &a));
    return a;
}
UNUSED static nd_array *filled(nd_device *d, int64_t n, double value)
{
    nd_array *a = vector(d, n);
    DO(nd_fill(a, nd_float(value)));
    return a;
}
UNUSED static double value_of(const nd_array *a) /* of the first element; waits */
{
    nd_array *first = NULL;
    nd_scalar s = {0};
    nd_index at = nd_at(0);
    DO(nd_slice(a, &at, nd_ndim(a) > 0, &first));
    DO(nd_item(first, &s));
    nd_release(first);
    return s.v.f;
}
#endif
