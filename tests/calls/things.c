/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the values of the calls point to; see world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/calls/things.h"

things w;

int64_t shape221[] = {2, 2, 1}, shape123[] = {1, 2, 3}, three_elements[] = {3, 1, 1};
int64_t shape23[] = {2, 3}, stride23[] = {3, 1}, ones[] = {1, 1, 1};
int32_t axes01[] = {0, 1};
float host[6] = {1, 2, 3, 4, 5, 6};
nd_layout layout = {sizeof layout, ND_F32, 2, 0, shape23, stride23};
nd_random_key key = {1, {0, 0}};
const nd_array *pair[2], *squares[2];
const int64_t *shapes[] = {shape23, shape23};
int ndims[] = {2, 2};
nd_arg operands[2];
static const nd_ipc_handle no_handle;
nd_comm_id comm_id;
nd_event_handle no_event;
nd_device *devices[1];
char token[17] = "letters4and4more";
nd_stream *streams[1];
nd_graph *graphs[1];
nd_named_array named[1];
nd_gguf_item items[1];
unsigned char seven[4] = {7, 0, 0, 0}; /* metadata: [7] and 7 */
nd_gguf_value list_value = {
    sizeof list_value, ND_GGUF_ARRAY, ND_GGUF_U32, 0, 1, seven, sizeof seven, {0}};
nd_gguf_pair metadata[1] = {
    {"seven", {sizeof(nd_gguf_value), ND_GGUF_U32, 0, 0, 1, seven, sizeof seven, {0}}}};
nd_warmup_item warm = {ND_OP_add, ND_F32, NULL};
nd_index slice[1];
const nd_array *orders[2];
nd_bins bins[3] = {{.size = sizeof bins[0]}, {.size = sizeof bins[0]}, {.size = sizeof bins[0]}};
double halves[] = {0.5, 0.5};

static void twice(const uint32_t grid[3], const uint32_t block[3], void *const *argument)
{
    (void)grid;
    (void)block;
    ((float *)argument[0])[0] *= 2;
}
static const nd_host_function functions[] = {{"twice", twice}};
nd_module_opts module_opts = {sizeof module_opts, ND_CODE_HOST, functions,
                              sizeof functions,   NULL,         NULL};
nd_launch_arg launch_arg[1];
nd_launch_opts launch_opts = {sizeof launch_opts, 0, NULL, {1, 0, 0}, {1, 0, 0}, 0};

static nd_status same_shape(void *ctx, const nd_custom_shape *in, const void *params,
                            nd_custom_shape *out)
{
    (void)ctx;
    (void)params;
    *out = *in;
    return ND_OK;
}
static nd_status nothing(void *ctx, const nd_custom_view *in, const void *params,
                         const nd_custom_view *out)
{
    (void)ctx;
    (void)in;
    (void)params;
    (void)out;
    return ND_OK;
}
static nd_status no_gradient(void *ctx, const nd_array *const *in, const nd_array *const *out,
                             const nd_array *const *grad_out, const void *params,
                             nd_array **grad_in)
{
    (void)ctx;
    (void)in;
    (void)out;
    (void)grad_out;
    (void)params;
    grad_in[0] = NULL;
    return ND_OK;
}
nd_custom_def custom = {.size = sizeof custom,
                        .n_in = 1,
                        .n_out = 1,
                        .params_nbytes = 4,
                        .name = "of_the_test",
                        .shape = same_shape,
                        .cpu = nothing,
                        .backward = no_gradient};
nd_custom_def other_custom;
void on_elements(void *ctx, nd_dtype dtype, int64_t n, char *const *p, const int64_t *stride_bytes)
{
    (void)ctx;
    (void)dtype;
    (void)n;
    (void)p;
    (void)stride_bytes;
}
nd_op_info op_info = {0,   ND_CLASS_UNARY, ND_KIND_FLOAT, ND_RESULT_SAME,
                      {0}, "of_a_test",    "nothing"};
static void *allocate(void *ctx, int64_t nbytes, int32_t device, void *stream)
{
    (void)ctx;
    (void)device;
    (void)stream;
    return malloc((size_t)nbytes);
}
static void deallocate(void *ctx, void *ptr, int64_t nbytes, int32_t device, void *stream)
{
    (void)ctx;
    (void)nbytes;
    (void)device;
    (void)stream;
    free(ptr);
}
nd_allocator_table table = {.size = sizeof table, .alloc = allocate, .free = deallocate};
/* Windows of one element over (c, l), and images of the extent that they have. */
nd_pooling_opts pooling_opts = {.size = sizeof pooling_opts, .kernel = ones, .rank = 1};
nd_unfold_opts unfold_opts = {.size = sizeof unfold_opts, .kernel = ones, .rank = 1};
nd_upsample_opts upsample_opts = {.size = sizeof upsample_opts, .extents = three_elements};

