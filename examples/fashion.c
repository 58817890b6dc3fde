/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Train a 784-128-10 network on Fashion-MNIST, save it, read it back and classify the test set. */
#define PROGRAM "fashion"
#include <langinfo.h>
#include <locale.h>

#include "fashion_options.h"
#include "fashion_show.h"
#include "fashion_streams.h"

enum { HIDDEN = 128 };
enum { W1, B1, W2, B2, PARAMS };
static const double momentum = 0.9;
static const char *const param_names[PARAMS] = {"w1", "b1", "w2", "b2"};

/* w2t is a view of p[W2], so it follows the updates. */
typedef struct {
    nd_array *p[PARAMS], *w2t;
} network;

/* Arrays of one batch size; made once, so that a step allocates nothing. xt and ht are views. */
typedef struct {
    int64_t n;
    nd_array *x, *xt, *y, *h, *ht, *dh, *positive, *z, *logp, *dz;
} batch;

/* Velocities of the parameters, and room for the gradients of the biases. */
typedef struct {
    nd_array *v[PARAMS], *g[PARAMS], *flat; /* flat: all gradients, where ranks add them up */
    double lr;
} optimiser;

/* Results stay on the device until the epoch's only read; loss and accuracy are views of both. */
typedef struct {
    nd_array *both, *loss, *accuracy, *batch_loss;
} statistics;

static nd_array *make(nd_dtype dtype, int ndim, int64_t rows, int64_t columns)
{
    nd_array *a;
    CHECK(nd_zeros(NULL, dtype, ndim, (int64_t[]){rows, columns}, &a));
    return keep(a);
}

static nd_array *transposed(const nd_array *a)
{
    nd_array *view;
    CHECK(nd_transpose(a, &view));
    return keep(view);
}

/* ---- data ---- */

/* (n, 10): 1 at the label's column, else 0 */
static nd_array *one_hot(const nd_array *labels)
{
    nd_array *column, *classes, *y = make(ND_F32, 2, nd_size(labels), CLASSES);
    CHECK(nd_expand_dims(labels, 1, (int32_t[]){1}, &column));
    CHECK(nd_arange(NULL, ND_U8, nd_int(0), nd_int(CLASSES), nd_int(1), &classes));
    CHECK(nd_equal_into(column, classes, y));
    nd_release(column);
    nd_release(classes);
    return y;
}

/* ---- the network ---- */

/* Numbers of the stream-th sequence of the seed: 0 and 1 make the weights, 2 + epoch the orders. */
static nd_random_key random_key(const options *o, long stream)
{
    return (nd_random_key){(uint64_t)o->seed, {0, (uint64_t)stream}};
}

static nd_array *make_weights(const options *o, long stream, int64_t rows, int64_t columns)
{
    nd_random_key key = random_key(o, stream);
    nd_array *w = make(ND_F32, 2, rows, columns);
    double limit = 1 / sqrt((double)rows);
    CHECK(nd_random_uniform_into(&key, -limit, limit, w));
    return w;
}

static network make_network(const options *o)
{
    network net = {.p = {make_weights(o, 0, PIXELS, HIDDEN), make(ND_F32, 1, HIDDEN, 0),
                         make_weights(o, 1, HIDDEN, CLASSES), make(ND_F32, 1, CLASSES, 0)}};
    net.w2t = transposed(net.p[W2]);
    return net;
}

static void forward(const network *net, const nd_array *x, const nd_array *h, const nd_array *z)
{
    nd_matmul_opts relu = {.size = sizeof relu, .bias = net->p[B1], .epilogue = ND_EPILOGUE_RELU};
    nd_matmul_opts plain = {.size = sizeof plain, .bias = net->p[B2]};
    CHECK(nd_matmul_into(x, net->p[W1], &relu, h));
    CHECK(nd_matmul_into(h, net->p[W2], &plain, z));
}

