/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements moved along their axis, what leaves at one end entering at the other. */
#include "core/ops/ops.h"

/* Copies a to r, moved by shift[d], from 0 to the extent, along each axis from d on: each axis is
 * cut in two where it wraps, so that every element is moved once. */
static nd_status roll_pieces(const nd_array *a, const nd_array *r, int d, const int64_t *shift)
{
    nd_array *from = NULL, *to = NULL;
    nd_status status = ND_OK;
    while (d < a->ndim && shift[d] == 0)
        d++;
    if (d == a->ndim)
        return nd__copy_into(a, r);
    for (int wrapped = 0; wrapped < 2 && status == ND_OK; wrapped++) {
        int64_t n = a->shape[d], s = shift[d], length = wrapped ? s : n - s;
        ND_GOTO_IF(done, nd__part(a, d, wrapped ? n - s : 0, length, &from));
        ND_GOTO_IF(done, nd__part(r, d, wrapped ? 0 : s, length, &to));
        ND_GOTO_IF(done, roll_pieces(from, to, d + 1, shift));
    done:
        nd_release(from);
        nd_release(to);
        from = to = NULL;
    }
    return status;
}

/* shift: of each axis, any number. */
static nd_status roll_axes(const nd_array *a, int64_t *shift, nd_array **out)
{
    nd_array *r = NULL;
    ND_RETURN_IF(nd__array_alloc("roll", a->storage->device, a->dtype, a->ndim, a->shape, &r));
    for (int d = 0; d < a->ndim; d++) {
        int64_t n = a->shape[d];
        shift[d] = n ? (shift[d] % n + n) % n : 0;
    }
    nd_status status = roll_pieces(a, r, 0, shift);
    if (status == ND_OK)
        *out = r;
    else
        nd_release(r);
    return status;
}

static nd_status roll_flat(const nd_array *a, int64_t shift, nd_array **out)
{
    nd_array *flat = NULL, *rolled = NULL;
    int64_t all[1] = {a->size};
    nd_status status;
    ND_GOTO_IF(done, nd_reshape_copy(a, 1, all, &flat));
    ND_GOTO_IF(done, roll_axes(flat, &shift, &rolled));
    ND_GOTO_IF(done, nd_reshape(rolled, a->ndim, a->shape, out));
done:
    nd_release(flat);
    nd_release(rolled);
    return status;
}

nd_status nd_roll(const nd_array *a, int n, const int64_t *shifts, const int32_t *axes,
                  nd_array **out)
{
    int64_t shift[ND_MAX_NDIM] = {0};
    ND_OUT("roll", 4, out, NULL);
    ND_NEED_LIST("roll", 2, n, shifts);
    ND_RETURN_IF(nd__check_array("roll", a, 0));
    if (n < 0 || (!axes && n != 1))
        return nd__fail(ND_ERR_ARGUMENT, "roll", 1,
                        "%d shifts%s; without axes there is exactly one", n,
                        axes ? "" : " and no axes");
    if (!axes)
        return roll_flat(a, shifts[0], out);
    if (n == 0)
        return nd_copy(a, NULL, out);
    for (int i = 0; i < n; i++) { /* an axis may be named again: its shifts add up */
        int where;
        ND_RETURN_IF(nd__axis("roll", axes[i], a->ndim, &where));
        int64_t extent = a->shape[where] ? a->shape[where] : 1;
        shift[where] = shift[where] % extent + shifts[i] % extent;
    }
    return roll_axes(a, shift, out);
}
