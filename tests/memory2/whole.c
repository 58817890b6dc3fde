/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The memory API on real plug-ins, through the library alone: whole.t DEVICE ROUNDS trains a toy
 * network with tags, for tests/memory2/whole.sh. Exit status 3: there is no such device. */
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
    nd_device *device;
    nd_array *weights[LAYERS];
    nd_memory_stats st = {.size = sizeof st};
    int rounds = argc > 2 ? atoi(argv[2]) : 4;
    if (argc < 2 || nd_device_get(argv[1], &device) != ND_OK)
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
    if (argc > 3)
        for (int i = 0; i < LAYERS; i++)
            nd_release(weights[i]);
    return 0;
}
