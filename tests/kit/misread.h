/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels that misread the parameters of their class. */
#ifndef TESTS_KIT_MISREAD_H
#define TESTS_KIT_MISREAD_H
#include <ndock/plugin.h>

/* The call as a plug-in with that defect reads it: other is it, or the call where the defect is not
 * of its operation. params has room for the parameters of any class. */
enum { MISREAD_ROOM = 256 };
const ndp_call *misread(const char *defect, const ndp_call *call, ndp_call *other, void *params);
#endif
