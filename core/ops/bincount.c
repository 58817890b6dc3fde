/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * bincount: how often each of the integers from 0 is in an array, or sums of weights by them. */
#include "core/ops/bins.h"
#include "core/ops/prepare.h"

#define AT_ONCE_FROM 32768 /* elements that are counted before the largest is known */
#define AT_ONCE_SAMPLE 1024
#define AT_ONCE_MAX 16384
#define COPIED_MAX 65536 /* counts */
#define FEW 256          /* elements: a table of edges would cost more than it spares */
#define BLOCK 32768      /* elements that stay in a cache between the passes */
#define AT_A_TIME 131072 /* elements whose sums need no blocks: they stay in the second cache */

/* The same bits as unsigned integers, the largest of which says whether any is negative. */
static nd_array *as_unsigned(nd_steps *s, const nd_array *a)
{
    static const nd_dtype of[] = {[ND_BOOL] = ND_U8,
                                  [ND_I8] = ND_U8,
                                  [ND_I16] = ND_U16,
                                  [ND_I32] = ND_U32,
                                  [ND_I64] = ND_U64};
    const bool is_unsigned = nd__kind(a->dtype) == ND_KIND_UINT;
    nd_array *r;
    if (a->dtype == ND_BOOL)
        return nd__step_cast(s, a, ND_U8);
    ND_STEP(s, r,
            nd__array_new(a->storage, is_unsigned ? a->dtype : of[a->dtype], a->ndim, a->shape,
                          a->stride, a->offset, true, &r));
    return r;
}

/* The least element of a is looked for where one is negative, or not to be counted. */
static nd_status check_counted(nd_steps *s, const nd_array *a, uint64_t high)
{
    nd_array *least;
    ND_RETURN_IF(s->status);
    if (nd__kind(a->dtype) == ND_KIND_INT && high >> (8 * nd__itemsize(a->dtype) - 1)) {
        ND_STEP(s, least, nd_min(a, NULL, &least));
        const int64_t low = nd__step_int(s, least);
        ND_RETURN_IF(s->status);
        return nd__fail(ND_ERR_ARGUMENT, "bincount", 0,
                        "an element is %lld; what is counted is not negative", (long long)low);
    }
    if (high >= INT64_MAX - 1)
        return nd__fail(ND_ERR_OVERFLOW, "bincount", 0,
                        "an element is %llu, which is beyond 2^63 - 3 (9223372036854775805)",
                        (unsigned long long)high);
    return ND_OK;
}

/* One more than the largest element, if that is more than *length. a: integers in unsigned form. */
static nd_status length_of(nd_steps *s, const nd_array *a, const nd_array *bits, int64_t *length)
{
    nd_array *most;
    if (a->size == 0)
        return ND_OK;
    ND_STEP(s, most, nd_max(bits, NULL, &most));
    const uint64_t high = nd__step_unsigned(s, most);
    ND_RETURN_IF(check_counted(s, a, high));
    *length = (int64_t)high + 1 > *length ? (int64_t)high + 1 : *length;
    return ND_OK;
}

/* Few counts are copied: they are aligned then, and have nothing beside them in memory. */
static nd_array *trimmed(nd_steps *s, nd_array *part)
{
    return s->status == ND_OK && part->size < COPIED_MAX ? nd__step_copy(s, part) : part;
}

/* A sample of a long array says how many counts will do: then one pass over all of it is enough.
 * NULL: it was misleading, or there is no sense in trying. */
