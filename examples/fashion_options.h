/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The command line of fashion.c. */
#ifndef FASHION_OPTIONS_H
#define FASHION_OPTIONS_H
#include <getopt.h>

#include "fashion_data.h"
#include "fashion_streams.h"

typedef struct {
    const char *data, *device, *save;
    long epochs, batch, seed, streams, graph, ranks;
    double lr;
} options;

static const char usage[] =
    "Usage: fashion [OPTION]...\n"
    "Train a small network on Fashion-MNIST, save it, and classify the test set from the file.\n\n"
    "  --data DIR     folder of the four IDX files, plain or gzip\n"
    "                 (default /usr/share/datasets/fashion-mnist, Debian's dataset-fashion-mnist)\n"
    "  --device NAME  cpu, cuda:0, ..., or auto, the best there is (default auto)\n"
    "  --epochs N     passes over the training images (default 10)\n"
    "  --batch N      images in a batch (default 128)\n"
    "  --lr X         first learning rate; it falls linearly to zero (default 0.035)\n"
    "  --seed N       of the weights and the order of images (default 1)\n"
    "  --streams N    gather batches on one stream and compute on N - 1 others, 1 to 8 (default "
    "1)\n"
    "  --graph        run the step of a whole batch as a graph, and say what that gains\n"
    "  --ranks        this is one of the processes of `ndock run -n N` or mpirun, which train "
    "together\n"
    "  --save FILE    where the weights go (default fashion.safetensors)\n"
    "  --help         print this and exit\n"
    "  --version      print the version and exit";

static options parse(int argc, char **argv)
{
    enum { DATA, DEVICE, SAVE, EPOCHS, BATCH, SEED, LR, STREAMS };
    long graph = 0, ranks_given = 0;
    static const struct option known[] = {
        {"data", 1, NULL, 1},      {"device", 1, NULL, 1},  {"save", 1, NULL, 1},
        {"epochs", 1, NULL, 1},    {"batch", 1, NULL, 1},   {"seed", 1, NULL, 1},
        {"lr", 1, NULL, 1},        {"streams", 1, NULL, 1}, {"help", 0, NULL, 'h'},
        {"version", 0, NULL, 'v'}, {"graph", 0, NULL, 'g'}, {"ranks", 0, NULL, 'r'},
        {NULL, 0, NULL, 0}};
    const char *text[] = {"/usr/share/datasets/fashion-mnist",
                          "auto",
                          "fashion.safetensors",
                          "10",
                          "128",
                          "1",
                          "0.035",
                          "1"};
    for (int c, i = 0; (c = getopt_long(argc, argv, "", known, &i)) != -1;) {
        if (c == 'h' || c == 'v') {
            printf("%s%s\n", c == 'h' ? usage : "fashion (ndock) ", c == 'h' ? "" : nd_version());
            exit(0);
        }
        if (c == 'g') {
            graph = 1;
            continue;
        }
        if (c == 'r') {
            ranks_given = 1;
            continue;
        }
        if (c != 1)
            bad_option("", "");
        text[i] = optarg;
    }
    if (optind < argc)
        bad_option(argv[optind], ": not an option. ");
    long streams = (long)number("--streams", text[STREAMS], 1, 1);
    if (graph && streams > 1)
        bad_option("--graph", ": a step of several streams is not one graph here. ");
    if (streams > MOST_STREAMS)
        bad_option("--streams", ": not a number in range. ");
    return (options){.data = text[DATA],
                     .device = text[DEVICE],
                     .save = text[SAVE],
                     .epochs = (long)number("--epochs", text[EPOCHS], 1, 1),
                     .batch = (long)number("--batch", text[BATCH], 1, 1),
                     .seed = (long)number("--seed", text[SEED], 0, 1),
                     .lr = number("--lr", text[LR], 1e-9, 0),
                     .streams = streams,
                     .graph = graph,
                     .ranks = ranks_given};
}

#endif
