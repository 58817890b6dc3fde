/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The fronts that stand in for a plug-in's functions, one set an instance. */
#include "core/hook/hook.h"

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
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 1
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 2
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 3
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 4
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 5
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 6
#include "core/hook/front_tmpl.h"
#define HOOK_INSTANCE 7
#include "core/hook/front_tmpl.h"

#define INSTANCE(i) [i] = {
#define ANSWERS_GROUPS(i)                   \
    .plugin.group = PASTE(plugin, group, i) \
    }                                       \
    ,
const hook_fronts nd__hook_fronts[HOOK_INSTANCES] = {
    INSTANCE(0)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 0),
#include "core/hook/each.def"
        ANSWERS_GROUPS(0) INSTANCE(1)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 1),
#include "core/hook/each.def"
            ANSWERS_GROUPS(1) INSTANCE(2)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 2),
#include "core/hook/each.def"
                ANSWERS_GROUPS(2) INSTANCE(3)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 3),
#include "core/hook/each.def"
                    ANSWERS_GROUPS(3) INSTANCE(4)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 4),
#include "core/hook/each.def"
                        ANSWERS_GROUPS(4) INSTANCE(5)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 5),
#include "core/hook/each.def"
                            ANSWERS_GROUPS(5) INSTANCE(6)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 6),
#include "core/hook/each.def"
                                ANSWERS_GROUPS(6) INSTANCE(7)
#define HOOK_ID(t, f, ...) .t.f = PASTE(t, f, 7),
#include "core/hook/each.def"
                                    ANSWERS_GROUPS(7)};
