/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Writing a zip archive from its first byte to its last, without going back: a stored member's
 * sizes and checksum are known before it is written; those of a deflated one follow it. The date is
 * 1 January 1980, the first that zip knows, as in NumPy's archives: equal arrays make equal files.
 * */
#include <stdlib.h>
#include <string.h>
#include "core/base/base.h"
#include "core/io/crc32.h"
#include "core/io/zip.h"

enum {
    NEEDS = 20, /* what a reader needs: deflate */
    NEEDS_ZIP64 = 45,
    MADE_BY_UNIX = 3 << 8,
    MODE_SHIFT = 16, /* where the mode of Unix lies in the external attributes */
    DATE_1980 = 1 << 5 | 1,
    EXTRA_ZIP64 = 1,
    ENTRIES_MAX = 65535,
};
static const uint64_t FILE_MODE = 0100600;
/* A deflated member may grow by a few bytes in 16 KiB: the choice of zip64 leaves room. */
static const uint64_t LARGE = UINT32_MAX - (UINT64_C(1) << 22);

static void put2(nd_text *t, uint64_t v)
{
    const unsigned char b[2] = {(unsigned char)v, (unsigned char)(v >> 8)};
    nd__text_bytes(t, b, sizeof b);
}

static void put4(nd_text *t, uint64_t v)
{
    put2(t, v & 0xFFFF);
    put2(t, v >> 16 & 0xFFFF);
}

static void put8(nd_text *t, uint64_t v)
{
    put4(t, v & UINT32_MAX);
    put4(t, v >> 32);
}

static uint64_t small(uint64_t v, bool large)
{
    return large ? UINT32_MAX : v;
}

static nd_status no_memory(const nd__zip_writer *w)
{
    return nd__fail(ND_ERR_MEMORY, w->file->op, -1, "no memory for the archive's directory");
}

static nd_status put(void *ctx, const void *data, size_t n)
{
    nd__zip_writer *w = ctx;
    w->at += n;
    return nd__writer_put(w->file, data, n);
}

/* Writes a text and empties it. */
static nd_status put_text(nd__zip_writer *w, nd_text *t)
{
    nd_status status = t->failed ? no_memory(w) : put(w, t->data, t->len);
    free(t->data);
    *t = (nd_text){0};
    return status;
}

/* What both headers of a member have: from the version to the length of the name. */
static void put_common(nd_text *t, const nd__zip_member *m, bool large, bool known)
{
    put2(t, large ? NEEDS_ZIP64 : NEEDS);
    put2(t, m->flags);
    put2(t, m->method);
    put2(t, 0);
    put2(t, DATE_1980);
    put4(t, known ? m->crc : 0);
    put4(t, small(known ? m->stored : 0, large));
    put4(t, small(known ? m->size : 0, large));
    put2(t, strlen(m->name));
}

static nd_status put_local(nd__zip_writer *w, const nd__zip_member *m, bool large)
{
    nd_text t = {0};
    const bool known = !(m->flags & ND__ZIP_DESCRIPTOR);
    nd__text_bytes(&t, "PK\3\4", 4);
    put_common(&t, m, large, known);
    put2(&t, large ? 20 : 0);
    nd__text_puts(&t, m->name);
    if (large) {
        put2(&t, EXTRA_ZIP64);
        put2(&t, 16);
        put8(&t, known ? m->size : 0);
        put8(&t, known ? m->stored : 0);
    }
    return put_text(w, &t);
}

static nd_status put_descriptor(nd__zip_writer *w, const nd__zip_member *m, bool large)
{
    nd_text t = {0};
    nd__text_bytes(&t, "PK\7\10", 4);
    put4(&t, m->crc);
    if (large) {
        put8(&t, m->stored);
        put8(&t, m->size);
    } else {
        put4(&t, m->stored);
        put4(&t, m->size);
    }
    return put_text(w, &t);
}

