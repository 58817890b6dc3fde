/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The functions of a plug-in as data, and a thunk for each that calls it with words. */
#include "core/plugin/hook/hook.h"

static const struct {
    int family;
    char object;
} kinds[] = {
    [HOOK_KIND_NONE] = {HOOK_IN, 0},
#define HOOK_KIND(NAME, family, object, type) [HOOK_KIND_##NAME] = {HOOK_##family, object},
#include "core/plugin/hook/kind.def"
};

int nd__hook_family(hook_kind kind)
{
    return kinds[kind].family;
}

char nd__hook_object(hook_kind kind)
{
    return kinds[kind].object;
}

const struct hook_table_info nd__hook_tables[HOOK_TABLES] = {
#define HOOK_TABLE(table, type, id) [HOOK_TABLE_##table] = {#table, id, sizeof(type)},
#include "core/plugin/hook/slot.def"
};

typedef struct {
#define HOOK_TABLE(table, type, id) type table;
#include "core/plugin/hook/slot.def"
} types;

/* The i-th word as an argument of kind K. */
#define A(K, i) (hook_##K)(uintptr_t) word[i]
/* The function named, of the table that the thunk is given. */
#define F(t, f) ((const types *)((const char *)table - offsetof(types, t)))->t.f
#define THUNK(t, f) static uint64_t call_##t##_##f(const void *table, const uint64_t *word)
#define VALUE(...)                      \
    {                                   \
        return (uint64_t)(__VA_ARGS__); \
    }
#define NOTHING(...)   \
    {                  \
        (void)word;    \
        (__VA_ARGS__); \
        return 0;      \
    }
#define HOOK_VOID0(t, f) THUNK(t, f) NOTHING(F(t, f)())
#define HOOK_VOID1(t, f, B, b) THUNK(t, f) NOTHING(F(t, f)(A(B, 0)))
#define HOOK_VOID2(t, f, B, b, C, c) THUNK(t, f) NOTHING(F(t, f)(A(B, 0), A(C, 1)))
#define HOOK_VOID3(t, f, B, b, C, c, D, d) THUNK(t, f) NOTHING(F(t, f)(A(B, 0), A(C, 1), A(D, 2)))
#define HOOK_CALL1(t, f, R, B, b) THUNK(t, f) VALUE(F(t, f)(A(B, 0)))
#define HOOK_CALL2(t, f, R, B, b, C, c) THUNK(t, f) VALUE(F(t, f)(A(B, 0), A(C, 1)))
#define HOOK_CALL3(t, f, R, B, b, C, c, D, d) THUNK(t, f) VALUE(F(t, f)(A(B, 0), A(C, 1), A(D, 2)))
#define HOOK_CALL4(t, f, R, B, b, C, c, D, d, E, e) \
    THUNK(t, f) VALUE(F(t, f)(A(B, 0), A(C, 1), A(D, 2), A(E, 3)))
#define HOOK_CALL5(t, f, R, B, b, C, c, D, d, E, e, G, g) \
    THUNK(t, f) VALUE(F(t, f)(A(B, 0), A(C, 1), A(D, 2), A(E, 3), A(G, 4)))
#define HOOK_CALL6(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h) \
    THUNK(t, f) VALUE(F(t, f)(A(B, 0), A(C, 1), A(D, 2), A(E, 3), A(G, 4), A(H, 5)))
#define HOOK_CALL7(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h, I, i) \
    THUNK(t, f) VALUE(F(t, f)(A(B, 0), A(C, 1), A(D, 2), A(E, 3), A(G, 4), A(H, 5), A(I, 6)))
#define HOOK_CALL8(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h, I, i, J, j) \
    THUNK(t, f)                                                             \
    VALUE(F(t, f)(A(B, 0), A(C, 1), A(D, 2), A(E, 3), A(G, 4), A(H, 5), A(I, 6), A(J, 7)))
#include "core/plugin/hook/slot.def"
#include "core/plugin/hook/undef.def"

#define IS_STATUS(R) _Generic((R)0, int32_t : true, default : false)
#define K(NAME, name)           \
    {                           \
        HOOK_KIND_##NAME, #name \
    }
#define ROW(t_, f, count, is_status, ...)                      \
    [HOOK_SLOT_##t_##_##f] = {                                 \
        .table = #t_,                                          \
        .name = #f,                                            \
        .in = HOOK_TABLE_##t_,                                 \
        .offset = offsetof(types, t_.f) - offsetof(types, t_), \
        .n = count,                                            \
        .status = is_status,                                   \
        .arg = {__VA_ARGS__},                                  \
        .call = call_##t_##_##f,                               \
    },
#define HOOK_VOID0(t, f) ROW(t, f, 0, false, {0})
#define HOOK_VOID1(t, f, B, b) ROW(t, f, 1, false, K(B, b))
#define HOOK_VOID2(t, f, B, b, C, c) ROW(t, f, 2, false, K(B, b), K(C, c))
#define HOOK_VOID3(t, f, B, b, C, c, D, d) ROW(t, f, 3, false, K(B, b), K(C, c), K(D, d))
#define HOOK_CALL1(t, f, R, B, b) ROW(t, f, 1, IS_STATUS(R), K(B, b))
#define HOOK_CALL2(t, f, R, B, b, C, c) ROW(t, f, 2, IS_STATUS(R), K(B, b), K(C, c))
#define HOOK_CALL3(t, f, R, B, b, C, c, D, d) ROW(t, f, 3, IS_STATUS(R), K(B, b), K(C, c), K(D, d))
#define HOOK_CALL4(t, f, R, B, b, C, c, D, d, E, e) \
    ROW(t, f, 4, IS_STATUS(R), K(B, b), K(C, c), K(D, d), K(E, e))
#define HOOK_CALL5(t, f, R, B, b, C, c, D, d, E, e, G, g) \
    ROW(t, f, 5, IS_STATUS(R), K(B, b), K(C, c), K(D, d), K(E, e), K(G, g))
#define HOOK_CALL6(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h) \
    ROW(t, f, 6, IS_STATUS(R), K(B, b), K(C, c), K(D, d), K(E, e), K(G, g), K(H, h))
#define HOOK_CALL7(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h, I, i) \
    ROW(t, f, 7, IS_STATUS(R), K(B, b), K(C, c), K(D, d), K(E, e), K(G, g), K(H, h), K(I, i))
#define HOOK_CALL8(t, f, R, B, b, C, c, D, d, E, e, G, g, H, h, I, i, J, j)                   \
    ROW(t, f, 8, IS_STATUS(R), K(B, b), K(C, c), K(D, d), K(E, e), K(G, g), K(H, h), K(I, i), \
        K(J, j))

const hook_slot nd__hook_slots[HOOK_SLOTS] = {
#include "core/plugin/hook/slot.def"
};
