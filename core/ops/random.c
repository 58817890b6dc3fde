/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Random arrays from an explicit key and counter; the numbers themselves are the kernel's. Source:
 * Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC11. */
#include <float.h>
#include <math.h>
#include "core/ops/random.h"

void nd_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    if (!counter || !key || !out) {
        const int i = !counter ? 0 : !key ? 1 : 2;
        static const char *const names[] = {"counter", "key", "out"};
        (void)nd__refuse_null("philox4x32", i, names[i]);
        return;
    }
    uint32_t c[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c[0], p1 = (uint64_t)0xCD9E8D57u * c[2];
        const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1,
                                  (uint32_t)(p0 >> 32) ^ c[3] ^ k[1], (uint32_t)p0};
        memcpy(c, next, sizeof c);
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(out, c, sizeof c);
}

uint64_t nd__random_blocks(int64_t size, nd_dtype dtype)
{
    const uint64_t per_block = nd_dtype_size(dtype) > 4 ? 2 : 4;
    return size > 0 ? ((uint64_t)size - 1) / per_block + 1 : 0;
}

void nd__random_skip_blocks(nd_random_key *key, uint64_t blocks)
{
    key->counter[0] += blocks;
    key->counter[1] += key->counter[0] < blocks;
}

void nd_random_skip(nd_random_key *key, int64_t size, nd_dtype dtype)
{
    if (!key)
        (void)nd__refuse_null("random_skip", 0, "key");
    else
        nd__random_skip_blocks(key, nd__random_blocks(size, dtype));
}

static nd_status check_random(const nd_op_info *info, const nd_random_key *key, const nd_array *dst)
{
    ND_NEED(info->name, 0, key);
    ND_RETURN_IF(nd__check_writable(info->name, dst, 3));
    if (!(nd__kind(dst->dtype) & info->domain))
        return nd__fail(ND_ERR_DTYPE, info->name, 3, "no random numbers of %s here; it makes %s",
                        nd_dtype_name(dst->dtype),
                        info->domain & ND_KIND_FLOAT ? "f16, bf16, f32, f64" : "integers");
    return ND_OK;
}

/* Numbers follow the C order of dst, so its dimensions are merged but never exchanged. */
nd_status nd__random_run(nd_op op, const nd_random_key *key, ndp_random *params, const nd_arg *args,
                         int n, const nd_array *dst)
{
    int64_t shape[ND_MAX_NDIM], stride[1 + ND_OPERANDS][ND_MAX_NDIM];
    ndp_scalar scalars[ND_OPERANDS];
    ndp_view in[ND_OPERANDS], out = nd__view(dst);
    if (dst->size == 0)
        return ND_OK;
    *params =
        (ndp_random){sizeof *params, 0,         key->key,    {key->counter[0], key->counter[1]},
                     params->a,      params->b, params->low, params->high};
    memcpy(shape, dst->shape, (size_t)dst->ndim * sizeof *shape);
    memset(stride, 0, sizeof stride);
    memcpy(stride[0], dst->stride, (size_t)dst->ndim * sizeof *shape);
    for (int i = 0; i < n; i++)
        if (args[i].array)
            nd__broadcast_strides(dst->ndim, dst->shape, args[i].array->ndim, args[i].array->shape,
                                  args[i].array->stride, stride[1 + i]);
    out.ndim = nd__coalesce(dst->ndim, shape, 1 + n, stride, true);
    out.shape = shape;
    out.stride = stride[0];
    for (int i = 0; i < n; i++) {
        scalars[i] = (ndp_scalar){.dtype = ND_F64, .v.f = args[i].scalar.v.f};
        in[i] =
            args[i].array ? nd__view(args[i].array) : nd__scalar_view(scalars, i, out.ndim, shape);
        in[i].ndim = out.ndim;
        in[i].shape = shape;
        in[i].stride = stride[1 + i];
        if (args[i].array && !nd__is_c_order(out.ndim, shape, in[i].stride))
            in[i].flags &= ~(uint64_t)NDP_VIEW_CONTIGUOUS;
    }
    ndp_call call = {.size = sizeof call,
                     .op = op,
                     .n_in = (uint32_t)n,
                     .n_out = 1,
                     .n_scalar = (uint32_t)n,
                     .in = in,
                     .out = &out,
                     .scalar = scalars,
                     .params = params};
    return nd__run(dst->storage->device, &call);
}

static nd_status random_run(nd_op op, const nd_random_key *key, ndp_random *params,
                            const nd_array *dst)
{
    ND_RETURN_IF(check_random(nd_op_get(op), key, dst));
    return nd__random_run(op, key, params, NULL, 0, dst);
}

/* Whether the kernel can compute with x, which it does in f64, or in f32 for all smaller dtypes. */
static bool computable(const nd_array *dst, double x)
{
    return fabs(x) <= (nd_dtype_size(dst->dtype) > 4 ? DBL_MAX : FLT_MAX); /* false for NaN */
}

