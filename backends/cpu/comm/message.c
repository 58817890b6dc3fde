/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Messages between two ranks, through a ring of bytes each way, and groups: what a thread calls
 * between their two ends is done at the second one, its messages all at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "comm/comm.h"

typedef struct {
    int32_t depth;
    cpu_later *first, **end;
} group;
/* The thread's; NULL: none is open. Static thread-local storage is too scarce for a pointer that few
 * threads have. */
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    (void)pthread_key_create(&key, free);
}

static group *open_group(void)
{
    pthread_once(&once, make_key);
    return pthread_getspecific(key);
}

int32_t cpu_comm_in_group(void)
{
    return open_group() != NULL;
}

/* ---- rings ---- */
static uint64_t put(cpu_mail *m, const char *from, uint64_t n)
{
    const uint64_t written = atomic_load_explicit(&m->written, memory_order_relaxed);
    const uint64_t room =
        CPU_MAIL - (written - atomic_load_explicit(&m->taken, memory_order_acquire));
    n = n < room ? n : room;
    for (uint64_t i = 0; i < n;) {
        const uint64_t at = (written + i) % CPU_MAIL, left = CPU_MAIL - at;
        const uint64_t part = n - i < left ? n - i : left;
        memcpy(m->bytes + at, from + i, part);
        i += part;
    }
    atomic_store_explicit(&m->written, written + n, memory_order_release);
    return n;
}

static uint64_t take(cpu_mail *m, char *to, uint64_t n)
{
    const uint64_t taken = atomic_load_explicit(&m->taken, memory_order_relaxed);
    const uint64_t there = atomic_load_explicit(&m->written, memory_order_acquire) - taken;
    n = n < there ? n : there;
    for (uint64_t i = 0; i < n;) {
        const uint64_t at = (taken + i) % CPU_MAIL, left = CPU_MAIL - at;
        const uint64_t part = n - i < left ? n - i : left;
        memcpy(to + i, m->bytes + at, part);
        i += part;
    }
    atomic_store_explicit(&m->taken, taken + n, memory_order_release);
    return n;
}

/* ---- one message: its head, of count and dtype, then its elements ---- */
static uint64_t bytes_of(const cpu_later *l)
{
    return sizeof l->head + (uint64_t)(l->call.count * ndp_dtype_size(l->call.dtype));
}

static int32_t check_head(const cpu_later *l)
{
    char mine[CPU_CALL_TEXT], theirs[CPU_CALL_TEXT];
    cpu_signature sent = {CPU_CALL_send, 0, (int32_t)l->head[1], l->comm->rank, l->head[0]};
    if (sent.count == l->call.count && sent.dtype == l->call.dtype)
        return NDP_OK;
    return cpu_comm_fail(l->comm, "a message of rank %d is %s, what rank %d calls is %s",
                         l->call.root, cpu_call_text(&sent, theirs, sizeof theirs), l->comm->rank,
                         cpu_call_text(&l->call, mine, sizeof mine));
}

/* Moves what can be moved now; *moved: how many bytes. */
static int32_t move_on(cpu_later *l, uint64_t *moved)
{
    ndp_comm *c = l->comm;
    const int32_t sends = l->call.kind == CPU_CALL_send;
    cpu_mail *m =
        sends ? &c->mail[c->rank * c->n + l->call.root] : &c->mail[l->call.root * c->n + c->rank];
    *moved = 0;
    while (l->done < bytes_of(l)) {
        const int32_t in_head = l->done < sizeof l->head;
        const uint64_t at = in_head ? l->done : l->done - sizeof l->head;
        const uint64_t n = in_head ? sizeof l->head - l->done : bytes_of(l) - l->done;
        char *head = (char *)l->head + at;
        const uint64_t now = sends ? put(m, in_head ? head : l->in + at, n)
                                   : take(m, in_head ? head : l->out + at, n);
        if (!now)
            return NDP_OK;
        l->done += now;
        *moved += now;
        if (!sends && in_head && l->done == sizeof l->head) {
            const int32_t status = check_head(l);
            if (status != NDP_OK)
                return status;
        }
    }
    return NDP_OK;
}

static int32_t is_message(const cpu_later *l)
{
    return l->call.kind == CPU_CALL_send || l->call.kind == CPU_CALL_recv;
}

