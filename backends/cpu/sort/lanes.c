/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sorting many short rows: SORT_LANES of them at once through a network, interleaved in a buffer on
 * the stack. */
#include <string.h>
#include "sort/sort.h"

int sort_lanes_fit(int32_t dtype, int64_t n, int positions)
{
    int64_t nbytes = ndp_dtype_size(dtype);
    int keyed = positions ? nbytes <= 4 : nbytes >= 2 && nbytes <= 8 && dtype != NDP_C64;
    return keyed && n > 1 && n <= SORT_LANES_MAX;
}

/* Elements of a row to their places among the lanes, and back. */
static void put_lane(void *lanes, const void *row, int64_t n, int64_t nbytes)
{
    uint16_t *l2 = lanes;
    uint32_t *l4 = lanes;
    uint64_t *l8 = lanes;
    for (int64_t i = 0; i < n && nbytes == 2; i++)
        l2[i * SORT_LANES] = ((const uint16_t *)row)[i];
    for (int64_t i = 0; i < n && nbytes == 4; i++)
        l4[i * SORT_LANES] = ((const uint32_t *)row)[i];
    for (int64_t i = 0; i < n && nbytes == 8; i++)
        l8[i * SORT_LANES] = ((const uint64_t *)row)[i];
}

static void get_lane(void *row, const void *lanes, int64_t n, int64_t nbytes)
{
    const uint16_t *l2 = lanes;
    const uint32_t *l4 = lanes;
    const uint64_t *l8 = lanes;
    for (int64_t i = 0; i < n && nbytes == 2; i++)
        ((uint16_t *)row)[i] = l2[i * SORT_LANES];
    for (int64_t i = 0; i < n && nbytes == 4; i++)
        ((uint32_t *)row)[i] = l4[i * SORT_LANES];
    for (int64_t i = 0; i < n && nbytes == 8; i++)
        ((uint64_t *)row)[i] = l8[i * SORT_LANES];
}

void sort_lanes_values(const sort_row *r, int rows)
{
    uint64_t lanes[SORT_LANES_MAX * SORT_LANES], row[SORT_LANES_MAX];
    const sort_keys *k = sort_keys_of(r->dtype);
    int64_t n = r->n, nbytes = ndp_dtype_size(r->dtype);
    uint64_t flip = k->bias ^ r->descending;
    int special[SORT_LANES] = {0};
    if (rows < SORT_LANES)
        memset(lanes, 0, (size_t)(n * nbytes) * SORT_LANES);
    for (int l = 0; l < rows; l++) {
        special[l] = k->load(r[l].a, r->stride, n, flip, 0, row);
        put_lane((char *)lanes + l * nbytes, row, n, nbytes);
    }
    CPU_ISA_PICK(sort_table_of)->network[nbytes](lanes, n);
    for (int l = 0; l < rows; l++) {
        get_lane(row, (char *)lanes + l * nbytes, n, nbytes);
        if (special[l])
            k->restore(r[l].a, r->stride, n, flip, 0, row);
        k->store((char *)row + r->first * nbytes, r->n_out, flip, 0, r[l].out, r->out_stride);
    }
}

/* A key and its position in one word are unique, so the network, which is not stable, gives the
 * stable answer. */
void sort_lanes_positions(const sort_row *r, int rows)
{
    uint64_t lanes[SORT_LANES_MAX * SORT_LANES], row[SORT_LANES_MAX];
    const sort_keys *k = sort_keys_of(r->dtype);
    int64_t n = r->n;
    if (rows < SORT_LANES)
        memset(lanes, 0, (size_t)n * SORT_LANES * 8);
    for (int l = 0; l < rows; l++) {
        k->keys(r[l].a, r->stride, n, k->bias ^ r->descending, row);
        for (int64_t i = 0; i < n; i++)
            lanes[i * SORT_LANES + l] = row[i] << 32 | (uint64_t)i;
    }
    CPU_ISA_PICK(sort_table_of)->network[8](lanes, n);
    for (int l = 0; l < rows; l++)
        for (int64_t i = 0; i < r->n_out; i++)
            ((int64_t *)r[l].out)[i * r->out_stride] =
                (int64_t)(lanes[i * SORT_LANES + l] & UINT32_MAX);
}
