/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How host memory is page-locked: two keys of NDOCK_ALLOC_CONF, which begin as parameters say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/backend.h"

static atomic_int use_register;
static _Atomic int64_t register_threads = 1; /* of the environment: any number */

static int32_t set_register(void *arg, const char *value)
{
    const int yes = strcmp(value, "true") == 0;
    (void)arg;
    if (!yes && strcmp(value, "false") != 0)
        return cuda_error(NDP_ERR_ARGUMENT, "it is true or false");
    atomic_store(&use_register, yes);
    return NDP_OK;
}

static int fits(int64_t n)
{
    return n >= 1 && n <= CUDA_MOST_REGISTER_THREADS && (n & (n - 1)) == 0;
}

static int32_t set_threads(void *arg, const char *value)
{
    char *end;
    const int64_t n = strtoll(value, &end, 10);
    (void)arg;
    if (*end || !fits(n))
        return cuda_error(NDP_ERR_ARGUMENT, "it has to be a power of two from 1 to %d",
                          CUDA_MOST_REGISTER_THREADS);
    atomic_store(&register_threads, n);
    return NDP_OK;
}

void cuda_pinned_declare(void)
{
    static atomic_flag done = ATOMIC_FLAG_INIT;
    char number[24];
    int32_t on = 0;
    int64_t threads = 1;
    if (atomic_flag_test_and_set(&done)) /* probe is called again */
        return;
    cuda_host->param(cuda_host->ctx, "PINNED_USE_HOST_REGISTER", NDP_PARAM_BOOL,
                     "pinned memory is ordinary memory that is then locked", &on);
    cuda_host->param(cuda_host->ctx, "PINNED_NUM_REGISTER_THREADS", NDP_PARAM_I64,
                     "threads that touch its pages before: a power of two up to 128", &threads);
    atomic_store(&use_register, on);
    atomic_store(&register_threads, threads);
    snprintf(number, sizeof number, "%lld", (long long)threads);
    const ndh_conf_1 *conf = cuda_host->service(cuda_host->ctx, "ndh.conf/1");
    if (!conf || conf->size < NDP_END(ndh_conf_1, add))
        return;
    (void)conf->add(cuda_host->ctx, "pinned_use_host_register", "true or false",
                    on ? "true" : "false", set_register, NULL);
    (void)conf->add(cuda_host->ctx, "pinned_num_register_threads", "a power of two from 1 to 128",
                    number, set_threads, NULL);
}

int32_t cuda_pinned_settings(cuda_locking *out)
{
    *out = (cuda_locking){atomic_load(&use_register), atomic_load(&register_threads)};
    if (fits(out->threads))
        return NDP_OK;
    return cuda_error(NDP_ERR_ARGUMENT,
                      "NDOCK_CUDA_PINNED_NUM_REGISTER_THREADS is %lld; it has to be a power of two "
                      "from 1 to %d",
                      (long long)out->threads, CUDA_MOST_REGISTER_THREADS);
}
