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
/* Pieces of keys and values that there is room for beside the queries. */
#define TRIPLED_WIDE_STAGES(columns) ((columns) > 128 ? 5 : 8)
/* Of shared memory: pieces and their two gates, from a multiple of 1,024 bytes on; queries; a flag. */
#define TRIPLED_WIDE_BYTES(columns)                                       \
    (1024 + TRIPLED_WIDE_STAGES(columns) * (2 * TRIPLED_WIDE_PART + 16) + \
     TRIPLED_WIDE_ROWS * ((columns) + 4) * 4 + 16)

#endif
