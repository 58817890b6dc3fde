/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Products of warpgroups on the host, in place of backends/cuda/neural/wgmma.cuh: they are computed
 * when they are waited for, as late as they may, from where descriptors say that operands lie. */
#ifndef NDOCK_TESTS_CUDA_EMULATE_WIDE_H
#define NDOCK_TESTS_CUDA_EMULATE_WIDE_H
#include "tests/cuda/emulate_warp.h"
#define NDOCK_CUDA_WGMMA_CUH

struct wide_product {
    void (*compute)(const struct wide_product &);
    float (*c)[4];
    uint64_t left, right;
    uint32_t held[4];
    bool add;
};
/* Products of the thread: queued, put into a group, and done. */
void wide_queue(const struct wide_product &);
void wide_commit(void);
void wide_compute(int but);
/* The barriers of shared memory and the named ones of the block. */
void wide_gate_set(mma_address, int arrivals);
void wide_gate_arrive(mma_address);
void wide_gate_wait(mma_address, int parity);
void wide_turn(int name, int threads, bool waits);

/* Element (row, column) of an operand whose slabs have rows (K-major), or columns, of it. */
template <class T> static inline double wide_element(uint64_t operand, int row, int column)
{
    const uint32_t stride = (uint32_t)(operand >> 32 & 0x3fff) << 4,
                   lead = (uint32_t)(operand >> 16 & 0x3fff) << 4;
    uint32_t at = ((uint32_t)(operand & 0x3fff) << 4) + (uint32_t)(column / 64) * lead +
                  (uint32_t)(row / 8) * stride + (uint32_t)(row % 8 * 128 + column % 64 * 2);
    uint16_t bits;
    at ^= at >> 3 & 0x70;
    memcpy(&bits, warp_at(at, 2), 2);
    return (double)warp_number(bits, 0, T());
}
enum { WIDE_SHARED, WIDE_HELD, WIDE_TURNED };
template <class T, int N, int LEFT> static void wide_product_of(const wide_product &p)
{
    const int lane = (int)(threadIdx.x % 32), row = (int)(threadIdx.x / 32 % 4) * 16 + lane / 4;
    uint32_t(*slot)[WARP_WORDS] = warp_slots();
    memcpy(slot[lane], p.held, sizeof p.held);
    warp_barrier();
    for (int half = 0; half < 2; half++) {
        double left[16];
        for (int k = 0; k < 16; k++)
            left[k] = LEFT == WIDE_HELD
                          ? (double)warp_number(slot[lane / 4 * 4 + k % 8 / 2][half + k / 8 * 2],
                                                k % 2, T())
                      : LEFT == WIDE_TURNED ? wide_element<T>(p.left, k, row + half * 8)
                                            : wide_element<T>(p.left, row + half * 8, k);
        for (int j = 0; j < N / 4; j++) {
            const int column = j / 2 * 8 + lane % 4 * 2 + j % 2;
            float &c = p.c[j / 2][half * 2 + j % 2];
            double sum = p.add ? (double)c : 0;
            for (int k = 0; k < 16; k++)
                sum += left[k] * (LEFT != WIDE_SHARED ? wide_element<T>(p.right, k, column)
                                                      : wide_element<T>(p.right, column, k));
            c = (float)sum;
        }
    }
    warp_barrier();
}
template <class T, int N> struct wgmma {
    static void shared(float (&c)[N / 8][4], uint64_t a, uint64_t b, bool add)
    {
        wide_queue({wide_product_of<T, N, WIDE_SHARED>, c, a, b, {}, add});
    }
    static void held(float (&c)[N / 8][4], const uint32_t (&a)[4], uint64_t b)
    {
        wide_queue({wide_product_of<T, N, WIDE_HELD>, c, 0, b, {a[0], a[1], a[2], a[3]}, true});
    }
    static void turned(float (&c)[N / 8][4], uint64_t a, uint64_t b, bool add)
    {
        wide_queue({wide_product_of<T, N, WIDE_TURNED>, c, a, b, {}, add});
    }
};
/* Of TF32, whose sums are cut off. */
template <int N> static void wide_product_tf32(const wide_product &p)
{
    const int lane = (int)(threadIdx.x % 32);
    const uint32_t stride = (uint32_t)(p.right >> 32 & 0x3fff) << 4,
                   begin = (uint32_t)(p.right & 0x3fff) << 4;
    uint32_t(*slot)[WARP_WORDS] = warp_slots();
    memcpy(slot[lane], p.held, sizeof p.held);
    warp_barrier();
    for (int j = 0; j < N / 4; j++) {
        const int column = j / 2 * 8 + lane % 4 * 2 + j % 2;
        double right[8];
        for (int k = 0; k < 8; k++) {
            uint32_t at =
                begin + (uint32_t)(column / 8) * stride + (uint32_t)(column % 8 * 128 + k * 4);
            at ^= at >> 3 & 0x70;
            right[k] = (double)__uint_as_float(__float_as_uint(mma_word(at)) & ~0x1fffu);
        }
        for (int half = 0; half < 2; half++) {
            float &c = p.c[j / 2][half * 2 + j % 2];
            double sum = p.add ? (double)c : 0;
            for (int k = 0; k < 8; k++)
                sum += (double)__uint_as_float(slot[lane / 4 * 4 + k % 4][half + k / 4 * 2] &
                                               ~0x1fffu) *
                       right[k];
            const float near = (float)sum;
            c = fabs((double)near) > fabs(sum) ? nextafterf(near, 0) : near;
        }
    }
    warp_barrier();
}
template <int N> struct wgmma_tf32 {
    static void held(float (&c)[N / 8][4], const uint32_t (&a)[4], uint64_t b, bool add)
    {
        wide_queue({wide_product_tf32<N>, c, 0, b, {a[0], a[1], a[2], a[3]}, add});
    }
};
MMA_FN void wgmma_begin(void) {}
MMA_FN void wgmma_commit(void)
{
    wide_commit();
}
template <int N> MMA_FN void wgmma_wait(void)
{
    wide_compute(N);
}
template <int N> MMA_FN void wgmma_settle(float (&)[N][4]) {}
MMA_FN void wgmma_publish(void) {}
template <int N> MMA_FN void wgmma_take_registers(void) {}
template <int N> MMA_FN void wgmma_give_registers(void) {}
#define wgmma_gate_set wide_gate_set
#define wgmma_gate_arrive wide_gate_arrive
#define wgmma_gate_wait wide_gate_wait
MMA_FN void wgmma_gate_arrive_copied(mma_address gate)
{
    warp_copies_commit();
    warp_copies_wait(0);
    wide_gate_arrive(gate);
}
template <int THREADS> MMA_FN void mma_meet(int name)
{
    wide_turn(name, THREADS, true);
}
template <int THREADS> MMA_FN void wgmma_turn_wait(int name)
{
    mma_meet<THREADS>(name);
}
template <int THREADS> MMA_FN void wgmma_turn_give(int name)
{
    wide_turn(name, THREADS, false);
}
MMA_FN void wgmma_part_put(float *to, mma_address from, uint32_t nbytes)
{
    for (uint32_t i = 0; i < nbytes; i += 4)
        to[i / 4] = mma_word(from + i);
}
MMA_FN void wgmma_part_add(float *to, mma_address from, uint32_t nbytes)
{
    for (uint32_t i = 0; i < nbytes; i += 4)
        to[i / 4] += mma_word(from + i);
}
MMA_FN void wgmma_parts_read(void) {}
MMA_FN void wgmma_parts_wait(void) {}
/* Blocks run one after another: a turn that has not come never does. */
MMA_FN void wgmma_turn_await(const uint32_t *whose, uint32_t turn)
{
    if (*whose != turn)
        wide_gate_wait(WARP_SHARED, 0);
}
MMA_FN void wgmma_turn_pass(uint32_t *whose, uint32_t to)
{
    *whose = to;
}
MMA_FN void wgmma_put_pieces(mma_address at, const uint32_t (&r)[4])
{
    const int lane = (int)(threadIdx.x % 32);
    uint32_t(*slot)[WARP_WORDS] = warp_slots(), row[4];
    memcpy(slot[lane], r, 16);
    warp_barrier();
    for (int k = 0; k < 4; k++)
        row[k] = slot[lane % 8 * 4 + k][lane / 8];
    mma_store(at, row);
}
#endif
