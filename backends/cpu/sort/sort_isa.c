/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sort keys of every dtype that has them, and sorting networks over lanes: what gains from wide
 * registers. Built once per SIMD level. */
#include "sort/part.h"
#include "sort/sort.h"

#define KEYED __attribute__((may_alias))
typedef uint8_t KEYED u8;
typedef uint16_t KEYED u16;
typedef uint32_t KEYED u32;
typedef uint64_t KEYED u64;

#define U u8
#define TYPE(name) name##_8
#define INFINITE 0
#include "sort/keys_tmpl.h"
#define U u8
#define TYPE(name) name##_bool
#define INFINITE 0
#define READ(x) ((x) != 0) /* any byte but 0 is true */
#include "sort/keys_tmpl.h"
#define U u16
#define TYPE(name) name##_16
#define INFINITE 0
#include "sort/keys_tmpl.h"
#define U u32
#define TYPE(name) name##_32
#define INFINITE 0
#include "sort/keys_tmpl.h"
#define U u64
#define TYPE(name) name##_64
#define INFINITE 0
#include "sort/keys_tmpl.h"
#define U u16
#define TYPE(name) name##_f16
#define NARROW
#define INFINITE 0x7c00u
#include "sort/keys_tmpl.h"
#define U u16
#define TYPE(name) name##_bf16
#define NARROW
#define INFINITE 0x7f80u
#include "sort/keys_tmpl.h"
#define U u32
#define TYPE(name) name##_f32
#define INFINITE 0x7f800000u
#include "sort/keys_tmpl.h"
#define U u64
#define TYPE(name) name##_f64
#define INFINITE 0x7ff0000000000000u
#include "sort/keys_tmpl.h"

/* c64 by real, then imaginary part. As NumPy has it, NaN in the imaginary part alone comes after
 * all numbers, then NaN in the real part alone, then in both; within these the other part decides.
 * The keys of infinities leave room above them for the first of the three. */
static void keys_c64(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t *out)
{
    const u32 *x = (const u32 *)a;
    for (int64_t i = 0; i < n; i++) {
        uint64_t re = key_f32(x[2 * i * stride], 0), im = key_f32(x[2 * i * stride + 1], 0);
        int im_alone = im == UINT32_MAX && re != UINT32_MAX;
        out[i] = (im_alone ? (uint64_t)0xff900000 << 32 | re : re << 32 | im) ^ flip;
    }
}

static void range_c64(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t *least,
                      uint64_t *most)
{
    *least = UINT64_MAX;
    *most = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key;
        keys_c64(a + i * stride * 8, 1, 1, flip, &key);
        *least = key < *least ? key : *least;
        *most = key > *most ? key : *most;
    }
}

#define U uint16_t
#define TYPE(name) name##_16
#include "sort/network_tmpl.h"
#define U uint32_t
#define TYPE(name) name##_32
#include "sort/network_tmpl.h"
#define U uint64_t
#define TYPE(name) name##_64
#include "sort/network_tmpl.h"

#define KEYS(kind) .keys = keys_##kind, .range = range_##kind
#define KEYS_INT(kind) KEYS(kind), .load = load_##kind, .store = store_##kind
#define KEYS_FLOAT(kind) KEYS_INT(kind), .restore = restore_##kind
#define KEYS_VALUES(kind)                                                                     \
    KEYS_FLOAT(kind), .load_values = load_values_##kind, .store_values = store_values_##kind, \
                      .restore_values = restore_values_##kind
const sort_table CPU_ISA_FN(sort_table_of) = {
    .between = {[1] = between_8, [2] = between_16, [4] = part_between_32, [8] = part_between_64},
    .words = part_words_32,
    .deal = {[1] = deal_8, [2] = deal_16, [4] = part_deal_32, [8] = part_deal_64},
    .quick = {[4] = quick_32_keys, [8] = quick_64_keys},
    .quick_values = {[4] = quick_f32_values, [8] = quick_f64_values},
    .network = {[2] = network_16, [4] = network_32, [8] = network_64},
    .keys =
        {
            [NDP_BOOL] = {KEYS_INT(bool)},
            [NDP_U8] = {KEYS_INT(8)},
            [NDP_U16] = {KEYS_INT(16)},
            [NDP_U32] = {KEYS_INT(32)},
            [NDP_U64] = {KEYS_INT(64)},
            [NDP_I8] = {KEYS_INT(8), .bias = 0x80},
            [NDP_I16] = {KEYS_INT(16), .bias = 0x8000},
            [NDP_I32] = {KEYS_INT(32), .bias = 0x80000000u},
            [NDP_I64] = {KEYS_INT(64), .bias = (uint64_t)1 << 63},
            [NDP_F16] = {KEYS_FLOAT(f16)},
            [NDP_BF16] = {KEYS_FLOAT(bf16)},
            [NDP_F32] = {KEYS_VALUES(f32)},
            [NDP_F64] = {KEYS_VALUES(f64)},
            [NDP_C64] = {KEYS(c64)},
        },
};
