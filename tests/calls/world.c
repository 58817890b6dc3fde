/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Valid arguments for every public function; see world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/calls/world.h"

#define ROOM 64 /* places that results go to, each large enough for any struct of results */

static struct {
    nd_device *device;
    nd_stream *stream;
    nd_event *event;
    nd_pool *pool;
    nd_graph *graph;
    nd_allocator *allocator;
    nd_module *module;
    nd_function *function;
    nd_safetensors *file;
    nd_npz *archive;
    nd_gguf *gguf;
    nd_qarray *quantised;
    const nd_custom_op *custom;
    nd_expr *expr, *ready; /* one takes nodes, one has run */
    nd_array *f32, *i32, *where, *index, *row, *number, *count, *counts, *mask, *square, *order;
    nd_array *two, *column, *rank3, *experts, *turned, *angles, *single, *narrow;
    nd_array *positions, *coordinates, *flat, *matrix, *waves, *half_waves, *long_rows;
    nd_array *taps, *bias, *images, *largest;
    nd_array *blocks_of, *bytes;
    nd_dl_managed *managed;
    nd_dl_legacy *legacy;
    nd_cai cai;
    char folder[64], npy[96], tensors[96], npz[96], csv[96], gguf_path[96], output[96];
} w;

static int64_t shape221[] = {2, 2, 1}, shape123[] = {1, 2, 3}, three_elements[] = {3};
static int64_t shape23[] = {2, 3}, stride23[] = {3, 1}, ones[] = {1, 1, 1};
static int32_t axes01[] = {0, 1};
static float host[6] = {1, 2, 3, 4, 5, 6};
static nd_layout layout = {sizeof layout, ND_F32, 2, 0, shape23, stride23};
static union {
    max_align_t align;
    char bytes[4096];
} place[ROOM];
static nd_random_key key = {1, {0, 0}};
static const nd_array *pair[2], *squares[2];
static const int64_t *shapes[] = {shape23, shape23};
static int ndims[] = {2, 2};
static nd_arg operands[2];
static nd_stream *streams[1];
static nd_named_array named[1];
static nd_gguf_item items[1];
static unsigned char seven[4] = {7, 0, 0, 0}; /* metadata: [7] and 7 */
static nd_gguf_value list_value = {
    sizeof list_value, ND_GGUF_ARRAY, ND_GGUF_U32, 0, 1, seven, sizeof seven, {0}};
static nd_gguf_pair metadata[1] = {
    {"seven", {sizeof(nd_gguf_value), ND_GGUF_U32, 0, 0, 1, seven, sizeof seven, {0}}}};
static nd_warmup_item warm = {ND_OP_add, ND_F32, NULL};
static nd_index slice[1];
static const nd_array *orders[2];
static nd_bins bins[3] = {
    {.size = sizeof bins[0]}, {.size = sizeof bins[0]}, {.size = sizeof bins[0]}};
static double halves[] = {0.5, 0.5};

static void twice(const uint32_t grid[3], const uint32_t block[3], void *const *argument)
{
    (void)grid;
    (void)block;
    ((float *)argument[0])[0] *= 2;
}
static const nd_host_function functions[] = {{"twice", twice}};
static nd_module_opts module_opts = {sizeof module_opts, ND_CODE_HOST, functions,
                                     sizeof functions,   NULL,         NULL};
static nd_launch_arg launch_arg[1];
static nd_launch_opts launch_opts = {sizeof launch_opts, 0, NULL, {1, 0, 0}, {1, 0, 0}, 0};

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
static nd_custom_def custom = {.size = sizeof custom,
                               .n_in = 1,
                               .n_out = 1,
                               .params_nbytes = 4,
                               .name = "of_the_test",
                               .shape = same_shape,
                               .cpu = nothing,
                               .backward = no_gradient};
