/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The wrappers that stand in for a plug-in's functions, one set an instance. */
#include "core/plugin/hook/hook.h"

#define PASTE(t, f, i) wrapper_##t##_##f##_##i
#define PASTE_VALUE(t, f, i) PASTE(t, f, i)
#define NAME(t, f) PASTE_VALUE(t, f, HOOK_INSTANCE)
#define WRAPPER(R, t, f) static R NAME(t, f)
#define W(x) (uint64_t)(uintptr_t)(x)
#define HOOKED(t, f, ...) \
    nd__hook_call(HOOK_INSTANCE, HOOK_SLOT_##t##_##f, (uint64_t[]){__VA_ARGS__})
#define PASS_ON(...)               \
    {                              \
        (void)HOOKED(__VA_ARGS__); \
    }
#define ANSWER(R, ...)                 \
    {                                  \
        return (R)HOOKED(__VA_ARGS__); \
    }

#define HOOK_INSTANCE 0
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 1
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 2
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 3
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 4
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 5
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 6
#include "core/plugin/hook/wrapper_tmpl.h"
#define HOOK_INSTANCE 7
#include "core/plugin/hook/wrapper_tmpl.h"

#define WRAPPERS(i) &PASTE(all, wrappers, i)
const hook_wrappers *const nd__hook_wrappers[HOOK_INSTANCES] = {
    WRAPPERS(0), WRAPPERS(1), WRAPPERS(2), WRAPPERS(3),
    WRAPPERS(4), WRAPPERS(5), WRAPPERS(6), WRAPPERS(7)};
