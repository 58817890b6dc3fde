/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the elementwise kernels, the same for host C and device C++. */
#ifndef NDOCK_CUDA_ELEMENTWISE_H
#define NDOCK_CUDA_ELEMENTWISE_H
#include <stdalign.h>
#include <ndock/plugin.h>
#include "walk/walk.h"

#ifdef __cplusplus
#define EW_FN static constexpr
#else
#define EW_FN static inline
#endif

enum {
    EW_THREADS = 128,         /* of op_vectors */
    EW_ELEMENT_THREADS = 256, /* of op_elements and op_tiles */
    EW_SM_THREADS = 2048,     /* at most on a multiprocessor at once */
    EW_INPUTS = 3,
    EW_OPERANDS = EW_INPUTS + 1, /* the output first */
    EW_VECTOR_BYTES = 16, /* of operands of the op's own dtype; others have as many elements */
    EW_ELEMENTS = 4       /* of a thread of op_elements */
};

/* A tile of an input in shared memory: SIDE rows, PITCH elements apart; 48 KiB hold three, or of elements of
 * 16 bytes two and a mask's. */
#define EW_TILE_SIDE(inputs, nbytes) ((inputs) == EW_INPUTS || (nbytes) >= 8 ? 32 : 64)
#define EW_TILE_PITCH(side, nbytes) ((side) + ((nbytes) < 4 ? 4 / (nbytes) : 1))
#define EW_TILE_BYTES(side, nbytes) (((side)*EW_TILE_PITCH(side, nbytes) * (nbytes) + 15) / 16 * 16)

/* An input: the address of its first element, or its value (bit i of scalars is set), aligned for
 * every dtype. */
typedef union {
    uint64_t at;
    alignas(16) unsigned char scalar[16];
} ew_input;

/* Strides are in elements, the output's first. Of one launch, fewer than 2^31 elements, but for
 * dense calls.
 *   op_vectors   a thread takes a vector of the output's; all operands in C order: walk.ndim is 0, strides
 *                are not set; n: elements; many: a thread takes ew_many() vectors instead, EW_THREADS apart
 *   op_rows      a thread takes a vector of a row. Inputs with a bit of vectors have theirs at aligned
 *                addresses; those with a bit of splats one element for all of a row. stride[0][0] is 1; columns: vectors of a row; n: of all rows; whole: all of them are
 *                whole, and inputs are vectors, splats or scalars; lazy: of where, whose mask is in
 *                caches and goes along rows from any address: choices are read where it wants them
 *   op_elements  n of them; any strides
 *   op_tiles     columns, lines: tiles along dimensions 0 and 1; n: tiles, a block for each. Inputs
 *                whose bit of transposed is set are loaded along dimension 1. */
typedef struct {
    uint64_t n, out;
    uint32_t scalars, vectors, splats, transposed;
    cuda_walk_few walk;
    int32_t many, whole, lazy;
    cuda_divisor columns, lines;
    ew_input in[EW_INPUTS];
    int64_t stride[EW_OPERANDS][CUDA_WALK_FEW];
} ew_params;

/* Of op_small: dense operands that are few, or values by the bits of scalars; out at a vector's
 * address, and the inputs as well. */
typedef struct {
    uint64_t out;
    uint32_t n, scalars;
    ew_input in[EW_INPUTS];
} ew_small;

/* Whether the formula is long: it is then not unrolled beyond a vector. */
EW_FN int ew_is_heavy(int32_t op, int32_t dtype)
{
    switch (op) {
    case NDP_OP_pow:
        return 1;
    case NDP_OP_floor_divide:
    case NDP_OP_remainder:
    case NDP_OP_atan2:
    case NDP_OP_hypot:
    case NDP_OP_logaddexp:
    case NDP_OP_elu:
    case NDP_OP_erf:
    case NDP_OP_sigmoid:
    case NDP_OP_silu:
    case NDP_OP_gelu:
    case NDP_OP_gelu_tanh:
        return dtype == NDP_F16 || dtype == NDP_BF16 || dtype == NDP_F32 || dtype == NDP_F64;
    default:
        return (op >= NDP_OP_exp && op <= NDP_OP_atanh) || (op >= NDP_OP_erfc && op <= NDP_OP_i1e);
    }
}

/* Vectors of a thread where there are enough for all threads of the device. f32 has formulas that
 * take about as long as memory does. Those of halves are shorter, those of f64 longer. */
EW_FN int ew_many(int32_t op, int32_t dtype, int32_t inputs)
{
    if (dtype >= NDP_I8 &&
        dtype <= NDP_U64 && /* quotients by one divisor share what is made of it */
        (op == NDP_OP_floor_divide || op == NDP_OP_remainder))
        return dtype == NDP_I32 || dtype == NDP_U32 ? 2 : 1;
    if (dtype != NDP_F32 || inputs > 2 || !ew_is_heavy(op, dtype))
        return 1;
    switch (op) {
    case NDP_OP_exp: /* these wait for memory as it is */
    case NDP_OP_log:
    case NDP_OP_log1p:
    case NDP_OP_log2:
    case NDP_OP_sin: /* these would not keep to the registers that there are */
    case NDP_OP_cos:
    case NDP_OP_tan:
    case NDP_OP_logaddexp:
        return 1;
    default:
        if (op >= NDP_OP_erfc &&
            op <= NDP_OP_i1e) /* special functions take far longer than memory does */
            return 1;
        return 4 / inputs;
    }
}

#endif
