/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How exact arithmetic must be: what matrix products may trade for speed, and what really runs.
 *
 * Every setting is looked up for (plug-in, op), then (any plug-in, op), (plug-in, any op), and last
 * for everything; where a level is unset, the next one answers, and in the end the default. At each
 * level a value pushed by the thread hides the process's. The value counts when an operation is
 * called: later changes do not alter queued work. Any thread may call anything here. */
#ifndef NDOCK_MATH_H
#define NDOCK_MATH_H
#include <ndock/base.h>

ND_BEGIN_DECLS

enum {                             /* settings; first their default */
       ND_MATH_F32_MATMUL = 0,     /* IEEE; TF32, BF16X9 */
       ND_MATH_F16_REDUCTION = 1,  /* partial sums of a split k in f16: OFF; ON */
       ND_MATH_F16_SPLIT_K = 2,    /* k may be split: ON; OFF, which refuses F16_REDUCTION ON */
       ND_MATH_BF16_REDUCTION = 3, /* the same for bf16 */
       ND_MATH_BF16_SPLIT_K = 4,
       ND_MATH_F16_ACCUMULATE = 5, /* sums of f16 products: F32; F16 */
       ND_MATH_F64_MATMUL = 6,     /* NATIVE; EMULATED */
       ND_MATH_FP8_FAST = 7,       /* sums of fp8 products may lose bits: OFF; ON */
       ND_MATH_DETERMINISTIC = 8,  /* the same bits run to run: OFF; ON */
       ND_MATH_STRICT = 9,         /* a setting that the device lacks is an error: OFF; ON */
       ND_MATH_SETTINGS = 10
};
enum { /* values */
       ND_MATH_UNSET = 0,
       ND_MATH_IEEE = 1,
       ND_MATH_TF32 = 2, /* operands rounded to 10 bits of fraction, f32 sums */
       ND_MATH_BF16X9 = 3,
       ND_MATH_OFF = 4,
       ND_MATH_ON = 5,
       ND_MATH_F32 = 6,
       ND_MATH_F16 = 7,
       ND_MATH_NATIVE = 8,
       ND_MATH_EMULATED = 9
};

/* The process's value; plugin ("cuda") NULL: any, op ND_OP_NONE: any. UNSET inherits again.
 * ND_ERR_ARGUMENT for a value that the setting has not, ND_ERR_STATE for one that contradicts
 * another at the same level (reduced sums of a k that must not be split). */
ND_API ND_MUST_USE nd_status nd_math_set(int32_t setting, const char *plugin, nd_op op,
                                         int32_t value);
/* What counts for the calling thread there. Never fails: UNSET for an unknown setting. */
ND_API int32_t nd_math_get(int32_t setting, const char *plugin, nd_op op);
/* The thread's own value, until the pop; up to 32 deep. ND_ERR_STATE: too deep, or nothing to
 * pop. */
ND_API ND_MUST_USE nd_status nd_math_push(int32_t setting, const char *plugin, nd_op op,
                                          int32_t value);
ND_API ND_MUST_USE nd_status nd_math_pop(void);

/* The same record under the names that users of other libraries know; they may be mixed. */
ND_API ND_MUST_USE nd_status nd_math_set_allow_tf32(int32_t allow); /* F32_MATMUL: TF32 or IEEE */
ND_API int32_t nd_math_allow_tf32(void);
/* "highest" IEEE, "high" or "medium" TF32; reads "high" for TF32, else "highest". Static. */
ND_API ND_MUST_USE nd_status nd_math_set_matmul_precision(const char *precision);
ND_API const char *nd_math_matmul_precision(void);
/* name: "", "cuda", "cuda.matmul" or ".matmul". precision: "ieee", "tf32", "bf16x9" or "none"
 * (UNSET). The answer is what counts there. Static. */
ND_API ND_MUST_USE nd_status nd_math_set_fp32_precision(const char *name, const char *precision);
ND_API ND_MUST_USE nd_status nd_math_fp32_precision(const char *name, const char **precision);

/* What really runs for op in dtype on the device as the settings are now: "ieee", "tf32", "bf16x9",
 * "f16 sums", "reduced sums", "fast sums" (of 8-bit floats), "emulated". mnk: extents of a matrix
 * product; NULL: any. Static text. ND_ERR_ARGUMENT for an unknown op, ND_ERR_DTYPE for a dtype that
 * the op has not. */
ND_API ND_MUST_USE nd_status nd_effective_precision(nd_op op, nd_dtype dtype, nd_device *device,
                                                    const int64_t *mnk, const char **text);

ND_END_DECLS
#endif
