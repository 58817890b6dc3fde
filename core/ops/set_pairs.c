/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sets made of two arrays. */
#include "core/ops/steps.h"

typedef struct {
    nd_array *values, *indices; /* distinct ones of the flattened array, and where each is first */
} distinct;

static nd_status read_pair(const char *op, const nd_array *a, const nd_array *b, nd_dtype *common)
{
    ND_RETURN_IF(nd__check_array(op, a, 0));
    ND_RETURN_IF(nd__check_array(op, b, 1));
    ND_RETURN_IF(nd__check_same_device(op, a, b, 0, 1));
    return nd__promote(op, a->dtype, b->dtype, common);
}

static distinct distinct_of(nd_steps *s, const nd_array *a, nd_dtype dtype, bool wants_indices)
{
    distinct d = {NULL, NULL};
    nd_array *x = nd__step_cast(s, a, dtype);
    ND_STEP_DO(s, nd_unique_all(x, &d.values, wants_indices ? &d.indices : NULL, NULL, NULL));
    nd__steps_keep(s, d.values);
    nd__steps_keep(s, d.indices);
    return d;
}

/* Those of a's distinct values that are (invert: are not) in b. */
static nd_array *common_mask(nd_steps *s, const distinct *d, const nd_array *b, bool invert)
{
    nd_array *mask;
    ND_STEP(s, mask, nd_isin(d->values, b, invert, &mask));
    return mask;
}

static nd_array *chosen(nd_steps *s, const nd_array *a, const nd_array *mask)
{
    nd_array *r;
    ND_STEP(s, r, nd_select(a, mask, &r));
    return r;
}

nd_status nd_intersect1d(const nd_array *a, const nd_array *b, nd_array **values,
                         nd_array **indices_a, nd_array **indices_b)
{
    nd_steps s;
    nd_dtype common;
    nd_array *in_a = NULL, *in_b = NULL;
    ND_OUT("intersect1d", 2, values, NULL);
    ND_RETURN_IF(read_pair("intersect1d", a, b, &common));
    ND_RETURN_IF(nd__steps_begin(&s, "intersect1d", a, NULL));
    const distinct of_a = distinct_of(&s, a, common, indices_a != NULL);
    nd_array *mask = common_mask(&s, &of_a, b, false);
    nd_array *r = chosen(&s, of_a.values, mask);
    if (indices_a)
        in_a = chosen(&s, of_a.indices, mask);
    if (indices_b) {
        const distinct of_b = distinct_of(&s, b, common, true);
        in_b = chosen(&s, of_b.indices, common_mask(&s, &of_b, a, false));
        *indices_b = s.status == ND_OK ? nd_retain(in_b) : NULL;
    }
    if (indices_a)
        *indices_a = s.status == ND_OK ? nd_retain(in_a) : NULL;
    return nd__steps_end(&s, "intersect1d", r, values);
}

nd_status nd_union1d(const nd_array *a, const nd_array *b, nd_array **out)
{
    const nd_array *const both[2] = {a, b};
    nd_steps s;
    nd_dtype common;
    nd_array *all;
    ND_OUT("union1d", 2, out, NULL);
    ND_RETURN_IF(read_pair("union1d", a, b, &common));
    ND_RETURN_IF(nd__steps_begin(&s, "union1d", a, NULL));
    ND_STEP(&s, all, nd_concat_flat(2, both, &all));
    const distinct d = distinct_of(&s, all, common, false);
    return nd__steps_end(&s, "union1d", d.values, out);
}

nd_status nd_setdiff1d(const nd_array *a, const nd_array *b, nd_array **out)
{
    nd_steps s;
    nd_dtype common;
    ND_OUT("setdiff1d", 2, out, NULL);
    ND_RETURN_IF(read_pair("setdiff1d", a, b, &common));
    ND_RETURN_IF(nd__steps_begin(&s, "setdiff1d", a, NULL));
    const distinct d = distinct_of(&s, a, common, false);
    nd_array *r = chosen(&s, d.values, common_mask(&s, &d, b, true));
    return nd__steps_end(&s, "setdiff1d", r, out);
}

nd_status nd_setxor1d(const nd_array *a, const nd_array *b, nd_array **out)
{
    nd_steps s;
    nd_dtype common;
    nd_array *all, *sorted;
    ND_OUT("setxor1d", 2, out, NULL);
    ND_RETURN_IF(read_pair("setxor1d", a, b, &common));
    ND_RETURN_IF(nd__steps_begin(&s, "setxor1d", a, NULL));
    const distinct of_a = distinct_of(&s, a, common, false),
                   of_b = distinct_of(&s, b, common, false);
    const nd_array *const both[2] = {chosen(&s, of_a.values, common_mask(&s, &of_a, b, true)),
                                     chosen(&s, of_b.values, common_mask(&s, &of_b, a, true))};
    ND_STEP(&s, all, nd_concat(2, both, 0, &all));
    ND_STEP(&s, sorted, nd_sort(all, NULL, &sorted));
    return nd__steps_end(&s, "setxor1d", sorted, out);
}
