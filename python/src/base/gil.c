/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * When a call gives the GIL away: where others would wait too long for it, and where the call
 * itself may wait. */
#include "python/src/base/base.h"

/* From so many elements on a call gives the GIL away; for fewer, that costs more than the work. */
enum { UNLOCK_FROM = 1 << 14 };

/* The latest device that was found to queue nothing, which need not be asked again: devices live as
 * long as the process. */
static _Atomic(nd_device *) known_serial;

/* Set by the first copy to the host that nobody waits for: from then on any use of an array there
 * may wait for such a copy, perhaps behind a function of Python's. */
static atomic_bool host_may_wait;

void py_host_may_wait(void)
{
    atomic_store(&host_may_wait, true);
}

bool py_never_waits(nd_device *device)
{
    if (atomic_load_explicit(&host_may_wait, memory_order_relaxed))
        return false;
    if (device == atomic_load_explicit(&known_serial, memory_order_relaxed))
        return true;
    if (py_is_async(device))
        return false;
    atomic_store_explicit(&known_serial, device, memory_order_relaxed);
    return true;
}

PyThreadState *py_unlock(const nd_array *a, int64_t work)
{
    return work < UNLOCK_FROM && py_never_waits(nd_device_of(a)) ? NULL : PyEval_SaveThread();
}
