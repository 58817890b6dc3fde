/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Further loops of a floating type's four operations, for programs: with a scalar for an operand, of
 * which p has the one element, and with results written past the cache. Text included by
 * elementwise/loops_tmpl.h, whose names it uses. */
EW_INLINE void EW_FN(some)(ND_T (*f)(ND_T, ND_T), const ND_T *a, const ND_T *b, ND_T *out,
                           int64_t n, int form)
{
    const ND_T x = *a, y = *b;
    EW_IVDEP
    _Pragma("GCC unroll 4") for (int64_t i = 0; i < n; i++) out[i] =
        f(form == EW_SCALAR_FIRST ? x : a[i], form == EW_SCALAR_SECOND ? y : b[i]);
}
/* A line of cache at a time; what stands before the first whole one and behind the last is written as
 * ever. */
EW_INLINE void EW_FN(streamed)(ND_T (*f)(ND_T, ND_T), char *const *p, int64_t n, int form)
{
    enum { LINE = 64 / sizeof(ND_T) };
    const int64_t da = form != EW_SCALAR_FIRST, db = form != EW_SCALAR_SECOND;
    const ND_T *a = (const ND_T *)p[0], *b = (const ND_T *)p[1];
    ND_T *out = (ND_T *)p[2];
    int64_t i = (int64_t)(-(uintptr_t)out & 63) / (int64_t)sizeof(ND_T);
    i = i < n ? i : n;
    if (i > 0)
        EW_FN(some)(f, a, b, out, i, form);
    for (; i + LINE <= n; i += LINE) {
        _Alignas(64) ND_T line[LINE];
        EW_FN(some)(f, a + i * da, b + i * db, line, LINE, form);
        ew_stream_line((char *)(out + i), (const char *)line);
    }
    if (i < n)
        EW_FN(some)(f, a + i * da, b + i * db, out + i, n - i, form);
}
EW_INLINE void EW_FN(formed)(ND_T (*f)(ND_T, ND_T), char *const *p, int64_t n, int form)
{
    EW_FN(some)(f, (const ND_T *)p[0], (const ND_T *)p[1], (ND_T *)p[2], n, form);
}

EW_ARITH_LOOPS(add)
EW_ARITH_LOOPS(subtract)
EW_ARITH_LOOPS(multiply)
EW_ARITH_LOOPS(divide)
static const ew_arith EW_FN(arith)[EW_ARITH_OPS] = {EW_ARITH_ROW(add), EW_ARITH_ROW(subtract),
                                                    EW_ARITH_ROW(multiply), EW_ARITH_ROW(divide)};
