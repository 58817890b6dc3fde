/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Groups: the calls of a thread that the plug-in queues together at their end, and what has to wait
 * for that. */
#include <stdlib.h>
#include "core/collective/collective.h"

typedef struct {
    nd_stream *stream; /* retained; NULL: the device queues nothing */
    nd_array *from, *to;
} kept;
typedef struct {
    nd_comm *comm; /* retained */
    kept *all;
    int n, room;
} group;
/* This thread's; NULL: none is open. */
static group *open_group(void)
{
    return nd__self ? nd__self->comm_group : NULL;
}

bool nd__in_comm_group(void)
{
    return open_group() != NULL;
}

nd_status nd__comm_group_keep(const char *op, nd_stream *s, const nd_array *from,
                              const nd_array *to)
{
    group *g = open_group();
    if (g->n == g->room) {
        const int room = g->room ? 2 * g->room : 8;
        kept *all = realloc(g->all, (size_t)room * sizeof *all);
        if (!all)
            return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a group of %d calls", room);
        g->all = all;
        g->room = room;
    }
    g->all[g->n++] =
        (kept){nd_stream_retain(s), nd_retain((nd_array *)from), nd_retain((nd_array *)to)};
    return ND_OK;
}

nd_status nd_comm_group_begin(nd_comm *comm)
{
    static const char op[] = "comm_group_begin";
    ND_NEED(op, 0, comm);
    if (open_group())
        return nd__fail(ND_ERR_STATE, op, -1, "a group is open on this thread; groups do not nest");
    if (!comm->table.group_begin)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0, "communicators of %s have no groups",
                        comm->transport);
    nd_thread *t = nd__thread();
    group *g = t ? calloc(1, sizeof *g) : NULL;
    if (!g)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for a group");
    nd_status status = nd__comm_fails(comm, op, comm->table.group_begin(comm->dev));
    if (status != ND_OK) {
        free(g);
        return status;
    }
    g->comm = nd_comm_retain(comm);
    t->comm_group = g;
    return ND_OK;
}

static int by_id(const void *a, const void *b)
{
    const uint64_t x = nd__stream_id(((const kept *)a)->stream);
    const uint64_t y = nd__stream_id(((const kept *)b)->stream);
    return x < y ? -1 : x > y;
}

/* Streams are locked in the order of their ids, each once, while the plug-in queues on them. */
static void lock_streams(const group *g, bool lock)
{
    for (int i = 0; i < g->n; i++) {
        nd_stream *s = g->all[i].stream;
        if (!s || (i && s == g->all[i - 1].stream))
            continue;
        if (lock)
            pthread_mutex_lock(&s->lock);
        else
            pthread_mutex_unlock(&s->lock);
    }
}

static nd_status copy_out(const kept *k)
{
    nd_scope scope = {NULL, NULL};
    if (!k->to)
        return ND_OK;
    ND_RETURN_IF(nd__scope_enter("comm_group_end", k->to->storage->device, k->stream, &scope));
    const nd_status status = nd__copy_into(k->from, k->to);
    nd__scope_leave(&scope);
    return status;
}

nd_status nd_comm_group_end(nd_comm *comm)
{
    static const char op[] = "comm_group_end";
    group *g = open_group();
    ND_NEED(op, 0, comm);
    if (!g)
        return nd__fail(ND_ERR_STATE, op, -1, "no group was begun on this thread");
    nd__self->comm_group = NULL;
    if (g->n)
        qsort(g->all, (size_t)g->n, sizeof *g->all, by_id);
    lock_streams(g, true);
    nd_status status = g->comm->table.group_end(g->comm->dev);
    lock_streams(g, false);
    status = nd__comm_fails(g->comm, op, status);
    for (int i = 0; i < g->n; i++) {
        if (status == ND_OK)
            status = copy_out(&g->all[i]);
        nd_release(g->all[i].from);
        nd_release(g->all[i].to);
        nd_stream_release(g->all[i].stream);
    }
    nd_comm_release(g->comm);
    free(g->all);
    free(g);
    return status;
}
