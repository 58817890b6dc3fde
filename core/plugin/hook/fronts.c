/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The fronts that stand in for a plug-in's functions, one set an instance. */
#include "core/plugin/hook/hook.h"

#define PASTE(t, f, i) front_##t##_##f##_##i
#define PASTE_VALUE(t, f, i) PASTE(t, f, i)
#define NAME(t, f) PASTE_VALUE(t, f, HOOK_INSTANCE)
#define FRONT(R, t, f) static R NAME(t, f)
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
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 1
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 2
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 3
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 4
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 5
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 6
#include "core/plugin/hook/front_tmpl.h"
#define HOOK_INSTANCE 7
#include "core/plugin/hook/front_tmpl.h"

#define FRONTS(i) &PASTE(all, fronts, i)
const hook_fronts *const nd__hook_fronts[HOOK_INSTANCES] = {
    FRONTS(0), FRONTS(1), FRONTS(2), FRONTS(3), FRONTS(4), FRONTS(5), FRONTS(6), FRONTS(7)};
