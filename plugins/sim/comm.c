/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.comm/1": communicators among the simulated devices of this process. Each call of a rank
 * finds its round, the calls of the other ranks that belong to it, and is compared with them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ndock/plugin_comm.h>
#include "simulator.h"

static sim_team *teams;
int32_t sim_comms_wait;
static int32_t teams_made;

/* The calls of a thread since group_begin. */
typedef struct {
    int32_t depth;
    sim_part *first, **end;
} sim_group;
static pthread_key_t group_key;
static pthread_once_t group_once = PTHREAD_ONCE_INIT;

static void make_group_key(void)
{
    (void)pthread_key_create(&group_key, free);
}

/* This thread's; NULL: none is open. No thread-local variable, for the reason that stream.c has. */
static sim_group *open_group(void)
{
    pthread_once(&group_once, make_group_key);
    return pthread_getspecific(group_key);
}

/* ---- texts ---- */
const char *sim_signature_text(const sim_signature *s, char *text, size_t n)
{
    static const char *const names[NDP_COMM_OPS] = {"sum", "prod", "min", "max", "avg"};
    const char *name = sim_entry_name(s->entry);
    const char *dtype = ndp_dtype_known(s->dtype) ? ndp_dtype_name(s->dtype) : "?";
    const int32_t reduces =
        s->entry == SIM_all_reduce || s->entry == SIM_reduce || s->entry == SIM_reduce_scatter;
    if (s->entry == SIM_barrier || !s->entry)
        snprintf(text, n, "%s", s->entry ? name : "none");
    else if (s->root >= 0)
        snprintf(text, n, "%s of %lld %s%s%s, %s %d", name, (long long)s->count, dtype,
                 reduces ? " by " : "", reduces ? names[s->reduce] : "",
                 s->entry == SIM_send   ? "to rank"
                 : s->entry == SIM_recv ? "from rank"
                                        : "root",
                 s->root);
    else
        snprintf(text, n, "%s of %lld %s%s%s", name, (long long)s->count, dtype,
                 reduces ? " by " : "", reduces ? names[s->reduce] : "");
    return text;
}

void sim_team_fail(sim_team *t, const char *fmt, ...)
{
    va_list args;
    if (t->failed)
        return; /* the first reason is told */
    t->failed = 1;
    int n = snprintf(t->why, sizeof t->why, "communicator %d of %d ranks: ", t->number, t->n);
    va_start(args, fmt);
    vsnprintf(t->why + n, sizeof t->why - (size_t)n, fmt, args);
    va_end(args);
    pthread_cond_broadcast(&sim_changed);
}

static int32_t failed(const sim_team *t)
{
    return t->failed ? sim_fail(NDP_ERR_COMM, 0, "%s", t->why) : NDP_OK;
}

/* ---- rounds ---- */
static void team_free_unused(sim_team *t)
{
    if (t->here || t->uses || t->joined < t->n)
        return;
    sim_team **at = &teams;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    for (sim_round *r; (r = t->rounds) != NULL; free(r))
        t->rounds = r->next;
    for (int32_t i = 0; i < t->n; i++)
        free(t->rank[i]);
    free(t);
}

static void round_free_unused(sim_round *r)
{
    if (r->parts)
        return;
    sim_round **at = &r->team->rounds;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    free(r);
}

static void part_drop(sim_part *p)
{
    sim_round *r = p->round;
    sim_team *t = p->comm->team;
    ndp_mem *const mems[2] = {p->in, p->out};
    sim_comms_wait -= p->active;
    if (r) {
        r->active -= p->active;
        r->part[p->place] = NULL;
        r->parts--;
        round_free_unused(r);
    }
    for (int i = 0; i < 2; i++)
        if (mems[i]) {
            if (mems[i]->base)
                sim_mem_unuse(mems[i]->base);
            sim_mem_unuse(mems[i]);
        }
    t->uses--;
    team_free_unused(t);
    free(p);
}

void sim_part_free(sim_part *p)
{
    for (sim_part *next; p; p = next) {
        next = p->next;
        part_drop(p);
    }
}

