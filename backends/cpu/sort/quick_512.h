/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Vectors of 512 bits for quick_tmpl.h: movements of lanes of 32 and of 64 bits, and the keys of
 * each type. Floating keys are compared as such: the least and the greatest of two vectors are had
 * twice as fast as those of integers. See quick.h, which includes this file, for the sources. */

/* Every `group` lanes backwards. */
QUICK_FN __m512i quick_512_mirror_32(__m512i x, int group)
{
    const __m512i eight = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    const __m512i sixteen = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    if (group == 2)
        return _mm512_shuffle_epi32(x, 0xb1);
    if (group == 4)
        return _mm512_shuffle_epi32(x, 0x1b);
    return _mm512_permutexvar_epi32(group == 8 ? eight : sixteen, x);
}
QUICK_FN __m512i quick_512_mirror_64(__m512i x, int group)
{
    if (group == 2)
        return _mm512_shuffle_epi32(x, 0x4e);
    if (group == 4)
        return _mm512_permutex_epi64(x, 0x1b);
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x);
}

/* Each lane is that at a distance, up or down, of 1, 2 or, of 32 bits, 4. */
QUICK_FN __m512i quick_512_across_32(__m512i x, int distance)
{
    return distance == 1   ? _mm512_shuffle_epi32(x, 0xb1)
           : distance == 2 ? _mm512_shuffle_epi32(x, 0x4e)
                           : _mm512_shuffle_i32x4(x, x, 0xb1);
}
QUICK_FN __m512i quick_512_across_64(__m512i x, int distance)
{
    return distance == 1 ? _mm512_shuffle_epi32(x, 0x4e) : _mm512_shuffle_i32x4(x, x, 0xb1);
}

/* Of 16 lanes those whose number has a bit of `distance`. */
QUICK_FN unsigned quick_512_upper(int distance)
{
    return distance == 1 ? 0xaaaa : distance == 2 ? 0xcccc : distance == 4 ? 0xf0f0 : 0xff00;
}

/* The least key above one that is neither the greatest nor -0. */
QUICK_FN uint32_t quick_32_next(uint32_t key)
{
    return key + 1;
}
QUICK_FN int64_t quick_64_next(int64_t key)
{
    return key + 1;
}
QUICK_FN float quick_f32_next(float key)
{
    return nextafterf(key, INFINITY);
}
QUICK_FN double quick_f64_next(double key)
{
    return nextafter(key, INFINITY);
}

#define QUICK_512_EPI_(name, bits) _mm512_##name##_epi##bits
#define QUICK_512_EPI(name, bits) QUICK_512_EPI_(name, bits)
#define F32(x) _mm512_castsi512_ps(x)
#define F64(x) _mm512_castsi512_pd(x)
#define BITS 32
#define K float
#define K_MAX ((float)INFINITY)
#define QUICK(name) quick_f32_##name
#define SET(key) _mm512_castps_si512(_mm512_set1_ps(key))
#define LESS(x, y) _mm512_cmp_ps_mask(F32(x), F32(y), _CMP_LT_OQ)
#define MIN(x, y) _mm512_castps_si512(_mm512_min_ps(F32(x), F32(y)))
#define MAX(from, set, x, y) _mm512_castps_si512(_mm512_mask_max_ps(F32(from), set, F32(x), F32(y)))
#include "sort/quick_512_tmpl.h"

#define BITS 32
#define K uint32_t
#define K_MAX UINT32_MAX
#define QUICK(name) quick_32_##name
#define SET(key) _mm512_set1_epi32((int)(key))
#define LESS(x, y) _mm512_cmplt_epu32_mask(x, y)
#define MIN(x, y) _mm512_min_epu32(x, y)
#define MAX(from, set, x, y) _mm512_mask_max_epu32(from, set, x, y)
#include "sort/quick_512_tmpl.h"

#define BITS 64
#define K double
#define K_MAX ((double)INFINITY)
#define QUICK(name) quick_f64_##name
#define SET(key) _mm512_castpd_si512(_mm512_set1_pd(key))
#define LESS(x, y) _mm512_cmp_pd_mask(F64(x), F64(y), _CMP_LT_OQ)
#define MIN(x, y) _mm512_castpd_si512(_mm512_min_pd(F64(x), F64(y)))
#define MAX(from, set, x, y) _mm512_castpd_si512(_mm512_mask_max_pd(F64(from), set, F64(x), F64(y)))
#include "sort/quick_512_tmpl.h"

#define BITS 64
#define K int64_t
#define K_MAX INT64_MAX
#define QUICK(name) quick_64_##name
#define SET(key) _mm512_set1_epi64(key)
#define LESS(x, y) _mm512_cmplt_epi64_mask(x, y)
#define MIN(x, y) _mm512_min_epi64(x, y)
#define MAX(from, set, x, y) _mm512_mask_max_epi64(from, set, x, y)
#include "sort/quick_512_tmpl.h"
#undef F32
#undef F64

/* Denormal values are to be told from zeros, whatever mode the thread computes in. */
#define DENORMALS_ARE_ZEROS 0x40u
QUICK_FN void quick_512_keeping(void (*sort)(void *, int64_t), void *values, int64_t n)
{
    const unsigned mode = _mm_getcsr();
    if (mode & DENORMALS_ARE_ZEROS)
        _mm_setcsr(mode & ~DENORMALS_ARE_ZEROS);
    sort(values, n);
    if (mode & DENORMALS_ARE_ZEROS)
        _mm_setcsr(mode);
}
static void quick_f32_values(void *values, int64_t n)
{
    quick_512_keeping(quick_f32_keys, values, n);
}
static void quick_f64_values(void *values, int64_t n)
{
    quick_512_keeping(quick_f64_keys, values, n);
}
#undef DENORMALS_ARE_ZEROS
