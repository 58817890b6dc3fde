/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What `ndock cache` reads of the folder of compiled kernels; core/base/store.c describes files. */
#ifndef NDOCK_TOOL_CACHE_H
#define NDOCK_TOOL_CACHE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_TEXT = 160 };
typedef struct {
    char name[65]; /* the digits of its hash */
    uint64_t nbytes;
    int64_t used; /* seconds since 1970 */
    bool damaged;
    char options[CACHE_TEXT], arch[CACHE_TEXT], compiler[CACHE_TEXT], library[CACHE_TEXT];
} cache_entry;
typedef struct {
    char name[CACHE_TEXT];
    uint64_t entries, nbytes;
} cache_maker;
typedef struct {
    cache_entry *items; /* the latest used first */
    size_t n, room;
    cache_maker *makers; /* by library */
    size_t n_makers;
    uint64_t damaged;
} cache_entries;
/* Reads the folder; a folder that is not there has no entries. Nonzero: no memory. Nothing is
 * removed or touched. */
int cache_read(const char *dir, cache_entries *out);
void cache_free(cache_entries *all);

#endif
