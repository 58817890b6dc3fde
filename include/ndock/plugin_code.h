/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A part of plugin.h, which includes it: the optional groups that make kernels at run
 * time, of a program's own code or of an expression. */
#ifndef NDOCK_PLUGIN_H
#include <ndock/plugin.h>
#elif !defined NDOCK_PLUGIN_CODE_H
#define NDOCK_PLUGIN_CODE_H
/* Group "ndp.code/1": code that programs bring along. */
enum {
    NDP_CODE_SOURCE = 1, /* text, which the plug-in compiles (CUDA C++, OpenCL C, C) */
    NDP_CODE_PTX = 2,    /* text, which the driver compiles */
    NDP_CODE_BINARY = 3, /* for the exact device (a cubin or fat binary) */
    NDP_CODE_HOST = 4    /* an array of ndp_host_function: functions of this process */
};
typedef struct ndp_module ndp_module;     /* loaded code; the plug-in's own */
typedef struct ndp_function ndp_function; /* of a module; goes with it */
typedef struct {
    uint32_t size;
    int32_t kind;     /* NDP_CODE_* */
    const void *code; /* the program's; a text has a 0 after its nbytes */
    uint64_t nbytes;
    const char *name;    /* for people and in messages; never NULL */
    const char *options; /* for the compiler, separated by blanks; never NULL */
} ndp_module_source;
/* What kind HOST consists of. argument[i] points to a value, or is the address of an operand's
 * element zero. Called once a launch, in stream order; it may use no device. */
typedef struct {
    const char *name;
    void (*run)(const uint32_t grid[3], const uint32_t block[3], void *const *argument);
} ndp_host_function;
typedef struct {
    uint32_t size;
    uint32_t grid[3], block[3]; /* the most in each direction */
    uint32_t block_threads;     /* the most threads in a block; of a function: its own limit */
    uint32_t n_arguments;       /* of a function: how many it takes; UINT32_MAX: unknown */
    uint32_t zero;              /* reserved */
    uint64_t shared_bytes;      /* the most that a launch may ask for */
} ndp_code_limits;
typedef struct {           /* frozen: passed in arrays */
    ndp_mem *mem;          /* an operand: its address plus offset_bytes is the argument. NULL: */
    uint64_t offset_bytes; /* of the operand's element zero */
    const void *value;     /* bytes by value, read before launch() returns */
    uint64_t nbytes;
} ndp_launch_argument;
typedef struct {
    uint32_t size, n_arguments;
    uint32_t grid[3], block[3];
    uint64_t shared_bytes;
    const ndp_launch_argument *argument;
} ndp_launch;
typedef struct {
    uint32_t size;
    uint32_t kinds; /* bit NDP_CODE_* set: load() takes it */
    int32_t (*limits)(ndp_dev *dev, ndp_code_limits *out);
    /* A failed compile is NDP_ERR_ARGUMENT with the compiler's log in the error detail. */
    int32_t (*load)(ndp_dev *dev, const ndp_module_source *source, ndp_module **out);
    /* Nothing that is queued uses it any more. */
    void (*unload)(ndp_dev *dev, ndp_module *module);
    /* NDP_ERR_ARGUMENT: there is none of that name. limits: as far as this function goes. */
    int32_t (*function)(ndp_dev *dev, ndp_module *module, const char *name, ndp_function **out,
                        ndp_code_limits *limits);
    /* Queued. The limits hold, and every number is at least 1. */
    int32_t (*launch)(ndp_dev *dev, ndp_stream *stream, ndp_function *function,
                      const ndp_launch *launch);
} ndp_code_1;

/* Group "ndp.fused/1": several elementwise operations in one pass. A group and no op class, since a
 * kernel of "ndp.op/1" may depend on dtypes and layouts alone, and a program is a value that code is
 * made of, which has an end. */
#define NDP_PROGRAM_MAX_IN 16
#define NDP_PROGRAM_MAX_OUT 8
#define NDP_PROGRAM_MAX_SCALARS 64
typedef struct {     /* frozen: passed in arrays */
    int32_t op;      /* of class UNARY, BINARY or TERNARY; NDP_OP_copy converts arg[0] to dtype */
    int32_t dtype;   /* of the result */
    int32_t compute; /* dtype of the operands (where: of the last two; copy: of its operand) */
    int32_t arg[3];  /* values; -1: none. Value v is input v of the call, then scalar v - n_in, then
                        the result of instruction v - n_in - n_scalar, an earlier one */
} ndp_instruction;
/* Results have the bits that the kernels of "ndp.op/1" give one after the other: each value is
 * rounded to its dtype, nothing is contracted. Inputs and results of a call have one shape; an input
 * may be broadcast by strides of zero. Two results may be the same value, a result may be an input. */
typedef struct {
    uint32_t size, flags; /* NDP_PROGRAM_* */
    uint32_t n_in, n_scalar, n_instruction, n_out;
    const int32_t *dtype; /* of the inputs, then of the scalars */
    const ndp_instruction *instruction;
    const int32_t *out; /* the values that are results, in the order of the call's */
    uint64_t row_in;    /* with NDP_PROGRAM_ROWS: bit i: input i has one value for each row */
} ndp_program;
#define NDP_PROGRAM_FLAT 1u /* every operand of every call is dense, and of rank 1 */
/* The last dimension of every call, whose rank is 2 or more, is a row. Instructions of class REDUCE
 * (sum, mean, prod, min, max, var, std of a floating dtype) make one value of a row; of var and std,
 * arg[1] is an f64 scalar, the correction. A value that is computed of such values, of inputs in
 * row_in and of scalars alone is one of the row, too. Operands that have one value for each row have
 * extent 1 in the last dimension. What is reduced and is an input of the call is dense. */
#define NDP_PROGRAM_ROWS 2u
/* The rank of every call, from 1 on; 0: any. */
#define NDP_PROGRAM_RANK(flags) ((flags) >> 8 & 255u)
typedef struct {
    uint32_t size, zero;
    /* The kernel of a program, whose calls have op NDP_OP_NONE and no params. All that it needs of
     * the program is copied. needs 0, max_ndim NDP_MAX_NDIM. NDP_ERR_UNSUPPORTED with the reason in
     * why: the core runs the operations one by one. May take long, and is called by one thread at a
     * time for one program. */
    int32_t (*compile)(ndp_dev *dev, const ndp_program *program, const ndp_kernel **out, char *why,
                       size_t n);
    /* Nothing that is queued uses the kernel any more. */
    void (*discard)(ndp_dev *dev, const ndp_kernel *kernel);
    /* Whether the kernel of a program of rows serves a call of these shapes with the bits that
     * reductions have by themselves: NDP_OK, or NDP_ERR_UNSUPPORTED, and the core cuts the expression
     * at its reductions. Touches no memory. NULL: compile() is given no programs of rows. */
    int32_t (*takes)(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call);
} ndp_fused_1;
#endif
