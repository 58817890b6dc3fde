/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Process-wide settings of the exchange: what exports say of order, whether imports keep it, and
 * whether they are compared with their allocation. */
#include "core/interop/interop.h"

static atomic_int policy, sync_on, check_on; /* 0: the environment was not read yet */

static int from_environment(atomic_int *setting, const char *name, const char *const *values, int n,
                            int otherwise)
{
    const char *text = nd__getenv(name);
    int value = 0, unset = 0;
    for (int i = 0; text && i < n; i++)
        if (strcmp(text, values[i]) == 0)
            value = i + 1;
    bool wrong = text && text[0] && !value;
    if (atomic_compare_exchange_strong(setting, &unset, value ? value : otherwise) && wrong)
        nd__log(ND_LOG_WARN, "%s is \"%s\", which is not understood and counts as unset", name,
                text);
    return atomic_load(setting);
}

int32_t nd_cai_export_policy(void)
{
    static const char *const values[] = {"stream", "none", "sync"}; /* ND_CAI_EXPORT_*, from 1 */
    int now = atomic_load_explicit(&policy, memory_order_relaxed);
    return now ? now
               : from_environment(&policy, "NDOCK_CAI_EXPORT", values, 3, ND_CAI_EXPORT_STREAM);
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
    static const char *const values[] = {"1", "0"}; /* ND_CAI_SYNC_ON, _OFF */
    int now = atomic_load_explicit(&sync_on, memory_order_relaxed);
    return now ? now : from_environment(&sync_on, "NDOCK_CAI_SYNC", values, 2, ND_CAI_SYNC_ON);
}

nd_status nd_cai_sync_set(int32_t value)
{
    if (value != ND_CAI_SYNC_ON && value != ND_CAI_SYNC_OFF)
        return nd__fail(ND_ERR_ARGUMENT, "cai_sync_set", 0, "%d is neither on (1) nor off (2)",
                        (int)value);
    atomic_store(&sync_on, value);
    return ND_OK;
}

int32_t nd_cai_check(void)
{
    static const char *const values[] = {"1", "0"}; /* ND_CAI_CHECK_ON, _OFF */
    int now = atomic_load_explicit(&check_on, memory_order_relaxed);
    return now ? now : from_environment(&check_on, "NDOCK_CAI_CHECK", values, 2, ND_CAI_CHECK_OFF);
}

nd_status nd_cai_check_set(int32_t value)
{
    if (value != ND_CAI_CHECK_ON && value != ND_CAI_CHECK_OFF)
        return nd__fail(ND_ERR_ARGUMENT, "cai_check_set", 0, "%d is neither on (1) nor off (2)",
                        (int)value);
    atomic_store(&check_on, value);
    return ND_OK;
}
