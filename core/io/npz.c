/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading .npz: members of a mapped zip archive that are .npy files. A stored member is read where
 * it lies. Of a deflated one the header is inflated first, and its promise must be the member's
 * size, which its compressed bytes must be able to hold, before memory is taken. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/json.h"
#include "core/io/crc32.h"
#include "core/io/npy.h"
#include "core/io/zip.h"

struct nd_npz {
    nd__map map;
    nd__zip zip;
    char *path, **names; /* one block: the table and the texts */
};

/* One member that is being loaded. */
typedef struct {
    const char *op, *label; /* label: the file and the member, for messages */
    const nd_npz *file;
    const nd__zip_member *member;
    nd_dtype opaque;
} loading;

enum { PREFIX = 12, HEADER_MAX = 1 << 20, LABEL = 512 };
static const char suffix[] = ".npy";

static size_t stem(const char *name)
{
    const size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0 ? n - m : n;
}

static nd_status name_arrays(nd_npz *f, const char *op)
{
    size_t room = f->zip.count * sizeof *f->names + 1;
    for (size_t i = 0; i < f->zip.count; i++)
        room += strlen(f->zip.members[i].name) + 1;
    f->names = malloc(room);
    if (!f->names)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the archive's names");
    char *text = (char *)(f->names + f->zip.count);
    for (size_t i = 0; i < f->zip.count; i++) {
        const size_t n = stem(f->zip.members[i].name);
        memcpy(text, f->zip.members[i].name, n);
        text[n] = 0;
        f->names[i] = text;
        text += n + 1;
    }
    return ND_OK;
}

nd_status nd_npz_open(const char *path, nd_npz **out)
{
    const char *op = "npz_open";
    nd_status status;

    ND_OUT(op, 1, out, NULL);
    ND_NEED(op, 0, path);
    nd_npz *f = calloc(1, sizeof *f);
    if (!f)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the file's record");
    f->map.fd = -1;
    f->path = strdup(path);
    if (!f->path) {
        status = nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the file's record");
        goto failed;
    }
    ND_GOTO_IF(failed, nd__map_open(op, f->path, &f->map));
    ND_GOTO_IF(failed, nd__zip_read(&f->map, &f->zip));
    ND_GOTO_IF(failed, name_arrays(f, op));
    *out = f;
    return ND_OK;
failed:
    nd_npz_close(f);
    return status;
}

void nd_npz_close(nd_npz *file)
{
    if (!file)
        return;
    nd__map_close(&file->map);
    nd__zip_end(&file->zip);
    free(file->names);
    free(file->path);
    free(file);
}

int nd_npz_count(const nd_npz *file)
{
    return file ? (int)file->zip.count : 0;
}

const char *nd_npz_name(const nd_npz *file, int i)
{
    return file && i >= 0 && (size_t)i < file->zip.count ? file->names[i] : NULL;
}

static nd_status unknown_name(const nd_npz *f, const char *op, const char *name)
{
    char list[320], quoted[80];
    size_t used = 0, shown = 0;
    list[0] = 0;
    while (shown < f->zip.count && used + sizeof quoted < sizeof list) {
        const char *s = f->names[shown];
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", shown ? ", " : "",
                                 nd__quote(quoted, sizeof quoted - 4, s, strlen(s)));
        shown++;
    }
    if (shown < f->zip.count)
        snprintf(list + used, sizeof list - used, " and %zu more", f->zip.count - shown);
    return nd__fail(ND_ERR_INDEX, op, 1, "%s has no array \"%s\"; there %s %s", f->path,
                    nd__quote(quoted, sizeof quoted, name, strlen(name)),
                    f->zip.count == 1 ? "is" : "are", f->zip.count ? list : "none");
}

