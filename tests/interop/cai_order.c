/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The order that the CUDA Array Interface asks of producers and consumers, under the race checker
 * of the simulated device: each rule with its wait, and without it the race. */
#include "core/ops/ops.h"
#include "tests/interop/exchange.h"

enum { N = 96 };

static nd_cai export_of(const nd_array *a, int32_t policy)
{
    nd_cai c = {.size = sizeof c};
    const nd_cai_export_opts opts = {.size = sizeof opts, .policy = policy};
    DO(nd_cai_export(a, &opts, &c));
    return c;
}

static nd_array *import_of(const nd_cai *c, int32_t sync)
{
    nd_array *a = NULL;
    const nd_cai_import_opts opts = {.size = sizeof opts, .sync = sync, .device = sim[0]};
    DO(nd_cai_import(c, &opts, &a));
    return a;
}

/* A description as another library would give it. */
static nd_cai described(const nd_array *a, int64_t stream)
{
    nd_cai c = export_of(a, ND_CAI_EXPORT_NONE);
    c.stream = stream;
    return c;
}

static nd_array *part(const nd_array *a, int64_t start, int64_t stop)
{
    nd_array *v = NULL;
    nd_index at = nd_range(start, stop, 1);
    DO(nd_slice(a, &at, 1, &v));
    return v;
}

/* A host function as a kernel: it reads its first operand and writes its second. */
static void copy_kernel(const uint32_t grid[3], const uint32_t block[3], void *const *argument)
{
    (void)grid;
    (void)block;
    memcpy(argument[1], argument[0], N * sizeof(float));
}
static void launch_copy(const nd_array *from, const nd_array *to)
{
    static nd_function *f;
    static const ndp_host_function functions[] = {{"copy", copy_kernel}};
    nd_module_opts opts = {
        .size = sizeof opts, .kind = ND_CODE_HOST, .code = functions, .nbytes = sizeof functions};
    nd_module *m = NULL;
    if (!f) {
        DO(nd_module_get(sim[0], &opts, &m));
        DO(nd_module_function(m, "copy", &f));
    }
    const nd_launch_arg args[2] = {nd_launch_in(from), nd_launch_out(to)};
    DO(nd_launch(
        f, args, 2,
        &(nd_launch_opts){.size = sizeof(nd_launch_opts), .grid = {1, 1, 1}, .block = {1, 1, 1}}));
}

static nd_array *idle_array(void)
{
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_synchronize(sim[0]));
    check_on();
    return a;
}

/* The document's example: work on 7, 9 and 15, an event on each, 3 waits for them. */
static void three_producers(int32_t policy, const char *what)
{
    nd_stream *s[3] = {new_stream(0), new_stream(0), new_stream(0)}, *three = new_stream(0);
    nd_array *a = idle_array();
    for (int i = 0; i < 3; i++) {
        nd_array *third = part(a, i * N / 3, (i + 1) * N / 3);
        DO(nd_stream_push(s[i]));
        DO(nd_fill(third, nd_float(i)));
        DO(nd_stream_pop(s[i]));
        nd_release(third);
    }
    DO(nd_stream_push(three));
    uint64_t records = calls(0, "event_record"), waits = calls(0, "stream_wait"),
             blocked = host_waits();
    nd_cai c = export_of(a, policy);
    if (policy == ND_CAI_EXPORT_STREAM) {
        is_int(c.stream, handle_number(three), "I5: the export names stream 3");
        is_int(calls(0, "event_record") - records, 3, "I5: one event on each of 7, 9, 15");
        is_int(calls(0, "stream_wait") - waits, 3, "I5: for which stream 3 waits");
        is_int(host_waits(), blocked, "I5: the host waits for nothing");
        nd_cai again = export_of(a, policy);
        is_int(again.stream, c.stream, "I16: a second export says the same");
        is_int(calls(0, "event_record") - records, 3, "I16: and queues nothing");
    }
    DO(nd_stream_pop(three));
    on_handle(handle_number(three), a, 0);
    if (policy == ND_CAI_EXPORT_STREAM)
        no_race(what);
    else
        ok(races() > 0, "%s", what);
    nd_release(a);
    for (int i = 0; i < 3; i++)
        nd_stream_release(s[i]);
    nd_stream_release(three);
    settle();
}

