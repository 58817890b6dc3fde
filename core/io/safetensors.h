/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What reading and writing safetensors share. */
#ifndef NDOCK_CORE_IO_SAFETENSORS_H
#define NDOCK_CORE_IO_SAFETENSORS_H
#include <ndock/io.h>
#include "core/base/file.h"

/* The format's own limit on its header. */
enum { ND__SAFETENSORS_HEADER_MAX = 100000000 };
#define ND__SAFETENSORS_METADATA "__metadata__"

typedef struct {
    const char *name, *dtype_name;
    nd_dtype dtype; /* 0: not one of ndock's */
    int32_t ndim;
    size_t shape; /* index of the first extent in extents */
    uint64_t begin, end;
} nd__tensor;

typedef struct {
    const char *key, *value;
} nd__pair;

struct nd_safetensors {
    nd__map map;
    char *path, *arena; /* arena: the header's texts */
    size_t data;        /* where the elements start */
    nd__tensor *tensors;
    size_t count, room;
    nd__tensor **by_name;
    int64_t *extents;
    size_t extents_count, extents_room;
    nd__pair *metadata;
    size_t metadata_count, metadata_room;
};

/* Reads the mapped file's header into the tables and checks them against the file's size. */
nd_status nd__safetensors_parse(nd_safetensors *f);
/* Comparisons for qsort and bsearch: of pointers to pointers to tensors; of pointers to pairs. */
int nd__tensor_by_name(const void *a, const void *b);
int nd__pair_by_key(const void *a, const void *b);

/* "F32"; NULL for c128, which the format lacks. */
const char *nd__safetensors_dtype_name(nd_dtype dtype);
/* 0 for a name that ndock has no dtype for. */
nd_dtype nd__safetensors_dtype(const char *name);
#endif
