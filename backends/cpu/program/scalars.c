/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scalars of a program: one element for steps whose loops take one, repeated for others. */
#include "program/program.h"
#include "walk/tile.h"

static char *repeated(char **next, int64_t pitch, const char *element, int64_t n, int64_t nbytes)
{
    char *to = *next;
    cpu_tile_pack(to, element, 1, n, 0, 0, nbytes);
    *next += pitch;
    return to;
}

void cpu_program_place_scalars(const cpu_program *p, const ndp_scalar *scalar, const ew_isa *isa,
                               int64_t n, char *first, int64_t pitch, cpu_program_scalars *kept,
                               char **place)
{
    for (int32_t i = 0; i < p->n_scalar; i++) {
        char *stored = kept->stored[i], *wide = (char *)&kept->wide[i];
        const int32_t dtype = p->scalar_dtype[i];
        cpu_store_scalar(&scalar[i], stored);
        place[p->n_in + i] = p->repeated >> i & 1
                                 ? repeated(&first, pitch, stored, n, ndp_dtype_size(dtype))
                                 : stored;
        if (p->wide_of_scalar[i] < 0)
            continue;
        (dtype == NDP_BF16 ? isa->load_bf16 : isa->load_f16)(&kept->wide[i],
                                                             (const uint16_t *)(void *)stored, 1);
        place[p->wide_of_scalar[i]] =
            p->repeated_wide >> i & 1 ? repeated(&first, pitch, wide, n, 4) : wide;
    }
}