static void i5_join(void)
{
    three_producers(ND_CAI_EXPORT_STREAM, "I5: a consumer on stream 3 races with nobody");
    three_producers(ND_CAI_EXPORT_NONE, "I5: without the three waits it does");
}

/* Every kind of use of a by us, on the current stream. */
static void use_dense(nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_negative(a, &r));
    nd_release(r);
}
static void use_scalar(nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_apply(ND_OP_add, (nd_arg[]){nd_array_arg(a), nd_scalar_arg(nd_float(2))}, 2, NULL, &r));
    nd_release(r);
}
static void use_reduced(nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_sum(a, NULL, &r));
    nd_release(r);
}
static void use_view(nd_array *a)
{
    nd_array *v = NULL;
    nd_index at = nd_range(1, N, 3);
    DO(nd_slice(a, &at, 1, &v));
    DO(nd_fill(v, nd_float(4)));
    nd_release(v);
}
static nd_array *pinned_memory(void)
{
    static nd_array *pinned;
    int64_t n = N;
    if (!pinned)
        DO(nd_empty_pinned(sim[0], ND_F32, 1, &n, &pinned));
    return pinned;
}
static const nd_copy_opts no_wait = {.size = sizeof no_wait, .non_blocking = 1};
static void use_download(nd_array *a)
{
    DO(nd_copy_to(a, pinned_memory(), &no_wait));
}
static void use_upload(nd_array *a)
{
    DO(nd_copy_to(pinned_memory(), a, &no_wait));
}
static void use_write(nd_array *a)
{
    nd_array *host = filled(cpu, N, 3);
    DO(nd_assign(host, a));
    nd_release(host);
}
static void use_peer_source(nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_copy(a, sim[1], &r));
    nd_release(r);
}
static void use_peer_target(nd_array *a)
{
    static nd_array *there;
    if (!there)
        there = filled(sim[1], N, 3);
    DO(nd_assign(there, a));
}
static void use_launch(nd_array *a)
{
    static nd_array *to;
    if (!to) {
        to = vector(sim[0], N);
        DO(nd_synchronize(sim[0]));
        check_on();
    }
    launch_copy(a, to);
}
static void use_softmax(nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_softmax(a, NULL, &r));
    nd_release(r);
}
static void use_cast(nd_array *a)
{
    nd_array *r = NULL;
    DO(nd_astype(a, ND_F64, &r));
    nd_release(r);
}
static const struct {
    const char *name;
    void (*use)(nd_array *a);
} uses[] = {{"a dense operation", use_dense},
            {"one with a scalar", use_scalar},
            {"a reduction", use_reduced},
            {"a write through a strided view", use_view},
            {"a copy to pinned memory", use_download},
            {"a copy from there", use_upload},
            {"a blocking copy from the host", use_write},
            {"a copy to another device", use_peer_source},
            {"a copy from there", use_peer_target},
            {"a program's kernel", use_launch},
            {"softmax", use_softmax},
            {"a conversion", use_cast}};
enum { USES = sizeof uses / sizeof *uses };

/* The array on s alone, after anything that a use needs was made. */
static nd_array *used_on(nd_stream *s, int i)
{
    nd_array *warm = filled(sim[0], N, 1);
    uses[i].use(warm);
    nd_release(warm);
    for (int d = 0; d < 2; d++)
        DO(nd_synchronize(sim[d]));
    nd_array *a = idle_array();
    DO(nd_stream_push(s));
    uses[i].use(a);
    DO(nd_stream_pop(s));
    return a;
}

