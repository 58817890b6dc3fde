/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Names of temporary files, in the folder of the file that they are to replace. */
#ifndef NDOCK_CORE_BASE_TEMPORARY_H
#define NDOCK_CORE_BASE_TEMPORARY_H
#include <stdbool.h>
#include <sys/types.h>

/* Length of the folder's part of path, with the slash; 0: the current folder. */
size_t nd__folder_length(const char *path);

/* A new file under a temporary name beside the target, which the caller frees; -1: errno says why. */
int nd__temporary_create(const char *target, mode_t mode, char **name);

/* Gives a file without a name a temporary one, which the caller frees. Writers that were killed
 * before they could rename their file leave one name a target at most: the next writer removes it.
 * The descriptor is locked, by which others see that this one lives: it is to be closed after the
 * name is gone. False: errno says why. */
bool nd__temporary_link(int fd, const char *target, char **name);

#endif
