/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Process-wide settings of the exchange: what exports say of order, whether imports keep it, and
 * whether they are compared with their allocation. */
#include "core/interop/interop.h"
#include "core/base/env.h"

static atomic_int policy, sync_on, check_on; /* 0: the environment was not read yet */

/* The first to read the environment wins. */
static int settle(atomic_int *setting, int value)
{
    int unset = 0;
    (void)atomic_compare_exchange_strong(setting, &unset, value);
    return atomic_load(setting);
}

/* On is 1, off is 2, for all settings of that kind. */
static int32_t is_on(atomic_int *setting, nd_env variable)
{
    int now = atomic_load_explicit(setting, memory_order_relaxed);
    return now ? now : settle(setting, nd__env_bool(variable) ? ND_CAI_SYNC_ON : ND_CAI_SYNC_OFF);
}

static nd_status turn(const char *op, atomic_int *setting, int32_t value)
{
    if (value != ND_CAI_SYNC_ON && value != ND_CAI_SYNC_OFF)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "%d is neither on (1) nor off (2)", (int)value);
    atomic_store(setting, value);
    return ND_OK;
}

int32_t nd_cai_export_policy(void)
{
    int now = atomic_load_explicit(&policy, memory_order_relaxed);
    return now ? now : settle(&policy, 1 + nd__env_choice(ND_ENV_CAI_EXPORT)); /* ND_CAI_EXPORT_* */
}

nd_status nd_cai_export_policy_set(int32_t value)
{
    if (value < ND_CAI_EXPORT_STREAM || value > ND_CAI_EXPORT_SYNC)
        return nd__fail(ND_ERR_ARGUMENT, "cai_export_policy_set", 0,
                        "%d is no policy: stream is 1, none 2, sync 3", (int)value);
    atomic_store(&policy, value);
    return ND_OK;
}

int32_t nd_cai_sync(void)
{
    return is_on(&sync_on, ND_ENV_CAI_SYNC);
}
nd_status nd_cai_sync_set(int32_t value)
{
    return turn("cai_sync_set", &sync_on, value);
}

int32_t nd_cai_check(void)
{
    return is_on(&check_on, ND_ENV_CAI_CHECK);
}
nd_status nd_cai_check_set(int32_t value)
{
    return turn("cai_check_set", &check_on, value);
}
