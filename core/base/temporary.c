/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Names of temporary files, and the removal of those that a killed process left. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "core/base/temporary.h"

enum { TRIES = 64, NAME_ROOM = 32 };

size_t nd__folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Makes names that differ between threads, processes and runs. They need not be hard to guess:
 * O_EXCL neither opens nor follows what is there already. */
static uint64_t fresh_number(void)
{
    static atomic_uint_fast64_t serial;
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t x = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    x ^= (uint64_t)getpid() << 40;
    return (x + atomic_fetch_add(&serial, 1)) * 0x9E3779B97F4A7C15u;
}

/* The same for all writers of a target (FNV-1a, Fowler, Noll and Vo). */
static uint64_t number_of(const char *file)
{
    uint64_t x = 0xCBF29CE484222325u;
    for (; *file; file++)
        x = (x ^ (unsigned char)*file) * 0x100000001B3u;
    return x;
}

/* Room for names in the target's folder, which is there already. */
static char *name_beside(const char *target)
{
    const size_t folder = nd__folder_length(target);
    char *name = malloc(folder + NAME_ROOM);
    if (name)
        memcpy(name, target, folder);
    return name;
}

static void set_number(char *name, size_t folder, uint64_t number)
{
    snprintf(name + folder, NAME_ROOM, ".ndock-%016llx.tmp", (unsigned long long)number);
}

/* Frees the name, and keeps errno. */
static void drop(char **name)
{
    const int err = errno;
    free(*name);
    *name = NULL;
    errno = err;
}

int nd__temporary_create(const char *target, mode_t mode, char **name)
{
    int fd = -1;
    *name = name_beside(target);
    for (int i = 0; *name && i < TRIES; i++) {
        set_number(*name, nd__folder_length(target), fresh_number());
        do
            fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        while (fd < 0 && errno == EINTR);
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    if (fd < 0)
        drop(name);
    return fd;
}

/* Removes a temporary file of ours whose writer is gone: nobody else holds the lock of the file that
 * has this name. Who holds it may remove the name, so that the name cannot change hands between the
 * look and the removal. True: it was removed. */
static bool remove_stale(const char *name)
{
    struct stat opened, there;
    bool removed = false;
    const int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    if (fstat(fd, &opened) == 0 && S_ISREG(opened.st_mode) && opened.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && lstat(name, &there) == 0 &&
        there.st_dev == opened.st_dev && there.st_ino == opened.st_ino)
        removed = unlink(name) == 0;
    close(fd);
    return removed;
}

bool nd__temporary_link(int fd, const char *target, char **name)
{
    const size_t folder = nd__folder_length(target);
    char own[40];
    int done = -1;
    /* Where files cannot be locked, one of a live writer would pass for one that was left. */
    bool fixed = flock(fd, LOCK_EX | LOCK_NB) == 0;
    *name = name_beside(target);
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    for (int i = 0; *name && i < TRIES; i++) {
        set_number(*name, folder, fixed ? number_of(target + folder) : fresh_number());
        done = linkat(AT_FDCWD, own, AT_FDCWD, *name, AT_SYMLINK_FOLLOW);
        if (done == 0 || errno != EEXIST)
            break;
        fixed = fixed && remove_stale(*name);
    }
    if (done != 0)
        drop(name);
    return done == 0;
}
