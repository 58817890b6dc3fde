/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of functions of floats, written in vectors: powers, sines and hyperbolic tangents, with the bits of math/.
 *
 * Powers go through buffers, in steps with short chains of dependent operations and no conversion between
 * vectors of unequal length, so that processors overlap many of them. A block whose bases are normal and
 * positive and whose exponents are finite is spared the other cases. */
#ifndef NDOCK_CPU_ELEMENTWISE_FUNCTIONS_H
#define NDOCK_CPU_ELEMENTWISE_FUNCTIONS_H
#include "elementwise/lanes.h"

enum { EW_POWERS = 256 };
typedef struct {
    double t[EW_POWERS]; /* y*log2(x) */
    float z[EW_POWERS];
    uint32_t row[EW_POWERS];
    int32_t k[EW_POWERS];
} ew_powers;

/* vm_pow_log and vm_pow_exp of whole vectors: how many elements they have done. */
#if defined(__AVX2__)
EW_INLINE int64_t ew_pow_logs(ew_powers *w, const float *y, int64_t n)
{
    const ew_lanes one = ew_lanes_all(1), l0 = ew_lanes_all(VM_POW_L0),
                   l1 = ew_lanes_all(VM_POW_L1);
    const ew_lanes l2 = ew_lanes_all(VM_POW_L2), l3 = ew_lanes_all(VM_POW_L3);
    const ew_lanes l4 = ew_lanes_all(VM_POW_L4), l5 = ew_lanes_all(VM_POW_L5);
    int64_t i = 0;
    for (; i + EW_LANES <= n; i += EW_LANES) {
        const ew_lanes c = ew_lanes_rows(vm_pow_c, w->row + i);
        const ew_lanes r = ew_lanes_floats(w->z + i) * c - one, r2 = r * r;
        const ew_lanes base = ew_lanes_ints(w->k + i) + ew_lanes_rows(vm_pow_log2, w->row + i);
        const ew_lanes high = l4 + r * l5, mid = l2 + r * l3, low = l0 + r * l1;
        const ew_lanes t = ew_lanes_floats(y + i) * (base + r * (low + r2 * (mid + r2 * high)));
        memcpy(w->t + i, &t, sizeof t);
    }
    return i;
}
EW_INLINE int64_t ew_pow_exps(const ew_powers *w, float *out, int64_t n)
{
    const ew_lanes e0 = ew_lanes_all(VM_POW_E0), e1 = ew_lanes_all(VM_POW_E1);
    const ew_lanes e2 = ew_lanes_all(VM_POW_E2), e3 = ew_lanes_all(VM_POW_E3);
    const ew_lanes magic = ew_lanes_all(VM_POW_MAGIC);
    int64_t i = 0;
    for (; i + EW_LANES <= n; i += EW_LANES) {
        const ew_lanes t = ew_lanes_within(w->t + i, VM_POW_MOST), shifted = t + magic;
        const ew_lanes q = t - (shifted - magic);
        ew_lanes_store(out + i, ew_lanes_two_to(shifted) * (e0 + q * (e1 + q * (e2 + q * e3))));
    }
    return i;
}
#else
EW_INLINE int64_t ew_pow_logs(ew_powers *w, const float *y, int64_t n)
{
    (void)w, (void)y, (void)n;
    return 0;
}
EW_INLINE int64_t ew_pow_exps(const ew_powers *w, float *out, int64_t n)
{
    (void)w, (void)out, (void)n;
    return 0;
}
#endif

