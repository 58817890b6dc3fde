/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Checks of the groups around memory. */
#ifndef NDOCK_TESTS_ABI_MAP_H
#define NDOCK_TESTS_ABI_MAP_H
#include "abi.h"

void abi_check_map(void);
void abi_check_wrap(void);
void abi_check_pin(void);
void abi_check_register(void);
void abi_check_pool(void);
void abi_check_reserve(void);
#endif
