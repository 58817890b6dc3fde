/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Plans and workspaces on the simulated device, whose streams run when the test says so. */
#include <ndock/sim.h>
#include "core/run/workspace.h"
#include "core/stream/streams.h"
#include "tests/tap.h"

static nd_device *device;
static const ndsim_control_1 *sim;
static const ndh_plan_1 *plans;
static const ndh_workspace_1 *workspaces;
static void *ctx;

static void set_up(void)
{
    const void *table;
    ndp_dev *dev;
    if (device)
        return;
    setenv("NDOCK_SIM_MODE", "stepped", 1);
    if (nd_device_get("sim", &device) != ND_OK ||
        nd_device_group(device, NDSIM_GROUP, &table, &dev) != ND_OK || !table)
        bail(nd_last_error()->message);
    sim = table;
    ctx = device->slot->host.ctx;
    plans = device->slot->host.service(ctx, "ndh.plan/1");
    workspaces = device->slot->host.service(ctx, "ndh.workspace/1");
}

static nd_stream *new_stream(void)
{
    nd_stream *s;
    if (nd_stream_create(device, NULL, &s) != ND_OK)
        bail(nd_last_error()->message);
    return s;
}

static nd_array *zeros(void)
{
    const int64_t shape[1] = {8};
    nd_array *a;
    if (nd_zeros(device, ND_F32, 1, shape, &a) != ND_OK || nd_synchronize(device) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

/* ---- W7: events of a device ---- */
static int made, destroyed;
static int32_t make(void *arg, void **value, uint64_t *nbytes)
{
    *value = arg;
    *nbytes = 1;
    made++;
    return ND_OK;
}
static void destroy(void *value)
{
    (void)value;
    destroyed++;
}

static void use(nd_stream *s)
{
    ndh_plan *p;
    void *value;
    if (plans->acquire(ctx, device->dev, "plan", 4, make, destroy, NULL, &p, &value) != ND_OK)
        bail(nd_last_error()->message);
    plans->release(ctx, p, s->handle);
}

static int64_t in_flight(void)
{
    nd_plan_stats s = {.size = sizeof s};
    return nd_plan_cache_stats(device, &s) == ND_OK ? s.in_flight : -1;
}

/* While a capture of another stream forbids it, neither streams nor events are asked. */
static void beside_a_capture(nd_stream *const s[2])
{
    nd_captured *graph = NULL;
    use(s[0]);
    if (nd__capture_begin(s[1], NDP_CAPTURE_GLOBAL) != ND_OK)
        bail(nd_last_error()->message);
    is_int(nd_plan_cache_clear(device), ND_OK, "W7 forgotten beside a capture");
    is_int(in_flight(), 1, "W7 is in flight, as far as is known");
    is_int(nd__capture_end(s[1], &graph), ND_OK, "W7 and the capture is whole");
    nd__captured_free(graph);
    uint64_t ran;
    is_int(sim->step(device->dev, s[0]->handle, 100, &ran), ND_OK,
           "W7 the mark of the use is done");
    is_int(in_flight(), 0, "W7 and the plan is destroyed");
}

/* What a stream tells once is not lost on the cache. */
static void a_fault_that_a_look_finds(nd_stream *s)
{
    use(s);
    if (sim->fail_call(device->dev, "stream_query", 1, NDP_ERR_ASYNC, 4) != ND_OK)
        bail("no fault");
    is_int(nd_plan_cache_clear(device), ND_OK, "W7 forgotten where the stream tells a fault");
    is_int(nd_stream_synchronize(s), ND_ERR_ASYNC, "W7 which its next call reports");
    is_int(nd_stream_synchronize(s), ND_OK, "W7 once");
    is_int(in_flight(), 0, "W7 and the plan is destroyed");
}

static void plans_in_flight(void)
{
    set_up();
    nd_stream *s[2] = {new_stream(), new_stream()};
    nd_array *a = zeros(), *r[2] = {NULL};
    uint64_t ran;
    for (int i = 0; i < 2; i++) {
        if (nd_stream_push(s[i]) != ND_OK || nd_add(a, a, &r[i]) != ND_OK ||
            nd_stream_pop(s[i]) != ND_OK)
            bail(nd_last_error()->message);
        use(s[i]);
    }
    is_int(made, 1, "W7 one plan on two streams");
    is_int(nd_plan_cache_clear(device), ND_OK, "W7 forgotten while both have work queued");
    is_int(in_flight(), 1, "W7 is in flight");
    is_int(sim->step(device->dev, s[0]->handle, 100, &ran), ND_OK, "W7 the first stream is done");
    is_int(in_flight(), 1, "W7 still in flight");
    is_int(destroyed, 0, "W7 and not destroyed");
    is_int(sim->step(device->dev, s[1]->handle, 100, &ran), ND_OK, "W7 the second is done");
    is_int(in_flight(), 0, "W7 no longer in flight");
    is_int(destroyed, 1, "W7 and destroyed");
    use(s[0]);
    is_int(nd_plan_cache_clear(device), ND_OK, "W7 forgotten while no stream has work queued");
    is_int(destroyed, 2, "W7 is destroyed at once");
    beside_a_capture(s);
    a_fault_that_a_look_finds(s[0]);
    for (int i = 0; i < 2; i++) {
        nd_release(r[i]);
        nd_stream_release(s[i]);
    }
    nd_release(a);
}

/* ---- W2 ---- */
static int handle;
static int64_t bytes(void)
{
    nd_memory_stat s;
    nd__workspace_stats(device, &s);
    return s.current;
}

static void streams_end(void)
{
    set_up();
    nd_stream *s = new_stream(), *t = new_stream();
    ndp_stream *old = s->handle;
    ndh_workspace *w;
    ndp_mem *mem[2];
    uint64_t at[2];
    is_int(workspaces->acquire(ctx, device->dev, &handle, s->handle, 4096, &w, &mem[0], &at[0]),
           ND_OK, "W2 a workspace of a stream");
    workspaces->release(ctx, w);
    is_int(workspaces->acquire(ctx, device->dev, &handle, t->handle, 4096, &w, &mem[1], &at[1]),
           ND_OK, "W2 and of another");
    workspaces->release(ctx, w);
    ok(mem[0] != mem[1] || at[0] != at[1], "W2 are two");
    is_int(bytes(), 8192, "W2 of so many bytes");
    nd_stream_release(s);
    is_int(bytes(), 4096, "W2 one goes with its stream");
    is_int(workspaces->acquire(ctx, device->dev, &handle, (ndp_stream *)&handle, 1, &w, &mem[0],
                               &at[0]),
           ND_ERR_STATE, "W2 a handle that is no stream is refused");
    s = new_stream(); /* the simulator uses handles again at once */
    if (s->handle != old)
        diag("the handle was not used again");
    is_int(workspaces->acquire(ctx, device->dev, &handle, s->handle, 4096, &w, &mem[0], &at[0]),
           ND_OK, "W2 a new stream, perhaps of the same handle");
    ok(nd__workspace_storage(w)->refs == 1 && bytes() == 8192, "W2 has one of its own");
    workspaces->release(ctx, w);
    nd_stream_release(s);
    nd_stream_release(t);
    is_int(bytes(), 0, "W2 all are gone");
}

/* A kernel that wants a workspace, around the simulator's own. */
static int runs, asked;
static uint64_t want = 10000;
static const ndp_kernel *inner;
static int32_t wrapped_run(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    ndh_workspace *w;
    ndp_mem *mem;
    uint64_t offset;
    (void)k;
    runs++;
    int32_t status = workspaces->acquire(ctx, device->dev, &handle, s, want, &w, &mem, &offset);
    if (status != ND_OK)
        return status;
    asked++;
    status = inner->run(inner, s, call);
    workspaces->release(ctx, w);
    return status;
}

static ndp_kernel wrapped;
static int32_t (*own_find)(ndp_dev *, const ndp_call *, const ndp_kernel **, char *, size_t);
static int32_t wrapping_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                             size_t n)
{
    int32_t status = own_find(dev, like, out, why, n);
    if (status == ND_OK && like->op == NDP_OP_negative) {
        inner = *out;
        wrapped = *inner;
        wrapped.run = wrapped_run;
        *out = &wrapped;
    }
    return status;
}

static void inside_run(void)
{
    set_up();
    nd_array *a = zeros(), *r = NULL;
    own_find = device->op.find;
    device->op.find = wrapping_find;
    is_int(nd_negative(a, &r), ND_OK, "W2 a kernel that wants a workspace");
    nd_release(r);
    is_int(runs, 2, "W2 is run again when the core has made it");
    is_int(asked, 1, "W2 and does its work once");
    is_int(bytes(), 10000, "W2 it is counted");
    is_int(nd_negative(a, &r), ND_OK, "W2 the next time");
    nd_release(r);
    is_int(runs, 3, "W2 it is there at once");
    want = 20000;
    is_int(nd_negative(a, &r), ND_OK, "W2 a larger one");
    nd_release(r);
    is_int(runs, 5, "W2 is made in the same way");
    is_int(bytes(), 20000, "W2 and replaces the smaller");
    nd_clear_workspaces();
    if (sim->memory_after(device->dev, 0) != ND_OK)
        bail("no fault");
    want = UINT64_C(1) << 28;
    r = NULL;
    nd_status status = nd_negative(a, &r);
    ok(status == ND_ERR_MEMORY && !r, "W2 no memory for it: %s", nd_last_error()->message);
    is_int(runs, 6, "W2 and it is not run again");
    is_int(sim->clear_faults(device->dev), ND_OK, "memory again");
    device->op.find = own_find;
    is_int(nd_synchronize(device), ND_OK, "all work is done");
    nd_release(a);
}

/* A kernel with a plan that both streams share. Its scratch is a workspace of the stream, or (to
 * see that the checker would notice) one block for both, as if it belonged to the plan. */
static nd_storage *of_the_plan;
static int32_t planned_run(const ndp_kernel *k, ndp_stream *s, const ndp_call *call)
{
    ndh_workspace *w = NULL;
    ndh_plan *p;
    ndp_mem *mem;
    uint64_t offset;
    void *value;
    (void)k;
    int32_t status = workspaces->acquire(ctx, device->dev, &handle, s, 64, &w, &mem, &offset);
    if (status != ND_OK)
        return status;
    if (of_the_plan) {
        mem = of_the_plan->mem;
        offset = of_the_plan->base;
    }
    status = plans->acquire(ctx, device->dev, "shared", 6, make, destroy, NULL, &p, &value);
    if (status == ND_OK) {
        status = device->p.copy(device->dev, s, mem, offset, call->in[0].mem,
                                (uint64_t)call->in[0].offset_bytes, 32);
        status = status == ND_OK ? inner->run(inner, s, call) : status;
        plans->release(ctx, p, s);
    }
    workspaces->release(ctx, w);
    return status;
}

static uint64_t races_of_two_streams(nd_array *a)
{
    nd_stream *s[2] = {new_stream(), new_stream()};
    nd_array *r[2] = {NULL};
    uint64_t races = 99;
    if (sim->set_checker(device->dev, 1) != ND_OK)
        bail("no checker");
    for (int i = 0; i < 2; i++)
        if (nd_stream_push(s[i]) != ND_OK || nd_positive(a, &r[i]) != ND_OK ||
            nd_stream_pop(s[i]) != ND_OK)
            bail(nd_last_error()->message);
    if (nd_synchronize(device) != ND_OK || sim->race_count(device->dev, &races) != ND_OK ||
        sim->set_checker(device->dev, 0) != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < 2; i++) {
        nd_release(r[i]);
        nd_stream_release(s[i]);
    }
    return races;
}

static int32_t planning_find(ndp_dev *dev, const ndp_call *like, const ndp_kernel **out, char *why,
                             size_t n)
{
    int32_t status = own_find(dev, like, out, why, n);
    if (status == ND_OK && like->op == NDP_OP_positive) {
        inner = *out;
        wrapped = *inner;
        wrapped.run = planned_run;
        *out = &wrapped;
    }
    return status;
}

static void two_streams(void)
{
    set_up();
    nd_array *a = zeros();
    const int before = made;
    own_find = device->op.find;
    device->op.find = planning_find;
    is_int(races_of_two_streams(a), 0, "W7 F5 one plan on two streams: no race");
    is_int(made, before + 1, "W7 it was one plan");
    if (nd__storage_alloc(device, 64, &of_the_plan) != ND_OK || nd_synchronize(device) != ND_OK)
        bail(nd_last_error()->message);
    ok(races_of_two_streams(a) > 0, "W7 F5 were the workspace the plan's, there would be one");
    nd__storage_release(of_the_plan);
    of_the_plan = NULL;
    device->op.find = own_find;
    nd_release(a);
}

TAP_MAIN({"plans_in_flight", plans_in_flight}, {"streams_end", streams_end},
         {"inside_run", inside_run}, {"two_streams", two_streams})