EW_INLINE int ew_pow_all_near(const float *x, const float *y, int64_t n)
{
    int32_t far = 0;
    for (int64_t i = 0; i < n; i++)
        far |= !vm_pow_is_near(x[i], y[i]);
    return !far;
}
/* w->z, row and k to |x|^y. */
EW_INLINE void ew_powers_of_parts(ew_powers *w, const float *y, float *out, int64_t n)
{
    for (int64_t i = ew_pow_logs(w, y, n); i < n; i++)
        w->t[i] = (double)y[i] * vm_pow_log(w->z[i], w->row[i], w->k[i]);
    int64_t done = ew_pow_exps(w, out, n);
    EW_IVDEP
    for (int64_t i = done; i < n; i++)
        out[i] = vm_pow_exp(w->t[i]);
}
/* out may be an operand: what is needed of them is read before it is written. */
EW_INLINE void ew_powers_block(const float *x, const float *y, float *out, int64_t n)
{
    ew_powers w;
    float most[EW_POWERS];
    if (ew_pow_all_near(x, y, n)) {
        for (int64_t i = 0; i < n; i++)
            w.z[i] = vm_pow_parts(x[i], w.row + i, w.k + i);
        ew_powers_of_parts(&w, y, out, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        w.z[i] = vm_pow_parts_any(x[i], w.row + i, w.k + i);
    ew_powers_of_parts(&w, y, most, n);
    EW_IVDEP
    for (int64_t i = 0; i < n; i++)
        out[i] = vm_pow_edges(x[i], y[i], most[i]);
}
static void ew_powers_f32(char *const *p, int64_t n)
{
    for (int64_t i = 0; i < n; i += EW_POWERS)
        ew_powers_block((const float *)p[0] + i, (const float *)p[1] + i, (float *)p[2] + i,
                        n - i < EW_POWERS ? n - i : EW_POWERS);
}

/* Bytes that come so much later, read and written, are asked for while there is something to compute: what
 * processors fetch ahead by themselves ends with each page. There may be nothing. */
enum { EW_AHEAD = 2048 };
EW_INLINE void ew_fetch_ahead(const float *x, const float *out)
{
    __builtin_prefetch((const void *)((uintptr_t)x + EW_AHEAD));
    __builtin_prefetch((const void *)((uintptr_t)out + EW_AHEAD), 1);
}
/* vm_f32_near_sin of whole vectors: how many elements it has done. */
EW_INLINE int64_t ew_near_sines(const float *x, float *out, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX2__)
    const ew_lanes magic = ew_lanes_all(VM_MAGIC);
    for (; i + EW_LANES <= n; i += EW_LANES) {
        ew_fetch_ahead(x + i, out + i);
        const ew_lanes v = ew_lanes_floats(x + i);
        const ew_lanes shifted = v * ew_lanes_all(VM_SIN_PER_PI) + magic, k = shifted - magic;
        const ew_lanes r = v - k * ew_lanes_all(VM_SIN_PI_HIGH) - k * ew_lanes_all(VM_SIN_PI_LOW);
        const ew_lanes w = r * r, w2 = w * w, low = ew_lanes_all(1) + w * ew_lanes_all(VM_SIN_0);
        const ew_lanes mid = ew_lanes_all(VM_SIN_1) + w * ew_lanes_all(VM_SIN_2);
        const ew_lanes high = ew_lanes_all(VM_SIN_3) + w * ew_lanes_all(VM_SIN_4);
        ew_lanes_store(out + i, ew_lanes_turned(r * (low + w2 * (mid + w2 * high)), shifted));
    }
#else
    (void)x, (void)out, (void)n;
#endif
    return i;
}
static void ew_near_sines_f32(char *const *p, int64_t n)
{
    const float *x = (const float *)p[0];
    float *out = (float *)p[1];
    int64_t done = ew_near_sines(x, out, n);
    EW_IVDEP
    for (int64_t i = done; i < n; i++)
        out[i] = vm_f32_near_sin(x[i]);
}

/* vm_f32_tanh of whole vectors: how many elements it has done. */
EW_INLINE int64_t ew_tanh_vectors(const float *x, float *out, int64_t n)
{
    int64_t i = 0;
#if defined(__AVX2__)
    for (; i + EW_LANES <= n; i += EW_LANES) {
        ew_fetch_ahead(x + i, out + i);
        const ew_lanes a = ew_lanes_limited(ew_lanes_floats(x + i), VM_TANH_MOST), w = a * a;
        const ew_lanes p4 = ew_lanes_all(VM_TANH_P4) + w * ew_lanes_all(VM_TANH_P5);
        const ew_lanes p2 = ew_lanes_all(VM_TANH_P2) + w * (ew_lanes_all(VM_TANH_P3) + w * p4);
        const ew_lanes p = ew_lanes_all(VM_TANH_P0) + w * (ew_lanes_all(VM_TANH_P1) + w * p2);
        const ew_lanes q2 = ew_lanes_all(VM_TANH_Q2) + w * (ew_lanes_all(VM_TANH_Q3) + w);
        const ew_lanes q = ew_lanes_all(VM_TANH_Q1) + w * q2;
        ew_lanes_store(out + i, a * p / (ew_lanes_all(VM_TANH_Q0) + w * q));
    }
#else
    (void)x, (void)out, (void)n;
#endif
    return i;
}
static void ew_tanh_f32(char *const *p, int64_t n)
{
    const float *x = (const float *)p[0];
    float *out = (float *)p[1];
    int64_t done = ew_tanh_vectors(x, out, n);
    EW_IVDEP
    for (int64_t i = done; i < n; i++)
        out[i] = vm_f32_tanh(x[i]);
}
#endif
