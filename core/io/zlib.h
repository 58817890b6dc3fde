/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inflating gzip data in memory with zlib, which is opened at run time. */
#ifndef NDOCK_CORE_IO_ZLIB_H
#define NDOCK_CORE_IO_ZLIB_H
#include <stddef.h>
#include <ndock/base.h>

typedef struct nd__inflate nd__inflate;

/* path is for messages; op, path and data outlive the stream. ND_ERR_UNSUPPORTED without zlib. */
nd_status nd__inflate_open(const char *op, const char *path, const unsigned char *data, size_t size,
                           nd__inflate **out);
/* Up to want bytes; fewer only at the end of the data. */
nd_status nd__inflate_read(nd__inflate *z, void *dst, size_t want, size_t *got);
void nd__inflate_close(nd__inflate *z);
#endif
