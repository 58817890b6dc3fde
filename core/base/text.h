/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text and bytes that grow: messages, reports, headers of files. Depends on libc alone, so that the
 * command compiles it too. */
#ifndef NDOCK_CORE_TEXT_H
#define NDOCK_CORE_TEXT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/fork.h"

/* {0} is empty. len bytes and a 0 after them, which len does not count; data is the holder's to
 * free(). After a failed allocation it stays failed, as it was. */
typedef struct {
    char *data;
    size_t len, cap;
    bool failed;
} nd_text;
void nd__text_add(nd_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void nd__text_puts(nd_text *t, const char *text);
void nd__text_bytes(nd_text *t, const void *data, size_t n);
/* A JSON text with its quotes; what is not UTF-8 becomes '?'. */
void nd__text_json(nd_text *t, const char *text);
/* Whether n bytes are UTF-8 without surrogates and over-long forms. */
bool nd__utf8_valid(const char *text, size_t n);

/* The text for as long as the process lives; equal texts are one. "" when there is no memory. */
const char *nd__text_keep(const char *text);
/* "(3, 4)" into a caller's buffer; returns it. */
const char *nd__shape_text(int ndim, const int64_t *shape, char *buf, size_t n);
#define ND_SHAPE_TEXT 160
void nd__fork_texts(nd_fork now);

#endif
