/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests ask of the plug-in served.c: group "test.served/1". Each function gives 0, or the
 * number of the step that went wrong. */
#ifndef NDOCK_TESTS_SERVED_H
#define NDOCK_TESTS_SERVED_H
#include <ndock/plugin.h>

typedef struct {
    uint32_t size, zero;
    int32_t (*plans)(ndp_dev *);
    int32_t (*kernels)(ndp_dev *);
    int32_t (*workspaces)(ndp_dev *);
    int32_t (*others)(ndp_dev *);
} served_1;
#endif
