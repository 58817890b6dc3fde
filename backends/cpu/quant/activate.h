/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Floats of any dtype, and rows of activations as codes of 8 bits, in the order in which a level sums their products. Included by
 * quant_isa.c, once per SIMD level. */

/* ---- floats ---- */

static void load(const void *in, int32_t dtype, int64_t n, float *out)
{
    const uint16_t *half = in;
    if (dtype == NDP_F16)
        for (int64_t i = 0; i < n; i++)
            out[i] = cpu_f16_to_f32(half[i]);
    else if (dtype == NDP_BF16)
        for (int64_t i = 0; i < n; i++)
            out[i] = cpu_bf16_to_f32(half[i]);
    else if (dtype == NDP_F64)
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)((const double *)in)[i];
    else
        memcpy(out, in, (size_t)n * sizeof *out);
}

static void store(const float *in, int32_t dtype, int64_t n, void *out)
{
    uint16_t *half = out;
    if (dtype == NDP_F16)
        for (int64_t i = 0; i < n; i++)
            half[i] = cpu_f16_from_f32(in[i]);
    else if (dtype == NDP_BF16)
        for (int64_t i = 0; i < n; i++)
            half[i] = cpu_bf16_from_f32(in[i]);
    else if (dtype == NDP_F64)
        for (int64_t i = 0; i < n; i++)
            ((double *)out)[i] = in[i];
    else
        memcpy(out, in, (size_t)n * sizeof *in);
}

/* ---- activations ---- */

/* The largest |x| of 32 elements; NaN where one is not finite. Sizes are in the order of their bits. */
static float largest(const float *x)
{
    uint32_t bits[32], most = 0;
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 32; i++) {
        const uint32_t size = bits[i] & 0x7fffffffu;
        most = size > most ? size : most;
    }
    return cpu_f32_of_bits(most >= 0x7f800000u ? 0x7fc00000u : most);
}

/* As wide as what reads the codes again, for which narrower stores would have to be joined. */
enum { CODES_AT_ONCE = VECTOR > 32 ? 16 : 8 };
typedef float some_floats __attribute__((vector_size(4 * CODES_AT_ONCE)));
typedef int32_t some_words __attribute__((vector_size(4 * CODES_AT_ONCE)));

/* 32 elements as whole numbers, halves away from zero; 0 for NaN. They are at most 127. Floats at least zero are compared
 * by their bits, whose order is theirs; comparisons give -1 where they hold. */
static void codes_of(const float *x, float inverse, int32_t *code)
{
    for (int i = 0; i < 32; i += CODES_AT_ONCE) {
        some_floats v;
        memcpy(&v, x + i, sizeof v);
        v *= inverse;
        const some_words bits = (some_words)v, size = bits & 0x7fffffff, minus = bits >> 31;
        const some_floats kept = (some_floats)(size & (size < 0x43000000 /* 128 */));
        const some_words down = __builtin_convertvector(kept, some_words);
        const some_floats rest = kept - __builtin_convertvector(down, some_floats);
        const some_words whole = down - ((some_words)rest >= 0x3f000000 /* a half */);
        const some_words with_sign = (whole ^ minus) - minus;
        memcpy(code + i, &with_sign, sizeof with_sign);
    }
}

/* Where codes of elements from `at` on, a multiple of 16, are in a row of a paired format. */
static inline int64_t paired_place(int64_t at)
{
    return at / PAIRED_RUN * PAIRED_RUN + at % 32 / 16 * (PAIRED_RUN / 2) +
           at % PAIRED_RUN / 32 * 16;
}
/* The first of the two lanes of a span that sum products of a group. */
static inline int lane_of(int stepped, int group)
{
    return stepped ? group % 4 * 4 + group / 4 * 2 : 2 * group;
}
/* Where codes of elements from `at` on are in a row of a format of large blocks. Lanes come in quarters, those of two
 * groups each, and a vector has 16 codes of as many quarters as it has room for: the first halves of the quarters' first
 * groups, their second halves, the first halves of the second groups, their second halves. */
static inline int64_t lane_place(int stepped, int64_t at)
{
    const int lane = lane_of(stepped, (int)(at % QUANT_SPAN / 32)), half = (int)(at % 32 / 16);
    const int quarter = lane / 4, number = 2 * (lane / 2 % 2) + half;
    return at / QUANT_SPAN * QUANT_SPAN + quarter / (VECTOR / 16) * 4 * VECTOR + number * VECTOR +
           quarter % (VECTOR / 16) * 16;
}
/* The same where two rows of blocks are computed at once: vectors of 32 codes, a half of two groups each, which are four
 * groups apart where halves have steps, else two; of four such pairs, first halves before second ones. Lanes are those of
 * the first group of the pairs 0 and 1, of the second of both, then those of the pairs 2 and 3. */
