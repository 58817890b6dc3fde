#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Two and four ranks under MPI's launcher exchange and compare; one that stays away is told of in time.
[ -n "$MPIRUN" ] || { echo 'no mpirun'; exit 77; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 NDOCK_COMM_TIMEOUT=20000
for n in 2 4; do
    timeout 100 "$MPIRUN" -n $n "${RANK_PROGRAM:-tests/rank}" || exit 1
done
# The launcher's own status says that nobody called MPI_Finalize.
NDOCK_COMM_TIMEOUT=500 timeout 100 "$MPIRUN" -n 2 "${RANK_PROGRAM:-tests/rank}" late 2>&1 | grep -q 'rank 0 was told'