static sim_round *find_round(sim_team *t, uint64_t number, int32_t src, int32_t dst)
{
    sim_round *r = t->rounds;
    while (r && (r->number != number || r->src != src || r->dst != dst || r->done))
        r = r->next;
    return r;
}

static sim_round *round_for(ndp_comm *c, const sim_signature *like, int32_t *place)
{
    const int32_t sends = like->entry == SIM_send, message = sends || like->entry == SIM_recv;
    const int32_t src = !message ? -1 : sends ? c->rank : like->root;
    const int32_t dst = !message ? -1 : sends ? like->root : c->rank;
    const uint64_t number = !message ? ++c->calls : sends ? ++c->sent[dst] : ++c->received[src];
    sim_round *r = find_round(c->team, number, src, dst);
    *place = !message ? c->rank : sends ? 0 : 1;
    if (r || (r = calloc(1, sizeof *r)) == NULL)
        return r;
    r->team = c->team;
    r->like = *like;
    r->number = number;
    r->src = src;
    r->dst = dst;
    r->need = message ? 2 : c->team->n;
    r->next = c->team->rounds;
    c->team->rounds = r;
    return r;
}

/* The other rank's call, with which this one does not agree; -1: it agrees with all. */
static int32_t disagrees(const sim_round *r, const sim_signature *like)
{
    const int32_t message = r->src >= 0;
    const int32_t same = r->like.dtype == like->dtype && r->like.count == like->count &&
                         (message || (r->like.entry == like->entry && r->like.root == like->root &&
                                      r->like.reduce == like->reduce));
    for (int32_t i = 0; i < r->need && !same; i++)
        if (r->part[i])
            return r->part[i]->comm->rank;
    return -1;
}

static int32_t left_by(const sim_round *r)
{
    for (int32_t i = 0; i < r->need; i++) {
        const ndp_comm *c = r->team->rank[r->src < 0 ? i : i ? r->dst : r->src];
        if (!r->part[i] && c && c->left)
            return c->rank;
    }
    return -1;
}

static int32_t join_round(ndp_comm *c, const sim_signature *like, sim_part *p)
{
    char mine[SIM_CALL_TEXT], theirs[SIM_CALL_TEXT];
    sim_round *r = round_for(c, like, &p->place);
    if (!r)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a collective");
    int32_t other = disagrees(r, like), gone = left_by(r);
    sim_signature_text(like, mine, sizeof mine);
    if (other >= 0)
        sim_team_fail(c->team,
                      "call %llu of rank %d is %s, that of rank %d was %s; all ranks make the same "
                      "calls in the same order",
                      (unsigned long long)r->number, c->rank, mine, other,
                      sim_signature_text(&r->like, theirs, sizeof theirs));
    else if (gone >= 0)
        sim_team_fail(c->team,
                      "call %llu of rank %d is %s, but rank %d has left; its latest call was %s",
                      (unsigned long long)r->number, c->rank, mine, gone,
                      sim_signature_text(&c->team->rank[gone]->latest, theirs, sizeof theirs));
    c->latest = *like;
    r->part[p->place] = p;
    r->parts++;
    p->round = r;
    return failed(c->team);
}

/* ---- a call ---- */
static int64_t elements(const ndp_view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

static int32_t use_view(ndp_comm *c, const ndp_view *v, const char *what, ndp_mem **mem,
                        uint64_t *offset, uint64_t *nbytes)
{
    *mem = NULL;
    if (!v->mem)
        return NDP_OK;
    if (!(v->flags & NDP_VIEW_CONTIGUOUS))
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s on sim:%d: an operand is not dense in C order",
                        what, c->dev->index);
    *offset = (uint64_t)v->offset_bytes;
    *nbytes = (uint64_t)(elements(v) * sim_dtype_size(v->dtype));
    int32_t status = sim_check_range(c->dev, v->mem, *offset, *nbytes, what);
    if (status != NDP_OK)
        return status;
    *mem = v->mem;
    v->mem->uses++;
    if (v->mem->base)
        v->mem->base->uses++;
    return NDP_OK;
}

/* The share of one rank: what is gathered, scattered or exchanged has an extent of n more. */
static int64_t share(const ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    const ndp_view *v = x->in.mem && entry != SIM_reduce_scatter ? &x->in : &x->out;
    return entry == SIM_all_to_all ? elements(v) / c->team->n : elements(v);
}

