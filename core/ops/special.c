/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Functions made of elementwise operations: two results of one operand, and a precision of its
 * own. */
#include "core/ops/ops.h"

nd_status nd_frexp(const nd_array *a, nd_array **mantissa, nd_array **exponent)
{
    nd_array *m = NULL, *e = NULL;
    nd_status status;
    ND_OUT("frexp", 1, mantissa, NULL);
    ND_OUT("frexp", 2, exponent, NULL);
    ND_GOTO_IF(done, nd__error_as("frexp", nd_frexp_mantissa(a, &m)));
    ND_GOTO_IF(done, nd__error_as("frexp", nd_frexp_exponent(a, &e)));
    ND_GOTO_IF(done, nd__error_as("frexp", nd_astype(e, ND_I32, exponent)));
    *mantissa = m;
    m = NULL;
done:
    nd_release(m);
    nd_release(e);
    return status;
}

/* The whole part of an integer is the integer itself, which is to have the fraction's dtype. */
nd_status nd_modf(const nd_array *a, nd_array **fraction, nd_array **whole)
{
    nd_array *f = NULL, *w = NULL;
    nd_apply_opts opts = {.size = sizeof opts};
    nd_status status;
    ND_OUT("modf", 1, fraction, NULL);
    ND_OUT("modf", 2, whole, NULL);
    ND_GOTO_IF(done, nd__error_as("modf", nd_modf_fraction(a, &f)));
    const nd_arg arg = nd_array_arg(a);
    opts.dtype = nd_dtype_of(f);
    ND_GOTO_IF(done, nd__error_as("modf", nd_apply(ND_OP_trunc, &arg, 1, &opts, &w)));
    *fraction = f;
    *whole = w;
    f = w = NULL;
done:
    nd_release(f);
    nd_release(w);
    return status;
}

static nd_status float_power(const nd_array *a, const nd_array *b, nd_array **out,
                             const nd_array *dst)
{
    nd_apply_opts opts = {.size = sizeof opts, .dtype = ND_F64};
    ND_RETURN_IF(nd__check_array("float_power", a, 0));
    ND_RETURN_IF(nd__check_array("float_power", b, 1));
    const nd_arg args[2] = {nd_array_arg(a), nd_array_arg(b)};
    if (nd__kind(a->dtype) == ND_KIND_COMPLEX || nd__kind(b->dtype) == ND_KIND_COMPLEX)
        opts.dtype = ND_C128;
    return nd__error_as("float_power", out ? nd_apply(ND_OP_pow, args, 2, &opts, out)
                                           : nd_apply_into(ND_OP_pow, args, 2, &opts, dst));
}

nd_status nd_float_power(const nd_array *a, const nd_array *b, nd_array **out)
{
    ND_OUT("float_power", 2, out, NULL);
    return float_power(a, b, out, NULL);
}

nd_status nd_float_power_into(const nd_array *a, const nd_array *b, const nd_array *dst)
{
    ND_NEED("float_power", 2, dst);
    return float_power(a, b, NULL, dst);
}

nd_status nd_normcdf(const nd_array *a, nd_array **out)
{
    ND_OUT("normcdf", 1, out, NULL);
    return nd__error_as("normcdf", nd_ndtr(a, out));
}
