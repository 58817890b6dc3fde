/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in on host memory that keeps its contract, but for the one defect that NDOCK_DEFECT_KIND
 * names: most break one rule of NDOCK_HOOK=check. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <ndock/note.h>
#include <ndock/plugin.h>
#include "tests/hook/defect.h"

struct ndp_dev {
    uint32_t index;
};
struct ndp_mem {
    uint64_t nbytes;
    char *bytes;
};
struct ndp_stream {
    int unused;
};
struct ndp_event {
    struct timespec recorded;
};
static const ndp_host *host;
static const char *kind = "";
static ndp_dev *device_of_plans; /* the one that was opened */

static int is(const char *defect)
{
    return strcmp(kind, defect) == 0;
}

static int32_t probe(uint32_t *count, char *why, size_t n)
{
    host->param(host->ctx, "KIND", NDP_PARAM_TEXT, "the one defect it has", &kind);
    (void)why;
    (void)n;
    *count = is("count") ? 5000 : is("why_probe") ? 0 : 1;
    return NDP_OK;
}

static int32_t info(uint32_t index, ndp_device_info *out)
{
    (void)index;
    out->flags = NDP_DEV_HOST_VISIBLE | (is("slow") || is("plan") ? NDP_DEV_ASYNC : 0);
    out->memory_bytes = UINT64_C(1) << 30;
    out->align_bytes = is("info_align") ? 48 : 64;
    out->dtypes = is("info_dtypes") ? 0 : (UINT64_C(1) << NDP_DTYPE_END) - 2;
    out->priority = -10;
    snprintf(out->name, sizeof out->name, "%s", is("info_name") ? "" : "defective");
    if (is("size_info"))
        ((char *)out)[out->size + 3] = 1;
    return NDP_OK;
}

static int32_t dev_open(uint32_t index, ndp_dev **out)
{
    static ndp_dev device;
    device.index = index;
    *out = device_of_plans = &device;
    return NDP_OK;
}
static void dev_close(ndp_dev *dev)
{
    (void)dev;
}

static int32_t mem_alloc(ndp_dev *dev, uint64_t nbytes, ndp_mem **out)
{
    static ndp_mem *latest;
    (void)dev;
    if (is("status") || is("status_negative"))
        return is("status") ? 99 : -1;
    if (is("out_on_success"))
        return NDP_OK;
    ndp_mem *m = is("handle_given_twice") && latest ? latest : malloc(sizeof *m);
    if (m != latest) {
        m->nbytes = nbytes;
        m->bytes = (char *)aligned_alloc(64, (nbytes + 127) / 64 * 64) + (is("alignment") ? 8 : 0);
    }
    latest = m;
    *out = m;
    return is("out_on_failure") ? NDP_ERR_MEMORY : NDP_OK;
}

static void mem_free(ndp_dev *dev, ndp_mem *mem)
{
    (void)dev;
    if (!is("alignment"))
        free(mem->bytes);
    free(mem);
}

/* Tells that a call is inside, and stays there until it is let out. */
static void wait_at(const void *src)
{
    defect_gate *gate = (defect_gate *)(uintptr_t)src;
    atomic_store(&gate->inside, 1);
    while (!atomic_load(&gate->open))
        usleep(1000);
}

static int32_t write_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset,
                           const void *src, uint64_t n)
{
    (void)dev;
    (void)s;
    if (is("slow") && n == sizeof(defect_gate))
        wait_at(src);
    memcpy(mem->bytes + offset, src, n);
    return NDP_OK;
}

static int32_t read_bytes(ndp_dev *dev, ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst,
                          uint64_t n)
{
    (void)dev;
    (void)s;
    memcpy(dst, mem->bytes + offset, n);
    return NDP_OK;
}

static int32_t nothing(ndp_dev *dev, ndp_stream *s)
{
    (void)dev;
    (void)s;
    return NDP_OK;
}
static void shut_down(void) {}

/* Modes that are not the rounding mode. */
static void flush_subnormals(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" ::"r"(UINT64_C(1) << 24));
#endif
}

/* ---- a plan that a kernel uses, as a library's does: the host marks its end on the kernel's stream ---- */
static int32_t make_plan(void *arg, void **value, uint64_t *nbytes)
{
    (void)arg;
    *value = NULL;
    *nbytes = 1;
    return NDP_OK;
}

static void drop_plan(void *value)
{
    (void)value;
}

static int32_t use_plan(ndp_stream *s)
{
    const ndh_plan_1 *plans = host->service(host->ctx, "ndh.plan/1");
    ndh_plan *plan = NULL;
    void *value;
    int32_t status = plans->acquire(host->ctx, device_of_plans, "defect", 6, make_plan, drop_plan,
                                    NULL, &plan, &value);
    if (status == NDP_OK)
        plans->release(host->ctx, plan, s);
    return status;
}

