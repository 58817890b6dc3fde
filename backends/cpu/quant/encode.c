/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Blocks of quantised formats, by the algorithms of ggml's reference implementation: the same
 * order of operations in f32, so that the bytes are its own. Built once, for every SIMD level. */
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "math/half.h"
#include "quant/quant.h"

static void put_half(unsigned char *to, float x)
{
    const uint16_t h = cpu_f16_from_f32_plain(x);
    to[0] = (unsigned char)(h & 255);
    to[1] = (unsigned char)(h >> 8);
}

static float get_half(const unsigned char *from)
{
    return cpu_f16_to_f32_plain((uint16_t)(from[0] | from[1] << 8));
}

/* To the nearest integer, ties to even, within low and high; low for NaN. |x| is below 2^22, or the
 * result is one of the ends anyway. */
static int nearest(float x, int low, int high)
{
    const float magic = 12582912.0f; /* 3*2^22 */
    const float bounded = x < 4e6f ? (x > -4e6f ? x : -4e6f) : 4e6f;
    volatile float sum = bounded + magic;
    const float rounded = sum - magic;
    return rounded > (float)high ? high : rounded >= (float)low ? (int)rounded : low;
}

/* The element of largest magnitude, the first of equals, with its sign. */
static float extreme(const float *x, int n)
{
    float most = 0, with_sign = 0;
    for (int i = 0; i < n; i++)
        if (most < fabsf(x[i])) {
            most = fabsf(x[i]);
            with_sign = x[i];
        }
    return with_sign;
}

/* ---- q4_0, q8_0 ---- */

static int four_bits(float x)
{
    const float v = x + 8.5f;
    return v >= 15 ? 15 : v > 0 ? (int)v : 0;
}

static void encode_q4_0(const float *x, unsigned char *block)
{
    const float d = extreme(x, 32) / -8, inverse = d != 0 ? 1 / d : 0;
    put_half(block, d);
    for (int l = 0; l < 16; l++)
        block[2 + l] =
            (unsigned char)(four_bits(x[l] * inverse) | four_bits(x[16 + l] * inverse) << 4);
}

static void encode_q8_0(const float *x, unsigned char *block)
{
    const float d = fabsf(extreme(x, 32)) / 127, inverse = d != 0 ? 1 / d : 0;
    put_half(block, d);
    for (int l = 0; l < 32; l++) {
        /* Halves away from zero. Only where the inverse is infinite is it out of range. */
        const float v = roundf(x[l] * inverse);
        block[2 + l] = (unsigned char)(signed char)(fabsf(v) <= 127 ? (int)v : 0);
    }
}

/* ---- q4_K ---- */

/* 32 elements as scale*code + min: their least squares fits, weighted, for 21 sets of codes 0 to 15
 * that lie closely together. Codes count from `low`, which is the best min so far. */
typedef struct {
    const float *x, *weight;
    float low, high, sum_w, sum_x; /* weighted sums */
} fit;

static void fit_begin(fit *f, const float *x, const float *weight)
{
    f->x = x;
    f->weight = weight;
    f->low = f->high = x[0];
    f->sum_w = weight[0];
    f->sum_x = weight[0] * x[0];
    for (int i = 1; i < 32; i++) {
        f->low = x[i] < f->low ? x[i] : f->low;
        f->high = x[i] > f->high ? x[i] : f->high;
        f->sum_w += weight[i];
        f->sum_x += weight[i] * x[i];
    }
    f->low = f->low > 0 ? 0 : f->low;
}

static void fit_codes(const fit *f, float inverse, int *code)
{
    for (int i = 0; i < 32; i++)
        code[i] = nearest(inverse * (f->x[i] - f->low), 0, 15);
}

static float fit_error(const fit *f, const int *code, float scale, float min)
{
    float error = 0;
    for (int i = 0; i < 32; i++) {
        const float off = scale * (float)code[i] + min - f->x[i];
        error += f->weight[i] * (off * off);
    }
    return error;
}

/* The best scale and min for these codes; false where there is none. */
static bool fit_solve(const fit *f, const int *code, float *scale, float *min)
{
    float sum = 0, squares = 0, products = 0;
    for (int i = 0; i < 32; i++) {
        const float l = (float)code[i], w = f->weight[i];
        sum += w * l;
        squares += w * l * l;
        products += w * l * f->x[i];
    }
    const float determinant = f->sum_w * squares - sum * sum;
    if (!(determinant > 0))
        return false;
    *scale = (f->sum_w * products - f->sum_x * sum) / determinant;
    *min = (squares * f->sum_x - sum * products) / determinant;
    if (*min > 0) {
        *min = 0;
        *scale = products / squares;
    }
    return true;
}

/* Scale, the negative of min, which is at least 0, and the codes they are best for. */
static float fit_best(const float *x, const float *weight, float *least, int *code)
{
    enum { STEPS = 20 };
    fit f;
    int other[32];
    fit_begin(&f, x, weight);
    *least = -f.low;
    memset(code, 0, 32 * sizeof *code);
    if (f.high == f.low)
        return 0;
    float inverse = 15 / (f.high - f.low), best = 1 / inverse;
    fit_codes(&f, inverse, code);
    float error = fit_error(&f, code, best, f.low);
    for (int step = 0; step <= STEPS; step++) {
        float scale, min;
        inverse = (-1.0f + 0.1f * (float)step + 15) / (f.high - f.low);
        fit_codes(&f, inverse, other);
        if (!fit_solve(&f, other, &scale, &min))
            continue;
        const float now = fit_error(&f, other, scale, min);
        if (now < error) {
            memcpy(code, other, sizeof other);
            error = now;
            best = scale;
            f.low = min;
        }
    }
    *least = -f.low;
    return best;
}

