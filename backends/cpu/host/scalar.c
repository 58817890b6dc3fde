/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scalars of a call as elements in memory. */
#include <string.h>
#include "host/cpu.h"
#include "math/half.h"

void cpu_store_scalar(const ndp_scalar *s, void *element)
{
    float f = (float)s->v.f;
    float pair[2] = {(float)s->v.c[0], (float)s->v.c[1]};
    uint16_t half;
    uint8_t byte;
    switch (s->dtype) {
    case NDP_F16:
        half = cpu_f16_from_f32(f);
        memcpy(element, &half, 2);
        break;
    case NDP_BF16:
        half = cpu_bf16_from_f32(f);
        memcpy(element, &half, 2);
        break;
    case NDP_F8_E4M3: /* the core rounded the values to the formats */
        half = cpu_f16_from_f32(f / 256);
        byte = (uint8_t)((half >> 8 & 0x80) | (f == f ? half >> 7 & 0x7f : 0x7f));
        memcpy(element, &byte, 1);
        break;
    case NDP_F8_E5M2:
        byte = (uint8_t)(cpu_f16_from_f32(f) >> 8);
        memcpy(element, &byte, 1);
        break;
    case NDP_F32:
        memcpy(element, &f, 4);
        break;
    case NDP_C64:
        memcpy(element, pair, 8);
        break;
    case NDP_F64:
        memcpy(element, &s->v.f, 8);
        break;
    case NDP_C128:
        memcpy(element, s->v.c, 16);
        break;
    default: { /* integers and bool: the low bytes of the value, stored in the machine's order */
        uint8_t u8 = (uint8_t)s->v.u;
        uint16_t u16 = (uint16_t)s->v.u;
        uint32_t u32 = (uint32_t)s->v.u;
        int64_t n = ndp_dtype_size(s->dtype);
        const void *from = n == 1   ? (void *)&u8
                           : n == 2 ? (void *)&u16
                           : n == 4 ? (void *)&u32
                                    : (void *)&s->v.u;
        memcpy(element, from, (size_t)n);
    }
    }
}
