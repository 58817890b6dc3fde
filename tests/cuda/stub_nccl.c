/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A libnccl.so.2 between the ranks of one process, on memory of the host (STUB_CUDA_MEMORY=1). As the
 * real one it may want the calls of all ranks before it lets the first return: a call outside a group
 * waits for the others, and a group for those of all its calls. With STUB_NCCL_ALONE=1 the others are
 * in processes that join and never call. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#pragma GCC visibility push(default)

enum { MOST = 8, IN_PROGRESS = 7, INVALID_USAGE = 5, SYSTEM_ERROR = 2 };
enum { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECV };

/* What tests read: ranks that joined, split off, were destroyed and aborted, calls that ran; those
 * that did not block when the communicator was to. */
struct {
    _Atomic int joined, split, destroyed, aborted, calls;
} stub_nccl_counts;
/* What tests set: from then on every communicator tells of this error. */
_Atomic int stub_nccl_error;

typedef struct {
    char bytes[128];
} id;
typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking;
} config;
typedef struct team team;
typedef struct comm comm;
typedef struct call {
    int kind, dtype, op, peer, done;
    const char *in;
    char *out;
    size_t count;
    comm *by;
    struct call *next, *of_group;
} call;
struct comm {
    team *team, *child;
    int rank, aborted;
    call *calls;
};
struct team {
    id name;
    int n, joined, is_child;
    comm *member[MOST];
    team *next;
};
static team *teams;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Thread_local int depth;
static _Thread_local call *of_thread;

/* ---- elements ---- */
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16 };
static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static double from_bf16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return f;
}

