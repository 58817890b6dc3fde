/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The directory of a zip archive, which lies at its end. Whatever it says is held against the file
 * before it is believed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "core/base/base.h"
#include "core/base/json.h"
#include "core/io/zip.h"

enum {
    END_NBYTES = 22,     /* end of central directory record */
    LOCATOR_NBYTES = 20, /* zip64 end of central directory locator */
    END64_NBYTES = 56,   /* zip64 end of central directory record */
    ENTRY_NBYTES = 46,   /* central directory header */
    LOCAL_NBYTES = 30,   /* local file header */
    COMMENT_MAX = 65535,
    EXTRA_ZIP64 = 1,
};

static uint16_t get2(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get4(const unsigned char *p)
{
    return get2(p) | (uint32_t)get2(p + 2) << 16;
}

static uint64_t get8(const unsigned char *p)
{
    return get4(p) | (uint64_t)get4(p + 4) << 32;
}

/* Where the directory lies, and how many entries it is to have. */
typedef struct {
    uint64_t at, nbytes, entries;
    uint64_t end; /* where the records behind the directory begin */
} directory;

static nd_status bad(const nd__map *map, uint64_t at, const char *what)
{
    return nd__fail(ND_ERR_FORMAT, map->op, 0,
                    "%s: the archive is malformed at byte %" PRIu64 ": %s", map->path, at, what);
}

static nd_status bad_member(const nd__map *map, const nd__zip_member *m, const char *what)
{
    char name[80];
    return nd__fail(ND_ERR_FORMAT, map->op, 0, "%s: member \"%s\": %s", map->path,
                    nd__quote(name, sizeof name, m->name, strlen(m->name)), what);
}

/* Where the end record lies: the last place of its signature from which its comment reaches exactly
 * to the end of the file. */
static bool find_end(const nd__map *map, uint64_t *at)
{
    const size_t room = map->size < END_NBYTES ? 0 : map->size - END_NBYTES + 1;
    const size_t most = room < COMMENT_MAX + 1 ? room : COMMENT_MAX + 1;
    for (size_t comment = 0; comment < most; comment++) {
        const unsigned char *p = map->data + map->size - END_NBYTES - comment;
        if (memcmp(p, "PK\5\6", 4) == 0 && get2(p + 20) == comment) {
            *at = map->size - END_NBYTES - comment;
            return true;
        }
    }
    return false;
}

/* An archive may have just as many entries as the mark says that there are more. */
static bool has_locator(const nd__map *map, uint64_t end)
{
    return end >= LOCATOR_NBYTES && memcmp(map->data + end - LOCATOR_NBYTES, "PK\6\7", 4) == 0;
}

/* The larger record of archives that exceed 65535 entries or 4 GiB. */
static nd_status read_end64(const nd__map *map, uint64_t end, directory *d)
{
    const uint64_t locator = end - LOCATOR_NBYTES, at = get8(map->data + locator + 8);
    if (at > locator || locator - at < END64_NBYTES)
        return bad(map, locator, "the zip64 end record is not within the file");
    const unsigned char *p = map->data + at;
    if (memcmp(p, "PK\6\6", 4) != 0)
        return bad(map, at, "expected the zip64 end record");
    if (get4(p + 16) != 0 || get4(p + 20) != 0)
        return bad(map, at, "an archive of several volumes, which is not supported");
    if (get8(p + 24) != get8(p + 32))
        return bad(map, at, "the counts of entries differ");
    *d =
        (directory){.at = get8(p + 48), .nbytes = get8(p + 40), .entries = get8(p + 32), .end = at};
    return ND_OK;
}

static nd_status find_directory(const nd__map *map, directory *d)
{
    uint64_t end;
    if (!find_end(map, &end))
        return nd__fail(ND_ERR_FORMAT, map->op, 0,
                        "%s: no zip archive, or cut short: it lacks the record at its end",
                        map->path);
    const unsigned char *p = map->data + end;
    *d = (directory){
        .at = get4(p + 16), .nbytes = get4(p + 12), .entries = get2(p + 10), .end = end};
    const bool marked = d->at == UINT32_MAX || d->nbytes == UINT32_MAX || d->entries == UINT16_MAX;
    if (marked && has_locator(map, end)) {
        ND_RETURN_IF(read_end64(map, end, d));
    } else if (get2(p + 4) != 0 || get2(p + 6) != 0) {
        return bad(map, end, "an archive of several volumes, which is not supported");
    } else if (get2(p + 8) != d->entries) {
        return bad(map, end, "the counts of entries differ");
    }
    if (d->at > d->end || d->nbytes > d->end - d->at)
        return bad(map, end, "the directory is not within the file");
    if (d->at + d->nbytes != d->end)
        return bad(map, end, "the directory does not end where the record of its end begins");
    if (d->entries > d->nbytes / ENTRY_NBYTES || d->entries > INT32_MAX)
        return bad(map, end, "more entries than the directory has room for");
    return ND_OK;
}

const char *nd__zip_name_problem(const char *name, size_t n)
{
    if (n == 0)
        return "the name is empty";
    if (n > ND__ZIP_NAME_MAX)
        return "the name is longer than 4096 bytes";
    if (memchr(name, 0, n))
        return "the name has a NUL";
    if (!nd__utf8_valid(name, n))
        return "the name is not UTF-8";
    for (size_t i = 0; i < n; i++) {
        size_t end = i;
        while (end < n && name[end] != '/' && name[end] != '\\')
            end++;
        if (end - i == 2 && name[i] == '.' && name[i + 1] == '.')
            return "the name has \"..\" for a folder";
        i = end;
    }
    return NULL;
}

/* Sizes and the place that do not fit 32 bits are in the extra field, in this order. */
static bool read_zip64(const unsigned char *extra, size_t n, nd__zip_member *m)
{
    uint64_t *const large[] = {&m->size, &m->stored, &m->header};
    while (n >= 4) {
        size_t length = get2(extra + 2);
        if (length > n - 4)
            return false;
        const unsigned char *p = extra + 4, *end = p + length;
        for (int i = 0; get2(extra) == EXTRA_ZIP64 && i < 3; i++) {
            if (*large[i] != UINT32_MAX)
                continue;
            if (end - p < 8)
                return false;
            *large[i] = get8(p);
            p += 8;
        }
        if (get2(extra) == EXTRA_ZIP64)
            return true;
        extra += 4 + length;
        n -= 4 + length;
    }
    /* Without that field a size of just that number is what it says. */
    return true;
}

/* The entry at byte at of the file, before end; *next is where the one after it begins, *text where
 * names are kept. */
static nd_status read_entry(const nd__map *map, uint64_t at, uint64_t end, nd__zip_member *m,
                            uint64_t *next, char **text)
{
    const unsigned char *p = map->data + at;
    if (end - at < ENTRY_NBYTES || memcmp(p, "PK\1\2", 4) != 0)
        return bad(map, at, "expected an entry of the directory");
    const size_t name = get2(p + 28), extra = get2(p + 30), comment = get2(p + 32);
    if (end - at - ENTRY_NBYTES < name + extra + comment)
        return bad(map, at, "an entry reaches beyond the directory");
    const char *problem = nd__zip_name_problem((const char *)p + ENTRY_NBYTES, name);
    if (problem) {
        char quoted[80];
        return nd__fail(
            ND_ERR_FORMAT, map->op, 0, "%s: member \"%s\", byte %" PRIu64 ": %s", map->path,
            nd__quote(quoted, sizeof quoted, (const char *)p + ENTRY_NBYTES, name), at, problem);
    }
    *m = (nd__zip_member){.name = *text,
                          .header = get4(p + 42),
                          .stored = get4(p + 20),
                          .size = get4(p + 24),
                          .crc = get4(p + 16),
                          .method = get2(p + 10),
                          .flags = get2(p + 8)};
    memcpy(*text, p + ENTRY_NBYTES, name);
    (*text)[name] = 0;
    *text += name + 1;
    if (!read_zip64(p + ENTRY_NBYTES + name, extra, m))
        return bad(map, at, "the extra field of an entry is malformed");
    *next = at + ENTRY_NBYTES + name + extra + comment;
    return ND_OK;
}

/* The member's own header must agree with the directory's; *end is where its bytes end. */
static nd_status check_local(const nd__map *map, const directory *d, nd__zip_member *m,
                             uint64_t *end)
{
    if (m->header > d->at || d->at - m->header < LOCAL_NBYTES)
        return bad_member(map, m, "its header is not within the file");
    const unsigned char *p = map->data + m->header;
    if (memcmp(p, "PK\3\4", 4) != 0)
        return bad_member(map, m, "there is no header where the directory says");
    const size_t name = get2(p + 26), extra = get2(p + 28);
    m->data = m->header + LOCAL_NBYTES + name + extra;
    if (m->data > d->at || d->at - m->data < m->stored)
        return bad_member(map, m, "its bytes are not within the file");
    if (name != strlen(m->name) || memcmp(p + LOCAL_NBYTES, m->name, name) != 0)
        return bad_member(map, m, "its own header has another name");
    nd__zip_member own = {.size = get4(p + 22), .stored = get4(p + 18)};
    if (!read_zip64(p + LOCAL_NBYTES + name, extra, &own))
        return bad_member(map, m, "the extra field of its own header is malformed");
    if (get2(p + 8) != m->method)
        return bad_member(map, m, "its own header has another method");
    if (!(get2(p + 6) & ND__ZIP_DESCRIPTOR) &&
        (own.size != m->size || own.stored != m->stored || get4(p + 14) != m->crc))
        return bad_member(map, m, "its own header has other sizes, or another checksum");
    if (m->method == ND__ZIP_STORED && m->size != m->stored)
        return bad_member(map, m, "it is stored, but its two sizes differ");
    *end = m->data + m->stored;
    return ND_OK;
}

static int by_place(const void *a, const void *b)
{
    const nd__zip_member *const *x = a, *const *y = b;
    return (*x)->header < (*y)->header ? -1 : (*x)->header > (*y)->header;
}

static int by_name(const void *a, const void *b)
{
    const nd__zip_member *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static nd_status check_members(const nd__map *map, const directory *d, nd__zip *zip)
{
    uint64_t end = 0, next = 0;
    for (size_t i = 0; i < zip->count; i++)
        zip->by_name[i] = &zip->members[i];
    if (zip->count)
        qsort(zip->by_name, zip->count, sizeof *zip->by_name, by_place);
    for (size_t i = 0; i < zip->count; i++, end = next) {
        ND_RETURN_IF(check_local(map, d, zip->by_name[i], &next));
        if (zip->by_name[i]->header < end)
            return bad_member(map, zip->by_name[i], "it overlaps another member");
    }
    if (zip->count)
        qsort(zip->by_name, zip->count, sizeof *zip->by_name, by_name);
    for (size_t i = 1; i < zip->count; i++)
        if (by_name(&zip->by_name[i - 1], &zip->by_name[i]) == 0)
            return bad_member(map, zip->by_name[i], "another member has the same name");
    return ND_OK;
}

/* A folder, which holds nothing itself. */
static bool is_folder(const nd__zip_member *m)
{
    return m->name[strlen(m->name) - 1] == '/' && m->size == 0;
}

static nd_status read_entries(const nd__map *map, const directory *d, nd__zip *zip)
{
    uint64_t at = d->at;
    char *text = zip->texts;
    for (uint64_t i = 0; i < d->entries; i++) {
        nd__zip_member *m = &zip->members[zip->count];
        ND_RETURN_IF(read_entry(map, at, d->end, m, &at, &text));
        zip->count += !is_folder(m);
    }
    return at == d->end ? ND_OK : bad(map, at, "the directory has more than its entries");
}

nd_status nd__zip_read(const nd__map *map, nd__zip *out)
{
    nd_status status;
    directory d = {0};
    memset(out, 0, sizeof *out);
    ND_RETURN_IF(find_directory(map, &d));
    /* An entry takes more bytes than its name and a 0, so that all names fit. */
    const size_t n = (size_t)d.entries + 1;
    out->members = malloc(n * sizeof *out->members);
    out->by_name = malloc(n * sizeof(nd__zip_member *));
    out->texts = malloc((size_t)d.nbytes + 1);
    if (!out->members || !out->by_name || !out->texts) {
        status = nd__fail(ND_ERR_MEMORY, map->op, -1, "no memory for the archive's directory");
        goto failed;
    }
    ND_GOTO_IF(failed, read_entries(map, &d, out));
    ND_GOTO_IF(failed, check_members(map, &d, out));
    return ND_OK;
failed:
    nd__zip_end(out);
    return status;
}

void nd__zip_end(nd__zip *zip)
{
    free(zip->members);
    free(zip->by_name);
    free(zip->texts);
    memset(zip, 0, sizeof *zip);
}

const nd__zip_member *nd__zip_find(const nd__zip *zip, const char *name)
{
    nd__zip_member want = {.name = name}, *key = &want, **found = NULL;
    if (zip->count)
        found = bsearch(&key, zip->by_name, zip->count, sizeof key, by_name);
    return found ? *found : NULL;
}
