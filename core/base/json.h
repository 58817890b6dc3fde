/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A small strict JSON reader (RFC 8259) that hands out one value after the other.
 * Calls return 0 on failure; the first failure stays, with its place, and all later calls fail. */
#ifndef NDOCK_CORE_IO_JSON_H
#define NDOCK_CORE_IO_JSON_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *begin, *at, *end;
    char *arena; /* decoded texts, each ended by a 0 */
    const char *error;
    size_t error_at; /* bytes from begin */
    int depth;
} nd__json;

/* arena: size bytes, enough for all texts, since every text loses its two quotes; it outlives
 * them. */
void nd__json_start(nd__json *j, const void *text, size_t size, char *arena);
/* Marks the reader as failed at its present place, unless it has failed before. Returns 0. */
int nd__json_fail(nd__json *j, const char *error);

/* The bracket ('{' or '[') that must come next. */
int nd__json_enter(nd__json *j, char bracket);
/* 1: another item follows; 0: it was the bracket's end, or an error. *first is 1 before. */
int nd__json_next(nd__json *j, char bracket, int *first);
/* A text, UTF-8, without a NUL character. */
int nd__json_text(nd__json *j, const char **text);
/* The same with the colon after it. */
int nd__json_key(nd__json *j, const char **key);
/* An integer that fits. */
int nd__json_int(nd__json *j, int64_t *value);
/* Any one value, checked and dropped. */
int nd__json_skip(nd__json *j);
/* Nothing but white space is left. */
int nd__json_end(nd__json *j);

/* For messages about texts out of files: at most room - 1 bytes, others than printable ASCII as
 * '?', cut with "..." where too long. Returns out. */
char *nd__quote(char *out, size_t room, const char *text, size_t n);
#endif
