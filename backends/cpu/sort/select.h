/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Selecting elements of a row's sorted order. */
#ifndef NDOCK_CPU_SELECT_H
#define NDOCK_CPU_SELECT_H
#include <stdatomic.h>
#include "sort/sort.h"

#define SELECT_BLOCK 512 /* keys are looked at together */

/* A row, and what was found out about it. */
typedef struct {
    const sort_row *r;
    const sort_keys *k;
    uint64_t flip, low, high;
    int64_t nbytes, grain;
    sort_between *chunk; /* of each chunk of grain elements */
    atomic_int full;     /* a chunk has more in between than there is room for */
    sort_between sum;
    uint64_t *sorted; /* what is in between */
    int keeps;        /* the first bounds and what was in between them, by chunk, are wanted */
    uint64_t first_low, first_high, *kept; /* NULL where there was no room */
    int64_t n_kept;
} selection;

/* r has buffers of select_nbytes and counts; chunk has room for sort_chunks of them. */
void select_begin(selection *s, const sort_row *r, sort_between *chunk);
/* Whether elements first to last of the sorted row are known now. For rows of more than SORT_SMALL.
 */
int select_enclose(selection *s, int64_t first, int64_t last);
/* The key of one of these, and how many keys are below it. */
uint64_t select_key_at(const selection *s, int64_t rank, int64_t *below);
/* How many elements of chunk c, whose kept keys start at `kept`, have keys below and equal to one
 * that is enclosed by the first bounds. */
void select_count_kept(const selection *s, int64_t c, const uint64_t *kept, uint64_t key,
                       int64_t *below, int64_t *equal);
/* Bytes of each of a row's two buffers. */
int64_t select_nbytes(int32_t dtype, int64_t n);

#endif