static void i5_every_use(void)
{
    for (int i = 0; i < USES; i++) {
        nd_stream *s = new_stream(0);
        nd_array *a = used_on(s, i);
        nd_cai c = export_of(a, ND_CAI_EXPORT_STREAM);
        is_int(c.stream, 1, uses[i].name);
        on_handle(1, a, 1);
        no_race("I5: lies before the consumer's write");
        nd_release(a);
        nd_stream_release(s);
        settle();
    }
}

static void i4_which_stream(void)
{
    nd_array *a = idle_array();
    nd_cai c = export_of(a, ND_CAI_EXPORT_STREAM);
    ok(c.stream == ND_CAI_NO_STREAM, "I4: nothing pending: no stream");
    DO(nd_fill(a, nd_float(2)));
    c = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(c.stream, 1, "I4: pending on the default stream: 1, never 0");
    nd_stream *s = new_stream(0);
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(3)));
    c = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(c.stream, handle_number(s), "I4: pending on one of our own: its handle");
    c = export_of(a, ND_CAI_EXPORT_NONE);
    ok(c.stream == ND_CAI_NO_STREAM, "I7: policy none never names one");
    DO(nd_stream_pop(s));
    c = export_of(a, ND_CAI_EXPORT_SYNC);
    ok(c.stream == ND_CAI_NO_STREAM, "I7: policy sync names none");
    is_int(pending(0, s), 0, "I7: since it has waited");
    nd_array *fresh = vector(sim[0], N);
    DO(nd_fill(a, nd_float(3)));
    nd_release(fresh);
    nd_array *again = vector(sim[0], N);
    c = export_of(again, ND_CAI_EXPORT_STREAM);
    is_int(c.stream, 1, "I4: memory that is used again may have work of before pending");
    nd_release(again);
    nd_release(a);
    nd_stream_release(s);
    settle();
}

static void i6_stream_lives(void)
{
    nd_stream *s = new_stream(0);
    nd_array *a = idle_array();
    DO(nd_stream_push(s));
    DO(nd_fill(a, nd_float(2)));
    nd_cai c = export_of(a, ND_CAI_EXPORT_STREAM);
    DO(nd_stream_pop(s));
    nd_stream_release(s);
    uint64_t gone = calls(0, "stream_destroy");
    on_handle((uint64_t)c.stream, a, 1);
    is_int(calls(0, "stream_destroy") - gone, 1,
           "I6: the exported stream lives after its user (only the wrapper of it went)");
    gone = calls(0, "stream_destroy");
    nd_release(a);
    is_int(calls(0, "stream_destroy") - gone, 1, "I6: and goes with the array");
    settle();
}

/* Our memory played by another library: what it does, it does on the stream of that handle. */
static void consume(int32_t sync, int clean)
{
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array();
    on_handle(p, theirs, 1);
    nd_cai c = described(theirs, (int64_t)p);
    nd_stream *mine = new_stream(0);
    DO(nd_stream_push(mine));
    uint64_t blocked = host_waits();
    nd_array *a = import_of(&c, sync), *r = NULL;
    DO(nd_negative(a, &r));
    is_int(host_waits(), blocked, "I10: the host waits for nothing");
    if (clean)
        no_race("I10: we read behind what the producer wrote");
    else
        ok(races() > 0, "I10: without the wait that is a race");
    control->race_clear(dev[0]);
    on_handle(p, theirs, 1);
    if (clean)
        no_race("I11: the producer's next write lies behind our read");
    else
        ok(races() > 0, "I11: without the way back that is a race");
    DO(nd_stream_pop(mine));
    nd_release(r);
    nd_release(a);
    nd_release(theirs);
    nd_stream_release(mine);
    settle();
}

static void i10_i11_consumer(void)
{
    consume(ND_CAI_SYNC_ON, 1);
    consume(ND_CAI_SYNC_OFF, 0);
}

