/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The operations of class FACTOR: the room that a matrix needs in shared memory, what the library's
 * way takes of scratch memory (its work area too), and running. */
#ifndef NDOCK_CUDA_LINALG_FACTOR_H
#define NDOCK_CUDA_LINALG_FACTOR_H
#include "linalg/linalg.h"

lin_room lin_cholesky_room(const lin_job *j);
void lin_cholesky_work(lin_job *j, uint64_t *work);
int32_t lin_cholesky_run(lin_job *j, lin_way way);

lin_room lin_lu_room(const lin_job *j);
void lin_lu_work(lin_job *j, uint64_t *work);
int32_t lin_lu_run(lin_job *j, lin_way way);

lin_room lin_qr_room(const lin_job *j);
void lin_qr_work(lin_job *j, uint64_t *work);
int32_t lin_qr_run(lin_job *j, lin_way way);

#endif
