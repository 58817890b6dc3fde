/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the values of the calls point to: made by world_make, the same for all calls. */
#ifndef NDOCK_TESTS_THINGS_H
#define NDOCK_TESTS_THINGS_H
#include "tests/calls/world.h"

typedef struct {
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
    nd_ipc *exported; /* NULL: the CPU exports nothing */
    const nd_ipc_handle *handle;
    nd_comm *comm, *doomed; /* doomed: to be aborted, and for messages to itself */
    nd_work *work;
    nd_store *store, *no_store; /* no_store: NULL, since what stops one ends it */
    char folder[64], npy[96], tensors[96], npz[96], csv[96], gguf_path[96], output[96];
} things;
extern things w;

extern int64_t shape221[3];
extern int64_t shape123[3];
extern int64_t three_elements[3];
extern int64_t shape23[2];
extern int64_t stride23[2];
extern int64_t ones[3];
extern int32_t axes01[2];
extern float host[6];
extern nd_layout layout;
extern nd_random_key key;
extern const nd_array *pair[2];
extern const nd_array *squares[2];
extern const int64_t *shapes[2];
extern int ndims[2];
extern nd_arg operands[2];
extern nd_stream *streams[1];
extern nd_graph *graphs[1];
extern nd_named_array named[1];
extern nd_gguf_item items[1];
extern unsigned char seven[4];
extern nd_gguf_value list_value;
extern nd_gguf_pair metadata[1];
extern nd_warmup_item warm;
extern nd_index slice[1];
extern const nd_array *orders[2];
extern nd_bins bins[3];
extern double halves[2];
extern nd_module_opts module_opts;
extern nd_launch_arg launch_arg[1];
extern nd_launch_opts launch_opts;
extern nd_custom_def custom;
extern nd_custom_def other_custom;
void on_elements(void *ctx, nd_dtype dtype, int64_t n, char *const *p, const int64_t *stride_bytes);
extern nd_op_info op_info;
extern nd_allocator_table table;
extern nd_pooling_opts pooling_opts;
extern nd_unfold_opts unfold_opts;
extern nd_upsample_opts upsample_opts;
extern nd_comm_id comm_id;
extern nd_event_handle no_event;
extern nd_device *devices[1];
extern char token[17];
#endif
