/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Adding, min and max scatters of one real dtype. The includer sets T (stored), C (computed in),
 * LOAD and STORE between them, FLOATING and TYPE(name). */

static inline T TYPE(add)(T old, T new)
{
#if FLOATING
    return STORE(LOAD(old) + LOAD(new));
#else
    return (T)((uint64_t)old + (uint64_t) new); /* wraps */
#endif
}

/* A NaN stays and wins; -0 is below +0. */
static inline T TYPE(smaller)(T old, T new)
{
    C a = LOAD(old), b = LOAD(new);
#if FLOATING
    int low_zero = (b == a) & (__builtin_signbit(b) != 0);
    return (a == a) & ((b < a) | (b != b) | low_zero) ? new : old;
#else
    return b < a ? new : old;
#endif
}

static inline T TYPE(larger)(T old, T new)
{
    C a = LOAD(old), b = LOAD(new);
#if FLOATING
    int high_zero = (b == a) & (__builtin_signbit(b) == 0);
    return (a == a) & ((b > a) | (b != b) | high_zero) ? new : old;
#else
    return b > a ? new : old;
#endif
}

#define UPDATE TYPE(add)
#define FN(name) TYPE(name##_add)
#include "index/scatter_loop_tmpl.h"
#define UPDATE TYPE(smaller)
#define FN(name) TYPE(name##_min)
#include "index/scatter_loop_tmpl.h"
#define UPDATE TYPE(larger)
#define FN(name) TYPE(name##_max)
#include "index/scatter_loop_tmpl.h"
#undef T
#undef C
#undef LOAD
#undef STORE
#undef FLOATING
#undef TYPE
