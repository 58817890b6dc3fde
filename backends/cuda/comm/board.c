/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The board of a communicator. A rank's lock on its byte of the file lasts as long as its process, so
 * that the others see it die; its latest calls are kept, so that a rank which is behind can compare. */
#include "comm/board.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 16, NAME = 64 };
/* number is 0 while the text is written. */
typedef struct {
    _Atomic uint64_t number;
    char text[CUDA_CALL_TEXT];
} call;
typedef struct {
    _Atomic uint64_t latest;
    _Atomic int32_t entered, left;
    call calls[KEPT];
} place;
typedef struct {
    _Atomic int32_t n, failed; /* failed: 1 a rank writes why, 2 it is written */
    char why[CUDA_BOARD_TEXT];
    place rank[];
} shared;
struct cuda_board {
    shared *all;
    size_t nbytes;
    int32_t rank, n;
    int fd;
    char name[NAME];
};

/* ---- opening ---- */
static uint64_t hash(const unsigned char *bytes, size_t n, uint64_t h) /* FNV-1a */
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

static int lock_place(int fd, int32_t rank)
{
#ifdef F_OFD_SETLK
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock);
#else
    (void)fd, (void)rank;
    return 0;
#endif
}

static int is_alive(const cuda_board *b, int32_t rank)
{
#ifdef F_OFD_GETLK
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    return fcntl(b->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
#else
    (void)b, (void)rank;
    return 1;
#endif
}

/* Reserved now, since a full file system would be a signal later. */
static int map_board(cuda_board *b)
{
    struct stat st;
    b->fd = shm_open(b->name, O_RDWR | O_CREAT, 0600);
    if (b->fd < 0 || fstat(b->fd, &st) != 0 || st.st_uid != geteuid() ||
        posix_fallocate(b->fd, 0, (off_t)b->nbytes) != 0)
        return 0;
    void *p = mmap(NULL, b->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    b->all = p == MAP_FAILED ? NULL : p;
    return b->all != NULL;
}

static int enter(cuda_board *b)
{
    int32_t none = 0, n = 0;
    if (!atomic_compare_exchange_strong(&b->all->n, &n, b->n) && n != b->n)
        return 0;
    return lock_place(b->fd, b->rank) == 0 &&
           atomic_compare_exchange_strong(&b->all->rank[b->rank].entered, &none, 1);
}

cuda_board *cuda_board_open(const void *id, size_t id_bytes, int32_t rank, int32_t n)
{
    cuda_board *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->rank = rank;
    b->n = n;
    b->nbytes = sizeof(shared) + (size_t)n * sizeof(place);
    snprintf(b->name, sizeof b->name, "/ndock-nccl-%016llx%016llx",
             (unsigned long long)hash(id, id_bytes, UINT64_C(0xcbf29ce484222325)),
             (unsigned long long)hash(id, id_bytes, UINT64_C(0x9e3779b97f4a7c15)));
    if (map_board(b) && enter(b))
        return b;
    cuda_board_close(b);
    return NULL;
}

void cuda_board_unname(cuda_board *b)
{
    if (b)
        (void)shm_unlink(b->name);
}

void cuda_board_leave(cuda_board *b)
{
    if (b)
        atomic_store(&b->all->rank[b->rank].left, 1);
}

void cuda_board_close(cuda_board *b)
{
    if (!b)
        return;
    if (b->all)
        munmap(b->all, b->nbytes);
    if (b->fd >= 0)
        close(b->fd);
    free(b);
}

const char *cuda_board_absent(const cuda_board *b, char *text, size_t n)
{
    int at = 0, several = 0;
    char list[80] = "";
    for (int32_t r = 0; b && r < b->n && at < 60; r++)
        if (!atomic_load(&b->all->rank[r].entered)) {
            several += at != 0;
            at += snprintf(list + at, sizeof list - (size_t)at, "%s%d", at ? ", " : "", r);
        }
    snprintf(text, n, "%s%s", !at ? "" : several ? "ranks " : "rank ", list);
    return text;
}

/* ---- calls ---- */
void cuda_board_note(cuda_board *b, uint64_t number, const char *text)
{
    if (!b)
        return;
    place *mine = &b->all->rank[b->rank];
    call *c = &mine->calls[number % KEPT];
    atomic_store(&c->number, 0);
    snprintf(c->text, sizeof c->text, "%s", text);
    atomic_store(&c->number, number);
    atomic_store(&mine->latest, number);
}

/* The rank's collective `number`, where it is still kept. */
static int text_of(const cuda_board *b, int32_t rank, uint64_t number, char text[CUDA_CALL_TEXT])
{
    const call *c = &b->all->rank[rank].calls[number % KEPT];
    if (!number || atomic_load(&c->number) != number)
        return 0;
    memcpy(text, c->text, CUDA_CALL_TEXT);
    text[CUDA_CALL_TEXT - 1] = 0;
    return atomic_load(&c->number) == number;
}

const char *cuda_board_gone(const cuda_board *b, int32_t rank)
{
    if (!b || rank == b->rank || !atomic_load(&b->all->rank[rank].entered))
        return NULL;
    const int alive = is_alive(b, rank); /* asked first: one that leaves says so while it lives */
    if (atomic_load(&b->all->rank[rank].left))
        return "has left";
    return alive ? NULL : "has died";
}

static void tell_missing(const cuda_board *b, uint64_t number, const char *text, int32_t rank,
                         const char *because, char *why, size_t n)
{
    char latest[CUDA_CALL_TEXT];
    const uint64_t at = atomic_load(&b->all->rank[rank].latest);
    const int k = snprintf(why, n, "call %llu of rank %d, %s, waits for rank %d, which %s; ",
                           (unsigned long long)number, b->rank, text, rank, because);
    if (k < 0 || (size_t)k >= n)
        return;
    if (at && !text_of(b, rank, at, latest))
        snprintf(latest, sizeof latest, "which is not known");
    if (at)
        snprintf(why + k, n - (size_t)k, "its latest call was number %llu, %s",
                 (unsigned long long)at, latest);
    else
        snprintf(why + k, n - (size_t)k, "it has made no call");
}

int cuda_board_hopeless(const cuda_board *b, uint64_t number, const char *text, char *why, size_t n)
{
    char other[CUDA_CALL_TEXT];
    for (int32_t r = 0; b && r < b->n; r++) {
        const place *at = &b->all->rank[r];
        if (r == b->rank || !atomic_load(&at->entered))
            continue;
        /* What it did last is looked at after it is gone. */
        const char *gone = atomic_load(&at->latest) < number ? cuda_board_gone(b, r) : NULL;
        if (gone && atomic_load(&at->latest) < number) {
            tell_missing(b, number, text, r, gone, why, n);
            return 1;
        }
        if (text_of(b, r, number, other) && strcmp(other, text) != 0) {
            snprintf(why, n,
                     "call %llu of rank %d is %s, that of rank %d is %s; all ranks make the same "
                     "calls in the same order",
                     (unsigned long long)number, b->rank, text, r, other);
            return 1;
        }
    }
    return 0;
}

int cuda_board_late(const cuda_board *b, uint64_t number, const char *text, long long ms, char *why,
                    size_t n)
{
    char because[64];
    for (int32_t r = 0; b && r < b->n; r++) {
        const place *at = &b->all->rank[r];
        if (r == b->rank || !atomic_load(&at->entered) || atomic_load(&at->latest) >= number)
            continue;
        snprintf(because, sizeof because, "did not come within %lld ms", ms);
        tell_missing(b, number, text, r, because, why, n);
        return 1;
    }
    return 0;
}

/* ---- failing ---- */
void cuda_board_fail(cuda_board *b, const char *why)
{
    int32_t none = 0;
    if (!b || !atomic_compare_exchange_strong(&b->all->failed, &none, 1))
        return;
    snprintf(b->all->why, sizeof b->all->why, "%s", why);
    atomic_store(&b->all->failed, 2);
}

int cuda_board_failed(const cuda_board *b, char *why, size_t n)
{
    if (!b || atomic_load(&b->all->failed) != 2)
        return 0;
    snprintf(why, n, "%.*s", CUDA_BOARD_TEXT - 1, b->all->why);
    return 1;
}
