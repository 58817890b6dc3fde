/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The folder of compiled kernels as a whole: how much there is, what goes when there is too much.
 * An entry's time of modification is when it was last used. Other processes may do the same at the
 * same time, so that a file which is gone is no error. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "core/base/store.h"

enum { HASH_DIGITS = 64, STALE_S = 3600 }; /* a temporary file so old has lost its writer */

typedef struct {
    struct timespec used;
    uint64_t nbytes;
    char name[HASH_DIGITS + 2]; /* "ab/cdef..." */
} entry;
typedef struct {
    entry *items;
    size_t n, room;
    uint64_t nbytes;
} entries;

static bool is_hex(const char *text, size_t n)
{
    return strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static void add_entry(entries *all, const char *folder, const char *file, const struct stat *st)
{
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        entry *items = realloc(all->items, room * sizeof *items);
        if (!items)
            return; /* what is not listed stays */
        all->items = items;
        all->room = room;
    }
    entry *e = &all->items[all->n++];
    e->used = st->st_mtim;
    e->nbytes = (uint64_t)st->st_size;
    snprintf(e->name, sizeof e->name, "%.2s/%.62s", folder, file);
    all->nbytes += e->nbytes;
}

/* What to do with a file of the cache; temporary: it is no entry yet. */
typedef void (*visitor)(void *ctx, const char *path, const char *folder, const char *file,
                        bool temporary);

static void visit_folder(const char *dir, const char *folder, visitor visit, void *ctx)
{
    char path[ND_STORE_PATH + 300];
    snprintf(path, sizeof path, "%s/%s", dir, folder);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        bool temporary = strncmp(e->d_name, ".tmp.", 5) == 0;
        snprintf(path, sizeof path, "%s/%s/%s", dir, folder, e->d_name);
        if (temporary || is_hex(e->d_name, HASH_DIGITS - 2))
            visit(ctx, path, folder, e->d_name, temporary);
    }
    if (d)
        closedir(d);
}

static void visit_all(const char *dir, visitor visit, void *ctx)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (is_hex(e->d_name, 2))
            visit_folder(dir, e->d_name, visit, ctx);
    if (d)
        closedir(d);
}

static void list_file(void *ctx, const char *path, const char *folder, const char *file,
                      bool temporary)
{
    struct stat st;
    if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    if (!temporary)
        add_entry(ctx, folder, file, &st);
    else if (time(NULL) - st.st_mtime > STALE_S)
        (void)unlink(path);
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *s = &((const entry *)a)->used, *t = &((const entry *)b)->used;
    if (s->tv_sec != t->tv_sec)
        return s->tv_sec < t->tv_sec ? -1 : 1;
    return (s->tv_nsec > t->tv_nsec) - (s->tv_nsec < t->tv_nsec);
}

/* An entry that another thread writes meanwhile may be passed over. It has its name before its
 * bytes are added, so that they are not in what was read before the first look, and still count. */
nd_store_usage nd__store_scan(nd_kernel_store *s, bool evict)
{
    entries all = {0};
    char path[ND_STORE_PATH + 80];
    size_t gone = 0;
    const uint64_t before = s->added;
    if (!s->dir)
        return (nd_store_usage){0};
    visit_all(s->dir, list_file, &all);
    if (evict && all.nbytes > s->max_bytes)
        qsort(all.items, all.n, sizeof *all.items, by_use);
    for (; evict && gone < all.n && all.nbytes > s->max_bytes; gone++) {
        snprintf(path, sizeof path, "%s/%s", s->dir, all.items[gone].name);
        if (unlink(path) == 0)
            s->evicted++;
        all.nbytes -= all.items[gone].nbytes;
    }
    nd_store_usage usage = {all.n - gone, all.nbytes};
    free(all.items);
    s->base = usage.nbytes - before;
    atomic_store(&s->since_scan, 0);
    atomic_store(&s->scanned, true);
    return usage;
}

typedef struct {
    int err;
    char path[512];
} clearing;

static void remove_file(void *ctx, const char *path, const char *folder, const char *file,
                        bool temporary)
{
    clearing *c = ctx;
    (void)folder;
    (void)file;
    (void)temporary; /* the writer of a temporary file finds it gone, and gives up */
    if (unlink(path) != 0 && errno != ENOENT && !c->err) {
        c->err = errno;
        snprintf(c->path, sizeof c->path, "%s", path);
    }
}

nd_status nd__store_clear(nd_kernel_store *s)
{
    clearing c = {0};
    const uint64_t before = s->added;
    if (!s->dir)
        return ND_OK;
    visit_all(s->dir, remove_file, &c);
    s->base = 0 - before;
    return c.err ? nd__fail_errno(ND_ERR_IO, "kernel_cache_clear", c.err, "%s cannot be removed",
                                  c.path)
                 : (nd_status)ND_OK;
}
