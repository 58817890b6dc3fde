/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * sin, cos and tan of f64 within one unit in the last place: OpenCL lets drivers be off by 4 or 5.
 * Arguments are reduced by Payne and Hanek's method (1983): as many bits of 2/pi as matter times
 * the argument's integer fraction, modulo 4. */
#if HAVE_F64
constant ulong two_over_pi[20] = {
    0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul,
    0xb7246e3a424dd2e0ul, 0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul,
    0xe99c7026b45f7e41ul, 0x3991d639835339f4ul, 0x9c845f8bbdf9283bul, 0x1ff897ffde05980ful,
    0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul, 0x4f463f669e5fea2dul, 0x7527bac7ebe5f17bul,
    0x3d0739f78a5292eaul, 0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul, 0xf0cfbc209af4361dul};
typedef struct {
    double high, low;
} pair;

static pair pair_of(double a, double b)
{
    pair p;
    p.high = a + b;
    p.low = b - (p.high - a);
    return p;
}

/* 192 bits of |x|*2/pi, of which the upper two are the quadrant: highest word first. */
static void multiply(double x, ulong p[3])
{
    ulong u = as_ulong(x) & 0x7ffffffffffffffful, m = (u & 0xffffffffffffful) | 0x10000000000000ul;
    int e = (int)(u >> 52) - 1075, skip = max(e - 2, 0), word = skip / 64, bit = skip % 64;
    ulong w[3];
    for (int i = 0; i < 3; i++)
        w[i] = bit ? two_over_pi[word + i] << bit | two_over_pi[word + i + 1] >> (64 - bit)
                   : two_over_pi[word + i];
    ulong p0 = w[2] * m, low = w[1] * m, p1 = low + mul_hi(w[2], m), middle = w[0] * m;
    ulong sum = middle + mul_hi(w[1], m), p2 = sum + (p1 < low);
    ulong p3 = mul_hi(w[0], m) + (sum < middle) + (p2 < sum);
    int shift = e < 2 ? 2 - e : 0;
    if (shift) {
        p0 = p0 >> shift | p1 << (64 - shift);
        p1 = p1 >> shift | p2 << (64 - shift);
        p2 = p2 >> shift | p3 << (64 - shift);
    }
    p[0] = p2;
    p[1] = p1;
    p[2] = p0;
}

/* |x| modulo pi/2, within pi/4 of zero, and the quadrant. */
static int reduce_angle(double x, pair *r)
{
    ulong p[3];
    if (fabs(x) < 0.78539816339744830962) {
        r->high = fabs(x);
        r->low = 0;
        return 0;
    }
    multiply(x, p);
    int quadrant = (int)(p[0] >> 62);
    ulong f = p[0] << 2 | p[1] >> 62, g = p[1] << 2 | p[2] >> 62;
    int below = (int)(f >> 63);
    if (below) { /* nearer to the next quadrant */
        quadrant++;
        f = ~f + (g == 0);
        g = 0 - g;
    }
    int n = (int)clz(f | 1);
    f = n ? f << n | g >> (64 - n) : f;
    g <<= n;
    double unit = ldexp(1.0, -53 - n);
    double high = (double)(f >> 11) * unit, low = (double)(f << 53 | g >> 11) * 0x1p-64 * unit;
    double y = high * 1.5707963267948965580;
    double rest = fma(high, 1.5707963267948965580, -y) +
                  (high * 6.1232339957367658861e-17 + low * 1.5707963267948965580);
    *r = pair_of(y, rest);
    if (below) {
        r->high = -r->high;
        r->low = -r->low;
    }
    return quadrant & 3;
}

/* Taylor's series on [-pi/4, pi/4], to 1e-19. */
static pair sine(pair r)
{
    double z = r.high * r.high, p = 1.0 / 355687428096000.0;
    p = fma(p, z, -1.0 / 1307674368000.0);
    p = fma(p, z, 1.0 / 6227020800.0);
    p = fma(p, z, -1.0 / 39916800.0);
    p = fma(p, z, 1.0 / 362880.0);
    p = fma(p, z, -1.0 / 5040.0);
    p = fma(p, z, 1.0 / 120.0);
    p = fma(p, z, -1.0 / 6.0);
    return pair_of(r.high, fma(r.high * z, p, r.low * (1 - 0.5 * z)));
}
static pair cosine(pair r)
{
    double z = r.high * r.high, lost = fma(r.high, r.high, -z) + 2 * r.high * r.low;
    double p = -1.0 / 6402373705728000.0, high = 1 - 0.5 * z;
    p = fma(p, z, 1.0 / 20922789888000.0);
    p = fma(p, z, -1.0 / 87178291200.0);
    p = fma(p, z, 1.0 / 479001600.0);
    p = fma(p, z, -1.0 / 3628800.0);
    p = fma(p, z, 1.0 / 40320.0);
    p = fma(p, z, -1.0 / 720.0);
    p = fma(p, z, 1.0 / 24.0);
    return pair_of(high, ((1 - high) - 0.5 * z) + fma(z * z, p, -0.5 * lost));
}

static double sin_f64(double x)
{
    pair r;
    if (!(fabs(x) >= 0x1p-27) || isinf(x))
        return isinf(x) ? NAN : x;
    int quadrant = reduce_angle(x, &r);
    double y = quadrant & 1 ? cosine(r).high : sine(r).high;
    return (quadrant & 2) != 0 == x > 0 ? -y : y;
}
static double cos_f64(double x)
{
    pair r;
    if (isnan(x) || isinf(x))
        return x - x;
    int quadrant = reduce_angle(x, &r);
    double y = quadrant & 1 ? sine(r).high : cosine(r).high;
    return (quadrant + 1) & 2 ? -y : y;
}
static double tan_f64(double x)
{
    pair r;
    if (!(fabs(x) >= 0x1p-27) || isinf(x))
        return isinf(x) ? NAN : x;
    int odd = reduce_angle(x, &r) & 1;
    pair s = sine(r), c = cosine(r), a = odd ? c : s, b = odd ? s : c;
    double q = a.high / b.high;
    q += (fma(-q, b.high, a.high) + (a.low - q * b.low)) / b.high;
    return odd != x < 0 ? -q : q;
}
#endif
