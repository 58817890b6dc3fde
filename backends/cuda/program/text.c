/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The headers as texts: files of the sources, byte for byte, and a few that are made here, since
 * what they have on the host is not there, or too long, at run time. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "program/text.h"

#define CUDA_TEXT(symbol, name, path)                                                       \
    __asm__(".section .rodata\ncuda_text_" #symbol ":\n.incbin \"" CUDA_SOURCE_DIR "/" path \
            "\"\n.byte 0\n.previous\n");                                                    \
    extern const char cuda_text_##symbol[] __attribute__((visibility("hidden")));
#include "program/text.def"
const char cuda_program_sums[] =
#include "program/sums.h"
    ;

void cuda_text_add(cuda_text *t, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const size_t left = t->room - t->n;
    int n = t->failed ? -1 : vsnprintf(left ? t->data + t->n : NULL, left, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n >= left) {
        size_t room = 2 * (t->n + (size_t)n) + 4096;
        char *grown = realloc(t->data, room);
        t->failed = !grown;
        t->data = grown ? grown : t->data;
        t->room = grown ? room : t->room;
        if (grown)
            vsnprintf(t->data + t->n, t->room - t->n, fmt, again);
    }
    va_end(again);
    if (n >= 0 && !t->failed)
        t->n += (size_t)n;
}

static const char stdint_text[] = "#pragma once\n"
                                  "typedef signed char int8_t; typedef unsigned char uint8_t;\n"
                                  "typedef short int16_t; typedef unsigned short uint16_t;\n"
                                  "typedef int int32_t; typedef unsigned int uint32_t;\n"
                                  "typedef long int64_t; typedef unsigned long uint64_t;\n"
                                  "typedef unsigned long uintptr_t;\n";

/* Of plugin.h the kernels use the ids. */
static void add_plugin(cuda_text *t)
{
    cuda_text_add(t, "#pragma once\nenum {\n");
#define ND_DTYPE(NAME, id, nbytes, KIND, name, standard, numpy, dlpack, doc) \
    cuda_text_add(t, "NDP_" #NAME " = %d,\n", id);
#include <ndock/dtype.def>
    for (int32_t op = 1; op < NDP_OP_END; op++)
        cuda_text_add(t, "NDP_OP_%s = %d,\n", ndp_op_name(op), (int)op);
    cuda_text_add(t, "NDP_END_OF_IDS };\n");
}

static cuda_texts texts;
static int made;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add(const char *name, const char *text)
{
    texts.name[texts.n] = name;
    texts.text[texts.n++] = text;
}

static void make(void)
{
    static cuda_text plugin;
#define CUDA_TEXT(symbol, name, path) add(name, cuda_text_##symbol);
#include "program/text.def"
    add_plugin(&plugin);
    if (plugin.failed)
        return;
    add("ndock/plugin.h", plugin.data);
    add("ndock/op.def", "#undef ND_OP\n");
    add("stdint.h", stdint_text);
    /* Of the walks by line, reductions in programs use this word. */
    add("walk/lines.cuh", "#pragma once\n#define LINE_FN static __device__ __forceinline__\n");
    /* Long to compile, and seldom wanted. */
    add("ndock/scalar_special_tmpl.h",
        "#ifdef PROGRAM_SPECIAL\n#include \"program/special.h\"\n#endif\n");
    made = 1;
}

int cuda_program_is_special(const char *op)
{
    char formula[64];
    snprintf(formula, sizeof formula, "ND_NAME(%s)", op);
    return !strstr(cuda_text_scalar, formula);
}

const cuda_texts *cuda_program_texts(void)
{
    pthread_once(&once, make);
    return made ? &texts : NULL;
}