static nd_array *counted_at_once(nd_steps *s, const nd_array *bits, int64_t length)
{
    nd_array *most, *last;
    if (s->status != ND_OK || bits->size < AT_ONCE_FROM ||
        !nd__counts_insertions(bits->storage->device, bits->dtype))
        return NULL;
    nd_array *sample = nd__step_part(s, bits, 0, 0, ND_END_OPEN, bits->size / AT_ONCE_SAMPLE);
    ND_STEP(s, most, nd_max(sample, NULL, &most));
    const uint64_t high = nd__step_unsigned(s, most);
    if (s->status != ND_OK || high > AT_ONCE_MAX || length > AT_ONCE_MAX)
        return NULL;
    const int64_t twice = 2 * (int64_t)high + 32, all = nd__integers_of(bits->dtype);
    int64_t enough = twice > length ? twice : length;
    enough = enough < all ? enough : all;
    if (length > enough)
        return NULL;
    nd_array *counts = nd__counts_of_integers(s, bits, enough);
    nd_array *beyond =
        nd__step_at(s, counts, 0, enough - 1); /* larger ones are in the last place */
    if (enough < all && nd__step_int(s, beyond) != 0)
        return NULL;
    nd_array *some = nd__step_scalar(s, ND_OP_greater, counts, nd_int(0));
    nd_array *at = nd__step_range(s, counts, 1, enough + 1);
    at = nd__step_where(s, some, nd_array_arg(at), nd_scalar_arg(nd_int(0)));
    ND_STEP(s, last, nd_max(at, NULL, &last));
    const int64_t end = nd__step_int(s, last);
    return trimmed(s, nd__step_part(s, counts, 0, 0, end > length ? end : length, 1));
}

/* ---- by the device's operation ---- */

static bool counts_itself(const nd_array *a)
{
    return nd_device_op_dtypes(a->storage->device, ND_OP_bincount) >> a->dtype & 1;
}

static nd_status run_count(const nd_operation *of, const nd_array *dst)
{
    nd_array *const outs[1] = {(nd_array *)(uintptr_t)dst};
    return dst->size ? nd__run_arrays(of->info->op, of->in[1] ? 2 : 1, of->in, 1, outs, NULL)
                     : (nd_status)ND_OK;
}

/* The sums of f64 weights, or counts, of the integers below length. */
static nd_array *counted(nd_steps *s, const nd_array *a, const nd_array *weights, int64_t length)
{
    nd_operation of;
    nd_array *r = NULL;
    if (s->status != ND_OK)
        return NULL;
    nd__operation_begin(&of, ND_OP_bincount, run_count);
    nd_status status = nd__operand(&of, 0, a);
    if (status == ND_OK && weights)
        status = nd__operand(&of, 1, weights);
    of.compute = a->dtype;
    of.result = weights ? ND_F64 : ND_I64;
    nd__result_shape(&of, 1, &length);
    ND_STEP(s, r, nd__into_new(&of, status, &r));
    return r;
}

/* ---- sums by position ---- */

/* Sums so far; room for integers below `room`, of which those below `length` are wanted. */
typedef struct {
    nd_array *sums;
    int64_t room, length;
    bool last; /* what comes is the last block: no room is needed beyond it */
} growing;

/* Some more room than is needed, so that sums are not copied for each block of ascending ones. */
static nd_status make_room(growing *g, const nd_array *a, nd_dtype dtype)
{
    nd_steps s = {ND_OK};
    nd_array *wider;
    const int64_t more = g->last || g->length > INT64_MAX / 2 ? 0 : g->length / 8;
    const int64_t room = g->length + more;
    ND_STEP(&s, wider, nd_zeros(a->storage->device, dtype, 1, &room, &wider));
    if (g->sums) {
        nd_array *begin = nd__step_part(&s, wider, 0, 0, g->room, 1);
        ND_STEP_DO(&s, nd_copy_to(g->sums, begin, NULL));
    }
    nd_array *before = g->sums;
    ND_RETURN_IF(nd__steps_end(&s, "bincount", wider, &g->sums));
    nd_release(before);
    g->room = room;
    return ND_OK;
}

static nd_status add_block(growing *g, const nd_array *a, const nd_array *weights)
{
    nd_steps s = {ND_OK};
    nd_array *most;
    ND_STEP(&s, most, nd_max(as_unsigned(&s, a), NULL, &most));
    const uint64_t high = nd__step_unsigned(&s, most);
    if (s.status == ND_OK)
        s.status = check_counted(&s, a, high);
    if (s.status == ND_OK && (int64_t)high >= g->length)
        g->length = (int64_t)high + 1;
    if (s.status == ND_OK && g->length > g->room)
        s.status = make_room(g, a, weights->dtype);
    nd_array *at = nd__step_cast(&s, a, ND_I64);
    ND_STEP_DO(&s, nd_scatter_into(at, weights, 0, ND_SCATTER_ADD, g->sums));
    return nd__steps_end(&s, "bincount", NULL, NULL);
}

/* A block after the other is looked at and added while it is in a cache, where the CPU does so; the
 * order of the additions is that of the elements all the same. weights: of a's shape or rank 0. */