static bool make(nd_dtype dtype, int ndim, const int64_t *shape, double value, nd_array **out)
{
    return nd_full(w.device, dtype, ndim, shape,
                   dtype == ND_BOOL  ? nd_bool(value != 0)
                   : dtype >= ND_F16 ? nd_float(value)
                                     : nd_int((int64_t)value),
                   out) == ND_OK;
}

static bool make_arrays(void)
{
    static const int64_t two[] = {2}, one[] = {1}, nine[] = {3, 3}, three[] = {3}, four[] = {2, 2},
                         flat[] = {1, 3}, long_rows[] = {2, 4}, column[] = {2, 1},
                         rank3[] = {1, 2, 3}, turned[] = {1, 1, 2};
    return make(ND_F32, 2, shape23, 1, &w.f32) && make(ND_I32, 2, shape23, 1, &w.i32) &&
           make(ND_BOOL, 2, shape23, 1, &w.where) && make(ND_I64, 1, two, 1, &w.index) &&
           make(ND_F32, 1, three, 1, &w.row) && make(ND_F32, 0, NULL, 1, &w.number) &&
           make(ND_I64, 0, NULL, 1, &w.count) && make(ND_I64, 1, one, 1, &w.counts) &&
           make(ND_BOOL, 1, two, 1, &w.mask) && make(ND_F32, 2, nine, 1, &w.square) &&
           make(ND_I64, 1, three, 1, &w.order) && make(ND_I64, 2, shape23, 0, &w.positions) &&
           make(ND_I64, 2, four, 0, &w.coordinates) && make(ND_F32, 2, flat, 1, &w.flat) &&
           nd_eye(w.device, ND_F32, 3, 3, 0, &w.matrix) == ND_OK &&
           make(ND_C128, 2, shape23, 1, &w.waves) && make(ND_C128, 2, four, 1, &w.half_waves) &&
           make(ND_F64, 2, long_rows, 1, &w.long_rows) && make(ND_F32, 3, shape221, 1, &w.taps) &&
           make(ND_F32, 1, two, 1, &w.bias) && make(ND_F32, 3, shape123, 1, &w.images) &&
           make(ND_I64, 2, shape23, 0, &w.largest) && make(ND_F32, 1, two, 1, &w.two) &&
           make(ND_F32, 2, column, 1, &w.column) && make(ND_F32, 3, rank3, 1, &w.rank3) &&
           make(ND_I64, 2, column, 0, &w.experts) && make(ND_F32, 3, turned, 1, &w.turned) &&
           make(ND_F32, 2, ones, 1, &w.angles) && make(ND_I64, 2, ones, 1, &w.single) &&
           make(ND_F8_E4M3, 2, nine, 1, &w.narrow);
}

/* A quantised matrix of two rows, alone and beside a plain array in a file. */
static bool make_quantised(void)
{
    static const int64_t shape[] = {2, 32};
    nd_gguf_item both[2] = {{.name = "weight", .array = w.f32}, {.name = "quantised"}};
    if (!make(ND_F32, 2, shape, 1, &w.blocks_of) ||
        nd_quantize(w.blocks_of, ND_Q8_0, &w.quantised) != ND_OK)
        return false;
    items[0] = both[0];
    both[1].quant = w.quantised;
    w.bytes = nd_retain((nd_array *)(uintptr_t)nd_qarray_blocks(w.quantised));
    return nd_gguf_save(w.gguf_path, 2, both, 1, metadata, NULL) == ND_OK &&
           nd_gguf_open(w.gguf_path, &w.gguf) == ND_OK;
}

static bool make_files(void)
{
    snprintf(w.folder, sizeof w.folder, "%s/ndock-calls-XXXXXX",
             getenv("TMPDIR") && strlen(getenv("TMPDIR")) < 32 ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(w.folder))
        return false;
    snprintf(w.npy, sizeof w.npy, "%s/a.npy", w.folder);
    snprintf(w.tensors, sizeof w.tensors, "%s/a.safetensors", w.folder);
    snprintf(w.npz, sizeof w.npz, "%s/a.npz", w.folder);
    snprintf(w.csv, sizeof w.csv, "%s/a.csv", w.folder);
    snprintf(w.gguf_path, sizeof w.gguf_path, "%s/a.gguf", w.folder);
    snprintf(w.output, sizeof w.output, "%s/out", w.folder);
    return nd_npy_save(w.npy, w.f32, NULL) == ND_OK &&
           nd_safetensors_save(w.tensors, 1, named, NULL, NULL) == ND_OK &&
           nd_safetensors_open(w.tensors, &w.file) == ND_OK &&
           nd_npz_save(w.npz, 1, named, 0, NULL) == ND_OK &&
           nd_npz_open(w.npz, &w.archive) == ND_OK && nd_csv_save(w.csv, w.f32, NULL) == ND_OK &&
           make_quantised();
}

