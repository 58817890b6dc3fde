/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * P6: a copy and a kernel on two streams, beside each of them alone: the two together should take
 * at most 1.15 times the longer one.
 *
 *     overlap [--json] [--ms 5] [cuda:0]
 *
 * Both are sized so that each takes about --ms milliseconds alone: the copy by its length, to or
 * from pinned memory, the kernel by how often it runs over the same array. Every figure is the
 * median of ROUNDS turns, in which the three take turns; a turn is the host's time from the first
 * call to the end of both streams. A device whose work is done when the call returns overlaps
 * nothing: its ratio is about 2. */
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 21, TRIES = 4 };
static const int64_t most_copied = (int64_t)1 << 30;

static nd_device *device;
static nd_stream *copying, *computing;
static nd_array *from, *to; /* of the copy */
static nd_array *x;         /* of the kernel */
static int repeats = 1;     /* of the kernel */
static double wanted_ms = 5;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void must(nd_status status, const char *what)
{
    if (status != ND_OK) {
        fprintf(stderr, "overlap: %s: %s\n", what, nd_last_error()->message);
        exit(1);
    }
}

static void copy(void)
{
    nd_copy_opts opts = {.size = sizeof opts, .non_blocking = 1, .stream = copying};
    must(nd_copy_to(from, to, &opts), "copy_to");
}

static void compute(void)
{
    must(nd_stream_push(computing), "stream_push");
    for (int i = 0; i < repeats; i++)
        must(nd_tanh_into(x, x), "tanh_into");
    must(nd_stream_pop(computing), "stream_pop");
}

static void both(void)
{
    copy();
    compute();
}

static double turn(void (*work)(void))
{
    double begin = now_ms();
    work();
    must(nd_stream_synchronize(copying), "the copy");
    must(nd_stream_synchronize(computing), "the kernel");
    return now_ms() - begin;
}

static double shortest(void (*work)(void))
{
    double best = turn(work);
    for (int i = 1; i < TRIES; i++) {
        double ms = turn(work);
        best = ms < best ? ms : best;
    }
    return best;
}

static int ascending(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static void make_copy(int to_device, int64_t nbytes)
{
    nd_array *host = NULL, *there = NULL;
    nd_release(from);
    nd_release(to);
    must(nd_empty_pinned(device, ND_U8, 1, &nbytes, &host), "empty_pinned");
    must(nd_empty(device, ND_U8, 1, &nbytes, &there), "empty");
    must(nd_fill(host, nd_int(1)), "fill");
    must(nd_fill(there, nd_int(2)), "fill");
    must(nd_synchronize(device), "synchronize");
    from = to_device ? host : there;
    to = to_device ? there : host;
}

/* How many times as much takes the time that is wanted. */
static double factor(double ms)
{
    return wanted_ms / (ms > 1e-3 ? ms : 1e-3);
}

static void size_copy(int to_device)
{
    int64_t nbytes = 1 << 20;
    for (int i = 0; i < 2; i++) { /* a short copy is mostly its overhead: measure again */
        make_copy(to_device, nbytes);
        double n = (double)nbytes * factor(shortest(copy));
        nbytes = n > (double)most_copied ? most_copied : (int64_t)n + 1;
    }
    make_copy(to_device, nbytes);
}

/* The largest array that is not too large, as often as needed. */
static void make_kernel(void)
{
    double ms = 2 * wanted_ms;
    for (int64_t n = 1 << 24; ms > wanted_ms && n > 1; n /= 2) {
        nd_release(x);
        must(nd_ones(device, ND_F32, 1, &n, &x), "ones");
        ms = shortest(compute);
    }
    repeats = (int)(factor(ms) + 0.5);
}

static void row(int to_device, int json)
{
    static void (*const work[3])(void) = {copy, compute, both};
    double ms[3][ROUNDS], median[3];
    size_copy(to_device);
    for (int r = 0; r < ROUNDS; r++)
        for (int i = 0; i < 3; i++)
            ms[i][r] = turn(work[i]);
    for (int i = 0; i < 3; i++) {
        qsort(ms[i], ROUNDS, sizeof(double), ascending);
        median[i] = ms[i][ROUNDS / 2];
    }
    double longer = median[0] > median[1] ? median[0] : median[1], ratio = median[2] / longer;
    double gb_s = (double)nd_size(from) / (median[0] * 1e6);
    const char *name = to_device ? "to the device" : "from the device";
    if (json)
        printf("%s\"%s\": {\"copy_ms\": %.4f, \"kernel_ms\": %.4f, \"both_ms\": %.4f, "
               "\"ratio\": %.4f, \"copy_gb_s\": %.2f}%s",
               to_device ? "{" : ", ", name, median[0], median[1], median[2], ratio, gb_s,
               to_device ? "" : "}\n");
    else
        printf("copy %-16s %7.3f ms %7.1f GB/s   kernel %7.3f ms   both %7.3f ms   "
               "%.2f x the longer (aim 1.15)\n",
               name, median[0], gb_s, median[1], median[2], ratio);
}

int main(int argc, char **argv)
{
    const char *name = "cuda:0";
    int json = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = 1;
        else if (strcmp(argv[i], "--ms") == 0 && i + 1 < argc)
            wanted_ms = strtod(argv[++i], NULL);
        else
            name = argv[i];
    }
    must(nd_device_get(name, &device), name);
    must(nd_stream_create(device, NULL, &copying), "stream_create");
    must(nd_stream_create(device, NULL, &computing), "stream_create");
    make_kernel();
    row(1, json);
    row(0, json);
    nd_release(from);
    nd_release(to);
    nd_release(x);
    nd_stream_release(copying);
    nd_stream_release(computing);
    return 0;
}
