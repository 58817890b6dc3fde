/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: conversions to floating dtypes at their ties. For neighbours of the target's format
 * the value in the middle, those right beside it and the neighbours themselves are converted; and
 * integers whose lowest bits make a tie. What is expected is worked out in integers alone: a value
 * is m * 2^e, and its nearest element, the even one of two, follows by shifting m. */
#include "tests/conform/grid.h"

/* Magnitudes are m * 2^e. */
typedef struct {
    uint64_t m;
    int e;
    bool negative;
} exact;

/* The magnitude whose element without a sign is code; of the end, what the next one would be. */
static exact decode(cell_format f, uint64_t code)
{
    int field = (int)(code >> f.fraction);
    uint64_t hidden = (uint64_t)1 << f.fraction, m = code & (hidden - 1);
    return (exact){field ? m | hidden : m, (field ? field : 1) - f.bias - f.fraction, false};
}

/* m / 2^shift to the nearest integer, the even one of two. */
static uint64_t shifted(uint64_t m, int shift)
{
    if (shift <= 0)
        return m << -shift;
    if (shift > 64)
        return 0;
    uint64_t whole = shift == 64 ? 0 : m >> shift, half = (uint64_t)1 << (shift - 1);
    uint64_t rest = shift == 64 ? m : m & (((uint64_t)1 << shift) - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

static uint64_t encode(cell_format f, exact x)
{
    uint64_t sign = (uint64_t)x.negative << (f.bits - 1);
    if (x.m == 0)
        return sign;
    int top = 63 - __builtin_clzll(x.m) + x.e;
    int least = top < 1 - f.bias ? 1 - f.bias : top;
    /* A significand that was rounded up to the next power of two carries into the exponent. */
    uint64_t code = shifted(x.m, least - f.fraction - x.e);
    uint64_t end = cell_code_end(f);
    if (least > f.bias + f.finite)
        code = end;
    else
        code += (uint64_t)(least + f.bias - 1) << f.fraction;
    return sign | (code < end ? code : end - f.saturates);
}

/* ---- inputs ---- */

/* Elements of a floating dtype as codes, of an integer dtype as they are. */
typedef struct {
    nd_dtype dtype;
    int64_t n, room;
    uint64_t *code;
} inputs;

static void put(inputs *in, uint64_t code)
{
    if (in->n == in->room) {
        in->room = in->room ? 2 * in->room : 1024;
        in->code = realloc(in->code, (size_t)in->room * sizeof *in->code);
        if (!in->code)
            bail("no memory");
    }
    in->code[in->n++] = code;
}

/* Both signs; what the source has no finite value for is left out. */
static void put_float(inputs *in, uint64_t code)
{
    cell_format f = cell_format_of(in->dtype);
    if (code >= cell_code_end(f))
        return;
    put(in, code);
    put(in, code | (uint64_t)1 << (f.bits - 1));
}

/* What lies between code and the next one of the target, as far as the source has it. */
static void put_pair(inputs *in, cell_format to, uint64_t code)
{
    cell_format from = cell_format_of(in->dtype);
    exact low = decode(to, code), middle = {2 * low.m + 1, low.e - 1, false};
    uint64_t tie = encode(from, middle), at = encode(from, low);
    put_float(in, at);
    put_float(in, tie);
    if (tie > 0)
        put_float(in, tie - 1);
    put_float(in, tie + 1);
    for (int k = 2; k < 30; k += 9) /* a second rounding would make ties of these */
        if (tie >> k)
            put_float(in, tie | (uint64_t)1 << k);
}

static void float_inputs(inputs *in, nd_dtype to)
{
    cell_format f = cell_format_of(to);
    uint64_t end = cell_code_end(f), step = f.bits <= 16;
    for (uint64_t code = 0; code < end && step; code++)
        put_pair(in, f, code);
    for (uint64_t field = 0; field < end >> f.fraction && !step; field++)
        for (int k = 0; k < 10; k++) { /* ends and odd places of each power of two */
            uint64_t most = ((uint64_t)1 << f.fraction) - 1;
            uint64_t some = k < 4 ? (uint64_t)k : k < 6 ? most - (uint64_t)(k - 4) : random_bits();
            put_pair(in, f, field << f.fraction | (some & most));
        }
}

static void integer_inputs(inputs *in, nd_dtype to)
{
    int kept = cell_format_of(to).fraction + 1, bits = 8 * (int)nd_dtype_size(in->dtype);
    bool is_signed = nd_dtype_get(in->dtype)->kind == ND_KIND_INT;
    for (uint64_t small = 0; small < 70; small++) {
        put(in, small);
        put(in, is_signed ? 0 - small : UINT64_MAX >> (64 - bits));
    }
    for (int width = kept + 1; width <= bits - is_signed; width++)
        for (int k = 0; k < 24; k++) {
            /* kept bits, even and odd, all ones too; then the lowest ones near the middle */
            uint64_t top = (uint64_t)1 << (kept - 1), unit = (uint64_t)1 << (width - kept);
            uint64_t head = k % 3 == 0 ? top : k % 3 == 1 ? top + 1 : 2 * top - 1;
            uint64_t near[8] = {0,
                                1,
                                unit / 2 - 1,
                                unit / 2,
                                unit - 1,
                                unit / 2 + 1,
                                unit / 2 + unit / 8,
                                unit / 2 + unit / 4};
            uint64_t x = head * unit + near[k / 3] % unit;
            put(in, x);
            put(in, is_signed ? 0 - x : x);
        }
    put(in, (uint64_t)1 << (bits - 1));
    put(in, UINT64_MAX >> (64 - bits));
}

/* The element as m * 2^e. */
static exact value_of(nd_dtype dtype, uint64_t code)
{
    int kind = cell_kind(dtype), bits = 8 * (int)nd_dtype_size(dtype);
    if (kind == ND_KIND_INT) {
        int64_t x = (int64_t)(code << (64 - bits)) >> (64 - bits);
        return (exact){x < 0 ? 0 - (uint64_t)x : (uint64_t)x, 0, x < 0};
    }
    if (kind != ND_KIND_FLOAT && kind != ND_KIND_COMPLEX)
        return (exact){code << (64 - bits) >> (64 - bits), 0, false};
    cell_format f = cell_format_of(dtype);
    uint64_t sign = (uint64_t)1 << (f.bits - 1);
    exact x = decode(f, code & (sign - 1));
    x.negative = (code & sign) != 0;
    return x;
}

/* ---- one pair of dtypes ---- */

static void store(char *to, int bits, uint64_t code)
{
    const uint16_t h = (uint16_t)code;
    const uint32_t w = (uint32_t)code;
    const uint8_t b = (uint8_t)code;
    memcpy(to,
           bits == 8    ? (const void *)&b
           : bits == 16 ? (void *)&h
           : bits == 32 ? (void *)&w
                        : (void *)&code,
           (size_t)bits / 8);
}

/* Bits of a number: of a real element, or of a part of a complex one. */
static int number_bits(nd_dtype dtype)
{
    return 8 * (int)nd_dtype_size(dtype) / (cell_kind(dtype) == ND_KIND_COMPLEX ? 2 : 1);
}

static void check(const inputs *in, const char *got, nd_dtype to)
{
    int bits = number_bits(to);
    for (int64_t i = 0; i < in->n && !failing(); i++) {
        char want[8];
        exact x = value_of(in->dtype, in->code[i]);
        store(want, bits, encode(cell_format_of(to), x));
        if (memcmp(want, got + i * bits / 8, (size_t)bits / 8) == 0)
            continue;
        uint64_t bad = 0;
        memcpy(&bad, got + i * bits / 8, (size_t)bits / 8);
        fail_case("%s of bits %llx, %s%llu * 2^%d, to %s is %llx, not %llx",
                  nd_dtype_name(in->dtype), (unsigned long long)in->code[i], x.negative ? "-" : "",
                  (unsigned long long)x.m, x.e, nd_dtype_name(to), (unsigned long long)bad,
                  (unsigned long long)encode(cell_format_of(to), x));
    }
}

static void cast_case(nd_dtype from, nd_dtype to)
{
    inputs in = {.dtype = from};
    bool integers = cell_kind(from) & (ND_KIND_INT | ND_KIND_UINT);
    bool complex = cell_kind(from) == ND_KIND_COMPLEX;
    nd_array *r = NULL, *a;
    if (integers)
        integer_inputs(&in, to);
    else
        float_inputs(&in, to);
    in.n -= in.n % 2; /* whole complex numbers */
    dense d = dense_new(from, 1, (const int64_t[]){complex ? in.n / 2 : in.n});
    for (int64_t i = 0; i < in.n; i++)
        store(d.data + i * number_bits(from) / 8, number_bits(from), in.code[i]);
    if ((a = dense_array(&d)) != NULL && good(nd_astype(a, to, &r), "astype")) {
        char *data = fetch(r);
        if (data)
            check(&in, data, to);
        free(data);
    }
    nd_release(a);
    nd_release(r);
    dense_release(&d);
    free(in.code);
}

void conform_ties(void)
{
    if (!wanted("cast_ties"))
        return;
    begin_op("cast_ties");
    for (nd_dtype from = ND_I8; from < ND_DTYPE_END; from++)
        for (nd_dtype to = ND_I8; to < ND_DTYPE_END; to++) {
            bool pair = cell_kind(from) != ND_KIND_COMPLEX && cell_kind(to) == ND_KIND_FLOAT;
            if (pair && from != to && !failing() && begin_share(FIXED_CASE + from * 64 + to))
                cast_case(from, to);
        }
    if (begin_share(FIXED_CASE + 10000))
        cast_case(ND_C128, ND_C64);
    end_op();
}
