/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One axis of a transform by FFTW 3, where NDOCK_CPU_FFT=fftw asks for it. */
#ifndef NDOCK_CPU_FFTW_H
#define NDOCK_CPU_FFTW_H
#include "walk/walk.h"

int cpu_fftw_wanted(void);
/* Zero, with the reason and what to install in why, where it is wanted and is not there. */
int cpu_fftw_serves(char *why, size_t n);

typedef struct {
    int32_t kind, inverse; /* line.h's kinds */
    int64_t n, size;       /* of the transform; bytes of a real number */
    double scale;
    char *in, *out;
    int64_t in_step, out_step; /* bytes from element to element */
    const cpu_walk *others;    /* the other dimensions */
    char *memory;              /* cpu_fftw_memory() bytes */
} cpu_fftw_axis;
int64_t cpu_fftw_memory(const cpu_fftw_axis *x);
int32_t cpu_fftw_run(const cpu_fftw_axis *x);

#endif
