/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Imported memory whose producer's stream waits until our work on it is done: a table by the name
 * of the memory, which every call that is queued is looked up in while there is anything in it. */
#include "core/stream/streams.h"

enum { BUCKETS = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static nd_follow *buckets[BUCKETS];
atomic_int nd__followed;

void nd__fork_followed(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

static nd_follow **bucket_of(const ndp_mem *mem)
{
    return &buckets[(uint64_t)(uintptr_t)mem * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static void count_more(int more) /* under the lock */
{
    atomic_store(&nd__followed, atomic_load_explicit(&nd__followed, memory_order_relaxed) + more);
}

void nd__follow_add(nd_follow *f)
{
    pthread_mutex_lock(&lock);
    nd_follow **bucket = bucket_of(f->mem);
    f->next = *bucket;
    *bucket = f;
    count_more(1);
    pthread_mutex_unlock(&lock);
}

void nd__follow_remove(nd_follow *f)
{
    pthread_mutex_lock(&lock);
    nd_follow **at = bucket_of(f->mem);
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    count_more(-1);
    pthread_mutex_unlock(&lock);
}

/* Retained; NULL: the memory is nobody's who would have to wait. */
static nd_stream *producer_of(const ndp_mem *mem)
{
    pthread_mutex_lock(&lock);
    const nd_follow *f = *bucket_of(mem);
    while (f && f->mem != mem)
        f = f->next;
    nd_stream *producer = f ? nd_stream_retain(f->producer) : NULL;
    pthread_mutex_unlock(&lock);
    return producer;
}

nd_status nd__follow_slow(nd_stream *s, ndp_mem *const *mem, int n)
{
    nd_stream *done[8];
    int n_done = 0;
    nd_status status = ND_OK;
    if (nd__capture_id(s)) /* the work runs with the graph, if ever */
        return ND_OK;
    for (int i = 0; i < n; i++) {
        nd_stream *producer = mem[i] ? producer_of(mem[i]) : NULL;
        bool known = !producer || producer == s;
        for (int k = 0; k < n_done && !known; k++)
            known = done[k] == producer;
        if (!known && status == ND_OK)
            status = nd_stream_wait_stream(producer, s);
        if (!known && n_done < 8)
            done[n_done++] = producer;
        else
            nd_stream_release(producer);
    }
    while (n_done)
        nd_stream_release(done[--n_done]);
    return status;
}

nd_status nd__follow_call_slow(nd_stream *s, const ndp_call *call)
{
    enum { MOST = NDP_PROGRAM_MAX_IN + NDP_PROGRAM_MAX_OUT };
    ndp_mem *mem[MOST];
    int n = 0;
    for (uint32_t i = 0; i < call->n_in && n < NDP_PROGRAM_MAX_IN; i++)
        mem[n++] = call->in[i].mem;
    for (uint32_t i = 0; i < call->n_out && n < MOST; i++)
        mem[n++] = call->out[i].mem;
    return nd__follow_slow(s, mem, n);
}
