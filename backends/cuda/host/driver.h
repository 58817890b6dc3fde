/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA driver, opened at run time: a table of its functions, and its errors as ours. */
#ifndef NDOCK_CUDA_DRIVER_H
#define NDOCK_CUDA_DRIVER_H
#include <cuda.h>
#include <stddef.h>
#include <stdint.h>

/* <cuda.h> of CUDA 13 declares only the third version of the first, and that of CUDA 12.0 not the
 * second at all. */
typedef CUresult(CUDAAPI *cuda_capture_info_fn)(CUstream, CUstreamCaptureStatus *, cuuint64_t *id,
                                                CUgraph *, const CUgraphNode **, size_t *);
/* The first version, which all drivers have; <cuda.h> of CUDA 13 declares only the second. */
#undef cuGraphNodeGetDependencies
typedef CUresult(CUDAAPI *cuda_dependencies_fn)(CUgraphNode, CUgraphNode *, size_t *);
/* Those that tell what orders a node behind another, from CUDA 12.3 on: of that 8 bytes each. */
typedef CUresult(CUDAAPI *cuda_edges_fn)(CUgraphNode, CUgraphNode *, uint64_t *, size_t *);
typedef CUresult(CUDAAPI *cuda_capture_edges_fn)(CUstream, CUstreamCaptureStatus *, cuuint64_t *id,
                                                 CUgraph *, const CUgraphNode **, const uint64_t **,
                                                 size_t *);
typedef CUresult(CUDAAPI *cuda_launch_ex_fn)(const CUlaunchConfig *, CUfunction, void **params,
                                             void **extra);
typedef CUresult(CUDAAPI *cuda_clusters_fn)(int *, CUfunction, const CUlaunchConfig *);
typedef CUresult(CUDAAPI *cuda_node_params_fn)(CUgraphExec, CUgraphNode,
                                               const CUDA_KERNEL_NODE_PARAMS *);
typedef CUresult(CUDAAPI *cuda_param_info_fn)(CUfunction, size_t index, size_t *offset,
                                              size_t *nbytes); /* from CUDA 12.4 on */
/* CUgraphNodeParams as far as it is used; <cuda.h> has it from CUDA 12.3 on, with conditions from
 * CUDA 12.4 on. */
enum { CUDA_NODE_CONDITIONAL = 13 };
typedef struct {
    int32_t type, reserved[3];
    union {
        int64_t room[29];
        struct {
            CUfunction function;
            unsigned grid[3], block[3], shared_bytes;
            void **params, **extra, *kernel;
            CUcontext context;
        } kernel;
        struct {
            CUgraph graph;
            int32_t ownership;
        } child;
        struct {
            uint64_t handle;
            int32_t type;
            uint32_t size;
            CUgraph *body; /* that the driver has made */
            CUcontext context;
        } conditional;
    };
    int64_t reserved_behind;
} cuda_node;
typedef CUresult(CUDAAPI *cuda_add_node_fn)(CUgraphNode *, CUgraph, const CUgraphNode *,
                                            const void *edges, size_t, cuda_node *);
typedef CUresult(CUDAAPI *cuda_handle_fn)(uint64_t *, CUgraph, CUcontext, unsigned value,
                                          unsigned flags);
typedef void(CUDA_CB *cuda_logs_fn)(void *data, int level, char *message, size_t length);
typedef CUresult(CUDAAPI *cuda_logs_register_fn)(cuda_logs_fn, void *data, void **handle);

/* cu.cuMemAlloc(...): the macros of <cuda.h> choose the version of a function here as well. An
 * optional one may be NULL. */
typedef struct {
#define CU_FN(name) __typeof__(name) *name;
#define CU_OPTIONAL(name, type) type name;
#include "host/driver.def"
} cuda_driver;
extern cuda_driver cu;

/* Opens the driver's library once. NDP_ERR_UNSUPPORTED: there is none; NDP_ERR_PLUGIN: it is too
 * old. The reason is in why. Initialises nothing, so that a fork is harmless afterwards. */
int32_t cuda_driver_open(char *why, size_t n);
/* The result of cuInit, asked for once it may be needed. */
CUresult cuda_driver_init(void);
int cuda_driver_initialised(void);
int cuda_driver_version(void); /* 13000: CUDA 13.0; 0 before it was opened */

/* The status for a driver's result, with what was tried in the thread's error detail: 0 is 0. */
int32_t cuda_fail(CUresult r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Forgets what the driver has told this thread, so that a later failure is not blamed on it. */
void cuda_log_forget(void);
int cuda_sticky(CUresult r); /* the context is lost with everything in it */
const char *cuda_error_name(CUresult r);

#endif
