/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * GGUF, versions 2 and 3, little-endian: named tensors, plain or quantised, and typed metadata. An
 * opened file is mapped and checked as a whole: every length and offset before it is used, names
 * and keys once each, tensors one behind the other without overlap. What is wrong is ND_ERR_FORMAT
 * with the byte at which it stands and the value. As with every mapped file, who cuts it shorter
 * while it is in use makes the next access a SIGBUS.
 * Source: the GGUF specification (ggml, docs/gguf.md), and the PyPI package gguf. */
#ifndef NDOCK_GGUF_H
#define NDOCK_GGUF_H
#include <ndock/base.h>
#include <ndock/io.h>
#include <ndock/quant.h>

ND_BEGIN_DECLS

/* Types of metadata. */
enum {
    ND_GGUF_U8 = 0,
    ND_GGUF_I8 = 1,
    ND_GGUF_U16 = 2,
    ND_GGUF_I16 = 3,
    ND_GGUF_U32 = 4,
    ND_GGUF_I32 = 5,
    ND_GGUF_F32 = 6,
    ND_GGUF_BOOL = 7,
    ND_GGUF_STRING = 8,
    ND_GGUF_ARRAY = 9,
    ND_GGUF_U64 = 10,
    ND_GGUF_I64 = 11,
    ND_GGUF_F64 = 12
};
/* A value of metadata. */
typedef struct {
    uint32_t size;       /* sizeof(nd_gguf_value) */
    int32_t type;        /* ND_GGUF_* */
    int32_t item, zero;  /* of an array: type of its items */
    uint64_t count;      /* of an array: items that are left; else 1 */
    const void *data;    /* the value as the file has it: numbers little-endian, a string's bytes (not
                          * ended by a 0), an array's items one behind the other, strings among them each
                          * behind its length in 8 bytes, arrays behind type in 4 and count in 8 */
    uint64_t nbytes;     /* of data */
    union {
        uint64_t u; /* of unsigned types and bool */
        int64_t i;  /* of signed types */
        double f;
    } v;
} nd_gguf_value;

typedef struct nd_gguf nd_gguf; /* an opened file; any threads may read it */
ND_API ND_MUST_USE nd_status nd_gguf_open(const char *path, nd_gguf **out);
ND_API void nd_gguf_close(nd_gguf *file); /* NULL is fine; arrays that were loaded stay */

/* Metadata: how many keys, the i-th (NULL out of range), the value of one (ND_ERR_INDEX if absent),
 * which lives until close. Set value->size. */
ND_API int nd_gguf_key_count(const nd_gguf *file);
ND_API const char *nd_gguf_key(const nd_gguf *file, int i);
ND_API ND_MUST_USE nd_status nd_gguf_find(const nd_gguf *file, const char *key,
                                          nd_gguf_value *value);
/* Takes the next item off an array (a value of nd_gguf_find, or a copy of one); ND_ERR_INDEX where
 * none is left. */
ND_API ND_MUST_USE nd_status nd_gguf_next(nd_gguf_value *array, nd_gguf_value *item);

/* A tensor. shape is in C order, the last extent of adjacent elements (the file has it first). */
typedef struct {
    uint32_t size; /* sizeof(nd_gguf_tensor) */
    int32_t type;  /* the file's number */
    nd_dtype dtype;         /* of a plain tensor, else 0 */
    nd_quant_format format; /* of a quantised one, else 0; both 0: it cannot be loaded */
    int32_t ndim, zero;
    int64_t shape[4];
    uint64_t offset, nbytes; /* where its bytes are in the file; nbytes is 0 if it cannot be loaded */
    const char *name;        /* lives until close */
} nd_gguf_tensor;
/* Tensors: how many, and the i-th in the file's order (ND_ERR_INDEX out of range). */
ND_API int nd_gguf_count(const nd_gguf *file);
ND_API ND_MUST_USE nd_status nd_gguf_describe(const nd_gguf *file, int i, nd_gguf_tensor *out);
/* A plain tensor by name, or a quantised one; ND_ERR_INDEX names those there are, ND_ERR_DTYPE says
 * what it is instead. On devices that use host memory the array is the file itself, mapped and
 * read-only, where its bytes are aligned for its dtype; else it is a copy. */
ND_API ND_MUST_USE nd_status nd_gguf_load(const nd_gguf *file, const char *name, nd_device *device,
                                          nd_array **out);
ND_API ND_MUST_USE nd_status nd_gguf_load_quant(const nd_gguf *file, const char *name,
                                                nd_device *device, nd_qarray **out);

/* What is saved: an array (f32 f16 bf16 f64 i8 i16 i32 i64) or a quantised one, with the other
 * NULL; up to four axes. */
typedef struct {
    const char *name;
    const nd_array *array;
    const nd_qarray *quant;
} nd_gguf_item;
/* type, item, count, data and nbytes of the value say what is written, also for numbers (v is not
 * read), so that what nd_gguf_find gave can be saved again. */
typedef struct {
    const char *key;
    nd_gguf_value value;
} nd_gguf_pair;
/* Writes version 3 with tensors and metadata in the order given. Names and keys are UTF-8 and
 * differ; names have at most 63 bytes. The key general.alignment (u32, a power of 2 from 8 to 65536),
 * if given, is kept to. */
ND_API ND_MUST_USE nd_status nd_gguf_save(const char *path, int n, const nd_gguf_item *items,
                                          int n_pairs, const nd_gguf_pair *pairs,
                                          const nd_save_opts *opts);

ND_END_DECLS
#endif
