/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files: .npy, .npz, IDX, safetensors and text (CSV). Readers check every size against the file
 * before they allocate; a malformed file is ND_ERR_FORMAT with the offset or name at fault, a
 * failed system call ND_ERR_IO with errno. Writers write another file in the target's folder and
 * rename it: the target is whole or untouched, and a killed program leaves nothing behind where the
 * file system has files without a name (O_TMPFILE). device NULL: the current one. They wait. */
#ifndef NDOCK_IO_H
#define NDOCK_IO_H
#include <ndock/base.h>

ND_BEGIN_DECLS

typedef struct {
    uint32_t size; /* sizeof(nd_save_opts) */
    int32_t sync;  /* nonzero: fsync file and folder before returning */
} nd_save_opts;

/* NumPy's format, versions 1.0 to 3.0; Fortran order becomes strides, other byte orders are
 * swapped. bf16 is written as V2, 8-bit floats as V1; nd_npy_load_as alone reads them as such. */
ND_API ND_MUST_USE nd_status nd_npy_load(const char *path, nd_device *device, nd_array **out);
ND_API ND_MUST_USE nd_status nd_npy_load_as(const char *path, nd_dtype opaque, nd_device *device,
                                            nd_array **out);
ND_API ND_MUST_USE nd_status nd_npy_save(const char *path, const nd_array *a,
                                         const nd_save_opts *opts);

/* The array of a .npy file as the file itself, mapped and not read, for a device that uses host
 * memory (NULL: the CPU). ND_MAP_READ: read-only; ND_MAP_WRITE: what is written goes into the file (fsync of any
 * descriptor of the file makes it last); ND_MAP_PRIVATE: writable, the file stays. opaque as in
 * nd_npy_load_as; 0: opaque elements are refused. Fortran order becomes strides. The last array
 * over the mapping ends it. Another byte order, elements at an unaligned place, and truth values
 * other than 0 and 1 are ND_ERR_FORMAT (nd_npy_load reads them), another device is ND_ERR_DEVICE.
 * Who cuts the file shorter meanwhile makes the next access a SIGBUS. */
enum { ND_MAP_READ = 0, ND_MAP_WRITE = 1, ND_MAP_PRIVATE = 2 };
ND_API ND_MUST_USE nd_status nd_npy_map(const char *path, int32_t mode, nd_dtype opaque,
                                        nd_device *device, nd_array **out);

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

/* .npz: named arrays in a zip archive of .npy files, as NumPy writes it. Stored or deflated members
 * (zlib is opened at run time; without it ND_ERR_UNSUPPORTED), zip64 where it is needed, checksums
 * compared. Names are UTF-8 without ".."; of two equal names none is read. */
/* level: 0 stored, 1 (fast) to 9 (small) deflated; NumPy's savez_compressed takes 6. */
ND_API ND_MUST_USE nd_status nd_npz_save(const char *path, int n, const nd_named_array *arrays,
                                         int32_t level, const nd_save_opts *opts);
typedef struct nd_npz nd_npz; /* an opened archive; any threads may load from it */
ND_API ND_MUST_USE nd_status nd_npz_open(const char *path, nd_npz **out);
ND_API void nd_npz_close(nd_npz *file); /* NULL is fine */
ND_API int nd_npz_count(const nd_npz *file);
/* Name of the i-th array, in the archive's order, without ".npy"; lives until close. NULL out of
 * range. */
ND_API const char *nd_npz_name(const nd_npz *file, int i);
/* The array of that name, with or without ".npy". ND_ERR_INDEX names those there are;
 * ND_ERR_FORMAT: the member is no .npy file, or its bytes are not those of its size and checksum.
 * */
ND_API ND_MUST_USE nd_status nd_npz_load(const nd_npz *file, const char *name, nd_device *device,
                                         nd_array **out);
/* The same with opaque elements read as that dtype; see nd_npy_load_as. */
ND_API ND_MUST_USE nd_status nd_npz_load_as(const nd_npz *file, const char *name, nd_dtype opaque,
                                            nd_device *device, nd_array **out);

/* Text files of numbers in rows and columns (CSV), in no locale. */
typedef struct {
    uint32_t size;         /* sizeof(nd_csv_opts) */
    nd_dtype dtype;        /* 0: f64 */
    const char *delimiter; /* between cells; NULL: ","; "": any blanks */
    const char *comments;  /* one text a line; after it the rest of a line is left out; NULL: "#" */
    int64_t skip_rows;     /* lines at the beginning, whatever they are */
    int64_t max_rows;      /* rows to read; 0: all */
    const int64_t *columns; /* which, from 0, or from the end where negative; NULL: all */
    int32_t n_columns;
    char quote; /* around cells; 0: none */
} nd_csv_opts;
/* An array (rows, columns). Lines end with \n, \r\n or \r; those without cells are no rows. Floats
 * are correctly rounded, integers exact; complex numbers are 1+2j, truth values true, false or
 * integers. A cell that is no number of the dtype, or rows of different lengths, are ND_ERR_FORMAT
 * with line and column (both from 1) and the cell's text. opts NULL: as of all zeros. */
ND_API ND_MUST_USE nd_status nd_csv_load(const char *path, const nd_csv_opts *opts,
                                         nd_device *device, nd_array **out);
/* The same of nbytes of text in memory. */
ND_API ND_MUST_USE nd_status nd_csv_read(const void *text, size_t nbytes, const nd_csv_opts *opts,
                                         nd_device *device, nd_array **out);
typedef struct {
    uint32_t size;               /* sizeof(nd_csv_save_opts) */
    int32_t sync;                /* nonzero: fsync file and folder before returning */
    const char *format;          /* see below; NULL: the shortest text that reads back */
    const char *delimiter;       /* NULL: "," */
    const char *newline;         /* NULL: "\n" */
    const char *header, *footer; /* before and after the rows; NULL: none */
    const char *comments;        /* before each line of these two; NULL: "# " */
} nd_csv_save_opts;
/* Writes an array of one (a column) or two dimensions as text. format: one conversion for every
 * cell, with the delimiter between, or a row's text with one conversion a column, two where the
 * array is complex. Conversions are those of Python's % for numbers: d i u o x X e E f F g G, s and
 * r for the shortest text. Integers are written exactly by d. */
ND_API ND_MUST_USE nd_status nd_csv_save(const char *path, const nd_array *a,
                                         const nd_csv_save_opts *opts);
/* The same text in memory; *out is malloc'ed: free() it. */
ND_API ND_MUST_USE nd_status nd_csv_text(const nd_array *a, const nd_csv_save_opts *opts,
                                         char **out);

ND_END_DECLS
#endif