/* Labels of a set as the network sees them; a new array. */
static nd_array *classify(const network *net, const dataset *d)
{
    nd_reduce_opts columns = {.size = sizeof columns, .axes = (int32_t[]){1}, .naxes = 1};
    nd_array *h, *z, *predicted;
    CHECK(nd_empty(NULL, ND_F32, 2, (int64_t[]){d->n, HIDDEN}, &h));
    CHECK(nd_empty(NULL, ND_F32, 2, (int64_t[]){d->n, CLASSES}, &z));
    forward(net, d->x, h, z);
    CHECK(nd_argmax(z, &columns, &predicted));
    nd_release(h);
    nd_release(z);
    return predicted;
}

/* ---- training ---- */

static batch make_batch(int64_t n)
{
    batch t = {.n = n, .x = make(ND_F32, 2, n, PIXELS), .y = make(ND_F32, 2, n, CLASSES)};
    t.h = make(ND_F32, 2, n, HIDDEN);
    t.dh = make(ND_F32, 2, n, HIDDEN);
    t.positive = make(ND_BOOL, 2, n, HIDDEN);
    t.z = make(ND_F32, 2, n, CLASSES);
    t.logp = make(ND_F32, 2, n, CLASSES);
    t.dz = make(ND_F32, 2, n, CLASSES);
    t.xt = transposed(t.x);
    t.ht = transposed(t.h);
    return t;
}

#include "fashion_ranks.h"

static optimiser make_optimiser(const network *net)
{
    optimiser opt = {.lr = 0};
    if (team.comm)
        opt.flat = join_gradients(net->p, opt.g, PARAMS);
    for (int i = 0; i < PARAMS; i++) {
        CHECK(nd_zeros_like(net->p[i], 0, &opt.v[i]));
        keep(opt.v[i]);
        if (team.comm)
            continue;
        CHECK(nd_zeros_like(net->p[i], 0, &opt.g[i]));
        keep(opt.g[i]);
    }
    return opt;
}

static statistics make_statistics(void)
{
    statistics s = {.both = make(ND_F32, 1, 2, 0), .batch_loss = make(ND_F32, 0, 0, 0)};
    nd_index first = nd_at(0), second = nd_at(1);
    CHECK(nd_slice(s.both, &first, 1, &s.loss));
    CHECK(nd_slice(s.both, &second, 1, &s.accuracy));
    keep(s.loss);
    keep(s.accuracy);
    return s;
}

static void add_loss(const batch *t, const statistics *s)
{
    CHECK(nd_log_softmax_into(t->z, NULL, t->logp));
    CHECK(nd_multiply_into(t->logp, t->y, t->z));
    CHECK(nd_sum_into(t->z, NULL, s->batch_loss));
    CHECK(nd_subtract_into(s->loss, s->batch_loss, s->loss));
}

/* Gradients of the mean loss by what the softmax (dz) and the ReLU (dh) are given. */
static void backward(const network *net, const batch *t)
{
    CHECK(nd_exp_into(t->logp, t->dz));
    CHECK(nd_subtract_into(t->dz, t->y, t->dz));
    apply_scalar(ND_OP_divide, t->dz, (double)(t->n * team.n), t->dz);
    CHECK(nd_matmul_into(t->dz, net->w2t, NULL, t->dh));
    apply_scalar(ND_OP_greater, t->h, 0, t->positive);
    nd_arg args[] = {nd_array_arg(t->positive), nd_array_arg(t->dh), nd_scalar_arg(nd_float(0))};
    CHECK(nd_apply_into(ND_OP_where, args, 3, NULL, t->dh));
}

/* v = momentum*v - lr * inputs^T gradient, w += v: the product is added to the velocity in one
 * call. */
static void update_weights(const network *net, const optimiser *opt, int i,
                           const nd_array *inputs_t, const nd_array *gradient)
{
    nd_matmul_opts step = {.size = sizeof step, .alpha = -opt->lr, .beta = momentum};
    CHECK(nd_matmul_into(inputs_t, gradient, &step, opt->v[i]));
    CHECK(nd_add_into(net->p[i], opt->v[i], net->p[i]));
}

