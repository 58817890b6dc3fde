/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of fill and copy, built once per SIMD level: moves by element size, casts by pair of
 * dtypes. */
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif
#include "copy/copy.h"
#include "copy/cast.h"

#define LINE 64 /* bytes of a cache line */

typedef uint8_t move_1 __attribute__((may_alias));
typedef uint16_t move_2 __attribute__((may_alias, aligned(1)));
typedef uint32_t move_4 __attribute__((may_alias, aligned(1)));
typedef uint64_t move_8 __attribute__((may_alias, aligned(1)));
typedef struct {
    uint64_t low, high;
} __attribute__((may_alias, packed)) move_16;

/* ---- registers: two lanes of 16 bytes with AVX2 (AVX-512 gains nothing in a copy), else one ----
 */
#if defined(__AVX2__)
#define MOVE_LANES 2
#define MOVE_ZIP_LOW_(bits, a, b) _mm256_unpacklo_epi##bits(a, b)
#define MOVE_ZIP_HIGH_(bits, a, b) _mm256_unpackhi_epi##bits(a, b)
typedef __m256i move_vector;
static inline move_vector move_load(const char *lane0, int64_t lane_step)
{
    __m128i low = _mm_loadu_si128((const __m128i *)lane0);
    __m128i high = _mm_loadu_si128((const __m128i *)(lane0 + lane_step));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
static inline void move_store(char *p, move_vector v)
{
    _mm256_storeu_si256((__m256i *)p, v);
}
static inline void move_stream(char *p, move_vector v)
{
    _mm256_stream_si256((__m256i *)p, v);
}
#elif defined(__SSE2__)
#define MOVE_LANES 1
#define MOVE_ZIP_LOW_(bits, a, b) _mm_unpacklo_epi##bits(a, b)
#define MOVE_ZIP_HIGH_(bits, a, b) _mm_unpackhi_epi##bits(a, b)
typedef __m128i move_vector;
static inline move_vector move_load(const char *lane0, int64_t lane_step)
{
    (void)lane_step;
    return _mm_loadu_si128((const __m128i *)lane0);
}
static inline void move_store(char *p, move_vector v)
{
    _mm_storeu_si128((__m128i *)p, v);
}
static inline void move_stream(char *p, move_vector v)
{
    _mm_stream_si128((__m128i *)p, v);
}
#elif defined(__ARM_NEON) && defined(__aarch64__)
#define MOVE_LANES 1
#define MOVE_ZIP_LOW_(bits, a, b) \
    vreinterpretq_u8_u##bits(     \
        vzip1q_u##bits(vreinterpretq_u##bits##_u8(a), vreinterpretq_u##bits##_u8(b)))
#define MOVE_ZIP_HIGH_(bits, a, b) \
    vreinterpretq_u8_u##bits(      \
        vzip2q_u##bits(vreinterpretq_u##bits##_u8(a), vreinterpretq_u##bits##_u8(b)))
#define vreinterpretq_u8_u8(v) (v)
typedef uint8x16_t move_vector;
static inline move_vector move_load(const char *lane0, int64_t lane_step)
{
    (void)lane_step;
    return vld1q_u8((const uint8_t *)lane0);
}
static inline void move_store(char *p, move_vector v)
{
    vst1q_u8((uint8_t *)p, v);
}
#endif
#define MOVE_ZIP_LOW(bits, a, b) MOVE_ZIP_LOW_(bits, a, b)
#define MOVE_ZIP_HIGH(bits, a, b) MOVE_ZIP_HIGH_(bits, a, b)

/* ---- dense runs ---- */

/* Short runs are not worth a call of memcpy. */
static inline void move_run(char *restrict dst, const char *restrict src, int64_t nbytes)
{
    if (nbytes < 16 || nbytes > 256) {
        memcpy(dst, src, (size_t)nbytes);
        return;
    }
    for (int64_t i = 0; i < nbytes - 16; i += 16)
        memcpy(dst + i, src + i, 16);
    memcpy(dst + nbytes - 16, src + nbytes - 16, 16);
}

#if defined(__SSE2__)
static inline move_vector move_loadu(const char *p)
{
    move_vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void stream(char *dst, const char *src, int64_t nbytes)
{
    int64_t head = (int64_t)(-(uintptr_t)dst % LINE), i;
    if (nbytes < head + LINE) {
        memcpy(dst, src, (size_t)nbytes);
        return;
    }
    memcpy(dst, src, (size_t)head);
    for (i = head; i + LINE <= nbytes; i += LINE)
        for (int64_t k = 0; k < LINE; k += (int64_t)sizeof(move_vector))
            move_stream(dst + i + k, move_loadu(src + i + k));
    memcpy(dst + i, src + i, (size_t)(nbytes - i));
}

static void fence(void)
{
    _mm_sfence();
}
#else
static void stream(char *dst, const char *src, int64_t nbytes)
{
    memcpy(dst, src, (size_t)nbytes);
}

static void fence(void) {}
#endif

typedef uint64_t fill_word __attribute__((vector_size(16), aligned(1), may_alias));

static __attribute__((noinline)) void fill_long(char *dst, int64_t nbytes, fill_word word,
                                                int nontemporal)
{
    char line[2 * LINE];
    for (int i = 0; i < 2 * LINE; i += 16)
        memcpy(line + i, &word, 16);
    int64_t i = 0;
    if (nontemporal) {
        i = (int64_t)(-(uintptr_t)dst % LINE); /* less than nbytes: only long runs come here */
        memcpy(dst, line, (size_t)i);
        const char *phase = line + i % 16;
        for (; i + LINE <= nbytes; i += LINE)
            stream(dst + i, phase, LINE);
        memcpy(dst + i, phase, (size_t)(nbytes - i));
        return;
    }
    for (; i + LINE <= nbytes; i += LINE)
        memcpy(dst + i, line, LINE);
    memcpy(dst + i, line, (size_t)(nbytes - i));
}

static void fill(char *dst, int64_t nbytes, uint64_t low, uint64_t high, int nontemporal)
{
    const fill_word word = {low, high};
    if (nbytes > 4 * LINE) {
        fill_long(dst, nbytes, word, nontemporal);
        return;
    }
    int64_t i = 0;
    for (; i + 16 <= nbytes; i += 16)
        *(fill_word *)(dst + i) = word;
    memcpy(dst + i, &word, (size_t)(nbytes - i));
}

/* For transpositions beyond the caches: source runs come into a strip whose pitch no two runs share
 * a cache set with. Their own is often a power of two, and then a few of them evict each other.
 * Runs are fetched ahead, since no hardware follows that many streams. */
static inline void fill_strip(char *strip, int64_t pitch, const cpu_block *b, int64_t run)
{
    int64_t ahead = run < CPU_COPY_STRIP_RUN ? 4 * CPU_COPY_STRIP_RUN / run : 4;
    for (int64_t c = 0; c < b->cols; c++) {
        const char *src = b->src + c * b->src_col;
        if (c + ahead < b->cols)
            for (int64_t i = 0; i < run; i += LINE)
                __builtin_prefetch(src + ahead * b->src_col + i);
        move_run(strip + c * pitch, src, run);
    }
}

/* Writes staged row k of a block out, and meanwhile fetches that share of the next block: reading
 * and writing memory by turns would leave one of the two idle. */
static inline void stream_row(const cpu_block *b, int64_t k, const char *staged, int64_t row_bytes,
                              int64_t run)
{
    int64_t end = (k + 1) * b->cols / b->rows;
    for (int64_t c = k * b->cols / b->rows; b->next && c < end; c++)
        for (int64_t i = 0; i < run; i += LINE)
            __builtin_prefetch(b->next + c * b->src_col + i, 0, 2);
    stream(b->dst + k * b->dst_row, staged, row_bytes);
}

#define MOVE_T move_1
#define MOVE_SIZE 1
#define MOVE_BITS 8
#include "copy/move_tmpl.h"
#define MOVE_T move_2
#define MOVE_SIZE 2
#define MOVE_BITS 16
#include "copy/move_tmpl.h"
#define MOVE_T move_4
#define MOVE_SIZE 4
#define MOVE_BITS 32
#include "copy/move_tmpl.h"
#define MOVE_T move_8
#define MOVE_SIZE 8
#define MOVE_BITS 64
#include "copy/move_tmpl.h"
#define MOVE_T move_16
#define MOVE_SIZE 16
#include "copy/move_tmpl.h"

/* ---- casts ---- */
#define CAST_SRC bool
#define CAST_GET(i) (uint8_t)(s[i] != 0)
#include "copy/cast_tmpl.h"
#define CAST_SRC i8
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC i16
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC i32
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC i64
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC u8
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC u16
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC u32
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC u64
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC f16
#define CAST_GET(i) cpu_f16_to_f32_plain(s[i])
#include "copy/cast_tmpl.h"
#define CAST_SRC bf16
#define CAST_GET(i) cpu_bf16_to_f32(s[i])
#include "copy/cast_tmpl.h"
#define CAST_SRC f8_e4m3
#define CAST_GET(i) cpu_f8_e4m3_to_f32(s[i])
#include "copy/cast_tmpl.h"
#define CAST_SRC f8_e5m2
#define CAST_GET(i) cpu_f8_e5m2_to_f32(s[i])
#include "copy/cast_tmpl.h"
#define CAST_SRC f32
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC f64
#define CAST_GET(i) s[i]
#include "copy/cast_tmpl.h"
#define CAST_SRC c64
#define CAST_PAIR
#include "copy/cast_tmpl.h"
#define CAST_SRC c128
#define CAST_PAIR
#include "copy/cast_tmpl.h"

const cpu_copy_loops CPU_ISA_FN(cpu_copy_table) = {
    .rows = {move_rows_1, move_rows_2, move_rows_4, move_rows_8, move_rows_16},
    .transpose = {transpose_1, transpose_2, transpose_4, transpose_8, transpose_16},
    .transpose_stream = {transpose_stream_1, transpose_stream_2, transpose_stream_4,
                         transpose_stream_8, transpose_stream_16},
    .stream = stream,
    .fill = fill,
    .fence = fence,
    .cast =
        {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    [id] = cast_from_##name,
#include <ndock/dtype.def>
        },
};