/* ---- kernels: add of f32, take, which is always out of range, and wrong counts ---- */
static int32_t run_add(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    static void *volatile left;
    float *at[3];
    (void)left;
    (void)k;
    (void)s;
    if (is("found_runs"))
        return NDP_ERR_UNSUPPORTED;
    if (is("plan") && use_plan(s) != NDP_OK)
        return NDP_ERR_INTERNAL;
    if (is("rounding_mode"))
        fesetround(FE_UPWARD);
    if (is("number_modes"))
        flush_subnormals();
    if (is("growth"))
        left = malloc(24);
    for (int i = 0; i < 3; i++) {
        const ndp_view *v = i < 2 ? &call->in[i] : call->out;
        at[i] = v->mem ? (float *)(void *)(v->mem->bytes + v->offset_bytes) : NULL;
    }
    for (int64_t i = 0; i < call->out->shape[0]; i++)
        at[2][i] = at[0][i] + (at[1] ? at[1][i] : (float)call->scalar[0].v.f);
    return NDP_OK;
}

static int32_t run_take(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    (void)k;
    (void)s;
    if (is("untouched"))
        call->out->mem->bytes[call->out->offset_bytes] ^= 1;
    return host->error(host->ctx, NDP_ERR_INDEX, 0, "an index is out of range");
}

/* Compresses nothing, and counts one more than there are or less than none. */
static int32_t run_count(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    const ndp_view *count = &call->out[call->n_out - 1], *mask = &call->in[call->n_in - 1];
    int64_t wrong = 1;
    (void)k;
    (void)s;
    for (int32_t d = 0; d < mask->ndim; d++)
        wrong *= mask->shape[d];
    wrong = is("counts_less") ? -1 : wrong + 1;
    memcpy(count->mem->bytes + count->offset_bytes, &wrong, sizeof wrong);
    return NDP_OK;
}

static uint64_t wants_scratch(const ndp_kernel *k, const ndp_call *call)
{
    (void)k;
    (void)call;
    return 64;
}

static ndp_kernel add_kernel = {.size = sizeof add_kernel,
                                .needs = NDP_NEEDS_CONTIGUOUS,
                                .max_ndim = 1,
                                .run = run_add},
                  take_kernel = {.size = sizeof take_kernel,
                                 .needs = NDP_NEEDS_CONTIGUOUS,
                                 .max_ndim = NDP_MAX_NDIM,
                                 .run = run_take};
static const ndp_kernel count_kernel = {
    .size = sizeof count_kernel, .max_ndim = NDP_MAX_NDIM, .run = run_count};

static int counts(int32_t op)
{
    return (op == NDP_OP_compress || op == NDP_OP_count_nonzero) &&
           (is("counts_less") || is("counts_more"));
}

static uint64_t op_dtypes(ndp_dev *dev, int32_t op)
{
    (void)dev;
    if (counts(op))
        return UINT64_C(1) << NDP_F32 | UINT64_C(1) << NDP_BOOL;
    return op == NDP_OP_add || op == NDP_OP_take ? UINT64_C(1) << NDP_F32 : 0;
}

static int32_t op_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                       size_t n)
{
    static uint64_t asked;
    (void)dev;
    if (counts(like->op)) {
        *out = &count_kernel;
        return NDP_OK;
    }
    if (is("text_size"))
        why[n + 2] = 'x';
    if (is("text_end"))
        memset(why, 'x', n);
    else if (!is("why"))
        snprintf(why, n, "only add and take of f32");
    if (is("find_depends") && like->out[0].offset_bytes % 1024 == 0)
        return NDP_ERR_UNSUPPORTED;
    if (is("find_extents") && like->out[0].shape[0] > 10)
        return NDP_ERR_UNSUPPORTED;
    if ((like->op != NDP_OP_add && like->op != NDP_OP_take) || like->out->dtype != NDP_F32)
        return NDP_ERR_UNSUPPORTED;
    add_kernel.scratch = is("scratch") ? wants_scratch : NULL;
    add_kernel.max_ndim = is("kernel") ? 0 : 1;
    add_kernel.size = is("size_kernel") ? 8 : sizeof add_kernel;
    *out =
        like->op == NDP_OP_add && !(is("find_kernel") && asked++ % 2) ? &add_kernel : &take_kernel;
    return NDP_OK;
}
static const ndp_op_1 op_group = {.size = sizeof op_group, .dtypes = op_dtypes, .find = op_find};

