/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The threads of emulate_warp.h: contexts of their own that wait at barriers of their warp or their
 * block, and whose copies arrive as late as they may. */
#include "tests/cuda/fibre.h"
#include <stdlib.h>
#include "tests/cuda/emulate_wide.h"

enum { MOST_THREADS = 1024, STACK = 128 << 10, MOST_COPIES = 256, MOST_GROUPS = 16 };
enum { MOST_PRODUCTS = 96, NAMES = 16 };
enum { RUNS, AT_WARP, AT_BLOCK, LOOKS, ENDED };

struct copy {
    mma_address to;
    unsigned nbytes;
    char data[16];
};
struct copies { /* of a thread: those of group g end at end[g] */
    struct copy queued[MOST_COPIES];
    int n, groups, end[MOST_GROUPS];
};

struct products { /* of a thread */
    struct wide_product queued[MOST_PRODUCTS];
    int n, groups, end[MOST_GROUPS];
};
struct gate {
    uint16_t pending, arrivals;
    uint32_t phase;
};

struct warp_place warp_thread, warp_block, warp_threads, warp_blocks;
alignas(1024) char warp_shared[WARP_SHARED];

static struct fibre scheduler, fibres[MOST_THREADS];
static char *stacks;
static struct copies *copies;
static struct products *products;
static struct {
    int arrived;
    unsigned phase;
} names[NAMES];
static unsigned events; /* what may let go threads that look */
static int state[MOST_THREADS], now;
static uint32_t slots[2][MOST_THREADS / 32][32][WARP_WORDS];
static unsigned calls[MOST_THREADS];
static bool failed;
static void (*running)(const void *);
static const void *running_params;

uint32_t (*warp_slots(void))[WARP_WORDS]
{
    return slots[calls[now]++ % 2][now / 32];
}

static void wait_at(int where)
{
    state[now] = where;
    fibre_switch(&fibres[now], &scheduler);
}
void warp_barrier(void)
{
    wait_at(AT_WARP);
}
void warp_block_barrier(void)
{
    wait_at(AT_BLOCK);
}

/* Whether x of some thread is not 0. */
int warp_block_any(int x)
{
    static int any;
    warp_block_barrier();
    any = 0;
    warp_block_barrier();
    any = any || x;
    warp_block_barrier();
    return any;
}

char *warp_at(mma_address at, unsigned nbytes)
{
    static char nowhere[64];
    if (at % nbytes == 0 && at <= WARP_SHARED - nbytes)
        return warp_shared + at;
    failed = true;
    return nowhere;
}

/* ---- copies: what is read is what lies there now; it arrives when it is waited for ---- */
void warp_copy(mma_address to, const void *from, unsigned nbytes, bool inside)
{
    struct copies *c = &copies[now];
    if (c->n == MOST_COPIES || (uintptr_t)from % nbytes != 0) {
        failed = true;
        return;
    }
    struct copy *one = &c->queued[c->n++];
    one->to = to;
    one->nbytes = nbytes;
    memset(one->data, 0, sizeof one->data);
    if (inside)
        memcpy(one->data, from, nbytes);
    memset(warp_at(to, nbytes), 0xff, nbytes); /* until then nothing of use is there */
}

void warp_copies_commit(void)
{
    struct copies *c = &copies[now];
    if (c->groups == MOST_GROUPS)
        failed = true;
    else
        c->end[c->groups++] = c->n;
}

void warp_copies_wait(int but)
{
    struct copies *c = &copies[now];
    const int done = c->groups > but ? c->groups - but : 0, end = done ? c->end[done - 1] : 0;
    for (int i = 0; i < end; i++)
        memcpy(warp_at(c->queued[i].to, c->queued[i].nbytes), c->queued[i].data,
               c->queued[i].nbytes);
    memmove(c->queued, c->queued + end, (size_t)(c->n - end) * sizeof *c->queued);
    c->n -= end;
    c->groups -= done;
    for (int g = 0; g < c->groups; g++)
        c->end[g] = c->end[g + done] - end;
}

/* ---- products of warpgroups ---- */
void wide_queue(const struct wide_product &p)
{
    struct products *q = &products[now];
    if (q->n == MOST_PRODUCTS)
        failed = true;
    else
        q->queued[q->n++] = p;
}
void wide_commit(void)
{
    struct products *q = &products[now];
    if (q->groups == MOST_GROUPS)
        failed = true;
    else
        q->end[q->groups++] = q->n;
}
void wide_compute(int but)
{
    struct products *q = &products[now];
    const int done = q->groups > but ? q->groups - but : 0, end = done ? q->end[done - 1] : 0;
    for (int i = 0; i < end; i++)
        q->queued[i].compute(q->queued[i]);
    memmove(q->queued, q->queued + end, (size_t)(q->n - end) * sizeof *q->queued);
    q->n -= end;
    q->groups -= done;
    for (int g = 0; g < q->groups; g++)
        q->end[g] = q->end[g + done] - end;
}

