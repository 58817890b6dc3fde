/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * IDX: every type, plain and gzip-compressed, sizes that lie, and a machine without zlib. */
#include <dlfcn.h>
#include "tests/unit/io_files.h"

static int no_zlib;

/* Stands before libc's, for the library as well: without zlib when asked. */
__attribute__((visibility("default"))) void *dlopen(const char *name, int flags)
{
    static void *(*real)(const char *, int);
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "dlopen");
        memcpy(&real, &symbol, sizeof symbol);
    }
    return no_zlib && name && strcmp(name, "libz.so.1") == 0 ? NULL : real(name, flags);
}

/* gzip's checksum (RFC 1952, section 8), bit by bit. */
static uint32_t crc(const unsigned char *p, size_t n)
{
    uint32_t c = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
    }
    return ~c;
}

static void put32(unsigned char *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(v >> 8 * i);
}

/* A gzip member with one stored block. */
static size_t gzip_of(unsigned char *out, const void *data, size_t n)
{
    static const unsigned char head[11] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255, 1};
    memcpy(out, head, 11);
    put32(out + 11, (uint32_t)n | ~(uint32_t)n << 16);
    memcpy(out + 15, data, n);
    put32(out + 15 + n, crc(data, n));
    put32(out + 19 + n, (uint32_t)n);
    return n + 23;
}

static const unsigned char u8_23[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};

static void test_types(void)
{
    static const struct {
        nd_dtype dtype;
        int n, bytes;
        unsigned char file[40], want[24];
    } cases[] = {
        {ND_U8, 2, 10, {0, 0, 8, 1, 0, 0, 0, 2, 0, 255}, {0, 255}},
        {ND_I8, 2, 10, {0, 0, 9, 1, 0, 0, 0, 2, 0x80, 1}, {0x80, 1}},
        {ND_I16, 2, 12, {0, 0, 0xB, 1, 0, 0, 0, 2, 1, 2, 0xFF, 0xFE}, {2, 1, 0xFE, 0xFF}},
        {ND_I32, 1, 12, {0, 0, 0xC, 1, 0, 0, 0, 1, 1, 2, 3, 4}, {4, 3, 2, 1}},
        {ND_F32, 1, 12, {0, 0, 0xD, 1, 0, 0, 0, 1, 0xC0, 0x20, 0, 0}, {0, 0, 0x20, 0xC0}},
        {ND_F64, 1, 16, {0, 0, 0xE, 1, 0, 0, 0, 1, 0x3F, 0xF8}, {0, 0, 0, 0, 0, 0, 0xF8, 0x3F}},
        {ND_I16, 0, 8, {0, 0, 0xB, 1, 0, 0, 0, 0}, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nd_array *a = NULL;
        io_put("i", cases[i].file, (size_t)cases[i].bytes);
        is_int(nd_idx_load(io_path("i"), NULL, &a), ND_OK, nd_dtype_name(cases[i].dtype));
        ok(io_is(a, cases[i].dtype, 1, (int64_t[]){cases[i].n}, cases[i].want), "has the values");
        nd_release(a);
    }
    nd_array *a = NULL;
    io_put("i", "\0\0\x8\0\x2A", 5);
    is_int(nd_idx_load(io_path("i"), NULL, &a), ND_OK, "no axes");
    ok(io_is(a, ND_U8, 0, NULL, "\x2A"), "is one element");
    nd_release(a);
}

static void test_gzip(void)
{
    unsigned char file[256];
    size_t n = gzip_of(file, u8_23, sizeof u8_23);
    nd_array *a = NULL;
    io_put("z", file, n);
    is_int(nd_idx_load(io_path("z"), NULL, &a), ND_OK, "gzip");
    ok(io_is(a, ND_U8, 2, (int64_t[]){2, 3}, u8_23 + 12), "has the values");
    nd_release(a);

    a = NULL;
    n = gzip_of(file, u8_23, 10);
    n += gzip_of(file + n, u8_23 + 10, 0);
    n += gzip_of(file + n, u8_23 + 10, sizeof u8_23 - 10);
    memset(file + n, 0, 16);
    io_put("z", file, n + 16);
    is_int(nd_idx_load(io_path("z"), NULL, &a), ND_OK, "three members and padding");
    ok(io_is(a, ND_U8, 2, (int64_t[]){2, 3}, u8_23 + 12), "have the values");
    nd_release(a);

    file[n + 15] = 1;
    io_put("z", file, n + 16);
    io_fails(nd_idx_load(io_path("z"), NULL, &a), ND_ERR_FORMAT, "nothing more", "bytes behind");
    n = gzip_of(file, u8_23, sizeof u8_23);
    file[15 + 14] ^= 1;
    io_put("z", file, n);
    io_fails(nd_idx_load(io_path("z"), NULL, &a), ND_ERR_FORMAT, "gzip", "a damaged byte");
    n = gzip_of(file, u8_23, sizeof u8_23 - 1);
    io_put("z", file, n);
    io_fails(nd_idx_load(io_path("z"), NULL, &a), ND_ERR_FORMAT, "lack 1 of", "a byte too few");
    memcpy(file + 200, u8_23, sizeof u8_23);
    n = gzip_of(file, file + 200, sizeof u8_23 + 1);
    io_put("z", file, n);
    io_fails(nd_idx_load(io_path("z"), NULL, &a), ND_ERR_FORMAT, "more bytes", "a byte too many");

    no_zlib = 1;
    io_fails(nd_idx_load(io_path("z"), NULL, &a), ND_ERR_UNSUPPORTED, "zlib1g", "without zlib");
    no_zlib = 0;
}

static void test_truncated(void)
{
    unsigned char file[256];
    size_t n = gzip_of(file, u8_23, sizeof u8_23);
    int plain = 0, gzip = 0;
    for (size_t cut = 0; cut < n; cut++) {
        nd_array *a = (nd_array *)file;
        io_put("t", file, cut);
        gzip += nd_idx_load(io_path("t"), NULL, &a) == ND_ERR_FORMAT && !a;
        if (cut >= sizeof u8_23)
            continue;
        io_put("t", u8_23, cut);
        plain += nd_idx_load(io_path("t"), NULL, &a) == ND_ERR_FORMAT && !a;
    }
    is_int(plain, sizeof u8_23, "cut at every byte");
    is_int(gzip, n, "and within gzip");
}

static void test_malformed(void)
{
    static const struct {
        unsigned char file[16];
        size_t n;
        const char *word;
    } cases[] = {
        {{1, 0, 8, 1, 0, 0, 0, 1, 0}, 9, "not an IDX file"},
        {{0, 1, 8, 1, 0, 0, 0, 1, 0}, 9, "not an IDX file"},
        {{0, 0, 0, 1, 0, 0, 0, 1, 0}, 9, "type code 0x00"},
        {{0, 0, 10, 1, 0, 0, 0, 1, 0}, 9, "type code 0x0a"},
        {{0, 0, 255, 1, 0, 0, 0, 1, 0}, 9, "type code 0xff"},
        {{0, 0, 8, 65, 0, 0, 0, 1, 0}, 9, "rank 65"},
        {{0, 0, 8, 1, 0x80, 0, 0, 0, 0}, 9, "negative"},
        {{0, 0, 8, 1, 0, 0, 0, 1, 0, 0}, 10, "more bytes"},
        {{0, 0, 14, 1, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0}, 10, "lack"},
    };
    unsigned char huge[4 + 4 * 64], file[400];
    nd_array *a;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        io_put("m", cases[i].file, cases[i].n);
        io_fails(nd_idx_load(io_path("m"), NULL, &a), ND_ERR_FORMAT, cases[i].word, cases[i].word);
    }
    memset(huge, 0x7F, sizeof huge);
    memcpy(huge, "\0\0\x8\x40", 4);
    io_put("m", huge, sizeof huge);
    io_fails(nd_idx_load(io_path("m"), NULL, &a), ND_ERR_FORMAT, "63 bits", "64 large extents");
    memcpy(huge, "\0\0\x8\x3\0\0\x40\0\0\0\x40\0\0\0\x40\0", 16);
    io_put("m", file, gzip_of(file, huge, 20));
    io_fails(nd_idx_load(io_path("m"), NULL, &a), ND_ERR_FORMAT, "cannot hold",
             "4 TiB promised by a few bytes of gzip");
    io_fails(nd_idx_load(NULL, NULL, &a), ND_ERR_ARGUMENT, "path", "no path");
    io_fails(nd_idx_load("x", NULL, NULL), ND_ERR_ARGUMENT, "out", "no result");
}