static nd_custom_def other_custom;
static void on_elements(void *ctx, nd_dtype dtype, int64_t n, char *const *p,
                        const int64_t *stride_bytes)
{
    (void)ctx;
    (void)dtype;
    (void)n;
    (void)p;
    (void)stride_bytes;
}
static nd_op_info op_info = {0,   ND_CLASS_UNARY, ND_KIND_FLOAT, ND_RESULT_SAME,
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
static nd_allocator_table table = {.size = sizeof table, .alloc = allocate, .free = deallocate};
static void quiet(void) {}

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
                make_graph();
    streams[0] = w.stream;
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

/* ---- which value an argument gets: the first row that fits; NULL fits all ---- */
typedef struct {
    const char *function, *type, *name;
    const void *at;
    bool handle; /* at is where the pointer lies, else it is the pointer */
} pointer_row;
#define IT(function, type, name, thing)    \
    {                                      \
        function, type, name, thing, false \
    }
#define OF(function, type, name, handle)      \
    {                                         \
        function, type, name, &w.handle, true \
    }

/* Windows of one element over (c, l), and images of the extent that they have. */
static nd_pooling_opts pooling_opts = {.size = sizeof pooling_opts, .kernel = ones, .rank = 1};
static nd_unfold_opts unfold_opts = {.size = sizeof unfold_opts, .kernel = ones, .rank = 1};
static nd_upsample_opts upsample_opts = {.size = sizeof upsample_opts, .extents = three_elements};

static const pointer_row pointers[] = {
    IT(NULL, "const nd_pooling_opts *", NULL, &pooling_opts),
    IT(NULL, "const nd_unfold_opts *", NULL, &unfold_opts),
    IT(NULL, "const nd_upsample_opts *", NULL, &upsample_opts),
    OF("nd_conv", NULL, "weight", taps),
    OF("nd_conv_into", NULL, "weight", taps),
    OF("nd_conv_transpose", NULL, "weight", taps),
    OF("nd_conv_transpose_into", NULL, "weight", taps),
    OF("nd_conv_grad_input", NULL, "weight", taps),
    OF("nd_conv_grad_input_into", NULL, "weight", taps),
    OF("nd_conv_grad_weight_into", NULL, "dst", taps),
    OF("nd_conv", NULL, "bias", bias),
    OF("nd_conv_into", NULL, "bias", bias),
    OF("nd_conv_transpose", NULL, "bias", bias),
    OF("nd_conv_transpose_into", NULL, "bias", bias),
    IT("nd_conv_grad_weight", NULL, "shape", shape221),
    OF("nd_max_pool_into", NULL, "indices", largest),
    OF("nd_max_pool_grad", NULL, "indices", largest),
    OF("nd_max_pool_grad_into", NULL, "indices", largest),
    OF("nd_upsample", "const nd_array *", NULL, images),
    OF("nd_upsample_into", "const nd_array *", NULL, images),
    OF("nd_upsample_grad", "const nd_array *", NULL, images),
    OF("nd_upsample_grad_into", "const nd_array *", NULL, images),
    IT("nd_upsample_grad", NULL, "shape", shape123),
    IT("nd_fold", NULL, "extents", three_elements),
    OF("nd_fft_into", NULL, "dst", waves),
    OF("nd_ifft_into", NULL, "dst", waves),
    OF("nd_fftn_into", NULL, "dst", waves),
    OF("nd_ifftn_into", NULL, "dst", waves),
    OF("nd_rfft_into", NULL, "dst", half_waves),
    OF("nd_ihfft_into", NULL, "dst", half_waves),
    OF("nd_rfftn_into", NULL, "dst", half_waves),
    OF("nd_irfft_into", NULL, "dst", long_rows),
    OF("nd_hfft_into", NULL, "dst", long_rows),
    OF("nd_irfftn_into", NULL, "dst", long_rows),
    IT("nd_einsum", NULL, "subscripts", "ab,ab->a"),
    IT("nd_multi_dot", NULL, "arrays", squares),
    OF("nd_where", NULL, "a", where),
    OF("nd_where_into", NULL, "a", where),
    OF("nd_searchsorted", NULL, "sorted", row),
    OF("nd_searchsorted", NULL, "sorter", order),
    OF("nd_take_along_axis", NULL, "indices", positions),
    OF("nd_take_along_axis_into", NULL, "indices", positions),
    OF("nd_gather", NULL, "indices", positions),
    OF("nd_gather_into", NULL, "indices", positions),
    OF("nd_scatter", NULL, "indices", positions),
    OF("nd_scatter_into", NULL, "indices", positions),
    OF("nd_nonzero_into", NULL, "dst", coordinates),
    OF("nd_squeeze", NULL, "a", flat),
    IT("nd_math_set_fp32_precision", NULL, "precision", "ieee"),
    OF("nd_item", NULL, "a", number),
    OF("nd_item_f64", NULL, "a", number),
    OF("nd_item_i64", NULL, "a", number),
    OF("nd_cumulative_sum", NULL, "a", row),
    OF("nd_cumulative_prod", NULL, "a", row),
    OF("nd_cumulative_sum_into", "const nd_array *", NULL, row),
    OF("nd_cumulative_prod_into", "const nd_array *", NULL, row),
    OF("nd_nancumsum", NULL, "a", row),
    OF("nd_nancumprod", NULL, "a", row),
    OF("nd_diagonal", NULL, "a", square),
    OF("nd_scaled_mm", NULL, "a", narrow),
    OF("nd_scaled_mm", NULL, "b", narrow),
    OF("nd_scaled_mm_into", NULL, "a", narrow),
    OF("nd_scaled_mm_into", NULL, "b", narrow),
    OF("nd_scaled_mm", NULL, "scale_a", number),
    OF("nd_scaled_mm", NULL, "scale_b", number),
    OF("nd_scaled_mm_into", NULL, "scale_a", number),
    OF("nd_scaled_mm_into", NULL, "scale_b", number),
    OF("nd_scaled_mm_into", NULL, "dst", square),
    OF("nd_matmul", NULL, "b", square),
    OF("nd_matmul_into", NULL, "b", square),
    OF("nd_layer_norm", NULL, "scale", row),
    OF("nd_layer_norm", NULL, "bias", row),
    OF("nd_rms_norm", NULL, "scale", row),
    OF("nd_layer_norm_into", NULL, "scale", row),
    OF("nd_layer_norm_into", NULL, "bias", row),
    OF("nd_rms_norm_into", NULL, "scale", row),
    IT("nd_custom_find", "const char *", NULL, "of_the_test"),
    IT("nd_allocator_named", NULL, "name", "caching"),
    IT("nd_dtype_parse", NULL, "name", "f32"),
    IT("nd_op_find", NULL, "name", "add"),
    IT("nd_math_set_fp32_precision", NULL, "name", ""),
    IT("nd_math_fp32_precision", NULL, "name", ""),
    IT(NULL, "const char *", "precision", "highest"),
    IT("nd_module_function", NULL, "name", "twice"),
    IT("nd_safetensors_load", NULL, "name", "weight"),
    IT("nd_npz_load", NULL, "name", "weight"),
    IT("nd_gguf_load", NULL, "name", "weight"),
    IT("nd_gguf_load_quant", NULL, "name", "quantised"),
    IT("nd_gguf_open", NULL, "path", w.gguf_path),
    IT("nd_gguf_find", NULL, "key", "seven"),
    IT("nd_quant_find", NULL, "name", "q8_0"),
    OF("nd_qarray_wrap", NULL, "blocks", bytes),
    OF("nd_quantize", NULL, "a", blocks_of),
    OF("nd_matmul_q", NULL, "x", blocks_of),
    OF(NULL, "const nd_gguf *", NULL, gguf),
    OF(NULL, "nd_gguf *", NULL, gguf),
    OF(NULL, "const nd_qarray *", NULL, quantised),
    OF(NULL, "nd_qarray *", NULL, quantised),
    IT(NULL, "const nd_gguf_item *", NULL, items),
    IT(NULL, "const nd_gguf_pair *", NULL, metadata),
    IT("nd_gguf_next", NULL, "array", &list_value),
    IT("nd_npz_load_as", NULL, "name", "weight"),
    IT("nd_npz_open", NULL, "path", w.npz),
    IT("nd_csv_load", NULL, "path", w.csv),
    IT("nd_csv_read", NULL, "text", "1,2\n3,4\n"),
    IT("nd_npy_map", NULL, "path", w.npy),
    IT("nd_plugin_load", NULL, "path", "/no/such/ndock-plugin.so"),
    IT("nd_allocator_load", NULL, "path", "/no/such/allocator.so"),
    IT("nd_npy_load", NULL, "path", w.npy),
    IT("nd_npy_load_as", NULL, "path", w.npy),
    IT("nd_idx_load", NULL, "path", w.npy),
    IT("nd_safetensors_open", NULL, "path", w.tensors),
    IT(NULL, "const char *", "typestr", "<f4"),
    IT(NULL, "const char *", "vendor", "bfloat16"),
    IT(NULL, "const char *", "plugin", "cpu"),
    IT(NULL, "const char *", "state", "PERMISSION"),
    IT(NULL, "const char *", "id", "ndp.plugin/0"),
    IT(NULL, "const char *", "name", "cpu"),
    IT("nd_memory_conf_set", NULL, "text", "quarantine_blocks:256"),
    IT(NULL, "const char *", "path", w.output),
    IT(NULL, "const char *", NULL, "text"),
    OF("nd_histogram", NULL, "weights", f32),
    OF("nd_histogramdd", NULL, "weights", mask),
    OF("nd_histogram2d", "const nd_array *", NULL, row),
    OF("nd_bincount", "const nd_array *", NULL, index),
    OF("nd_digitize", NULL, "bins", row),
    OF("nd_gradient", NULL, "coordinates", row),
    OF("nd_trapezoid", NULL, "coordinates", row),
    OF("nd_interp", "const nd_array *", NULL, row),
    OF("nd_polyval", NULL, "p", row),
    OF("nd_roots", NULL, "p", row),
    OF("nd_cummax", NULL, "a", row),
    OF("nd_cummin", NULL, "a", row),
    OF("nd_vander", NULL, "a", row),
    OF("nd_trim_zeros", NULL, "a", row),
    OF("nd_insert", NULL, "values", number),
    OF("nd_place_into", NULL, "mask", where),
    OF("nd_assign_where", NULL, "mask", where),
    OF("nd_put_along_axis_into", NULL, "indices", positions),
    OF("nd_put_along_axis_into", NULL, "values", number),
    IT("nd_ravel_multi_index", NULL, "arrays", orders),
    IT(NULL, "const int64_t *", "window", ones),
    IT(NULL, "const nd_bins *", NULL, bins),
    IT(NULL, "const double *", NULL, halves),
    OF("nd_random_choice", NULL, "p", counts),
    OF("nd_random_categorical", NULL, "weights", order),
    OF("nd_random_multinomial", NULL, "p", order),
    OF("nd_random_dirichlet", NULL, "alpha", order),
    OF("nd_random_multivariate_normal", NULL, "mean", row),
    OF("nd_random_multivariate_normal", NULL, "cov", matrix),
    OF("nd_cross_entropy", NULL, "y", index),
    OF("nd_cross_entropy_grad", NULL, "y", index),
    OF("nd_nll_loss", NULL, "y", index),
    OF("nd_nll_loss_grad", NULL, "y", index),
    OF("nd_cross_entropy_grad", NULL, "g", number),
    OF("nd_nll_loss_grad", NULL, "g", number),
    OF("nd_mse_loss_grad", NULL, "g", number),
    OF("nd_l1_loss_grad", NULL, "g", number),
    OF("nd_huber_loss_grad", NULL, "g", number),
    OF("nd_smooth_l1_loss_grad", NULL, "g", number),
    OF("nd_bce_with_logits_grad", NULL, "g", number),
    OF("nd_kl_div_grad", NULL, "g", number),
    OF("nd_ctc_loss_grad", NULL, "g", number),
    OF("nd_ctc_loss", NULL, "a", turned),
    OF("nd_ctc_loss", NULL, "y", single),
    OF("nd_ctc_loss", NULL, "a_lengths", counts),
    OF("nd_ctc_loss", NULL, "y_lengths", counts),
    OF("nd_ctc_loss_grad", NULL, "a", turned),
    OF("nd_ctc_loss_grad", NULL, "y", single),
    OF("nd_ctc_loss_grad", NULL, "a_lengths", counts),
    OF("nd_ctc_loss_grad", NULL, "y_lengths", counts),
    OF("nd_scaled_dot_product_attention_grad", "const nd_array *", "logsumexp", two),
    OF("nd_rope", NULL, "a", turned),
    OF("nd_rope_grad", NULL, "g", turned),
    OF(NULL, "const nd_array *", "cos", angles),
    OF(NULL, "const nd_array *", "sin", angles),
    OF("nd_moe", NULL, "weights", rank3),
    OF("nd_moe", NULL, "experts", experts),
    OF("nd_moe", NULL, "scales", column),
    OF("nd_gather_padded", NULL, "indices", positions),
    OF("nd_scatter_padded", NULL, "indices", positions),
    OF(NULL, "const nd_array *", "scale", row),
    OF(NULL, "const nd_array *", "bias", row),
    OF(NULL, "const nd_array *", "mean", row),
    OF(NULL, "const nd_array *", "variance", row),
    OF(NULL, "const nd_array *", "pivots", order),
    OF(NULL, "const nd_array *", "rtol", number),
    OF(NULL, "const nd_array *", "indices", index),
    OF(NULL, "const nd_array *", "mask", mask),
    OF(NULL, "const nd_array *", "count", count),
    OF(NULL, "const nd_array *", "counts", counts),
    OF(NULL, NULL, "device", device),
    OF(NULL, NULL, "stream", stream),
    OF(NULL, "nd_stream *", NULL, stream),
    OF(NULL, "const nd_stream *", NULL, stream),
    OF(NULL, "nd_event *", NULL, event),
    OF("nd_graph_arg", NULL, "a", i32),
    OF(NULL, "nd_graph *", NULL, graph),
    OF(NULL, "const nd_graph *", NULL, graph),
    OF(NULL, "nd_pool *", NULL, pool),
    OF(NULL, "const nd_pool *", NULL, pool),
    OF(NULL, "nd_allocator *", NULL, allocator),
    OF(NULL, "nd_module *", NULL, module),
    OF(NULL, "nd_function *", NULL, function),
    OF(NULL, "const nd_function *", NULL, function),
    OF(NULL, "nd_safetensors *", NULL, file),
    OF(NULL, "const nd_safetensors *", NULL, file),
    OF(NULL, "nd_npz *", NULL, archive),
    OF(NULL, "const nd_npz *", NULL, archive),
    OF(NULL, "const nd_custom_op *", NULL, custom),
    OF("nd_expr_run", "nd_expr *", NULL, ready),
    OF("nd_expr_run_into", "nd_expr *", NULL, ready),
    OF(NULL, "nd_expr *", NULL, expr),
    OF(NULL, "nd_dl_managed *", NULL, managed),
    OF(NULL, "nd_dl_legacy *", NULL, legacy),
    IT(NULL, "const nd_cai *", NULL, &w.cai),
    IT(NULL, "const nd_layout *", NULL, &layout),
    IT(NULL, "const nd_random_key *", NULL, &key),
    IT(NULL, "nd_random_key *", NULL, &key),
    IT(NULL, "const nd_array *const *", NULL, pair),
    IT(NULL, "const int64_t *const *", NULL, shapes),
    IT(NULL, "const int *", "ndims", ndims),
    IT(NULL, "const nd_arg *", NULL, operands),
    IT(NULL, "const nd_index *", NULL, slice),
    IT(NULL, "nd_stream *const *", NULL, streams),
    IT(NULL, "const nd_named_array *", NULL, named),
    IT(NULL, "const nd_warmup_item *", NULL, &warm),
    IT(NULL, "const nd_module_opts *", NULL, &module_opts),
    IT(NULL, "const nd_launch_opts *", NULL, &launch_opts),
    IT(NULL, "const nd_launch_arg *", NULL, launch_arg),
    IT(NULL, "const nd_custom_def *", NULL, &other_custom),
    IT(NULL, "const nd_op_info *", NULL, &op_info),
    IT(NULL, "const nd_allocator_table *", NULL, &table),
    IT("nd_as_strided", NULL, "stride", stride23),
    IT("nd_tile", NULL, "reps", ones),
    IT("nd_roll", NULL, "shifts", ones),
    IT("nd_pad", NULL, "before", ones),
    IT("nd_pad", NULL, "after", ones),
    IT(NULL, "const int64_t *", "shape", shape23),
    IT(NULL, "const int64_t *", "mnk", ones),
    IT(NULL, "const int64_t *", "places", ones),
    IT(NULL, "const int32_t *", NULL, axes01),
    IT(NULL, "const void *", NULL, host),
    IT(NULL, "void *", NULL, host),
    IT(NULL, "const uint32_t *", NULL, ones),
};

typedef struct {
    const char *function, *name;
    int64_t value;
} number_row;

static const number_row numbers[] = {
    {"nd_to_host", "nbytes", sizeof host},
    {"nd_csv_read", "nbytes", 8},
    {"nd_host_register", "nbytes", sizeof host},
    {"nd_ptr_info", "address", 1},
    {"nd_stream_wrap", "handle", 1},
    {"nd_custom_error", "status", ND_ERR_SHAPE},
    {"nd_op_set_device_form", "op", ND_OP_RUNTIME},
    {"nd_effective_precision", "op", ND_OP_matmul},
    {"nd_expr_apply", "n", 2},
    {"nd_expr_reduce", "op", ND_OP_sum},
    {"nd_expr_run", "n_args", 2},
    {"nd_expr_run", "n_out", 1},
    {"nd_expr_run_into", "n_args", 2},
    {"nd_expr_run_into", "n_out", 1},
    {"nd_expr_cache_set_max", "max", 256},
    {"nd_conv_grad_weight", "ndim", 3},
    {"nd_upsample_grad", "ndim", 3},
    {"nd_cross", "axis", 1},
    {"nd_group_norm", "groups", 1},
    {"nd_group_norm_grad", "groups", 1},
    {"nd_einsum", "n", 2},
    {"nd_multi_dot", "n", 2},
    {"nd_tile", "nreps", 2},
    {"nd_roll", "n", 2},
    {"nd_meshgrid", "n", 0}, /* of one-dimensional arrays */
    {"nd_broadcast_shapes", "n", 2},
    {"nd_random_integers", "dtype", ND_I64},
    {"nd_typestr", "dtype", ND_F32},
    {"nd_promote", "a", ND_I32},
    {"nd_promote", "b", ND_F32},
    {"nd_expand_dims", "naxes", 2},
    {"nd_squeeze", "naxes", 1},
    {"nd_diagonal", "axis2", 1},
    {"nd_concat", "n", 2},
    {"nd_concat_flat", "n", 2},
    {"nd_stack", "n", 2},
    {"nd_apply", "n", 2},
    {"nd_apply_into", "n", 2},
    {"nd_random_uniform", "high", 1},
    {"nd_random_choice", "replace", 1},
    {"nd_random_geometric", "dtype", ND_I64},
    {"nd_random_poisson", "dtype", ND_I64},
    {"nd_random_binomial", "dtype", ND_I64},
    {"nd_random_negative_binomial", "dtype", ND_I64},
    {"nd_random_hypergeometric", "dtype", ND_I64},
    {"nd_random_draw", "id", ND_DRAW_exponential},
    {"nd_random_draw_into", "id", ND_DRAW_exponential},
    {"nd_random_skip_draw", "id", ND_DRAW_exponential},
    {"nd_distribution_get", "id", ND_DRAW_exponential},
    {"nd_hstack", "n", 2},
    {"nd_vstack", "n", 2},
    {"nd_dstack", "n", 2},
    {"nd_column_stack", "n", 2},
    {"nd_block_matrix", "rows", 1},
    {"nd_rot90", "axis2", 1},
    {"nd_gradient", "axis", 1},
    {"nd_trapezoid", "axis", 1},
    {"nd_ravel_multi_index", "n", 2},
    {"nd_lexsort", "n", 2},
    {"nd_qarray_wrap", "format", ND_Q8_0},
    {"nd_quantize", "format", ND_Q8_0},
    {NULL, "n_pairs", 1},
    {NULL, "edge_order", 1},
    {NULL, "nq", 2},
    {NULL, "naxes", 2},
    {NULL, "ndim", 2},
    {NULL, "dtype", ND_F32},
    {NULL, "opaque", ND_F32},
    {NULL, "op", ND_OP_add},
    {NULL, "n", 1},
    {NULL, "k", 1},
    {NULL, "num", 2},
    {NULL, "rows", 2},
    {NULL, "cols", 2},
    {NULL, "count", 1},
    {NULL, "high", 10},
    {NULL, "policy", 1},
    {NULL, "sync", 1},
    {NULL, "check", 2},
    {NULL, "value", 1},
    {NULL, "max_size", 4096},
    {NULL, "max_bytes", INT64_MAX},
};

/* Real numbers that are 1; the others are 0. */
static const struct {
    const char *function, *name;
} ones_of[] = {
    {NULL, "high"},
    {NULL, "fraction"},
    {NULL, "spacing"},
    {"nd_random_geometric", "p"},
    {"nd_random_negative_binomial", NULL},
    {"nd_lp_pool", "p"},
    {"nd_lp_pool_grad", "p"},
    {"nd_random_weibull", NULL},
    {"nd_random_pareto", NULL},
    {"nd_random_beta", NULL},
    {NULL, "df"},
    {"nd_random_triangular", "right"},
    {"nd_random_truncated_normal", "scale"},
};

static bool fits(const char *pattern, const char *text)
{
    return !pattern || strcmp(pattern, text) == 0;
}

/* An array that the operation of the function takes; i32 where it takes no f32. */
static nd_array *operand(const nd_call *call, const char *argument)
{
    char name[64];
    snprintf(name, sizeof name, "%s", call->name + strlen("nd_"));
    static const char *const ends[] = {"_into", "_scalar"};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(name), m = strlen(ends[i]);
        if (n > m && strcmp(name + n - m, ends[i]) == 0)
            name[n - m] = 0;
    }
    static const char *const square[] = {
        "cholesky",         "lu_factor",    "lu_solve", "cho_solve", "solve",    "inv",
        "solve_triangular", "det",          "slogdet",  "eigh",      "eigvalsh", "eig",
        "eigvals",          "matrix_power", "expm"};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        if (strcmp(name, square[i]) == 0)
            return w.matrix;
    const nd_op_info *info = nd_op_get(nd_op_find(name));
    bool reduces =
        info && (info->op_class == ND_CLASS_REDUCE || info->op_class == ND_CLASS_ARGREDUCE);
    if (reduces && strcmp(argument, "dst") == 0)
        return w.number;
    uint64_t dtypes = info ? nd_op_dtypes(nd_op_find(name)) : 0;
    return !dtypes || dtypes >> ND_F32 & 1 ? w.f32 : w.i32;
}

