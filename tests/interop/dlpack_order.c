/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack in stream order, under the race checker: the rules of the stream argument, copies, the
 * form without version, and tensors of devices that only this library knows. */
#include "core/ops/ops.h"
#include "tests/interop/exchange.h"

enum { N = 64 };

static nd_array *busy_array(nd_stream **s)
{
    nd_array *a = filled(sim[0], N, 1);
    DO(nd_synchronize(sim[0]));
    check_on();
    *s = new_stream(0);
    DO(nd_stream_push(*s));
    DO(nd_fill(a, nd_float(2)));
    DO(nd_stream_pop(*s));
    return a;
}

static nd_dl_managed *export_to(const nd_array *a, int64_t stream)
{
    nd_dl_managed *m = NULL;
    const nd_dl_export_opts opts = {.size = sizeof opts, .stream = stream};
    DO(nd_dlpack_export(a, &opts, &m));
    return m;
}

static void i17_streams(void)
{
    nd_stream *s;
    nd_array *a = busy_array(&s);
    uint64_t c = strangers_stream(), blocked = host_waits();
    nd_dl_managed *m = export_to(a, (int64_t)c);
    is_int(host_waits(), blocked, "I17: the host waits for nothing");
    on_handle(c, a, 0);
    no_race("I17: the consumer's stream lies behind our work");
    m->deleter(m);
    nd_release(a);
    nd_stream_release(s);
    settle();
    a = busy_array(&s);
    m = export_to(a, ND_DL_STREAM_UNORDERED);
    on_handle(c, a, 0);
    ok(races() > 0, "I17: -1 orders nothing");
    m->deleter(m);
    nd_release(a);
    nd_stream_release(s);
    settle();
    a = busy_array(&s);
    m = export_to(a, ND_DL_STREAM_NONE);
    on_handle(1, a, 0);
    no_race("I17: none given is the legacy default stream");
    m->deleter(m);
    nd_dl_managed *again = export_to(a, (int64_t)c);
    on_handle(c, a, 0);
    no_race("I17: a second consumer lies behind it too");
    again->deleter(again);
    nd_dl_export_opts opts = {.size = sizeof opts, .stream = 0};
    is_int(nd_dlpack_export(a, &opts, &m), ND_ERR_ARGUMENT, "I17: 0 is refused");
    has_text(nd_last_error()->message, "stream 0 is ambiguous", "I17: which says why");
    opts.stream = -2;
    is_int(nd_dlpack_export(a, &opts, &m), ND_ERR_ARGUMENT, "I17: and so is -2");
    nd_release(a);
    nd_stream_release(s);
    settle();
}

/* What we handed to one consumer is still in order for the next, through either interface. */
static void i17_then_cai(void)
{
    nd_stream *s;
    nd_array *a = busy_array(&s);
    nd_dl_managed *m = export_to(a, (int64_t)strangers_stream());
    nd_cai c = {.size = sizeof c};
    DO(nd_cai_export(a, NULL, &c));
    on_handle((uint64_t)c.stream, a, 0);
    no_race("I5: work that one consumer was put behind is still pending for the next");
    m->deleter(m);
    nd_release(a);
    nd_stream_release(s);
    settle();
}

static void i17_copies(void)
{
    nd_stream *s;
    nd_array *a = busy_array(&s);
    nd_dl_managed *m = NULL;
    nd_dl_export_opts opts = {
        .size = sizeof opts, .stream = ND_DL_STREAM_NONE, .copy = ND_DL_COPY_ALWAYS};
    DO(nd_dlpack_export(a, &opts, &m));
    is_int(m->flags, ND_DL_IS_COPIED, "I17: copy=True says that it is one");
    nd_dl_tensor view;
    DO(nd_dlpack_view(a, &view));
    ok(m->tensor.data != view.data, "I17: and is");
    m->deleter(m);
    opts = (nd_dl_export_opts){.size = sizeof opts,
                               .stream = ND_DL_STREAM_NONE,
                               .has_device = 1,
                               .device = {ND_DL_CPU, 0}};
    opts.copy = ND_DL_COPY_NEVER;
    is_int(nd_dlpack_export(a, &opts, &m), ND_ERR_ARGUMENT, "I17: to the host only as a copy");
    opts.copy = ND_DL_COPY_IF_NEEDED;
    DO(nd_stream_wait_stream(default_stream(0), s));
    DO(nd_dlpack_export(a, &opts, &m));
    is_int(m->tensor.device.device_type, ND_DL_CPU, "I17: (1, 0): in host memory");
    ok(((float *)m->tensor.data)[N - 1] == 2, "I17: complete on return");
    is_int(m->flags, ND_DL_IS_COPIED, "I17: flagged");
    m->deleter(m);
    opts.device = (nd_dl_device){ND_DL_CUDA, 0};
    is_int(nd_dlpack_export(a, &opts, &m), ND_ERR_DEVICE, "I17: nowhere else");
    nd_array *host = NULL;
    DO(nd_to_device(a, cpu, &host));
    opts = (nd_dl_export_opts){.size = sizeof opts, .stream = 1};
    is_int(nd_dlpack_export(host, &opts, &m), ND_ERR_ARGUMENT, "I17: host memory has no stream");
    nd_release(host);
    nd_release(a);
    nd_stream_release(s);
    settle();
}

