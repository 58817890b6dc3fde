/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Promotion: the whole table, written out; weak scalars; dtypes and ops by name.
 * Source: Python array API standard 2025.12, type promotion; the mixed kinds as dtype.h says. */
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { N = ND_DTYPE_END - 1 };
static const char *const names[N] = {"bool", "i8",  "i16",  "i32",     "i64",    "u8",
                                     "u16",  "u32", "u64",  "f16",     "bf16",   "f32",
                                     "f64",  "c64", "c128", "f8_e4m3", "f8_e5m2"};
/* Rows and columns in the order of names; "-" is ND_ERR_DTYPE. */
static const char *const table[N][N] = {
    {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
     "c64", "c128", "f8_e4m3", "f8_e5m2"},
    {"i8", "i8", "i16", "i32", "i64", "i16", "i32", "i64", "-", "f16", "bf16", "f32", "f64", "c64",
     "c128", "-", "-"},
    {"i16", "i16", "i16", "i32", "i64", "i16", "i32", "i64", "-", "f16", "bf16", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"i32", "i32", "i32", "i32", "i64", "i32", "i32", "i64", "-", "f16", "bf16", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "-", "f16", "bf16", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"u8", "i16", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"u16", "i32", "i32", "i32", "i64", "u16", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"u32", "i64", "i64", "i64", "i64", "u32", "u32", "u32", "u64", "f16", "bf16", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"u64", "-", "-", "-", "-", "u64", "u64", "u64", "u64", "f16", "bf16", "f32", "f64", "c64",
     "c128", "-", "-"},
    {"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32",
     "f64", "c64", "c128", "-", "-"},
    {"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64",
     "c64", "c128", "-", "-"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64",
     "c128", "c128", "-", "-"},
    {"c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c64", "c128",
     "c64", "c128", "-", "-"},
    {"c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128", "c128",
     "c128", "c128", "c128", "-", "-"},
    {"f8_e4m3", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "f8_e4m3",
     "-"},
    {"f8_e5m2", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-",
     "f8_e5m2"},
};

static void pairs(void)
{
    nd_dtype got;
    for (int a = 1; a <= N; a++)
        for (int b = 1; b <= N; b++) {
            const char *want = table[a - 1][b - 1];
            nd_status status = nd_promote(a, b, &got);
            const char *have = status == ND_OK ? nd_dtype_name(got) : "-";
            ok(strcmp(have, want) == 0 && (status == ND_OK || status == ND_ERR_DTYPE),
               "%s with %s is %s (%s)", names[a - 1], names[b - 1], want, have);
        }
    is_int(nd_promote(0, ND_F32, &got), ND_ERR_DTYPE, "0 is no dtype");
    is_int(nd_promote(ND_F32, ND_DTYPE_END, &got), ND_ERR_DTYPE, "nor is one beyond the end");
    is_str(nd_dtype_name(nd_default_float()), "f64", "the default float");
}

static void scalar_gives(nd_dtype array, nd_scalar s, nd_dtype want, const char *what)
{
    nd_array *a = NULL, *r = NULL;
    nd_status status = nd_zeros(NULL, array, 0, NULL, &a);
    if (status == ND_OK)
        status = nd_multiply_scalar(a, s, &r);
    ok(status == ND_OK && nd_dtype_of(r) == want, "%s array with %s gives %s (%s)",
       nd_dtype_name(array), what, nd_dtype_name(want),
       status == ND_OK ? nd_dtype_name(nd_dtype_of(r)) : nd_last_error()->message);
    nd_release(a);
    nd_release(r);
}

static void weak_scalars(void)
{
    for (nd_dtype d = ND_I8; d <= N; d++) {
        if (!(nd_op_dtypes(ND_OP_multiply) >> d & 1))
            continue;
        int kind = nd_dtype_get(d)->kind;
        nd_dtype with_float = kind & (ND_KIND_INT | ND_KIND_UINT) ? ND_F64 : d;
        nd_dtype with_complex = kind == ND_KIND_COMPLEX                              ? d
                                : d == ND_F64 || kind & (ND_KIND_INT | ND_KIND_UINT) ? ND_C128
                                                                                     : ND_C64;
        scalar_gives(d, nd_bool(1), d, "a bool");
        scalar_gives(d, nd_int(3), d, "an int");
        scalar_gives(d, nd_uint(3), d, "an unsigned");
        scalar_gives(d, nd_float(0.5), with_float, "a float");
        scalar_gives(d, nd_complex(0, 1), with_complex, "a complex");
    }
    scalar_gives(ND_BOOL, nd_bool(1), ND_BOOL, "a bool");
    scalar_gives(ND_BOOL, nd_int(3), ND_I64, "an int");
    scalar_gives(ND_BOOL, nd_float(3), ND_F64, "a float");
    scalar_gives(ND_BOOL, nd_complex(3, 1), ND_C128, "a complex");
}

