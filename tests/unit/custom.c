/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * X6: a program's own modules, launches and operations, on the CPU and the simulated device. */
#include <ndock/ndock.h>
#include <ndock/sim.h>
#include "tests/tap.h"

static nd_device *cpu, *sim;

#define DO(call) done((call), #call, __LINE__)
static void done(nd_status status, const char *what, int line)
{
    if (status == ND_OK)
        return;
    tap_ok(0, __FILE__, line, "%s", what);
    diag("%s: %s", nd_status_name(status), nd_last_error()->message);
}

static const char *told(void)
{
    return nd_last_error()->message;
}

static nd_array *upload(nd_device *device, int ndim, const int64_t *shape, const float *data)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = ndim, .shape = shape};
    nd_array *a = NULL;
    DO(nd_from_host(&layout, data, device, &a));
    return a;
}

static nd_array *six(nd_device *device)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    return upload(device, 2, (const int64_t[]){2, 3}, values);
}

static int holds(const nd_array *a, const float *want, size_t n)
{
    float got[64] = {0};
    DO(nd_to_host(a, got, n * sizeof *got));
    return memcmp(got, want, n * sizeof *got) == 0;
}

/* ---- modules and launches ---- */
/* y[i] = x[i] * factor for a grid of n blocks of one thread. */
static void scale(const uint32_t grid[3], const uint32_t block[3], void *const *argument)
{
    const float *x = argument[0];
    float *y = argument[1];
    float factor = *(const float *)argument[2];
    for (uint32_t i = 0; i < grid[0] * grid[1] * grid[2] * block[0]; i++)
        y[i] = x[i] * factor;
}
static const nd_host_function functions[] = {{"scale", scale}};
static const nd_module_opts host_code = {.size = sizeof host_code,
                                         .kind = ND_CODE_HOST,
                                         .code = functions,
                                         .nbytes = sizeof functions,
                                         .name = "functions"};

static nd_status launch_scale(nd_function *f, const nd_array *x, const nd_array *y, float factor,
                              uint32_t n, nd_stream *stream)
{
    const nd_launch_arg args[] = {nd_launch_in(x), nd_launch_out(y),
                                  nd_launch_bytes(&factor, sizeof factor)};
    const nd_launch_opts opts = {.size = sizeof opts, .stream = stream, .grid = {n}, .block = {1}};
    return nd_launch(f, args, 3, &opts);
}

static void launches_on(nd_device *device)
{
    static const float want[] = {2, 4, 6, 8, 10, 12};
    nd_module *module = NULL, *same = NULL, *again = NULL;
    nd_function *f = NULL, *other = NULL;
    nd_array *x = six(device), *y = NULL;
    DO(nd_empty_like(x, 0, &y));
    DO(nd_module_load(device, &host_code, &module));
    DO(nd_module_function(module, "scale", &f));
    DO(nd_module_function(module, "scale", &other));
    ok(f == other, "%s: a function is looked up once", nd_device_name(device));
    is_int(nd_module_function(module, "shrink", &other), ND_ERR_ARGUMENT, "no such function");
    has_text(told(), "shrink", "the error names it");
    DO(launch_scale(f, x, y, 2, 6, NULL));
    ok(holds(y, want, 6), "%s: a launch computes", nd_device_name(device));
    nd_module_release(nd_module_retain(module));
    DO(launch_scale(f, x, y, 3, 6, NULL));
    nd_module_release(module); /* with the launch still queued */
    DO(nd_synchronize(device));
    DO(nd_module_get(device, &host_code, &same));
    DO(nd_module_get(device, &host_code, &again));
    ok(same && same == again, "nd_module_get gives one module to everyone");
    nd_release(x);
    nd_release(y);
}

static void launches(void)
{
    launches_on(cpu);
    launches_on(sim);
}

