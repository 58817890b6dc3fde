/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What pools, resampling and unfold share on the host: whether a call's numbers suit kernels, and
 * walks over rows, a launch for as many images as 32 bits count rows of. */
#ifndef NDOCK_CUDA_FRAME_H
#define NDOCK_CUDA_FRAME_H
#include "host/backend.h"
#include "pool/pool.h"

/* NDP_OK, or what to say of n extents of which some reach beyond what kernels count. */
int32_t window_fits(int32_t op, const int64_t *extent, int n);
/* p*stride - before + t*dilation never leaves 32 bits for windows of this kind. */
int32_t window_reach_fits(int32_t op, const int64_t image[3], const int64_t grid[3],
                          const int64_t kernel[3], const int64_t stride[3],
                          const int64_t dilation[3], const int64_t before[3]);
/* A kernel of one of the files that are compiled per dtype. Inside cuda_enter(). */
int32_t window_function(const cuda_kernel *k, const char *file, int32_t dtype, const char *name,
                        CUfunction *out);
/* Whether axis `inner` of the view is dense, and its address and all other strides are multiples of
 * `count` elements. */
int window_is_whole(const ndp_view *v, int inner, int64_t count);
/* Whether 32 bits number the elements of a plane of whole rows, those of some rows more included. */
int window_is_counted(const ndp_view *v);
void window_take(int32_t out[3], const int64_t in[3]);

/* A launch's rows: those of so many images. extents are those of a row's coordinates but for the
 * first, which numbers images. */
typedef struct {
    CUfunction function;
    window_walk *walk;  /* in params */
    uint64_t *moved[3]; /* addresses in params that go on with the images, by so many bytes each */
    int64_t by[3];
    int64_t images, items;
    const int64_t *extent;
    int32_t n_extents, n_moved, warps; /* a row is a warp's */
    uint32_t most_lanes, bytes_a_lane; /* 0: a block's threads; of shared memory for each lane */
    int32_t waves; /* blocks of a processor at most, in a line of them; 0: many */
} window_launch;
int32_t window_run(const cuda_kernel *k, ndp_stream *s, const window_launch *l, void *params);

#endif
