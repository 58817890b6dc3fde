/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The loader as it will be at major 1, where minors need not be equal, for the test of how tables
 * grow: the same source, with another entry and major for all plug-ins but the CPU's. */
#include "core/ops/ops.h"

static const char *entry_of(const nd_plugin_slot *slot)
{
    return strcmp(slot->name, "cpu") == 0 ? "ndock_plugin_entry_0" : "ndock_plugin_entry_1";
}

static int major_of(const nd_plugin_slot *slot)
{
    return strcmp(slot->name, "cpu") == 0 ? 0 : 1;
}
#undef NDP_ENTRY
#undef NDP_ABI_MAJOR
#define NDP_ENTRY entry_of(slot)
#define NDP_ABI_MAJOR major_of(slot)
#include "core/plugin/loader.c"
