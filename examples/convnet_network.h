/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The network of convnet.c: two blocks of convolution, batch norm, ReLU and max pool, then two dense
 * layers with dropout between them; and the gradients of its parameters. */
#ifndef CONVNET_NETWORK_H
#define CONVNET_NETWORK_H
#include "fashion_data.h"

enum { BLOCKS = 2, CHANNELS_1 = 16, CHANNELS_2 = 32, FLAT = CHANNELS_2 * 7 * 7, HIDDEN = 128 };
/* A block has its weights, and the scale and shift of its batch norm. */
enum { K1, SCALE1, SHIFT1, K2, SCALE2, SHIFT2, W3, B3, W4, B4, PARAMS };
enum { OF_BLOCK = 3 };
static const char *const param_names[PARAMS] = {"conv1",  "scale1", "shift1", "conv2", "scale2",
                                                "shift2", "w3",     "b3",     "w4",    "b4"};
static const double keep_out = 0.25; /* the dropout's probability */

/* mean, variance: the running statistics of each batch norm. */
typedef struct {
    nd_array *p[PARAMS], *mean[BLOCKS], *variance[BLOCKS];
} network;

static const nd_conv_opts *same_extents(void)
{
    static const nd_conv_opts opts = {.size = sizeof opts, .padding_mode = ND_PADDING_SAME};
    return &opts;
}

static const nd_pooling_opts *pairs(void)
{
    static const int64_t two[] = {2, 2};
    static const nd_pooling_opts opts = {.size = sizeof opts, .kernel = two, .rank = 2};
    return &opts;
}

static nd_batch_norm_opts norm_options(int training)
{
    return (nd_batch_norm_opts){
        .size = sizeof(nd_batch_norm_opts), .eps = 1e-5, .momentum = 0.1, .training = training};
}

/* ---- parameters ---- */

/* Numbers of the stream-th sequence of the seed: 0 to 3 make the weights, then come the orders of
 * images, and from DROPS on what each step drops. */
enum { ORDERS = 4, DROPS = 1 << 20 };
static nd_random_key random_key(long seed, int64_t stream)
{
    return (nd_random_key){(uint64_t)seed, {0, (uint64_t)stream}};
}

/* fan_in: how many elements one of the result is made of. */
static nd_array *make_weights(long seed, int64_t stream, int ndim, const int64_t *shape,
                              double fan_in)
{
    const nd_random_key key = random_key(seed, stream);
    nd_array *w;
    CHECK(nd_random_uniform(NULL, ND_F32, ndim, shape, &key, -1 / sqrt(fan_in), 1 / sqrt(fan_in),
                            &w));
    return keep(w);
}

static nd_array *filled(int64_t n, double value)
{
    nd_array *a;
    CHECK(nd_full(NULL, ND_F32, 1, &n, nd_float(value), &a));
    return keep(a);
}

static network make_network(long seed)
{
    static const int64_t channels[BLOCKS] = {CHANNELS_1, CHANNELS_2};
    network net;
    net.p[K1] = make_weights(seed, 0, 4, (int64_t[]){CHANNELS_1, 1, 3, 3}, 9);
    net.p[K2] = make_weights(seed, 1, 4, (int64_t[]){CHANNELS_2, CHANNELS_1, 3, 3}, 9 * CHANNELS_1);
    net.p[W3] = make_weights(seed, 2, 2, (int64_t[]){FLAT, HIDDEN}, FLAT);
    net.p[W4] = make_weights(seed, 3, 2, (int64_t[]){HIDDEN, CLASSES}, HIDDEN);
    net.p[B3] = filled(HIDDEN, 0);
    net.p[B4] = filled(CLASSES, 0);
    for (int i = 0; i < BLOCKS; i++) {
        net.p[OF_BLOCK * i + SCALE1] = filled(channels[i], 1);
        net.p[OF_BLOCK * i + SHIFT1] = filled(channels[i], 0);
        net.mean[i] = filled(channels[i], 0);
        net.variance[i] = filled(channels[i], 1);
    }
    return net;
}

/* ---- forward ---- */

/* What a block was given, its convolution, what came out of the ReLU, the pool's result, and where in
 * the image that was. */
typedef struct {
    const nd_array *x;
    nd_array *convolved, *active, *y, *at;
} block;

static block block_forward(const network *net, int i, const nd_array *x, int training)
{
    nd_array *const *p = net->p + (ptrdiff_t)OF_BLOCK * i;
    const nd_batch_norm_opts norm = norm_options(training);
    block b = {.x = x};
    CHECK(nd_conv(x, p[K1], NULL, same_extents(), &b.convolved));
    CHECK(nd_batch_norm(hold(b.convolved), p[SCALE1], p[SHIFT1], net->mean[i], net->variance[i],
                        &norm, &b.active));
    CHECK(nd_relu_into(hold(b.active), b.active));
    CHECK(nd_max_pool(b.active, pairs(), &b.y, &b.at));
    hold(b.y);
    hold(b.at);
    return b;
}