/* Of values that bfloat16 has. */
static uint16_t to_bf16(double v)
{
    const float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* sum, prod, max, min; avg as a sum */
#define FOLD(a, b)                       \
    (op == 1   ? (a) * (b)               \
     : op == 2 ? ((a) > (b) ? (a) : (b)) \
     : op == 3 ? ((a) < (b) ? (a) : (b)) \
               : (a) + (b))
#define CASE(DTYPE, T, WIDE, READ, WRITE)                                  \
    case DTYPE:                                                            \
        for (size_t i = 0; i < count; i++) {                               \
            WIDE a = READ(((const T *)from)[i]), all = READ(((T *)to)[i]); \
            all = FOLD(all, a);                                            \
            if (op == 4 && last)                                           \
                all = (WIDE)(all / (WIDE)n);                               \
            ((T *)to)[i] = WRITE(all);                                     \
        }                                                                  \
        break;
static void fold(int dtype, int op, void *to, const void *from, size_t count, int n, int last)
{
    switch (dtype) {
        CASE(INT8, int8_t, int64_t, , (int8_t))
        CASE(UINT8, uint8_t, uint64_t, , (uint8_t))
        CASE(INT32, int32_t, int64_t, , (int32_t))
        CASE(UINT32, uint32_t, uint64_t, , (uint32_t))
        CASE(INT64, int64_t, int64_t, , (int64_t))
        CASE(UINT64, uint64_t, uint64_t, , (uint64_t))
        CASE(FLOAT16, _Float16, double, (double), (_Float16))
        CASE(FLOAT32, float, double, (double), (float))
        CASE(FLOAT64, double, double, , )
        CASE(BFLOAT16, uint16_t, double, from_bf16, to_bf16)
    }
}

/* ---- running what has come together; under the lock ---- */
static call *first(const comm *c, int message)
{
    call *at = c->calls;
    while (at && (at->kind >= SEND) != message)
        at = at->next;
    return at;
}

static void end_call(call *c)
{
    call **at = &c->by->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->done = 1;
    stub_nccl_counts.calls++;
}

static void run_reduction(call *const *all, int n)
{
    const call *c = all[0];
    const size_t whole = c->count * (size_t)(c->kind == REDUCE_SCATTER ? n : 1);
    const size_t item = sizes[c->dtype], share = c->count * item;
    char *sum = malloc(whole * item + 1);
    memcpy(sum, c->in, whole * item);
    for (int r = 1; r < n; r++)
        fold(c->dtype, c->op, sum, all[r]->in, whole, n, r == n - 1);
    for (int r = 0; r < n; r++)
        if (c->kind == REDUCE_SCATTER)
            memcpy(all[r]->out, sum + share * (size_t)r, share);
        else if (c->kind == ALL_REDUCE || r == c->peer)
            memcpy(all[r]->out, sum, share);
    free(sum);
}

static int run_collective(const team *t)
{
    call *all[MOST];
    for (int r = 0; r < t->n; r++)
        if (!t->member[r] || t->member[r]->aborted || (all[r] = first(t->member[r], 0)) == NULL)
            return 0;
    const call *c = all[0];
    const size_t share = c->count * sizes[c->dtype];
    for (int r = 1; r < t->n; r++)
        if (all[r]->kind != c->kind || all[r]->count != c->count)
            return 0; /* for ever */
    if (c->kind == ALL_REDUCE || c->kind == REDUCE || c->kind == REDUCE_SCATTER)
        run_reduction(all, t->n);
    for (int r = 0; r < t->n && c->kind == ALL_GATHER; r++)
        for (int i = 0; i < t->n; i++)
            memmove(all[r]->out + share * (size_t)i, all[i]->in, share);
    for (int r = 0; r < t->n && c->kind == BROADCAST; r++)
        memmove(all[r]->out, all[c->peer]->in, share);
    for (int r = 0; r < t->n; r++)
        end_call(all[r]);
    return 1;
}

static call *message(const comm *c, int kind, int peer)
{
    call *at = c->calls;
    while (at && (at->kind != kind || at->peer != peer))
        at = at->next;
    return at;
}

static int run_message(const team *t)
{
    for (int a = 0; a < t->n; a++)
        for (int b = 0; b < t->n; b++) {
            call *s = t->member[a] ? message(t->member[a], SEND, b) : NULL;
            call *r = t->member[b] ? message(t->member[b], RECV, a) : NULL;
            if (!s || !r || s->count != r->count)
                continue;
            memmove(r->out, s->in, s->count * sizes[s->dtype]);
            end_call(s);
            end_call(r);
            return 1;
        }
    return 0;
}

static void run_what_can(void)
{
    for (const team *t = teams; t; t = t->next)
        while (run_collective(t) || run_message(t))
            pthread_cond_broadcast(&changed);
}

/* ---- groups ---- */
int ncclGroupStart(void);
int ncclGroupEnd(void);

int ncclGroupStart(void)
{
    depth++;
    return 0;
}

int ncclGroupEnd(void)
{
    int aborted = 0;
    if (--depth)
        return 0;
    call *group = of_thread;
    of_thread = NULL;
    pthread_mutex_lock(&lock);
    for (call *c = group; c; c = c->of_group) {
        call **end = &c->by->calls;
        while (*end)
            end = &(*end)->next;
        *end = c;
    }
    run_what_can();
    for (call *c = group; c;) {
        if (c->by->aborted) {
            aborted = 1;
            if (!c->done)
                end_call(c);
        }
        if (!c->done) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        call *next = c->of_group;
        free(c);
        c = next;
    }
    pthread_mutex_unlock(&lock);
    return aborted ? SYSTEM_ERROR : 0;
}

static int add(comm *c, call like)
{
    ncclGroupStart();
    call *new = malloc(sizeof *new), **end = &of_thread;
    *new = like;
    new->by = c;
    while (*end)
        end = &(*end)->of_group;
    *end = new;
    return ncclGroupEnd();
}

/* ---- calls ---- */
int ncclAllReduce(const void *in, void *out, size_t n, int dtype, int op, comm *c, void *s);
int ncclReduce(const void *in, void *out, size_t n, int dtype, int op, int root, comm *c, void *s);
int ncclBroadcast(const void *in, void *out, size_t n, int dtype, int root, comm *c, void *s);
int ncclAllGather(const void *in, void *out, size_t n, int dtype, comm *c, void *s);
int ncclReduceScatter(const void *in, void *out, size_t n, int dtype, int op, comm *c, void *s);
int ncclSend(const void *in, size_t n, int dtype, int peer, comm *c, void *s);
int ncclRecv(void *out, size_t n, int dtype, int peer, comm *c, void *s);

int ncclAllReduce(const void *in, void *out, size_t n, int dtype, int op, comm *c, void *s)
{
    (void)s;
    return add(c, (call){ALL_REDUCE, dtype, op, .in = in, .out = out, .count = n});
}

int ncclReduce(const void *in, void *out, size_t n, int dtype, int op, int root, comm *c, void *s)
{
    (void)s;
    return add(c, (call){REDUCE, dtype, op, root, .in = in, .out = out, .count = n});
}

int ncclBroadcast(const void *in, void *out, size_t n, int dtype, int root, comm *c, void *s)
{
    (void)s;
    return add(c, (call){BROADCAST, dtype, 0, root, .in = in, .out = out, .count = n});
}

int ncclAllGather(const void *in, void *out, size_t n, int dtype, comm *c, void *s)
{
    (void)s;
    return add(c, (call){ALL_GATHER, dtype, .in = in, .out = out, .count = n});
}

int ncclReduceScatter(const void *in, void *out, size_t n, int dtype, int op, comm *c, void *s)
{
    (void)s;
    return add(c, (call){REDUCE_SCATTER, dtype, op, .in = in, .out = out, .count = n});
}

int ncclSend(const void *in, size_t n, int dtype, int peer, comm *c, void *s)
{
    (void)s;
    return add(c, (call){SEND, dtype, 0, peer, .in = in, .count = n});
}

int ncclRecv(void *out, size_t n, int dtype, int peer, comm *c, void *s)
{
    (void)s;
    return add(c, (call){RECV, dtype, 0, peer, .out = out, .count = n});
}

/* ---- life ---- */
int ncclGetVersion(int *version);
int ncclGetUniqueId(id *out);
int ncclCommInitRankConfig(comm **out, int n, id name, int rank, config *how);
int ncclCommSplit(comm *from, int color, int key, comm **out, config *how);
int ncclCommDestroy(comm *c);
int ncclCommAbort(comm *c);
int ncclCommGetAsyncError(comm *c, int *result);

int ncclGetVersion(int *version)
{
    const char *text = getenv("STUB_NCCL_VERSION");
    *version = text ? atoi(text) : 22809;
    return 0;
}

int ncclGetUniqueId(id *out)
{
    memset(out, 0, sizeof *out);
    return getrandom(out->bytes, 16, 0) == 16 ? 0 : SYSTEM_ERROR;
}

static team *team_of(const id *name, int n, int is_child)
{
    team *t = teams;
    while (t && (memcmp(&t->name, name, sizeof *name) != 0 || t->is_child != is_child))
        t = t->next;
    if (t)
        return t;
    t = calloc(1, sizeof *t);
    t->name = *name;
    t->n = n;
    t->is_child = is_child;
    t->next = teams;
    teams = t;
    return t;
}

static comm *join(const id *name, int n, int rank, int is_child)
{
    comm *c = calloc(1, sizeof *c);
    pthread_mutex_lock(&lock);
    c->team = team_of(name, n, is_child);
    c->rank = rank;
    c->team->member[rank] = c;
    c->team->joined += getenv("STUB_NCCL_ALONE") ? n : 1;
    pthread_mutex_unlock(&lock);
    return c;
}

int ncclCommInitRankConfig(comm **out, int n, id name, int rank, config *how)
{
    if (how->magic != 0xcafebeef || how->blocking || n > MOST)
        return INVALID_USAGE;
    stub_nccl_counts.joined++;
    *out = join(&name, n, rank, 0);
    return IN_PROGRESS;
}

int ncclCommSplit(comm *from, int color, int key, comm **out, config *how)
{
    if (color || key != from->rank || !how->blocking)
        return INVALID_USAGE;
    stub_nccl_counts.split++;
    *out = join(&from->team->name, from->team->n, from->rank, 1);
    from->child = (*out)->team;
    return IN_PROGRESS;
}

int ncclCommGetAsyncError(comm *c, int *result)
{
    pthread_mutex_lock(&lock);
    const team *t = c->child ? c->child : c->team;
    *result = stub_nccl_error ? stub_nccl_error : t->joined < t->n ? IN_PROGRESS : 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void leave(comm *c)
{
    pthread_mutex_lock(&lock);
    c->team->member[c->rank] = NULL;
    c->aborted = 1;
    pthread_cond_broadcast(&changed);
    const int used = c->calls != NULL;
    pthread_mutex_unlock(&lock);
    if (!used) /* else the call that waits still looks at it */
        free(c);
}

int ncclCommDestroy(comm *c)
{
    stub_nccl_counts.destroyed++;
    leave(c);
    return 0;
}

int ncclCommAbort(comm *c)
{
    stub_nccl_counts.aborted++;
    leave(c);
    return 0;
}