/* ---- barriers of some threads ---- */
void wide_gate_set(mma_address at, int arrivals)
{
    const struct gate g = {(uint16_t)arrivals, (uint16_t)arrivals, 0};
    memcpy(warp_at(at, 8), &g, sizeof g);
}
void wide_gate_arrive(mma_address at)
{
    struct gate g;
    memcpy(&g, warp_at(at, 8), sizeof g);
    if (--g.pending == 0) {
        g.pending = g.arrivals;
        g.phase++;
        events++;
    }
    memcpy(warp_at(at, 8), &g, sizeof g);
}
void wide_gate_wait(mma_address at, int parity)
{
    struct gate g;
    while (memcpy(&g, warp_at(at, 8), sizeof g), (g.phase & 1) == (unsigned)parity)
        wait_at(LOOKS);
}
void wide_turn(int name, int threads, bool waits)
{
    const unsigned phase = names[name].phase;
    if (++names[name].arrived == threads) {
        names[name].arrived = 0;
        names[name].phase++;
        events++;
    }
    while (waits && names[name].phase == phase)
        wait_at(LOOKS);
}

/* ---- threads ---- */
static void begin(void)
{
    for (;;) { /* one thread after the other, of the kernels to come as well */
        running(running_params);
        failed = failed || copies[now].n > 0 || products[now].n > 0;
        state[now] = ENDED;
        fibre_switch(&fibres[now], &scheduler);
    }
}

static void resume(int i)
{
    now = i;
    warp_thread.x = (unsigned)i;
    fibre_switch(&scheduler, &fibres[i]);
}

/* Whether threads first to last - 1 that have not ended all wait there; they are let go then. */
static bool release(int first, int last, int where)
{
    bool any = false;
    for (int i = first; i < last; i++) {
        if (state[i] != ENDED && state[i] != where)
            return false;
        any = any || state[i] == where;
    }
    for (int i = first; i < last; i++)
        if (state[i] == where)
            state[i] = RUNS;
    return any;
}

static void prepare(int i)
{
    state[i] = RUNS;
    copies[i].n = copies[i].groups = 0;
    products[i].n = products[i].groups = 0;
    calls[i] = 0;
    if (!fibres[i].made)
        fibre_make(&fibres[i], stacks + (size_t)i * STACK, STACK, begin);
}

/* Warps run as far as they can, the last one first every other time. */
static int run_block(int threads)
{
    bool moved = true;
    memset(names, 0, sizeof names);
    for (int i = 0; i < threads; i++)
        prepare(i);
    for (int turn = 0; moved; turn++) {
        const unsigned before = events;
        moved = false;
        for (int i = 0; i < threads; i++)
            if (state[i] == LOOKS)
                state[i] = RUNS;
        for (int k = 0; k < threads / 32; k++) {
            const int first = (turn % 2 ? threads / 32 - 1 - k : k) * 32;
            do {
                for (int i = first; i < first + 32; i++)
                    if (state[i] == RUNS)
                        resume(i);
            } while (release(first, first + 32, AT_WARP) && (moved = true));
        }
        moved = release(0, threads, AT_BLOCK) || moved || events != before;
    }
    for (int i = 0; i < threads; i++)
        if (state[i] != ENDED) {
            fibres[i].made = false; /* which begins anew */
            failed = true;
        }
    return failed ? -1 : 0;
}

int warp_launch(void (*kernel)(const void *), const void *params, struct warp_place blocks,
                unsigned threads)
{
    if (!stacks)
        stacks = (char *)malloc((size_t)MOST_THREADS * STACK);
    if (!copies)
        copies = (struct copies *)calloc(MOST_THREADS, sizeof *copies);
    if (!products)
        products = (struct products *)calloc(MOST_THREADS, sizeof *products);
    if (!stacks || !copies || !products || threads > MOST_THREADS || threads % 32)
        return -1;
    failed = false;
    running = kernel;
    running_params = params;
    warp_threads = {threads, 1, 1};
    warp_blocks = blocks;
    int result = 0;
    for (unsigned y = 0; y < blocks.y && result == 0; y++)
        for (unsigned x = 0; x < blocks.x && result == 0; x++) {
            warp_block = {x, y, 0};
            result = run_block((int)threads);
        }
    return result;
}
