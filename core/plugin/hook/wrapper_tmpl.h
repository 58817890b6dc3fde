/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The wrappers of instance HOOK_INSTANCE: one function for each of slot.def, which passes its
 * arguments on as words, and their table. Deliberately no include guard. */
#define HOOK_VOID0(t, f) WRAPPER(void, t, f)(void) PASS_ON(t, f, 0)
#define HOOK_VOID1(t, f, B, b) WRAPPER(void, t, f)(hook_##B b) PASS_ON(t, f, W(b))
#define HOOK_VOID2(t, f, B, b, C, c) \
    WRAPPER(void, t, f)(hook_##B b, hook_##C c) PASS_ON(t, f, W(b), W(c))
#define HOOK_VOID3(t, f, B, b, C, c, D, d) \
    WRAPPER(void, t, f)(hook_##B b, hook_##C c, hook_##D d) PASS_ON(t, f, W(b), W(c), W(d))
#define HOOK_CALL1(t, f, R, B, b) WRAPPER(R, t, f)(hook_##B b) ANSWER(R, t, f, W(b))
#define HOOK_CALL2(t, f, R, B, b, C, c) \
    WRAPPER(R, t, f)(hook_##B b, hook_##C c) ANSWER(R, t, f, W(b), W(c))
#define HOOK_CALL3(t, f, R, B, b, C, c, D, d) \
    WRAPPER(R, t, f)(hook_##B b, hook_##C c, hook_##D d) ANSWER(R, t, f, W(b), W(c), W(d))
#define HOOK_CALL4(t, f, R, B, b, C, c, D, d, E, e) \
    WRAPPER(R, t, f)                                \
    (hook_##B b, hook_##C c, hook_##D d, hook_##E e) ANSWER(R, t, f, W(b), W(c), W(d), W(e))
#define HOOK_CALL5(t, f, R, B, b, C, c, D, d, E, e, G, g)        \
    WRAPPER(R, t, f)                                             \
    (hook_##B b, hook_##C c, hook_##D d, hook_##E e, hook_##G g) \
        ANSWER(R, t, f, W(b), W(c), W(d), W(e), W(g))
#define HOOK_CALL6(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h)              \
    WRAPPER(R, t, f)                                                         \
    (hook_##B b, hook_##C c, hook_##D d, hook_##E e, hook_##G g, hook_##H h) \
        ANSWER(R, t, f, W(b), W(c), W(d), W(e), W(g), W(h))
#define HOOK_CALL7(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h, I, i)                    \
    WRAPPER(R, t, f)                                                                     \
    (hook_##B b, hook_##C c, hook_##D d, hook_##E e, hook_##G g, hook_##H h, hook_##I i) \
        ANSWER(R, t, f, W(b), W(c), W(d), W(e), W(g), W(h), W(i))
#define HOOK_CALL8(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h, I, i, J, j)              \
    WRAPPER(R, t, f)                                                                     \
    (hook_##B b, hook_##C c, hook_##D d, hook_##E e, hook_##G g, hook_##H h, hook_##I i, \
     hook_##J j) ANSWER(R, t, f, W(b), W(c), W(d), W(e), W(g), W(h), W(i), W(j))
#include "core/plugin/hook/slot.def"
#include "core/plugin/hook/undef.def"

static const void *NAME(plugin, group)(ndp_dev *dev, const char *id)
{
    return nd__hook_group(HOOK_INSTANCE, dev, id);
}

static const hook_wrappers NAME(all, wrappers) = {
#define HOOK_ID(t, f, ...) .t.f = NAME(t, f),
#include "core/plugin/hook/each.def"
    .plugin.group = NAME(plugin, group)};
#undef HOOK_INSTANCE
