/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random numbers by Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, SC11), a block for each
 * work-item. */
struct random {
    struct walk walk; /* stride: out */
    long out;
    ulong key, counter[2], low, range, a_f64, b_f64;
    float a, b;
};

static void philox(const struct random *r, ulong step, uint x[4])
{
    ulong low = r->counter[0] + step, high = r->counter[1] + (low < step);
    uint key0 = (uint)r->key, key1 = (uint)(r->key >> 32);
    x[0] = (uint)low;
    x[1] = (uint)(low >> 32);
    x[2] = (uint)high;
    x[3] = (uint)(high >> 32);
    for (int round = 0; round < 10; round++) {
        ulong p = 0xD2511F53ul * x[0], q = 0xCD9E8D57ul * x[2];
        x[0] = (uint)(q >> 32) ^ x[1] ^ key0;
        x[1] = (uint)q;
        x[2] = (uint)(p >> 32) ^ x[3] ^ key1;
        x[3] = (uint)p;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

#if R_BITS == 64
#define WORDS 2
#define WORD(x, i) ((ulong)x[2 * (i)] | (ulong)x[2 * (i) + 1] << 32)
#else
#define WORDS 4
#define WORD(x, i) x[i]
#endif

#if R_KIND == KIND_FLOAT && R_BITS == 64
typedef double real;
#define PARAMETER(name) as_double(r->name##_f64)
#define UNIT(w) ((double)((w) >> 11) * 0x1p-53)
#define ABOVE_ZERO(w) ((double)(((w) >> 11) + 1) * 0x1p-53)
#else
typedef float real;
#define PARAMETER(name) r->name
#define UNIT(w) ((float)((w) >> 8) * 0x1p-24f)
#define ABOVE_ZERO(w) ((wide)(((w) >> 8) + 1) * (wide)0x1p-24)
#endif

#if KIND == 0 /* uniform */
static void values(const struct random *r, const uint *x, CAT(computed_, R) *v)
{
    real low = PARAMETER(a), high = PARAMETER(b), range = high - low;
    for (int i = 0; i < WORDS; i++) {
        real y = low + UNIT(WORD(x, i)) * range;
#if R_BITS == 16
        float h = CAT(widen_, R)(CAT(narrow_, R)(y));
        if (low < high && h >= high) {
            ushort u = CAT(narrow_, R)(high);
            if (CAT(widen_, R)(u) >= high)
                u = (u & 0x7fff) == 0 ? 0x8001 : u & 0x8000 ? u + 1 : u - 1;
            h = CAT(widen_, R)(u);
        }
        v[i] = h;
#else
        v[i] = low < high && y >= high ? nextafter(high, (real)-INFINITY) : y;
#endif
    }
}
#elif KIND == 1 /* normal, by Box and Muller */
static void values(const struct random *r, const uint *x, CAT(computed_, R) *v)
{
    real mean = PARAMETER(a), deviation = PARAMETER(b);
    for (int i = 0; i < WORDS; i += 2) {
        wide radius = sqrt(-2 * log((wide)ABOVE_ZERO(WORD(x, i))));
        wide turns = 2 * (wide)UNIT(WORD(x, i + 1));
        v[i] = mean + deviation * (real)(radius * cospi(turns));
        v[i + 1] = mean + deviation * (real)(radius * sinpi(turns));
    }
}
#else /* integers */
static void values(const struct random *r, const uint *x, CAT(computed_, R) *v)
{
    for (int i = 0; i < WORDS; i++) {
#if R_BITS == 64
        ulong w = r->range ? mul_hi(WORD(x, i), r->range) : WORD(x, i);
#else
        uint w = r->range && r->range >> 32 == 0 ? mul_hi(x[i], (uint)r->range) : x[i];
#endif
        v[i] = (CAT(computed_, R))(r->low + w);
    }
}
#endif

kernel void fill_random(bytes out, struct random r)
{
    uint x[4];
    CAT(computed_, R) v[4];
    ulong first = get_global_id(0) * WORDS;
    long at[OPERANDS];
    if (first >= r.walk.n)
        return;
    philox(&r, get_global_id(0), x);
    values(&r, x, v);
    for (int i = 0; i < WORDS && first + i < r.walk.n; i++) {
        locate(&r.walk, first + i, at, 1);
        CAT(store_, R)(out + r.out, at[0], v[i]);
    }
}
