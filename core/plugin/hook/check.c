/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Contract checks at run time: what the core promises to plug-ins before a call, and what a plug-in
 * promises to the core after it. docs/hooks.md lists the rules by these names. */
#include <stdlib.h>
#include "core/plugin/hook/check.h"
#include "core/base/settings.h"

/* Where *out points before the call, so that it shows whether it was written. */
static char unset;

static const char *type_name(char type)
{
    switch (type) {
    case 'd':
        return "device";
    case 'm':
        return "block";
    case 's':
        return "stream";
    case 'e':
        return "event";
    case 'g':
        return "graph";
    case 'x':
        return "executable graph";
    case 'c':
        return "module";
    default:
        return "function";
    }
}

/* ---- handles ---- */
static bool device_broken(hook_call *c, int i)
{
    ndp_dev *dev = (ndp_dev *)(uintptr_t)c->word[i];
    hook_dev *d = nd__hook_find_dev(c->of, dev);
    const char *name = c->slot->arg[i].name;
    bool ends = c->slot->n > 1 && nd__hook_family(c->slot->arg[c->slot->n - 1].kind) == HOOK_END;
    if (!d)
        return nd__hook_violated(c, "handles", "%s is no device that open gave", name);
    nd__hook_lock();
    uint32_t opened = d->opened;
    nd__hook_unlock();
    /* Memory and streams outlive close, since what queued work uses goes later. */
    if (!opened && !ends)
        return nd__hook_violated(c, "handles", "%s was closed", name);
    return false;
}

static bool may_be_null(char type, const hook_call *c)
{
    return type == 's' || nd__hook_family(c->slot->arg[c->slot->n - 1].kind) == HOOK_END;
}

/* Handles of one's own device, but for events, and the second device of a copy between peers. */
static bool handle_broken(hook_call *c, int i, char type)
{
    const void *handle = (const void *)(uintptr_t)c->word[i];
    const char *what = type_name(type), *name = c->slot->arg[i].name;
    bool ends = nd__hook_family(c->slot->arg[i].kind) == HOOK_END;
    if (!handle)
        return !may_be_null(type, c) && nd__hook_violated(c, "handles", "%s is NULL", name);
    nd__hook_lock();
    hook_object *o = nd__hook_object_get(c->of, type, handle);
    hook_object seen = o ? *o : (hook_object){0};
    bool ended = !o && nd__hook_object_ended(c->of, type, handle);
    nd__hook_unlock();
    if (!o && ended)
        return nd__hook_violated(c, "handles", "%s is a %s that has ended%s", name, what,
                                 ends ? " already: it goes twice" : "");
    if (!o)
        return nd__hook_violated(c, "handles", "%s is no %s that this plug-in gave", name, what);
    bool elsewhere = c->id == HOOK_SLOT_peer_copy || type == 'e';
    if (c->dev && seen.dev != c->dev->dev && !elsewhere)
        return nd__hook_violated(c, "handles", "%s is a %s of another device", name, what);
    return false;
}

static bool handles_broken(hook_call *c)
{
    for (uint32_t i = 0; i < c->slot->n; i++) {
        hook_kind kind = c->slot->arg[i].kind;
        int family = nd__hook_family(kind);
        char type = nd__hook_object(kind);
        if ((family == HOOK_OUT || family == HOOK_RESULT) && !c->word[i] &&
            kind != HOOK_KIND_OUT_LIMITS && kind != HOOK_KIND_WHY)
            return nd__hook_violated(c, "null", "%s is NULL", c->slot->arg[i].name);
        if ((family != HOOK_HANDLE && family != HOOK_END) || type == 'k')
            continue;
        if (type == 'd' ? device_broken(c, (int)i) : handle_broken(c, (int)i, type))
            return true;
    }
    return false;
}

/* ---- ranges ---- */
static uint64_t block_bytes(const hook_call *c, int i)
{
    nd__hook_lock();
    hook_object *o = nd__hook_object_get(c->of, 'm', (const void *)(uintptr_t)c->word[i]);
    uint64_t nbytes = o && o->given ? o->nbytes : UINT64_MAX;
    nd__hook_unlock();
    return nbytes;
}

