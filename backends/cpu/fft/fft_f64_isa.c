/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Loops of Fourier transforms in double precision, built once per SIMD level. */
#define FFT_REAL double
#define FFT_WORD int64_t
#define FFT_DOUBLE 1
#include "fft/vector_tmpl.h"
#include "fft/pass_tmpl.h"
#include "fft/node_tmpl.h"
#include "fft/lanes_tmpl.h"
#include "fft/line_tmpl.h"
#include "fft/real_tmpl.h"
#include "fft/odd_tmpl.h"

const cpu_fft_table CPU_ISA_FN(cpu_fft_f64) = CPU_FFT_TABLE;