static const nd__zip_member *find(const nd_npz *f, const char *name)
{
    const nd__zip_member *found = nd__zip_find(&f->zip, name);
    char full[ND__ZIP_NAME_MAX + sizeof suffix];
    if (found || strlen(name) > ND__ZIP_NAME_MAX)
        return found;
    snprintf(full, sizeof full, "%s%s", name, suffix);
    return nd__zip_find(&f->zip, full);
}

static nd_status bad(const loading *l, const char *what)
{
    return nd__fail(ND_ERR_FORMAT, l->op, 0, "%s: %s", l->label, what);
}

static nd_status bad_checksum(const loading *l, uint32_t crc)
{
    return nd__fail(ND_ERR_FORMAT, l->op, 0,
                    "%s: the checksum is %08" PRIx32 ", not %08" PRIx32 " as the archive says: its "
                    "bytes are damaged",
                    l->label, crc, l->member->crc);
}

/* The elements' bytes, which are all that the member has after its header. */
static nd_status promised(const loading *l, nd__npy_header *h, uint64_t *nbytes)
{
    const uint64_t there = l->member->size - h->data;
    ND_RETURN_IF(nd__npy_opaque(l->op, l->label, l->opaque, h));
    ND_RETURN_IF(nd__npy_nbytes(l->op, l->label, h, there, nbytes));
    if (*nbytes != there)
        return nd__fail(ND_ERR_FORMAT, l->op, 0,
                        "%s: %" PRIu64 " bytes of elements, of which its header promises %" PRIu64,
                        l->label, there, *nbytes);
    return ND_OK;
}

static nd_status load_stored(const loading *l, nd_device *device, nd_array **out)
{
    const nd__zip_member *m = l->member;
    const unsigned char *data = l->file->map.data + m->data;
    nd__npy_header h;
    uint64_t nbytes;
    ND_RETURN_IF(nd__npy_header_read(l->op, l->label, data, (size_t)m->size, &h));
    ND_RETURN_IF(promised(l, &h, &nbytes));
    const uint32_t crc = nd__crc32(0, data, (size_t)m->size);
    if (crc != m->crc)
        return bad_checksum(l, crc);
    return nd__npy_elements(l->op, &h, data + h.data, device, out);
}

/* Inflates the header into *head, malloc'ed also on failure. */
static nd_status inflate_header(const loading *l, nd__inflate *z, unsigned char **head,
                                nd__npy_header *h)
{
    size_t got, more = 0, length;
    unsigned char prefix[PREFIX];
    ND_RETURN_IF(nd__inflate_read(z, prefix, PREFIX, &got));
    if (got < PREFIX || memcmp(prefix, "\x93NUMPY", 6) != 0)
        return nd__npy_header_read(l->op, l->label, prefix, got, h);
    length = prefix[6] == 1 ? 10 + (prefix[8] | (size_t)prefix[9] << 8)
                            : 12 + (prefix[8] | (size_t)prefix[9] << 8 | (size_t)prefix[10] << 16 |
                                    (size_t)prefix[11] << 24);
    if (length > HEADER_MAX)
        return bad(l, "its header is longer than 1 MiB");
    if (length < PREFIX || length > l->member->size)
        length = PREFIX;
    *head = malloc(length);
    if (!*head)
        return nd__fail(ND_ERR_MEMORY, l->op, -1, "no memory for %zu bytes", length);
    memcpy(*head, prefix, PREFIX);
    ND_RETURN_IF(nd__inflate_read(z, *head + PREFIX, length - PREFIX, &more));
    return nd__npy_header_read(l->op, l->label, *head, PREFIX + more, h);
}

