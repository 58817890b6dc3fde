/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of matmul, built once per SIMD level. */
#include "math/half.h"
#include "matmul/matmul.h"
#include "matmul/pairs.h"
#include "matmul/simd.h"

#define MM_SAME(x) (x)

/* ---- kernels; integers wrap, so that unsigned ones serve signed ones too */
#define MM_ALPHA f_alpha
#define MM_BETA f_beta
#define MM_SCALAR f32
#define MM_T float
#define MM_NAME f32
#define MM_PARTS 1
#include "matmul/kernel_tmpl.h"
#define MM_NAME f32
#include "matmul/skinny_tmpl.h"
#define MM_NAME c64
#define MM_PARTS 2
#include "matmul/kernel_tmpl.h"
#undef MM_SCALAR
#undef MM_T
#define MM_SCALAR f64
#define MM_T double
#define MM_NAME f64
#define MM_PARTS 1
#include "matmul/kernel_tmpl.h"
#define MM_NAME f64
#include "matmul/skinny_tmpl.h"
#define MM_NAME c128
#define MM_PARTS 2
#include "matmul/kernel_tmpl.h"
#undef MM_SCALAR
#undef MM_T
#undef MM_ALPHA
#undef MM_BETA
#define MM_ALPHA u_alpha
#define MM_BETA u_beta
#define MM_SCALAR u32
#define MM_T uint32_t
#define MM_NAME u32
#define MM_PARTS 1
#include "matmul/kernel_tmpl.h"
#define MM_NAME u32
#include "matmul/skinny_tmpl.h"
#undef MM_SCALAR
#define MM_SCALAR pairs
#define MM_NAME pairs
#define MM_PARTS 1
#define MM_STEPS(kc) mm_pairs(kc)
#include "matmul/kernel_tmpl.h"
#undef MM_SCALAR
#define MM_NAME pairs_i8
#define MM_S int8_t
#include "matmul/pairs_tmpl.h"
#define MM_NAME pairs_u8
#define MM_S uint8_t
#include "matmul/pairs_tmpl.h"
#define MM_NAME pairs_i16
#define MM_S int16_t
#include "matmul/pairs_tmpl.h"
#undef MM_T
#define MM_SCALAR u64
#define MM_T uint64_t
#define MM_NAME u64
#define MM_PARTS 1
#include "matmul/kernel_tmpl.h"
#define MM_NAME u64
#include "matmul/skinny_tmpl.h"
#undef MM_SCALAR
#undef MM_T

