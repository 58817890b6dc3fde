/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops over rows of quantised blocks, built once per SIMD level. Products of codes are summed as
 * integers, four at a time; the sums are multiplied and added as floats in 16 lanes whose order
 * every level keeps, so that all have the same bits. */
#include <string.h>
#include "math/half.h"
#include "quant/quant.h"

#define ND_Q_FN static inline
#define ND_Q_HALF(p) cpu_f16_to_f32((uint16_t)((p)[0] | (p)[1] << 8))
#include <ndock/quant_tmpl.h>

#if CPU_ISA_LEVEL >= 1 && defined(__AVX2__)
#define FAST_UNPACK
#include "quant/unpack_avx2.h"
#endif
#if defined(FAST_UNPACK) && defined(__AVX512VNNI__)
#define WIDE_DOT
#include "quant/unpack_vnni.h"
#endif

/* Elements of paired formats whose first halves come before the second; bytes of a vector. */
#ifdef WIDE_DOT
enum { PAIRED_RUN = 128, VECTOR = 64, AHEAD = 2048, AHEAD_ROWS = 16384 };
#elif defined(FAST_UNPACK)
enum { PAIRED_RUN = 64, VECTOR = 32 };
#else
enum { PAIRED_RUN = 64, VECTOR = 16 };
#endif

/* Rows of activations that one pass over a row of blocks serves. */
enum { QUANT_ROWS = 8 };

typedef struct {
    _Alignas(64) int8_t code[QUANT_SPAN];
    _Alignas(64) float scale[QUANT_HALVES];
    _Alignas(64) float min[QUANT_HALVES];
} span;

#include "quant/activate.h"
#include "quant/lanes.h"

/* ---- the formats ---- */

#define FORMAT q4_0
#define BLOCK 32
#define NBYTES 18
#define MIN 0
#define ALIKE 1
#define LESS 8
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q4_1
#define BLOCK 32
#define NBYTES 20
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q5_0
#define BLOCK 32
#define NBYTES 22
#define MIN 0
#define ALIKE 1
#define LESS 16
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q5_1
#define BLOCK 32
#define NBYTES 24
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 1
#include "quant/format_tmpl.h"
#define FORMAT q8_0
#define BLOCK 32
#define NBYTES 34
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q8_1
#define BLOCK 32
#define NBYTES 36
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q2_K
#define BLOCK 256
#define NBYTES 84
#define MIN 1
#define ALIKE 0
#define LESS 0
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q3_K
#define BLOCK 256
#define NBYTES 110
#define MIN 0
#define ALIKE 0
#define LESS 4
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q4_K
#define BLOCK 256
#define NBYTES 144
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q5_K
#define BLOCK 256
#define NBYTES 176
#define MIN 1
#define ALIKE 1
#define LESS 0
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT q6_K
#define BLOCK 256
#define NBYTES 210
#define MIN 0
#define ALIKE 0
#define LESS 32
#define SIGNED 0
#define PAIRED 0
#include "quant/format_tmpl.h"
#define FORMAT iq4_nl
#define BLOCK 32
#define NBYTES 18
#define MIN 0
#define ALIKE 1
#define LESS 0
#define SIGNED 1
#define PAIRED 1
#include "quant/format_tmpl.h"

const quant_table CPU_ISA_FN(quant_table_of) = {
    .format =
        {
#define ND_QUANT(NAME, id, block, nbytes, min, writes, name, doc) \
    [id] = {dequantize_##name, dot_##name, less_##name, order_##name, times_##name},
#include <ndock/quant.def>
        },
    .load = load,
    .store = store,
    .activate = activate,
};
