/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the mock plug-in needy.c counts and can be told; group NEEDY_GROUP gives it. */
#ifndef NDOCK_TESTS_LOADER_NEEDY_H
#define NDOCK_TESTS_LOADER_NEEDY_H
#include <stdatomic.h>

#define NEEDY_GROUP "org.ndock.tests.needy/1"
typedef struct {
    atomic_uint needs;    /* NDP_NEEDS_* of kernels found from now on */
    atomic_int max_ndim;  /* the same */
    atomic_int finds;     /* kernels looked up */
    atomic_int runs;      /* kernels run */
    atomic_int broken;    /* operands that a kernel got in spite of its needs */
    atomic_int slow_find; /* a look-up ends when all other threads wait */
} needy_state;

/* Environment: opening the device fails while NEEDY_BUSY is set; each try adds a line to the file
 * NEEDY_TRACE, as does loading the plug-in. */
#endif
