/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * When a call gives the GIL away: where others would wait too long for it, and where the call itself
 * may wait. */
#include "python/src/base/base.h"

/* Elements from which a call gives the GIL away: below, that costs more than the work. */
enum { UNLOCK_FROM = 1 << 14 };

/* Devices live as long as the process, so the latest one that queues nothing needs no asking. */
static _Atomic(nd_device *) known_serial;

/* From the first copy on that a device may still be writing to the host, any use of an array there
 * may wait for it, perhaps behind a function of Python's. */
static atomic_bool host_may_wait;

void py_host_may_wait(void)
{
    atomic_store(&host_may_wait, true);
}

PyThreadState *py_unlock(const nd_array *a, int64_t work)
{
    nd_device *device = nd_device_of(a);
    if (work < UNLOCK_FROM) {
        if (atomic_load_explicit(&host_may_wait, memory_order_relaxed))
            return PyEval_SaveThread();
        if (device == atomic_load_explicit(&known_serial, memory_order_relaxed))
            return NULL;
        if (!py_is_async(device)) {
            atomic_store_explicit(&known_serial, device, memory_order_relaxed);
            return NULL;
        }
    }
    return PyEval_SaveThread();
}