static void load_errors(void)
{
    nd_module *m = NULL;
    nd_module_opts opts = {.size = sizeof opts, .kind = ND_CODE_PTX, .code = ".version 7.0"};
    is_int(nd_module_load(cpu, NULL, &m), ND_ERR_ARGUMENT, "options are needed");
    is_int(nd_module_load(cpu, &opts, &m), ND_ERR_UNSUPPORTED, "the CPU takes no PTX");
    has_text(told(), "PTX", "the error names the kind of code");
    has_text(told(), "cpu", "and the device");
    opts.kind = 9;
    is_int(nd_module_load(cpu, &opts, &m), ND_ERR_ARGUMENT, "no such kind");
    opts.kind = ND_CODE_BINARY;
    is_int(nd_module_load(cpu, &opts, &m), ND_ERR_ARGUMENT, "a binary of no bytes");
    opts = host_code;
    opts.nbytes--;
    is_int(nd_module_load(cpu, &opts, &m), ND_ERR_ARGUMENT, "half a host function");
    ok(m == NULL, "and no module");
}

/* C, compiled by the machine's compiler where there is one. */
static void programs_in_c_on(nd_device *device)
{
    static const char text[] =
        "#include \"ndock_kernel.h\"\n"
        "ND_BLOCK_KERNEL(double_it)\n"
        "{ ((float *)argument[1])[at[0]] = 2 * ((float *)argument[0])[at[0]]; }\n";
    nd_module_opts opts = {.size = sizeof opts, .kind = ND_CODE_SOURCE, .code = text};
    const nd_launch_opts launch = {.size = sizeof launch, .grid = {6}, .block = {1}};
    nd_module *m = NULL;
    nd_function *f = NULL;
    nd_array *x = six(device), *y = NULL;
    const nd_status status = nd_module_load(device, &opts, &m);
    if (status == ND_ERR_UNSUPPORTED) {
        skip(2, told());
        nd_release(x);
        return;
    }
    DO(status);
    DO(nd_empty_like(x, 0, &y));
    DO(nd_module_function(m, "double_it", &f));
    const nd_launch_arg args[] = {nd_launch_in(x), nd_launch_out(y)};
    DO(nd_launch(f, args, 2, &launch));
    float in[6], out[6];
    DO(nd_to_host(x, in, sizeof in));
    DO(nd_to_host(y, out, sizeof out));
    int right = 1;
    for (int i = 0; i < 6; i++)
        right &= out[i] == 2 * in[i];
    ok(right, "a kernel in C computes on %s", nd_device_name(device));
    is_int(nd_module_function(m, "other", &f), ND_ERR_ARGUMENT, "it has no other function");
    nd_module_release(m);
    nd_release_all(2, (nd_array *[]){x, y});
}

static void programs_in_c(void)
{
    programs_in_c_on(cpu);
    programs_in_c_on(sim);
}

static void launch_errors(void)
{
    nd_function *f = NULL;
    nd_module *m = NULL;
    nd_array *x = six(sim), *y = NULL, *fixed = NULL, *far = six(cpu);
    nd_function_limits limits = {.size = sizeof limits};
    float factor = 2;
    DO(nd_empty_like(x, 0, &y));
    DO(nd_readonly(y, &fixed));
    DO(nd_module_get(sim, &host_code, &m));
    DO(nd_module_function(m, "scale", &f));
    DO(nd_function_limits_get(f, &limits));
    is_int(limits.block_threads, 1024, "the limits are told");
    is_int(launch_scale(f, x, y, 1, 0, NULL), ND_ERR_ARGUMENT, "a grid of 0");
    is_int(launch_scale(f, x, y, 1, limits.grid[0] + 1, NULL), ND_ERR_ARGUMENT, "a grid too large");
    has_text(told(), "65535", "the error has the limit");
    is_int(launch_scale(f, far, y, 1, 6, NULL), ND_ERR_DEVICE, "an array of another device");
    is_int(launch_scale(f, x, fixed, 1, 6, NULL), ND_ERR_READONLY, "a read-only destination");
    is_int(launch_scale(f, x, NULL, 1, 6, NULL), ND_ERR_ARGUMENT, "a missing array");
    const nd_launch_arg args[] = {nd_launch_in(x), nd_launch_out(y),
                                  nd_launch_bytes(&factor, sizeof factor)};
    nd_launch_opts opts = {.size = sizeof opts, .grid = {6}, .block = {32, 33}};
    is_int(nd_launch(f, args, 3, &opts), ND_ERR_ARGUMENT, "32 * 33 threads");
    has_text(told(), "1024", "the error has the limit");
    opts.block[1] = 0;
    opts.shared_bytes = 1 << 20;
    is_int(nd_launch(f, args, 3, &opts), ND_ERR_ARGUMENT, "too much shared memory");
    is_int(nd_launch(f, args, 3, NULL), ND_ERR_ARGUMENT, "no options");
    is_int(nd_launch(NULL, args, 3, &opts), ND_ERR_ARGUMENT, "no function");
    nd_release(x);
    nd_release(y);
    nd_release(fixed);
    nd_release(far);
}