/* ---- streams that have nothing to wait for ---- */
static int32_t stream_query(ndp_dev *dev, ndp_stream *s, int32_t *done)
{
    (void)dev;
    (void)s;
    if (!is("unset"))
        *done = is("flag") ? 7 : 1;
    return NDP_OK;
}

static int32_t event_create(ndp_dev *dev, uint64_t flags, ndp_event **out)
{
    (void)dev;
    (void)flags;
    *out = calloc(1, sizeof **out);
    return NDP_OK;
}
static void event_destroy(ndp_dev *dev, ndp_event *e)
{
    (void)dev;
    free(e);
}

static int32_t event_record(ndp_dev *dev, ndp_event *e, ndp_stream *s)
{
    (void)dev;
    (void)s;
    clock_gettime(CLOCK_MONOTONIC, &e->recorded);
    return NDP_OK;
}

static int32_t event_sync(ndp_dev *dev, ndp_event *e)
{
    (void)dev;
    (void)e;
    return NDP_OK;
}

static int32_t event_elapsed(ndp_dev *dev, ndp_event *start, ndp_event *stop, double *ms)
{
    const struct timespec *a = &start->recorded, *b = &stop->recorded;
    const double truth =
        (double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6;
    (void)dev;
    *ms = is("elapsed") ? NAN : is("elapsed_clock") ? truth + 1e6 : truth;
    return NDP_OK;
}

static int32_t priority_range(ndp_dev *dev, int32_t *lowest, int32_t *highest)
{
    (void)dev;
    *lowest = is("priorities") ? -3 : 0;
    *highest = is("priorities") ? 0 : -3;
    return NDP_OK;
}
static const ndp_stream_1 stream_group = {.size = sizeof stream_group,
                                          .query = stream_query,
                                          .event_create = event_create,
                                          .event_destroy = event_destroy,
                                          .event_record = event_record,
                                          .event_sync = event_sync,
                                          .event_elapsed = event_elapsed,
                                          .priority_range = priority_range};

static int32_t capture_info(ndp_dev *dev, ndp_stream *s, int32_t *status, uint64_t *id)
{
    (void)dev;
    (void)s;
    *status = is("capture") ? 5 : is("capture_id") ? NDP_CAPTURE_ACTIVE : NDP_CAPTURE_NONE;
    *id = 0;
    return NDP_OK;
}
static const ndp_graph_1 graph_group = {.size = sizeof graph_group, .info = capture_info};

static int32_t usage(ndp_dev *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)dev;
    *free_bytes = is("usage") ? 3 : 1;
    *total_bytes = 2;
    return NDP_OK;
}

static int32_t granularity(ndp_dev *dev, uint64_t *nbytes)
{
    (void)dev;
    *nbytes = is("granularity") ? 96 : 64;
    return NDP_OK;
}
static const ndp_memory_1 memory_group = {
    .size = sizeof memory_group, .usage = usage, .granularity = granularity};

static int32_t map(ndp_dev *dev, ndp_mem *mem, void **out)
{
    (void)dev;
    *out = is("out_host") ? NULL : mem->bytes;
    return NDP_OK;
}
static const ndp_map_1 map_group = {.size = sizeof map_group, .map = map};

static const void *group(ndp_dev *dev, const char *id)
{
    (void)dev;
    return strcmp(id, "ndp.op/1") == 0       ? (const void *)&op_group
           : strcmp(id, "ndp.stream/1") == 0 ? (const void *)&stream_group
           : strcmp(id, "ndp.graph/1") == 0  ? (const void *)&graph_group
           : strcmp(id, "ndp.memory/1") == 0 ? (const void *)&memory_group
           : strcmp(id, "ndp.map/1") == 0    ? (const void *)&map_group
                                             : NULL;
}

NDP_PLUGIN_NOTE("defect", "1", -10, (UINT64_C(1) << NDP_DTYPE_END) - 2,
                "ndp.op/1 ndp.stream/1 ndp.graph/1 ndp.memory/1 ndp.map/1")

static const ndp_plugin table = {.size = sizeof(ndp_plugin),
                                 .major = NDP_ABI_MAJOR,
                                 .minor = NDP_ABI_MINOR,
                                 .name = "defect",
                                 .version = "1",
                                 .vendor = "tests",
                                 .probe = probe,
                                 .info = info,
                                 .open = dev_open,
                                 .close = dev_close,
                                 .alloc = mem_alloc,
                                 .free = mem_free,
                                 .write = write_bytes,
                                 .read = read_bytes,
                                 .sync = nothing,
                                 .shutdown = shut_down,
                                 .group = group};

NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *h)
{
    host = h;
    return &table;
}
