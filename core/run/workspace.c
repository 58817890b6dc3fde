/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Workspaces: scratch memory that vendor libraries keep between calls, one for each (device,
 * handle, stream). Streams are told apart by id, since handles are used again; a workspace goes
 * with its stream, with its handle, with the thread that used it last, or when the user clears.
 * Memory goes back to the allocator in stream order, so that work which still uses it is safe. */
#include <ctype.h>
#include <stdlib.h>
#include "core/run/workspace.h"

enum { MANY_MIB = 32 };
static const uint64_t FEW_BYTES = UINT64_C(1024) * (2 * 4096 + 8 * 16); /* ":4096:2:16:8" */

/* One size:count pair at *p, in KiB; moves *p behind it. */
static bool parse_pair(const char **p, uint64_t *kib)
{
    uint64_t value[2] = {0};
    for (int i = 0; i < 2; i++) {
        const char *digits = *p + 1;
        if (**p != ':' || !isdigit((unsigned char)*digits))
            return false;
        for (*p = digits; isdigit((unsigned char)**p); ++*p)
            if (__builtin_mul_overflow(value[i], 10, &value[i]) ||
                __builtin_add_overflow(value[i], (uint64_t)(**p - '0'), &value[i]))
                return false;
    }
    return !__builtin_mul_overflow(value[0], value[1], &value[0]) &&
           !__builtin_add_overflow(*kib, value[0], kib);
}

nd_status nd__workspace_parse(const char *text, uint64_t *nbytes)
{
    const char *p = text ? text : "";
    uint64_t kib = 0;
    bool good = *p != 0;
    while (good && *p)
        good = parse_pair(&p, &kib);
    good = good && kib <= UINT64_MAX / 1024;
    *nbytes = good ? kib * 1024 : 0;
    return good ? ND_OK
                : nd__fail(ND_ERR_ARGUMENT, "workspace", 0,
                           "\"%s\" is no workspace size: pairs of KiB and count such as "
                           "\":4096:2:16:8\" are expected, or \":0:0\" for none",
                           text ? text : "(null)");
}

uint64_t nd__workspace_default(int32_t major)
{
    bool large = major == 9 || major == 10 || major == 12;
    return large ? UINT64_C(1024) * 1024 * MANY_MIB : FEW_BYTES;
}

/* ---- the table ---- */

struct ndh_workspace {
    const nd_device *device;
    const void *handle;
    uint64_t stream_id, thread;
    nd_storage *storage;
    int64_t users; /* calls between acquire and release */
    bool listed;
    ndh_workspace *next;
};
typedef struct account {
    const nd_device *device;
    nd_memory_stat bytes;
    struct account *next;
} account;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ndh_workspace *workspaces;
static account *accounts; /* never removed, as devices are not */

static _Atomic uint64_t last_thread;
ND_TLS uint64_t this_thread; /* number of the calling thread, never used twice; 0: none yet */
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static account *account_of(const nd_device *device)
{
    account *a = accounts;
    while (a && a->device != device)
        a = a->next;
    if (!a && (a = calloc(1, sizeof *a)) != NULL) {
        a->device = device;
        a->next = accounts;
        accounts = a;
    }
    return a;
}

static void count(const nd_device *device, int64_t nbytes)
{
    account *a = account_of(device);
    if (!a)
        return;
    a->bytes.current += nbytes;
    *(nbytes > 0 ? &a->bytes.allocated : &a->bytes.freed) += nbytes > 0 ? nbytes : -nbytes;
    if (a->bytes.current > a->bytes.peak)
        a->bytes.peak = a->bytes.current;
}

/* NULL fields match anything. */
typedef struct {
    const nd_device *device;
    const void *handle;
    uint64_t thread;
    bool by_stream;
    uint64_t stream_id;
} selection;

static bool matches(const ndh_workspace *w, const selection *s)
{
    return (!s->device || w->device == s->device) && (!s->handle || w->handle == s->handle) &&
           (!s->thread || w->thread == s->thread) &&
           (!s->by_stream || w->stream_id == s->stream_id);
}

/* Memory goes back without the lock: the allocator has locks of its own. */
static void free_all(ndh_workspace *list)
{
    for (ndh_workspace *next; list; list = next) {
        next = list->next;
        nd__storage_release(list->storage);
        free(list);
    }
}

