/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A cpu_load: LOAD_NAME, from elements of LOAD_FROM to LOAD_TO by the expression LOAD_EXPR of x.
 * LOAD_EVERY_OTHER gives strides of two elements a loop of their own, which vectorises. */
static void LOAD_NAME(void *dst, const char *src, int64_t stride_bytes, int64_t n)
{
    LOAD_TO *restrict to = dst;
    if (stride_bytes == (int64_t)sizeof(LOAD_FROM)) {
        const LOAD_FROM *restrict from = (const LOAD_FROM *)src;
        for (int64_t i = 0; i < n; i++) {
            LOAD_FROM x = from[i];
            to[i] = LOAD_EXPR;
        }
        return;
    }
#ifdef LOAD_EVERY_OTHER
    if (stride_bytes == 2 * (int64_t)sizeof(LOAD_FROM)) {
        const LOAD_FROM *restrict from = (const LOAD_FROM *)src;
        for (int64_t i = 0; i < n; i++) {
            LOAD_FROM x = from[2 * i];
            to[i] = LOAD_EXPR;
        }
        return;
    }
#endif
    for (int64_t i = 0; i < n; i++, src += stride_bytes) {
        LOAD_FROM x = *(const LOAD_FROM *)src;
        to[i] = LOAD_EXPR;
    }
}
#undef LOAD_NAME
#undef LOAD_FROM
#undef LOAD_TO
#undef LOAD_EXPR
#undef LOAD_EVERY_OTHER