/* The element that a scalar becomes, as bits; -1 where it is refused as too large. */
static long long bits_of(nd_dtype dtype, nd_scalar s)
{
    long long bits = 0;
    nd_array *a = NULL;
    nd_status status = nd_full(NULL, dtype, 0, NULL, s, &a);
    if (status == ND_OK)
        status = nd_to_host(a, &bits, nd_dtype_size(dtype));
    nd_release(a);
    return status == ND_OK ? bits : status == ND_ERR_OVERFLOW ? -1 : -2;
}

/* By hand: ties to even, rounded once, and the largest values that still round into the format. */
static void rounded_scalars(void)
{
    static const struct {
        nd_dtype dtype;
        double x;
        long long bits;
    } floats[] = {
        {ND_F16, 1 + 0x1p-11, 0x3c00},
        {ND_F16, 1 + 3 * 0x1p-11, 0x3c02},
        {ND_F16, 1 + 0x1p-11 + 0x1p-40, 0x3c01},
        {ND_F16, -(1 + 0x1p-11), 0xbc00},
        {ND_F16, 0x1p-25, 0},
        {ND_F16, 0x1p-25 + 0x1p-60, 1},
        {ND_F16, 3 * 0x1p-25, 2},
        {ND_F16, 0x1.ffcp15, 0x7bff},
        {ND_F16, 0x1.ffdffffp15, 0x7bff},
        {ND_F16, 0x1.ffep15, -1},
        {ND_F16, -0x1.ffep15, -1},
        {ND_F16, INFINITY, 0x7c00},
        {ND_BF16, 1 + 0x1p-8, 0x3f80},
        {ND_BF16, 1 + 3 * 0x1p-8, 0x3f82},
        {ND_BF16, 1 + 0x1p-8 + 0x1p-40, 0x3f81},
        {ND_BF16, 0x1p-134, 0},
        {ND_BF16, 3 * 0x1p-134, 2},
        {ND_BF16, 0x1.fefffffp127, 0x7f7f},
        {ND_BF16, 0x1.ffp127, -1},
        {ND_F8_E5M2, 1 + 0x1p-3, 0x3c},
        {ND_F8_E5M2, 1 + 0x1p-3 + 0x1p-40, 0x3d},
        {ND_F8_E5M2, -3 * 0x1p-17, 0x82},
        {ND_F8_E5M2, 0x1.dfffp15, 0x7b},
        {ND_F8_E5M2, 0x1.ep15, -1},
        {ND_F8_E4M3, 1 + 0x1p-4, 0x38},
        {ND_F8_E4M3, -3 * 0x1p-10, 0x82},
        {ND_F8_E4M3, 464, 0x7e},
        {ND_F8_E4M3, 464.5, -1},
        {ND_F32, 1 + 0x1p-24, 0x3f800000},
        {ND_F32, 1 + 3 * 0x1p-24, 0x3f800002},
        {ND_F32, 1 + 0x1p-24 + 0x1p-52, 0x3f800001},
        {ND_F32, 0x1p-150, 0},
        {ND_F32, 0x1.0000000000001p-150, 1},
        {ND_F32, 0x1.fffffep127, 0x7f7fffff},
        {ND_F32, 0x1.fffffe8p127, 0x7f7fffff},
        {ND_F32, 0x1.fffffefffffffp127, 0x7f7fffff},
        {ND_F32, 0x1.ffffffp127, -1},
        {ND_F32, -0x1.fffffe8p127, 0xff7fffff},
        {ND_F32, -0x1.ffffffp127, -1},
        {ND_F32, -INFINITY, 0xff800000},
        {ND_F32, -0.0, 0x80000000},
    };
    static const struct {
        nd_dtype dtype;
        int64_t x;
        long long bits;
    } integers[] = {
        {ND_F16, 2049, 0x6800},
        {ND_F16, 2051, 0x6802},
        {ND_F16, 65519, 0x7bff},
        {ND_F16, 65520, -1},
        {ND_BF16, 257, 0x4380},
        {ND_BF16, (INT64_C(1) << 54) + (INT64_C(1) << 46), 0x5a80},
        {ND_BF16, (INT64_C(1) << 54) + (INT64_C(1) << 46) + 1, 0x5a81},
        {ND_F32, (1 << 24) + 1, 0x4b800000},
        {ND_F32, (1 << 24) + 3, 0x4b800002},
        {ND_F32, (INT64_C(1) << 60) + (INT64_C(1) << 36), 0x5d800000},
        {ND_F32, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1, 0x5d800001},
        {ND_F32, -(INT64_C(1) << 60) - (INT64_C(1) << 36) - 1, 0xdd800001},
        {ND_F32, INT64_MIN, 0xdf000000},
        {ND_F64, (INT64_C(1) << 53) + 1, 0x4340000000000000},
        {ND_F64, (INT64_C(1) << 53) + 3, 0x4340000000000002},
        {ND_F64, (INT64_C(1) << 60) + (INT64_C(1) << 7), 0x43b0000000000000},
    };
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        long long got = bits_of(floats[i].dtype, nd_float(floats[i].x));
        ok(got == floats[i].bits, "%a as %s: %llx (%llx)", floats[i].x,
           nd_dtype_name(floats[i].dtype), got, floats[i].bits);
    }
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        long long got = bits_of(integers[i].dtype, nd_int(integers[i].x));
        ok(got == integers[i].bits, "%lld as %s: %llx (%llx)", (long long)integers[i].x,
           nd_dtype_name(integers[i].dtype), got, integers[i].bits);
    }
    is_int(bits_of(ND_C64, nd_complex(0x1.fffffe8p127, -0x1.fffffe8p127)),
           (long long)UINT64_C(0xff7fffff7f7fffff), "both parts of c64");
    is_int(bits_of(ND_C64, nd_complex(0, 0x1.ffffffp127)), -1, "an imaginary part beyond c64");
    is_int(bits_of(ND_I32, nd_complex(3, 0)), 3, "a complex integer as i32");
    is_int(bits_of(ND_I32, nd_complex(3, 1)), -1, "but none with an imaginary part");
    is_int(bits_of(ND_U8, nd_complex(3, -0x1p-1074)), -1, "however small");
}

