/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Kernels of programs as PTX, put together from the bodies that nvcc made of bodies.cu when the
 * plug-in was built: the driver's assembler is all that is left to run, a small part of what a
 * compiler of CUDA C++ takes. The kernels have the names, the parameters and, as the formulas are
 * the same compiler's, the bits of those that source.c writes. They know programs of one floating
 * dtype of at most 32 bits; the others are compiled. Knows no driver. */
#ifndef NDOCK_CUDA_PROGRAM_PTX_H
#define NDOCK_CUDA_PROGRAM_PTX_H
#include "program/source.h"

/* Compute capability, as 90, that kernels need at least. */
enum { CUDA_PTX_CAPABILITY = 80 };

/* Whether there are bodies for all that the kernel needs on a device of the capability; whole as in
 * cuda_program_source(). */
int cuda_program_assembles(const ndp_program *, int capability, int whole);
/* All that it depends on, as a short text: the kernel cache's key. */
void cuda_program_key(const ndp_program *, int whole, cuda_text *out);
/* The kernel; 0: there are not, or there is no memory. */
int cuda_program_ptx(const ndp_program *, int capability, int whole, cuda_text *out);

/* ---- for ptx_flat.c, ptx_strided.c and ptx_rows.c ---- */
/* Words of 32 bits: an item has four, each one element of f32 or two of f16 or bf16. */
enum { CUDA_PTX_WORDS = 4, CUDA_PTX_NAME = 24 };
typedef struct {
    const ndp_program *p;
    cuda_text *t;
    int32_t dtype;  /* of all elements */
    int capability; /* of the kernel */
    unsigned count; /* of bodies that are there */
    int missing;    /* a body that the kernel needs is not there */
} cuda_ptx;
/* The body of "<dtype>_<name>"; NULL, and the kernel will not be made, where there is none. */
const void *cuda_ptx_find(cuda_ptx *, const char *name);
/* It, with the operands in place of #0 and so on and `to` in place of #r. */
void cuda_ptx_body(cuda_ptx *, const void *body, const char *to, const char *const *operand);
/* The version and the target. */
void cuda_ptx_head(cuda_ptx *);
/* "ld.SPACE" of one element into both halves of a word, or into the whole. */
void cuda_ptx_load_one(cuda_ptx *, const char *space, const char *to, const char *from);
/* Of an element. */
int cuda_ptx_bytes(const cuda_ptx *);
/* o: the offsets of all operands at element, or row, %at, in elements, as program_locate() of frame.cuh
 * finds them; extent and stride: where in p these are. Registers: those of cuda_ptx_locating(). */
void cuda_ptx_locating(cuda_ptx *);
void cuda_ptx_locate(cuda_ptx *, int dims, size_t extent, size_t stride);

/* ---- ptx_elements.c: of kernels that are not of rows ---- */
/* The registers: v of what is one value for all elements, else w and the word's number. */
void cuda_ptx_words(cuda_ptx *);
void cuda_ptx_name(const cuda_ptx *, int32_t value, int word, char name[CUDA_PTX_NAME]);
/* Loads those of scalars, which lie there in p. */
void cuda_ptx_scalars(cuda_ptx *, size_t at);
/* All instructions, for each of so many words. */
void cuda_ptx_instructions(cuda_ptx *, int words);

int cuda_ptx_flat(cuda_ptx *, int whole);
int cuda_ptx_strided(cuda_ptx *);
int cuda_ptx_rows(cuda_ptx *);

#endif
