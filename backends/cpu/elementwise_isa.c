/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The elementwise loops of every dtype and their table, built once per SIMD level. */
#include "elementwise.h"
#include "half.h"
#include "vmath.h"
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define EW_INLINE static inline __attribute__((always_inline, unused))
#if defined(__clang__)
#define EW_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EW_IVDEP _Pragma("GCC ivdep")
#else
#define EW_IVDEP
#endif

#define EW_KIND_BOOL 1
#define EW_KIND_INT 2
#define EW_KIND_UINT 3
#define EW_KIND_FLOAT 4
#define EW_KIND_COMPLEX 5
#define EW_KIND_HALF 6

/* EW_PICK(probe, yes) is yes where the macro probe exists (as "~,"), else EW_NOTHING. So a row of
 * op.def expands only where its class is elementwise and its domain holds the dtype's kind. */
#define EW_SECOND_(a, b, ...) b
#define EW_SECOND(...) EW_SECOND_(__VA_ARGS__)
#define EW_PICK(probe, yes) EW_SECOND(probe yes, EW_NOTHING, ~)
#define EW_NOTHING(name, RESULT)
#define EW_IS_UNARY ~,
#define EW_IS_BINARY ~,
#define EW_IS_TERNARY ~,
#define EW_MASKED_where ~, masked, /* the one with a bool operand */

#define EW_OP_LOOP(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    EW_PICK(EW_HAS_##DOMAIN, EW_PICK(EW_IS_##CLASS, EW_##CLASS))(name, RESULT)
#define EW_WRAP(name, loop) \
    static void EW_LOOP(name)(char *const *p, int64_t n) { EW_FN(loop)(ND_NAME(name), p, n); }
#define EW_UNARY(name, RESULT) EW_WRAP(name, unary_##RESULT)
#define EW_BINARY(name, RESULT) EW_WRAP(name, binary_##RESULT)
#define EW_TERNARY(name, RESULT) EW_WRAP(name, EW_SECOND(EW_MASKED_##name, ternary, ~))