/* [offset, offset + nbytes) of a block: MEM is followed by OFFSET, and the call has one NBYTES. */
static bool range_broken(hook_call *c)
{
    int n = nd__hook_place(c->slot, HOOK_KIND_NBYTES);
    for (int i = 0; n >= 0 && i + 1 < (int)c->slot->n; i++) {
        if (c->slot->arg[i].kind != HOOK_KIND_MEM || c->slot->arg[i + 1].kind != HOOK_KIND_OFFSET)
            continue;
        uint64_t size = block_bytes(c, i), offset = c->word[i + 1], nbytes = c->word[n];
        if (offset > size || nbytes > size - offset)
            return nd__hook_violated(c, "bounds",
                                     "%s has %llu bytes, and %llu from %llu on are wanted",
                                     c->slot->arg[i].name, (unsigned long long)size,
                                     (unsigned long long)nbytes, (unsigned long long)offset);
    }
    bool makes = n >= 0 && c->id != HOOK_SLOT_map_wrap && /* which may be of an empty array */
                 nd__hook_place(c->slot, HOOK_KIND_OUT_MEM) >= 0;
    return makes && c->word[n] == 0 && nd__hook_violated(c, "nbytes", "a block of 0 bytes");
}

static bool index_broken(hook_call *c)
{
    uint32_t count = atomic_load(&c->of->count);
    return c->slot->n && c->slot->arg[0].kind == HOOK_KIND_INDEX && c->word[0] >= count &&
           nd__hook_violated(c, "index", "device %u, and probe said there are %u",
                             (unsigned)c->word[0], count);
}

/* ---- one thread a stream ---- */
static bool queues(hook_slot_id id)
{
    return id == HOOK_SLOT_plugin_write || id == HOOK_SLOT_plugin_copy ||
           id == HOOK_SLOT_kernel_run || id == HOOK_SLOT_stream_event_record ||
           id == HOOK_SLOT_stream_wait || id == HOOK_SLOT_stream_launch_host ||
           id == HOOK_SLOT_peer_copy || id == HOOK_SLOT_code_launch ||
           (id >= HOOK_SLOT_comm_all_reduce && id <= HOOK_SLOT_comm_barrier);
}

ND_TLS int inside_host_function; /* before the pointer, so that no gap is between them */

/* The innermost of this thread's calls that queue work. A plug-in's function may have the host queue more on its own
 * stream, the end of its work with a plan of ndh.plan/1: that is no other thread's. */
ND_TLS hook_call *queueing;

static bool is_queueing(const hook_call *c, const ndp_stream *stream)
{
    const hook_call *q = queueing;
    while (q && (q->dev != c->dev || q->stream != stream))
        q = q->around;
    return q != NULL;
}

/* How many calls queue on the call's stream already. */
static uint32_t stream_entered(hook_call *c)
{
    uint32_t others = 0;
    c->queues = true;
    c->around = queueing;
    queueing = c;
    if (!c->stream)
        return (uint32_t)atomic_fetch_add(&c->dev->default_use, 1);
    nd__hook_lock();
    hook_object *o = nd__hook_object_get(c->of, 's', c->stream);
    others = o ? o->use++ : 0;
    nd__hook_unlock();
    return others;
}

static bool stream_broken(hook_call *c)
{
    int i = nd__hook_place(c->slot, HOOK_KIND_STREAM);
    if (!c->dev || i < 0 || !queues(c->id) || !(c->dev->info.flags & NDP_DEV_ASYNC))
        return false;
    c->stream = (ndp_stream *)(uintptr_t)c->word[i];
    return !is_queueing(c, c->stream) && stream_entered(c) &&
           nd__hook_violated(c, "one_thread",
                             "another thread queues work on this stream at this moment");
}

static void stream_left(hook_call *c)
{
    if (!c->queues)
        return;
    queueing = c->around;
    if (c->stream) {
        nd__hook_lock();
        hook_object *o = nd__hook_object_get(c->of, 's', c->stream);
        if (o && o->use)
            o->use--;
        nd__hook_unlock();
    } else {
        atomic_fetch_sub(&c->dev->default_use, 1);
    }
    c->queues = false;
}

/* ---- functions of the host that a stream calls ---- */
typedef struct {
    void (*fn)(void *);
    void *arg;
} host_function;

static void run_host_function(void *arg)
{
    host_function f = *(host_function *)arg;
    free(arg);
    inside_host_function++;
    f.fn(f.arg);
    inside_host_function--;
}

static void wrap_host_function(hook_call *c)
{
    host_function *f = malloc(sizeof *f);
    if (!f)
        return;
    f->fn = (void (*)(void *))(uintptr_t)c->word[2];
    f->arg = (void *)(uintptr_t)c->word[3];
    c->word[2] = (uint64_t)(uintptr_t)run_host_function;
    c->word[3] = (uint64_t)(uintptr_t)f;
    c->host_function = f;
}

/* ---- before and after ---- */
static bool any_open(const hook_call *c)
{
    bool open = false;
    nd__hook_lock();
    for (const hook_dev *d = c->of->devs; d; d = d->next)
        open |= d->opened > 0;
    nd__hook_unlock();
    return open;
}

