/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of the kernels of sort, argsort and topk. */
#ifndef NDOCK_CUDA_SORT_H
#define NDOCK_CUDA_SORT_H
#include "walk/walk.h"

enum {
    SORT_SMALL = 2048,      /* rows up to so long are sorted by one block, in shared memory */
    SORT_SMALL_LEAST = 512, /* shorter ones several at once, so many elements */
    SORT_PARTS = 1024,      /* zeros and NaNs are put back in so many parts */
    SORT_THREADS = 256,
    SORT_ROWS_THREADS = 128, /* four rows of up to SORT_ROWS_MOST elements of 4 bytes */
    SORT_ROWS_MOST = 1024,
    SORT_TOPK_MOST = 256,   /* topk of up to so many selects, */
    SORT_TOPK_LEAST = 512,  /* from rows of so many on, */
    SORT_TOPK_CHUNK = 2048, /* which are looked at in chunks */
    /* rows of so many elements on, where all have AT_ALL, by a bound that a sample of each gives:
     * one of SPARSE, or of more so that MOST_SAMPLES are enough */
    SORT_TOPK_LONG = 1 << 17,
    SORT_TOPK_AT_ALL = 1 << 22,
    SORT_TOPK_SPARSE = 64,
    SORT_TOPK_MOST_SAMPLES = 1 << 16,
    SORT_TOPK_EACH = 16, /* elements of a thread that are on their way at once */
    /* topk of up to FEW from rows of WARP to SHORT elements: a warp from each */
    SORT_TOPK_FEW = 32,
    SORT_TOPK_WARP = 128,
    SORT_TOPK_SHORT = 1024,
    SORT_TOPK_ROWS_THREADS = 128
};

/* Which key a pass sorts by. */
typedef enum {
    SORT_BY_ELEMENT, /* all dtypes but c128; with the row's number above it if there are several */
    SORT_BY_SECOND,  /* c128: what decides where the first is equal */
    SORT_BY_FIRST,
    SORT_BY_ROW
} sort_by;

/* Of which rows a stage of topk finds the first. */
typedef enum { SORT_TOPK_ALL, SORT_TOPK_NEAR, SORT_TOPK_REST } sort_topk_only;

/* Rows of one length, anywhere; results of zero where there are none. */
typedef struct {
    cuda_walk rows;
    uint64_t a, values, positions;
    uint64_t n, k, first; /* of a row: elements, and how many are wanted, from which on */
    uint64_t flip;        /* all ones for descending order */
    int64_t stride, values_stride, positions_stride;
    int32_t dtype, nbytes;
    int64_t row_stride[CUDA_WALK_NDIM], row_values_stride[CUDA_WALK_NDIM],
        row_positions_stride[CUDA_WALK_NDIM];
    /* of rows up to SORT_SMALL: n as a power of two, and how many are sorted together */
    uint32_t padded, together;
    /* of longer ones: rows first_row to first_row + n_rows - 1 as one, in scratch memory */
    uint64_t first_row, n_rows, keys, order;
    int32_t by, first_pass; /* sort_by; order is not yet set */
    int32_t wide_keys, wide_order, key_bits;
    /* of values sorted without positions: one row, its zeros and NaNs */
    uint64_t flag, counts, per_part; /* flag: i32, set if there are any */
    uint64_t moves, moved; /* not zero: sorted keys are at `moved` where *moves, an i32, is odd */
    /* topk by selection: rows of n words (0: of the elements); the first k of each chunk (0: the
     * results) */
    uint64_t words, found;
    uint64_t blocks; /* chunks of all rows: the blocks of the grid share them out */
    uint32_t chunks; /* of a row */
    /* topk of long rows: of each the bound (every bound_step-th word), how many words come up to it
     * (u32, bounded) and room for so many of them. Rows that had room for all, k at least, are near; zero:
     * the counts, before there are any */
    uint32_t sample, bound_step, room;
    uint64_t bound, bounded, near, zero;
    int32_t only, counted; /* sort_topk_only; words are as many as the counts say */
    int32_t as_f32;        /* keys are floats, which keep their zeros */
} sort_params;

#ifndef __cplusplus
#include "host/backend.h"
/* ---- topk.c: topk by selection; the parameters are those of the whole call ---- */
enum { TOPK_ROWS, TOPK_CHUNKS, TOPK_BOUNDED, TOPK_FUNCTIONS };
/* Its kernels for elements of the dtype. */
int32_t cuda_topk_find(const cuda_kernel *k, int32_t dtype, CUfunction f[TOPK_FUNCTIONS]);
int cuda_topk_fits(const ndp_call *call);
uint64_t cuda_topk_scratch(const ndp_call *call);
int32_t cuda_topk_run(const cuda_kernel *k, const CUfunction f[TOPK_FUNCTIONS], ndp_stream *s,
                      const ndp_call *call, sort_params *p);
#endif

#endif