/* ---- conversions */
#if defined(__F16C__)
static inline void mm_f16_run(const uint16_t *src, float *dst)
{
    for (int i = 0; i < 16; i += 8)
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(src + i))));
}
static inline void mm_to_f16_run(const float *src, uint16_t *dst)
{
    for (int i = 0; i < 16; i += 8)
        _mm_storeu_si128((__m128i *)(dst + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(src + i), _MM_FROUND_TO_NEAREST_INT));
}
#define MM_FROM_RUN mm_f16_run
#define MM_TO_RUN mm_to_f16_run
#endif
#define MM_T float
#define MM_NAME f16_f32
#define MM_S uint16_t
#define MM_PARTS 1
#define MM_FROM cpu_f16_to_f32
#define MM_TO cpu_f16_from_f32
#include "matmul/convert_tmpl.h"
#define MM_NAME bf16_f32
#define MM_S uint16_t
#define MM_PARTS 1
#define MM_FROM cpu_bf16_to_f32
#define MM_TO cpu_bf16_from_f32
#include "matmul/convert_tmpl.h"
#define MM_NAME f8_e4m3_f32
#define MM_S uint8_t
#define MM_PARTS 1
#define MM_FROM cpu_f8_e4m3_to_f32
#include "matmul/convert_tmpl.h"
#define MM_NAME f8_e5m2_f32
#define MM_S uint8_t
#define MM_PARTS 1
#define MM_FROM cpu_f8_e5m2_to_f32
#include "matmul/convert_tmpl.h"
#define MM_NAME f32_f32
#define MM_S float
#define MM_PARTS 1
#define MM_FROM MM_SAME
#define MM_TO MM_SAME
#include "matmul/convert_tmpl.h"
#define MM_NAME c64_c64
#define MM_S float
#define MM_PARTS 2
#define MM_FROM MM_SAME
#define MM_TO MM_SAME
#include "matmul/convert_tmpl.h"
#undef MM_T
#define MM_T double
#define MM_NAME f64_f64
#define MM_S double
#define MM_PARTS 1
#define MM_FROM MM_SAME
#define MM_TO MM_SAME
#include "matmul/convert_tmpl.h"
#define MM_NAME c128_c128
#define MM_S double
#define MM_PARTS 2
#define MM_FROM MM_SAME
#define MM_TO MM_SAME
#include "matmul/convert_tmpl.h"
#undef MM_T
#define MM_T uint32_t
#define MM_NAME i8_u32
#define MM_S int8_t
#define MM_PARTS 1
#define MM_FROM (uint32_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME i16_u32
#define MM_S int16_t
#define MM_PARTS 1
#define MM_FROM (uint32_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME i32_u32
#define MM_S int32_t
#define MM_PARTS 1
#define MM_FROM (uint32_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u8_u32
#define MM_S uint8_t
#define MM_PARTS 1
#define MM_FROM (uint32_t)
#define MM_TO (uint8_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u16_u32
#define MM_S uint16_t
#define MM_PARTS 1
#define MM_FROM (uint32_t)
#define MM_TO (uint16_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u32_u32
#define MM_S uint32_t
#define MM_PARTS 1
#define MM_FROM (uint32_t)
#define MM_TO (uint32_t)
#include "matmul/convert_tmpl.h"
#undef MM_T
#define MM_T uint64_t
#define MM_NAME i8_u64
#define MM_S int8_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME i16_u64
#define MM_S int16_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME i32_u64
#define MM_S int32_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME i64_u64
#define MM_S int64_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u8_u64
#define MM_S uint8_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u16_u64
#define MM_S uint16_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u32_u64
#define MM_S uint32_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#include "matmul/convert_tmpl.h"
#define MM_NAME u64_u64
#define MM_S uint64_t
#define MM_PARTS 1
#define MM_FROM (uint64_t)
#define MM_TO (uint64_t)
#include "matmul/convert_tmpl.h"
#undef MM_T

#define MM_KERNELS(name, NAME)                                                                    \
    .rows = MM_ROWS, .dtype = NDP_##NAME, .pack_a = mm_pack_a_##name, .pack_b = mm_pack_b_##name, \
    .block = mm_block_##name, .shared_block = mm_shared_block_##name, .combine = mm_combine_##name
/* Pairs of one stored type; all else is as with words of one element. */
#define MM_PAIRS(name, NAME)                                                                      \
    .rows = MM_ROWS, .dtype = NDP_U32, .reads = NDP_##NAME, .pack_a = mm_pack_a_pairs_##name,     \
    .pack_b = mm_pack_b_pairs_##name, .block = mm_block_pairs,                                    \
    .shared_block = mm_shared_block_pairs, .combine = mm_combine_pairs, .element = 4, .parts = 1, \
    .columns = MM_ACROSS * MM_BYTES / 4
#define MM_U32_LOADS                                                             \
    {                                                                            \
        MM_LOAD(i8, u32, I8), MM_LOAD(i16, u32, I16), MM_LOAD(i32, u32, I32),    \
            MM_LOAD(u8, u32, U8), MM_LOAD(u16, u32, U16), MM_LOAD(u32, u32, U32) \
    }
#define MM_U32_SAVES                                                                         \
    {                                                                                        \
        [NDP_I8] = mm_save_u8_u32, [NDP_I16] = mm_save_u16_u32, [NDP_I32] = mm_save_u32_u32, \
        [NDP_U8] = mm_save_u8_u32, [NDP_U16] = mm_save_u16_u32, [NDP_U32] = mm_save_u32_u32  \
    }