/* Reads on one stream what the other writes: the stream check sees it, hazard mode orders it. */
static void order_of_accesses(void)
{
    static const float want[] = {6, 12, 18, 24, 30, 36};
    nd_stream *a = NULL, *b = NULL;
    nd_function *f = NULL;
    nd_module *m = NULL;
    nd_array *x = six(sim), *y = NULL, *z = NULL;
    char *text = NULL;
    int64_t races = 0;
    DO(nd_stream_create(sim, NULL, &a));
    DO(nd_stream_create(sim, NULL, &b));
    DO(nd_empty_like(x, 0, &y));
    DO(nd_empty_like(x, 0, &z));
    DO(nd_module_get(sim, &host_code, &m));
    DO(nd_module_function(m, "scale", &f));
    DO(nd_synchronize(sim));
    nd_stream_check_set(1);
    DO(launch_scale(f, x, y, 2, 6, a));
    DO(launch_scale(f, y, z, 3, 6, b));
    DO(nd_stream_check_report(&text, &races));
    is_int(races, 1, "two launches that nothing orders are a race");
    has_text(text, "scale", "the report names the function");
    free(text);
    nd_stream_check_set(0);
    DO(nd_synchronize(sim));
    nd_hazard_mode_set(1);
    DO(launch_scale(f, x, y, 2, 6, a));
    DO(launch_scale(f, y, z, 3, 6, b));
    nd_hazard_mode_set(0);
    DO(nd_synchronize(sim));
    ok(holds(z, want, 6), "hazard mode orders launches");
    nd_stream_release(a);
    nd_stream_release(b);
    nd_release(x);
    nd_release(y);
    nd_release(z);
}

/* ---- operations ---- */
typedef struct {
    float factor;
} params;
static int calls_cpu, calls_form, calls_shape;

/* y = x * factor, and the sum of all as a second result without dimensions. */
static nd_status scaled_shape(void *ctx, const nd_custom_shape *in, const void *p,
                              nd_custom_shape *out)
{
    (void)ctx;
    (void)p;
    calls_shape++;
    if (in[0].dtype != ND_F32)
        return nd_custom_error(ND_ERR_DTYPE, "x is %s, not f32", nd_dtype_name(in[0].dtype));
    out[0] = in[0];
    out[1].dtype = ND_F64;
    return ND_OK;
}

static nd_status scaled_cpu(void *ctx, const nd_custom_view *in, const void *p,
                            const nd_custom_view *out)
{
    float *y = out[0].data;
    double *sum = out[1].data;
    (void)ctx;
    calls_cpu++;
    if (in[0].ndim != 2)
        return ND_ERR_SHAPE; /* without a text */
    *sum = 0;
    for (int64_t i = 0; i < in[0].shape[0]; i++)
        for (int64_t j = 0; j < in[0].shape[1]; j++) {
            float v = ((const float *)in[0].data)[i * in[0].stride[0] + j * in[0].stride[1]];
            *y++ = v * ((const params *)p)->factor;
            *sum += (double)v;
        }
    return ND_OK;
}

/* Ordinary operations on the current stream do as well as launches. */
static nd_status scaled_sim(void *ctx, nd_stream *stream, const nd_array *const *in, const void *p,
                            nd_array *const *out)
{
    const nd_arg by[] = {nd_array_arg(in[0]),
                         nd_scalar_arg(nd_float((double)((const params *)p)->factor))};
    const nd_reduce_opts f64 = {.size = sizeof f64, .dtype = ND_F64};
    nd_array *sum = NULL;
    nd_stream *current = NULL;
    (void)ctx;
    calls_form++;
    nd_status status = nd_apply_into(ND_OP_multiply, by, 2, NULL, out[0]);
    if (status == ND_OK)
        status = nd_sum(in[0], &f64, &sum);
    if (status == ND_OK)
        status = nd_assign(sum, out[1]);
    nd_release(sum);
    DO(nd_stream_current(nd_device_of(in[0]), &current));
    if (current != stream)
        status = nd_custom_error(ND_ERR_STATE, "the stream is not the current one");
    nd_stream_release(current);
    return status;
}

