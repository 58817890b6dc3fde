/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A kernel allocates nothing when it runs. One run in which the heap grows may be another thread's
 * doing; a long row of them, each of which grows, is the kernel's. Where work is queued, a run may
 * leave its record behind until it is done, so that only devices that do not queue are looked
 * at. */
#include <malloc.h>
#include "core/plugin/hook/check.h"

enum { ROW = 256 };

/* Bytes of malloc in use; 0 where that cannot be told. */
static uint64_t heap_bytes(void)
{
#if defined(__GLIBC_PREREQ) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
#endif
    return 0;
}

void nd__hook_growth_enter(hook_call *c)
{
    const bool looks =
        c->id == HOOK_SLOT_kernel_run && c->dev && !(c->dev->info.flags & NDP_DEV_ASYNC);
    c->heap = looks ? heap_bytes() : 0;
}

bool nd__hook_check_growth(hook_call *c)
{
    const uint64_t now = c->heap ? heap_bytes() : 0;
    if (!c->heap || (int32_t)c->result != NDP_OK)
        return false;
    if (now <= c->heap) {
        atomic_store(&c->kernel->grown, 0);
        return false;
    }
    return atomic_fetch_add(&c->kernel->grown, 1) + 1 == ROW &&
           nd__hook_violated(c, "growth",
                             "each of its latest %d runs has left more memory of malloc in use, "
                             "the last one %llu bytes",
                             ROW, (unsigned long long)(now - c->heap));
}
