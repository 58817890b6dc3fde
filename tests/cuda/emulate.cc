/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The threads of emulate.h. */
#include "tests/cuda/fibre.h"
#include <stdlib.h>
#include "tests/cuda/emulate.h"

enum { BLOCK_THREADS = 1024, MOST_THREADS = EMULATED_CLUSTER * BLOCK_THREADS, STACK = 128 << 10 };
enum { GOES_ON, WAITS_FOR_BLOCK, WAITS_FOR_CLUSTER };

struct emulated_place emulated_thread, emulated_block, emulated_threads, emulated_blocks;
alignas(32) char emulated_shared[EMULATED_CLUSTER * EMULATED_SHARED];

static struct fibre scheduler, fibres[MOST_THREADS];
static char *stacks[MOST_THREADS];
static bool ended[MOST_THREADS];
static int waits[MOST_THREADS]; /* GOES_ON ... */
static unsigned turn_of[MOST_THREADS]; /* which place of an exchange is next */
static double places[MOST_THREADS][2];
static int now, block_threads;
static unsigned first_block;
static void (*running)(const void *);
static const void *running_params;

void emulated_barrier(void)
{
    fibre_switch(&fibres[now], &scheduler);
}

void emulated_block_barrier(void)
{
    waits[now] = WAITS_FOR_BLOCK;
    emulated_barrier();
}

void emulated_cluster_barrier(void)
{
    waits[now] = WAITS_FOR_CLUSTER;
    emulated_barrier();
}

char *emulated_room(void)
{
    return emulated_shared + (size_t)(now / block_threads) * EMULATED_SHARED;
}

/* All lanes of a warp have had as many exchanges as this one. */
void *emulated_exchange(unsigned thread)
{
    return &places[now / block_threads * block_threads + (int)thread][turn_of[now] % 2];
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
    emulated_thread = {(unsigned)(i % block_threads), 0, 0};
    emulated_block.x = first_block + (unsigned)(i / block_threads);
    fibre_switch(&scheduler, &fibres[i]);
}

/* Threads [first, end) go on from a barrier when all of them that have not ended are there. */
static void release(int first, int end, int barrier)
{
    for (int i = first; i < end; i++)
        if (!ended[i] && waits[i] != barrier)
            return;
    for (int i = first; i < end; i++)
        waits[i] = GOES_ON;
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

/* The threads of a block, or of all blocks of a cluster. */
static int run_blocks(int threads)
{
    int left = threads;
    for (int i = 0; i < threads; i++) {
        ended[i] = false;
        waits[i] = GOES_ON;
        turn_of[i] = 0;
        if (!stacks[i])
            stacks[i] = (char *)malloc(STACK);
        if (!stacks[i])
            return -1;
        if (!fibres[i].made)
            fibre_make(&fibres[i], stacks[i], STACK, begin);
    }
    for (int turn = 0; left > 0; turn++) {
        for (int k = 0; k < threads; k++) {
            const int i = turn % 2 ? threads - 1 - k : k;
            if (!ended[i] && !waits[i])
                resume(i);
        }
        for (int first = 0; first < threads; first += block_threads)
            release(first, first + block_threads, WAITS_FOR_BLOCK);
        release(0, threads, WAITS_FOR_CLUSTER);
        if (!agree(threads, &left)) {
            for (int i = 0; i < threads; i++) /* those in the middle of it begin anew */
                fibres[i].made = ended[i];
            return -1;
        }
    }
    return 0;
}

int emulated_launch_clusters(void (*kernel)(const void *), const void *params,
                             struct emulated_place blocks, unsigned threads, unsigned cluster)
{
    if (threads > BLOCK_THREADS || cluster > EMULATED_CLUSTER || blocks.x % cluster != 0)
        return -1;
    running = kernel;
    running_params = params;
    emulated_threads = {threads, 1, 1};
    emulated_blocks = blocks;
    block_threads = (int)threads;
    int result = 0;
    for (unsigned y = 0; y < blocks.y && result == 0; y++)
        for (first_block = 0; first_block < blocks.x && result == 0; first_block += cluster) {
            emulated_block = {first_block, y, 0};
            result = run_blocks((int)(threads * cluster));
        }
    return result;
}

int emulated_launch(void (*kernel)(const void *), const void *params, struct emulated_place blocks,
                    unsigned threads)
{
    return emulated_launch_clusters(kernel, params, blocks, threads, 1);
}