nd_status nd_random_uniform_into(const nd_random_key *key, double low, double high,
                                 const nd_array *dst)
{
    ndp_random params = {.a = low, .b = high};
    ND_RETURN_IF(check_random(nd_op_get(ND_OP_random_uniform), key, dst));
    if (!(low <= high) || !computable(dst, low) || !computable(dst, high) ||
        !computable(dst, high - low))
        return nd__fail(ND_ERR_ARGUMENT, "random_uniform", 1,
                        "bounds %g and %g; they must be in order, finite, and no further apart "
                        "than %s can hold",
                        low, high, nd_dtype_size(dst->dtype) > 4 ? "f64" : "f32");
    return random_run(ND_OP_random_uniform, key, &params, dst);
}

nd_status nd_random_normal_into(const nd_random_key *key, double mean, double std,
                                const nd_array *dst)
{
    ndp_random params = {.a = mean, .b = std};
    ND_RETURN_IF(check_random(nd_op_get(ND_OP_random_normal), key, dst));
    if (!(std >= 0) || !computable(dst, std) || !computable(dst, mean))
        return nd__fail(
            ND_ERR_ARGUMENT, "random_normal", 1,
            "mean %g and standard deviation %g; they must be finite in %s, the latter not negative",
            mean, std, nd_dtype_size(dst->dtype) > 4 ? "f64" : "f32");
    return random_run(ND_OP_random_normal, key, &params, dst);
}

static nd_status check_bounds(nd_dtype dtype, int64_t low, int64_t high)
{
    ndp_scalar ignored;
    bool is_u64 = dtype == ND_U64;
    if (is_u64 ? (uint64_t)low >= (uint64_t)high : low >= high)
        return nd__fail(ND_ERR_ARGUMENT, "random_integers", 1, "low %lld is not below high %lld",
                        (long long)low, (long long)high);
    if (is_u64)
        return ND_OK;
    ND_RETURN_IF(nd__scalar_to("random_integers", nd_int(low), dtype, 1, &ignored));
    return nd__scalar_to("random_integers", nd_int(high - 1), dtype, 2, &ignored);
}

nd_status nd_random_integers_into(const nd_random_key *key, int64_t low, int64_t high,
                                  const nd_array *dst)
{
    ndp_random params = {.low = low, .high = high};
    ND_RETURN_IF(check_random(nd_op_get(ND_OP_random_integers), key, dst));
    ND_RETURN_IF(check_bounds(dst->dtype, low, high));
    return random_run(ND_OP_random_integers, key, &params, dst);
}

/* The result, whose elements are to be drawn. */
static nd_status new_result(const char *op, nd_device *device, nd_dtype dtype, int ndim,
                            const int64_t *shape, const nd_random_key *key, nd_array **out,
                            nd_array **result)
{
    ND_OUT(op, 7, out, NULL);
    ND_NEED(op, 4, key);
    ND_NEED_LIST(op, 3, ndim, shape);
    return nd__empty(op, device, dtype, ndim, shape, result);
}

nd_status nd_random_uniform(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                            const nd_random_key *key, double low, double high, nd_array **out)
{
    nd_array *r = NULL;
    ND_RETURN_IF(new_result("random_uniform", device, dtype, ndim, shape, key, out, &r));
    return nd__hand_over(nd_random_uniform_into(key, low, high, r), r, out);
}

nd_status nd_random_normal(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                           const nd_random_key *key, double mean, double std, nd_array **out)
{
    nd_array *r = NULL;
    ND_RETURN_IF(new_result("random_normal", device, dtype, ndim, shape, key, out, &r));
    return nd__hand_over(nd_random_normal_into(key, mean, std, r), r, out);
}

nd_status nd_random_integers(nd_device *device, nd_dtype dtype, int ndim, const int64_t *shape,
                             const nd_random_key *key, int64_t low, int64_t high, nd_array **out)
{
    nd_array *r = NULL;
    ND_RETURN_IF(new_result("random_integers", device, dtype, ndim, shape, key, out, &r));
    return nd__hand_over(nd_random_integers_into(key, low, high, r), r, out);
}

nd_status nd_random_permutation(nd_device *device, int64_t n, const nd_random_key *key,
                                nd_array **out)
{
    nd_array *words = NULL;
    ndp_random params = {.low = 0, .high = 0}; /* equal bounds: all 64 bits */
    ND_OUT("random_permutation", 3, out, NULL);
    ND_NEED("random_permutation", 2, key);
    ND_RETURN_IF(nd__empty("random_permutation", device, ND_U64, 1, &n, &words));
    nd_status status =
        nd__error_as("random_permutation", random_run(ND_OP_random_integers, key, &params, words));
    if (status == ND_OK)
        status = nd_argsort(words, NULL, out);
    nd_release(words);
    return status;
}