/* d(x*factor)/dx: the gradient times factor. */
static nd_status scaled_backward(void *ctx, const nd_array *const *in, const nd_array *const *out,
                                 const nd_array *const *grad_out, const void *p, nd_array **grad_in)
{
    (void)ctx;
    (void)in;
    (void)out;
    return nd_multiply_scalar(grad_out[0], nd_float((double)((const params *)p)->factor),
                              &grad_in[0]);
}

static const nd_custom_op *scaled, *scaled_here;

static const nd_custom_form forms[] = {{"sim", scaled_sim}};
static const nd_custom_def definition = {.size = sizeof definition,
                                         .n_in = 1,
                                         .n_out = 2,
                                         .params_nbytes = sizeof(params),
                                         .name = "scaled",
                                         .shape = scaled_shape,
                                         .cpu = scaled_cpu,
                                         .backward = scaled_backward};

static void set_up(void)
{
    nd_custom_def here = definition;
    here.name = "scaled_here";
    here.cpu = NULL;
    here.backward = NULL;
    here.forms = forms;
    here.n_forms = 1;
    DO(nd_custom_register(&definition, &scaled));
    DO(nd_custom_register(&here, &scaled_here));
}

static void registering(void)
{
    const nd_custom_op *none = NULL;
    nd_custom_def def = definition;
    ok(nd_custom_find("scaled") == scaled && scaled, "an operation is found by name");
    is_str(nd_custom_name(scaled), "scaled", "and knows it");
    is_int(nd_custom_register(&def, &none), ND_ERR_ARGUMENT, "a name in use");
    def.name = "add";
    is_int(nd_custom_register(&def, &none), ND_ERR_ARGUMENT, "a name of ours");
    def.name = "Bad name";
    is_int(nd_custom_register(&def, &none), ND_ERR_ARGUMENT, "no name");
    def.name = "other";
    def.n_out = 0;
    is_int(nd_custom_register(&def, &none), ND_ERR_ARGUMENT, "no output");
    def.n_out = 2;
    def.cpu = NULL;
    is_int(nd_custom_register(&def, &none), ND_ERR_ARGUMENT, "no form at all");
    def.size = 4;
    is_int(nd_custom_register(&def, &none), ND_ERR_ARGUMENT, "another size");
    ok(none == NULL, "and no operation");
    is_int(nd_custom_has_form(scaled, cpu), 1, "the CPU form counts for the CPU");
    is_int(nd_custom_has_form(scaled, sim), 0, "but not for others");
    is_int(nd_custom_has_form(scaled_here, sim), 1, "a form of its own does");
    is_int(nd_custom_has_form(scaled_here, cpu), 0, "for that plug-in alone");
}

static const params by_two = {2};
static const float doubled[] = {2, 4, 6, 8, 10, 12};

static void expect_scaled(const nd_custom_op *op, nd_device *device, const char *what)
{
    nd_array *x = six(device), *out[2] = {NULL, NULL};
    const nd_array *in = x;
    nd_scalar sum = nd_float(0);
    DO(nd_custom_apply(op, &in, &by_two, NULL, out));
    ok(out[0] && holds(out[0], doubled, 6), "%s: the first result", what);
    if (out[1])
        DO(nd_item(out[1], &sum));
    ok(sum.v.f == 21 && out[1] && nd_device_of(out[1]) == device, "%s: the second one", what);
    nd_release(out[0]);
    nd_release(out[1]);
    nd_release(x);
}

static void applying(void)
{
    nd_fallback_stats stats;
    calls_cpu = calls_form = 0;
    nd_fallback_reset();
    expect_scaled(scaled, cpu, "on the CPU");
    is_int(calls_cpu, 1, "its CPU form ran");
    nd_fallback_get(&stats);
    is_int(stats.staged_calls, 0, "nothing was staged");
    expect_scaled(scaled, sim, "staged on sim");
    nd_fallback_get(&stats);
    is_int(stats.staged_calls, 1, "one call was staged");
    is_int(stats.staged_bytes, 24 + 24 + 8, "of so many bytes");
    expect_scaled(scaled_here, sim, "its own form on sim");
    is_int(calls_form, 1, "the form ran");
    nd_fallback_get(&stats);
    is_int(stats.staged_calls, 1, "and was not staged");
}

