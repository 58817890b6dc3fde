/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The driver's assembler, which makes machine code of PTX. */
#ifndef NDOCK_CUDA_ASSEMBLE_H
#define NDOCK_CUDA_ASSEMBLE_H
#include "host/nvrtc.h"

/* Machine code for the device, from the kernel cache where that has it; cuda_nvrtc_release() when it
 * is loaded. key says all that the PTX depends on; ptx(ctx, text), which is called where the cache has
 * no code, gives the PTX, which is freed. NDP_ERR_ARGUMENT: ptx has no text for it, or the assembler
 * refuses it, whose log is the message. */
int32_t cuda_assemble(const ndp_dev *dev, const char *name, const char *key,
                      int32_t (*ptx)(void *ctx, char **text), void *ctx, cuda_nvrtc_code *out);

#endif