/* Of f32, its argument, and of i32. */
static bool make_graph(void)
{
    nd_array *r[2] = {NULL};
    int32_t index;
    bool made = nd_stream_push(w.stream) == ND_OK &&
                nd_graph_begin(w.stream, NULL, &w.graph) == ND_OK &&
                nd_negative(w.f32, &r[0]) == ND_OK && nd_negative(w.i32, &r[1]) == ND_OK &&
                nd_graph_end(w.graph) == ND_OK && nd_stream_pop(w.stream) == ND_OK &&
                nd_graph_arg(w.graph, w.f32, &index) == ND_OK;
    nd_release(r[0]);
    nd_release(r[1]);
    return made;
}

/* The sum of two inputs, twice. */
static bool make_exprs(void)
{
    nd_expr **const both[2] = {&w.expr, &w.ready};
    for (int i = 0; i < 2; i++) {
        int32_t node[3];
        if (nd_expr_create(both[i]) != ND_OK || nd_expr_input(*both[i], &node[0]) != ND_OK ||
            nd_expr_input(*both[i], &node[1]) != ND_OK ||
            nd_expr_apply(*both[i], ND_OP_add, node, 2, 0, &node[2]) != ND_OK ||
            nd_expr_output(*both[i], node[2]) != ND_OK)
            return false;
    }
    return true;
}

/* Of one rank, with a finished work. */
static bool make_communicators(void)
{
    nd_comm_opts opts = {.size = sizeof opts, .work = &w.work};
    devices[0] = w.device;
    return nd_comm_local(1, devices, &w.comm) == ND_OK &&
           nd_comm_local(1, devices, &w.doomed) == ND_OK &&
           nd_comm_unique_id(w.device, &comm_id) == ND_OK &&
           nd_comm_all_reduce_into(w.comm, w.f32, &opts, w.f32) == ND_OK &&
           nd_comm_store_serve(0, token, &w.store) == ND_OK;
}

bool world_make(void)
{
    static const nd_event_opts timed = {sizeof timed, ND_EVENT_TIMING};
    if (nd_device_get("cpu", &w.device) != ND_OK || !make_arrays())
        return false;
    pair[0] = pair[1] = w.f32;
    orders[0] = orders[1] = w.order;
    squares[0] = squares[1] = w.matrix;
    operands[0] = operands[1] = nd_array_arg(w.f32);
    named[0] = (nd_named_array){"weight", w.f32};
    slice[0] = nd_at(0);
    launch_arg[0] = nd_launch_out(w.f32);
    other_custom = custom;
    other_custom.name = "of_another_test";
    w.cai.size = sizeof w.cai;
    bool made = nd_stream_create(w.device, NULL, &w.stream) == ND_OK &&
                nd_event_create(w.device, &timed, &w.event) == ND_OK &&
                nd_event_record(w.event, NULL) == ND_OK &&
                nd_pool_create(w.device, NULL, &w.pool) == ND_OK &&
                nd_allocator_named("caching", &w.allocator) == ND_OK &&
                nd_module_load(w.device, &module_opts, &w.module) == ND_OK &&
                nd_module_function(w.module, "twice", &w.function) == ND_OK &&
                nd_custom_register(&custom, &w.custom) == ND_OK && make_exprs() && make_files() &&
                make_graph() && make_communicators();
    w.handle = &no_handle;
    streams[0] = w.stream;
    graphs[0] = w.graph;
    return made;
}

void world_remove_files(void)
{
    unlink(w.npy);
    unlink(w.tensors);
    unlink(w.npz);
    unlink(w.csv);
    unlink(w.gguf_path);
    unlink(w.output);
    rmdir(w.folder);
}

void world_end(void)
{
    nd_array *const arrays[] = {
        w.f32,     w.i32,       w.where,      w.index,     w.row,       w.number,      w.count,
        w.counts,  w.mask,      w.square,     w.order,     w.positions, w.coordinates, w.flat,
        w.matrix,  w.waves,     w.half_waves, w.long_rows, w.taps,      w.bias,        w.images,
        w.largest, w.two,       w.column,     w.rank3,     w.experts,   w.turned,      w.angles,
        w.single,  w.blocks_of, w.bytes,      w.narrow};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        nd_release(arrays[i]);
    nd_safetensors_close(w.file);
    nd_npz_close(w.archive);
    nd_expr_release(w.expr);
    nd_expr_release(w.ready);
    nd_gguf_close(w.gguf);
    nd_qarray_release(w.quantised);
    nd_work_release(w.work);
    nd_comm_release(w.comm);
    nd_comm_release(w.doomed);
    nd_comm_store_stop(w.store);
    nd_module_release(w.module);
    nd_graph_release(w.graph);
    nd_pool_release(w.pool);
    nd_allocator_release(w.allocator);
    nd_event_release(w.event);
    nd_stream_release(w.stream);
    if (w.managed)
        w.managed->deleter(w.managed);
    if (w.legacy)
        w.legacy->deleter(w.legacy);
    world_remove_files();
}
