/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Packing integers of a stored type in pairs along k (pairs.h). The includer defines
 *   MM_NAME   suffix of what is defined here
 *   MM_S      the stored type
 * Panels lie as far apart as those of words of one element would, and half of each is used. */
#define MM_FN(name) CPU_CAT(mm_##name, MM_NAME)

static inline __attribute__((always_inline)) void MM_FN(pack)(const MM_S *src, int64_t stride_w,
                                                              int64_t stride_k, int64_t w,
                                                              int64_t kc, uint32_t *dst,
                                                              const int width)
{
    for (; w > 0; w -= width, src += width * stride_w, dst += width * kc) {
        const int64_t lanes = w < width ? w : width;
        if (lanes < width)
            memset(dst, 0, (size_t)(width * mm_pairs(kc)) * sizeof *dst);
        for (int64_t k = 0; k < kc; k += 2)
            for (int64_t i = 0; i < lanes; i++) {
                const MM_S *at = src + i * stride_w + k * stride_k;
                const MM_S next = k + 1 < kc ? at[stride_k] : 0;
                dst[k / 2 * width + i] = (uint32_t)(uint16_t)at[0] | (uint32_t)(uint16_t)next << 16;
            }
    }
}

static void MM_FN(pack_a)(const void *src, int64_t stride_w, int64_t stride_k, int64_t w,
                          int64_t kc, void *dst)
{
    MM_FN(pack)(src, stride_w, stride_k, w, kc, dst, MM_ROWS);
}

static void MM_FN(pack_b)(const void *src, int64_t stride_w, int64_t stride_k, int64_t w,
                          int64_t kc, void *dst)
{
    MM_FN(pack)(src, stride_w, stride_k, w, kc, dst, MM_ACROSS * MM_BYTES / 4);
}

#undef MM_FN
#undef MM_NAME
#undef MM_S
