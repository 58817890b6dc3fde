/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of one kind as sort keys. The includer sets U, an unsigned type of the element's width
 * that may alias it, TYPE(name), INFINITE, the bits of +infinity, or 0 for integers, and READ(x),
 * what an element counts as where that is not the element itself. */
#ifndef READ
#define READ(x) (x)
#endif
#define ALL ((U) ~(U)0)
#define SIGN ((U)(ALL / 2 + 1))

/* Order of bits without regard to zeros and NaNs. */
static inline U TYPE(ordered)(U raw)
{
    return raw ^ ((U)(0 - (raw >> (8 * sizeof(U) - 1))) | SIGN);
}

static inline U TYPE(key)(U raw, U flip)
{
#if INFINITE
    U size = raw & (U)~SIGN;
    U key = size == 0 ? SIGN : TYPE(ordered)(raw);
    return (size > INFINITE ? ALL : key) ^ flip;
#else
    return (U)(READ(raw) ^ flip);
#endif
}

static void TYPE(keys)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t *out)
{
    const U *x = (const U *)a;
    for (int64_t i = 0; i < n; i++)
        out[i] = TYPE(key)(x[i * stride], (U)flip);
}

static void TYPE(range)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t *least,
                        uint64_t *most)
{
    const U *x = (const U *)a;
    U min = ALL, max = 0;
    if (stride == 1)
        for (int64_t i = 0; i < n; i++) {
            U key = TYPE(key)(x[i], (U)flip);
            min = key < min ? key : min;
            max = key > max ? key : max;
        }
    else
        for (int64_t i = 0; i < n; i++) {
            U key = TYPE(key)(x[i * stride], (U)flip);
            min = key < min ? key : min;
            max = key > max ? key : max;
        }
    *least = min;
    *most = max;
}

static int TYPE(load)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t min,
                      void *out)
{
    const U *x = (const U *)a;
    U *key = out, special = 0;
    if (stride == 1)
        for (int64_t i = 0; i < n; i++) {
            special |= (U)((x[i] == SIGN) | ((x[i] & (U)~SIGN) > INFINITE));
            key[i] = (U)(TYPE(key)(x[i], (U)flip) - (U)min);
        }
    else
        for (int64_t i = 0; i < n; i++) {
            U raw = x[i * stride];
            special |= (U)((raw == SIGN) | ((raw & (U)~SIGN) > INFINITE));
            key[i] = (U)(TYPE(key)(raw, (U)flip) - (U)min);
        }
    return INFINITE && special;
}

static void TYPE(store)(const void *sorted, int64_t n, uint64_t flip, uint64_t min, char *out,
                        int64_t stride)
{
    const U *key = sorted;
    U *x = (U *)out;
    for (int64_t i = 0; i < n; i++) {
        U bits = (U)(key[i] + (U)min) ^ (U)flip;
#if INFINITE
        bits = bits & SIGN ? bits ^ SIGN : (U)~bits;
#endif
        x[i * stride] = bits;
    }
}

#if INFINITE
static int64_t TYPE(first)(const U *key, int64_t n, U wanted)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (key[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void TYPE(restore)(const char *a, int64_t stride, int64_t n, uint64_t flip, uint64_t min,
                          void *sorted)
{
    const U *x = (const U *)a;
    U *key = sorted;
    int64_t zero = TYPE(first)(key, n, (U)((SIGN ^ (U)flip) - (U)min));
    int64_t nan = TYPE(first)(key, n, (U)((ALL ^ (U)flip) - (U)min));
    for (int64_t i = 0; i < n; i++) {
        U raw = x[i * stride], size = raw & (U)~SIGN;
        if (size == 0)
            key[zero++] = (U)((TYPE(ordered)(raw) ^ (U)flip) - (U)min);
        else if (size > INFINITE)
            key[nan++] = (U)((TYPE(ordered)(raw) ^ (U)flip) - (U)min);
    }
}
#endif

#if INFINITE && !defined(NARROW)
/* Values that vectors of floats compare: zeros as +0 and NaN as +infinity, and the opposite of all
 * of them, all ones in `opposite`, for descending order. Nonzero where bits were lost by that. */
static inline __attribute__((always_inline)) U TYPE(value)(U raw, U turned, U *special)
{
    const U size = raw & (U)~SIGN;
    *special |= (U)((raw == SIGN) | (size > INFINITE));
    return (size > INFINITE ? INFINITE : size == 0 ? 0 : raw) ^ turned;
}

static int TYPE(load_values)(const char *a, int64_t stride, int64_t n, uint64_t opposite, void *out)
{
    const U *x = (const U *)a;
    U *value = out, special = 0;
    const U turned = (U)opposite & SIGN;
    if (stride == 1)
        for (int64_t i = 0; i < n; i++)
            value[i] = TYPE(value)(x[i], turned, &special);
    else
        for (int64_t i = 0; i < n; i++)
            value[i] = TYPE(value)(x[i * stride], turned, &special);
    return special != 0;
}

static void TYPE(store_values)(const void *sorted, int64_t n, uint64_t opposite, char *out,
                               int64_t stride)
{
    const U *value = sorted;
    U *x = (U *)out;
    const U turned = (U)opposite & SIGN;
    for (int64_t i = 0; i < n; i++)
        x[i * stride] = value[i] ^ turned;
}

/* Values of a, in order, to where the sorted ones are zeros and NaNs. */
static void TYPE(restore_values)(const char *a, int64_t stride, int64_t n, uint64_t opposite,
                                 void *sorted)
{
    const U *x = (const U *)a;
    U *value = sorted;
    const U turned = (U)opposite & SIGN;
    int64_t zero = 0, high = n, nan = n;
    while (zero < high) { /* the first one that is not below zero */
        const int64_t middle = zero + (high - zero) / 2;
        if (value[middle] > SIGN)
            zero = middle + 1;
        else
            high = middle;
    }
    for (int64_t i = 0; i < n; i++)
        nan -= (x[i * stride] & (U)~SIGN) > INFINITE;
    nan = turned ? 0 : nan;
    for (int64_t i = 0; i < n; i++) {
        const U raw = x[i * stride], size = raw & (U)~SIGN;
        if (size == 0)
            value[zero++] = raw ^ turned;
        else if (size > INFINITE)
            value[nan++] = raw ^ turned;
    }
}
#endif
#undef ALL
#undef SIGN
#undef NARROW
#undef U
#undef TYPE
#undef INFINITE
#undef READ
