/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Page-locked host memory (C29, C31, P10): blocks by size class, kept for the next request, and
 * used again when every copy that was recorded on them is done. */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "core/memory/pinned/pinned.h"

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static nd_pinned_pool *pools; /* one a device, never freed */

/* Classes are eighths of a power of two, so at most an eighth of a request is added; requests above
 * the threshold of the settings get whole 64 bytes. */
static uint64_t rounded(uint64_t nbytes)
{
    uint64_t exact = nd__conf()->pinned_exact_above, step = 64;
    if (nbytes > 8 * step && (!exact || nbytes <= exact))
        step = (uint64_t)1 << (63 - __builtin_clzll(nbytes) - 3);
    return (nbytes + step - 1) / step * step;
}

/* Drivers lock pages without regard to a limit as low as the kernel's default, which says nothing
 * about them; a limit above it was set by somebody who meant it. */
static uint64_t default_cap(void)
{
    const uint64_t kernel_default = (uint64_t)8 << 20;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t cap = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : UINT64_MAX;
    struct rlimit r;
    if (getrlimit(RLIMIT_MEMLOCK, &r) == 0 && r.rlim_cur != RLIM_INFINITY &&
        r.rlim_cur > kernel_default && r.rlim_cur < cap)
        cap = r.rlim_cur;
    return cap;
}

static nd_status pool_of(nd_device *device, nd_pinned_pool **out)
{
    pthread_mutex_lock(&pools_lock);
    nd_pinned_pool *p = pools;
    while (p && p->device != device)
        p = p->next;
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->device = device;
        nd__device_hooks(device, &p->hooks);
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->freed, NULL);
        p->next = pools;
        pools = p;
    }
    pthread_mutex_unlock(&pools_lock);
    *out = p;
    return p ? ND_OK : nd__fail(ND_ERR_MEMORY, "pinned", -1, "no %zu bytes for a pool", sizeof *p);
}

/* ---- the device's memory ---- */
static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* No lock is held: locking pages takes long. The bytes are counted before, so that two threads do
 * not pass the cap together. */
static nd_status pin(nd_pinned_pool *p, uint64_t nbytes, ndp_mem **mem, void **host)
{
    nd_device *d = p->device;
    uint64_t cap = atomic_load(&p->cap);
    cap = cap ? cap : nd__conf()->pinned_cap;
    cap = cap ? cap : default_cap();
    pthread_mutex_lock(&p->lock);
    uint64_t owned = (uint64_t)p->owned.current;
    bool fits = nbytes <= cap && owned <= cap - nbytes;
    if (fits)
        nd__stat_in(&p->owned, nbytes);
    pthread_mutex_unlock(&p->lock);
    if (!fits)
        return nd__fail(ND_ERR_MEMORY, "pinned", -1,
                        "%llu bytes of pinned memory for %s would pass the cap of %llu; %llu are "
                        "taken. Free pinned arrays, or raise it by nd_memory_pinned_cap_set",
                        (unsigned long long)nbytes, d->name, (unsigned long long)cap,
                        (unsigned long long)owned);
    int64_t begin = now_us();
    nd__note_wait(ND_WAIT_DEVICE_ALLOC, d, "pinned");
    nd_status status = nd__usable(d, "pinned");
    if (status == ND_OK)
        status = d->map.pin(d->dev, nbytes, mem, host);
    if (status != ND_OK)
        nd__error_context("pinned", d->name, d->slot ? d->slot->name : "");
    pthread_mutex_lock(&p->lock);
    p->num_alloc++;
    p->alloc_us += now_us() - begin;
    if (status != ND_OK)
        nd__stat_out(&p->owned, nbytes);
    pthread_mutex_unlock(&p->lock);
    return status;
}

static void unpin(nd_pinned_pool *p, ndp_mem *mem, uint64_t nbytes)
{
    int64_t begin = now_us();
    nd__hazard_gone(mem);
    if (!nd__out_of_reach(p->device))
        p->device->p.free(p->device->dev, mem);
    pthread_mutex_lock(&p->lock);
    p->num_free++;
    p->free_us += now_us() - begin;
    nd__stat_out(&p->owned, nbytes);
    pthread_mutex_unlock(&p->lock);
}

