/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * gzip members (RFC 1952) and bare deflate (RFC 1951) through zlib, opened with dlopen so that
 * nothing else depends on it. The declarations are those of zlib's stable ABI (libz.so.1). */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "core/plugin/service/service.h"
#include "core/io/zlib.h"

typedef struct {
    const unsigned char *next_in;
    unsigned avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *msg;
    void *state;
    void *(*zalloc)(void *opaque, unsigned items, unsigned size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    unsigned long adler, reserved;
} z_stream;

enum {
    Z_NO_FLUSH = 0,
    Z_FINISH = 4,
    Z_OK = 0,
    Z_STREAM_END = 1,
    Z_MEM_ERROR = -4,
    Z_BUF_ERROR = -5
};
enum { GZIP_WINDOW = 15 + 16 }; /* 32 KiB of history; 16: gzip's header and checksum */
enum { RAW_WINDOW = -15 };      /* the same history; negative: neither header nor checksum */
enum { METHOD_DEFLATED = 8, MEMORY_LEVEL = 8, STRATEGY = 0 }; /* zlib's own defaults */
enum { OUTPUT = 1 << 16 };                                    /* bytes compressed at a time */

typedef struct {
    const char *(*version)(void);
    int (*init)(z_stream *stream, int window_bits, const char *version, int stream_nbytes);
    int (*inflate)(z_stream *stream, int flush);
    int (*reset)(z_stream *stream);
    int (*finish)(z_stream *stream);
    int (*deflate_init)(z_stream *stream, int level, int method, int window_bits, int memory,
                        int strategy, const char *version, int stream_nbytes);
    int (*deflate)(z_stream *stream, int flush);
    int (*deflate_finish)(z_stream *stream);
} functions;
struct nd__inflate {
    const char *op, *path;
    z_stream s;
    const unsigned char *begin, *end;
    int started, between; /* between: a member has ended */
    nd__compression kind;
    functions zlib;
};
struct nd__deflate {
    const char *op, *path;
    z_stream s;
    int started;
    functions zlib;
    unsigned char out[OUTPUT];
};

static int32_t version_of(const void *table, char *text, size_t n)
{
    const char *version = ((const functions *)table)->version();
    size_t length = strnlen(version, n - 1);
    memcpy(text, version, length);
    text[length] = 0;
    return ND_OK;
}

static const char *const sonames[] = {"libz.so.1"};
static const ndh_symbol symbols[] = {{"zlibVersion", offsetof(functions, version), 1},
                                     {"inflateInit2_", offsetof(functions, init), 1},
                                     {"inflate", offsetof(functions, inflate), 1},
                                     {"inflateReset", offsetof(functions, reset), 1},
                                     {"inflateEnd", offsetof(functions, finish), 1},
                                     {"deflateInit2_", offsetof(functions, deflate_init), 1},
                                     {"deflate", offsetof(functions, deflate), 1},
                                     {"deflateEnd", offsetof(functions, deflate_finish), 1}};
static const ndh_library library = {
    .size = sizeof library,
    .n_sonames = 1,
    .n_symbols = sizeof symbols / sizeof *symbols,
    .name = "zlib",
    .install = "install the package zlib1g (Debian, Ubuntu) or zlib (Fedora, Arch)",
    .sonames = sonames,
    .symbols = symbols,
    .version = version_of,
};

static nd_status start_failed(const char *op, const char *path, int rc)
{
    return nd__fail(rc == Z_MEM_ERROR ? ND_ERR_MEMORY : ND_ERR_UNSUPPORTED, op, 0,
                    "%s: zlib cannot start (%d)", path, rc);
}

static nd_status open_zlib(nd__inflate *z)
{
    const bool gzip = z->kind == ND__GZIP;
    if (nd__library_open(&library, &z->zlib) != ND_OK)
        return nd__fail(ND_ERR_UNSUPPORTED, z->op, 0, "%s is %s: %s, or %s", z->path,
                        gzip ? "gzip-compressed" : "deflated", nd_last_error()->message,
                        gzip ? "gunzip the file" : "unpack the archive with unzip");
    int rc = z->zlib.init(&z->s, gzip ? GZIP_WINDOW : RAW_WINDOW, "1", (int)sizeof z->s);
    if (rc != Z_OK)
        return start_failed(z->op, z->path, rc);
    z->started = 1;
    return ND_OK;
}

nd_status nd__inflate_open(const char *op, const char *path, nd__compression kind,
                           const unsigned char *data, size_t size, nd__inflate **out)
{
    nd__inflate *z = calloc(1, sizeof *z);
    *out = NULL;
    if (!z)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory to inflate");
    z->op = op;
    z->path = path;
    z->kind = kind;
    z->begin = z->s.next_in = data;
    z->end = data + size;
    nd_status status = open_zlib(z);
    if (status == ND_OK)
        *out = z;
    else
        nd__inflate_close(z);
    return status;
}

void nd__inflate_close(nd__inflate *z)
{
    if (z && z->started)
        z->zlib.finish(&z->s);
    free(z);
}

static nd_status bad(const nd__inflate *z, const char *what)
{
    return nd__fail(ND_ERR_FORMAT, z->op, 0, "%s: the %s data is malformed at byte %zu: %s",
                    z->path, z->kind == ND__GZIP ? "gzip" : "deflated",
                    (size_t)(z->s.next_in - z->begin), what);
}

/* After a gzip member: another one, padding of zeros, or the end; after bare deflate: the end.
 * *more: another one. */
static nd_status next_member(nd__inflate *z, int *more)
{
    const bool gzip = z->kind == ND__GZIP;
    const unsigned char *p = z->s.next_in;
    *more = gzip && z->end - p >= 2 && p[0] == 0x1F && p[1] == 0x8B;
    if (*more) {
        z->between = 0;
        return z->zlib.reset(&z->s) == Z_OK ? ND_OK : bad(z, "zlib cannot go on");
    }
    while (gzip && p < z->end && *p == 0)
        p++;
    return p == z->end ? ND_OK : bad(z, "expected nothing more");
}

nd_status nd__inflate_read(nd__inflate *z, void *dst, size_t want, size_t *got)
{
    const size_t most = UINT_MAX / 2;
    *got = 0;
    while (*got < want) {
        if (z->between) {
            int more;
            ND_RETURN_IF(next_member(z, &more));
            if (!more)
                break;
        }
        size_t in = (size_t)(z->end - z->s.next_in), out = want - *got;
        z->s.avail_in = (unsigned)(in < most ? in : most);
        z->s.avail_out = (unsigned)(out < most ? out : most);
        z->s.next_out = (unsigned char *)dst + *got;
        unsigned before = z->s.avail_out;
        int rc = z->zlib.inflate(&z->s, Z_NO_FLUSH);
        *got += before - z->s.avail_out;
        if (rc == Z_STREAM_END)
            z->between = 1;
        else if (rc == Z_MEM_ERROR)
            return nd__fail(ND_ERR_MEMORY, z->op, -1, "no memory to inflate %s", z->path);
        else if (rc == Z_BUF_ERROR)
            return bad(z, "it is cut short");
        else if (rc != Z_OK)
            return bad(z, z->s.msg ? z->s.msg : "zlib refuses it");
    }
    return ND_OK;
}

nd_status nd__deflate_open(const char *op, const char *path, int level, nd__deflate **out)
{
    nd__deflate *z = calloc(1, sizeof *z);
    nd_status status = ND_OK;
    *out = NULL;
    if (!z)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory to deflate");
    z->op = op;
    z->path = path;
    if (nd__library_open(&library, &z->zlib) != ND_OK) {
        status =
            nd__fail(ND_ERR_UNSUPPORTED, op, 3, "%s cannot be compressed: %s, or save it stored",
                     path, nd_last_error()->message);
    } else {
        int rc = z->zlib.deflate_init(&z->s, level, METHOD_DEFLATED, RAW_WINDOW, MEMORY_LEVEL,
                                      STRATEGY, "1", (int)sizeof z->s);
        z->started = rc == Z_OK;
        if (rc != Z_OK)
            status = start_failed(op, path, rc);
    }
    if (status == ND_OK)
        *out = z;
    else
        nd__deflate_close(z);
    return status;
}

nd_status nd__deflate_write(nd__deflate *z, const void *data, size_t n, bool last,
                            nd_status (*put)(void *ctx, const void *data, size_t n), void *ctx)
{
    const size_t most = UINT_MAX / 2;
    int rc = Z_OK;
    z->s.next_in = data;
    do {
        const size_t in = n < most ? n : most;
        const bool ends = last && in == n;
        z->s.avail_in = (unsigned)in;
        do {
            z->s.next_out = z->out;
            z->s.avail_out = OUTPUT;
            rc = z->zlib.deflate(&z->s, ends ? Z_FINISH : Z_NO_FLUSH);
            if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
                return nd__fail(ND_ERR_IO, z->op, -1, "%s: zlib cannot compress (%d)", z->path, rc);
            ND_RETURN_IF(put(ctx, z->out, OUTPUT - z->s.avail_out));
        } while (z->s.avail_out == 0 && rc != Z_STREAM_END);
        n -= in;
    } while (n > 0);
    return ND_OK;
}

void nd__deflate_close(nd__deflate *z)
{
    if (z && z->started)
        (void)z->zlib.deflate_finish(&z->s);
    free(z);
}
