/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The headers that programs are compiled from, as texts, and the source of a program. Knows no
 * driver, so that tests compile sources on machines without a GPU. */
#ifndef NDOCK_CUDA_PROGRAM_TEXT_H
#define NDOCK_CUDA_PROGRAM_TEXT_H
#include <ndock/plugin_facts.h>
#include "program/program.h"

/* A text that grows; data NULL after it could not. */
typedef struct {
    char *data;
    size_t n, room;
    int failed;
} cuda_text;
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void cuda_text_add(cuda_text *, const char *fmt, ...);

enum { CUDA_TEXTS = 48 };
typedef struct {
    const char *name[CUDA_TEXTS], *text[CUDA_TEXTS];
    int n;
} cuda_texts;
/* Sums of all of them, made when the plug-in is built: sources have these, so that other texts make
 * another key. Where a kernel comes from its file the texts themselves are not touched. */
extern const char cuda_program_sums[];
/* The same at every call; NULL: no memory. */
const cuda_texts *cuda_program_texts(void);

/* The same without the functions that the source does not use, in room, which the caller frees. 0:
 * there is no memory, or the texts are too many. */
int cuda_program_prune(const char *source, cuda_texts *out, cuda_text *room);

/* Whether the op's formula for floating dtypes is among the special functions. */
int cuda_program_is_special(const char *op);

/* The source of a program's kernel, program_flat, program_strided or program_rows by its flags; 0 and
 * the reason where the program is none that kernels know. rows is for the last of these. whole: the
 * kernel, less code, serves calls that move whole words of 16 bytes alone; of strided ones there is
 * no other. */
int cuda_program_source(const ndp_program *, int whole, cuda_text *out,
                        cuda_program_rows_facts *rows, char *why, size_t n);
/* How many elements a thread of program_flat computes. */
int cuda_program_width(const ndp_program *);
/* How many dimensions program_strided walks. */
int cuda_program_dims(const ndp_program *);

#endif