/* ---- free blocks; all under the pool's lock ---- */
static unsigned bin(uint64_t nbytes)
{
    return 63u - (unsigned)__builtin_clzll(nbytes | 1);
}

static void put_free(nd_pinned_pool *p, nd_pinned_block *b)
{
    nd_pinned_block **list = &p->bins[bin(b->base.nbytes)];
    b->next = *list;
    *list = b;
}

/* The smallest kept block of at least n bytes that wastes no more than the classes do. */
static nd_pinned_block *take_free(nd_pinned_pool *p, uint64_t n)
{
    const uint64_t most = n + n / 8;
    nd_pinned_block **best = NULL;
    for (unsigned k = bin(n); k <= bin(most); k++)
        for (nd_pinned_block **at = &p->bins[k]; *at; at = &(*at)->next) {
            uint64_t size = (*at)->base.nbytes;
            if (size >= n && size <= most && (!best || size < (*best)->base.nbytes))
                best = at;
        }
    nd_pinned_block *b = best ? *best : NULL;
    if (b)
        *best = b->next;
    return b;
}

/* Every pending block is asked, so that a slow stream delays none but its own. Nothing is asked of
 * events while a stream is captured: on some devices that alone would break the capture (N5). Those
 * that are done leave the list; linked by next. */
static nd_pinned_block *take_done(nd_pinned_pool *p)
{
    nd_pinned_block *done = NULL;
    if (atomic_load(&p->device->captures) > 0)
        return NULL;
    for (nd_pinned_block **at = &p->pending, *b; (b = *at) != NULL;) {
        if (!nd__uses_done(&b->uses, &p->hooks)) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        b->next = done;
        done = b;
    }
    return done;
}

/* Not under the lock: the last use of a foreign stream calls the stream's owner, who may want
 * pinned memory. Leaves the lock taken. */
static void settle_and_lock(nd_pinned_pool *p, nd_pinned_block *done)
{
    nd_pinned_block *b, *next;
    for (b = done; b; b = b->next)
        nd__uses_end(&b->uses, &p->hooks);
    pthread_mutex_lock(&p->lock);
    for (b = done; b; b = next) {
        next = b->next;
        put_free(p, b);
    }
}

/* Takes the lock, with what is done among the free blocks. */
static void lock_polled(nd_pinned_pool *p)
{
    pthread_mutex_lock(&p->lock);
    nd_pinned_block *done = take_done(p);
    if (!done)
        return;
    pthread_mutex_unlock(&p->lock);
    settle_and_lock(p, done);
}

/* ---- the reserve: one slab, cut from its beginning; what was cut stays cut ---- */
static nd_pinned_block *cut(nd_pinned_pool *p, uint64_t n)
{
    if (!p->slab || n > p->slab_size - p->slab_used)
        return NULL;
    nd_pinned_block *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->in_slab = true;
    b->base.mem = p->slab;
    b->base.offset = p->slab_used;
    b->base.host = p->slab_host + p->slab_used;
    b->base.nbytes = n;
    p->slab_used += n;
    return b;
}

