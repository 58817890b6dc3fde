/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The segment that the ranks share: joining, meeting, leaving. A rank's lock on its byte of the file
 * lasts as long as its process, so that the others see it die. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "comm/comm.h"

static const char *const call_names[] = {
    "none",           "all_reduce", "reduce",  "broadcast", "all_gather",
    "reduce_scatter", "all_to_all", "barrier", "send",      "recv"};

const char *cpu_call_text(const cpu_signature *s, char *text, size_t n)
{
    static const char *const names[NDP_COMM_OPS] = {"sum", "prod", "min", "max", "avg"};
    const int32_t reduces = s->kind == CPU_CALL_all_reduce || s->kind == CPU_CALL_reduce ||
                            s->kind == CPU_CALL_reduce_scatter;
    int at = snprintf(text, n, "%s", call_names[s->kind]);
    if (s->kind != CPU_CALL_barrier && s->kind != CPU_CALL_NONE)
        at += snprintf(text + at, n - (size_t)at, " of %lld %s", (long long)s->count,
                       ndp_dtype_name(s->dtype));
    if (reduces)
        at += snprintf(text + at, n - (size_t)at, " by %s", names[s->reduce]);
    if (s->root >= 0)
        snprintf(text + at, n - (size_t)at, ", %s %d",
                 s->kind == CPU_CALL_send   ? "to rank"
                 : s->kind == CPU_CALL_recv ? "from rank"
                                            : "root",
                 s->root);
    return text;
}

/* ---- failing ---- */
int32_t cpu_comm_failed(ndp_comm *c)
{
    const struct timespec moment = {.tv_nsec = 100000};
    int32_t state = atomic_load(&c->shared->failed);
    for (int i = 0; state == 1 && i < 1000; i++) { /* the rank that writes it may die */
        nanosleep(&moment, NULL);
        state = atomic_load(&c->shared->failed);
    }
    if (!state)
        return NDP_OK;
    return cpu_error(NDP_ERR_COMM, "%.*s", CPU_COMM_TEXT,
                     state == 2 ? c->shared->why : "a rank ended while the communicator failed");
}

int32_t cpu_comm_fail(ndp_comm *c, const char *fmt, ...)
{
    va_list args;
    int32_t none = 0;
    if (atomic_compare_exchange_strong(&c->shared->failed, &none, 1)) {
        va_start(args, fmt);
        vsnprintf(c->shared->why, sizeof c->shared->why, fmt, args);
        va_end(args);
        atomic_store(&c->shared->failed, 2);
    }
    return cpu_comm_failed(c);
}

/* ---- who is there ---- */
static int lock_rank(int fd, int32_t rank)
{
#ifdef F_OFD_SETLK
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    return fcntl(fd, F_OFD_SETLK, &lock);
#else
    (void)fd, (void)rank;
    return 0;
#endif
}