#define EW_OP_CELL(name, CLASS, DOMAIN, RESULT, ulp, doc) \
    EW_PICK(EW_HAS_##DOMAIN, EW_PICK(EW_IS_##CLASS, EW_CELL))(name, RESULT)
#define EW_CELL(name, RESULT) \
    [NDP_OP_##name] = EW_SECOND(EW_OVERRIDE_##name, CPU_CAT(loop, CPU_CAT(name, EW_LOOPS_OF)), ~),
#define EW_LOOPS_OF EW_DTYPE

#define EW_DTYPE bool
#define EW_KIND EW_KIND_BOOL
#define ND_T uint8_t
#include "loops_tmpl.h"

#define EW_DTYPE i8
#define EW_KIND EW_KIND_INT
#define ND_T int8_t
#define ND_U uint32_t
#define ND_BITS 8
#include "loops_tmpl.h"
#define EW_DTYPE i16
#define EW_KIND EW_KIND_INT
#define ND_T int16_t
#define ND_U uint32_t
#define ND_BITS 16
#include "loops_tmpl.h"
#define EW_DTYPE i32
#define EW_KIND EW_KIND_INT
#define ND_T int32_t
#define ND_U uint32_t
#define ND_BITS 32
#include "loops_tmpl.h"
#define EW_DTYPE i64
#define EW_KIND EW_KIND_INT
#define ND_T int64_t
#define ND_U uint64_t
#define ND_BITS 64
#include "loops_tmpl.h"
#define EW_DTYPE u8
#define EW_KIND EW_KIND_UINT
#define ND_T uint8_t
#define ND_U uint32_t
#define ND_BITS 8
#include "loops_tmpl.h"
#define EW_DTYPE u16
#define EW_KIND EW_KIND_UINT
#define ND_T uint16_t
#define ND_U uint32_t
#define ND_BITS 16
#include "loops_tmpl.h"
#define EW_DTYPE u32
#define EW_KIND EW_KIND_UINT
#define ND_T uint32_t
#define ND_U uint32_t
#define ND_BITS 32
#include "loops_tmpl.h"
#define EW_DTYPE u64
#define EW_KIND EW_KIND_UINT
#define ND_T uint64_t
#define ND_U uint64_t
#define ND_BITS 64
#include "loops_tmpl.h"

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
#include "loops_tmpl.h"
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
static void near_or_far_sin(char *const *p, int64_t n);
static void near_or_far_cos(char *const *p, int64_t n);
static void near_or_far_tan(char *const *p, int64_t n);
#define EW_OVERRIDE_sin ~, near_or_far_sin,
#define EW_OVERRIDE_cos ~, near_or_far_cos,
#define EW_OVERRIDE_tan ~, near_or_far_tan,
#define ND_NEXTAFTER(a, b) vm_f32_nextafter(a, b)
#define ND_FMA(a, b, c) vm_f32_fma(a, b, c)
#define EW_DTYPE f32
#define EW_KIND EW_KIND_FLOAT
#define ND_T float
#include "loops_tmpl.h"

/* The general sine calls libm for large arguments, and a loop with a call in it is scalar. Blocks
 * without large arguments take a loop without the call. */
EW_INLINE void near_or_far(ew_loop near, ew_loop far, char *const *p, int64_t n)
{
    for (int64_t i = 0; i < n; i += 256) {
        char *q[2] = {p[0] + 4 * i, p[1] + 4 * i};
        int64_t m = n - i < 256 ? n - i : 256;
        const float *a = (const float *)q[0];
        int32_t large = 0;
        for (int64_t j = 0; j < m; j++)
            large |= !(__builtin_fabsf(a[j]) <= VM_TRIG_MAX);
        (large ? far : near)(q, m);
    }
}
static void near_sin(char *const *p, int64_t n) { ew_unary_SAME_f32(vm_f32_near_sin, p, n); }
static void near_cos(char *const *p, int64_t n) { ew_unary_SAME_f32(vm_f32_near_cos, p, n); }
static void near_tan(char *const *p, int64_t n) { ew_unary_SAME_f32(vm_f32_near_tan, p, n); }
static void near_or_far_sin(char *const *p, int64_t n) { near_or_far(near_sin, loop_sin_f32, p, n); }
static void near_or_far_cos(char *const *p, int64_t n) { near_or_far(near_cos, loop_cos_f32, p, n); }
static void near_or_far_tan(char *const *p, int64_t n) { near_or_far(near_tan, loop_tan_f32, p, n); }

#undef ND_NEXTAFTER
#undef ND_FMA
#undef EW_LOOPS_OF
#define EW_LOOPS_OF f32
#define EW_OVERRIDE_where ~, loop_where_u16, /* moves the 16 bits as they are */
#define EW_OVERRIDE_fma ~, EW_LOOP(fma),
#define EW_OVERRIDE_nextafter ~, EW_LOOP(nextafter),
#define ND_FMA(a, b, c) vm_half_fma(a, b, c)
#define ND_NEXTAFTER(a, b) vm_f16_nextafter(a, b)
#define EW_DTYPE f16
#define EW_KIND EW_KIND_HALF
#define ND_T float
#include "loops_tmpl.h"
#undef ND_NEXTAFTER
#define ND_NEXTAFTER(a, b) vm_bf16_nextafter(a, b)
#define EW_DTYPE bf16
#define EW_KIND EW_KIND_HALF
#define ND_T float
#include "loops_tmpl.h"

#undef EW_OVERRIDE_sin
#undef EW_OVERRIDE_cos
#undef EW_OVERRIDE_tan
#undef EW_OVERRIDE_where
#undef EW_OVERRIDE_fma
#undef EW_OVERRIDE_nextafter
#undef EW_LOOPS_OF
#define EW_LOOPS_OF EW_DTYPE

#if __has_include(<ndock/scalar_complex_tmpl.h>)
/* ---- complex ---- */
typedef struct {
    float re, im;
} ew_c64;
typedef struct {
    double re, im;
} ew_c128;
#define ND_R float
#define ND_R_MANT_DIG FLT_MANT_DIG
#define ND_R_MAX FLT_MAX
#define ND_R_MIN FLT_MIN
#define ND_R_EPSILON FLT_EPSILON
#define ND_INFINITY ((float)INFINITY)
#define ND_NAN_VALUE ((float)NAN)
#define EW_DTYPE c64
#define EW_KIND EW_KIND_COMPLEX
#define ND_T ew_c64
#include "loops_tmpl.h"
#undef ND_M
#undef ND_R
#undef ND_R_MANT_DIG
#undef ND_R_MAX
#undef ND_R_MIN
#undef ND_R_EPSILON
#undef ND_INFINITY
#undef ND_NAN_VALUE
#define ND_M(fn) vm_f64_##fn
#define ND_R double
#define ND_R_MANT_DIG DBL_MANT_DIG
#define ND_R_MAX DBL_MAX
#define ND_R_MIN DBL_MIN
#define ND_R_EPSILON DBL_EPSILON
#define ND_INFINITY ((double)INFINITY)
#define ND_NAN_VALUE ((double)NAN)
#define EW_DTYPE c128
#define EW_KIND EW_KIND_COMPLEX
#define ND_T ew_c128
#include "loops_tmpl.h"
#define EW_COMPLEX_ROWS [NDP_C64] = row_c64, [NDP_C128] = row_c128,
#else
#define EW_COMPLEX_ROWS
#endif

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
    _mm_sfence(); /* streaming stores are otherwise not ordered before what other threads see next */
#else
    memcpy(to, from, (size_t)nbytes);
#endif
}

#define EW_REAL_BOOL(NAME, name) [NDP_##NAME] = row_##name,
#define EW_REAL_INT(NAME, name) [NDP_##NAME] = row_##name,
#define EW_REAL_UINT(NAME, name) [NDP_##NAME] = row_##name,
#define EW_REAL_FLOAT(NAME, name) [NDP_##NAME] = row_##name,
#define EW_REAL_COMPLEX(NAME, name)
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) EW_REAL_##KIND(NAME, name)

const ew_isa CPU_ISA_FN(elementwise_isa) = {
    .loops = {EW_COMPLEX_ROWS
#include <ndock/dtype.def>
    },
    .load_f16 = load_f16,
    .load_bf16 = load_bf16,
    .store_f16 = store_f16,
    .store_bf16 = store_bf16,
    .stream = stream,
};
