/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Programs in C that come as text: compiled by the machine's C compiler, kept by the core's kernel
 * cache, and opened as a library of this process. */
#ifndef NDOCK_CPU_COMPILER_H
#define NDOCK_CPU_COMPILER_H
#include "host/cpu.h"

/* What a kernel of such a program is: called once for each block of the grid, by several threads at
 * once, with the block's place. argument[i] is as in ndp_host_function. */
typedef void (*cpu_block_fn)(const uint32_t at[3], const uint32_t grid[3], const uint32_t block[3],
                             void *const *argument);

/* ---- texts.c, made by embed.sh: what #include "ndock_kernel.h" stands for ---- */
extern const char cpu_kernel_header[];

/* ---- compiler.c ---- */
/* The machine's C compiler: its path, malloc'ed, and in stamp what tells it from others; NULL:
 * there is none, or NDOCK_CPU_CC=off. */
char *cpu_compiler(char *stamp, size_t n);
/* Compiles source; *code (from host->alloc) is a shared object. *log, from there too or NULL, has
 * the compiler's words. NDP_ERR_ARGUMENT: they say what is wrong. */
int32_t cpu_compile(const char *compiler, const char *source, const char *options, void **code,
                    uint64_t *nbytes, char **log);

/* ---- object.c ---- */
/* Opens a shared object in memory as a library, for dlclose; NULL with the reason in why. */
void *cpu_object_open(const void *code, uint64_t nbytes, char *why, size_t n);

/* ---- source.c ---- */
/* A handle for dlsym and dlclose of the program; NDP_ERR_UNSUPPORTED: nothing compiles here. */
int32_t cpu_compiler_open(const ndp_module_source *s, void **library);

#endif