static void update_bias(const network *net, const optimiser *opt, int i, const nd_array *gradient)
{
    nd_reduce_opts rows = {.size = sizeof rows, .axes = (int32_t[]){0}, .naxes = 1};
    CHECK(nd_sum_into(gradient, &rows, opt->g[i]));
    apply_scalar(ND_OP_multiply, opt->g[i], -opt->lr, opt->g[i]);
    apply_scalar(ND_OP_multiply, opt->v[i], momentum, opt->v[i]);
    CHECK(nd_add_into(opt->v[i], opt->g[i], opt->v[i]));
    CHECK(nd_add_into(net->p[i], opt->v[i], net->p[i]));
}

static void train_batch(const network *net, const optimiser *opt, const batch *t,
                        const statistics *s)
{
    forward(net, t->x, t->h, t->z);
    add_loss(t, s);
    backward(net, t);
    if (team.comm) {
        gradients_of_part(opt, t);
        update_together(net, opt);
        return;
    }
    update_weights(net, opt, W1, t->xt, t->dh);
    update_bias(net, opt, B1, t->dh);
    update_weights(net, opt, W2, t->ht, t->dz);
    update_bias(net, opt, B2, t->dz);
}

#include "fashion_graph.h"

static void gather_batch(const dataset *d, const nd_array *y, const nd_array *order, int64_t first,
                         const batch *t)
{
    nd_index range = nd_range(first + team.rank * t->n, first + (team.rank + 1) * t->n, 1);
    nd_array *index;
    CHECK(nd_slice(order, &range, 1, &index));
    CHECK(nd_take_into(d->x, index, 0, t->x));
    CHECK(nd_take_into(y, index, 0, t->y));
    nd_release(index);
}

/* sizes: whole batches and the last one, for each that is on its way. graph: the step of a whole
 * batch, or NULL. */
static void train_epoch(const options *o, long epoch, const network *net, const optimiser *opt,
                        const dataset *d, const nd_array *y, batch (*sizes)[2], const pipeline *p,
                        const statistics *s, nd_graph *graph)
{
    nd_random_key key = random_key(o, 2 + epoch);
    nd_array *order;
    int slot = 0, before = 0;
    CHECK(nd_random_permutation(NULL, d->n, &key, &order));
    CHECK(nd_fill(s->loss, nd_float(0)));
    fork_streams(p);
    for (int64_t first = 0, step = 0; first < d->n; first += o->batch, step++) {
        nd_stream *compute = p->n > 1 ? p->compute[step % (p->n - 1)] : NULL;
        before = slot;
        slot = (int)(step % p->n);
        const batch *t = &sizes[slot][d->n - first < o->batch];
        if (t->n == 0) /* fewer images than ranks are left */
            break;
        enter(p->gather, p->used[slot]);
        gather_batch(d, y, order, first, t);
        leave(p->gather, p->ready[slot]);
        enter(compute, p->ready[slot]);
        if (compute) /* the weights of the step before */
            CHECK(nd_stream_wait_event(compute, p->used[before]));
        if (graph && t == &sizes[0][0])
            CHECK(nd_graph_launch(graph, NULL, NULL));
        else
            train_batch(net, opt, t, s);
        leave(compute, p->used[slot]);
        if (!team.comm)
            show_progress(epoch + 1, first + t->n, d->n);
    }
    join_streams(p);
    nd_release(order);
}

static void test_epoch(const network *net, const dataset *test, const statistics *s)
{
    nd_reduce_opts mean = {.size = sizeof mean, .dtype = ND_F32};
    nd_array *right;
    CHECK(nd_tag_push("test"));
    nd_array *predicted = classify(net, test);
    CHECK(nd_equal(predicted, test->labels, &right));
    CHECK(nd_mean_into(right, &mean, s->accuracy));
    nd_release(predicted);
    nd_release(right);
    CHECK(nd_tag_pop());
}

