/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * <ndock/plugin_facts.h> says of dtypes and ops what the library says. */
#include <ndock/ndock.h>
#include <ndock/plugin_facts.h>
#include "tests/tap.h"

static void dtypes(void)
{
    int wrong = 0;
    for (int32_t d = 1; d < NDP_DTYPE_END; d++) {
        const nd_dtype_info *info = nd_dtype_get(d);
        wrong += !ndp_dtype_known(d) || ndp_dtype_size(d) != info->nbytes ||
                 ndp_dtype_kind(d) != info->kind || strcmp(ndp_dtype_name(d), info->name) != 0;
    }
    is_int(wrong, 0, "every dtype has its size, kind and name");
    ok(!ndp_dtype_known(0) && !ndp_dtype_known(NDP_DTYPE_END) && !ndp_dtype_known(-1),
       "others are not known");
    is_int(ndp_dtype_kind(NDP_DTYPE_END), 0, "and have no kind");
    is_str(ndp_dtype_name(-1), "?", "and no name");
    ok(ndp_dtypes_of_kinds(NDP_KIND_BOOL | NDP_KIND_COMPLEX) ==
           (1u << NDP_BOOL | 1u << NDP_C64 | 1u << NDP_C128),
       "dtypes of two kinds");
}

static void ops(void)
{
    int wrong = 0;
    for (int32_t op = 1; op < NDP_OP_END; op++) {
        const nd_op_info *info = nd_op_get(op);
        wrong += !ndp_op_known(op) || strcmp(ndp_op_name(op), info->name) != 0 ||
                 ndp_op_class(op) != info->op_class || ndp_op_domain(op) != info->domain ||
                 ndp_op_result(op) != info->result || ndp_op_dtypes(op) != nd_op_dtypes(op);
    }
    is_int(wrong, 0, "every op has its name, class, domain, result and dtypes");
    ok(!ndp_op_known(NDP_OP_NONE) && !ndp_op_known(NDP_OP_END) && !ndp_op_known(NDP_OP_RUNTIME),
       "others are not known");
    is_int(ndp_op_class(NDP_OP_RUNTIME), 0, "and have no class");
    is_str(ndp_op_name(NDP_OP_RUNTIME), "operation", "and no name of their own");
    is_int((long long)ndp_op_dtypes(NDP_OP_END), 0, "and are legal for nothing");
}

static void results(void)
{
    is_int(ndp_result_dtype(NDP_OP_add, NDP_U8), NDP_U8, "u8 + u8");
    is_int(ndp_result_dtype(NDP_OP_less, NDP_F64), NDP_BOOL, "f64 < f64");
    is_int(ndp_result_dtype(NDP_OP_abs, NDP_C128), NDP_F64, "abs of c128");
    is_int(ndp_result_dtype(NDP_OP_abs, NDP_I8), NDP_I8, "abs of i8");
    is_int(ndp_result_dtype(NDP_OP_argmax, NDP_F32), NDP_I64, "argmax");
    is_int(ndp_result_dtype(NDP_OP_sum, NDP_BOOL), NDP_I64, "sum of bool");
    is_int(ndp_result_dtype(NDP_OP_sum, NDP_U16), NDP_U64, "sum of u16");
    is_int(ndp_result_dtype(NDP_OP_sum, NDP_BF16), NDP_BF16, "sum of bf16");
    is_int(ndp_result_dtype(NDP_OP_copy, NDP_F32), NDP_F32, "copy, whose destination says");
}

static void views(void)
{
    const int64_t shape[3] = {2, 3, 4};
    ndp_view v = {.dtype = NDP_F32, .ndim = 3, .shape = shape};
    const ndp_call with = {.n_in = 1, .n_out = 1, .in = &v, .out = &(ndp_view){.dtype = NDP_I64}};
    const ndp_call without = {.n_out = 1, .out = &(ndp_view){.dtype = NDP_U8}};
    is_int(ndp_view_size(&v), 24, "elements of a view");
    v.ndim = 0;
    is_int(ndp_view_size(&v), 1, "of one without dimensions");
    is_int((long long)ndp_magnitude(-8), 8, "a stride backwards");
    is_int((long long)ndp_magnitude(8), 8, "and forwards");
    ok(ndp_magnitude(INT64_MIN) == (uint64_t)1 << 63, "the longest stride backwards");
    is_int(ndp_call_dtype(&with), NDP_F32, "the dtype of a call's first input");
    is_int(ndp_call_dtype(&without), NDP_U8, "or of its output");
}

TAP_MAIN({"dtypes", dtypes}, {"ops", ops}, {"results", results}, {"views", views})