/* Those in use by a call go when it releases them. */
static void drop(const selection *s)
{
    ndh_workspace *gone = NULL;
    pthread_mutex_lock(&lock);
    for (ndh_workspace **at = &workspaces, *w; (w = *at) != NULL;) {
        if (!matches(w, s)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        w->listed = false;
        count(w->device, -(int64_t)w->storage->used);
        w->next = w->users ? NULL : gone;
        gone = w->users ? gone : w;
    }
    pthread_mutex_unlock(&lock);
    free_all(gone);
}

static void thread_end(void *arg)
{
    const selection s = {.thread = (uint64_t)(uintptr_t)arg};
    this_thread = 0;
    drop(&s);
}

static void make_thread_key(void)
{
    (void)pthread_key_create(&thread_key, thread_end);
}

static uint64_t thread_number(void)
{
    if (!this_thread) {
        pthread_once(&thread_once, make_thread_key);
        this_thread = atomic_fetch_add(&last_thread, 1) + 1;
        (void)pthread_setspecific(thread_key, (void *)(uintptr_t)this_thread);
    }
    return this_thread;
}

static ndh_workspace *find(const selection *s, uint64_t nbytes)
{
    ndh_workspace *w = workspaces;
    while (w && (!matches(w, s) || w->storage->used < nbytes))
        w = w->next;
    return w;
}

static nd_status make(nd_device *device, const void *handle, uint64_t stream_id, uint64_t nbytes,
                      ndh_workspace **out)
{
    nd_storage *storage = NULL;
    *out = NULL;
    ND_RETURN_IF(nd__storage_alloc(device, nbytes, &storage));
    ndh_workspace *w = calloc(1, sizeof *w);
    if (!w) {
        nd__storage_release(storage);
        return nd__fail(ND_ERR_MEMORY, "workspace", -1, "no memory for a workspace entry");
    }
    *w = (ndh_workspace){.device = device,
                         .handle = handle,
                         .stream_id = stream_id,
                         .storage = storage,
                         .listed = true};
    *out = w;
    return ND_OK;
}

/* In use by a call now; under the lock. */
static ndh_workspace *taken(ndh_workspace *w, uint64_t thread)
{
    w->users++;
    w->thread = thread;
    return w;
}

ndh_workspace *nd__workspace_find(nd_device *device, const void *handle, uint64_t stream_id,
                                  uint64_t nbytes)
{
    const selection s = {
        .device = device, .handle = handle, .by_stream = true, .stream_id = stream_id};
    const uint64_t thread = thread_number();
    pthread_mutex_lock(&lock);
    ndh_workspace *w = handle ? find(&s, nbytes) : NULL;
    w = w ? taken(w, thread) : NULL;
    pthread_mutex_unlock(&lock);
    return w;
}

nd_status nd__workspace_acquire(nd_device *device, const void *handle, uint64_t stream_id,
                                uint64_t nbytes, ndh_workspace **out)
{
    const selection s = {
        .device = device, .handle = handle, .by_stream = true, .stream_id = stream_id};
    const uint64_t thread = thread_number();
    ndh_workspace *made = NULL;
    *out = NULL;
    if (!handle || !nbytes)
        return nd__fail(ND_ERR_ARGUMENT, "workspace", 1,
                        "%llu bytes for handle %p: neither may be 0", (unsigned long long)nbytes,
                        handle);
    pthread_mutex_lock(&lock);
    ndh_workspace *w = find(&s, nbytes);
    if (!w) {
        pthread_mutex_unlock(&lock);
        drop(&s); /* one that is too small */
        ND_RETURN_IF(make(device, handle, stream_id, nbytes, &made));
        pthread_mutex_lock(&lock);
        w = made;
        w->next = workspaces;
        workspaces = w;
        count(device, (int64_t)w->storage->used);
    }
    *out = taken(w, thread);
    pthread_mutex_unlock(&lock);
    return ND_OK;
}

void nd__workspace_release(ndh_workspace *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&lock);
    bool gone = --w->users == 0 && !w->listed;
    pthread_mutex_unlock(&lock);
    if (gone)
        free_all(w);
}

nd_storage *nd__workspace_storage(const ndh_workspace *w)
{
    return w->storage;
}

void nd__workspace_handle_gone(nd_device *device, const void *handle)
{
    const selection s = {.device = device, .handle = handle};
    if (handle)
        drop(&s);
}

void nd__workspace_stream_gone(nd_device *device, uint64_t stream_id)
{
    const selection s = {.device = device, .by_stream = true, .stream_id = stream_id};
    drop(&s);
}

void nd_clear_workspaces(void)
{
    const selection all = {0};
    drop(&all);
}

void nd__workspace_stats(const nd_device *device, nd_memory_stat *out)
{
    pthread_mutex_lock(&lock);
    const account *a = account_of(device);
    *out = a ? a->bytes : (nd_memory_stat){0};
    pthread_mutex_unlock(&lock);
}

void nd__workspace_reset(const nd_device *device, bool peak, bool accumulated)
{
    pthread_mutex_lock(&lock);
    account *a = account_of(device);
    if (a && peak)
        a->bytes.peak = a->bytes.current;
    if (a && accumulated)
        a->bytes.allocated = a->bytes.freed = 0;
    pthread_mutex_unlock(&lock);
}

void nd__fork_workspaces(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}
