/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whole files: one mapped for reading, one replaced as a whole. Texts op and path are borrowed. */
#ifndef NDOCK_CORE_IO_FILE_H
#define NDOCK_CORE_IO_FILE_H
#include <stdbool.h>
#include <sys/types.h>
#include <ndock/io.h>

/* A regular file mapped for reading. Another process that cuts it shorter while it is read raises
 * SIGBUS here as with every mapped file; nd__map_check narrows that down to the copy itself. */
typedef struct {
    const char *op, *path;
    const unsigned char *data; /* never NULL, also when size is 0 */
    size_t size;
    int fd;
} nd__map;

nd_status nd__map_open(const char *op, const char *path, nd__map *out);
/* The same with memory that may be written: ND_MAP_WRITE into the file, ND_MAP_PRIVATE not. */
nd_status nd__map_open_as(const char *op, const char *path, int32_t mode, nd__map *out);
/* ND_ERR_IO if the file has become shorter since it was opened. */
nd_status nd__map_check(const nd__map *map);
void nd__map_close(nd__map *map);

/* The new content of a file: a temporary file beside it until commit renames it. A target that is
 * no regular file (a pipe, /dev/stdout) is written directly. After a successful open exactly one
 * nd__writer_close follows, whatever happened between. */
typedef struct {
    const char *op, *path;
    char *target, *temporary; /* temporary NULL: written directly, or in place already */
    int fd;
    bool unnamed; /* fd is a file without a name until it is whole: a kill leaves nothing of it */
} nd__writer;

nd_status nd__writer_open(const char *op, const char *path, nd__writer *out);
nd_status nd__writer_put(nd__writer *w, const void *data, size_t nbytes);
nd_status nd__writer_commit(nd__writer *w, const nd_save_opts *opts);
/* Without a commit before it: the temporary file goes and the target is as it was. */
void nd__writer_close(nd__writer *w);

/* ND_ERR_ARGUMENT for options whose size no version of this library ever had. */
nd_status nd__save_opts_check(const char *op, int32_t argument, const nd_save_opts *opts);
#endif
