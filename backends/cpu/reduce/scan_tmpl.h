/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of one dtype to and from what a scan computes in. The includer defines TNAME, T (one
 * component), COMPS, ACC (double or u64), LOAD(x) and STORE(v). n counts elements. */
static void CPU_CAT(load, TNAME)(void *dst, const char *src, int64_t stride_bytes, int64_t n)
{
    ACC *restrict to = dst;
    if (stride_bytes == COMPS * (int64_t)sizeof(T)) {
        const T *restrict from = (const T *)src;
        for (int64_t i = 0; i < n * COMPS; i++)
            to[i] = LOAD(from[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++, src += stride_bytes)
        for (int c = 0; c < COMPS; c++) {
            T x = ((const T *)src)[c];
            to[i * COMPS + c] = LOAD(x);
        }
}

static void CPU_CAT(store, TNAME)(char *dst, int64_t stride_bytes, const void *src, int64_t n)
{
    const ACC *restrict from = src;
    if (stride_bytes == COMPS * (int64_t)sizeof(T)) {
        T *restrict to = (T *)dst;
        for (int64_t i = 0; i < n * COMPS; i++)
            to[i] = STORE(from[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++, dst += stride_bytes)
        for (int c = 0; c < COMPS; c++) {
            ACC v = from[i * COMPS + c];
            ((T *)dst)[c] = STORE(v);
        }
}
#undef TNAME
#undef T
#undef COMPS
#undef ACC
#undef LOAD
#undef STORE