static void train(const options *o, const network *net, const dataset *d, const dataset *test)
{
    pipeline p = make_pipeline((int)o->streams);
    CHECK(
        nd_tag_push("batches")); /* labels, as pictures of the memory and reports of faults have */
    batch sizes[MOST_STREAMS][2];
    for (int i = 0; i < p.n; i++) {
        sizes[i][0] = make_batch(o->batch / team.n);
        sizes[i][1] = make_batch(d->n % o->batch / team.n);
    }
    nd_array *y = one_hot(d->labels);
    statistics s = make_statistics();
    CHECK(nd_tag_pop());
    CHECK(nd_tag_push("optimiser"));
    optimiser opt = make_optimiser(net);
    CHECK(nd_tag_pop());
    nd_graph *graph = NULL;
    if (o->graph && !team.comm)
        compare_steps(o);
    if (team.rank == 0)
        puts("epoch    loss  accuracy  seconds");
    for (long epoch = 0; epoch < o->epochs; epoch++) {
        double start = seconds();
        float result[2];
        opt.lr = o->lr * (1 - (double)epoch / (double)o->epochs);
        if (o->graph && d->n >= o->batch) /* the rate is a part of the step */
            capture_step(net, &opt, &sizes[0][0], &s, &graph);
        train_epoch(o, epoch, net, &opt, d, y, sizes, &p, &s, graph);
        test_epoch(net, test, &s);
        if (team.comm)
            CHECK(nd_comm_all_reduce_into(team.comm, s.loss, NULL, s.loss));
        CHECK(nd_to_host(s.both, result, sizeof result));
        if (team.rank == 0)
            printf("%5ld  %.5f   %5.2f %%  %7.3f\n", epoch + 1, (double)result[0] / (double)d->n,
                   100 * (double)result[1], seconds() - start);
        fflush(stdout);
    }
    nd_graph_release(graph);
    drop_pipeline(&p);
}

/* ---- the file, and what it knows ---- */

static void save(const options *o, const network *net)
{
    char epochs[32], seed[32], scale[64];
    const char *metadata[] = {
        "model", "relu(x @ w1 + b1) @ w2 + b2", "epochs", epochs, "seed", seed, "x", scale, NULL};
    nd_named_array arrays[PARAMS];
    snprintf(epochs, sizeof epochs, "%ld", o->epochs);
    snprintf(seed, sizeof seed, "%ld", o->seed);
    snprintf(scale, sizeof scale, "(pixel/255 - %g)/%g", pixel_mean, pixel_std);
    for (int i = 0; i < PARAMS; i++)
        arrays[i] = (nd_named_array){param_names[i], net->p[i]};
    CHECK(nd_safetensors_save(o->save, PARAMS, arrays, metadata, NULL));
}

static network load(const char *path)
{
    network net;
    nd_safetensors *file;
    CHECK(nd_safetensors_open(path, &file));
    for (int i = 0; i < PARAMS; i++) {
        CHECK(nd_safetensors_load(file, param_names[i], NULL, &net.p[i]));
        keep(net.p[i]);
    }
    nd_safetensors_close(file);
    net.w2t = transposed(net.p[W2]);
    return net;
}

/* Classify the test set from the file alone, and say what came of it. */
static void check_file(const char *path, const dataset *test, int utf8)
{
    network net = load(path);
    show_results(path, test, keep(classify(&net, test)), utf8);
}

int main(int argc, char **argv)
{
    options o = parse(argc, argv);
    nd_device *device;
    nd_device_info info;
    setlocale(LC_CTYPE, "");
    CHECK(nd_device_get(o.device, &device));
    CHECK(nd_device_set_current(device));
    nd_device_describe(device, &info);
    if (o.ranks)
        join_team(device);
    if (team.rank == 0)
        printf("ndock %s on %s: %s\n", nd_version(), info.name, info.description);
    if (team.comm && team.rank == 0)
        printf("%d ranks by %s\n", (int)team.n, nd_comm_transport(team.comm));
    CHECK(nd_tag_push("images"));
    dataset images = load_set(o.data, "train"), test = load_set(o.data, "t10k");
    CHECK(nd_tag_pop());
    CHECK(nd_tag_push("network"));
    network net = make_network(&o);
    CHECK(nd_tag_pop());
    o.batch = o.batch > images.n ? (long)images.n : o.batch;
    o.batch -= o.batch % (long)team.n; /* as many for each */
    if (o.batch == 0)
        bad_option("--batch", ": not as many images as ranks. ");
    train(&o, &net, &images, &test);
    if (team.rank == 0) {
        save(&o, &net);
        check_file(o.save, &test, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
    }
    nd_comm_release(team.comm);
    release_kept();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
