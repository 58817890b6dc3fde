/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The threads of emulate.h. */
#include "tests/cuda/fibre.h"
#include <stdlib.h>
#include "tests/cuda/emulate.h"

enum { MOST_THREADS = 1024, STACK = 128 << 10, SHARED = 227 << 10 };

struct emulated_place emulated_thread, emulated_block, emulated_threads, emulated_blocks;
alignas(32) char emulated_shared[SHARED];

static struct fibre scheduler, fibres[MOST_THREADS];
static char *stacks;
static bool ended[MOST_THREADS], waits[MOST_THREADS];
static unsigned turn_of[MOST_THREADS]; /* which place of an exchange is next */
static double places[MOST_THREADS][2];
static int now;
static void (*running)(const void *);
static const void *running_params;

void emulated_barrier(void)
{
    fibre_switch(&fibres[now], &scheduler);
}

void emulated_block_barrier(void)
{
    waits[now] = true;
    emulated_barrier();
}

/* All lanes of a warp have had as many exchanges as this one. */
void *emulated_exchange(unsigned thread)
{
    return &places[thread][turn_of[now] % 2];
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
    emulated_thread = {(unsigned)i, 0, 0};
    fibre_switch(&scheduler, &fibres[i]);
}

/* Threads go on from a barrier of the block when all that have not ended are there. */
static void release(int threads)
{
    for (int i = 0; i < threads; i++)
        if (!ended[i] && !waits[i])
            return;
    for (int i = 0; i < threads; i++)
        waits[i] = false;
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

static int run_block(int threads)
{
    int left = threads;
    for (int i = 0; i < threads; i++) {
        ended[i] = waits[i] = false;
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
        release(threads);
        if (!agree(threads, &left)) {
            for (int i = 0; i < threads; i++) /* those in the middle of it begin anew */
                fibres[i].made = ended[i];
            return -1;
        }
    }
    return 0;
}

int emulated_launch(void (*kernel)(const void *), const void *params, struct emulated_place blocks,
                    unsigned threads)
{
    if (!stacks)
        stacks = (char *)malloc((size_t)MOST_THREADS * STACK);
    if (!stacks || threads > MOST_THREADS)
        return -1;
    running = kernel;
    running_params = params;
    emulated_threads = {threads, 1, 1};
    emulated_blocks = blocks;
    int result = 0;
    for (unsigned y = 0; y < blocks.y && result == 0; y++)
        for (unsigned x = 0; x < blocks.x && result == 0; x++) {
            emulated_block = {x, y, 0};
            result = run_block((int)threads);
        }
    return result;
}
