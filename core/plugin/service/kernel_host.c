/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The process's kernel cache, set up by the environment at its first use: for plug-ins and
 * users. */
#include <stdlib.h>
#include "core/plugin/service/service.h"
#include "core/base/env.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static nd_kernel_cache *_Atomic cache; /* NULL: not used yet, or no memory for it */

static uint64_t max_bytes(void)
{
    return (uint64_t)nd__env_integer(ND_ENV_KERNEL_CACHE_MAX_MB) << 20;
}

static void set_up(void)
{
    const char *why = NULL;
    char *dir = !nd__env_bool(ND_ENV_KERNEL_CACHE)
                    ? NULL
                    : nd__store_dir(nd__env(ND_ENV_KERNEL_CACHE_DIR), nd__getenv("XDG_CACHE_HOME"),
                                    nd__getenv("HOME"), &why);
    if (why)
        nd__log(ND_LOG_WARN, "kernel cache: %s; compiled kernels are kept in memory alone", why);
    nd_kernel_cache *made;
    if (nd__kernel_cache_create(dir, max_bytes(), &made) == ND_OK)
        cache = made;
    free(dir);
}

static nd_status the_cache(nd_kernel_cache **out)
{
    pthread_once(&once, set_up);
    *out = cache;
    return *out ? ND_OK
                : nd__fail(ND_ERR_MEMORY, "kernel_cache", -1, "no memory for the kernel cache");
}

const char *nd_kernel_cache_dir(void)
{
    nd_kernel_cache *c;
    return the_cache(&c) == ND_OK ? nd__kernel_cache_folder(c) : "";
}

nd_status nd_kernel_cache_clear(void)
{
    nd_kernel_cache *c;
    ND_RETURN_IF(the_cache(&c));
    return nd__kernel_clear(c);
}

nd_status nd_kernel_cache_stats(nd_kernel_stats *out)
{
    nd_kernel_cache *c;
    nd_kernel_stats all = {0};
    if (!out || out->size < NDP_END(nd_kernel_stats, writable))
        return nd__fail(ND_ERR_ARGUMENT, "kernel_cache_stats", 0,
                        "set the size field to sizeof(nd_kernel_stats) first");
    ND_RETURN_IF(the_cache(&c));
    all.size = out->size;
    nd__kernel_stats(c, &all);
    memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return ND_OK;
}

static int32_t service_get(void *ctx, const ndh_kernel_key *key, uint32_t flags,
                           int32_t (*compile)(void *arg, ndh_compiled *out), void *arg,
                           ndh_code **out, const void **code, uint64_t *nbytes)
{
    nd_kernel_cache *c;
    (void)ctx;
    *out = NULL;
    ND_RETURN_IF(the_cache(&c));
    return nd__kernel_get(c, key, flags, compile, arg, out, code, nbytes);
}

static void service_release(void *ctx, ndh_code *code)
{
    (void)ctx;
    nd__kernel_release(code);
}

static int32_t service_log(void *ctx, const ndh_kernel_key *key, char *text, size_t n)
{
    nd_kernel_cache *c;
    (void)ctx;
    ND_RETURN_IF(the_cache(&c));
    return nd__kernel_log(c, key, text, n);
}

const ndh_kernel_1 nd__kernel_service = {
    .size = sizeof(ndh_kernel_1),
    .get = service_get,
    .release = service_release,
    .log = service_log,
};

static nd_kernel_cache *locked; /* the one there was when the lock was taken */

void nd__fork_kernel_caches(nd_fork now)
{
    locked = now == ND_FORK_TAKE ? cache : locked;
    if (locked && now == ND_FORK_CHILD)
        nd__kernel_cache_forked(locked);
    if (locked)
        nd__kernel_cache_lock(locked, now == ND_FORK_TAKE);
}
