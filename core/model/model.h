/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The data model: dtypes and their promotion, scalars, shapes and strides, the table of operations.
 * Arithmetic on values alone: nothing here knows a device. */
#ifndef NDOCK_CORE_MODEL_H
#define NDOCK_CORE_MODEL_H
#include "core/base/base.h"

/* ---- dtype.c, promote.c ---- */
extern const nd_dtype_info nd__dtypes[ND_DTYPE_END];
/* The kinds of dtypes that are moved and converted, not computed in. */
enum { ND__KINDS_STORED = ND_KIND_STORED | ND_KIND_FLOAT8 };
static inline int nd__kind(nd_dtype dtype)
{
    return (uint32_t)dtype < ND_DTYPE_END ? nd__dtypes[dtype].kind : 0;
}
static inline int64_t nd__itemsize(nd_dtype dtype)
{
    return (uint32_t)dtype < ND_DTYPE_END ? nd__dtypes[dtype].nbytes : 0;
}
/* In bytes, a power of 2. */
static inline uint64_t nd__alignment(nd_dtype dtype)
{
    return (uint64_t)nd__itemsize(dtype) >> (nd__kind(dtype) == ND_KIND_COMPLEX);
}
static inline bool nd__aligned(nd_dtype dtype, uint64_t address)
{
    return (address & (nd__alignment(dtype) - 1)) == 0;
}
nd_status nd__check_dtype(const char *op, nd_dtype dtype);
nd_dtype nd__real_of(nd_dtype dtype);    /* c64 -> f32, c128 -> f64, else itself */
nd_dtype nd__complex_of(nd_dtype dtype); /* f64 -> c128, other floats -> c64, else itself */
/* The format of a floating dtype or of a complex one's parts: IEEE 754's, of any width, or one that
 * has no infinities and its only NaN where all bits are set. */
typedef struct {
    int32_t digits, bias; /* bits of the significand with the hidden one; the exponent's bias */
    int32_t finite;       /* there are no infinities */
    int32_t saturates;    /* what is beyond the largest value becomes that */
} nd_float_format;
nd_float_format nd__float_format(nd_dtype dtype);
/* The first magnitude beyond the format's values, where its spacing would go on. */
double nd__format_end(nd_float_format format);
double nd__format_largest(nd_float_format format); /* finite value */
/* nd_promote on behalf of an operation, which its errors name. */
nd_status nd__promote(const char *op, nd_dtype a, nd_dtype b, nd_dtype *out);
/* The dtype in which arrays of `arrays` (0: none) and a weak scalar meet. */
nd_status nd__promote_scalar(const char *op, nd_dtype arrays, nd_scalar s, nd_dtype *out);
/* A scalar rounded to dtype; ND_ERR_OVERFLOW if it does not fit. */
nd_status nd__scalar_to(const char *op, nd_scalar s, nd_dtype dtype, int32_t argument,
                        ndp_scalar *out);
/* dtype as an op computes it: in the op's domain, or the default float; ND_ERR_DTYPE else. */
nd_status nd__op_domain(const nd_op_info *op, nd_dtype in, nd_dtype *compute);
nd_dtype nd__op_result(const nd_op_info *op, nd_dtype compute);
/* Whether it computes operands of that stored dtype in f32; a result in f32 is then rounded to it. */
bool nd__op_rounds(const nd_op_info *op, nd_dtype common);
/* scalar.c: one element as bytes. element has room for 16 bytes. */
void nd__scalar_store(const ndp_scalar *s, void *element);
nd_scalar nd__scalar_load(nd_dtype dtype, const void *element);
/* Whether values of `from` may be written into `to`: bool < integer < floating < complex. */
nd_status nd__check_castable(const char *op, nd_dtype from, nd_dtype to);

/* ---- shape.c: pure arithmetic, no allocation ---- */
bool nd__mul_size(int64_t a, int64_t b, int64_t *out); /* false on overflow or a negative operand */
/* Of a stride, which may be -2^63. */
static inline uint64_t nd__magnitude(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}
bool nd__add_size(int64_t a, int64_t b, int64_t *out);
nd_status nd__check_shape(const char *op, nd_dtype dtype, int ndim, const int64_t *shape,
                          int64_t *size); /* rank, signs, bytes < 2^63 */
void nd__c_strides(int ndim, const int64_t *shape, int64_t *stride);
bool nd__is_c_order(int ndim, const int64_t *shape, const int64_t *stride);
bool nd__same_shape(int ndim_a, const int64_t *a, int ndim_b, const int64_t *b);
/* Lowest and one past the highest element that the strides reach from 0; false on overflow. Empty:
 * 0, 0. */
bool nd__extent(int ndim, const int64_t *shape, const int64_t *stride, int64_t *low, int64_t *high);
nd_status nd__axis(const char *op, int axis, int ndim, int *out);
/* Mask of axes (NULL: all), each in range and named once. */
nd_status nd__axes_mask(const char *op, int naxes, const int32_t *axes, int ndim, uint64_t *mask);
/* The same of an options struct: all where axes is NULL and naxes 0, none for ND_NO_AXES; the two
 * must not contradict each other. */
nd_status nd__axes_option(const char *op, int naxes, const int32_t *axes, int ndim, uint64_t *mask);
nd_status nd__broadcast(const char *op, int n, const int *ndims, const int64_t *const *shapes,
                        int *ndim, int64_t *out);
/* Strides of an operand stretched to ndim, shape (it is known to fit). */
void nd__broadcast_strides(int ndim, const int64_t *shape, int own_ndim, const int64_t *own_shape,
                           const int64_t *own_stride, int64_t *stride);
/* Joint simplification of n operands over one shape: drops extents of one, orders dimensions by the
 * first operand's strides (then the others'), merges what merges. stride[i] are rows of
 * ND_MAX_NDIM. keep_order: only merges. Returns the new rank. Shapes with a zero extent become rank
 * 1, extent 0. */
int nd__coalesce(int ndim, int64_t *shape, int n, int64_t (*stride)[ND_MAX_NDIM], bool keep_order);

/* ---- op.c ---- */
extern const nd_op_info nd__ops[ND_OP_END]; /* of op.def, by id: nd_op_get without the call */
#define ND_OP_REGISTERED_MAX 4096
/* The id of the next operation that a program registers; ND_OP_NONE: there is no room. */
nd_op nd__op_next(void);
/* Lists an operation, whose id is nd__op_next() and whose record lives for good. The caller holds
 * the one lock of registering. */
void nd__op_add(const nd_op_info *info);

#endif