static nd_status add_entry(nd__zip_writer *w, const nd__zip_member *m, bool large)
{
    nd_text *t = &w->directory;
    const bool far = m->header >= UINT32_MAX;
    const size_t extra = (large ? 16U : 0U) + (far ? 8U : 0U);
    nd__text_bytes(t, "PK\1\2", 4);
    put2(t, MADE_BY_UNIX | (large || far ? NEEDS_ZIP64 : NEEDS));
    put_common(t, m, large, true);
    put2(t, extra ? extra + 4 : 0);
    put2(t, 0); /* comment */
    put2(t, 0); /* volume */
    put2(t, 0); /* internal attributes */
    put4(t, FILE_MODE << MODE_SHIFT);
    put4(t, small(m->header, far));
    nd__text_puts(t, m->name);
    if (extra) {
        put2(t, EXTRA_ZIP64);
        put2(t, extra);
    }
    if (large) {
        put8(t, m->size);
        put8(t, m->stored);
    }
    if (far)
        put8(t, m->header);
    w->count++;
    return t->failed ? no_memory(w) : (nd_status)ND_OK;
}

static nd_status deflate_pieces(nd__zip_writer *w, int level, const void *head, size_t head_nbytes,
                                const void *body, size_t body_nbytes)
{
    nd__deflate *z;
    nd_status status;
    ND_RETURN_IF(nd__deflate_open(w->file->op, w->file->path, level, &z));
    ND_GOTO_IF(done, nd__deflate_write(z, head, head_nbytes, false, put, w));
    ND_GOTO_IF(done, nd__deflate_write(z, body, body_nbytes, true, put, w));
done:
    nd__deflate_close(z);
    return status;
}

nd_status nd__zip_add(nd__zip_writer *w, const char *name, int level, const void *head,
                      size_t head_nbytes, const void *body, size_t body_nbytes)
{
    nd__zip_member m = {.name = name, .header = w->at};
    m.size = (uint64_t)head_nbytes + body_nbytes;
    m.crc = nd__crc32(nd__crc32(0, head, head_nbytes), body, body_nbytes);
    m.method = level ? ND__ZIP_DEFLATED : ND__ZIP_STORED;
    m.flags = (uint16_t)(ND__ZIP_UTF8 | (level ? ND__ZIP_DESCRIPTOR : 0));
    m.stored = m.size;
    const bool large = m.size >= LARGE;
    ND_RETURN_IF(put_local(w, &m, large));
    const uint64_t begin = w->at;
    if (level) {
        ND_RETURN_IF(deflate_pieces(w, level, head, head_nbytes, body, body_nbytes));
        m.stored = w->at - begin;
        ND_RETURN_IF(put_descriptor(w, &m, large));
    } else {
        ND_RETURN_IF(put(w, head, head_nbytes));
        ND_RETURN_IF(put(w, body, body_nbytes));
    }
    return add_entry(w, &m, large);
}

nd_status nd__zip_finish(nd__zip_writer *w)
{
    nd_text t = {0};
    const uint64_t begin = w->at, nbytes = w->directory.len, end = begin + nbytes;
    const bool large = w->count >= ENTRIES_MAX || end >= UINT32_MAX;
    ND_RETURN_IF(put_text(w, &w->directory));
    if (large) {
        nd__text_bytes(&t, "PK\6\6", 4);
        put8(&t, 44); /* bytes of this record that follow */
        put2(&t, MADE_BY_UNIX | NEEDS_ZIP64);
        put2(&t, NEEDS_ZIP64);
        put8(&t, 0); /* this volume, and the directory's */
        put8(&t, w->count);
        put8(&t, w->count);
        put8(&t, nbytes);
        put8(&t, begin);
        nd__text_bytes(&t, "PK\6\7", 4);
        put4(&t, 0);
        put8(&t, end);
        put4(&t, 1); /* volumes */
    }
    nd__text_bytes(&t, "PK\5\6", 4);
    put4(&t, 0);
    put2(&t, large ? UINT16_MAX : w->count);
    put2(&t, large ? UINT16_MAX : w->count);
    put4(&t, small(nbytes, large));
    put4(&t, small(begin, large));
    put2(&t, 0); /* comment */
    return put_text(w, &t);
}

void nd__zip_writer_end(nd__zip_writer *w)
{
    free(w->directory.data);
    w->directory = (nd_text){0};
}