static int is_alive(const ndp_comm *c, int32_t rank)
{
#ifdef F_OFD_GETLK
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
    return rank == c->rank || fcntl(c->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
#else
    (void)c, (void)rank;
    return 1;
#endif
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What this rank does, and what the missing one did last. */
static int32_t give_up(ndp_comm *c, int32_t rank, const char *because)
{
    const cpu_rank *mine = &c->shared->rank[c->rank], *other = &c->shared->rank[rank];
    return cpu_comm_fail(c,
                         "call %llu of rank %d, %s, waits for rank %d, which %s; its latest call "
                         "was number %llu, %s",
                         (unsigned long long)atomic_load(&mine->calls), c->rank,
                         call_names[atomic_load(&mine->kind)], rank, because,
                         (unsigned long long)atomic_load(&other->calls),
                         call_names[atomic_load(&other->kind)]);
}

/* Why the rank will not come any more; NULL: it may. One that leaves says so before its lock is gone, so
 * whether it lives is asked first. */
static const char *why_gone(const ndp_comm *c, int32_t rank, int32_t joined)
{
    const int dead = joined && !is_alive(c, rank);
    if (atomic_load(&c->shared->rank[rank].left))
        return "has left";
    return dead ? "has died" : NULL;
}

enum { SPINS = 200, YIELDS = 2000, SLEEP_NS = 50000, LOOK_EVERY = 64 };

/* Why a wait for the rank is to end, as it is seen now. */
static cpu_wait_end look(ndp_comm *c, cpu_patience *p, int32_t rank)
{
    if (atomic_load(&c->shared->failed))
        return CPU_FAILED;
    p->gone = rank;
    p->because = why_gone(c, rank, atomic_load(&c->shared->rank[rank].joined));
    if (p->because)
        return CPU_GONE;
    return now_ns() < p->deadline_ns ? CPU_WAITS : CPU_LATE;
}

static int32_t end_wait(ndp_comm *c, const cpu_patience *p, int32_t rank)
{
    char late[64];
    if (p->end != CPU_LATE)
        return p->end == CPU_FAILED ? cpu_comm_failed(c) : give_up(c, rank, p->because);
    snprintf(late, sizeof late, "did not %s within %llu ms",
             atomic_load(&c->shared->rank[rank].joined) ? "come" : "join",
             (unsigned long long)c->timeout_ms);
    return give_up(c, rank, late);
}

int32_t cpu_comm_pause(ndp_comm *c, cpu_patience *p, int32_t rank)
{
    const struct timespec moment = {.tv_nsec = SLEEP_NS};
    if (p->end != CPU_WAITS && (p->end != CPU_GONE || p->gone == rank))
        return end_wait(c, p, rank);
    if (p->looks++ < SPINS)
        return NDP_OK;
    if (!p->deadline_ns)
        p->deadline_ns = now_ns() + c->timeout_ms * 1000000u;
    if (p->looks < YIELDS)
        sched_yield();
    else
        nanosleep(&moment, NULL);
    if (p->looks % LOOK_EVERY == 0)
        p->end = look(c, p, rank);
    return NDP_OK;
}

/* All ranks have the segment open, or nobody will want it. */
static void unname(ndp_comm *c)
{
    if (c->name[0])
        (void)shm_unlink(c->name);
    c->name[0] = 0;
}

int32_t cpu_comm_meet(ndp_comm *c)
{
    cpu_patience patience = {0};
    const uint64_t phase = ++c->phase;
    atomic_store_explicit(&c->shared->rank[c->rank].phase, phase, memory_order_release);
    for (int32_t r = 0; r < c->n; r++)
        while (atomic_load_explicit(&c->shared->rank[r].phase, memory_order_acquire) < phase) {
            const int32_t status = cpu_comm_pause(c, &patience, r);
            if (status != NDP_OK)
                return status;
        }
    unname(c);
    return NDP_OK;
}

/* ---- joining and leaving ---- */
/* The name of the segment and, since it has 128 bits that nobody can guess, the right to join. */
int32_t cpu_comm_unique_id(ndp_dev *dev, void *id)
{
    uint64_t bits[2];
    (void)dev;
    memset(id, 0, NDP_COMM_ID_BYTES);
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return cpu_error(NDP_ERR_IO, "no random bytes for a communicator's name: %s",
                         strerror(errno));
    snprintf(id, NDP_COMM_ID_BYTES, "/ndock-%ld-%016llx%016llx", (long)getpid(),
             (unsigned long long)bits[0], (unsigned long long)bits[1]);
    return NDP_OK;
}

static int32_t map_segment(ndp_comm *c, const char *name)
{
    struct stat st;
    const size_t n = (size_t)c->n, head = (sizeof(cpu_segment) + 4095) / 4096 * 4096;
    c->nbytes = head + 2 * n * CPU_CHUNK + n * n * sizeof(cpu_mail);
    c->fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (c->fd < 0)
        return cpu_error(NDP_ERR_IO, "shared memory %s: %s", name, strerror(errno));
    if (fstat(c->fd, &st) != 0 || st.st_uid != geteuid())
        return cpu_error(NDP_ERR_COMM, "shared memory %s is not this user's", name);
    /* Reserved now, since a full file system would be a signal later. */
    const int rc = posix_fallocate(c->fd, 0, (off_t)c->nbytes);
    if (rc != 0)
        return cpu_error(NDP_ERR_MEMORY, "no %llu bytes of shared memory for %d ranks: %s",
                         (unsigned long long)c->nbytes, c->n, strerror(rc));
    void *p = mmap(NULL, c->nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    if (p == MAP_FAILED)
        return cpu_error(NDP_ERR_MEMORY, "shared memory %s cannot be mapped: %s", name,
                         strerror(errno));
    c->shared = p;
    c->buffers = (char *)p + head;
    c->mail = (cpu_mail *)(void *)(c->buffers + 2 * n * CPU_CHUNK);
    return NDP_OK;
}

static int32_t take_place(ndp_comm *c)
{
    int32_t none = 0, n = 0;
    if (!atomic_compare_exchange_strong(&c->shared->n, &n, c->n) && n != c->n)
        return cpu_comm_fail(c, "rank %d joins %d ranks, another one %d", c->rank, c->n, n);
    if (lock_rank(c->fd, c->rank) != 0 ||
        !atomic_compare_exchange_strong(&c->shared->rank[c->rank].joined, &none, 1))
        return cpu_comm_fail(c, "there are two of rank %d", c->rank);
    return NDP_OK;
}

/* Others may have met, and one of them left, while this rank slept: then all have joined, and the next
 * call says who is missing. */
static int32_t await_others(ndp_comm *c)
{
    cpu_patience patience = {0};
    for (int32_t r = 0; r < c->n; r++) {
        const _Atomic int32_t *joined = &c->shared->rank[r].joined;
        while (!atomic_load(joined)) {
            const int32_t status = cpu_comm_pause(c, &patience, r);
            if (status != NDP_OK && !atomic_load(joined))
                return status;
        }
    }
    return NDP_OK;
}

int32_t cpu_comm_join(int32_t rank, int32_t n, const void *id, uint64_t timeout_ms, int32_t wait,
                      ndp_comm **out)
{
    char name[NDP_COMM_ID_BYTES];
    *out = NULL;
    memcpy(name, id, sizeof name);
    name[sizeof name - 1] = 0;
    if (strncmp(name, "/ndock-", 7) != 0 || strchr(name + 1, '/'))
        return cpu_error(NDP_ERR_ARGUMENT, "the bytes are no name of a communicator of the CPU");
    if (n < 1 || n > CPU_RANKS || rank < 0 || rank >= n)
        return cpu_error(NDP_ERR_ARGUMENT, "rank %d of %d; there can be 1 to %d ranks", rank, n,
                         CPU_RANKS);
    ndp_comm *c = calloc(1, sizeof *c);
    if (!c)
        return cpu_error(NDP_ERR_MEMORY, "no memory for a communicator");
    c->rank = rank;
    c->n = n;
    c->timeout_ms = timeout_ms;
    memcpy(c->name, name, sizeof c->name);
    int32_t status = map_segment(c, name);
    if (status == NDP_OK)
        status = take_place(c);
    if (status == NDP_OK && wait)
        status = await_others(c);
    if (status == NDP_OK && wait)
        unname(c);
    if (status != NDP_OK) {
        cpu_comm_leave(c);
        return status;
    }
    *out = c;
    return NDP_OK;
}

void cpu_comm_leave(ndp_comm *c)
{
    if (!c)
        return;
    unname(c); /* of one that was joined in a group, and never met the others */
    if (c->shared) {
        atomic_store(&c->shared->rank[c->rank].left, 1);
        munmap(c->shared, c->nbytes);
    }
    if (c->fd > 0)
        close(c->fd);
    free(c);
}
