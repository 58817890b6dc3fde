/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NDOCK_DEBUG=handles: every array's header is known, by who made it and who released it. When it
 * is off, nothing here is reached: a released header points to a storage that looks as if a device
 * still wrote to it, which sends every operation to nd__settle_slow. */
#ifndef NDOCK_CORE_HANDLES_H
#define NDOCK_CORE_HANDLES_H
#include "core/array/array.h"
#include "core/base/source_line.h"

/* Whether the mode is on; the environment is read once. */
bool nd__handles_on(void);
/* A header with room for `room` extents and strides; NULL: no memory. */
nd_array *nd__handle_alloc(int room);
/* Keeps it, as a released one, instead of freeing it. Of a released one: nothing. */
void nd__handle_free(nd_array *a);
void nd__fork_handles(nd_fork now);

#endif
