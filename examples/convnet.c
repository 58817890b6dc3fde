/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Train a small convolutional network on Fashion-MNIST, and classify the test set. */
#define PROGRAM "convnet"
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>

#include "convnet_network.h"
#include "fashion_show.h"

static const double momentum = 0.9;

typedef struct {
    const char *data, *device, *save;
    long epochs, batch, seed, limit;
    double lr;
} options;

/* v: velocities of the parameters. Loss and accuracy are views of both, which is read once an
 * epoch. one: the gradient of the loss. */
typedef struct {
    nd_array *v[PARAMS], *both, *loss, *accuracy, *one;
} training;

/* A view of the first n images. */
static dataset first_images(dataset d, int64_t n)
{
    const nd_index range = nd_range(0, n, 1);
    if (n >= d.n)
        return d;
    d.n = n;
    CHECK(nd_slice(d.pixels, &range, 1, &d.pixels));
    CHECK(nd_slice(d.labels, &range, 1, &d.labels));
    CHECK(nd_slice(d.x, &range, 1, &d.x));
    keep(d.pixels);
    keep(d.labels);
    keep(d.x);
    return d;
}

static training make_training(const network *net)
{
    const nd_index first = nd_at(0), second = nd_at(1);
    training t;
    for (int i = 0; i < PARAMS; i++) {
        CHECK(nd_zeros_like(net->p[i], 0, &t.v[i]));
        keep(t.v[i]);
    }
    CHECK(nd_zeros(NULL, ND_F32, 1, (int64_t[]){2}, &t.both));
    CHECK(nd_slice(t.both, &first, 1, &t.loss));
    CHECK(nd_slice(t.both, &second, 1, &t.accuracy));
    CHECK(nd_full(NULL, ND_F32, 0, NULL, nd_float(1), &t.one));
    keep(t.both);
    keep(t.loss);
    keep(t.accuracy);
    keep(t.one);
    return t;
}

/* v = momentum*v - lr*g, p += v */
static void update(const network *net, const training *t, nd_array *const *g, double lr)
{
    for (int i = 0; i < PARAMS; i++) {
        apply_scalar(ND_OP_multiply, g[i], -lr, g[i]);
        apply_scalar(ND_OP_multiply, t->v[i], momentum, t->v[i]);
        CHECK(nd_add_into(t->v[i], g[i], t->v[i]));
        CHECK(nd_add_into(net->p[i], t->v[i], net->p[i]));
    }
}

/* index: the batch's images. key: of what is dropped. The loss's sum joins the epoch's. */
static void train_batch(const network *net, const training *t, const dataset *d,
                        const nd_array *index, const nd_random_key *key, double lr)
{
    const int64_t shape[] = {nd_size(index), 1, SIDE, SIDE};
    nd_array *rows, *x, *y, *loss, *dz, *g[PARAMS];
    CHECK(nd_take(d->x, index, 0, &rows));
    CHECK(nd_reshape(hold(rows), 4, shape, &x));
    CHECK(nd_take(d->labels, index, 0, &y));
    hold(y);
    const trace steps = forward(net, hold(x), key);
    CHECK(nd_cross_entropy(steps.z, y, NULL, &loss));
    apply_scalar(ND_OP_multiply, hold(loss), (double)shape[0], loss);
    CHECK(nd_add_into(t->loss, loss, t->loss));
    CHECK(nd_cross_entropy_grad(t->one, steps.z, y, NULL, &dz));
    backward(net, &steps, hold(dz), g);
    update(net, t, g, lr);
    release_held();
}

static void train_epoch(const options *o, long epoch, const network *net, const training *t,
                        const dataset *d)
{
    const nd_random_key key = random_key(o->seed, ORDERS + epoch);
    const double lr = o->lr * (1 - (double)epoch / (double)o->epochs);
    const int64_t batches = (d->n + o->batch - 1) / o->batch;
    nd_array *order, *index;
    CHECK(nd_random_permutation(NULL, d->n, &key, &order));
    CHECK(nd_fill(t->loss, nd_float(0)));
    for (int64_t i = 0; i < batches; i++) {
        const nd_index range = nd_range(i * o->batch, (i + 1) * o->batch, 1);
        const nd_random_key drops = random_key(o->seed, DROPS + epoch * batches + i);
        CHECK(nd_slice(order, &range, 1, &index));
        train_batch(net, t, d, index, &drops, lr);
        nd_release(index);
        show_progress(epoch + 1, i + 1, batches);
    }
    nd_release(order);
}

/* Labels of a set as the network sees them, i64, a thousand images at a time; the caller's own. */
static nd_array *classify(const network *net, const dataset *d)
{
    enum { PART = 1000 };
    const nd_reduce_opts columns = {.size = sizeof columns, .axes = (int32_t[]){1}, .naxes = 1};
    nd_array *labels;
    CHECK(nd_empty(NULL, ND_I64, 1, &d->n, &labels));
    for (int64_t i = 0; i < d->n; i += PART) {
        const nd_index range = nd_range(i, i + PART, 1);
        nd_array *part, *x, *result;
        CHECK(nd_slice(d->x, &range, 1, &part));
        const int64_t shape[] = {nd_shape(part)[0], 1, SIDE, SIDE};
        CHECK(nd_reshape(hold(part), 4, shape, &x));
        CHECK(nd_slice(labels, &range, 1, &result));
        CHECK(nd_argmax_into(forward(net, hold(x), NULL).z, &columns, hold(result)));
        release_held();
    }
    return labels;
}

