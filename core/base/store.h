/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files of compiled code that all processes of a user share, and the SHA-256 that names them. */
#ifndef NDOCK_CORE_STORE_H
#define NDOCK_CORE_STORE_H
#include "core/base/base.h"

/* ---- sha256.c: FIPS 180-4 ---- */
typedef struct {
    uint32_t h[8];
    uint64_t nbytes;
    uint8_t block[64];
} nd_sha256;
void nd__sha256_init(nd_sha256 *s);
void nd__sha256_add(nd_sha256 *s, const void *data, size_t n);
void nd__sha256_end(nd_sha256 *s, uint8_t digest[32]);
/* Whether the processor's own instructions compute it, from now on, for tests: false if there are
 * none. */
bool nd__sha256_instructions(bool use);
/* Of a file's bytes; false if it cannot be read to its end. */
bool nd__sha256_file(const char *path, uint8_t digest[32]);

/* ---- store.c, store_scan.c: compiled kernels in files ---- */
typedef struct {
    char *dir; /* NULL: nothing is stored */
    uint64_t max_bytes;
    atomic_bool writable;
    _Atomic uint64_t stored, dropped, evicted;
    _Atomic uint64_t added; /* bytes of all entries that this process wrote */
    _Atomic uint64_t
        base; /* added + base (which wraps): bytes in the folder, as this process knows */
    atomic_int since_scan; /* entries written since the folder was looked through */
    atomic_bool scanned;
} nd_kernel_store;
typedef struct {
    uint64_t entries, nbytes;
} nd_store_usage;
/* ---- store_dir.c ---- */
/* The folder by the three variables (NULL: unset); malloc'ed, or NULL with the reason in *why. */
char *nd__store_dir(const char *variable, const char *xdg_cache_home, const char *home,
                    const char **why);

/* dir NULL: stores nothing. The folder is made with the first entry; where it cannot be written,
 * what there is is read. */
void nd__store_open(nd_kernel_store *s, const char *dir, uint64_t max_bytes);
void nd__store_close(nd_kernel_store *s);
/* The code stored under hash for exactly this key; malloc'ed. A damaged entry is removed. */
bool nd__store_load(nd_kernel_store *s, const uint8_t hash[32], const void *key, size_t key_nbytes,
                    void **code, size_t *nbytes);
/* False if it could not be stored, which is no error. */
bool nd__store_save(nd_kernel_store *s, const uint8_t hash[32], const void *key, size_t key_nbytes,
                    const void *code, size_t nbytes);
nd_status nd__store_clear(nd_kernel_store *s);
/* Looks through the folder; with evict, removes the least recently used entries beyond
 * max_bytes. */
nd_store_usage nd__store_scan(nd_kernel_store *s, bool evict);
#define ND_STORE_PATH 4096
#define ND_STORE_DIR (ND_STORE_PATH - 80) /* DIR is shorter, so that names in it fit; see open */
/* "DIR/ab/cdef..." */
void nd__store_path(const nd_kernel_store *s, const uint8_t hash[32], char path[ND_STORE_PATH]);
enum { ND_STORE_HEADER = 64, ND_STORE_VERSION = 1 };

#endif
