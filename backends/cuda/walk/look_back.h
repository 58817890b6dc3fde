/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory of a look-back, the same for host C and device C++: the number of tiles taken, then the slots
 * of each line's tiles and groups. */
#ifndef NDOCK_CUDA_LOOK_BACK_H
#define NDOCK_CUDA_LOOK_BACK_H
#include <stdint.h>

enum { LOOK_BACK_TICKET_NBYTES = 256 };

/* A slot has the state and 8 bytes more, and 16 bytes are its unit. group: threads of a block. */
static inline uint64_t look_back_nbytes(uint64_t lines, uint64_t tiles, uint64_t group,
                                        uint64_t state_nbytes)
{
    const uint64_t groups = (tiles + group - 1) / group, slot = (state_nbytes + 8 + 15) / 16 * 16;
    return LOOK_BACK_TICKET_NBYTES + lines * (tiles + groups) * slot;
}

#endif
