/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * <ndock/op_expand.h> gives each row of op.def of a class that is asked for, once and in order, and
 * with ND_EXPAND_KIND those alone whose domain holds the kind. */
#include <ndock/ndock.h>
#include "tests/tap.h"

#define AS_ID(name, DOMAIN, RESULT, ulp, doc) ND_OP_##name,
#define ND_EXPAND_BINARY ND_EXPAND_BY(AS_ID)
#define ND_EXPAND_SCAN ND_EXPAND_BY(AS_ID)
static const nd_op of_two_classes[] = {
#include <ndock/op_expand.h>
    ND_OP_END};
#define ND_EXPAND_UNARY ND_EXPAND_BY(AS_ID)
static const nd_op listed_bool[] = {
#define ND_EXPAND_KIND 1
#include <ndock/op_expand.h>
    ND_OP_END};
static const nd_op listed_int[] = {
#define ND_EXPAND_KIND 2
#include <ndock/op_expand.h>
    ND_OP_END};
static const nd_op listed_uint[] = {
#define ND_EXPAND_KIND 4
#include <ndock/op_expand.h>
    ND_OP_END};
static const nd_op listed_float[] = {
#define ND_EXPAND_KIND 8
#include <ndock/op_expand.h>
    ND_OP_END};
static const nd_op listed_complex[] = {
#define ND_EXPAND_KIND 16
#include <ndock/op_expand.h>
    ND_OP_END};

/* Whether the list holds the rows of the classes (a mask) whose domain has one of the kinds. */
static void check_list(const nd_op *list, uint64_t classes, int kinds, const char *what)
{
    int at = 0, wrong = 0;
    for (nd_op op = 1; op < ND_OP_END; op++) {
        const nd_op_info *info = nd_op_get(op);
        if (!(classes >> info->op_class & 1) || !(info->domain & kinds))
            continue;
        wrong += list[at] != op;
        at += list[at] != ND_OP_END;
    }
    ok(wrong == 0 && list[at] == ND_OP_END, "the rows %s, %d of them", what, at);
}

static void by_class(void)
{
    const uint64_t two = UINT64_C(1) << ND_CLASS_BINARY | UINT64_C(1) << ND_CLASS_SCAN;
    check_list(of_two_classes, two, 31, "of two classes");
}

static void by_kind(void)
{
    const uint64_t three = UINT64_C(1) << ND_CLASS_UNARY | UINT64_C(1) << ND_CLASS_BINARY |
                           UINT64_C(1) << ND_CLASS_SCAN;
    check_list(listed_bool, three, ND_KIND_BOOL, "of three classes for bool");
    check_list(listed_int, three, ND_KIND_INT, "for signed integers");
    check_list(listed_uint, three, ND_KIND_UINT, "for unsigned integers");
    check_list(listed_float, three, ND_KIND_FLOAT, "for floating dtypes");
    check_list(listed_complex, three, ND_KIND_COMPLEX, "for complex dtypes");
#ifdef ND_EXPAND_KIND
    ok(0, "ND_EXPAND_KIND is left defined");
#endif
}

TAP_MAIN({"by_class", by_class}, {"by_kind", by_kind})
