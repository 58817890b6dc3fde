/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Searches of every real dtype in a sorted row of the same, and in one of f64. Built once per SIMD
 * level. */
#include <math.h>
#include "math/half.h"
#include "index/search.h"

#define SEARCH_BATCH 16
#define SAME(x) (x)
#define TRUE(x) ((x) != 0) /* any byte but 0 */

/* ---- the row has the values' dtype ---- */
#define T uint8_t
#define S uint8_t
#define C uint8_t
#define R double
#define VALUE TRUE
#define SORTED TRUE
#define FLOATING 0
#define FN(name) name##_bool
#include "index/search_tmpl.h"
#define T int8_t
#define S int8_t
#define C int8_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_i8
#include "index/search_tmpl.h"
#define T int16_t
#define S int16_t
#define C int16_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_i16
#include "index/search_tmpl.h"
#define T int32_t
#define S int32_t
#define C int32_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_i32
#include "index/search_tmpl.h"
#define T int64_t
#define S int64_t
#define C int64_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_i64
#include "index/search_tmpl.h"
#define T uint8_t
#define S uint8_t
#define C uint8_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_u8
#include "index/search_tmpl.h"
#define T uint16_t
#define S uint16_t
#define C uint16_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_u16
#include "index/search_tmpl.h"
#define T uint32_t
#define S uint32_t
#define C uint32_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_u32
#include "index/search_tmpl.h"
#define T uint64_t
#define S uint64_t
#define C uint64_t
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 0
#define FN(name) name##_u64
#include "index/search_tmpl.h"
#define T uint16_t
#define S uint16_t
#define C float
#define R float
#define VALUE cpu_f16_to_f32
#define SORTED cpu_f16_to_f32
#define FLOATING 1
#define FN(name) name##_f16
#include "index/search_tmpl.h"
#define T uint16_t
#define S uint16_t
#define C float
#define R float
#define VALUE cpu_bf16_to_f32
#define SORTED cpu_bf16_to_f32
#define FLOATING 1
#define FN(name) name##_bf16
#include "index/search_tmpl.h"
#define T float
#define S float
#define C float
#define R float
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_f32
#include "index/search_tmpl.h"
#define T double
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_f64
#include "index/search_tmpl.h"

/* ---- the row is f64 ---- */
#define T uint8_t
#define S double
#define C double
#define R double
#define VALUE TRUE
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_bool_in_f64
#include "index/search_tmpl.h"
#define T int8_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_i8_in_f64
#include "index/search_tmpl.h"
#define T int16_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_i16_in_f64
#include "index/search_tmpl.h"
#define T int32_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_i32_in_f64
#include "index/search_tmpl.h"
#define T int64_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_i64_in_f64
#include "index/search_tmpl.h"
#define T uint8_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_u8_in_f64
#include "index/search_tmpl.h"
#define T uint16_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_u16_in_f64
#include "index/search_tmpl.h"
#define T uint32_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_u32_in_f64
#include "index/search_tmpl.h"
#define T uint64_t
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_u64_in_f64
#include "index/search_tmpl.h"
#define T uint16_t
#define S double
#define C double
#define R double
#define VALUE cpu_f16_to_f32
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_f16_in_f64
#include "index/search_tmpl.h"
#define T uint16_t
#define S double
#define C double
#define R double
#define VALUE cpu_bf16_to_f32
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_bf16_in_f64
#include "index/search_tmpl.h"
#define T float
#define S double
#define C double
#define R double
#define VALUE SAME
#define SORTED SAME
#define FLOATING 1
#define FN(name) name##_f32_in_f64
#include "index/search_tmpl.h"

/* For an integer x and a number e, e <= x where ceil(e) <= x: integers of 64 bits are compared as they are. Where ends
 * of the row are that large that integers beside them are rounded, the rounded ones are compared. */
static int64_t outside_whole(const search_row *w, const char *values, int64_t m)
{
    const double *a = (const double *)(const void *)w->sorted;
    const int64_t *x = (const int64_t *)(const void *)values;
    const double low = ceil(a[0]), high = ceil(a[(w->n - 1) * w->stride]);
    int64_t behind = 0, begun = 0;
    if (!(low >= -0x1p53 && high <= 0x1p53))
        return outside_i64_in_f64(w, values, m);
    const int64_t first = (int64_t)low, last = (int64_t)high;
    for (int64_t i = 0; i < m; i++) {
        behind += x[i] >= last;
        begun += x[i] >= first;
    }
    return begun == behind ? behind : -1;
}

#define FUNCTIONS(kind)                                                                 \
    .outside = outside_##kind, .by_halves = halves_##kind, .by_cells = by_cells_##kind, \
    .cells = cells_##kind
#define FLOATS(kind)    \
    {                   \
        FUNCTIONS(kind) \
    }
#define INTEGERS(kind)                                                              \
    {                                                                               \
        FUNCTIONS(kind), .by_distance = by_distance_##kind, .follow = follow_##kind \
    }
const search_table CPU_ISA_FN(search_table_of) = {
    .same =
        {
            [NDP_BOOL] = INTEGERS(bool),
            [NDP_I8] = INTEGERS(i8),
            [NDP_I16] = INTEGERS(i16),
            [NDP_I32] = INTEGERS(i32),
            [NDP_I64] = INTEGERS(i64),
            [NDP_U8] = INTEGERS(u8),
            [NDP_U16] = INTEGERS(u16),
            [NDP_U32] = INTEGERS(u32),
            [NDP_U64] = INTEGERS(u64),
            [NDP_F16] = FLOATS(f16),
            [NDP_BF16] = FLOATS(bf16),
            [NDP_F32] = FLOATS(f32),
            [NDP_F64] = FLOATS(f64),
        },
    .wide =
        {
            [NDP_BOOL] = FLOATS(bool_in_f64),
            [NDP_I8] = FLOATS(i8_in_f64),
            [NDP_I16] = FLOATS(i16_in_f64),
            [NDP_I32] = FLOATS(i32_in_f64),
            [NDP_I64] = {.by_halves = halves_i64_in_f64,
                         .by_cells = by_cells_i64_in_f64,
                         .cells = cells_i64_in_f64,
                         .outside = outside_whole},
            [NDP_U8] = FLOATS(u8_in_f64),
            [NDP_U16] = FLOATS(u16_in_f64),
            [NDP_U32] = FLOATS(u32_in_f64),
            [NDP_U64] = FLOATS(u64_in_f64),
            [NDP_F16] = FLOATS(f16_in_f64),
            [NDP_BF16] = FLOATS(bf16_in_f64),
            [NDP_F32] = FLOATS(f32_in_f64),
            [NDP_F64] = FLOATS(f64),
        },
};
