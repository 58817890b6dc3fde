/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The shape of blocks of attention of f32 by products of warpgroups (tripled_wide.cuh), the same for host C and device
 * C++. */
#ifndef NDOCK_CUDA_TRIPLED_WIDE_H
#define NDOCK_CUDA_TRIPLED_WIDE_H

enum {
    TRIPLED_WIDE_ROWS = 128, /* queries */
    TRIPLED_WIDE_FEEDS = 2,  /* warpgroups that read */
    TRIPLED_WIDE_THREADS = 256 + 128 * TRIPLED_WIDE_FEEDS,
    TRIPLED_WIDE_PART = 8192 /* bytes of the high parts of a piece; the low ones follow */
};
/* Places of pieces of keys and values that there is room for beside the queries: a multiple of the warpgroups that read, so
 * that each place is always written by the same one. */
#define TRIPLED_WIDE_STAGES(columns) ((columns) > 128 ? 6 : 8)
/* Of shared memory, which begins at a multiple of 128 bytes: pieces and their two gates, from a multiple of 1,024 on;
 * queries; a flag. */
#define TRIPLED_WIDE_BYTES(columns)                                             \
    (1024 - 128 + TRIPLED_WIDE_STAGES(columns) * (2 * TRIPLED_WIDE_PART + 16) + \
     TRIPLED_WIDE_ROWS * ((columns) + 4) * 4 + 16)

#endif