static nd_array *sums_of(nd_steps *s, const nd_array *a, const nd_array *weights, int64_t length)
{
    growing g = {.length = length};
    const bool host = !a->storage->device->async;
    const int64_t block = host && a->size > BLOCK ? BLOCK : a->size;
    if (s->status == ND_OK && a->size == 0) {
        g.last = true;
        s->status = make_room(&g, a, weights->dtype);
    }
    for (int64_t from = 0; s->status == ND_OK && from < a->size; from += block) {
        nd_steps own = {ND_OK};
        const int64_t to = a->size - from > block ? from + block : a->size;
        const nd_array *part = a, *w = weights;
        if (block < a->size) {
            part = nd__step_part(&own, a, 0, from, to, 1);
            w = weights->ndim ? nd__step_part(&own, weights, 0, from, to, 1) : weights;
        }
        g.last = to == a->size;
        ND_STEP_DO(&own, add_block(&g, part, w));
        s->status = nd__steps_end(&own, "bincount", NULL, NULL);
    }
    nd__steps_keep(s, g.sums);
    return g.room == g.length ? g.sums : trimmed(s, nd__step_part(s, g.sums, 0, 0, g.length, 1));
}

static nd_array *counts_of(nd_steps *s, const nd_array *a, int64_t length)
{
    nd_array *one, *bits = as_unsigned(s, a);
    const bool itself = s->status == ND_OK && counts_itself(a);
    if (!itself && a->size <= FEW && length <= FEW) {
        ND_STEP(s, one, nd_full(a->storage->device, ND_I64, 0, NULL, nd_int(1), &one));
        return s->status == ND_OK ? sums_of(s, a, one, length) : NULL;
    }
    nd_array *r = counted_at_once(s, bits, length);
    if (!r && s->status == ND_OK)
        s->status = length_of(s, a, bits, &length);
    if (r || s->status != ND_OK)
        return r;
    /* Of many elements to not as many counts several threads count, by a table of edges. */
    return itself && (a->size < AT_ONCE_FROM || length / 4 > a->size)
               ? counted(s, a, NULL, length)
               : nd__counts_of_integers(s, bits, length);
}

static nd_array *weighted(nd_steps *s, const nd_array *a, const nd_array *weights, int64_t length)
{
    const nd_array *w = nd__step_cast(s, weights, ND_F64);
    if (s->status != ND_OK || a->size > AT_A_TIME || !counts_itself(a))
        return s->status == ND_OK ? sums_of(s, a, w, length) : NULL;
    s->status = length_of(s, a, as_unsigned(s, a), &length);
    return counted(s, a, w, length);
}

nd_status nd_bincount(const nd_array *a, const nd_array *weights, int64_t minlength, nd_array **out)
{
    nd_steps s;
    nd_array *r = NULL;
    ND_OUT("bincount", 3, out, NULL);
    ND_RETURN_IF(nd__check_array("bincount", a, 0));
    if (!(nd__kind(a->dtype) & (ND_KIND_INT | ND_KIND_UINT | ND_KIND_BOOL)))
        return nd__fail(ND_ERR_DTYPE, "bincount", 0, "%s; integers are counted",
                        nd_dtype_name(a->dtype));
    if (a->ndim != 1)
        return nd__fail(ND_ERR_SHAPE, "bincount", 0, "rank %d, not 1; reshape it", a->ndim);
    if (minlength < 0)
        return nd__fail(ND_ERR_ARGUMENT, "bincount", 2,
                        "minlength is %lld; it must not be negative", (long long)minlength);
    if (minlength == INT64_MAX)
        return nd__fail(ND_ERR_OVERFLOW, "bincount", 2, "no array has %lld elements and one more",
                        (long long)minlength);
    ND_RETURN_IF(nd__check_bin_weights("bincount", a, weights, 1));
    if (weights && nd__kind(weights->dtype) == ND_KIND_COMPLEX)
        return nd__fail(ND_ERR_DTYPE, "bincount", 1, "weights are real, not %s",
                        nd_dtype_name(weights->dtype));
    ND_RETURN_IF(nd__steps_begin(&s, "bincount", a, NULL));
    r = weights ? weighted(&s, a, weights, minlength) : counts_of(&s, a, minlength);
    return nd__steps_end(&s, "bincount", r, out);
}
