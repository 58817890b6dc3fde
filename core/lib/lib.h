/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What ties the layers. */
#ifndef NDOCK_CORE_LIB_H
#define NDOCK_CORE_LIB_H
#include "core/ops/ops.h"

/* Makes a fork of this process wait for the locks of lifecycle.def. */
void nd__fork_watch(void);

#endif
