/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * X5: what a kernel needs of its operands (NDP_NEEDS_*, a highest rank) is what it gets: every
 * combination of needs, over views whose axes are straight, reversed, repeated, or of extents 1 and
 * 2. The mock looks at every operand; values are compared with those of index arithmetic. */
#include "tests/loader/needy.h"
#include "tests/loader/sandbox.h"

enum { RANK = 3, FORMS = 27, MOST = 64 };
static const char *const needs_of[] = {"none",
                                       "CONTIGUOUS",
                                       "NO_NEGATIVE",
                                       "CONTIGUOUS NO_NEGATIVE",
                                       "NO_BROADCAST",
                                       "CONTIGUOUS NO_BROADCAST",
                                       "NO_NEGATIVE NO_BROADCAST",
                                       "all"};
static needy_state *state;
static nd_device *needy;

/* Axis by axis: 0 straight, 1 reversed, 2 repeated. */
static int form_of(int form, int axis)
{
    static const int weight[RANK] = {1, 3, 9};
    return form / weight[axis] % 3;
}

static int64_t place(int form, const int64_t *shape, const int64_t *at)
{
    int64_t i = 0;
    for (int d = 0; d < RANK; d++) {
        const int kind = form_of(form, d);
        i = i * shape[d] + (kind == 0 ? at[d] : kind == 1 ? shape[d] - 1 - at[d] : 0);
    }
    return i;
}

static nd_status view_of(const nd_array *a, int form, const int64_t *shape, nd_array **view)
{
    int64_t stride[RANK], offset = 0, step = 1;
    for (int d = RANK - 1; d >= 0; d--) {
        const int kind = form_of(form, d);
        stride[d] = kind == 0 ? step : kind == 1 ? -step : 0;
        offset += kind == 1 ? step * (shape[d] - 1) : 0;
        step *= shape[d];
    }
    return nd_as_strided(a, RANK, shape, stride, offset, view);
}

/* x - y, x a view of that form of 0, 1, 2 ..., y the same values in order; elements that are wrong.
 */
static int wrong(int form, const int64_t *shape)
{
    float values[MOST], got[MOST];
    const int64_t n = shape[0] * shape[1] * shape[2];
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = RANK, .shape = shape};
    nd_array *a = NULL, *x = NULL, *r = NULL;
    int bad = 0;
    for (int i = 0; i < MOST; i++)
        values[i] = (float)i;
    if (nd_from_host(&layout, values, needy, &a) != ND_OK || view_of(a, form, shape, &x) != ND_OK ||
        nd_subtract(x, a, &r) != ND_OK || nd_to_host(r, got, (size_t)n * sizeof *got) != ND_OK) {
        diag("%s", nd_last_error()->message);
        bad = 1;
    }
    for (int64_t i = 0; !bad && i < n; i++) {
        const int64_t at[RANK] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
        bad = got[i] != (float)(place(form, shape, at) - i);
    }
    nd_release(r);
    nd_release(x);
    nd_release(a);
    return bad;
}

static int all_forms(void)
{
    static const int64_t extents[] = {1, 2, 3, 4};
    int bad = 0;
    for (int e = 0; e < 64; e++) {
        const int64_t shape[RANK] = {extents[e % 4], extents[e / 4 % 4], extents[e / 16]};
        for (int form = 0; form < FORMS; form++)
            bad += wrong(form, shape);
    }
    return bad;
}

/* In a child of its own: a found kernel serves as long as the process. */
static unsigned needs;
static int max_ndim;
static int look(void)
{
    const void *table = NULL;
    struct ndp_dev *dev;
    if (nd_device_get("needy", &needy) != ND_OK ||
        nd_device_group(needy, NEEDY_GROUP, &table, &dev) != ND_OK || !table)
        return 90;
    state = (needy_state *)(uintptr_t)table;
    atomic_store(&state->needs, needs);
    atomic_store(&state->max_ndim, max_ndim);
    if (all_forms() != 0)
        return 1;
    if (atomic_load(&state->broken))
        return 2;
    return atomic_load(&state->runs) >= 64 * FORMS ? 0 : 3;
}

static void combinations(void)
{
    static const int ranks[] = {1, 2, 64};
    setenv("NDOCK_FALLBACK", "error", 1); /* the mock's kernels, or none */
    fresh_folder();
    install("needy", "needy");
    for (needs = 0; needs < 8; needs++)
        for (int i = 0; i < 3; i++) {
            char what[128];
            max_ndim = ranks[i];
            snprintf(what, sizeof what, "X5: needs: %s, at most %d dimensions", needs_of[needs],
                     max_ndim);
            if (!is_int(in_child(look, folder), 0, what))
                diag("1: wrong values, 2: an operand against the kernel's needs, 3: other kernels");
        }
    remove_folder();
}

TAP_MAIN({"combinations", combinations})