static int32_t check_exchange(const ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    const char *what = sim_entry_name(entry);
    const int64_t n = c->team->n, count = share(c, entry, x);
    const int64_t in = count * (entry == SIM_reduce_scatter || entry == SIM_all_to_all ? n : 1);
    const int64_t out = count * (entry == SIM_all_gather || entry == SIM_all_to_all ? n : 1);
    if (x->reduce < 0 || x->reduce >= NDP_COMM_OPS)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s: %d is no reduction", what, x->reduce);
    if (x->peer < 0 || x->peer >= n)
        return sim_fail(NDP_ERR_ARGUMENT, 0, "%s: there is no rank %d of %d", what, x->peer,
                        (int)n);
    if ((x->in.mem && elements(&x->in) != in) || (x->out.mem && elements(&x->out) != out))
        return sim_fail(NDP_ERR_SHAPE, 0, "%s: operands of %lld and %lld elements do not fit", what,
                        (long long)elements(&x->in), (long long)elements(&x->out));
    return NDP_OK;
}

static sim_signature signature_of(const ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    sim_signature s = {.entry = entry, .root = -1};
    if (!x)
        return s;
    s.dtype = x->in.mem ? x->in.dtype : x->out.dtype;
    s.count = share(c, entry, x);
    if (entry == SIM_reduce || entry == SIM_broadcast || entry == SIM_send || entry == SIM_recv)
        s.root = x->peer;
    if (entry == SIM_all_reduce || entry == SIM_reduce || entry == SIM_reduce_scatter)
        s.reduce = x->reduce;
    return s;
}

/* One operation of the queue, of the parts from first on that are of it. */
static int32_t push_parts(sim_part *first)
{
    sim_queue *q = first->queue;
    uint64_t position = 0;
    sim_body *b =
        sim_body_new(SIM_OP_COMM, sim_entry_name(first->round->like.entry), q->dev, 0, NULL);
    if (!b) {
        sim_part_free(first);
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to queue a collective");
    }
    b->parts = first;
    if (q->capture) {
        sim_body_unref(b);
        return sim_fail(NDP_ERR_CAPTURE, 900, "sim captures no collectives");
    }
    for (sim_part *p = first; p; p = p->next)
        p->position = q->queued + 1;
    return sim_push(q, b, &position);
}

static int32_t add_part(sim_part *p)
{
    sim_group *group = open_group();
    if (!group)
        return push_parts(p);
    *group->end = p;
    group->end = &p->next;
    return NDP_OK;
}

static int32_t call(ndp_dev *dev, ndp_stream *s, ndp_comm *c, int32_t entry, const ndp_exchange *x)
{
    sim_call log = {.entry = entry, .dev = dev, .stream = s};
    int32_t status = sim_enter(&log);
    sim_queue *q = sim_queue_of(dev, s);
    sim_part *p = NULL;
    if (status == NDP_OK && (c->dev != dev || !q || q->dev != dev))
        status = sim_fail(NDP_ERR_DEVICE, 400,
                          "%s: the communicator's device is sim:%d, the stream "
                          "is not",
                          sim_entry_name(entry), c->dev->index);
    if (status == NDP_OK)
        status = failed(c->team);
    if (status == NDP_OK && x)
        status = check_exchange(c, entry, x);
    if (status == NDP_OK && (p = calloc(1, sizeof *p)) == NULL)
        status = sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a collective");
    if (status != NDP_OK)
        return sim_leave(&log, status);
    const sim_signature like = signature_of(c, entry, x);
    p->comm = c;
    p->queue = q;
    c->team->uses++;
    if (x)
        status = use_view(c, &x->in, sim_entry_name(entry), &p->in, &p->in_offset, &p->in_nbytes);
    if (x && status == NDP_OK)
        status =
            use_view(c, &x->out, sim_entry_name(entry), &p->out, &p->out_offset, &p->out_nbytes);
    if (status == NDP_OK)
        status = join_round(c, &like, p);
    if (status == NDP_OK)
        status = add_part(p);
    else
        sim_part_free(p);
    return sim_leave(&log, status);
}

