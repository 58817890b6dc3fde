/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Memory of a look-back, the same for host C and device C++: the numbers of tiles taken and of blocks
 * begun, then two slots for each tile. */
#ifndef NDOCK_CUDA_LOOK_BACK_H
#define NDOCK_CUDA_LOOK_BACK_H
#include <stdint.h>

enum { LOOK_BACK_TICKET_NBYTES = 256 };

/* A slot has the state and 8 bytes more, and 16 bytes are its unit. */
static inline uint64_t look_back_nbytes(uint64_t lines, uint64_t tiles, uint64_t state_nbytes)
{
    const uint64_t slot = (state_nbytes + 8 + 15) / 16 * 16;
    return LOOK_BACK_TICKET_NBYTES + 2 * lines * tiles * slot;
}

#endif
