/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Another plug-in's group "ndp.fused/1" with a defect. */
#ifndef TESTS_KIT_FUSED_H
#define TESTS_KIT_FUSED_H
#include <ndock/plugin.h>

/* The group around inner; defect is NULL, "fused_scalar" or "fused_result". */
const ndp_fused_1 *defective_fused(const ndp_host *host, const ndp_fused_1 *inner,
                                   const char *defect);
#endif