static nd_status inflate_elements(const loading *l, nd__inflate *z, const unsigned char *head,
                                  nd__npy_header *h, nd_device *device, nd_array **out)
{
    nd_status status;
    unsigned char beyond;
    uint64_t nbytes;
    size_t got, more = 0;
    ND_RETURN_IF(promised(l, h, &nbytes));
    unsigned char *data = malloc(nbytes ? (size_t)nbytes : 1);
    if (!data)
        return nd__fail(ND_ERR_MEMORY, l->op, -1, "no memory for %" PRIu64 " bytes", nbytes);
    ND_GOTO_IF(done, nd__inflate_read(z, data, (size_t)nbytes, &got));
    ND_GOTO_IF(done, nd__inflate_read(z, &beyond, 1, &more));
    if (got < nbytes || more) {
        status = bad(l, got < nbytes ? "it inflates to fewer bytes than the archive says"
                                     : "it inflates to more bytes than the archive says");
        goto done;
    }
    const uint32_t crc = nd__crc32(nd__crc32(0, head, h->data), data, (size_t)nbytes);
    status = crc == l->member->crc ? nd__npy_elements(l->op, h, data, device, out)
                                   : bad_checksum(l, crc);
done:
    free(data);
    return status;
}

static nd_status load_deflated(const loading *l, nd_device *device, nd_array **out)
{
    const nd__zip_member *m = l->member;
    nd_status status;
    nd__inflate *z;
    nd__npy_header h;
    unsigned char *head = NULL;
    if (m->size > SIZE_MAX / 2 || !nd__inflate_holds(m->stored, m->size))
        return nd__fail(ND_ERR_FORMAT, l->op, 0,
                        "%s: %" PRIu64 " compressed bytes cannot hold the %" PRIu64
                        " that the archive promises",
                        l->label, m->stored, m->size);
    ND_RETURN_IF(nd__inflate_open(l->op, l->label, ND__RAW_DEFLATE, l->file->map.data + m->data,
                                  (size_t)m->stored, &z));
    ND_GOTO_IF(done, inflate_header(l, z, &head, &h));
    ND_GOTO_IF(done, inflate_elements(l, z, head, &h, device, out));
done:
    free(head);
    nd__inflate_close(z);
    return status;
}

static nd_status load_member(const loading *l, nd_device *device, nd_array **out)
{
    const nd__zip_member *m = l->member;
    if (m->flags & ND__ZIP_ENCRYPTED)
        return bad(l, "it is encrypted, which is not supported");
    if (m->method != ND__ZIP_STORED && m->method != ND__ZIP_DEFLATED)
        return nd__fail(ND_ERR_FORMAT, l->op, 0,
                        "%s: compressed by method %u; stored (0) and deflated (8) members can be "
                        "read",
                        l->label, m->method);
    ND_RETURN_IF(nd__map_check(&l->file->map));
    return m->method == ND__ZIP_STORED ? load_stored(l, device, out)
                                       : load_deflated(l, device, out);
}

static nd_status load(const char *op, const nd_npz *file, const char *name, nd_dtype opaque,
                      nd_device *device, nd_array **out)
{
    char label[LABEL], quoted[80];
    ND_NEED(op, 0, file);
    ND_NEED(op, 1, name);
    const nd__zip_member *m = find(file, name);
    if (!m)
        return unknown_name(file, op, name);
    snprintf(label, sizeof label, "%s: member \"%s\"", file->path,
             nd__quote(quoted, sizeof quoted, m->name, strlen(m->name)));
    return load_member(&(loading){op, label, file, m, opaque}, device, out);
}

nd_status nd_npz_load(const nd_npz *file, const char *name, nd_device *device, nd_array **out)
{
    ND_OUT("npz_load", 3, out, NULL);
    return load("npz_load", file, name, ND_DTYPE_BY_RULE, device, out);
}

nd_status nd_npz_load_as(const nd_npz *file, const char *name, nd_dtype opaque, nd_device *device,
                         nd_array **out)
{
    ND_OUT("npz_load_as", 4, out, NULL);
    if (opaque && !nd_dtype_get(opaque))
        return nd__fail(ND_ERR_DTYPE, "npz_load_as", 2, "there is no dtype %d", (int)opaque);
    return load("npz_load_as", file, name, opaque, device, out);
}