static void i18_capture(void)
{
    nd_stream *s, *captured = new_stream(0);
    nd_array *a = busy_array(&s);
    nd_captured *graph = NULL;
    DO(nd__capture_begin(captured, NDP_CAPTURE_RELAXED));
    DO(nd_stream_push(captured));
    uint64_t waits = calls(0, "stream_wait");
    nd_dl_managed *m = export_to(a, ND_DL_STREAM_NONE);
    is_int(calls(0, "stream_wait"), waits, "I18: none given in a capture: nothing waits");
    m->deleter(m);
    DO(nd_stream_pop(captured));
    DO(nd__capture_end(captured, &graph));
    nd__captured_free(graph);
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(captured);
    settle();
}

static void i19_legacy(void)
{
    nd_array *a = filled(sim[0], N, 3), *back = NULL, *fixed = NULL;
    nd_dl_legacy *m = NULL;
    DO(nd_dlpack_export_legacy(a, NULL, &m));
    ok(m->tensor.strides && m->tensor.strides[0] == 1, "I19: strides are never NULL");
    DO(nd_dlpack_import_legacy(m, NULL, &back));
    ok(value_of(back) == 3, "I19: there and back");
    nd_release(back);
    DO(nd_broadcast_to(a, 2, (const int64_t[]){2, N}, &fixed));
    ok(nd_is_readonly(fixed), "a broadcast view is read-only");
    is_int(nd_dlpack_export_legacy(fixed, NULL, &m), ND_ERR_READONLY,
           "I19: which the old form cannot say");
    nd_dl_managed *v = NULL;
    DO(nd_dlpack_export(fixed, NULL, &v));
    is_int(v->flags, ND_DL_READ_ONLY, "I19: the new one does");
    DO(nd_dlpack_import(v, NULL, &back));
    ok(nd_is_readonly(back) && nd_device_of(back) == sim[0], "I19: and it comes back so");
    nd_release(back);
    nd_release(fixed);
    nd_release(a);
    settle();
}