static void i11_every_use(void)
{
    for (int i = 0; i < USES; i++) {
        uint64_t p = strangers_stream();
        nd_stream *mine = new_stream(0);
        nd_array *warm = used_on(mine, i);
        nd_release(warm);
        DO(nd_synchronize(sim[1]));
        nd_array *theirs = idle_array();
        nd_cai c = described(theirs, (int64_t)p);
        DO(nd_stream_push(mine));
        nd_array *a = import_of(&c, ND_CAI_SYNC_ON);
        uint64_t waits = calls(0, "stream_wait"); /* the checker does not see programs' kernels */
        uses[i].use(a);
        ok(calls(0, "stream_wait") > waits, "I11: %s", uses[i].name);
        DO(nd_stream_pop(mine));
        on_handle(p, theirs, 1);
        no_race("I11: the producer's next write lies behind");
        nd_release(a);
        nd_release(theirs);
        nd_stream_release(mine);
        settle();
    }
}

static void re_export(void)
{
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array(), *r = NULL;
    nd_cai c = described(theirs, (int64_t)p);
    nd_array *a = import_of(&c, ND_CAI_SYNC_ON);
    nd_stream *mine = new_stream(0);
    DO(nd_stream_push(mine));
    DO(nd_negative(a, &r));
    nd_cai again = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(again.stream, (int64_t)p, "I6: imported memory re-exports its producer's stream");
    nd_release(a);
    c.stream = ND_CAI_NO_STREAM;
    a = import_of(&c, ND_CAI_SYNC_ON);
    again = export_of(a, ND_CAI_EXPORT_STREAM);
    ok(again.stream == ND_CAI_NO_STREAM, "I6: and none stays none");
    nd_release(r);
    DO(nd_fill(a, nd_float(1)));
    again = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(again.stream, handle_number(mine), "I5: unless work of ours is pending");
    nd_release(a);
    c.stream = (int64_t)p;
    check_on();
    a = import_of(&c, ND_CAI_SYNC_OFF);
    DO(nd_synchronize(sim[0]));
    DO(nd_fill(a, nd_float(1)));
    again = export_of(a, ND_CAI_EXPORT_STREAM);
    is_int(again.stream, (int64_t)p, "I12: sync off still re-exports the producer's");
    on_handle(p, theirs, 0);
    no_race("I12: and joins our own work into it");
    DO(nd_stream_pop(mine));
    nd_release(a);
    nd_release(theirs);
    nd_stream_release(mine);
    settle();
}

static int released;
static void release(void *ctx)
{
    released++;
    *(int *)ctx += 1;
}

static void lifetimes(void)
{
    int owner = 0;
    uint64_t p = strangers_stream();
    nd_array *theirs = idle_array(), *a = NULL;
    nd_cai c = described(theirs, (int64_t)p);
    nd_cai_import_opts opts = {.size = sizeof opts, .release = release, .ctx = &owner};
    DO(nd_cai_import(&c, &opts, &a));
    ok(nd_device_of(a) == sim[0], "I14: the device is found by the address");
    nd_array *view = part(a, 2, 9);
    nd_release(a);
    is_int(owner, 0, "I12: a view keeps the owner");
    uint64_t blocked = host_waits();
    DO(nd_fill(view, nd_float(5)));
    is_int(nd_release_waits(view), 0, "I12: and its release says that it will not wait");
    nd_release(view);
    is_int(owner, 1, "I12: which is let go once, with the last view");
    is_int(host_waits(), blocked, "I12: without waiting: its stream lies behind our work");
    c.stream = ND_CAI_NO_STREAM;
    DO(nd_cai_import(&c, &opts, &a));
    is_int(nd_release_waits(a), 0, "I12: nor does that of memory never used");
    DO(nd_fill(a, nd_float(5)));
    is_int(nd_release_waits(a), 1, "I12: but that of memory used without an owner's stream does");
    view = part(a, 2, 9);
    is_int(nd_release_waits(a), 0, "I12: not while a view keeps it");
    nd_release(view);
    nd_release(a);
    is_int(owner, 2, "I12: of an owner without stream as well");
    is_int(pending(0, default_stream(0)), 0,
           "I12: but behind our work, for which the host has waited");
    c.data += 1;
    a = NULL;
    is_int(nd_cai_import(&c, &opts, &a), ND_ERR_UNSUPPORTED, "I12: after a failure");
    is_int(owner, 2, "I12: the owner is still the caller's");
    nd_release(theirs);
    settle();
}

