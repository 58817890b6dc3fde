/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files: .npy, IDX and safetensors. Readers check every size against the file before they allocate;
 * a malformed file is ND_ERR_FORMAT with the offset or name at fault, a failed system call
 * ND_ERR_IO with errno. Writers write another file in the target's folder and rename it: the target
 * is whole or untouched, and a killed program leaves nothing behind where the file system has files
 * without a name (O_TMPFILE). device NULL: the current one. They wait. */
#ifndef NDOCK_IO_H
#define NDOCK_IO_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct {
    uint32_t size; /* sizeof(nd_save_opts) */
    int32_t sync;  /* nonzero: fsync file and folder before returning */
} nd_save_opts;

/* NumPy's format, versions 1.0 to 3.0; Fortran order becomes strides, other byte orders are
 * swapped. bf16 is written as V2, and V2 is read as bf16 only by nd_npy_load_as. */
ND_API ND_MUST_USE nd_status nd_npy_load(const char *path, nd_device *device, nd_array **out);
ND_API ND_MUST_USE nd_status nd_npy_load_as(const char *path, nd_dtype opaque, nd_device *device,
                                            nd_array **out);
ND_API ND_MUST_USE nd_status nd_npy_save(const char *path, const nd_array *a,
                                         const nd_save_opts *opts);

/* IDX, plain or gzip (zlib is opened at run time; without it ND_ERR_UNSUPPORTED). u8 i8 i16 i32 f32
 * f64, big-endian in the file. */
ND_API ND_MUST_USE nd_status nd_idx_load(const char *path, nd_device *device, nd_array **out);

/* safetensors: named arrays. */
typedef struct {
    const char *name;
    const nd_array *array;
} nd_named_array;
/* metadata: pairs of texts key, value, ..., NULL-terminated; NULL: none. Names must be unique
 * UTF-8. */
ND_API ND_MUST_USE nd_status nd_safetensors_save(const char *path, int n,
                                                 const nd_named_array *arrays,
                                                 const char *const *metadata,
                                                 const nd_save_opts *opts);
typedef struct nd_safetensors nd_safetensors; /* an opened file; used by one thread at a time */
ND_API ND_MUST_USE nd_status nd_safetensors_open(const char *path, nd_safetensors **out);
ND_API void nd_safetensors_close(nd_safetensors *file); /* NULL is fine */
ND_API int nd_safetensors_count(const nd_safetensors *file);
/* Name of the i-th array, in the file's order of data; lives until close. NULL out of range. */
ND_API const char *nd_safetensors_name(const nd_safetensors *file, int i);
/* Value of a metadata key; NULL if absent. */
ND_API const char *nd_safetensors_metadata(const nd_safetensors *file, const char *key);
/* ND_ERR_INDEX names the arrays there are. */
ND_API ND_MUST_USE nd_status nd_safetensors_load(nd_safetensors *file, const char *name,
                                                 nd_device *device, nd_array **out);

ND_END_DECLS
#endif