/* Once, at the first request; a device that cannot give it all at once gives none. */
static void reserve(nd_pinned_pool *p)
{
    uint64_t size = nd__conf()->pinned_reserve;
    ndp_mem *mem = NULL;
    void *host = NULL;
    pthread_mutex_lock(&p->lock);
    bool first = size && !p->slab_tried;
    p->slab_tried |= first;
    pthread_mutex_unlock(&p->lock);
    if (!first)
        return;
    if (pin(p, size, &mem, &host) != ND_OK) {
        nd__log(ND_LOG_WARN, "pinned_reserve: %s", nd_last_error()->message);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->slab = mem;
    p->slab_host = host;
    p->slab_size = size;
    p->slab_used = 0;
    pthread_mutex_unlock(&p->lock);
}

/* ---- the background poller: takes nothing once the setting is turned off ---- */
static void *poller(void *arg)
{
    const struct timespec pause = {0, 1000000};
    nd_pinned_pool *p = arg;
    pthread_mutex_lock(&p->lock);
    while (nd__conf()->pinned_background) {
        nd_pinned_block *done = take_done(p);
        if (!p->pending && !done) {
            pthread_cond_wait(&p->freed, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        if (done) {
            settle_and_lock(p, done);
            continue;
        }
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&p->lock);
    }
    p->polled = false;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Under the lock. The thread ends with the process; without it, requests poll. */
static void start_poller(nd_pinned_pool *p)
{
    pthread_t thread;
    if (p->polled || !nd__conf()->pinned_background)
        return;
    p->polled = pthread_create(&thread, NULL, poller, p) == 0;
    if (p->polled)
        (void)pthread_detach(thread);
}

/* ---- what the rest of the core calls ---- */
static void hand_out(nd_pinned_pool *p, nd_pinned_block *b, uint64_t nbytes)
{
    b->pool = p;
    b->base.requested = nbytes;
    nd__uses_start(&b->uses, NULL); /* the host's: no stream is its home */
    nd__stat_in(&p->bytes, b->base.nbytes);
    nd__stat_in(&p->blocks, 1);
}

static nd_status fresh(nd_pinned_pool *p, uint64_t n, nd_pinned_block **out)
{
    void *host = NULL;
    nd_pinned_block *b = calloc(1, sizeof *b);
    if (!b)
        return nd__fail(ND_ERR_MEMORY, "pinned", -1, "no %zu bytes for a record", sizeof *b);
    nd_status status = pin(p, n, &b->base.mem, &host);
    if (status != ND_OK) {
        free(b);
        return status;
    }
    b->base.host = host;
    b->base.nbytes = n;
    *out = b;
    return ND_OK;
}

/* Moves the slab's blocks of a bin, or those that are none of the slab's, to *out. */
static void take_kept(nd_pinned_block **bin, bool in_slab, nd_pinned_block **out)
{
    for (nd_pinned_block **at = bin, *b; (b = *at) != NULL;) {
        if (b->in_slab != in_slab) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        b->next = *out;
        *out = b;
    }
}

static void drop_kept(nd_pinned_pool *p)
{
    nd_pinned_block *drop = NULL, *next;
    lock_polled(p);
    for (int k = 0; k < ND_PINNED_BINS; k++)
        take_kept(&p->bins[k], false, &drop);
    pthread_mutex_unlock(&p->lock);
    for (; drop; drop = next) {
        next = drop->next;
        unpin(p, drop->base.mem, drop->base.nbytes);
        free(drop);
    }
}

nd_status nd__pinned_alloc(nd_device *device, uint64_t nbytes, nd_block **out)
{
    nd_pinned_pool *p;
    *out = NULL;
    if (!device->map.pin)
        return nd__fail(ND_ERR_UNSUPPORTED, "pinned", -1, "%s has no pinned memory", device->name);
    if (nbytes > UINT64_MAX / 4)
        return nd__fail(ND_ERR_MEMORY, "pinned", -1, "%llu bytes are more than any machine has",
                        (unsigned long long)nbytes);
    ND_RETURN_IF(pool_of(device, &p));
    reserve(p);
    uint64_t n = rounded(nbytes ? nbytes : 1);
    nd_status status = ND_OK;
    lock_polled(p);
    nd_pinned_block *b = take_free(p, n);
    b = b ? b : cut(p, n);
    pthread_mutex_unlock(&p->lock);
    if (!b && (status = fresh(p, n, &b)) == ND_ERR_MEMORY) {
        drop_kept(p); /* blocks of other sizes may be in the way */
        status = fresh(p, n, &b);
    }
    if (status != ND_OK)
        return status;
    pthread_mutex_lock(&p->lock);
    hand_out(p, b, nbytes);
    pthread_mutex_unlock(&p->lock);
    *out = &b->base;
    return ND_OK;
}

void nd__pinned_free(nd_block *block)
{
    nd_pinned_block *b = (nd_pinned_block *)block;
    nd_pinned_pool *p = b->pool;
    if (b->registered) {
        nd__registered_leave(b);
        return;
    }
    pthread_mutex_lock(&p->lock);
    nd__stat_out(&p->bytes, b->base.nbytes);
    nd__stat_out(&p->blocks, 1);
    if (atomic_load(&p->device->captures) == 0 && nd__uses_done(&b->uses, &p->hooks)) {
        pthread_mutex_unlock(&p->lock);
        b->next = NULL;
        settle_and_lock(p, b);
    } else {
        b->next = p->pending;
        p->pending = b;
        start_poller(p);
        pthread_cond_signal(&p->freed);
    }
    pthread_mutex_unlock(&p->lock);
}

nd_status nd__pinned_record(nd_block *block, nd_stream *stream)
{
    nd_pinned_block *b = (nd_pinned_block *)block;
    if (b->registered)
        return nd__registered_record(b, stream);
    pthread_mutex_lock(&b->pool->lock);
    nd_status status = nd__uses_record(&b->uses, &b->pool->hooks, stream);
    pthread_mutex_unlock(&b->pool->lock);
    return status;
}

static bool slab_idle(nd_pinned_pool *p)
{
    uint64_t kept = 0;
    for (int k = 0; k < ND_PINNED_BINS; k++)
        for (const nd_pinned_block *b = p->bins[k]; b; b = b->next)
            kept += b->in_slab ? b->base.nbytes : 0;
    return p->slab && kept == p->slab_used;
}

/* The slab goes when no block of it is in use or pending. */
static void drop_slab(nd_pinned_pool *p)
{
    nd_pinned_block *drop = NULL, *next;
    ndp_mem *slab = NULL;
    uint64_t size = 0;
    pthread_mutex_lock(&p->lock);
    if (slab_idle(p)) {
        slab = p->slab;
        size = p->slab_size;
        p->slab = NULL;
        for (int k = 0; k < ND_PINNED_BINS; k++)
            take_kept(&p->bins[k], true, &drop);
        p->slab_tried = false;
    }
    pthread_mutex_unlock(&p->lock);
    for (; drop; drop = next) {
        next = drop->next;
        free(drop);
    }
    if (slab)
        unpin(p, slab, size);
}

nd_status nd_memory_empty_host_cache(nd_device *device)
{
    nd_pinned_pool *p;
    nd_status status;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(pool_of(device, &p));
    ND_RETURN_IF(nd__refuse_unsafe(device, "memory_empty_host_cache", "end the capture first"));
    drop_kept(p);
    drop_slab(p);
    return ND_OK;
}

nd_status nd_memory_pinned_cap_set(nd_device *device, uint64_t nbytes)
{
    nd_pinned_pool *p;
    nd_status status;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(pool_of(device, &p));
    atomic_store(&p->cap, nbytes);
    return ND_OK;
}

/* The child has no poller, and nobody waits in it. */
void nd__fork_pinned(nd_fork now)
{
    if (now == ND_FORK_TAKE)
        pthread_mutex_lock(&pools_lock);
    for (nd_pinned_pool *p = pools; p; p = p->next) {
        nd__fork_mutex(&p->lock, now);
        if (now == ND_FORK_CHILD) {
            p->polled = false;
            pthread_cond_init(&p->freed, NULL);
        }
    }
    if (now != ND_FORK_TAKE)
        pthread_mutex_unlock(&pools_lock);
}

void nd__pinned_stats(nd_device *device, nd_memory_stats *out)
{
    nd_pinned_pool *p;
    if (pool_of(device, &p) != ND_OK)
        return;
    pthread_mutex_lock(&p->lock);
    out->pinned_bytes = nd__stat_read(&p->bytes);
    out->pinned_blocks = nd__stat_read(&p->blocks);
    out->pinned_owned_bytes = nd__stat_read(&p->owned);
    out->num_host_alloc = p->num_alloc;
    out->num_host_free = p->num_free;
    out->host_alloc_us = p->alloc_us;
    out->host_free_us = p->free_us;
    pthread_mutex_unlock(&p->lock);
}

void nd__pinned_reset(nd_device *device, bool peak, bool accumulated)
{
    nd_pinned_pool *p;
    if (pool_of(device, &p) != ND_OK)
        return;
    pthread_mutex_lock(&p->lock);
    nd_memory_stat *const all[] = {&p->bytes, &p->blocks, &p->owned};
    for (int i = 0; i < 3; i++)
        nd__stat_reset(all[i], peak, accumulated);
    if (accumulated)
        p->num_alloc = p->num_free = p->alloc_us = p->free_us = 0;
    pthread_mutex_unlock(&p->lock);
}