/* Eight scales and minima of 6 bits in 12 bytes. */
static void put_sixes(unsigned char *to, const int *scale, const int *min)
{
    for (int i = 0; i < 4; i++) {
        to[i] = (unsigned char)(scale[i] | (scale[i + 4] >> 4) << 6);
        to[i + 4] = (unsigned char)(min[i] | (min[i + 4] >> 4) << 6);
        to[i + 8] = (unsigned char)((scale[i + 4] & 15) | (min[i + 4] & 15) << 4);
    }
}

/* Codes of 32 elements by their scale and min as they are stored. Where the scale is 0 they stay,
 * to be multiplied by it. */
static void final_codes(const float *x, float d, float min, int *code)
{
    for (int i = 0; i < 32 && d != 0; i++)
        code[i] = nearest((x[i] + min) / d, 0, 15);
}

static void encode_q4_K(const float *x, unsigned char *block)
{
    float scale[8], min[8], most[2] = {0, 0};
    int code[8][32], six[2][8];
    for (int g = 0; g < 8; g++) {
        float weight[32], squares = 0;
        for (int i = 0; i < 32; i++)
            squares += x[32 * g + i] * x[32 * g + i];
        const float typical = sqrtf(squares / 32);
        for (int i = 0; i < 32; i++)
            weight[i] = typical + fabsf(x[32 * g + i]);
        scale[g] = fit_best(x + 32 * g, weight, &min[g], code[g]);
        most[0] = scale[g] > most[0] ? scale[g] : most[0];
        most[1] = min[g] > most[1] ? min[g] : most[1];
    }
    const float inverse[2] = {most[0] > 0 ? 63 / most[0] : 0, most[1] > 0 ? 63 / most[1] : 0};
    for (int g = 0; g < 8; g++) {
        six[0][g] = nearest(inverse[0] * scale[g], 0, 63);
        six[1][g] = nearest(inverse[1] * min[g], 0, 63);
    }
    put_half(block, most[0] / 63);
    put_half(block + 2, most[1] / 63);
    put_sixes(block + 4, six[0], six[1]);
    const float d = get_half(block), low = get_half(block + 2);
    for (int g = 0; g < 8; g++)
        final_codes(x + 32 * g, d * (float)six[0][g], low * (float)six[1][g], code[g]);
    for (int g = 0; g < 8; g += 2)
        for (int l = 0; l < 32; l++)
            block[16 + 16 * g + l] = (unsigned char)(code[g][l] | code[g + 1][l] << 4);
}

/* ---- q6_K ---- */

/* The best scale for 16 elements as codes -32 to 31, which are given 0 to 63: least squares weighted
 * by x*x, tried for codes by 19 scales close to that of the extreme. */
static float symmetric_scale(const float *x, int *code)
{
    const float most = extreme(x, 16);
    float scale = 0, best = 0;
    memset(code, 0, 16 * sizeof *code);
    if (fabsf(most) < 1e-15f)
        return 0;
    for (int try = 0; try < 19; try++) {
        const int step = try == 0 ? 0 : try <= 9 ? try - 10 : try - 9; /* 0, -9 to -1, 1 to 9 */
        const float inverse = -(32 + 0.1f * (float)step) / most;
        float products = 0, squares = 0;
        int other[16];
        for (int i = 0; i < 16; i++) {
            const float l = (float)nearest(inverse * x[i], -32, 31), w = x[i] * x[i];
            other[i] = 32 + (int)l;
            products += w * x[i] * l;
            squares += w * l * l;
        }
        if (try > 0 && !(squares > 0 && products * products > best * squares))
            continue;
        scale = squares != 0 ? products / squares : 0;
        best = scale * products;
        memcpy(code, other, sizeof other);
    }
    return scale;
}

static void pack_q6_K(const int *code, unsigned char *block)
{
    for (int chunk = 0; chunk < 2; chunk++) {
        const int *c = code + 128 * chunk;
        unsigned char *low = block + 64 * chunk, *high = block + 128 + 32 * chunk;
        for (int l = 0; l < 32; l++) {
            low[l] = (unsigned char)((c[l] & 15) | (c[l + 64] & 15) << 4);
            low[l + 32] = (unsigned char)((c[l + 32] & 15) | (c[l + 96] & 15) << 4);
            high[l] = (unsigned char)(c[l] >> 4 | (c[l + 32] >> 4) << 2 | (c[l + 64] >> 4) << 4 |
                                      (c[l + 96] >> 4) << 6);
        }
    }
}

static void encode_q6_K(const float *x, unsigned char *block)
{
    float scale[16], most;
    int code[QUANT_SPAN];
    for (int h = 0; h < 16; h++)
        scale[h] = symmetric_scale(x + 16 * h, code + 16 * h);
    most = extreme(scale, 16);
    memset(block, 0, 210);
    if (fabsf(most) < 1e-15f)
        return;
    const float inverse = -128 / most;
    put_half(block + 208, 1 / inverse);
    const float d = get_half(block + 208);
    for (int h = 0; h < 16; h++) {
        const int eight = nearest(inverse * scale[h], -128, 127);
        const float step = d * (float)eight;
        block[192 + h] = (unsigned char)(signed char)eight;
        for (int l = 0; l < 16 && step != 0; l++)
            code[16 * h + l] = 32 + nearest(x[16 * h + l] / step, -32, 31);
    }
    pack_q6_K(code, block);
}

quant_encode *quant_encoder(int32_t format)
{
    switch (format) {
    case 2:
        return encode_q4_0;
    case 8:
        return encode_q8_0;
    case 12:
        return encode_q4_K;
    case 14:
        return encode_q6_K;
    default:
        return NULL;
    }
}
