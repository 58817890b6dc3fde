/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pools of page-locked memory, one a device: memory of the device, blocks that are kept for the
 * next request, and those that copies still use. */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "core/memory/pinned/pinned.h"

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static nd_pinned_pool *pools; /* one a device, never freed */

nd_status nd__pinned_pool(nd_device *device, nd_pinned_pool **out)
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

/* ---- the device's memory ---- */
static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* No lock is held: locking pages takes long. The bytes are counted before, so that two threads do
 * not pass the cap together. */
nd_status nd__page_lock(nd_pinned_pool *p, uint64_t nbytes, ndp_mem **mem, void **host)
{
    nd_device *d = p->device;
    uint64_t cap = atomic_load(&p->cap);
    cap = cap ? cap : nd__conf()->pinned_cap;
    cap = cap ? cap : default_cap();
    pthread_mutex_lock(&p->lock);
    uint64_t owned = (uint64_t)nd__stat_now(&p->owned);
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

void nd__page_unlock(nd_pinned_pool *p, ndp_mem *mem, uint64_t nbytes)
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

static void keep(nd_pinned_pool *p, nd_pinned_block *b)
{
    nd_pinned_block **list = &p->bins[bin(b->base.nbytes)];
    b->next = *list;
    *list = b;
}

/* The smallest kept block of at least n bytes that wastes no more than the classes do. */
nd_pinned_block *nd__pinned_take_kept(nd_pinned_pool *p, uint64_t n)
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

nd_pinned_block *nd__pinned_gather(nd_pinned_pool *p, bool in_slab)
{
    nd_pinned_block *list = NULL;
    for (int k = 0; k < ND_PINNED_BINS; k++)
        for (nd_pinned_block **at = &p->bins[k], *b; (b = *at) != NULL;) {
            if (b->in_slab != in_slab) {
                at = &b->next;
                continue;
            }
            *at = b->next;
            b->next = list;
            list = b;
        }
    return list;
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

/* No lock is held at first: the last use of a foreign stream calls the stream's owner, who may want
 * pinned memory. */
void nd__pinned_settle(nd_pinned_pool *p, nd_pinned_block *done)
{
    nd_pinned_block *b, *next;
    for (b = done; b; b = b->next)
        nd__uses_end(&b->uses, &p->hooks);
    pthread_mutex_lock(&p->lock);
    for (b = done; b; b = next) {
        next = b->next;
        keep(p, b);
    }
}

/* Takes the lock, with what is done among the free blocks. */
void nd__pinned_poll(nd_pinned_pool *p)
{
    pthread_mutex_lock(&p->lock);
    nd_pinned_block *done = take_done(p);
    if (!done)
        return;
    pthread_mutex_unlock(&p->lock);
    nd__pinned_settle(p, done);
}

/* ---- the background poller, which takes nothing once the setting is turned off ---- */
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
            nd__pinned_settle(p, done);
            continue;
        }
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&p->lock);
    }
    p->polled = false;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The thread ends with the process. If it cannot be started, requests poll. */
void nd__pinned_start_poller(nd_pinned_pool *p)
{
    pthread_t thread;
    if (p->polled || !nd__conf()->pinned_background)
        return;
    p->polled = pthread_create(&thread, NULL, poller, p) == 0;
    if (p->polled)
        (void)pthread_detach(thread);
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
