/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters that one class reads alone, apart from cpu.h so that few files depend on them. */
#ifndef NDOCK_CPU_CHOICE_H
#define NDOCK_CPU_CHOICE_H

extern const char *cpu_fft_library; /* params.c: "own" or "fftw" */

#endif
