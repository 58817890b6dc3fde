/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program's module and its functions, for code.c, which makes them, and launch.c, which runs them. */
#ifndef NDOCK_CORE_CODE_H
#define NDOCK_CORE_CODE_H
#include "core/run/run.h"

struct nd_function {
    nd_function *next;
    nd_module *module;
    ndp_function *handle;
    ndp_code_limits limits;
    const char *name; /* immortal, for fault reports */
};
struct nd_module {
    atomic_int refs;
    atomic_bool launched;
    nd_device *device;
    ndp_module *handle;
    nd_function *functions; /* under the lock; added to alone */
    char *name;
    /* Of nd_module_get: what it was made of, and the next one. */
    nd_module *next;
    int32_t kind;
    void *code;
    size_t nbytes;
    char *options;
};
#endif
