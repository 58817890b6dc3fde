/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements moved along their axis, what leaves at one end entering at the other. */
#include "core/ops/ops.h"

static nd_status roll_axis(const nd_array *a, int64_t shift, int axis, nd_array **out)
{
    nd_array *r = NULL, *head = NULL, *tail = NULL;
    nd_status status;
    int64_t n = a->shape[axis], s = n ? (shift % n + n) % n : 0;
    ND_RETURN_IF(nd__array_alloc("roll", a->storage->device, a->dtype, a->ndim, a->shape, &r));
    ND_GOTO_IF(done, nd__part(a, axis, n - s, s, &tail));
    ND_GOTO_IF(done, nd__part(a, axis, 0, n - s, &head));
    ND_GOTO_IF(done, nd__copy_part(tail, r, axis, 0));
    ND_GOTO_IF(done, nd__copy_part(head, r, axis, s));
    *out = r;
    r = NULL;
done:
    nd_release(r);
    nd_release(head);
    nd_release(tail);
    return status;
}

static nd_status roll_flat(const nd_array *a, int64_t shift, nd_array **out)
{
    nd_array *flat = NULL, *rolled = NULL;
    const int64_t all[1] = {a->size};
    nd_status status;
    ND_GOTO_IF(done, nd_reshape_copy(a, 1, all, &flat));
    ND_GOTO_IF(done, roll_axis(flat, shift, 0, &rolled));
    ND_GOTO_IF(done, nd_reshape(rolled, a->ndim, a->shape, out));
done:
    nd_release(flat);
    nd_release(rolled);
    return status;
}

nd_status nd_roll(const nd_array *a, int n, const int64_t *shifts, const int32_t *axes,
                  nd_array **out)
{
    nd_array *now = NULL;
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
    now = nd_retain((nd_array *)a);
    for (int i = 0; i < n; i++) { /* an axis may be named again: its shifts add up */
        nd_array *next = NULL;
        int where;
        nd_status status = nd__axis("roll", axes[i], a->ndim, &where);
        if (status == ND_OK)
            status = roll_axis(now, shifts[i], where, &next);
        nd_release(now);
        if (status != ND_OK)
            return status;
        now = next;
    }
    *out = now;
    return ND_OK;
}
