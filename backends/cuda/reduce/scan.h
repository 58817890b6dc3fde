/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the scan kernels, the same for host C and device C++. */
#ifndef NDOCK_CUDA_SCAN_H
#define NDOCK_CUDA_SCAN_H
#include "walk/lines.h"

enum {
    SCAN_THREADS = 256,
    SCAN_GROUP = SCAN_THREADS, /* tiles of a group of "pass": one a thread */
    SCAN_UNROLL = 4,           /* vectors of a thread */
    SCAN_PASS_NBYTES = 176,    /* of shared memory for a thread of "pass" */
    SCAN_STRIP_THREADS = 256,
    SCAN_STRIP_ROWS = 4 /* of a thread of "strip" in a tile */
};

/* How many vectors a thread of "pass" has, if each takes nbytes of shared memory: an odd number. */
#ifdef __cplusplus
constexpr
#else
static inline
#endif
    int
    scan_pass_vectors(int nbytes)
{
    return (SCAN_PASS_NBYTES / nbytes - 1) | 1;
}

/* Lines that are cut into chunks are read twice: first for the state of each chunk alone, which
 * goes to scratch (chunk c of line l at c*lines + l), then with the states of all earlier chunks in
 * front. */
typedef struct {
    uint64_t in, out, scratch;
    uint64_t lines, n, chunk; /* n: elements of a line */
    int64_t in_step, out_step;
    int32_t totals_only; /* the first of the two readings */
    int32_t chunks, ndim;
    int32_t out_nbytes, out_is_bool;
    int32_t beside; /* "strip": vectors of lines side by side, a power of two up to 32 */
    /* "pass": scratch has the slots of each line's tiles and groups: scratch_words of 16 bytes in all. */
    uint64_t tiles, groups, scratch_words;
    uint64_t ahead; /* "pass": how many tiles of a line further caches are told to read; 0: none */
    line_dim dim[LINE_MAX_NDIM]; /* of the lines, innermost first */
} scan_params;

#endif