static void refusing(void)
{
    nd_array *x = six(sim), *y = six(cpu), *i = NULL, *flat = NULL, *out[2] = {x, x};
    const nd_array *in = x;
    DO(nd_fallback_set(ND_FALLBACK_ERROR));
    is_int(nd_custom_apply(scaled, &in, &by_two, NULL, out), ND_ERR_UNSUPPORTED,
           "NDOCK_FALLBACK=error forbids staging");
    has_text(told(), "scaled", "the error names the operation");
    has_text(told(), "sim", "and the plug-in");
    ok(!out[0] && !out[1], "and there is no result");
    DO(nd_fallback_set(ND_FALLBACK_WARN));
    in = y;
    is_int(nd_custom_apply(scaled_here, &in, &by_two, NULL, out), ND_ERR_UNSUPPORTED,
           "no form for the CPU");
    is_int(nd_custom_apply(scaled, &in, NULL, NULL, out), ND_ERR_ARGUMENT, "missing parameters");
    in = NULL;
    is_int(nd_custom_apply(scaled, &in, &by_two, NULL, out), ND_ERR_ARGUMENT, "a missing input");
    DO(nd_astype(y, ND_I32, &i));
    in = i;
    is_int(nd_custom_apply(scaled, &in, &by_two, NULL, out), ND_ERR_DTYPE, "the rule's own error");
    is_str(told(), "scaled: x is i32, not f32", "with its text and the name");
    DO(nd_reshape(y, 1, (const int64_t[]){6}, &flat));
    in = flat;
    is_int(nd_custom_apply(scaled, &in, &by_two, NULL, out), ND_ERR_SHAPE, "an error without text");
    ok(!out[0] && !out[1], "results are released");
    nd_release(x);
    nd_release(y);
    nd_release(i);
    nd_release(flat);
}

static void into_views(nd_device *device)
{
    nd_array *x = six(device), *t = NULL, *sum = NULL, *place = NULL, *t_place = NULL;
    static const float transposed[] = {2, 8, 4, 10, 6, 12};
    DO(nd_empty(device, ND_F64, 0, NULL, &sum));
    DO(nd_zeros_like(x, 0, &place));
    DO(nd_transpose(x, &t));
    DO(nd_transpose(place, &t_place));
    const nd_array *in = t, *dst[2] = {t_place, sum};
    DO(nd_custom_apply_into(scaled, &in, &by_two, NULL, dst));
    ok(holds(t_place, transposed, 6) && holds(place, doubled, 6), "%s: strided views in and out",
       nd_device_name(device));
    in = x;
    dst[0] = x;
    DO(nd_custom_apply_into(scaled, &in, &by_two, NULL, dst));
    ok(holds(x, doubled, 6), "%s: in place", nd_device_name(device));
    dst[0] = t;
    is_int(nd_custom_apply_into(scaled, &in, &by_two, NULL, dst), ND_ERR_SHAPE, "another shape");
    dst[0] = sum;
    is_int(nd_custom_apply_into(scaled, &in, &by_two, NULL, dst), ND_ERR_DTYPE, "another dtype");
    nd_release(x);
    nd_release(t);
    nd_release(sum);
    nd_release(place);
    nd_release(t_place);
}

static void into(void)
{
    into_views(cpu);
    into_views(sim);
}

static void streams(void)
{
    nd_stream *s = NULL, *before = NULL, *after = NULL;
    nd_array *x = six(sim), *out[2] = {NULL, NULL};
    const nd_array *in = x;
    DO(nd_stream_create(sim, NULL, &s));
    DO(nd_stream_current(sim, &before));
    const nd_apply_opts opts = {.size = sizeof opts, .stream = s};
    DO(nd_synchronize(sim));
    DO(nd_custom_apply(scaled_here, &in, &by_two, &opts, out));
    DO(nd_stream_current(sim, &after));
    ok(before == after, "the current stream is as before");
    DO(nd_stream_synchronize(s));
    ok(holds(out[0], doubled, 6), "a form runs on the stream that is asked for");
    nd_release(x);
    nd_release(out[0]);
    nd_release(out[1]);
    nd_stream_release(before);
    nd_stream_release(after);
    nd_stream_release(s);
}