static inline void striped(int stepped, int group, int *pair, int *second)
{
    *pair = stepped ? group % 4 : group / 4 * 2 + group % 2;
    *second = stepped ? group / 4 : group % 4 / 2;
}
static inline int striped_lane(int stepped, int group)
{
    int pair, second;
    striped(stepped, group, &pair, &second);
    return pair / 2 * 8 + second * 4 + pair % 2 * 2;
}
static inline int64_t striped_place(int stepped, int64_t at)
{
    int pair, second;
    striped(stepped, (int)(at % QUANT_SPAN / 32), &pair, &second);
    return at / QUANT_SPAN * QUANT_SPAN + pair * 64 + at % 32 / 16 * 32 + second * 16;
}
static inline int lane_in(int order, int group)
{
    return order >= QUANT_STRIPED_LANED ? striped_lane(order == QUANT_STRIPED_STEPPED, group)
                                        : lane_of(order == QUANT_STEPPED, group);
}
static int64_t place_of(const quant_format *of, int64_t at)
{
    return of->order >= QUANT_STRIPED_LANED ? striped_place(of->order == QUANT_STRIPED_STEPPED, at)
           : of->order >= QUANT_LANED       ? lane_place(of->order == QUANT_STEPPED, at)
           : of->order == QUANT_PAIRED      ? paired_place(at)
                                            : at;
}

#ifdef WIDE_DOT
/* What sums of four products, or of eight of paired formats, begin at: -`less` times those of their codes. */
static void sum_less(const int8_t *code, int64_t n, const quant_format *of, int16_t *less)
{
    const __m512i one = _mm512_set1_epi8(1), by = _mm512_set1_epi32(-of->less);
    const int both = of->order == QUANT_PAIRED;
    for (int64_t at = 0; at < n; at += both ? 128 : 64, less += 32) {
        __m512i sum =
            _mm512_dpbusd_epi32(_mm512_setzero_si512(), one, _mm512_loadu_si512(code + at));
        if (both)
            sum = _mm512_dpbusd_epi32(sum, one, _mm512_loadu_si512(code + at + 64));
        _mm512_storeu_si512(less, _mm512_mullo_epi32(sum, by));
    }
}
#else
/* `less` times the sums of what is summed as integers: two codes, or four of two blocks' halves. */
static void sum_less(const int8_t *code, int64_t n, const quant_format *of, int16_t *less)
{
    if (of->order == QUANT_PAIRED)
        for (int64_t i = 0; i < n / 4; i++) {
            const int8_t *c = code + i / 16 * 64 + i % 16 * 2;
            less[i] = (int16_t)(of->less * (c[0] + c[1] + c[32] + c[33]));
        }
    else
        for (int64_t i = 0; i < n / 2; i++)
            less[i] = (int16_t)(of->less * (code[2 * i] + code[2 * i + 1]));
}
#endif

static void activate(const float *in, int64_t n, const quant_format *of, quant_made *x)
{
    const int64_t end = (n + QUANT_SPAN - 1) / QUANT_SPAN * QUANT_SPAN;
    const int64_t last = n / PAIRED_RUN * PAIRED_RUN;
    const float part = 1 / (float)of->times; /* a power of two */
    memset(x->code + last, 0, (size_t)(end - last));
    for (int64_t at = 0; at < n; at += 32) {
        const float scale = largest(in + at) / 127, inverse = scale > 0 ? 1 / scale : 0;
        int32_t whole[32];
        codes_of(in + at, inverse, whole);
        x->group_d[at / 32] = scale;
        for (int h = 0; h < 2; h++) {
            const int64_t from = at + 16 * h;
            int8_t *code = x->code + place_of(of, from);
            int total = 0;
            for (int l = 0; l < 16; l++)
                code[l] = (int8_t)whole[16 * h + l];
            for (int l = 0; l < 16; l++)
                total += whole[16 * h + l];
            x->total[from / 16] = (int16_t)total;
            x->sum[from / 16] = scale * (float)total;
            const int group = (int)(at % QUANT_SPAN / 32);
            x->d[(at - at % QUANT_SPAN) / 16 + lane_in(of->order, group) + h] = scale * part;
        }
    }
    sum_less(x->code, end, of, x->less);
    for (int64_t h = n / 16; h < end / 16; h++)
        x->d[h] = x->sum[h] = x->group_d[h / 2] = x->total[h] = 0;
}
