/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Compiled loops of the process, by device and program, least recently used first to go. A loop is
 * compiled by one thread, outside the lock of look-ups; the others that want it wait. */
#include <stdlib.h>
#include <time.h>
#include "core/fuse/fuse.h"

enum { BUCKETS = 256, START_MAX = 256 };

struct nd_fuse_loop {
    nd_fuse_loop *chain, *newer, *older; /* of its bucket; by use */
    nd_device *device;
    const ndp_kernel *kernel; /* NULL: the plug-in cannot */
    char *why;
    uint64_t hash;
    atomic_int refs;  /* the cache's, and one of each run that uses it now */
    atomic_int holds; /* of this record: one of all refs, and those of plans */
    bool made;        /* kernel or why is there */
    bool cached;      /* under the lock */
    uint32_t n_words;
    int32_t word[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;
static nd_fuse_loop *buckets[BUCKETS], *newest, *oldest;
static int64_t max_loops = START_MAX;
static nd_expr_stats stats;
static _Atomic(uint64_t) fused_runs, eager_runs;

void nd__fork_fuse(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

void nd__fuse_count_run(bool fused)
{
    atomic_fetch_add_explicit(fused ? &fused_runs : &eager_runs, 1, memory_order_relaxed);
}

/* ---- keys ---- */
enum { HEAD_WORDS = 6, INSTRUCTION_WORDS = sizeof(ndp_instruction) / sizeof(int32_t) };
enum {
    KEY_WORDS = HEAD_WORDS + NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_SCALARS + NDP_PROGRAM_MAX_OUT +
                ND_FUSE_MAX_INSTRUCTIONS * INSTRUCTION_WORDS
};

static uint32_t add_words(int32_t *to, uint32_t at, const void *from, size_t n)
{
    memcpy(to + at, from, n * sizeof *to);
    return at + (uint32_t)n;
}

static uint32_t key_of(const nd_fuse_program *p, int32_t *word)
{
    uint32_t n = add_words(word, 0, p, HEAD_WORDS);
    n = add_words(word, n, p->dtype, p->n_in + p->n_scalar);
    n = add_words(word, n, p->out, p->n_out);
    return add_words(word, n, p->instruction, (size_t)p->n_instruction * INSTRUCTION_WORDS);
}

static uint64_t hash_of(const nd_device *d, const int32_t *word, uint32_t n)
{
    uint64_t h = (uint64_t)(uintptr_t)d;
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (uint32_t)word[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ h >> 29;
    return h ^ h >> 32;
}

/* ---- the list by use, under the lock ---- */
static void unlink_use(nd_fuse_loop *l)
{
    *(l->newer ? &l->newer->older : &newest) = l->older;
    *(l->older ? &l->older->newer : &oldest) = l->newer;
}

static void link_use(nd_fuse_loop *l)
{
    l->newer = NULL;
    l->older = newest;
    *(newest ? &newest->newer : &oldest) = l;
    newest = l;
}

static nd_fuse_loop *find(nd_device *d, uint64_t hash, const int32_t *word, uint32_t n)
{
    nd_fuse_loop *l = buckets[hash % BUCKETS];
    while (l && (l->hash != hash || l->device != d || l->n_words != n ||
                 memcmp(l->word, word, n * sizeof *word) != 0))
        l = l->chain;
    return l;
}

/* ---- the end of a loop ---- */
static void discard(void *loop)
{
    nd_fuse_loop *l = loop;
    if (l->kernel && !nd__out_of_reach(l->device)) {
        if (l->device->async)
            nd__drain(l->device, "expr_cache");
        l->device->fused.discard(l->device->dev, l->kernel);
    }
    nd__fuse_loop_unhold(l);
}

void nd__fuse_loop_hold(nd_fuse_loop *loop)
{
    atomic_fetch_add_explicit(&loop->holds, 1, memory_order_relaxed);
}

void nd__fuse_loop_unhold(nd_fuse_loop *loop)
{
    if (!loop || !nd__last(&loop->holds))
        return;
    free(loop->why);
    free(loop);
}

void nd__fuse_loop_retain(nd_fuse_loop *loop)
{
    atomic_fetch_add_explicit(&loop->refs, 1, memory_order_relaxed);
}

void nd__fuse_loop_release(nd_fuse_loop *loop)
{
    if (!loop || !nd__last(&loop->refs))
        return;
    if (!loop->device->async || !nd__after_capture(loop->device, discard, loop))
        discard(loop);
}

/* Takes the oldest loop out of the cache, under the lock; its reference is the caller's. */
static nd_fuse_loop *take_oldest(void)
{
    nd_fuse_loop *l = oldest, **at = &buckets[l->hash % BUCKETS];
    while (*at != l)
        at = &(*at)->chain;
    *at = l->chain;
    unlink_use(l);
    l->cached = false;
    stats.programs--;
    return l;
}

/* Releases what is too much, one at a time: the end of one may wait. */
static void shrink(int64_t most)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        nd_fuse_loop *l = stats.programs > most ? take_oldest() : NULL;
        stats.evictions += l != NULL && most > 0;
        pthread_mutex_unlock(&lock);
        if (!l)
            return;
        nd__fuse_loop_release(l);
    }
}

/* ---- making one ---- */
static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static nd_status compile(nd_device *d, const nd_fuse_program *p, const ndp_kernel **kernel,
                         char **why)
{
    char text[512] = "";
    const ndp_program program = {.size = sizeof program,
                                 .flags = p->flags,
                                 .n_in = p->n_in,
                                 .n_scalar = p->n_scalar,
                                 .n_instruction = p->n_instruction,
                                 .n_out = p->n_out,
                                 .dtype = p->dtype,
                                 .instruction = p->instruction,
                                 .out = p->out,
                                 .row_in = p->row_in};
    nd__note_wait(ND_WAIT_MODULE_LOAD, d, "expr_run");
    nd_status status = d->fused.compile(d->dev, &program, kernel, text, sizeof text);
    text[sizeof text - 1] = 0;
    if (status == ND_OK && *kernel)
        return ND_OK;
    *kernel = NULL;
    *why = strdup(text[0] ? text : "the plug-in gave no reason");
    if (status != ND_OK && status != ND_ERR_UNSUPPORTED)
        nd__error_context("expr_run", d->name, d->slot->name);
    return status == ND_ERR_UNSUPPORTED || status == ND_OK ? (nd_status)ND_OK : status;
}

static nd_status new_loop(nd_device *d, uint64_t hash, const int32_t *word, uint32_t n,
                          nd_fuse_loop **out)
{
    nd_fuse_loop *l = calloc(1, sizeof *l + n * sizeof *word);
    if (!l)
        return nd__fail(ND_ERR_MEMORY, "expr_run", -1, "no memory for an entry of the cache");
    l->device = d;
    l->hash = hash;
    l->n_words = n;
    memcpy(l->word, word, n * sizeof *word);
    atomic_init(&l->refs, 2);
    atomic_init(&l->holds, 1);
    *out = l;
    return ND_OK;
}

/* A loop whose making failed is forgotten, and tried again by the next run; under the lock. */
static void forget(nd_fuse_loop *l)
{
    nd_fuse_loop **at = &buckets[l->hash % BUCKETS];
    while (*at && *at != l)
        at = &(*at)->chain;
    if (!*at)
        return; /* another thread's cache_clear */
    *at = l->chain;
    unlink_use(l);
    l->cached = false;
    stats.programs--;
    atomic_fetch_sub(&l->refs, 1);
}

static nd_status make(nd_fuse_loop *l, const nd_fuse_program *p)
{
    const ndp_kernel *kernel = NULL;
    char *why = NULL;
    uint64_t began = now_ns();
    nd_status status = compile(l->device, p, &kernel, &why);
    pthread_mutex_lock(&lock);
    l->kernel = kernel;
    l->why = why;
    l->made = true;
    stats.compile_ns += now_ns() - began;
    stats.compiled += kernel != NULL;
    stats.refused += status == ND_OK && !kernel;
    if (status != ND_OK)
        forget(l);
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
    return status;
}

/* The loop in the cache, or a new one that this thread is to make; either has a reference more. */
static nd_status look_up(nd_device *d, const int32_t *word, uint32_t n, nd_fuse_loop **out,
                         bool *mine)
{
    const uint64_t hash = hash_of(d, word, n);
    nd_status status = ND_OK;
    pthread_mutex_lock(&lock);
    nd_fuse_loop *l = find(d, hash, word, n);
    *mine = !l;
    if (l) {
        unlink_use(l);
        atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
        stats.hits++;
    } else if ((status = new_loop(d, hash, word, n, &l)) == ND_OK) {
        l->chain = buckets[hash % BUCKETS];
        buckets[hash % BUCKETS] = l;
        stats.programs++;
        stats.misses++;
        l->cached = true;
    }
    if (status == ND_OK)
        link_use(l);
    while (status == ND_OK && !*mine && !l->made)
        pthread_cond_wait(&made, &lock);
    pthread_mutex_unlock(&lock);
    *out = l;
    return status;
}

nd_status nd__fuse_loop_get(nd_device *device, const nd_fuse_program *p, nd_fuse_loop **out,
                            const ndp_kernel **kernel, const char **why)
{
    int32_t word[KEY_WORDS];
    bool mine;
    nd_fuse_loop *l = NULL;
    *out = NULL;
    *kernel = NULL;
    ND_RETURN_IF(look_up(device, word, key_of(p, word), &l, &mine));
    nd_status status = mine ? make(l, p) : (nd_status)ND_OK;
    if (mine)
        shrink(max_loops);
    if (status == ND_OK && !l->kernel && !l->why)
        status = nd__fail(ND_ERR_MEMORY, "expr_run", -1, "no memory for the compiler's answer");
    if (status != ND_OK) {
        nd__fuse_loop_release(l);
        return status;
    }
    *out = l;
    *kernel = l->kernel;
    *why = l->why;
    return ND_OK;
}

/* ---- for plans ---- */
void nd__fuse_lock(void)
{
    pthread_mutex_lock(&lock);
}

void nd__fuse_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

bool nd__fuse_loop_cached(const nd_fuse_loop *loop)
{
    return loop->cached;
}

void nd__fuse_loop_use(nd_fuse_loop *loop)
{
    atomic_fetch_add_explicit(&loop->refs, 1, memory_order_relaxed);
    unlink_use(loop);
    link_use(loop);
    stats.hits++;
}

const ndp_kernel *nd__fuse_loop_kernel(const nd_fuse_loop *loop)
{
    return loop->kernel;
}

/* ---- what users see ---- */
nd_status nd_expr_statistics(nd_expr_stats *out)
{
    ND_NEED("expr_statistics", 0, out);
    if (out->size < NDP_END(nd_expr_stats, eager_runs))
        return nd__fail(ND_ERR_ARGUMENT, "expr_statistics", 0,
                        "the size field is %u; set it to sizeof(nd_expr_stats)", out->size);
    pthread_mutex_lock(&lock);
    stats.size = sizeof stats;
    stats.fused_runs = atomic_load(&fused_runs);
    stats.eager_runs = atomic_load(&eager_runs);
    memcpy(out, &stats, sizeof stats);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}

nd_status nd_expr_cache_set_max(int64_t max)
{
    if (max < 1)
        return nd__fail(ND_ERR_ARGUMENT, "expr_cache_set_max", 0,
                        "%lld loops: it must be 1 or more", (long long)max);
    pthread_mutex_lock(&lock);
    max_loops = max;
    pthread_mutex_unlock(&lock);
    shrink(max);
    return ND_OK;
}

nd_status nd_expr_cache_clear(void)
{
    shrink(0);
    pthread_mutex_lock(&lock);
    stats = (nd_expr_stats){.size = sizeof stats, .programs = stats.programs};
    atomic_store(&fused_runs, 0);
    atomic_store(&eager_runs, 0);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}
