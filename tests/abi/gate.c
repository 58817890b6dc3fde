/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A gate in a stream: a host function that waits, so that what is queued behind it has certainly
 * not run. It opens by itself in the end, so that a plug-in that waits where it should not is seen
 * and not waited for. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "abi.h"

struct abi_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open, late;
};

bool abi_has_gate(void)
{
    return abi.stream.launch_host != NULL;
}

static void stand(void *arg)
{
    abi_gate *g = arg;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 5;
    pthread_mutex_lock(&g->lock);
    while (!g->open && !g->late)
        g->late = pthread_cond_timedwait(&g->changed, &g->lock, &end) == ETIMEDOUT && !g->open;
    pthread_mutex_unlock(&g->lock);
}

abi_gate *abi_gate_close(ndp_stream *s)
{
    if (!abi_has_gate())
        return NULL;
    abi_gate *g = abi_bytes(sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    abi_call(abi.stream.launch_host(abi.dev, s, stand, g), "launch_host");
    return g;
}

bool abi_gate_open(abi_gate *g)
{
    if (!g)
        return true;
    pthread_mutex_lock(&g->lock);
    bool in_time = !g->late;
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return in_time;
}
