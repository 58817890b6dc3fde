/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of Fourier transforms in single precision, built once per SIMD level. */
#define FFT_REAL float
#define FFT_WORD int32_t
#define FFT_DOUBLE 0
#include "fft/vector_tmpl.h"
#include "fft/pass_tmpl.h"
#include "fft/node_tmpl.h"
#include "fft/lanes_tmpl.h"
#include "fft/line_tmpl.h"
#include "fft/real_tmpl.h"
#include "fft/odd_tmpl.h"

const cpu_fft_table CPU_ISA_FN(cpu_fft_f32) = CPU_FFT_TABLE;