static void by_name(void)
{
    static const nd_op listed[] = {
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) ND_OP_##name,
#include <ndock/op.def>
    };
    nd_dtype d;
    int wrong = 0;
    for (nd_dtype i = 1; i <= N; i++) {
        const nd_dtype_info *info = nd_dtype_get(i);
        is_str(info->name, names[i - 1], "the name of a dtype");
        ok(nd_dtype_parse(info->name, &d) == ND_OK && d == i, "%s is parsed", info->name);
        ok(nd_dtype_parse(info->standard, &d) == ND_OK && d == i, "%s is parsed", info->standard);
        is_int(nd_dtype_size(i), info->nbytes, "its size");
    }
    is_int(nd_dtype_parse("f31", &d), ND_ERR_DTYPE, "f31 is no dtype");
    has_text(nd_last_error()->message, "f31", "and the message says so");
    has_text(nd_last_error()->message, "bf16", "and lists what there is");
    ok(!nd_dtype_get(0) && !nd_dtype_get(ND_DTYPE_END) && !nd_dtype_get(-1),
       "no information beyond the ends");
    is_str(nd_dtype_name(77), "?", "the name of none");
    is_int(nd_dtype_size(77), 0, "the size of none");
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++) {
        const nd_op_info *info = nd_op_get(listed[i]);
        wrong += !info || info->op != listed[i] || nd_op_find(info->name) != listed[i];
    }
    is_int(wrong, 0, "every op is found by id and by name");
    ok(!nd_op_get(0) && !nd_op_get(-1) && !nd_op_get(ND_OP_END) && !nd_op_get(ND_OP_RUNTIME + 4095),
       "no op beyond the ends");
    is_int(nd_op_find("no_such_op"), ND_OP_NONE, "no op of another name");
}

TAP_MAIN({"pairs", pairs}, {"weak_scalars", weak_scalars}, {"rounded_scalars", rounded_scalars},
         {"by_name", by_name})
