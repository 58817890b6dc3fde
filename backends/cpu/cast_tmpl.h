/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The dense cast loops from one dtype to all. Included with CAST_SRC its name, and either
 * CAST_GET(i), the value of element i, or CAST_PAIR for a complex dtype. Deliberately no include
 * guard. */
#ifdef CAST_PAIR
#define CAST_GET(i) s[2 * (i)]
#define CAST_IMAGINARY(i) s[2 * (i) + 1]
#define CAST_NONZERO(i) (s[2 * (i)] != 0 || s[2 * (i) + 1] != 0)
#else
#define CAST_IMAGINARY(i) 0.0f
#define CAST_NONZERO(i) (CAST_GET(i) != 0)
#endif
#define CAST_FN(name) CPU_CAT(CPU_CAT(cast_loop, CAST_SRC), name)
#define CAST_STORE_BOOL(name) d[i] = CAST_NONZERO(i)
#define CAST_STORE_INT(name) d[i] = CAST_TO_##name(CAST_GET(i))
#define CAST_STORE_UINT(name) CAST_STORE_INT(name)
#define CAST_STORE_FLOAT(name) CAST_STORE_INT(name)
#define CAST_STORE_COMPLEX(name) \
    d[2 * i] = CAST_TO_##name(CAST_GET(i)), d[2 * i + 1] = CAST_TO_##name(CAST_IMAGINARY(i))
#define CAST_LOOP(KIND, name, s, d) \
    for (int64_t i = 0; i < n; i++) \
    CAST_STORE_##KIND(name)

#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc)           \
    static void CAST_FN(name)(void *restrict dst, const void *restrict src, int64_t n) \
    {                                                                                  \
        const CPU_CAT(cast, CAST_SRC) *s = src;                                        \
        cast_##name *d = dst;                                                          \
        CAST_LOOP(KIND, name, s, d);                                                   \
    }
#include <ndock/dtype.def>

static cpu_cast_fn *const CPU_CAT(cast_from, CAST_SRC)[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = CAST_FN(name),
#include <ndock/dtype.def>
};
#undef CAST_SRC
#undef CAST_GET
#undef CAST_PAIR
#undef CAST_IMAGINARY
#undef CAST_NONZERO
#undef CAST_FN
#undef CAST_STORE_BOOL
#undef CAST_STORE_INT
#undef CAST_STORE_UINT
#undef CAST_STORE_FLOAT
#undef CAST_STORE_COMPLEX
#undef CAST_LOOP
