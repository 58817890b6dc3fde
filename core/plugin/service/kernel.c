/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The kernel cache: compiled code by its full key, compiled once however many threads ask.
 *
 * An entry is listed while it is being compiled, while its code is in use, while its code is
 * nowhere else, or when compiling failed. Code that a file holds leaves memory with its last
 * user. */
#include <stdio.h>
#include <stdlib.h>
#include "core/plugin/service/service.h"

enum { BUCKETS = 256 };
typedef enum { COMPILING, READY, FAILED } kernel_state;

struct ndh_code {
    nd_kernel_cache *cache;
    ndh_code *next;
    uint8_t hash[32];
    kernel_state state;
    bool listed, stored; /* stored: a file holds the code */
    pthread_t owner;     /* who compiles */
    int64_t users;       /* callers that hold it, wait for it or compile it */
    void *code;
    size_t nbytes;
    uint64_t counted;    /* of nbytes, in the cache's sum; under the lock */
    char *log, *message; /* of the failure */
    nd_status status;
    int64_t native;
    size_t key_nbytes;
    char key[];
};

struct nd_kernel_cache {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    ndh_code *bucket[BUCKETS];
    nd_kernel_store store;
    uint64_t memory_hits, disk_hits, misses, compiles, failures, entries, nbytes;
};

nd_status nd__kernel_cache_create(const char *dir, uint64_t max_bytes, nd_kernel_cache **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return nd__fail(ND_ERR_MEMORY, "kernel_cache", -1, "no memory for the kernel cache");
    pthread_mutex_init(&(*out)->lock, NULL);
    pthread_cond_init(&(*out)->changed, NULL);
    nd__store_open(&(*out)->store, dir, max_bytes);
    return ND_OK;
}

/* ---- keys ---- */

/* The five texts, each with its length before it, so that no two keys have the same bytes. */
static char *key_bytes(const ndh_kernel_key *key, size_t *nbytes)
{
    const char *text[5] = {key->source, key->options, key->arch, key->compiler, key->library};
    uint64_t length[5];
    *nbytes = 0;
    for (int i = 0; i < 5; i++) {
        length[i] = text[i] ? strlen(text[i]) : 0;
        *nbytes += sizeof *length + length[i];
    }
    char *bytes = malloc(*nbytes), *p = bytes;
    for (int i = 0; bytes && i < 5; i++) {
        for (int b = 0; b < 8; b++)
            *p++ = (char)(length[i] >> 8 * b);
        memcpy(p, text[i] ? text[i] : "", length[i]);
        p += length[i];
    }
    return bytes;
}

static nd_status new_entry(nd_kernel_cache *c, const ndh_kernel_key *key, ndh_code **out)
{
    size_t n = 0;
    *out = NULL;
    if (!key || key->size < NDP_END(ndh_kernel_key, library))
        return nd__fail(ND_ERR_ARGUMENT, "kernel_cache", 0,
                        "the key's size field is not sizeof(ndh_kernel_key)");
    char *bytes = key_bytes(key, &n);
    ndh_code *e = bytes ? calloc(1, sizeof *e + n) : NULL;
    if (e) {
        nd_sha256 sha;
        nd__sha256_init(&sha);
        nd__sha256_add(&sha, bytes, n);
        nd__sha256_end(&sha, e->hash);
        memcpy(e->key, bytes, n);
        e->key_nbytes = n;
        e->cache = c;
    }
    free(bytes);
    *out = e;
    return e ? ND_OK
             : nd__fail(ND_ERR_MEMORY, "kernel_cache", -1, "no memory for a key of %zu bytes", n);
}

static void free_entry(ndh_code *e)
{
    free(e->code);
    free(e->log);
    free(e->message);
    free(e);
}

/* ---- under the lock ---- */

static ndh_code **place_of(nd_kernel_cache *c, const ndh_code *like)
{
    ndh_code **at = &c->bucket[like->hash[31] % BUCKETS];
    while (*at &&
           (memcmp((*at)->hash, like->hash, 32) != 0 || (*at)->key_nbytes != like->key_nbytes ||
            memcmp((*at)->key, like->key, like->key_nbytes) != 0))
        at = &(*at)->next;
    return at;
}

static void list(nd_kernel_cache *c, ndh_code *e)
{
    *place_of(c, e) = e;
    e->listed = true;
    c->entries++;
}

