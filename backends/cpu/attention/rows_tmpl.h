/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over a row of a block of scores. The includer defines
 *   AT_NAME  f32 f64: suffix of what is defined here
 *   AT_T     the type
 *   AT_EXP   exp of a double that is not positive */
#define AT_FN(name) CPU_CAT(name, AT_NAME)

static double AT_FN(row_max)(const void *row, int64_t n)
{
    const AT_T *x = row;
    AT_T v[LANES];
    int64_t i = 0;
    for (int l = 0; l < LANES; l++)
        v[l] = -INFINITY;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            v[l] = x[i + l] > v[l] ? x[i + l] : v[l];
    for (int64_t l = 0; l < n - i; l++)
        v[l] = x[i + l] > v[l] ? x[i + l] : v[l];
    for (int h = LANES / 2; h; h /= 2)
        for (int l = 0; l < h; l++)
            v[l] = v[l + h] > v[l] ? v[l + h] : v[l];
    return v[0];
}

CPU_INLINE void AT_FN(exp_step)(AT_T *restrict x, double *restrict sum, double shift, int64_t n)
{
    for (int64_t l = 0; l < n; l++) {
        double t = AT_EXP((double)x[l] - shift);
        x[l] = (AT_T)t;
        sum[l] += t;
    }
}

static double AT_FN(row_exp)(void *row, int64_t n, double shift)
{
    AT_T *x = row;
    double v[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        AT_FN(exp_step)(x + i, v, shift, LANES);
    AT_FN(exp_step)(x + i, v, shift, n - i);
    for (int h = LANES / 2; h; h /= 2)
        for (int l = 0; l < h; l++)
            v[l] += v[l + h];
    return v[0];
}

static void AT_FN(row_scale)(void *row, int64_t n, double factor)
{
    AT_T *x = row, f = (AT_T)factor;
    for (int64_t i = 0; i < n; i++)
        x[i] *= f;
}

static void AT_FN(row_grad)(void *row, void *grads, int64_t n, double shift, double delta,
                            double factor)
{
    AT_T *restrict x = row, *restrict d = grads;
    for (int64_t i = 0; i < n; i++) {
        double t = AT_EXP((double)x[i] - shift);
        x[i] = (AT_T)t;
        d[i] = (AT_T)(t * ((double)d[i] - delta) * factor);
    }
}

static void AT_FN(row_add_mask)(void *row, const void *mask, int64_t stride, int64_t n)
{
    AT_T *x = row;
    const AT_T *m = mask;
    for (int64_t i = 0; i < n; i++)
        x[i] += m[i * stride];
}

static void AT_FN(row_hide)(void *row, int64_t from, int64_t n)
{
    AT_T *x = row;
    for (int64_t i = from; i < n; i++)
        x[i] = -INFINITY;
}

static void AT_FN(row_hide_by)(void *row, const uint8_t *seen, int64_t stride, int64_t n)
{
    AT_T *x = row;
    for (int64_t i = 0; i < n; i++)
        x[i] = seen[i * stride] ? x[i] : -INFINITY;
}

static void AT_FN(row_drop)(void *row, const uint32_t *word, uint32_t least, int64_t n)
{
    AT_T *x = row;
    for (int64_t i = 0; i < n; i++)
        x[i] = word[i] < least ? 0 : x[i];
}

static double AT_FN(row_get)(const void *x)
{
    return *(const AT_T *)x;
}

const at_rows CPU_ISA_FN(CPU_CAT(cpu_attention_rows, AT_NAME)) = {
    .max = AT_FN(row_max),
    .exp = AT_FN(row_exp),
    .scale = AT_FN(row_scale),
    .grad = AT_FN(row_grad),
    .add_mask = AT_FN(row_add_mask),
    .hide = AT_FN(row_hide),
    .hide_by = AT_FN(row_hide_by),
    .drop = AT_FN(row_drop),
    .get = AT_FN(row_get),
};
#undef AT_FN
#undef AT_NAME
#undef AT_T
#undef AT_EXP
