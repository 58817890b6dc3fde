/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory of the program's own that is page-locked for a device for a while (P7). Arrays made over
 * it meanwhile are pinned, and it is unlocked when the copies that use it are done. */
#include <stdlib.h>
#include "core/memory/pinned/pinned.h"

typedef struct nd_registered {
    nd_device *device;
    char *host;
    uint64_t nbytes;
    ndp_mem *mem; /* NULL while it is being locked */
    nd_hooks hooks;
    nd_uses uses; /* copies of arrays over it */
    int arrays;
    struct nd_registered *next;
} nd_registered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and all in it */
static nd_registered *list;
static atomic_int count; /* how many are in the list, for those who need not look */

void nd__fork_registered(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

/* ---- under the lock ---- */
static nd_registered **find_overlap(const char *host, uint64_t nbytes)
{
    nd_registered **at = &list;
    while (*at && !(host < (*at)->host + (*at)->nbytes && (*at)->host < host + nbytes))
        at = &(*at)->next;
    return at;
}

static void take_out(const nd_registered *r)
{
    nd_registered **at = &list;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    atomic_fetch_sub(&count, 1);
}

/* ---- arrays over it ---- */
void nd__registered_adopt(nd_storage *s)
{
    if (atomic_load_explicit(&count, memory_order_acquire) == 0 || s->used == 0)
        return;
    pthread_mutex_lock(&lock);
    nd_registered *r = *find_overlap(s->host, s->used);
    bool inside = r && r->mem && s->host >= r->host && s->host + s->used <= r->host + r->nbytes;
    nd_pinned_block *b = inside ? calloc(1, sizeof *b) : NULL; /* without a record, copies wait */
    if (b) {
        b->base.mem = r->mem;
        b->base.offset = (uint64_t)(s->host - r->host);
        b->base.nbytes = s->used;
        b->base.host = s->host;
        b->registered = r;
        r->arrays++;
        s->pinned = &b->base;
        s->pinned_for = r->device;
    }
    pthread_mutex_unlock(&lock);
}

void nd__registered_leave(nd_pinned_block *b)
{
    pthread_mutex_lock(&lock);
    b->registered->arrays--;
    pthread_mutex_unlock(&lock);
    free(b);
}

nd_status nd__registered_record(nd_pinned_block *b, nd_stream *stream)
{
    nd_registered *r = b->registered;
    nd_uses gone = {0}; /* a long scope may see many copies */
    pthread_mutex_lock(&lock);
    if (r->uses.others >= 32 && atomic_load(&r->device->captures) == 0)
        nd__uses_prune(&r->uses, &r->hooks, &gone);
    nd_status status = nd__uses_record(&r->uses, &r->hooks, stream);
    pthread_mutex_unlock(&lock);
    nd__uses_end(&gone, &r->hooks);
    return status;
}

/* ---- the public calls ---- */
static nd_status enter(nd_device *device, void *host, uint64_t nbytes, nd_registered **out)
{
    nd_registered *r = calloc(1, sizeof *r);
    if (!r)
        return nd__fail(ND_ERR_MEMORY, "host_register", -1, "no %zu bytes for a record", sizeof *r);
    *r = (nd_registered){.device = device, .host = host, .nbytes = nbytes};
    nd__device_hooks(device, &r->hooks);
    nd__uses_start(&r->uses, NULL); /* the host has it: no stream is its home */
    pthread_mutex_lock(&lock);
    const nd_registered *other = *find_overlap(host, nbytes);
    if (!other) {
        r->next = list;
        list = r;
        atomic_fetch_add(&count, 1);
    }
    pthread_mutex_unlock(&lock);
    if (other) {
        free(r);
        return nd__fail(ND_ERR_ARGUMENT, "host_register", 1,
                        "some of the %llu bytes at %p are registered already; unregister them "
                        "first",
                        (unsigned long long)nbytes, host);
    }
    *out = r;
    return ND_OK;
}

static nd_status page_lock(nd_registered *r)
{
    nd_device *d = r->device;
    ndp_mem *mem = NULL;
    nd__note_wait(ND_WAIT_DEVICE_ALLOC, d, "host_register");
    nd_status status = d->map.register_host(d->dev, r->host, r->nbytes, &mem);
    if (status != ND_OK)
        nd__error_context("host_register", d->name, d->slot ? d->slot->name : "");
    pthread_mutex_lock(&lock);
    r->mem = mem;
    if (status != ND_OK)
        take_out(r);
    pthread_mutex_unlock(&lock);
    if (status != ND_OK)
        free(r);
    return status;
}

nd_status nd_host_register(nd_device *device, void *host, uint64_t nbytes)
{
    nd_status status;
    nd_registered *r = NULL;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    if (!host || nbytes == 0 || nbytes > PTRDIFF_MAX)
        return nd__fail(ND_ERR_ARGUMENT, "host_register", host ? 2 : 1,
                        host ? "%llu bytes; at least one is needed" : "the address is NULL",
                        (unsigned long long)nbytes);
    if (!device->map.register_host || !device->async || !device->p.copy)
        return nd__fail(ND_ERR_UNSUPPORTED, "host_register", 0,
                        "%s locks no pages of others (group ndp.map/1)", device->name);
    ND_RETURN_IF(nd__usable(device, "host_register"));
    ND_RETURN_IF(nd__refuse_unsafe(device, "host_register", "register before the capture"));
    ND_RETURN_IF(enter(device, host, nbytes, &r));
    return page_lock(r);
}

/* Takes it out of the list, so that no array comes to be over it any more, or says why not. */
static nd_status leave(const nd_device *device, const void *host, nd_registered **out)
{
    nd_status status = ND_OK;
    pthread_mutex_lock(&lock);
    nd_registered *r = list;
    while (r && (r->device != device || r->host != host || !r->mem))
        r = r->next;
    if (!r)
        status = nd__fail(ND_ERR_ARGUMENT, "host_unregister", 1,
                          "nothing is registered for %s that begins at %p", device->name, host);
    else if (r->arrays)
        status = nd__fail(ND_ERR_STATE, "host_unregister", 1,
                          "%d arrays over the memory are alive; release them first", r->arrays);
    else
        take_out(r);
    pthread_mutex_unlock(&lock);
    *out = status == ND_OK ? r : NULL;
    return status;
}

nd_status nd_host_unregister(nd_device *device, void *host)
{
    nd_status status;
    nd_registered *r;
    device = nd__or_current(device, &status);
    if (status != ND_OK)
        return status;
    ND_RETURN_IF(nd__refuse_unsafe(device, "host_unregister", "unregister after the capture"));
    ND_RETURN_IF(nd__may_wait(ND_WAIT_MEMORY, device, "host_unregister"));
    ND_RETURN_IF(leave(device, host, &r));
    if (!nd__out_of_reach(device)) {
        (void)nd__uses_wait(&r->uses, &r->hooks);
        nd__hazard_gone(r->mem);
        device->p.free(device->dev, r->mem);
    }
    nd__uses_end(&r->uses, &r->hooks);
    free(r);
    return ND_OK;
}

nd_status nd_host_is_pinned(nd_device *device, const void *host, int32_t *yes)
{
    nd_status status;
    ND_OUT("host_is_pinned", 2, yes, 0);
    device = nd__or_current(device, &status);
    if (status != ND_OK || !device->map.is_pinned)
        return status;
    ND_RETURN_IF(nd__usable(device, "host_is_pinned"));
    status = device->map.is_pinned(device->dev, host, yes);
    if (status != ND_OK)
        nd__error_context("host_is_pinned", device->name, device->slot ? device->slot->name : "");
    return status;
}
