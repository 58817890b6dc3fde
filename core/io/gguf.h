/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What reading and writing GGUF share. */
#ifndef NDOCK_CORE_IO_GGUF_H
#define NDOCK_CORE_IO_GGUF_H
#include <ndock/gguf.h>
#include <stdatomic.h>
#include "core/base/file.h"

#define ND__GGUF_ALIGNMENT "general.alignment"
enum {
    ND__GGUF_VERSION = 3,
    ND__GGUF_ALIGN = 32, /* unless a key says otherwise */
    ND__GGUF_NDIM = 4,
    ND__GGUF_NAME_MAX = 63, /* of tensors that are written, in bytes */
    ND__GGUF_TEXT_MAX = 65535, /* of names and keys that are read */
    ND__GGUF_DEPTH = 4         /* of arrays in arrays */
};

typedef struct {
    const char *key;
    nd_gguf_value value;
} nd__gguf_pair;

typedef struct {
    atomic_int refs; /* the file, and arrays over it */
    nd__map map;
} nd__gguf_mapping;

/* Memory for texts, which do not move; new ones go into the first piece. */
typedef struct nd__gguf_texts nd__gguf_texts;
struct nd__gguf_texts {
    nd__gguf_texts *next;
    size_t used, room;
    char data[];
};

struct nd_gguf {
    nd__gguf_mapping *mapping;
    char *path;
    nd__gguf_texts *texts; /* names and keys, each ended by a 0 */
    uint64_t data, alignment; /* where tensors begin in the file */
    nd__gguf_pair *pairs;
    nd_gguf_tensor *tensors;
    const nd__gguf_pair **by_key; /* sorted */
    const nd_gguf_tensor **by_name;
    size_t n_pairs, n_tensors;
};

/* ---- gguf_parse.c ---- */
/* Checks the mapped file and fills the tables. */
nd_status nd__gguf_parse(nd_gguf *f);
int nd__gguf_by_key(const void *a, const void *b);  /* pointers to pointers to pairs */
int nd__gguf_by_name(const void *a, const void *b); /* and to tensors */

/* ---- gguf_value.c ---- */
/* Bytes that go on from an offset of the file, or of memory. */
typedef struct {
    const char *op, *path; /* for messages; path: a file's, or what else the bytes are */
    const unsigned char *data;
    uint64_t at, size;
} nd__gguf_bytes;
/* The next n bytes; ND_ERR_FORMAT names what they should be. */
nd_status nd__gguf_take(nd__gguf_bytes *b, uint64_t n, const char *what, const unsigned char **p);
nd_status nd__gguf_take_number(nd__gguf_bytes *b, int nbytes, const char *what, uint64_t *x);
/* A value of the type, checked to its last item. */
nd_status nd__gguf_take_value(nd__gguf_bytes *b, int32_t type, nd_gguf_value *value);
const char *nd__gguf_type_name(int32_t type); /* "u32"; NULL: there is no such type */

/* ---- gguf_type.c ---- */
/* What a file's number of a tensor type is: a dtype or a format, both 0 if it is not known. */
void nd__gguf_type(int32_t type, nd_dtype *dtype, nd_quant_format *format);
/* The number for a dtype; -1: GGUF lacks it. */
int32_t nd__gguf_type_of(nd_dtype dtype);
/* Elements and bytes of the smallest whole part of a row; false if neither is known. */
bool nd__gguf_sizes(nd_dtype dtype, nd_quant_format format, int64_t *block, int64_t *nbytes);
#endif
