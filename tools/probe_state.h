/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What belongs to a whole process and no plug-in may change: taken once, compared later. */
#ifndef NDOCK_TOOL_PROBE_STATE_H
#define NDOCK_TOOL_PROBE_STATE_H
#include <stdbool.h>
#include <stddef.h>

/* Standard output goes to a file in memory from here on, so that it can be looked at. */
void state_take(void);
/* False: everything is as it was; else text, of n bytes, says what is not, in one line. */
bool state_changed(char *text, size_t n);
#endif