static void our_own_stream(void)
{
    nd_array *ours = idle_array(), *r = NULL;
    nd_stream *s = new_stream(0);
    DO(nd_stream_push(s));
    DO(nd_fill(ours, nd_float(2)));
    nd_cai c = export_of(ours, ND_CAI_EXPORT_STREAM);
    uint64_t records = calls(0, "event_record"), wraps = calls(0, "stream_wrap");
    nd_array *a = import_of(&c, ND_CAI_SYNC_ON);
    DO(nd_negative(a, &r));
    is_int(calls(0, "stream_wrap"), wraps, "a stream of ours is known by its handle");
    is_int(calls(0, "event_record"), records, "and needs no event where it is current");
    no_race("nor is there a race");
    DO(nd_stream_pop(s));
    nd_release(r);
    nd_release(a);
    nd_release(ours);
    nd_stream_release(s);
    settle();
}

/* ctx: how many streams had been let go when the owner was, who may take its stream away. */
typedef struct {
    bool let_go;
    uint64_t frees;
} at_release;

static void owner_leaves(void *ctx)
{
    *(at_release *)ctx = (at_release){true, calls(0, "stream_destroy")};
}

static void stream_of_an_owner(void)
{
    at_release then = {false, 0};
    nd_array *ours = idle_array(), *a = NULL, *r = NULL;
    nd_cai c = described(ours, (int64_t)strangers_stream());
    const nd_cai_import_opts opts = {
        .size = sizeof opts, .device = sim[0], .release = owner_leaves, .ctx = &then};
    DO(nd_cai_import(&c, &opts, &a));
    DO(nd_negative(a, &r));
    nd_release(a);
    ok(then.let_go, "the owner is let go with the array");
    is_int(calls(0, "stream_destroy"), then.frees, "the record of its stream was before");
    nd_release(r);
    nd_release(ours);
    settle();
}

/* I18 and captures: what is captured is neither waited for nor followed. */
static void captured(void)
{
    nd_captured *graph = NULL;
    uint64_t p = strangers_stream();
    nd_array *a = idle_array(), *r = vector(sim[0], N);
    nd_cai c = described(a, (int64_t)p);
    nd_array *theirs = import_of(&c, ND_CAI_SYNC_ON);
    nd_stream *s = new_stream(0), *other = new_stream(0);
    DO(nd_stream_push(other));
    DO(nd_fill(a, nd_float(3)));
    DO(nd_stream_pop(other));
    DO(nd__capture_begin(s, NDP_CAPTURE_RELAXED));
    DO(nd_stream_push(s));
    DO(nd_copy_to(theirs, r, NULL));
    nd_cai out = {.size = sizeof out};
    is_int(nd_cai_export(a, NULL, &out), ND_ERR_CAPTURE,
           "work outside of the capture cannot be joined into it");
    has_text(nd_last_error()->message, "captured", "the error says so");
    DO(nd_stream_pop(s));
    DO(nd__capture_end(s, &graph));
    nd__captured_free(graph);
    DO(nd_cai_export(a, NULL, &out));
    is_int(out.stream, 1, "afterwards it can");
    nd_release(theirs);
    nd_release(r);
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(other);
    settle();
}

TAP_MAIN({"i5_join", i5_join}, {"i5_every_use", i5_every_use}, {"i11_every_use", i11_every_use},
         {"i4_which_stream", i4_which_stream}, {"i6_stream_lives", i6_stream_lives},
         {"i10_i11_consumer", i10_i11_consumer}, {"re_export", re_export}, {"lifetimes", lifetimes},
         {"our_own_stream", our_own_stream}, {"stream_of_an_owner", stream_of_an_owner},
         {"captured", captured})
