/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What groups must hold, for the checks of loading. */
#ifndef NDOCK_TESTS_ABI_LOAD_H
#define NDOCK_TESTS_ABI_LOAD_H
#include "abi.h"

typedef struct {
    const char *id;
    size_t first, end; /* the slots that must not be NULL, as offsets in the table */
} abi_group_rule;
extern const abi_group_rule abi_group_rules[]; /* ends with id NULL */
void abi_check_groups(void);
void abi_check_race(void);
#endif
