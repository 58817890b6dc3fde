/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files mapped for reading, and files replaced as a whole by rename. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/base/base.h"
#include "core/base/file.h"
#include "core/base/temporary.h"

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Maps the file that is open, whose size is known to be above 0. */
static nd_status map_pages(nd__map *map, int32_t mode, size_t size)
{
    const int access = mode == ND_MAP_READ ? PROT_READ : PROT_READ | PROT_WRITE;
    const int kind = mode == ND_MAP_WRITE ? MAP_SHARED : MAP_PRIVATE;
    void *p = mmap(NULL, size, access, kind, map->fd, 0);
    if (p == MAP_FAILED)
        return nd__fail_errno(errno == ENOMEM ? ND_ERR_MEMORY : ND_ERR_IO, map->op, errno,
                              "cannot map %s", map->path);
    map->data = p;
    map->size = size;
    return ND_OK;
}

nd_status nd__map_open(const char *op, const char *path, nd__map *out)
{
    return nd__map_open_as(op, path, ND_MAP_READ, out);
}

nd_status nd__map_open_as(const char *op, const char *path, int32_t mode, nd__map *out)
{
    struct stat st;
    nd_status status = ND_OK;

    memset(out, 0, sizeof *out);
    out->fd = -1;
    if (!path)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "path is NULL");
    out->op = op;
    out->path = path;
    out->data = (const unsigned char *)"";
    /* O_NONBLOCK: a pipe is to be refused, not waited for. */
    out->fd =
        open_retry(path, (mode == ND_MAP_WRITE ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY, 0);
    if (out->fd < 0)
        return nd__fail_errno(ND_ERR_IO, op, errno, "cannot open %s%s", path,
                              mode == ND_MAP_WRITE ? " for writing" : "");
    if (fstat(out->fd, &st) < 0) {
        status = nd__fail_errno(ND_ERR_IO, op, errno, "cannot look at %s", path);
    } else if (S_ISDIR(st.st_mode)) {
        status = nd__fail_errno(ND_ERR_IO, op, EISDIR, "cannot read %s", path);
    } else if (!S_ISREG(st.st_mode)) {
        status = nd__fail(ND_ERR_IO, op, 0, "%s is not a regular file: copy it into one", path);
    } else if ((uintmax_t)st.st_size > SIZE_MAX / 2) {
        status = nd__fail(ND_ERR_OVERFLOW, op, 0, "%s is too large to be mapped", path);
    } else if (st.st_size > 0) {
        status = map_pages(out, mode, (size_t)st.st_size);
    }
    if (status != ND_OK)
        nd__map_close(out);
    return status;
}

nd_status nd__map_check(const nd__map *map)
{
    struct stat st;
    if (fstat(map->fd, &st) < 0)
        return nd__fail_errno(ND_ERR_IO, map->op, errno, "cannot look at %s", map->path);
    if ((uintmax_t)st.st_size < map->size)
        return nd__fail(ND_ERR_IO, map->op, -1,
                        "%s had %zu bytes when it was opened and has %jd now: it is being "
                        "rewritten",
                        map->path, map->size, (intmax_t)st.st_size);
    return ND_OK;
}

void nd__map_close(nd__map *map)
{
    if (map->size)
        munmap((void *)(uintptr_t)map->data, map->size);
    if (map->fd >= 0)
        close(map->fd);
    map->data = (const unsigned char *)"";
    map->size = 0;
    map->fd = -1;
}

nd_status nd__save_opts_check(const char *op, int32_t argument, const nd_save_opts *opts)
{
    if (opts && opts->size < sizeof *opts)
        return nd__fail(ND_ERR_ARGUMENT, op, argument,
                        "opts->size is %u: set it to sizeof(nd_save_opts), %zu",
                        (unsigned)opts->size, sizeof *opts);
    return ND_OK;
}

/* Opens a file that has no name until it is whole. False: the file system has none of these, or
 * there is no /proc to give them a name by. */
static bool open_unnamed(nd__writer *w, mode_t mode)
{
    const size_t folder = nd__folder_length(w->target);
    char *name = folder ? strndup(w->target, folder) : strdup(".");
    w->fd = name ? open_retry(name, O_WRONLY | O_TMPFILE, mode) : -1;
    free(name);
    w->unnamed = w->fd >= 0 && access("/proc/self/fd", X_OK) == 0;
    if (w->fd >= 0 && !w->unnamed) {
        close(w->fd);
        w->fd = -1;
    }
    return w->unnamed;
}

static nd_status open_temporary(nd__writer *w, const struct stat *old)
{
    mode_t mode = old ? old->st_mode & 0777 : 0666;
    if (!open_unnamed(w, mode))
        w->fd = nd__temporary_create(w->target, mode, &w->temporary);
    if (w->fd < 0)
        return nd__fail_errno(errno == ENOMEM ? ND_ERR_MEMORY : ND_ERR_IO, w->op, errno,
                              "cannot create a file in the folder of %s", w->path);
    /* A file that is replaced keeps its mode; a file system without modes is no reason to fail. */
    if (old)
        (void)!fchmod(w->fd, mode);
    return ND_OK;
}

