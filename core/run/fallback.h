/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Accounts of what fell back: calls, bytes and time by operation, dtypes, device and reason. */
#ifndef NDOCK_CORE_FALLBACK_H
#define NDOCK_CORE_FALLBACK_H
#include "core/run/run.h"

/* Of one operation on its way through the ladder. */
typedef struct {
    uint64_t since_ns, moved_before;
} nd_fallback_clock;
nd_fallback_clock nd__fallback_begin(void);
/* It took this rung. call: NULL for an operation of a program's, whose name lives for good. */
void nd__fallback_end(const nd_fallback_clock *clock, int32_t rung, const nd_device *device,
                      const char *op, const ndp_call *call, const char *why);
/* Starts what NDOCK_FALLBACK_REPORT asks for, once. */
nd_status nd__fallback_from_environment(void);
void nd__fork_fallback(nd_fork now);

#endif
