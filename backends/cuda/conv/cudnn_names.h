/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Numbers of cuDNN 9's backend API, as NVIDIA's cudnn_graph.h has them, and where its functions are. */
#ifndef NDOCK_CUDA_CUDNN_NAMES_H
#define NDOCK_CUDA_CUDNN_NAMES_H
#include "conv/cudnn.h"

/* Kinds of descriptors. */
enum {
    CUDNN_CONVOLUTION = 1,
    CUDNN_ENGINE = 2,
    CUDNN_CONFIG = 3,
    CUDNN_HEURISTICS = 4,
    CUDNN_PLAN = 5,
    CUDNN_FORWARD = 10,
    CUDNN_BACKWARD_FILTER = 11,
    CUDNN_BACKWARD_DATA = 12,
    CUDNN_GRAPH = 15,
    CUDNN_PACK = 16,
    CUDNN_TENSOR = 17
};
/* Types of attributes. */
enum {
    CUDNN_IS_HANDLE = 0,
    CUDNN_IS_DATA_TYPE = 1,
    CUDNN_IS_INT64 = 3,
    CUDNN_IS_FLOAT = 4,
    CUDNN_IS_DOUBLE = 5,
    CUDNN_IS_POINTER = 6,
    CUDNN_IS_CONVOLUTION_MODE = 7,
    CUDNN_IS_HEURISTICS_MODE = 8,
    CUDNN_IS_NOTE = 11,
    CUDNN_IS_DESCRIPTOR = 15
};
/* Attributes. */
enum {
    CUDNN_CONV_COMPUTE = 100,
    CUDNN_CONV_MODE = 101,
    CUDNN_CONV_DILATION = 102,
    CUDNN_CONV_STRIDE = 103,
    CUDNN_CONV_AFTER = 104,
    CUDNN_CONV_BEFORE = 105,
    CUDNN_CONV_AXES = 106,
    CUDNN_HEURISTICS_MODE = 200,
    CUDNN_HEURISTICS_GRAPH = 201,
    CUDNN_HEURISTICS_RESULTS = 202,
    CUDNN_CONFIG_ENGINE = 300,
    CUDNN_PLAN_HANDLE = 400,
    CUDNN_PLAN_CONFIG = 401,
    CUDNN_PLAN_WORK = 402,
    CUDNN_GRAPH_HANDLE = 800,
    CUDNN_GRAPH_OPERATIONS = 801,
    CUDNN_TENSOR_ALIGNMENT = 900,
    CUDNN_TENSOR_TYPE = 901,
    CUDNN_TENSOR_EXTENT = 902,
    CUDNN_TENSOR_STRIDE = 903,
    CUDNN_TENSOR_ID = 906,
    CUDNN_PACK_IDS = 1000,
    CUDNN_PACK_POINTERS = 1001,
    CUDNN_PACK_WORK = 1003,
    CUDNN_ENGINE_NUMBER = 1301,
    CUDNN_ENGINE_NOTES = 1303
};
/* Notes about what an engine computes. */
enum {
    CUDNN_NOTE_TENSOR_CORE = 0,
    CUDNN_NOTE_NARROWED_OPERANDS = 1,
    CUDNN_NOTE_NARROWED_SUMS = 2,
    CUDNN_NOTE_FOURIER = 3,
    CUDNN_NOTE_NONDETERMINISTIC = 4,
    CUDNN_NOTE_WINOGRAD = 5,
    CUDNN_NOTE_WINOGRAD_LAST = 8,
    CUDNN_MOST_NOTES = 16
};
enum { CUDNN_BY_MODEL = 3, CUDNN_BY_FALLBACK = 2 }; /* modes of heuristics */
enum { CUDNN_F32 = 0, CUDNN_F64 = 1, CUDNN_F16 = 2, CUDNN_BF16 = 9 };
enum { CUDNN_CROSS_CORRELATION = 1 };

typedef struct {
#define CUDNN_FN(type, name, parameters) type(*name) parameters;
#include "conv/cudnn.def"
} cudnn_functions;

extern cudnn_functions cuda_cudnn;

/* A convolution that cuDNN has planned, and the descriptors that it is made of, which live as long. */
enum { CUDNN_MOST_PARTS = 12 };
typedef struct cudnn_plan cudnn_plan;
struct cudnn_plan {
    cudnn_plan *next;
    cudnn_key key;
    void *part[CUDNN_MOST_PARTS], *plan; /* plan: one of the parts */
    int n_parts, usable;
    uint64_t nbytes; /* of work area */
};

/* Looks for an engine and plans. Afterwards usable says whether there was one. */
void cuda_cudnn_plan(cudnn_plan *, void *handle);
/* Destroys what is in the plan, not the plan's own memory. */
void cuda_cudnn_drop(cudnn_plan *);

#endif
