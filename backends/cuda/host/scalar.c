/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Scalars of a call as elements in memory. */
#include <string.h>
#include "host/backend.h"
#include "backends/cpu/math/half.h"

/* x86-64 and arm64, where CUDA is, store the low byte first. */
void cuda_store_scalar(const ndp_scalar *s, void *element)
{
    float f = (float)s->v.f, pair[2] = {(float)s->v.c[0], (float)s->v.c[1]};
    uint16_t half;
    uint8_t byte;
    switch (s->dtype) {
    case NDP_F16:
        half = cpu_f16_from_f32(f);
        memcpy(element, &half, sizeof half);
        break;
    case NDP_BF16:
        half = cpu_bf16_from_f32(f);
        memcpy(element, &half, sizeof half);
        break;
    case NDP_F8_E4M3: /* the core rounded the value to the format */
        half = cpu_f16_from_f32(f / 256);
        byte = (uint8_t)((half >> 8 & 0x80) | (f == f ? half >> 7 & 0x7f : 0x7f));
        memcpy(element, &byte, sizeof byte);
        break;
    case NDP_F8_E5M2:
        byte = (uint8_t)(cpu_f16_from_f32(f) >> 8);
        memcpy(element, &byte, sizeof byte);
        break;
    case NDP_F32:
        memcpy(element, &f, sizeof f);
        break;
    case NDP_C64:
        memcpy(element, pair, sizeof pair);
        break;
    case NDP_C128:
        memcpy(element, s->v.c, sizeof s->v.c);
        break;
    default: /* f64, integers and bool */
        memcpy(element, &s->v, (size_t)ndp_dtype_size(s->dtype));
    }
}