static void unlist(nd_kernel_cache *c, ndh_code *e)
{
    *place_of(c, e) = e->next;
    e->next = NULL;
    e->listed = false;
    c->entries--;
    c->nbytes -= e->counted;
    e->counted = 0;
}

/* One user less; the entry goes if nothing keeps it. */
static void leave(nd_kernel_cache *c, ndh_code *e)
{
    if (--e->users)
        return;
    if (e->listed && e->state == READY && e->stored)
        unlist(c, e);
    if (!e->listed)
        free_entry(e);
}

/* The thread's error as it was when compiling failed. */
static nd_status fail_again(const ndh_code *e)
{
    nd_status status = nd__fail(e->status, NULL, -1, "%s", e->message ? e->message : "");
    nd__error_native(e->native);
    return status;
}

/* ---- compiling, without the lock ---- */

static void remember_failure(ndh_code *e, nd_status status, char *log)
{
    const nd_error *error = nd_last_error();
    char text[900];
    bool told = error->status == status && error->message[0];
    snprintf(text, sizeof text, "%s%s%s", told ? error->message : "a kernel could not be compiled",
             log && !told ? ": " : "", log && !told ? log : "");
    e->native = told ? error->native : 0;
    e->status = status;
    e->message = strdup(text);
    e->log = log;
    if (!told)
        (void)fail_again(e);
}

static kernel_state compile_entry(ndh_code *e, int32_t (*compile)(void *, ndh_compiled *),
                                  void *arg)
{
    ndh_compiled made = {.size = sizeof made};
    nd_status status = compile(arg, &made);
    if (status == ND_OK && (!made.code || !made.nbytes))
        status = nd__fail(ND_ERR_PLUGIN, NULL, -1, "compiling a kernel succeeded without code");
    if (status != ND_OK) {
        free(made.code);
        remember_failure(e, status, made.log);
        return FAILED;
    }
    free(made.log);
    e->code = made.code;
    e->nbytes = made.nbytes;
    return READY;
}

/* From the file, or by compiling. Returns with the lock held. */
static void produce(nd_kernel_cache *c, ndh_code *e, int32_t (*compile)(void *, ndh_compiled *),
                    void *arg)
{
    bool loaded = nd__store_load(&c->store, e->hash, e->key, e->key_nbytes, &e->code, &e->nbytes);
    kernel_state state = loaded ? READY : compile_entry(e, compile, arg);
    e->stored = loaded || (state == READY && nd__store_save(&c->store, e->hash, e->key,
                                                            e->key_nbytes, e->code, e->nbytes));
    pthread_mutex_lock(&c->lock);
    *(loaded ? &c->disk_hits : &c->misses) += 1;
    c->compiles += !loaded;
    c->failures += state == FAILED;
    e->state = state;
    if (e->listed && state == READY)
        c->nbytes += e->counted = e->nbytes;
    pthread_cond_broadcast(&c->changed);
}

static void forget_failure(ndh_code *e)
{
    free(e->log);
    free(e->message);
    e->log = e->message = NULL;
}

/* Under the lock: the entry like fresh (which is freed or listed), counted as used. *produces: the
 * caller is to produce it; else it is ready, or has failed. */
static nd_status join(nd_kernel_cache *c, ndh_code *fresh, bool retry, ndh_code **out,
                      bool *produces)
{
    ndh_code *e = *place_of(c, fresh);
    bool waited = false;
    *out = e ? e : fresh;
    *produces = !e;
    (*out)->users++;
    if (!e) {
        e = fresh;
        list(c, e);
    } else {
        free_entry(fresh);
        if (e->state == COMPILING && pthread_equal(e->owner, pthread_self()))
            return nd__fail(ND_ERR_STATE, "kernel_cache", -1,
                            "a kernel's compile callback asked for the kernel itself");
        for (; e->state == COMPILING; waited = true)
            pthread_cond_wait(&c->changed, &c->lock);
        *produces = e->state == FAILED && retry && !waited;
        c->memory_hits += e->state == READY;
    }
    if (*produces) {
        forget_failure(e);
        e->state = COMPILING;
        e->owner = pthread_self();
    }
    return e->state == FAILED ? fail_again(e) : ND_OK;
}

