/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elementwise loops of the real dtypes and the table of all, built once per SIMD level. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 13
/* GCC 14 threads the choices of long formulas (gamma, i0, softplus ...) into branches first, and makes no vectors of
 * their loops then. */
#pragma GCC optimize("no-thread-jumps")
#endif
#include <float.h>
#include "elementwise/divide.h"
#include "elementwise/functions.h"
#include "elementwise/loops.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* 64 bytes, both places aligned so. */
EW_INLINE void ew_stream_line(char *to, const char *from)
{
#if defined(__AVX512F__)
    _mm512_stream_si512((__m512i *)to, _mm512_load_si512((const __m512i *)from));
#elif defined(__AVX__)
    for (int i = 0; i < 64; i += 32)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_load_si256((const __m256i *)(from + i)));
#elif defined(__SSE2__)
    for (int i = 0; i < 64; i += 16)
        _mm_stream_si128((__m128i *)(to + i), _mm_load_si128((const __m128i *)(from + i)));
#else
    memcpy(to, from, 64);
#endif
}

#define EW_DTYPE bool
#define EW_KIND EW_KIND_BOOL
#define ND_T uint8_t
#include "elementwise/loops_tmpl.h"

#define EW_DTYPE i8
#define EW_KIND EW_KIND_INT
#define ND_T int8_t
#define ND_U uint32_t
#define ND_BITS 8
#include "elementwise/loops_tmpl.h"
#define EW_DTYPE i16
#define EW_KIND EW_KIND_INT
#define ND_T int16_t
#define ND_U uint32_t
#define ND_BITS 16
#include "elementwise/loops_tmpl.h"
static void divide_each_i32(char *const *p, int64_t n);
static void remain_each_i32(char *const *p, int64_t n);
#define EW_EACH_floor_divide divide_each_i32
#define EW_EACH_remainder remain_each_i32
#define EW_DTYPE i32
#define EW_KIND EW_KIND_INT
#define ND_T int32_t
#define ND_U uint32_t
#define ND_BITS 32
#include "elementwise/loops_tmpl.h"
static void each_i32(ew_loop rest, char *const *p, int64_t n, int64_t done)
{
    char *left[3] = {p[0] + 4 * done, p[1] + 4 * done, p[2] + 4 * done};
    rest(left, n - done);
}
static void divide_each_i32(char *const *p, int64_t n)
{
    each_i32(loop_floor_divide_i32, p, n, ew_quotients_i32(p, n, 0));
}
static void remain_each_i32(char *const *p, int64_t n)
{
    each_i32(loop_remainder_i32, p, n, ew_quotients_i32(p, n, 1));
}
#define EW_DTYPE i64
#define EW_KIND EW_KIND_INT
#define ND_T int64_t
#define ND_U uint64_t
#define ND_BITS 64
#include "elementwise/loops_tmpl.h"
#define EW_DTYPE u8
#define EW_KIND EW_KIND_UINT
#define ND_T uint8_t
#define ND_U uint32_t
#define ND_BITS 8
#include "elementwise/loops_tmpl.h"
#define EW_DTYPE u16
#define EW_KIND EW_KIND_UINT
#define ND_T uint16_t
#define ND_U uint32_t
#define ND_BITS 16
#include "elementwise/loops_tmpl.h"
#define EW_DTYPE u32
#define EW_KIND EW_KIND_UINT
#define ND_T uint32_t
#define ND_U uint32_t
#define ND_BITS 32
#include "elementwise/loops_tmpl.h"
#define EW_DTYPE u64
#define EW_KIND EW_KIND_UINT
#define ND_T uint64_t
#define ND_U uint64_t
#define ND_BITS 64
#include "elementwise/loops_tmpl.h"

/* ---- double ---- */
#define ND_M(fn) vm_f64_##fn
#define ND_W double
#define ND_W_WIDER 0
#define ND_MW(fn) vm_f64_##fn
#define ND_X long double
#define ND_X_WIDER (LDBL_MANT_DIG > 53)
#define ND_MX(fn) vm_x64_##fn
#define ND_MANT_DIG 53
#define ND_NEXTAFTER(a, b) vm_f64_nextafter(a, b)
#define ND_FMA(a, b, c) vm_f64_fma(a, b, c)
#define EW_DTYPE f64
#define EW_KIND EW_KIND_FLOAT
#define ND_T double
#include "elementwise/loops_tmpl.h"
#undef ND_M
#undef ND_W
#undef ND_W_WIDER
#undef ND_MW
#undef ND_X
#undef ND_X_WIDER
#undef ND_MX
#undef ND_MANT_DIG
#undef ND_NEXTAFTER
#undef ND_FMA

/* ---- float, also of f16 and bf16 ---- */
#define ND_M(fn) vm_f32_##fn
#define ND_W double
#define ND_W_WIDER 1
#define ND_MW(fn) vm_##fn
#define ND_X double
#define ND_X_WIDER 1
#define ND_MX(fn) vm_x32_##fn
#define ND_MANT_DIG 24
#define EW_OVERRIDE_pow ND_EXPAND_BY(ew_powers_f32)
#define EW_OVERRIDE_tanh ND_EXPAND_BY(ew_tanh_f32)
#define EW_OVERRIDE_log ND_EXPAND_BY(near_or_far_log)
#define EW_OVERRIDE_sin ND_EXPAND_BY(near_or_far_sin)
#define EW_OVERRIDE_cos ND_EXPAND_BY(near_or_far_cos)
#define EW_OVERRIDE_tan ND_EXPAND_BY(near_or_far_tan)
static void near_or_far_log(char *const *p, int64_t n);
static void near_or_far_sin(char *const *p, int64_t n);
static void near_or_far_cos(char *const *p, int64_t n);
static void near_or_far_tan(char *const *p, int64_t n);
#define ND_NEXTAFTER(a, b) vm_f32_nextafter(a, b)
#define ND_FMA(a, b, c) vm_f32_fma(a, b, c)
#define EW_DTYPE f32
#define EW_KIND EW_KIND_FLOAT
#define ND_T float
#include "elementwise/loops_tmpl.h"

