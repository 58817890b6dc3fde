/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the mock of defect.c and its test share: a write of this many bytes, where the defect is
 * "slow", tells that it has begun and ends when it is let out. */
#ifndef TESTS_HOOK_DEFECT_H
#define TESTS_HOOK_DEFECT_H
#include <stdatomic.h>

typedef struct {
    atomic_int inside, open;
} defect_gate;

#endif
