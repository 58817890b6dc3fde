/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The end of a request that nobody could meet, which is the same for every backend: trace,
 * observers, and an error that says what there is and what to do. */
#include <stdio.h>
#include <stdlib.h>
#include "core/memory/report/report.h"

static const char *size_text(char *buf, size_t n, uint64_t nbytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)nbytes;
    int unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(buf, n, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
    return buf;
}
#define SIZE(nbytes) size_text((char[32]){0}, 32, nbytes)

#define MOST_OF_ALL ((uint64_t)1 << 48) /* bytes; more than any address space has */

/* What to do about it. free_bytes: of the device; NULL: it does not say. */
static const char *hint(const nd_shortage *s, const uint64_t *free_bytes)
{
    uint64_t unused = s->reserved - s->allocated;
    if (s->capped)
        return "raise the cap (nd_memory_cap_set) or free arrays";
    if (s->rounded == 0 || s->requested >= MOST_OF_ALL || (s->total && s->requested > s->total))
        return "no device of this size: look at the shape, or work on parts of the array";
    if (unused >= s->rounded && unused - s->rounded >= s->reserved / 8)
        return "reserved memory is in pieces: try NDOCK_ALLOC_CONF=expandable_segments:1";
    if (s->pools >= s->rounded)
        return "release private pools, or create them with use_on_oom";
    if (free_bytes && s->total > *free_bytes + s->reserved + s->total / 4)
        return "other processes hold much of the device: stop them or use another device";
    return "free arrays, or use smaller ones";
}

static void describe(nd_text *t, const nd_backend *backend, const nd_shortage *s,
                     const uint64_t *free_bytes)
{
    nd__text_add(t, "out of memory on %s, allocator %s: requested %s (%llu bytes, rounded to %llu)",
                 backend->device ? backend->device->name : "the device", backend->type->name,
                 SIZE(s->requested), (unsigned long long)s->requested,
                 (unsigned long long)s->rounded);
    nd__text_add(t, "; device total %s", s->total ? SIZE(s->total) : "unknown");
    if (free_bytes)
        nd__text_add(t, ", free %s", SIZE(*free_bytes));
    nd__text_add(t, "; allocated %s, reserved but unused %s, in private pools %s",
                 SIZE(s->allocated), SIZE(s->reserved - s->allocated), SIZE(s->pools));
    nd__text_add(t, "; cap %s", s->cap ? SIZE(s->cap) : "none");
    if (free_bytes && s->total > *free_bytes + s->reserved)
        nd__text_add(t, "; others use %s", SIZE(s->total - *free_bytes - s->reserved));
}

nd_status nd__out_of_memory(const nd_backend *backend, const nd_stream *stream, nd_shortage s)
{
    const nd_hooks *h = &backend->hooks;
    nd_text t = {0};
    uint64_t free_bytes = 0, total = 0;
    bool known = h->usage && h->usage(h->ctx, &free_bytes, &total) == ND_OK && total;
    if (known)
        s.total = total;
    nd__trace(ND_TRACE_OOM, backend->device, free_bytes, s.requested, stream, NULL);
    nd__run_oom_observers(backend->device, s.requested);
    describe(&t, backend, &s, known ? &free_bytes : NULL);
    nd_status status =
        nd__fail(ND_ERR_MEMORY, "alloc", -1, "%s. Hint: %s", t.data ? t.data : "out of memory",
                 hint(&s, known ? &free_bytes : NULL));
    free(t.data);
    return status;
}