/* Returns what the images were taken for, the caller's own. */
static nd_array *test_epoch(const network *net, const dataset *test, const training *t)
{
    const nd_reduce_opts mean = {.size = sizeof mean, .dtype = ND_F32};
    nd_array *right, *predicted = classify(net, test);
    CHECK(nd_equal(predicted, test->labels, &right));
    CHECK(nd_mean_into(right, &mean, t->accuracy));
    nd_release(right);
    return predicted;
}

/* Returns what the test set was taken for in the end, the caller's own. */
static nd_array *train(const options *o, const network *net, const dataset *d, const dataset *test)
{
    const training t = make_training(net);
    nd_array *predicted = NULL;
    puts("epoch    loss  accuracy  seconds");
    for (long epoch = 0; epoch < o->epochs; epoch++) {
        const double start = seconds();
        float result[2];
        train_epoch(o, epoch, net, &t, d);
        nd_release(predicted);
        predicted = test_epoch(net, test, &t);
        CHECK(nd_to_host(t.both, result, sizeof result));
        printf("%5ld  %.5f   %5.2f %%  %7.3f\n", epoch + 1, (double)result[0] / (double)d->n,
               100 * (double)result[1], seconds() - start);
        fflush(stdout);
    }
    return predicted;
}

/* Parameters, and the running statistics without which they mean nothing. */
static void save(const options *o, const network *net)
{
    static const char *const others[] = {"mean1", "variance1", "mean2", "variance2"};
    nd_named_array arrays[PARAMS + 2 * BLOCKS];
    for (int i = 0; i < PARAMS; i++)
        arrays[i] = (nd_named_array){param_names[i], net->p[i]};
    for (int i = 0; i < BLOCKS; i++) {
        arrays[PARAMS + 2 * i] = (nd_named_array){others[2 * i], net->mean[i]};
        arrays[PARAMS + 2 * i + 1] = (nd_named_array){others[2 * i + 1], net->variance[i]};
    }
    CHECK(nd_safetensors_save(o->save, PARAMS + 2 * BLOCKS, arrays, NULL, NULL));
}

/* ---- command line ---- */

static const char usage[] =
    "Usage: convnet [OPTION]...\n"
    "Train a small convolutional network on Fashion-MNIST, and classify the test set.\n\n"
    "  --data DIR     folder of the four IDX files, plain or gzip\n"
    "                 (default /usr/share/datasets/fashion-mnist, Debian's dataset-fashion-mnist)\n"
    "  --device NAME  cpu, cuda:0, ..., or auto, the best there is (default auto)\n"
    "  --epochs N     passes over the training images (default 10)\n"
    "  --batch N      images in a batch (default 128)\n"
    "  --lr X         first learning rate; it falls linearly to zero (default 0.05)\n"
    "  --seed N       of the weights, the order of images and what is dropped (default 1)\n"
    "  --limit N      take the first N images of both sets alone (default all)\n"
    "  --save FILE    where the weights go, a safetensors file (default none)\n"
    "  --help         print this and exit\n"
    "  --version      print the version and exit";

static options parse(int argc, char **argv)
{
    enum { DATA, DEVICE, SAVE, EPOCHS, BATCH, SEED, LR, LIMIT };
    static const struct option known[] = {
        {"data", 1, NULL, 1},      {"device", 1, NULL, 1}, {"save", 1, NULL, 1},
        {"epochs", 1, NULL, 1},    {"batch", 1, NULL, 1},  {"seed", 1, NULL, 1},
        {"lr", 1, NULL, 1},        {"limit", 1, NULL, 1},  {"help", 0, NULL, 'h'},
        {"version", 0, NULL, 'v'}, {NULL, 0, NULL, 0}};
    const char *text[] = {
        "/usr/share/datasets/fashion-mnist", "auto", NULL, "10", "128", "1", "0.05", "1e9"};
    for (int c, i = 0; (c = getopt_long(argc, argv, "", known, &i)) != -1;) {
        if (c == 'h' || c == 'v') {
            printf("%s%s\n", c == 'h' ? usage : "convnet (ndock) ", c == 'h' ? "" : nd_version());
            exit(0);
        }
        if (c != 1)
            bad_option("", "");
        text[i] = optarg;
    }
    if (optind < argc)
        bad_option(argv[optind], ": not an option. ");
    return (options){.data = text[DATA],
                     .device = text[DEVICE],
                     .save = text[SAVE],
                     .epochs = (long)number("--epochs", text[EPOCHS], 1, 1),
                     .batch = (long)number("--batch", text[BATCH], 2, 1),
                     .seed = (long)number("--seed", text[SEED], 0, 1),
                     .limit = (long)number("--limit", text[LIMIT], 2, 1),
                     .lr = number("--lr", text[LR], 1e-9, 0)};
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    nd_device *device;
    nd_device_info info;
    setlocale(LC_CTYPE, "");
    CHECK(nd_device_get(o.device, &device));
    CHECK(nd_device_set_current(device));
    nd_device_describe(device, &info);
    printf("ndock %s on %s: %s\n", nd_version(), info.name, info.description);
    const dataset images = first_images(load_set(o.data, "train"), o.limit);
    const dataset test = first_images(load_set(o.data, "t10k"), o.limit);
    const network net = make_network(o.seed);
    const nd_array *predicted = keep(train(&o, &net, &images, &test));
    if (o.save)
        save(&o, &net);
    show_results("the test set", &test, predicted, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
    release_kept();
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