static double real_number(const nd_call *call, const char *name)
{
    for (size_t k = 0; k < sizeof ones_of / sizeof ones_of[0]; k++)
        if (fits(ones_of[k].function, call->name) && fits(ones_of[k].name, name))
            return 1;
    return 0;
}

static void *pointer(const nd_call *call, const nd_call_argument *a, int i)
{
    for (size_t k = 0; k < sizeof pointers / sizeof pointers[0]; k++) {
        const pointer_row *r = &pointers[k];
        if (!fits(r->function, call->name) || !fits(r->type, a->type) || !fits(r->name, a->name))
            continue;
        return r->handle ? *(void *const *)r->at : (void *)(uintptr_t)r->at;
    }
    if (strcmp(a->type, "const nd_array *") == 0 || strcmp(a->type, "nd_array *") == 0)
        return operand(call, a->name);
    if (strstr(a->type, "_opts *"))
        return NULL;
    memset(&place[i], 0, sizeof place[i]);
    if (!strstr(a->type, "**") && strstr(a->type, "nd_"))
        memset(&place[i], 0xff, sizeof(uint32_t)); /* the size that structs of results begin with */
    return &place[i];
}

/* Tensors of DLPack are used up by an import that succeeds. */
static void make_tensors(void)
{
    if (!w.managed)
        (void)!nd_to_dlpack(w.f32, &w.managed);
    if (!w.legacy)
        (void)!nd_dlpack_export_legacy(w.f32, NULL, &w.legacy);
}

