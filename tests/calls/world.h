/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A valid value for every argument of every public function, found by the argument's type and name,
 * and where these say too little by the function's name. */
#ifndef NDOCK_TESTS_WORLD_H
#define NDOCK_TESTS_WORLD_H
#include <stdbool.h>
#include "tests/calls/calls.h"

/* Makes what the values point to; false: something of it failed. */
bool world_make(void);
void world_end(void);
void world_remove_files(void); /* part of world_end, for who cannot end the rest */
/* A valid value of the i-th argument of call. */
nd_value world_value(const nd_call *call, int i);
/* After the call with these values: its results are released, and what it took over is forgotten.
 */
void world_clear(const nd_call *call, const nd_value *v, bool succeeded);

#endif