#define CALL(name)                                                                       \
    static int32_t name(ndp_dev *dev, ndp_stream *s, ndp_comm *c, const ndp_exchange *x) \
    {                                                                                    \
        return call(dev, s, c, SIM_##name, x);                                           \
    }
CALL(all_reduce)
CALL(reduce)
CALL(broadcast)
CALL(all_gather)
CALL(reduce_scatter)
CALL(all_to_all)
CALL(send)
CALL(recv)

static int32_t barrier(ndp_dev *dev, ndp_stream *s, ndp_comm *c)
{
    return call(dev, s, c, SIM_barrier, NULL);
}

static int32_t group_begin(ndp_dev *dev)
{
    (void)dev;
    sim_group *group = open_group();
    if (!group) {
        group = malloc(sizeof *group);
        if (!group || pthread_setspecific(group_key, group) != 0) {
            free(group);
            return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a group");
        }
        *group = (sim_group){.end = &group->first};
    }
    group->depth++;
    return NDP_OK;
}

/* The parts of one queue become one operation of it, in the order of their calls. */
static int32_t group_end(ndp_dev *dev)
{
    int32_t status = NDP_OK;
    sim_group *group = open_group();
    if (!group)
        return sim_fail(NDP_ERR_STATE, 0, "group_end on sim:%d: no group was begun on this thread",
                        dev->index);
    if (--group->depth)
        return NDP_OK;
    pthread_mutex_lock(&sim_mutex);
    while (group->first) {
        sim_part *of_queue = NULL, **end = &of_queue, **at = &group->first;
        sim_queue *q = group->first->queue;
        while (*at) {
            sim_part *p = *at;
            if (p->queue != q) {
                at = &p->next;
                continue;
            }
            *at = p->next;
            p->next = NULL;
            *end = p;
            end = &p->next;
        }
        int32_t pushed = push_parts(of_queue);
        status = status == NDP_OK ? pushed : status;
    }
    pthread_mutex_unlock(&sim_mutex);
    (void)pthread_setspecific(group_key, NULL);
    free(group);
    return status;
}

/* ---- life ---- */
static uint64_t dtypes(ndp_dev *dev, int32_t reduce)
{
    (void)dev;
    return reduce >= 0 && reduce < NDP_COMM_OPS ? ndp_comm_combines(reduce) : 0;
}

static int32_t unique_id(ndp_dev *dev, void *id)
{
    static uint64_t made;
    sim_call c = {.entry = SIM_comm_id, .dev = dev};
    int32_t status = sim_enter(&c);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    memset(id, 0, NDP_COMM_ID_BYTES);
    snprintf(id, NDP_COMM_ID_BYTES, "sim %llu %lld.%ld", (unsigned long long)++made,
             (long long)now.tv_sec, now.tv_nsec);
    return sim_leave(&c, status);
}

static sim_team *team_of(const void *id, int32_t n, uint64_t timeout_ms)
{
    sim_team *t = teams;
    while (t && memcmp(t->id, id, sizeof t->id) != 0)
        t = t->next;
    if (t || (t = calloc(1, sizeof *t)) == NULL)
        return t;
    memcpy(t->id, id, sizeof t->id);
    t->n = n;
    t->number = ++teams_made;
    t->timeout_ms = timeout_ms;
    t->next = teams;
    teams = t;
    return t;
}

static int32_t join_team(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                         ndp_comm **out)
{
    if (n < 1 || n > SIM_MAX_DEVICES || rank < 0 || rank >= n)
        return sim_fail(NDP_ERR_ARGUMENT, 0,
                        "rank %d of %d; sim has communicators of 1 to %d ranks", rank, n,
                        SIM_MAX_DEVICES);
    sim_team *t = team_of(id, n, timeout_ms);
    ndp_comm *c = t && t->n == n && !t->rank[rank] ? calloc(1, sizeof *c) : NULL;
    if (t && t->n != n)
        return sim_fail(NDP_ERR_COMM, 0, "rank %d joins %d ranks, others %d", rank, n, t->n);
    if (t && t->rank[rank])
        return sim_fail(NDP_ERR_COMM, 0, "there are two of rank %d", rank);
    if (!c)
        return sim_fail(NDP_ERR_MEMORY, 0, "no host memory for a communicator");
    *c = (ndp_comm){.team = t, .dev = dev, .rank = rank};
    t->rank[rank] = c;
    t->joined++;
    t->here++;
    *out = c;
    pthread_cond_broadcast(&sim_changed);
    return NDP_OK;
}

static int32_t await_team(sim_team *t, int32_t rank)
{
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += (time_t)(t->timeout_ms / 1000);
    limit.tv_nsec += (long)(t->timeout_ms % 1000) * 1000000;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    int rc = 0;
    while (t->joined < t->n && !t->failed && rc == 0)
        rc = pthread_cond_timedwait(&sim_changed, &sim_mutex, &limit);
    for (int32_t i = 0; i < t->n && t->joined < t->n && !t->failed; i++)
        if (!t->rank[i])
            sim_team_fail(t, "rank %d waited %llu ms for rank %d, which did not join", rank,
                          (unsigned long long)t->timeout_ms, i);
    return failed(t);
}

static void leave_team(ndp_comm *c)
{
    sim_team *t = c->team;
    c->left = 1;
    t->here--;
    if (t->failed) /* nobody else can join any more */
        t->joined = t->n;
    team_free_unused(t);
    pthread_cond_broadcast(&sim_changed);
}

static int32_t init(ndp_dev *dev, int32_t rank, int32_t n, const void *id, uint64_t timeout_ms,
                    ndp_comm **out)
{
    sim_call c = {.entry = SIM_comm_init, .dev = dev, .nbytes = (uint64_t)rank};
    int32_t status = sim_enter(&c);
    *out = NULL;
    if (status == NDP_OK)
        status = join_team(dev, rank, n, id, timeout_ms, out);
    if (status == NDP_OK && !open_group() && (status = await_team((*out)->team, rank)) != NDP_OK) {
        leave_team(*out);
        *out = NULL;
    }
    return sim_leave(&c, status);
}

static void destroy(ndp_dev *dev, ndp_comm *comm)
{
    sim_call c = {.entry = SIM_comm_destroy, .dev = dev};
    int32_t status = sim_enter(&c);
    if (comm)
        leave_team(comm);
    (void)sim_leave(&c, status);
}

static int32_t abort_comm(ndp_dev *dev, ndp_comm *comm)
{
    sim_call c = {.entry = SIM_comm_abort, .dev = dev};
    int32_t status = sim_enter(&c);
    char text[SIM_CALL_TEXT];
    sim_team_fail(comm->team, "rank %d aborted it; its latest call was %s", comm->rank,
                  sim_signature_text(&comm->latest, text, sizeof text));
    return sim_leave(&c, status);
}

static int32_t async_error(ndp_dev *dev, ndp_comm *comm)
{
    (void)dev;
    pthread_mutex_lock(&sim_mutex);
    int32_t status = failed(comm->team);
    pthread_mutex_unlock(&sim_mutex);
    return status;
}

static const ndp_comm_1 whole = {
    .size = sizeof(ndp_comm_1),
    .dtypes = dtypes,
    .unique_id = unique_id,
    .init = init,
    .destroy = destroy,
    .abort = abort_comm,
    .async_error = async_error,
    .group_begin = group_begin,
    .group_end = group_end,
    .all_reduce = all_reduce,
    .reduce = reduce,
    .broadcast = broadcast,
    .all_gather = all_gather,
    .reduce_scatter = reduce_scatter,
    .all_to_all = all_to_all,
    .send = send,
    .recv = recv,
    .barrier = barrier,
};

static int32_t is_listed(const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = sim_set.comm; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]))
            return 1;
    return strcmp(sim_set.comm, "all") == 0;
}

static ndp_comm_1 table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    table = whole;
#define KEEP(name)         \
    if (!is_listed(#name)) \
        table.name = NULL;
    KEEP(all_reduce)
    KEEP(reduce)
    KEEP(broadcast)
    KEEP(all_gather)
    KEEP(reduce_scatter)
    KEEP(all_to_all)
    KEEP(send)
    KEEP(recv)
    KEEP(barrier)
#undef KEEP
}

const ndp_comm_1 *sim_comm_group(void)
{
    pthread_once(&table_once, make_table);
    return &table;
}
