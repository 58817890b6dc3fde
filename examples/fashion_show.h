/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What came of training on Fashion-MNIST: how many images of the test set are right, and some of them as
 * text. */
#ifndef FASHION_SHOW_H
#define FASHION_SHOW_H
#include "fashion_data.h"

static const char *const label_names[CLASSES] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                                 "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                                 "Bag",         "Ankle boot"};

/* Two rows of pixels make one row of characters. */
static void print_row(const uint8_t *top, int utf8)
{
    static const char *const blocks[] = {" ", "▀", "▄", "█"};
    const uint8_t *bottom = top + SIDE;
    for (int i = 0; i < SIDE; i++) {
        if (utf8)
            fputs(blocks[(top[i] > 90) | (bottom[i] > 90) << 1], stdout);
        else
            putchar(" .:-=+*#%@"[(top[i] + bottom[i]) * 10 / 511]);
    }
}

/* Two images side by side, with their labels below. */
static void print_pair(const uint8_t *pixels, const uint8_t *labels, const int64_t *predicted,
                       const int64_t *which, int utf8)
{
    for (int row = 0; row < SIDE / 2; row++) {
        for (int i = 0; i < 2; i++) {
            print_row(pixels + which[i] * PIXELS + 2 * row * SIDE, utf8);
            fputs(i ? "\n" : "        ", stdout);
        }
    }
    for (int i = 0; i < 2; i++) {
        int64_t guess = predicted[which[i]], truth = labels[which[i]] % CLASSES;
        printf("%-12s%-24s", label_names[guess], guess == truth ? "right" : label_names[truth]);
    }
    puts("\n");
}

static void *host_copy(const nd_array *a)
{
    size_t nbytes = (size_t)nd_size(a) * nd_dtype_size(nd_dtype_of(a));
    void *data = malloc(nbytes);
    if (!data) {
        fputs(PROGRAM ": out of memory\n", stderr);
        exit(1);
    }
    CHECK(nd_to_host(a, data, nbytes));
    return data;
}

/* What the images of the test set were taken for, i64: how many of that are right, which name says;
 * three images and the first one that came out wrong. */
static void show_results(const char *name, const dataset *test, const nd_array *result, int utf8)
{
    uint8_t *labels = host_copy(test->labels), *pixels = host_copy(test->pixels);
    int64_t *predicted = host_copy(result), right = 0, wrong = -1;
    for (int64_t i = 0; i < test->n; i++) {
        if (predicted[i] == labels[i])
            right++;
        else if (wrong < 0)
            wrong = i;
    }
    printf("%s: %.2f %% of %lld test images right\n\n", name, 100 * (double)right / (double)test->n,
           (long long)test->n);
    int64_t which[] = {0, 1 % test->n, 2 % test->n, wrong < 0 ? test->n - 1 : wrong};
    print_pair(pixels, labels, predicted, which, utf8);
    print_pair(pixels, labels, predicted, which + 2, utf8);
    free(predicted);
    free(labels);
    free(pixels);
}

#endif
