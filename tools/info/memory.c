/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info --memory`: what each device's allocator has, and how it is set. */
#include <stdlib.h>
#include "tools/mem/mem.h"
#include "tools/tool.h"

typedef struct {
    nd_memory_stats stats;
    nd_plan_stats plans;
    uint64_t free_bytes, total_bytes;
} figures;

static bool get(nd_device *device, figures *out)
{
    *out = (figures){.stats = {.size = sizeof out->stats}, .plans = {.size = sizeof out->plans}};
    return nd_memory_stats_get(device, &out->stats) == ND_OK &&
           nd_plan_cache_stats(device, &out->plans) == ND_OK &&
           nd_memory_usage(device, &out->free_bytes, &out->total_bytes) == ND_OK;
}

static void print_stat(const char *name, const nd_memory_stat *s)
{
    printf("    %-16s %10s   peak %10s   taken %10s   given back %10s\n", name,
           mem_size((double)s->current), mem_size((double)s->peak), mem_size((double)s->allocated),
           mem_size((double)s->freed));
}

static void print_plans(const nd_plan_stats *p)
{
    printf("    plans            %lld of at most %lld, %s, %lld hits, %lld misses, %lld gone for "
           "others, %lld in flight\n",
           (long long)p->count, (long long)p->max_size, mem_size((double)p->nbytes),
           (long long)p->hits, (long long)p->misses, (long long)p->evictions,
           (long long)p->in_flight);
}

static void print_figures(const figures *f)
{
    const nd_memory_stats *s = &f->stats;
    if (f->total_bytes)
        printf("    %-16s %10s   of %s\n", "free", mem_size((double)f->free_bytes),
               mem_size((double)f->total_bytes));
    print_stat("reserved", &s->reserved_bytes.all);
    print_stat("allocated", &s->allocated_bytes.all);
    print_stat("  small blocks", &s->allocated_bytes.small_pool);
    print_stat("  large blocks", &s->allocated_bytes.large_pool);
    print_stat("active", &s->active_bytes.all);
    print_stat("inactive split", &s->inactive_split_bytes.all);
    print_stat("pinned", &s->pinned_bytes);
    print_stat("pinned, kept too", &s->pinned_owned_bytes);
    printf("    counters         %lld device allocations, %lld frees, %lld retries, %lld out of "
           "memory, %lld waits for all streams, %lld refused by the cap\n",
           (long long)s->num_device_alloc, (long long)s->num_device_free,
           (long long)s->num_alloc_retries, (long long)s->num_ooms,
           (long long)s->num_sync_all_streams, (long long)s->num_cap_rejections);
    if (s->num_host_alloc)
        printf("    pinning          %lld calls in %lld us, %lld frees in %lld us\n",
               (long long)s->num_host_alloc, (long long)s->host_alloc_us,
               (long long)s->num_host_free, (long long)s->host_free_us);
    print_plans(&f->plans);
}

void tool_info_memory(const char *const *names, int n)
{
    char *conf = NULL;
    puts("\nMemory of devices");
    for (int i = 0; i < n; i++) {
        nd_device *device;
        figures f;
        printf("  %s\n", names[i]);
        if (nd_device_get(names[i], &device) != ND_OK || !get(device, &f))
            printf("    %s\n", nd_last_error()->message);
        else
            print_figures(&f);
    }
    if (nd_memory_conf_get(&conf) == ND_OK)
        printf("  settings           %s\n", conf[0] ? conf : "the defaults");
    free(conf);
}

static void json_stat(json_writer *w, const char *name, const nd_memory_stat *s)
{
    json_open(w, name, '{');
    json_integer(w, "current", (unsigned long long)s->current);
    json_integer(w, "peak", (unsigned long long)s->peak);
    json_integer(w, "allocated", (unsigned long long)s->allocated);
    json_integer(w, "freed", (unsigned long long)s->freed);
    json_close(w, '}');
}

static void json_stat3(json_writer *w, const char *name, const nd_memory_stat3 *s)
{
    json_open(w, name, '{');
    json_stat(w, "all", &s->all);
    json_stat(w, "small_pool", &s->small_pool);
    json_stat(w, "large_pool", &s->large_pool);
    json_close(w, '}');
}

static void json_plans(json_writer *w, const nd_plan_stats *p)
{
    json_open(w, "plans", '{');
    json_integer(w, "count", (unsigned long long)p->count);
    json_integer(w, "max_size", (unsigned long long)p->max_size);
    json_integer(w, "nbytes", (unsigned long long)p->nbytes);
    json_integer(w, "max_bytes", (unsigned long long)p->max_bytes);
    json_integer(w, "hits", (unsigned long long)p->hits);
    json_integer(w, "misses", (unsigned long long)p->misses);
    json_integer(w, "evictions", (unsigned long long)p->evictions);
    json_integer(w, "in_flight", (unsigned long long)p->in_flight);
    json_close(w, '}');
}

static void json_figures(json_writer *w, const figures *f)
{
    const nd_memory_stats *s = &f->stats;
    const struct {
        const char *name;
        int64_t value;
    } counters[] = {{"num_alloc_retries", s->num_alloc_retries},
                    {"num_ooms", s->num_ooms},
                    {"num_sync_all_streams", s->num_sync_all_streams},
                    {"num_device_alloc", s->num_device_alloc},
                    {"num_device_free", s->num_device_free},
                    {"num_cap_rejections", s->num_cap_rejections},
                    {"garbage_collections", s->garbage_collections},
                    {"num_host_alloc", s->num_host_alloc},
                    {"num_host_free", s->num_host_free},
                    {"host_alloc_us", s->host_alloc_us},
                    {"host_free_us", s->host_free_us}};
    json_integer(w, "free_bytes", f->free_bytes);
    json_integer(w, "total_bytes", f->total_bytes);
    json_stat3(w, "allocation", &s->allocation);
    json_stat3(w, "allocated_bytes", &s->allocated_bytes);
    json_stat3(w, "requested_bytes", &s->requested_bytes);
    json_stat3(w, "segment", &s->segment);
    json_stat3(w, "reserved_bytes", &s->reserved_bytes);
    json_stat3(w, "active", &s->active);
    json_stat3(w, "active_bytes", &s->active_bytes);
    json_stat3(w, "inactive_split", &s->inactive_split);
    json_stat3(w, "inactive_split_bytes", &s->inactive_split_bytes);
    json_stat(w, "oversize_allocations", &s->oversize_allocations);
    json_stat(w, "oversize_segments", &s->oversize_segments);
    json_stat(w, "workspace_bytes", &s->workspace_bytes);
    json_stat(w, "pinned_bytes", &s->pinned_bytes);
    json_stat(w, "pinned_blocks", &s->pinned_blocks);
    json_stat(w, "pinned_owned_bytes", &s->pinned_owned_bytes);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        json_integer(w, counters[i].name, (unsigned long long)counters[i].value);
    json_plans(w, &f->plans);
}

void tool_json_memory(json_writer *w, nd_device *device)
{
    figures f;
    char *conf = NULL;
    json_open(w, "memory", '{');
    if (get(device, &f))
        json_figures(w, &f);
    else
        json_text(w, "error", nd_last_error()->message);
    if (nd_memory_conf_get(&conf) == ND_OK)
        json_text(w, "settings", conf);
    free(conf);
    json_close(w, '}');
}
