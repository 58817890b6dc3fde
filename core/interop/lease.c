/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Leases by POSIX locks on a file of two bytes: the owner locks the first for writing, those that take
 * it the second for reading. Such locks are a process's: children do not inherit them, and closing
 * any descriptor of the file drops them, so that a process opens each file once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/interop/lease.h"

enum { OWNER, TAKER };
struct nd_lease {
    char name[ND_LEASE_NAME];
    int fd, refs;
    bool mine, ended;
    nd_lease *next; /* of those taken */
};
static nd_lease *taken;
static uint32_t made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_lease(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static int byte_lock(int fd, int command, short type, int byte, short *found)
{
    struct flock f = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    const int r = fcntl(fd, command, &f);
    if (found)
        *found = f.l_type;
    return r;
}

/* Whether another process has such a lock on the byte. */
static bool is_locked(int fd, int byte)
{
    short found = F_UNLCK;
    return byte_lock(fd, F_GETLK, F_WRLCK, byte, &found) == 0 && found != F_UNLCK;
}

static nd_status failed(const char *op, const char *what, const char *name)
{
    return nd__fail(ND_ERR_IO, op, -1, "%s %s in shared memory: %s", what, name, strerror(errno));
}

nd_status nd__lease_make(const char *op, nd_lease **out)
{
    nd_lease *l = calloc(1, sizeof *l);
    *out = NULL;
    if (!l)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a lease");
    pthread_mutex_lock(&lock);
    do {
        snprintf(l->name, sizeof l->name, "/ndock-ipc-%ld-%u", (long)getpid(), (unsigned)made++);
        l->fd = shm_open(l->name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    } while (l->fd < 0 && errno == EEXIST); /* of an earlier process with this number */
    pthread_mutex_unlock(&lock);
    l->mine = true;
    if (l->fd >= 0 && ftruncate(l->fd, 2) == 0 &&
        byte_lock(l->fd, F_SETLK, F_WRLCK, OWNER, NULL) == 0) {
        *out = l;
        return ND_OK;
    }
    const nd_status status = failed(op, "making", l->name);
    if (l->fd >= 0) {
        close(l->fd);
        shm_unlink(l->name);
    }
    free(l);
    return status;
}

const char *nd__lease_name(const nd_lease *l)
{
    return l->name;
}

static nd_status ended(const char *op)
{
    return nd__fail(ND_ERR_STATE, op, 0,
                    "the array was released by the process that exported it, or that has ended");
}

/* Under the lock. */
static nd_status open_lease(const char *op, nd_lease *l)
{
    l->fd = shm_open(l->name, O_RDWR | O_CLOEXEC, 0);
    if (l->fd < 0)
        return errno == ENOENT ? ended(op) : failed(op, "opening", l->name);
    if (byte_lock(l->fd, F_SETLK, F_RDLCK, TAKER, NULL) == 0 && is_locked(l->fd, OWNER)) {
        l->next = taken;
        taken = l;
        return ND_OK;
    }
    close(l->fd);
    return ended(op);
}

nd_status nd__lease_take(const char *op, const char *name, nd_lease **out)
{
    nd_status status = ND_OK;
    pthread_mutex_lock(&lock);
    nd_lease *l = taken;
    while (l && strcmp(l->name, name) != 0)
        l = l->next;
    if (l && !is_locked(l->fd, OWNER)) {
        status = ended(op);
    } else if (!l && (l = calloc(1, sizeof *l)) == NULL) {
        status = nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a lease");
    } else if (l->refs == 0) {
        snprintf(l->name, sizeof l->name, "%s", name);
        status = open_lease(op, l);
        if (status != ND_OK)
            free(l);
    }
    if (status == ND_OK)
        l->refs++;
    *out = status == ND_OK ? l : NULL;
    pthread_mutex_unlock(&lock);
    return status;
}

bool nd__lease_is_taken(const nd_lease *l)
{
    return is_locked(l->fd, TAKER);
}

bool nd__lease_is_owned(const nd_lease *l)
{
    return is_locked(l->fd, OWNER);
}

void nd__lease_end(nd_lease *l)
{
    if (l->ended)
        return;
    l->ended = true;
    shm_unlink(l->name);
    (void)byte_lock(l->fd, F_SETLK, F_UNLCK, OWNER, NULL);
}

void nd__lease_drop(nd_lease *l)
{
    if (l->mine) {
        nd__lease_end(l);
        close(l->fd);
        free(l);
        return;
    }
    pthread_mutex_lock(&lock);
    const bool last = --l->refs == 0;
    nd_lease **at = &taken;
    while (last && *at != l)
        at = &(*at)->next;
    if (last) {
        *at = l->next;
        close(l->fd);
        free(l);
    }
    pthread_mutex_unlock(&lock);
}