static void backward(void)
{
    nd_array *x = six(cpu), *out[2] = {NULL, NULL}, *grad = NULL;
    const nd_array *in = x;
    DO(nd_custom_apply(scaled, &in, &by_two, NULL, out));
    const nd_array *given[2] = {x, NULL};
    DO(nd_custom_backward(scaled, &in, (const nd_array *const *)out, given, &by_two, &grad));
    ok(grad && holds(grad, doubled, 6), "the backward function is called");
    nd_release(grad);
    is_int(
        nd_custom_backward(scaled_here, &in, (const nd_array *const *)out, given, &by_two, &grad),
        ND_ERR_UNSUPPORTED, "where there is one");
    nd_release(x);
    nd_release(out[0]);
    nd_release(out[1]);
}

/* ---- forms of elementwise run-time operations ---- */
static void twice_plus(void *ctx, nd_dtype dtype, int64_t n, char *const *p, const int64_t *step)
{
    (void)ctx;
    (void)dtype;
    for (int64_t i = 0; i < n; i++)
        *(float *)(void *)(p[0] + i * step[0]) =
            2 * *(float *)(void *)(p[1] + i * step[1]) + *(float *)(void *)(p[2] + i * step[2]);
}

static int form_runs;

static nd_status twice_plus_form(void *ctx, nd_stream *stream, const nd_arg *args, int32_t n,
                                 const nd_array *dst)
{
    (void)ctx;
    (void)stream;
    form_runs++;
    const nd_arg add[] = {args[0], args[0]}, last[] = {nd_array_arg(dst), args[1]};
    nd_status status = n == 2 ? nd_apply_into(ND_OP_add, add, 2, NULL, dst) : ND_ERR_ARGUMENT;
    return status == ND_OK ? nd_apply_into(ND_OP_add, last, 2, NULL, dst) : status;
}

static void elementwise(void)
{
    static const float want[] = {12, 14, 16, 18, 20, 22};
    const nd_op_info info = {.op_class = ND_CLASS_BINARY,
                             .domain = ND_KIND_FLOAT,
                             .result = ND_RESULT_SAME,
                             .name = "twice_plus"};
    nd_op op;
    nd_array *x = six(sim), *y = NULL, *ten = NULL;
    DO(nd_op_register(&info, twice_plus, NULL, &op));
    is_int(nd_op_set_device_form(ND_OP_add, "sim", twice_plus_form, NULL), ND_ERR_ARGUMENT,
           "our own operations have their forms");
    DO(nd_op_set_device_form(op, "sim", twice_plus_form, NULL));
    is_int(nd_op_set_device_form(op, "sim", twice_plus_form, NULL), ND_ERR_ARGUMENT, "one each");
    DO(nd_full(sim, ND_F32, 1, (const int64_t[]){1}, nd_float(10), &ten));
    nd_fallback_reset();
    DO(nd_apply(op, (const nd_arg[]){nd_array_arg(x), nd_array_arg(ten)}, 2, NULL, &y));
    ok(y && holds(y, want, 6), "a form of an elementwise operation, operands broadcast");
    nd_release(y);
    DO(nd_apply(op, (const nd_arg[]){nd_array_arg(x), nd_scalar_arg(nd_float(10))}, 2, NULL, &y));
    ok(y && holds(y, want, 6), "and with a scalar");
    is_int(form_runs, 2, "it ran both times");
    ok(nd_device_op_dtypes(sim, op) != 0, "the device has it");
    nd_release(x);
    nd_release(y);
    nd_release(ten);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"launches", launches},
                                     {"load_errors", load_errors},
                                     {"programs_in_c", programs_in_c},
                                     {"launch_errors", launch_errors},
                                     {"order_of_accesses", order_of_accesses},
                                     {"registering", registering},
                                     {"applying", applying},
                                     {"refusing", refusing},
                                     {"into", into},
                                     {"streams", streams},
                                     {"backward", backward},
                                     {"elementwise", elementwise}};
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_device_get("sim:0", &sim) != ND_OK) {
        diag("%s", told());
        return 1;
    }
    set_up();
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