static void preset(hook_call *c)
{
    for (uint32_t i = 0; i < c->slot->n; i++)
        if (nd__hook_family(c->slot->arg[i].kind) == HOOK_OUT && c->word[i])
            *(void **)(uintptr_t)c->word[i] = &unset;
}

bool nd__hook_check_enter(hook_call *c)
{
    int call = nd__hook_place(c->slot, HOOK_KIND_CALL);
    const ndp_call *record = call < 0 ? NULL : (const ndp_call *)(uintptr_t)c->word[call];
    if (inside_host_function &&
        nd__hook_violated(c, "host_function", "called by a function that a stream runs"))
        return false;
    if (handles_broken(c) || index_broken(c) || range_broken(c))
        return false;
    if (c->id == HOOK_SLOT_plugin_shutdown && any_open(c) &&
        nd__hook_violated(c, "shutdown", "a device is open"))
        return false;
    if (call >= 0 && nd__hook_check_call(c, record))
        return false;
    if (stream_broken(c)) {
        stream_left(c);
        return false;
    }
    if (c->id == HOOK_SLOT_stream_launch_host)
        wrap_host_function(c);
    preset(c);
    nd__hook_results_enter(c);
    nd__hook_growth_enter(c);
    (void)fegetenv(&c->numbers);
    c->number_modes = nd__number_modes();
    c->rounding = fegetround();
    if (c->id == HOOK_SLOT_kernel_run)
        nd__hook_check_outputs(c, record, true);
    return true;
}

/* A handle that was alive may not be given again; a failure gives none. */
static bool outs_broken(hook_call *c)
{
    bool failed = (int32_t)c->result != NDP_OK;
    for (uint32_t i = 0; i < c->slot->n; i++) {
        char type = nd__hook_object(c->slot->arg[i].kind);
        if (nd__hook_family(c->slot->arg[i].kind) != HOOK_OUT || !c->word[i])
            continue;
        void **out = (void **)(uintptr_t)c->word[i], *made = *out;
        if (made == &unset)
            *out = made = NULL;
        if (failed && made) {
            *out = NULL;
            return nd__hook_violated(c, "out_on_failure", "it failed with %s and gave a handle",
                                     nd_status_name((int32_t)c->result));
        }
        if (!failed && !made)
            return nd__hook_violated(c, "out_on_success", "it succeeded and gave no handle");
        nd__hook_lock();
        hook_object *o = made && type != 'd' && type != 'f' && type != 'k'
                             ? nd__hook_object_get(c->of, type, made)
                             : NULL;
        bool again = o && o->given;
        nd__hook_unlock();
        if (again && c->id != HOOK_SLOT_stream_wrap)
            return nd__hook_violated(c, "handle_given_twice", "the %s it gave is in use",
                                     type_name(type));
    }
    return false;
}

/* What it changed is put back, so that the next call is not told of as well. */
static bool numbers_broken(hook_call *c)
{
    const int rounding = fegetround();
    const unsigned long modes = nd__number_modes();
    if (rounding == c->rounding && modes == c->number_modes)
        return false;
    (void)fesetenv(&c->numbers);
    if (rounding != c->rounding)
        return nd__hook_violated(c, "rounding_mode", "it changed the floating-point rounding mode");
    return nd__hook_violated(c, "number_modes",
                             "it changed the floating-point modes from %#lx to %#lx, such as "
                             "subnormal numbers to zero",
                             c->number_modes, modes);
}

static bool status_broken(hook_call *c)
{
    int32_t status = (int32_t)c->result;
    if (c->slot->status && (status < 0 || status >= ND_STATUS_END))
        return nd__hook_violated(c, "status", "%d is no status, they end at %d", (int)status,
                                 ND_STATUS_END - 1);
    if (status == NDP_ERR_UNSUPPORTED && c->id == HOOK_SLOT_kernel_run)
        return nd__hook_violated(c, "found_runs", "a kernel that find gave says UNSUPPORTED");
    return numbers_broken(c);
}

void nd__hook_check_leave(hook_call *c)
{
    int call = nd__hook_place(c->slot, HOOK_KIND_CALL);
    c->made = true;
    stream_left(c);
    if (c->host_function && (int32_t)c->result != NDP_OK)
        free(c->host_function); /* it never runs */
    const bool grew = nd__hook_check_growth(c);
    bool outs = outs_broken(c), status = status_broken(c);
    if (grew || outs || status || nd__hook_check_results(c) || nd__hook_check_time(c))
        return;
    if (c->id == HOOK_SLOT_kernel_run)
        nd__hook_check_outputs(c, (const ndp_call *)(uintptr_t)c->word[call], false);
    else if (c->id == HOOK_SLOT_op_find)
        (void)nd__hook_check_find(c);
}
