/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Zip archives: which members a mapped one has, and writing one. Source of the format: PKWARE's
 * APPNOTE.TXT 6.3, sections 4.3 to 4.5. */
#ifndef NDOCK_CORE_IO_ZIP_H
#define NDOCK_CORE_IO_ZIP_H
#include <stdint.h>
#include "core/base/file.h"
#include "core/base/text.h"
#include "core/io/zlib.h"

enum { ND__ZIP_STORED = 0, ND__ZIP_DEFLATED = 8 };
/* Flags of a member; after a descriptor's: checksum and sizes follow the bytes. */
enum { ND__ZIP_ENCRYPTED = 1, ND__ZIP_DESCRIPTOR = 8, ND__ZIP_UTF8 = 0x800 };
enum { ND__ZIP_NAME_MAX = 4096 }; /* bytes; a path of Linux */

typedef struct {
    const char *name;      /* UTF-8; in the archive's texts */
    uint64_t header, data; /* where its local header and its bytes begin in the file */
    uint64_t stored, size; /* its bytes in the file, and inflated */
    uint32_t crc;          /* of the latter */
    uint16_t method, flags;
} nd__zip_member;

typedef struct {
    nd__zip_member *members; /* files, no folders, in the directory's order */
    nd__zip_member **by_name;
    size_t count;
    char *texts;
} nd__zip;

/* Reads the directory, and holds it against the members' own headers: none overlaps another, lies
 * outside the file, or has the name of another. Afterwards every data and stored is within it. */
nd_status nd__zip_read(const nd__map *map, nd__zip *out);
void nd__zip_end(nd__zip *zip);
/* NULL if there is none of that name. */
const nd__zip_member *nd__zip_find(const nd__zip *zip, const char *name);
/* Why a name of n bytes cannot be a member's; NULL if it can. */
const char *nd__zip_name_problem(const char *name, size_t n);

/* An archive that is being written. */
typedef struct {
    nd__writer *file;
    nd_text directory;
    uint64_t at, count;
} nd__zip_writer;
/* One member of two pieces (header and elements). level 0: stored. */
nd_status nd__zip_add(nd__zip_writer *w, const char *name, int level, const void *head,
                      size_t head_nbytes, const void *body, size_t body_nbytes);
/* The directory and the end of the archive; also frees what the writer holds. */
nd_status nd__zip_finish(nd__zip_writer *w);
void nd__zip_writer_end(nd__zip_writer *w);
#endif
