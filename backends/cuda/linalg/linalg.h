/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the files of linalg share: one call, its scratch memory, and the steps that it is made of.
 *
 * A call of matrices of up to LIN_SMALL rows and columns is one kernel, a warp a matrix (small.cu).
 * Larger ones are copied to scratch memory in the libraries' order, column after column, where no
 * view serves as it is, and copied back; what becomes of each matrix is an int32_t in scratch
 * memory (info), of which the first failure goes to the status words. */
#ifndef NDOCK_CUDA_LINALG_H
#define NDOCK_CUDA_LINALG_H
#include "host/backend.h"
#include "linalg/large.h"
#include "linalg/solver.h"

/* Places of cuda_kernel.function. */
enum {
    LIN_F_SMALL,
    LIN_F_MOVE,
    LIN_F_REPORT,
    LIN_F_MOVE_REAL, /* of real parts: eigenvalues and singular values */
    LIN_F_EXAMINE,
    LIN_F_OTHER, /* a class's own */
    LIN_F_OTHER2,
    LIN_F_OTHER3,
    LIN_F_BLOCK,
    LIN_F_BLOCK_HALF, /* the same for up to half as many rows and columns, if there is one */
    LIN_F_CLUSTER,    /* of a cluster of blocks, where the device has such */
    LIN_F_LAST
};

typedef struct {
    const cuda_kernel *k;
    ndp_stream *stream;
    const ndp_call *call;
    int32_t type;       /* SOLVER_F32 ... */
    int64_t size, real; /* bytes of an element, and of its real part */
    int64_t count;
    uint64_t total; /* bytes of scratch memory so far */
    uint64_t info;  /* place of what became of each matrix */
} lin_job;

/* SOLVER_F32 ... of a dtype; below 0: there are no kernels. */
int32_t lin_type_of(int32_t dtype);
int32_t lin_dtype_of(int32_t type);
uint64_t lin_dtypes(void); /* mask of them */
/* stream NULL and no scratch while sizes are asked for. */
void lin_begin(lin_job *j, const ndp_kernel *base, ndp_stream *s, const ndp_call *call);
/* Room in scratch memory, its place; and the address of a place. */
uint64_t lin_take(lin_job *j, int64_t nbytes);
CUdeviceptr lin_at(const lin_job *j, uint64_t place);
/* NDP_ERR_INTERNAL where the call has less scratch memory than the job has taken. */
int32_t lin_has_room(const lin_job *j);

/* ---- what a class's find and make do ---- */
/* A kernel of small.cu, block.cu or large.cu; file without its ending. */
typedef struct {
    int place;
    const char *file, *name;
} lin_function;
int32_t lin_find(cuda_kernel *k, lin_function f, int32_t dtype);
/* The libraries' handles and n kernels for the dtype. */
int32_t lin_find_all(cuda_kernel *k, int32_t dtype, int n, const lin_function *list);
/* Answers find() where the class knows the call's dtypes and the libraries are there. */
int32_t lin_kernel(ndp_dev *dev, const ndp_call *like, int known,
                   int32_t (*make)(cuda_kernel *, const ndp_call *), const ndp_kernel **out,
                   char *why, size_t n);

/* ---- operands ---- */
lin_side lin_side_of(const ndp_view *v);
lin_side lin_turned(lin_side s);
/* Dense matrices (rows, columns), column by column. */
lin_side lin_columns(CUdeviceptr at, int64_t rows, int64_t columns);
/* The view's leading dimension where its elements lie as a library wants them, column by column (or
 * with turned row by row); 0: they do not. */
int64_t lin_leading(const ndp_view *v, int turned);
solver_operand lin_operand(const lin_job *j, CUdeviceptr at, int64_t rows, int64_t columns);

/* ---- steps ---- */
int32_t lin_clear(const lin_job *j, CUdeviceptr at, int64_t nbytes);
/* count is the job's. place: LIN_F_MOVE or another one of its kind. */
int32_t lin_move(const lin_job *j, int place, lin_moving m);
int32_t lin_look_at(const lin_job *j, int place, lin_looking l);
/* bad, an int32_t each, becomes LIN_HAS_NAN for matrices that are not finite, else 0. */
int32_t lin_examine(const lin_job *j, lin_side from, int64_t rows, int64_t columns,
                    CUdeviceptr bad);
/* Triangular factors of the matrices (m, n) at a place, in their stead, and 8 bytes a pivot. */
solver_job lin_getrf(const lin_job *j, uint64_t matrix, int64_t m, int64_t n, uint64_t pivots);
/* The work area of a function is what is left of the scratch memory. */
int32_t lin_solver_run(const lin_job *j, solver_job *s);
/* Bytes of the function's work area, or what was there before, if more; a failure is run's to
 * tell. */
void lin_solver_work(const lin_job *j, const solver_job *s, uint64_t *most);
/* Tells of failures, if they are to be told. n: of how many pivots. */
int32_t lin_report(const lin_job *j, int32_t check, int64_t n, int32_t iteration);

/* ---- matrices in shared memory ---- */
typedef enum { LIN_BY_WARP, LIN_BY_BLOCK, LIN_BY_CLUSTER, LIN_BY_LIBRARY } lin_way;
/* Of a matrix and what is beside it: elements of the dtype, and bytes. Of warps' kernels: the place
 * of another one than LIN_F_SMALL, and how many matrices a warp has, with this room together, where
 * these are more than one. Of blocks' kernels: how many threads, where not as many as most have; how many
 * blocks have a matrix, where more than one. */
typedef struct {
    int64_t elements, nbytes;
    int32_t place, together, threads, blocks;
} lin_room;
/* The least extent from which on q and r of a matrix alone are the library's; see factor.c. */
enum { LIN_QR_ALONE = 64 };
int lin_is_small(int64_t rows, int64_t columns);
lin_way lin_way_of(const lin_job *j, int64_t rows, int64_t columns, lin_room room);
int32_t lin_run_shared(const lin_job *j, lin_way way, lin_small *p, lin_room room);
/* By a block, as one step of several: what it says of each matrix goes to `info`. */
int32_t lin_run_block(const lin_job *j, lin_small *p, lin_room room, CUdeviceptr info);
/* The room that lin_block_qr takes for a matrix (m, n) and k columns of q; 0: r alone. */
lin_room lin_block_qr_room(int64_t m, int64_t n, int64_t k);

#endif