/* Everything that the gradients need. */
typedef struct {
    block blocks[BLOCKS];
    nd_random_key key;
    nd_array *flat, *hidden, *z;
} trace;

/* x: (n, 1, 28, 28). key: of what is dropped; NULL where nothing is, and running statistics count. */
static trace forward(const network *net, const nd_array *x, const nd_random_key *key)
{
    const nd_matmul_opts relu = {
        .size = sizeof relu, .bias = net->p[B3], .epilogue = ND_EPILOGUE_RELU};
    const nd_matmul_opts plain = {.size = sizeof plain, .bias = net->p[B4]};
    trace t = {.key = key ? *key : (nd_random_key){0}};
    for (int i = 0; i < BLOCKS; i++)
        t.blocks[i] = block_forward(net, i, i ? t.blocks[i - 1].y : x, key != NULL);
    CHECK(nd_reshape(t.blocks[1].y, 2, (int64_t[]){nd_shape(x)[0], FLAT}, &t.flat));
    hold(t.flat);
    if (key) {
        CHECK(nd_dropout(t.flat, keep_out, key, &t.flat));
        hold(t.flat);
    }
    CHECK(nd_matmul(t.flat, net->p[W3], &relu, &t.hidden));
    CHECK(nd_matmul(hold(t.hidden), net->p[W4], &plain, &t.z));
    hold(t.z);
    return t;
}

/* ---- backward ---- */

static nd_array *transposed(const nd_array *a)
{
    nd_array *view;
    CHECK(nd_transpose(a, &view));
    return hold(view);
}

/* Gradients of a dense layer's weights and bias; returns that of its input x. dy: of its result. */
static nd_array *dense_backward(const nd_array *x, const nd_array *w, const nd_array *dy,
                                nd_array **dw, nd_array **db)
{
    const nd_reduce_opts rows = {.size = sizeof rows, .axes = (int32_t[]){0}, .naxes = 1};
    nd_array *dx;
    CHECK(nd_matmul(transposed(x), dy, NULL, dw));
    hold(*dw);
    CHECK(nd_sum(dy, &rows, db));
    hold(*db);
    CHECK(nd_matmul(dy, transposed(w), NULL, &dx));
    return hold(dx);
}

/* dy: the gradient of the block's result. g: of its parameters. Returns that of its image, NULL for
 * the first block, whose image nobody changes. */
static nd_array *block_backward(const network *net, int i, const block *b, const nd_array *dy,
                                nd_array **g)
{
    nd_array *const *p = net->p + (ptrdiff_t)OF_BLOCK * i;
    const nd_batch_norm_opts norm = norm_options(1);
    nd_array *active, *normal, *convolved, *dx = NULL;
    CHECK(nd_max_pool_grad(dy, b->at, 4, nd_shape(b->active), pairs(), &active));
    CHECK(nd_activation_grad(ND_ACT_RELU, hold(active), b->active, 0, &normal));
    CHECK(nd_batch_norm_grad(hold(normal), b->convolved, p[SCALE1], NULL, NULL, &norm, &convolved,
                             &g[SCALE1], &g[SHIFT1]));
    hold(g[SCALE1]);
    hold(g[SHIFT1]);
    CHECK(nd_conv_grad_weight(b->x, hold(convolved), 4, nd_shape(p[K1]), same_extents(), &g[K1]));
    hold(g[K1]);
    if (i > 0)
        CHECK(nd_conv_grad_input(convolved, p[K1], 4, nd_shape(b->x), same_extents(), &dx));
    return dx ? hold(dx) : NULL;
}

/* Gradients of all parameters, of that of the scores. */
static void backward(const network *net, const trace *t, const nd_array *dz, nd_array **g)
{
    nd_array *hidden, *flat, *images;
    nd_array *dh = dense_backward(t->hidden, net->p[W4], dz, &g[W4], &g[B4]);
    CHECK(nd_activation_grad(ND_ACT_RELU, dh, t->hidden, 0, &hidden));
    flat = dense_backward(t->flat, net->p[W3], hold(hidden), &g[W3], &g[B3]);
    CHECK(nd_dropout(flat, keep_out, &t->key, &flat));
    CHECK(nd_reshape(hold(flat), 4, nd_shape(t->blocks[BLOCKS - 1].y), &images));
    hold(images);
    for (int i = BLOCKS - 1; i >= 0; i--)
        images = block_backward(net, i, &t->blocks[i], images, g + (ptrdiff_t)OF_BLOCK * i);
}

#endif
