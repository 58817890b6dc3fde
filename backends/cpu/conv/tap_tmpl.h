/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One tap of a row of sums. The includer defines CV_NAME, f32 or f64, and CV_T, the type. Products
 * are rounded before they are added, at every SIMD level. */
#define CV_FN(name) CPU_CAT(cv_##name, CV_NAME)

static void CV_FN(tap)(void *sum_, const void *x_, int64_t stride, double weight_, int64_t n)
{
    CV_T *restrict sum = sum_;
    const CV_T *restrict x = x_;
    const CV_T weight = (CV_T)weight_;
    if (stride == 1)
        for (int64_t i = 0; i < n; i++)
            sum[i] += weight * x[i];
    else if (stride == 2)
        for (int64_t i = 0; i < n; i++)
            sum[i] += weight * x[2 * i];
    else
        for (int64_t i = 0; i < n; i++)
            sum[i] += weight * x[i * stride];
}

static void CV_FN(channels)(void *sum_, const void *x_, const void *weight_, int64_t n)
{
    CV_T *restrict sum = sum_;
    const CV_T *restrict x = x_, *restrict weight = weight_;
    for (int64_t i = 0; i < n; i++)
        sum[i] += weight[i] * x[i];
}

#undef CV_FN
#undef CV_NAME
#undef CV_T