/* An earlier message goes the same way and is not done. */
static int32_t is_behind(const cpu_later *first, const cpu_later *l)
{
    for (const cpu_later *e = first; e != l; e = e->next)
        if (is_message(e) && e->comm == l->comm && e->call.kind == l->call.kind &&
            e->call.root == l->call.root && e->done < bytes_of(e))
            return 1;
    return 0;
}

static int32_t run_messages(cpu_later *first)
{
    cpu_patience patience = {0};
    for (;;) {
        uint64_t moved = 0, all = 0;
        const cpu_later *waits = NULL;
        for (cpu_later *l = first; l; l = l->next) {
            if (!is_message(l) || l->done == bytes_of(l))
                continue;
            int32_t status = is_behind(first, l) ? NDP_OK : move_on(l, &moved);
            if (status != NDP_OK)
                return status;
            all += moved;
            moved = 0;
            if (l->done < bytes_of(l) && !waits)
                waits = l;
        }
        if (!waits)
            return NDP_OK;
        if (all) {
            patience = (cpu_patience){0};
            continue;
        }
        const int32_t status = cpu_comm_pause(waits->comm, &patience, waits->call.root);
        if (status != NDP_OK)
            return status;
    }
}

/* ---- groups ---- */
static void note_calls(const cpu_later *first)
{
    for (const cpu_later *l = first; l; l = l->next)
        if (is_message(l))
            atomic_store(&l->comm->shared->rank[l->comm->rank].kind, l->call.kind);
}

static int32_t run_all(cpu_later *first)
{
    note_calls(first);
    int32_t status = run_messages(first);
    for (const cpu_later *l = first; l && status == NDP_OK; l = l->next)
        if (!is_message(l))
            status = cpu_comm_run(l);
    return status;
}

int32_t cpu_comm_later(const cpu_later *call)
{
    cpu_later *l = malloc(sizeof *l);
    if (!l)
        return cpu_error(NDP_ERR_MEMORY, "no memory for a group");
    *l = *call;
    l->next = NULL;
    group *g = open_group();
    *g->end = l;
    g->end = &l->next;
    return NDP_OK;
}

int32_t cpu_comm_group_begin(ndp_dev *dev)
{
    (void)dev;
    group *g = open_group();
    if (!g) {
        if ((g = malloc(sizeof *g)) == NULL || pthread_setspecific(key, g) != 0) {
            free(g);
            return cpu_error(NDP_ERR_MEMORY, "no memory for a group");
        }
        *g = (group){.end = &g->first};
    }
    g->depth++;
    return NDP_OK;
}

int32_t cpu_comm_group_end(ndp_dev *dev)
{
    (void)dev;
    group *g = open_group();
    if (!g)
        return cpu_error(NDP_ERR_STATE, "no group was begun on this thread");
    if (--g->depth)
        return NDP_OK;
    cpu_later *first = g->first;
    (void)pthread_setspecific(key, NULL);
    free(g);
    const int32_t status = run_all(first);
    for (cpu_later *next; first; first = next) {
        next = first->next;
        free(first);
    }
    return status;
}

static int32_t message(ndp_comm *c, int32_t kind, const ndp_exchange *x)
{
    const ndp_view *v = kind == CPU_CALL_send ? &x->in : &x->out;
    int32_t status = cpu_comm_failed(c);
    if (status != NDP_OK)
        return status;
    if (x->peer < 0 || x->peer >= c->n)
        return cpu_error(NDP_ERR_ARGUMENT, "there is no rank %d of %d", x->peer, c->n);
    int64_t count = 1;
    for (int d = 0; d < v->ndim; d++)
        count *= v->shape[d];
    cpu_later l = {.comm = c,
                   .call = {kind, 0, v->dtype, x->peer, count},
                   .in = kind == CPU_CALL_send ? cpu_ptr(v) : NULL,
                   .out = kind == CPU_CALL_send ? NULL : cpu_ptr(v)};
    if (kind == CPU_CALL_send) {
        l.head[0] = count;
        l.head[1] = v->dtype;
    }
    return open_group() ? cpu_comm_later(&l) : run_all(&l);
}

int32_t cpu_comm_send(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return message(c, CPU_CALL_send, x);
}

int32_t cpu_comm_recv(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x)
{
    (void)dev, (void)s;
    return message(c, CPU_CALL_recv, x);
}
