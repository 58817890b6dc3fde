/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What groups must hold, and the checks of loading that have files of their own. */
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
void abi_check_host_truncated(void);
void abi_check_host_extended(void);
void abi_check_host_constant(void);
void abi_check_no_services(void);
#endif