nd_status nd__kernel_get(nd_kernel_cache *c, const ndh_kernel_key *key, uint32_t flags,
                         int32_t (*compile)(void *arg, ndh_compiled *out), void *arg,
                         ndh_code **out, const void **code, uint64_t *nbytes)
{
    ndh_code *fresh, *e;
    bool produces;
    *out = NULL;
    *code = NULL;
    *nbytes = 0;
    ND_RETURN_IF(new_entry(c, key, &fresh));
    pthread_mutex_lock(&c->lock);
    nd_status status = join(c, fresh, flags & NDH_KERNEL_RETRY, &e, &produces);
    if (produces) {
        pthread_mutex_unlock(&c->lock);
        produce(c, e, compile, arg);
        status = e->state == FAILED ? e->status : ND_OK; /* compile has set the error's detail */
    }
    if (status == ND_OK) {
        *out = e;
        *code = e->code;
        *nbytes = e->nbytes;
    } else {
        leave(c, e);
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

void nd__kernel_release(ndh_code *e)
{
    if (!e)
        return;
    nd_kernel_cache *c = e->cache;
    pthread_mutex_lock(&c->lock);
    leave(c, e);
    pthread_mutex_unlock(&c->lock);
}

nd_status nd__kernel_log(nd_kernel_cache *c, const ndh_kernel_key *key, char *text, size_t n)
{
    ndh_code *like;
    ND_RETURN_IF(new_entry(c, key, &like));
    pthread_mutex_lock(&c->lock);
    const ndh_code *e = *place_of(c, like);
    bool failed = e && e->state == FAILED;
    if (failed)
        snprintf(text, n, "%s", e->log ? e->log : e->message ? e->message : "");
    pthread_mutex_unlock(&c->lock);
    free_entry(like);
    return failed ? ND_OK
                  : nd__fail(ND_ERR_ARGUMENT, "kernel_cache", 0,
                             "this kernel has not failed to compile, so there is no log");
}

/* Takes all entries off the list. */
static void unlist_all(nd_kernel_cache *c)
{
    for (int i = 0; i < BUCKETS; i++)
        while (c->bucket[i]) {
            ndh_code *e = c->bucket[i];
            unlist(c, e);
            if (!e->users)
                free_entry(e);
        }
}

nd_status nd__kernel_clear(nd_kernel_cache *c)
{
    pthread_mutex_lock(&c->lock);
    unlist_all(c);
    pthread_mutex_unlock(&c->lock);
    return nd__store_clear(&c->store);
}

void nd__kernel_cache_destroy(nd_kernel_cache *c)
{
    if (!c)
        return;
    unlist_all(c);
    nd__store_close(&c->store);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void nd__kernel_stats(nd_kernel_cache *c, nd_kernel_stats *out)
{
    nd_store_usage disk = nd__store_scan(&c->store, false);
    pthread_mutex_lock(&c->lock);
    *out = (nd_kernel_stats){.size = out->size,
                             .writable = c->store.dir && c->store.writable,
                             .memory_hits = c->memory_hits,
                             .disk_hits = c->disk_hits,
                             .misses = c->misses,
                             .compiles = c->compiles,
                             .failures = c->failures,
                             .stored = c->store.stored,
                             .dropped = c->store.dropped,
                             .evicted = c->store.evicted,
                             .disk_entries = disk.entries,
                             .disk_bytes = disk.nbytes,
                             .max_disk_bytes = c->store.max_bytes,
                             .memory_entries = c->entries,
                             .memory_bytes = c->nbytes};
    pthread_mutex_unlock(&c->lock);
}

const char *nd__kernel_cache_folder(const nd_kernel_cache *c)
{
    return c->store.dir ? c->store.dir : "";
}

void nd__kernel_cache_lock(nd_kernel_cache *c, bool take)
{
    (void)(take ? pthread_mutex_lock(&c->lock) : pthread_mutex_unlock(&c->lock));
}

void nd__kernel_cache_forked(nd_kernel_cache *c)
{
    pthread_cond_init(&c->changed, NULL);
    for (int i = 0; i < BUCKETS; i++)
        for (ndh_code *e = c->bucket[i], *next; e; e = next) {
            next = e->next;
            if (e->state == COMPILING)
                unlist(c, e); /* its user frees it, if that is the thread that forked */
        }
}
