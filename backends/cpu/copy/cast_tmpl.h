/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The dense cast loops from one dtype to all. Included with CAST_SRC its name, and either
 * CAST_GET(i), the value of element i, or CAST_PAIR for a complex dtype. Deliberately no include
 * guard. */
#ifdef CAST_PAIR
#define CAST_GET(i) s[2 * (i)]
#define CAST_IMAGINARY(i) s[2 * (i) + 1]
#define CAST_NONZERO(i) (s[2 * (i)] != 0 || s[2 * (i) + 1] != 0)
#else
#define CAST_IMAGINARY(i) 0.0f
#define CAST_NONZERO(i) (CAST_GET(i) != 0)
#endif
#define CAST_FN(name) CPU_CAT(CPU_CAT(cast_loop, CAST_SRC), name)

#define CAST_STORE d[i] = CAST_NONZERO(i)
#define CAST_DST bool
#include "copy/cast_loop_tmpl.h"
#undef CAST_STORE

#define CAST_STORE d[i] = CAST_TO(CAST_DST, CAST_GET(i))
#define CAST_DST i8
#include "copy/cast_loop_tmpl.h"
#define CAST_DST i16
#include "copy/cast_loop_tmpl.h"
#define CAST_DST i32
#include "copy/cast_loop_tmpl.h"
#define CAST_DST i64
#include "copy/cast_loop_tmpl.h"
#define CAST_DST u8
#include "copy/cast_loop_tmpl.h"
#define CAST_DST u16
#include "copy/cast_loop_tmpl.h"
#define CAST_DST u32
#include "copy/cast_loop_tmpl.h"
#define CAST_DST u64
#include "copy/cast_loop_tmpl.h"
#define CAST_DST f16
#include "copy/cast_loop_tmpl.h"
#define CAST_DST bf16
#include "copy/cast_loop_tmpl.h"
#define CAST_DST f8_e4m3
#include "copy/cast_loop_tmpl.h"
#define CAST_DST f8_e5m2
#include "copy/cast_loop_tmpl.h"
#define CAST_DST f32
#include "copy/cast_loop_tmpl.h"
#define CAST_DST f64
#include "copy/cast_loop_tmpl.h"
#undef CAST_STORE

#define CAST_PART(k, x) d[2 * i + k] = CAST_TO(CAST_DST, x)
#define CAST_STORE CAST_PART(0, CAST_GET(i)), CAST_PART(1, CAST_IMAGINARY(i))
#define CAST_DST c64
#include "copy/cast_loop_tmpl.h"
#define CAST_DST c128
#include "copy/cast_loop_tmpl.h"
#undef CAST_STORE
#undef CAST_PART

static cpu_cast_fn *const CPU_CAT(cast_from, CAST_SRC)[NDP_DTYPE_END] = {
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) [id] = CAST_FN(name),
#include <ndock/dtype.def>
};
#undef CAST_SRC
#undef CAST_GET
#undef CAST_PAIR
#undef CAST_IMAGINARY
#undef CAST_NONZERO
#undef CAST_FN