/* 64 MiB of zeros after 6 promised bytes, made by zlib itself. */
static void test_bomb(void)
{
    static char zeros[1 << 20];
    void *z = dlopen("libz.so.1", RTLD_NOW), *open = z ? dlsym(z, "gzopen") : NULL;
    void *write = z ? dlsym(z, "gzwrite") : NULL, *close = z ? dlsym(z, "gzclose") : NULL;
    void *(*gzopen)(const char *, const char *);
    int (*gzwrite)(void *, const void *, unsigned), (*gzclose)(void *);
    nd_array *a = NULL;
    if (!open || !write || !close) {
        skip(2, "no zlib here");
        return;
    }
    memcpy(&gzopen, &open, sizeof open);
    memcpy(&gzwrite, &write, sizeof write);
    memcpy(&gzclose, &close, sizeof close);
    void *f = gzopen(io_path("bomb"), "wb1");
    gzwrite(f, u8_23, sizeof u8_23);
    for (int i = 0; i < 64; i++)
        gzwrite(f, zeros, sizeof zeros);
    gzclose(f);
    io_fails(nd_idx_load(io_path("bomb"), NULL, &a), ND_ERR_FORMAT, "more bytes", "a gzip bomb");

    memcpy(zeros, "\0\0\x8\x3\0\0\1\0\0\0\1\0\0\0\0\x40", 16);
    f = gzopen(io_path("ratio"), "wb9");
    gzwrite(f, zeros, 16);
    memset(zeros, 0, 16);
    for (int i = 0; i < 4; i++)
        gzwrite(f, zeros, sizeof zeros);
    gzclose(f);
    is_int(nd_idx_load(io_path("ratio"), NULL, &a), ND_OK,
           "4 MiB of zeros, the best ratio there is");
    nd_release(a);
}

TAP_MAIN({"types", test_types}, {"gzip", test_gzip}, {"truncated", test_truncated},
         {"malformed", test_malformed}, {"bomb", test_bomb})