static void i20_types(void)
{
    int64_t shape[1] = {2};
    float x[2] = {1, 2};
    static const struct {
        uint8_t code, bits;
        const char *name;
    } types[] = {{7, 8, "float8_e3m4"},      {8, 8, "float8_e4m3"},     {11, 8, "float8_e4m3fnuz"},
                 {13, 8, "float8_e5m2fnuz"}, {14, 8, "float8_e8m0fnu"}, {17, 4, "float4_e2m1fn"},
                 {3, 64, "handle"},          {200, 8, "unknown"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        nd_dl_managed m = {.version = {1, 0},
                           .tensor = {.data = x,
                                      .device = {ND_DL_CPU, 0},
                                      .ndim = 1,
                                      .dtype = {types[i].code, types[i].bits, 1},
                                      .shape = shape}};
        nd_array *a = NULL;
        is_int(nd_dlpack_import(&m, NULL, &a), ND_ERR_DTYPE, "I20: no dtype of ours");
        has_text(nd_last_error()->message, types[i].name, "I20: but it is named");
    }
    static const struct {
        uint8_t code;
        nd_dtype dtype;
    } ours[] = {{10, ND_F8_E4M3}, {12, ND_F8_E5M2}}; /* kDLFloat8_e4m3fn, kDLFloat8_e5m2 */
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        nd_dl_managed m = {.version = {1, 0},
                           .tensor = {.data = x,
                                      .device = {ND_DL_CPU, 0},
                                      .ndim = 1,
                                      .dtype = {ours[i].code, 8, 1},
                                      .shape = shape}};
        nd_array *a = NULL;
        DO(nd_dlpack_import(&m, NULL, &a));
        ok(a && nd_dtype_of(a) == ours[i].dtype, "I20: an 8-bit float of ours");
        nd_release(a);
    }
    nd_dl_managed pinned = {.version = {1, 0},
                            .tensor = {.data = x,
                                       .device = {ND_DL_CUDA_HOST, 0},
                                       .ndim = 1,
                                       .dtype = {2, 32, 1},
                                       .shape = shape}};
    nd_array *a = NULL;
    DO(nd_dlpack_import(&pinned, NULL, &a));
    ok(a && nd_device_of(a) == cpu, "I20: pinned memory is the host's");
    nd_release(a);
    nd_dl_managed alien = pinned;
    alien.tensor.device.device_type = ND_DL_EXT;
    is_int(nd_dlpack_import(&alien, NULL, &a), ND_ERR_DEVICE, "I20: somebody else's device");
    nd_dl_import_opts opts = {.size = sizeof opts, .stream = 0};
    is_int(nd_dlpack_import(&pinned, &opts, &a), ND_ERR_ARGUMENT, "stream 0 is refused");
}

static void i21_import_behind(void)
{
    uint64_t p = strangers_stream();
    nd_array *theirs = filled(sim[0], N, 1), *a = NULL, *r = NULL;
    DO(nd_synchronize(sim[0]));
    check_on();
    on_handle(p, theirs, 1);
    nd_dl_managed *m = export_to(theirs, ND_DL_STREAM_UNORDERED);
    nd_dl_import_opts opts = {.size = sizeof opts, .stream = (int64_t)p};
    DO(nd_dlpack_import(m, &opts, &a));
    DO(nd_negative(a, &r));
    no_race("I21: the current stream lies behind the producer's");
    nd_release(r);
    nd_release(a);
    nd_release(theirs);
    settle();
}

/* Memory of somebody else, handed on: behind its owner's work and ours. */
static void i17_imported(void)
{
    uint64_t p = strangers_stream(), c = strangers_stream();
    nd_array *theirs = filled(sim[0], N, 1), *a = NULL;
    DO(nd_synchronize(sim[0]));
    check_on();
    nd_cai desc = {.size = sizeof desc};
    const nd_cai_import_opts opts = {.size = sizeof opts, .sync = ND_CAI_SYNC_OFF};
    DO(nd_cai_export(theirs, NULL, &desc));
    desc.stream = (int64_t)p;
    on_handle(p, theirs, 1);
    DO(nd_cai_import(&desc, &opts, &a));
    nd_dl_managed *m = export_to(a, (int64_t)c);
    on_handle(c, theirs, 0);
    no_race("I17: a consumer lies behind the owner of what was imported");
    m->deleter(m);
    nd_release(a);
    nd_release(theirs);
    settle();
}

/* A tensor whose contents come by way of our stream is handed on in that order. */
static void i17_contents_to_come(void)
{
    nd_stream *s;
    nd_array *theirs = busy_array(&s), *a = NULL;
    nd_stream *mine = new_stream(0);
    DO(nd_stream_push(mine));
    nd_dl_managed *m = export_to(theirs, (int64_t)handle_number(mine));
    DO(nd_dlpack_import(m, NULL, &a));
    DO(nd_stream_pop(mine));
    nd_cai c = {.size = sizeof c};
    DO(nd_cai_export(a, NULL, &c));
    is_int(c.stream, 1, "I5: contents to come are pending work");
    on_handle(1, theirs, 0);
    no_race("I5: behind which the next consumer lies");
    nd_release(a);
    nd_release(theirs);
    nd_stream_release(s);
    nd_stream_release(mine);
    settle();
}

TAP_MAIN({"i17_imported", i17_imported}, {"i17_contents_to_come", i17_contents_to_come},
         {"i17_streams", i17_streams}, {"i17_then_cai", i17_then_cai}, {"i17_copies", i17_copies},
         {"i18_capture", i18_capture}, {"i19_legacy", i19_legacy}, {"i20_types", i20_types},
         {"i21_import_behind", i21_import_behind})
