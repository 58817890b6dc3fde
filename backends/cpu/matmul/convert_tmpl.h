/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of one dtype to and from one type of sums. The includer defines
 *   MM_NAME          suffix of what is defined here
 *   MM_S, MM_T       the stored and the computed type
 *   MM_PARTS         scalars in an element
 *   MM_FROM(x), MM_TO(x)   the conversions of a scalar; MM_TO is undefined when nothing is stored
 *   MM_FROM_RUN, MM_TO_RUN optional: conversions of MM_RUN scalars that lie side by side */
#define MM_FN(name) CPU_CAT(mm_##name, MM_NAME)
#define MM_RUN 16

static void MM_FN(load)(const void *src_, int64_t outer_stride, int64_t stride, int64_t n_outer,
                        int64_t n, void *dst_)
{
    MM_T *dst = dst_;
    for (int64_t o = 0; o < n_outer; o++, dst += n * MM_PARTS) {
        const MM_S *src = (const MM_S *)src_ + o * outer_stride * MM_PARTS;
        int64_t i = 0;
        if (stride == 1)
            for (; i + MM_RUN <= n * MM_PARTS; i += MM_RUN)
#ifdef MM_FROM_RUN
                MM_FROM_RUN(src + i, dst + i);
#else
                for (int l = 0; l < MM_RUN; l++)
                    dst[i + l] = MM_FROM(src[i + l]);
#endif
        for (i /= MM_PARTS; i < n; i++)
            for (int p = 0; p < MM_PARTS; p++)
                dst[i * MM_PARTS + p] = MM_FROM(src[i * stride * MM_PARTS + p]);
    }
}

#ifdef MM_TO
static void MM_FN(save)(const void *src_, int64_t n, void *dst_, int64_t stride)
{
    const MM_T *src = src_;
    MM_S *dst = dst_;
    int64_t i = 0;
    if (stride == 1)
        for (; i + MM_RUN <= n * MM_PARTS; i += MM_RUN)
#ifdef MM_TO_RUN
            MM_TO_RUN(src + i, dst + i);
#else
            for (int l = 0; l < MM_RUN; l++)
                dst[i + l] = MM_TO(src[i + l]);
#endif
    for (i /= MM_PARTS; i < n; i++)
        for (int p = 0; p < MM_PARTS; p++)
            dst[i * stride * MM_PARTS + p] = MM_TO(src[i * MM_PARTS + p]);
}
#endif

#undef MM_FN
#undef MM_RUN
#undef MM_NAME
#undef MM_S
#undef MM_PARTS
#undef MM_FROM
#undef MM_TO
#undef MM_FROM_RUN
#undef MM_TO_RUN
