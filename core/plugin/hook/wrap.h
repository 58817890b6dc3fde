/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the loader knows of hooks. */
#ifndef NDOCK_CORE_HOOK_WRAP_H
#define NDOCK_CORE_HOOK_WRAP_H
#include "core/model/model.h"

/* Puts what NDOCK_HOOK asks for before the functions of table, the core's copy of the table of the
 * plug-in of that name, which lives for good; nothing when NDOCK_HOOK is not set. An error says
 * what is wrong with the NDOCK_HOOK variables: the plug-in is not to be used then, since a test
 * would pass for the wrong reason. */
nd_status nd__hook_plugin(const char *name, ndp_plugin *table);

#endif
