/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One long transform at a time, for its driver (fft.c). */
#ifndef NDOCK_CPU_FFT_LINE_H
#define NDOCK_CPU_FFT_LINE_H
#include "fft/fft.h"

enum { CPU_FFT_ALIGN = 64 };
enum { CPU_FFT_COMPLEX, CPU_FFT_TO_COMPLEX, CPU_FFT_TO_REAL };

/* What a line needs beside its input and output, in bytes. */
typedef struct {
    int64_t shared; /* of the whole line */
    int64_t slot;   /* of each part that is worked on at a time */
} cpu_fft_room;
/* n: of the transform; needs: of n, or of the complex one it is made of. */
cpu_fft_room cpu_fft_line_room(const cpu_fft_needs *needs, int kind, int64_t n, int64_t size);

typedef struct {
    const cpu_fft_table *loops;
    const cpu_fft_plan *plan;
    int32_t kind;
    int32_t slots; /* parts at a time */
    double sign;   /* CPU_FFT_TO_REAL: -1 to begin with the conjugate */
    char *shared, *slot;
    int64_t slot_nbytes;
} cpu_fft_line;
/* in and out: lane 0. Of real elements, n even: pairs of them. Where the result is real, in has its
 * complex elements, and out exchanged parts. */
void cpu_fft_line_run(const cpu_fft_line *l, const cpu_fft_io *in, const cpu_fft_io *out);

#endif
