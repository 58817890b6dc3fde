/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Compressed data in memory by zlib, which is opened at run time; ND_ERR_UNSUPPORTED without it.
 * Texts op and path, which are for messages, and the data outlive the stream. */
#ifndef NDOCK_CORE_IO_ZLIB_H
#define NDOCK_CORE_IO_ZLIB_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ndock/base.h>

/* What is around deflate's bits: gzip's header and checksum (RFC 1952), or nothing (RFC 1951). */
typedef enum { ND__GZIP, ND__RAW_DEFLATE } nd__compression;

/* Whether size compressed bytes can hold nbytes at all: what promises more is refused before memory
 * is taken. Deflate spends at least one bit on 129 bytes of output (RFC 1951: a match of 258 bytes
 * takes two codes); the slack is for what the format adds. */
static inline bool nd__inflate_holds(uint64_t size, uint64_t nbytes)
{
    enum { MOST_INFLATION = 1032, INFLATION_SLACK = 64 };
    return nbytes / MOST_INFLATION <= size + INFLATION_SLACK;
}

typedef struct nd__inflate nd__inflate;
nd_status nd__inflate_open(const char *op, const char *path, nd__compression kind,
                           const unsigned char *data, size_t size, nd__inflate **out);
/* Up to want bytes; fewer only at the end of the data. */
nd_status nd__inflate_read(nd__inflate *z, void *dst, size_t want, size_t *got);
void nd__inflate_close(nd__inflate *z);

/* Bare deflate of level 1 (fast) to 9 (small). */
typedef struct nd__deflate nd__deflate;
nd_status nd__deflate_open(const char *op, const char *path, int level, nd__deflate **out);
/* Compresses n bytes more, with last the end of the stream; what comes out goes to put. */
nd_status nd__deflate_write(nd__deflate *z, const void *data, size_t n, bool last,
                            nd_status (*put)(void *ctx, const void *data, size_t n), void *ctx);
void nd__deflate_close(nd__deflate *z);
#endif