/* Where the bytes go: through symbolic links, as with open(), so that a link stays a link. */
static nd_status find_target(nd__writer *w, struct stat *st, int *exists)
{
    struct stat link;
    *exists = 0;
    if (lstat(w->path, &link) < 0) {
        if (errno != ENOENT)
            return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot write %s", w->path);
    } else if (stat(w->path, st) < 0) {
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot write %s, a symbolic link", w->path);
    } else {
        *exists = 1;
    }
    if (*exists && S_ISDIR(st->st_mode))
        return nd__fail_errno(ND_ERR_IO, w->op, EISDIR, "cannot write %s", w->path);
    /* rename() would replace a write-protected file. */
    if (*exists && faccessat(AT_FDCWD, w->path, W_OK, AT_EACCESS) < 0)
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot write %s", w->path);
    w->target = *exists && S_ISLNK(link.st_mode) && S_ISREG(st->st_mode) ? realpath(w->path, NULL)
                                                                         : strdup(w->path);
    if (!w->target)
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot resolve %s", w->path);
    return ND_OK;
}

nd_status nd__writer_open(const char *op, const char *path, nd__writer *out)
{
    struct stat st;
    int exists;
    nd_status status;

    memset(out, 0, sizeof *out);
    out->fd = -1;
    if (!path)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "path is NULL");
    if (!*path)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "path is empty");
    out->op = op;
    out->path = path;
    ND_GOTO_IF(failed, find_target(out, &st, &exists));
    if (exists && !S_ISREG(st.st_mode)) {
        out->fd = open_retry(path, O_WRONLY | O_NOCTTY, 0);
        if (out->fd >= 0)
            return ND_OK;
        status = nd__fail_errno(ND_ERR_IO, op, errno, "cannot open %s", path);
        goto failed;
    }
    ND_GOTO_IF(failed, open_temporary(out, exists ? &st : NULL));
    return ND_OK;
failed:
    nd__writer_close(out);
    return status;
}

nd_status nd__writer_put(nd__writer *w, const void *data, size_t nbytes)
{
    const size_t most = (size_t)1 << 30; /* Linux writes at most 2 GiB - 4 KiB in a call */
    const unsigned char *p = data;
    while (nbytes > 0) {
        ssize_t n = write(w->fd, p, nbytes < most ? nbytes : most);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return nd__fail_errno(ND_ERR_IO, w->op, n < 0 ? errno : ENOSPC, "cannot write %s",
                                  w->path);
        p += n;
        nbytes -= (size_t)n;
    }
    return ND_OK;
}

/* The file is in place, but only a written folder survives a power cut. */
static nd_status sync_folder(const nd__writer *w)
{
    const size_t folder = nd__folder_length(w->target);
    char *name = folder ? strndup(w->target, folder) : strdup(".");
    int fd = name ? open_retry(name, O_RDONLY | O_DIRECTORY, 0) : -1;
    int failed = fd < 0 || fsync(fd) < 0, err = errno;
    if (fd >= 0)
        close(fd);
    free(name);
    /* EINVAL: a file system that has nothing to sync. */
    if (failed && err != EINVAL)
        return nd__fail_errno(ND_ERR_IO, w->op, err,
                              "%s is written, but its folder could not be synchronised", w->path);
    return ND_OK;
}

/* After EINTR the descriptor is gone on Linux. */
static nd_status close_written(nd__writer *w)
{
    const int fd = w->fd;
    w->fd = -1;
    if (close(fd) < 0 && errno != EINTR)
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot write %s", w->path);
    return ND_OK;
}

nd_status nd__writer_commit(nd__writer *w, const nd_save_opts *opts)
{
    int sync = opts && opts->sync;
    if (sync && fsync(w->fd) < 0 && (w->temporary || w->unnamed || errno != EINVAL))
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot synchronise %s", w->path);
    /* linkat() replaces no file, so that the name is not the target's: rename() follows at once. */
    if (w->unnamed && !nd__temporary_link(w->fd, w->target, &w->temporary))
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot give %s its name", w->path);
    /* Network file systems report a full disk at close; they have no files without a name, whose
     * lock is to outlast the temporary one. */
    if (!w->unnamed)
        ND_RETURN_IF(close_written(w));
    if (!w->temporary)
        return ND_OK;
    if (rename(w->temporary, w->target) < 0)
        return nd__fail_errno(ND_ERR_IO, w->op, errno, "cannot replace %s", w->path);
    free(w->temporary);
    w->temporary = NULL;
    if (w->unnamed)
        ND_RETURN_IF(close_written(w));
    return sync ? sync_folder(w) : ND_OK;
}

void nd__writer_close(nd__writer *w)
{
    if (w->temporary)
        unlink(w->temporary);
    if (w->fd >= 0)
        close(w->fd);
    free(w->temporary);
    free(w->target);
    w->fd = -1;
    w->temporary = w->target = NULL;
}
