/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * All loops of one element type. The includer defines T, TNAME and, as the templates say,
 * WIDE, TOTAL, COMPENSATED; IS_FLOAT with BITS, or for integers IS_SMALL (narrower than 64 bits);
 * HAS_PROD for integers; HAS_ARG with KEY (FN(key) then exists for argmin and argmax);
 * READ(x), what an element counts as where that is not the element itself. */
#define FN(name) CPU_CAT(CPU_CAT(OP, TNAME), name)
#ifndef READ
#define READ(x) (x)
#endif

#define LOAD_NAME CPU_CAT(copy, TNAME)
#define LOAD_FROM T
#define LOAD_TO T
#define LOAD_EXPR READ(x)
#define LOAD_EVERY_OTHER 1
#include "walk/load_tmpl.h"

#define LOAD_NAME CPU_CAT(flag, TNAME)
#define LOAD_FROM T
#define LOAD_TO uint8_t
#define LOAD_EXPR x != 0
#include "walk/load_tmpl.h"

#ifdef IS_FLOAT
#define MIN ((T)-INFINITY)
#define MAX ((T)INFINITY)
#else
#define MIN ((T)-1 < 1 ? (T)((uint64_t)1 << (8 * sizeof(T) - 1)) : (T)0)
#define MAX ((T)~MIN)
#endif

#define OP sum
#define IS_PROD 0
#include "reduce/sum_tmpl.h"

#ifdef HAS_PROD
#define OP prod
#define IS_PROD 1
#include "reduce/sum_tmpl.h"
#elif defined(IS_FLOAT)
#define OP prod
#include "reduce/prod_tmpl.h"
#endif

#define OP max
#define IS_MAX 1
#include "reduce/minmax_tmpl.h"

#define OP min
#define IS_MAX 0
#include "reduce/minmax_tmpl.h"

#ifdef IS_FLOAT
#define OP var
#define SUM_INNER CPU_CAT(CPU_CAT(sum, TNAME), inner)
#include "reduce/var_tmpl.h"
#undef SUM_INNER
#define OP lse
#define MAX_INNER CPU_CAT(CPU_CAT(max, TNAME), inner)
#include "reduce/logsumexp_tmpl.h"
#undef MAX_INNER
#endif

#ifdef HAS_ARG
#define OP argmax
#define IS_MAX 1
#define BEST CPU_CAT(CPU_CAT(max, TNAME), best)
#define BEST_STEP CPU_CAT(CPU_CAT(max, TNAME), STEP)
#include "reduce/arg_tmpl.h"
#undef BEST
#undef BEST_STEP
#define OP argmin
#define IS_MAX 0
#define BEST CPU_CAT(CPU_CAT(min, TNAME), best)
#define BEST_STEP CPU_CAT(CPU_CAT(min, TNAME), STEP)
#include "reduce/arg_tmpl.h"
#undef BEST
#undef BEST_STEP
#endif

#ifdef IS_SMALL
#define LOAD_NAME CPU_CAT(wide, TNAME)
#define LOAD_FROM T
#define LOAD_TO uint64_t
#define LOAD_EXPR (uint64_t) READ(x)
#include "walk/load_tmpl.h"

#ifndef HAS_ARG
/* 32 unsigned bits keep their order as i32 with the highest bit turned. */
#define LOAD_NAME CPU_CAT(key, TNAME)
#define LOAD_FROM T
#define LOAD_TO int32_t
#define LOAD_EXPR (int32_t)(sizeof(T) == 4 ? (uint32_t)x ^ 0x80000000u : (uint32_t)READ(x))
#include "walk/load_tmpl.h"
#endif
#endif

#undef MIN
#undef MAX
#undef FN
#undef T
#undef TNAME
#undef WIDE
#undef TOTAL
#undef COMPENSATED
#undef IS_FLOAT
#undef BITS
#undef IS_SMALL
#undef HAS_PROD
#undef HAS_ARG
#undef KEY
#undef READ