nd_value world_value(const nd_call *call, int i)
{
    const nd_call_argument *a = &call->argument[i];
    nd_value v = {0};
    if (strstr(call->name, "dlpack"))
        make_tensors();
    if (a->member == 'p')
        v.p = pointer(call, a, i);
    else if (a->member == 'f')
        v.f = strcmp(a->type, "nd_op_cpu_fn") == 0 ? (void (*)(void))on_elements : quiet;
    else if (a->member == 's')
        v.s = nd_int(1);
    else if (a->member == 'd')
        v.d = real_number(call, a->name);
    for (size_t k = 0; a->member == 'i' && k < sizeof numbers / sizeof numbers[0]; k++)
        if (fits(numbers[k].function, call->name) && fits(numbers[k].name, a->name)) {
            v.i = numbers[k].value;
            break;
        }
    return v;
}

static void drop(const char *type, void **result)
{
    if (strcmp(type, "nd_array **") == 0)
        for (int i = 0; i < ND_CUSTOM_MAX && result[i]; i++)
            nd_release(result[i]);
    else if (strcmp(type, "char **") == 0)
        free(*result);
    else if (strcmp(type, "nd_stream **") == 0)
        nd_stream_release(*result);
    else if (strcmp(type, "nd_event **") == 0)
        nd_event_release(*result);
    else if (strcmp(type, "nd_graph **") == 0)
        nd_graph_release(*result);
    else if (strcmp(type, "nd_pool **") == 0)
        nd_pool_release(*result);
    else if (strcmp(type, "nd_allocator **") == 0)
        nd_allocator_release(*result);
    else if (strcmp(type, "nd_expr **") == 0)
        nd_expr_release(*result);
    else if (strcmp(type, "nd_safetensors **") == 0)
        nd_safetensors_close(*result);
    else if (strcmp(type, "nd_npz **") == 0)
        nd_npz_close(*result);
    else if (strcmp(type, "nd_gguf **") == 0)
        nd_gguf_close(*result);
    else if (strcmp(type, "nd_qarray **") == 0)
        nd_qarray_release(*result);
    else if (strcmp(type, "nd_dl_managed **") == 0 && *result)
        ((nd_dl_managed *)*result)->deleter(*result);
    else if (strcmp(type, "nd_dl_legacy **") == 0 && *result)
        ((nd_dl_legacy *)*result)->deleter(*result);
}

void world_clear(const nd_call *call, const nd_value *v, bool succeeded)
{
    bool borrowed = strcmp(call->name, "nd_stream_default") == 0;
    for (int i = 0; i < call->n; i++) {
        const char *type = call->argument[i].type;
        bool owned = v[i].p == &place[i] && !borrowed;
        if (owned && strcmp(type, "nd_module **") == 0 && strcmp(call->name, "nd_module_load") == 0)
            nd_module_release(*(nd_module **)v[i].p);
        else if (owned)
            drop(type, v[i].p);
        if (succeeded && v[i].p && v[i].p == w.managed)
            w.managed = NULL;
        if (succeeded && v[i].p && v[i].p == w.legacy)
            w.legacy = NULL;
    }
}