/* The general sine calls libm for large arguments, and a loop with a call in it is scalar; the general
 * logarithm has more cases. Blocks where all is near take a loop without them. */
EW_INLINE void near_or_far(int (*is_near)(float), ew_loop near, ew_loop far, char *const *p,
                           int64_t n)
{
    for (int64_t i = 0; i < n; i += 256) {
        char *q[2] = {p[0] + 4 * i, p[1] + 4 * i};
        int64_t m = n - i < 256 ? n - i : 256;
        const float *a = (const float *)q[0];
        int32_t other = 0;
        for (int64_t j = 0; j < m; j++)
            other |= !is_near(a[j]);
        (other ? far : near)(q, m);
    }
}
static void near_log(char *const *p, int64_t n)
{
    ew_unary_SAME_f32(vm_f32_near_log, p, n);
}
static void near_cos(char *const *p, int64_t n)
{
    ew_unary_SAME_f32(vm_f32_near_cos, p, n);
}
static void near_tan(char *const *p, int64_t n)
{
    ew_unary_SAME_f32(vm_f32_near_tan, p, n);
}
static void near_or_far_log(char *const *p, int64_t n)
{
    near_or_far(vm_log_is_near, near_log, loop_log_f32, p, n);
}
static void near_or_far_sin(char *const *p, int64_t n)
{
    near_or_far(vm_trig_is_near, ew_near_sines_f32, loop_sin_f32, p, n);
}
static void near_or_far_cos(char *const *p, int64_t n)
{
    near_or_far(vm_trig_is_near, near_cos, loop_cos_f32, p, n);
}
static void near_or_far_tan(char *const *p, int64_t n)
{
    near_or_far(vm_trig_is_near, near_tan, loop_tan_f32, p, n);
}

#undef ND_NEXTAFTER
#undef ND_FMA
#undef EW_LOOPS_OF
#define EW_LOOPS_OF f32
#define EW_OVERRIDE_where ND_EXPAND_BY(loop_where_u16) /* moves the 16 bits as they are */
#define EW_OVERRIDE_fma ND_EXPAND_BY(EW_LOOP(fma))
#define EW_OVERRIDE_nextafter ND_EXPAND_BY(EW_LOOP(nextafter))
#define ND_FMA(a, b, c) vm_half_fma(a, b, c)
#define ND_NEXTAFTER(a, b) vm_f16_nextafter(a, b)
#define EW_DTYPE f16
#define EW_KIND EW_KIND_HALF
#define ND_T float
#include "elementwise/loops_tmpl.h"
#undef ND_NEXTAFTER
#define ND_NEXTAFTER(a, b) vm_bf16_nextafter(a, b)
#define EW_DTYPE bf16
#define EW_KIND EW_KIND_HALF
#define ND_T float
#include "elementwise/loops_tmpl.h"

/* ---- conversions and stores ---- */
static void load_f16(float *to, const uint16_t *from, int64_t n)
{
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
#endif
    for (; i < n; i++)
        to[i] = cpu_f16_to_f32(from[i]);
}
static void store_f16(uint16_t *to, const float *from, int64_t n)
{
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(to + i), h);
    }
#endif
    for (; i < n; i++)
        to[i] = cpu_f16_from_f32(from[i]);
}
static void load_bf16(float *to, const uint16_t *from, int64_t n)
{
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        to[i] = cpu_bf16_to_f32(from[i]);
}
static void store_bf16(uint16_t *to, const float *from, int64_t n)
{
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        to[i] = cpu_bf16_from_f32(from[i]);
}

static void stream(char *to, const char *from, int64_t nbytes)
{
#ifdef __SSE2__
    int64_t head = (int64_t)(-(uintptr_t)to & 63), i = head < nbytes ? head : nbytes;
    memcpy(to, from, (size_t)i);
    for (; i + 64 <= nbytes; i += 64) {
#ifdef __AVX__
        __m256i a = _mm256_loadu_si256((const __m256i *)(from + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(from + i + 32));
        _mm256_stream_si256((__m256i *)(to + i), a);
        _mm256_stream_si256((__m256i *)(to + i + 32), b);
#else
        for (int j = 0; j < 64; j += 16)
            _mm_stream_si128((__m128i *)(to + i + j),
                             _mm_loadu_si128((const __m128i *)(from + i + j)));
#endif
    }
    memcpy(to + i, from + i, (size_t)(nbytes - i));
#else
    memcpy(to, from, (size_t)nbytes);
#endif
}

#define EW_ROW(id, name) [id] = CPU_ISA_FN(ew_row_##name),
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    CPU_OF_KIND(KIND, EW_ROW)(id, name)
const ew_isa CPU_ISA_FN(elementwise_isa) = {
    .loops =
        {
#include <ndock/dtype.def>
        },
    .arith = {[NDP_F32] = ew_arith_f32,
              [NDP_F64] = ew_arith_f64,
              [NDP_F16] = ew_arith_f32,
              [NDP_BF16] = ew_arith_f32},
    .load_f16 = load_f16,
    .load_bf16 = load_bf16,
    .store_f16 = store_f16,
    .store_bf16 = store_bf16,
    .stream = stream,
};