#define MM_LOAD(from, to, FROM) [NDP_##FROM] = mm_load_##from##_##to

const mm_level CPU_ISA_FN(cpu_matmul_kernels) =
    {
        [MM_F32] =
            {
                MM_KERNELS(f32, F32),
                .plain = mm_plain_f32,
                .plain_ahead = mm_plain_ahead_f32,
                .sweep = mm_sweep_f32,
                .dot = mm_dot_f32,
                .element = 4,
                .parts = 1,
                .columns = MM_ACROSS / 1 * MM_BYTES / 4,
                .load = {MM_LOAD(f16, f32, F16), MM_LOAD(bf16, f32, BF16), MM_LOAD(f32, f32, F32),
                         MM_LOAD(f8_e4m3, f32, F8_E4M3), MM_LOAD(f8_e5m2, f32, F8_E5M2)},
                .save = {[NDP_F16] = mm_save_f16_f32,
                         [NDP_BF16] = mm_save_bf16_f32,
                         [NDP_F32] = mm_save_f32_f32},
            },
        [MM_F64] =
            {
                MM_KERNELS(f64, F64),
                .plain = mm_plain_f64,
                .plain_ahead = mm_plain_ahead_f64,
                .sweep = mm_sweep_f64,
                .dot = mm_dot_f64,
                .element = 8,
                .parts = 1,
                .columns = MM_ACROSS / 1 * MM_BYTES / 8,
                .load = {MM_LOAD(f64, f64, F64)},
                .save = {[NDP_F64] = mm_save_f64_f64},
            },
        [MM_C64] =
            {
                MM_KERNELS(c64, C64),
                .element = 8,
                .parts = 2,
                .columns = MM_ACROSS / 2 * MM_BYTES / 4,
                .load = {MM_LOAD(c64, c64, C64)},
                .save = {[NDP_C64] = mm_save_c64_c64},
            },
        [MM_C128] =
            {
                MM_KERNELS(c128, C128),
                .element = 16,
                .parts = 2,
                .columns = MM_ACROSS / 2 * MM_BYTES / 8,
                .load = {MM_LOAD(c128, c128, C128)},
                .save = {[NDP_C128] = mm_save_c128_c128},
            },
        [MM_U32] =
            {
                MM_KERNELS(u32, U32),
                .plain = mm_plain_u32,
                .plain_ahead = mm_plain_ahead_u32,
                .sweep = mm_sweep_u32,
                .dot = mm_dot_u32,
                .element = 4,
                .parts = 1,
                .columns = MM_ACROSS / 1 * MM_BYTES / 4,
                .load = MM_U32_LOADS,
                .save = MM_U32_SAVES,
            },
        [MM_U64] =
            {
                MM_KERNELS(u64, U64),
                .plain = mm_plain_u64,
                .plain_ahead = mm_plain_ahead_u64,
                .sweep = mm_sweep_u64,
                .dot = mm_dot_u64,
                .element = 8,
                .parts = 1,
                .columns = MM_ACROSS / 1 * MM_BYTES / 8,
                .load = {MM_LOAD(i8, u64, I8), MM_LOAD(i16, u64, I16), MM_LOAD(i32, u64, I32),
                         MM_LOAD(i64, u64, I64), MM_LOAD(u8, u64, U8), MM_LOAD(u16, u64, U16),
                         MM_LOAD(u32, u64, U32), MM_LOAD(u64, u64, U64)},
                .save = {[NDP_I64] = mm_save_u64_u64, [NDP_U64] = mm_save_u64_u64},
            },
        [MM_PAIRS_I8] = {MM_PAIRS(i8, I8), .load = MM_U32_LOADS, .save = MM_U32_SAVES},
        [MM_PAIRS_U8] = {MM_PAIRS(u8, U8), .load = MM_U32_LOADS, .save = MM_U32_SAVES},
        [MM_PAIRS_I16] = {MM_PAIRS(i16, I16), .load = MM_U32_LOADS, .save = MM_U32_SAVES},
};
