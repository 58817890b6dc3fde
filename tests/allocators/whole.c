/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The memory API on real plug-ins, through the library alone: whole.t DEVICE ROUNDS trains a toy
 * network with tags, for tests/allocators/whole.sh; whole.t stray plants a write past the end of
 * a CPU array and prints what the debug allocator says; whole.t other_stream DEVICE frees an
 * array while another stream is current, and prints what is said on another one; whole.t
 * gone_stream DEVICE frees one whose stream is gone before its work has ended, and prints what is
 * said then. Exit status 3: there is no such device. */
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAYERS = 5, WIDTH = 256, BATCH = 192 };

static void must(nd_status status)
{
    if (status == ND_OK)
        return;
    fprintf(stderr, "%s\n", nd_last_error()->message);
    exit(1);
}

static nd_array *tagged(nd_device *device, const char *tag, int64_t rows, int64_t columns)
{
    nd_array *a;
    must(nd_tag_push(tag));
    must(nd_ones(device, ND_F32, 2, (int64_t[]){rows, columns}, &a));
    must(nd_tag_pop());
    return a;
}

static void step(nd_device *device, nd_array *const *weights)
{
    nd_array *x[LAYERS + 1], *g, *next;
    x[0] = tagged(device, "batch", BATCH, WIDTH);
    must(nd_tag_push("activations"));
    for (int i = 0; i < LAYERS; i++)
        must(nd_matmul(x[i], weights[i], NULL, &x[i + 1]));
    must(nd_tag_pop());
    must(nd_tag_push("gradients"));
    g = nd_retain(x[LAYERS]);
    for (int i = LAYERS; i-- > 0;) {
        must(nd_matmul(g, weights[i], NULL, &next));
        nd_release(g);
        g = next;
        nd_release(x[i + 1]);
    }
    must(nd_tag_pop());
    nd_release(g);
    nd_release(x[0]);
}

/* The file of NDOCK_MEMORY_SNAPSHOT is this process's: a forked child leaves it alone. */
static int child_writes(void)
{
    const char *path = getenv("NDOCK_MEMORY_SNAPSHOT");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
    return path && access(path, F_OK) == 0;
}

static int train(const char *name, int rounds)
{
    nd_device *device;
    nd_array *weights[LAYERS];
    nd_memory_stats st = {.size = sizeof st};
    if (nd_device_get(name, &device) != ND_OK)
        return 3;
    for (int i = 0; i < LAYERS; i++)
        weights[i] = tagged(device, "weights", WIDTH, WIDTH);
    for (int k = 0; k < rounds; k++) {
        char note[32];
        snprintf(note, sizeof note, "step %d", k);
        must(nd_memory_trace_note(device, note));
        step(device, weights);
    }
    must(nd_synchronize(device));
    must(nd_memory_stats_get(device, &st));
    printf("allocated %lld requested %lld reserved %lld peak %lld\n",
           (long long)st.allocated_bytes.all.current, (long long)st.requested_bytes.all.current,
           (long long)st.reserved_bytes.all.current, (long long)st.allocated_bytes.all.peak);
    return child_writes() ? 4 : 0;
}

static void print_report(nd_device *device)
{
    char *text;
    int64_t count;
    must(nd_memory_debug_report(device, &text, &count));
    printf("%d\n%s", (int)count, text);
    free(text);
}

static int stray(void)
{
    nd_device *device;
    nd_array *a;
    void *p;
    must(nd_device_get("cpu:0", &device));
    a = tagged(device, "the victim", 10, 10);
    must(nd_data(a, &p));
    ((char *)p)[400] = 1;
    print_report(device);
    nd_release(a);
    return 0;
}

/* The pattern of a freed block is written in the stream that is current, and looked at in
 * another. */
static int other_stream(const char *name)
{
    nd_device *device;
    nd_memory_stats st = {.size = sizeof st};
    nd_stream *usual, *other;
    must(nd_device_get(name, &device));
    nd_array *a = tagged(device, "freed", 10, 10);
    must(nd_synchronize(device));
    must(nd_stream_default(device, &usual));
    must(nd_stream_create(device, NULL, &other));
    must(nd_stream_set_current(other));
    nd_release(a);
    must(nd_stream_synchronize(usual));
    must(nd_memory_stats_get(device, &st)); /* which looks for freed blocks */
    must(nd_stream_set_current(usual));
    print_report(device);
    nd_stream_release(other);
    nd_stream_release(usual);
    return 0;
}

/* An array and then its stream are let go with work queued on them, which ends later. */
static int gone_stream(const char *name)
{
    nd_memory_stats st = {.size = sizeof st};
    nd_device *device;
    nd_stream *usual, *gone;
    must(nd_device_get(name, &device));
    must(nd_stream_default(device, &usual));
    must(nd_stream_create(device, NULL, &gone));
    must(nd_stream_set_current(gone));
    nd_array *a = tagged(device, "freed", 10, 10);
    must(nd_stream_set_current(usual));
    nd_stream_release(gone);
    nd_release(a);
    must(nd_stream_synchronize(usual));
    must(nd_memory_stats_get(device, &st)); /* which looks for freed blocks */
    must(nd_synchronize(device));
    print_report(device);
    nd_stream_release(usual);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "stray") == 0)
        return stray();
    if (argc > 2 && strcmp(argv[1], "other_stream") == 0)
        return other_stream(argv[2]);
    if (argc > 2 && strcmp(argv[1], "gone_stream") == 0)
        return gone_stream(argv[2]);
    return argc > 1 ? train(argv[1], argc > 2 ? atoi(argv[2]) : 4) : 2;
}
