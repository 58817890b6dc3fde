/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The threads of emulate.h. */
#include "tests/cuda/fibre.h"
#include <stdlib.h>
#include "tests/cuda/emulate.h"

enum { MOST_THREADS = 2048, STACK = 128 << 10 };
enum { RUNS, AT_BLOCK, AT_CLUSTER };

struct emulated_place emulated_thread, emulated_block, emulated_threads, emulated_blocks;
alignas(32) char emulated_shared[EMULATED_CLUSTER * EMULATED_SHARED];

static struct fibre scheduler, fibres[MOST_THREADS];
static char *stacks;
static bool ended[MOST_THREADS];
static char waits[MOST_THREADS]; /* where */
static unsigned turn_of[MOST_THREADS]; /* which place of an exchange is next */
static double places[MOST_THREADS][2];
static int now;
unsigned emulated_cluster = 1;
static unsigned first_block; /* of those that run at once */
static void (*running)(const void *);
static const void *running_params;

void emulated_barrier(void)
{
    fibre_switch(&fibres[now], &scheduler);
}

void emulated_block_barrier(void)
{
    waits[now] = AT_BLOCK;
    emulated_barrier();
}

void emulated_cluster_barrier(void)
{
    waits[now] = AT_CLUSTER;
    emulated_barrier();
}

/* All lanes of a warp have had as many exchanges as this one. */
void *emulated_exchange(unsigned thread)
{
    const unsigned first = (unsigned)now / emulated_threads.x * emulated_threads.x;
    return &places[first + thread][turn_of[now] % 2];
}

void emulated_next_exchange(void)
{
    turn_of[now]++;
}

/* One thread after the other, of the kernels to come as well. */
static void begin(void)
{
    for (;;) {
        running(running_params);
        ended[now] = true;
        fibre_switch(&fibres[now], &scheduler);
    }
}

static void resume(int i)
{
    now = i;
    emulated_thread.x = (unsigned)i % emulated_threads.x;
    emulated_block.x = first_block + (unsigned)i / emulated_threads.x;
    fibre_switch(&scheduler, &fibres[i]);
}

/* Threads first to last - 1 go on from a barrier when all that have not ended are there. */
static void release(int first, int last, int where)
{
    for (int i = first; i < last; i++)
        if (!ended[i] && waits[i] != where)
            return;
    for (int i = first; i < last; i++)
        waits[i] = RUNS;
}

/* Whether all threads of each warp are at a barrier, or all have ended; *left: how many have not.
 */
static bool agree(int threads, int *left)
{
    bool same = true;
    *left = 0;
    for (int i = 0; i < threads; i++) {
        same &= ended[i] == ended[i / 32 * 32] && waits[i] == waits[i / 32 * 32];
        *left += !ended[i];
    }
    return same;
}

/* So many threads, of one block or of all blocks of a cluster. */
static int run_blocks(int threads)
{
    int left = threads;
    for (int i = 0; i < threads; i++) {
        ended[i] = false;
        waits[i] = RUNS;
        turn_of[i] = 0;
        if (!fibres[i].made)
            fibre_make(&fibres[i], stacks + (size_t)i * STACK, STACK, begin);
    }
    for (int turn = 0; left > 0; turn++) {
        for (int k = 0; k < threads; k++) {
            const int i = turn % 2 ? threads - 1 - k : k;
            if (!ended[i] && !waits[i])
                resume(i);
        }
        for (int i = 0; i < threads; i += (int)emulated_threads.x)
            release(i, i + (int)emulated_threads.x, AT_BLOCK);
        release(0, threads, AT_CLUSTER);
        if (!agree(threads, &left)) {
            for (int i = 0; i < threads; i++) /* those in the middle of it begin anew */
                fibres[i].made = ended[i];
            return -1;
        }
    }
    return 0;
}

int emulated_launch(void (*kernel)(const void *), const void *params, struct emulated_place blocks,
                    unsigned threads, unsigned cluster)
{
    if (!stacks)
        stacks = (char *)malloc((size_t)MOST_THREADS * STACK);
    if (!stacks || cluster * threads > MOST_THREADS || blocks.x % cluster)
        return -1;
    running = kernel;
    emulated_cluster = cluster;
    running_params = params;
    emulated_threads = {threads, 1, 1};
    emulated_blocks = blocks;
    int result = 0;
    for (unsigned y = 0; y < blocks.y && result == 0; y++)
        for (unsigned x = 0; x < blocks.x && result == 0; x += cluster) {
            emulated_block = {x, y, 0};
            first_block = x;
            result = run_blocks((int)(cluster * threads));
        }
    return result;
}
