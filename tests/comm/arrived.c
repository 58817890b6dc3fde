/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A rank of the CPU that loses its processor while it waits: meanwhile the other one comes, goes on, and ends the communicator.
 * The call in which all have met succeeds all the same. This program's sched_yield() comes before the C library's: while a rank
 * waits it is as long away as the other one takes. */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <ndock/comm.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

/* More waits than lie between two looks whether the communicator has failed. */
enum { MOMENTS = 70 };

static nd_comm_id id;
static _Atomic int countdown; /* waits of the slow rank until it is away; 0: it never is */
static pthread_t slow_thread, other_thread;
static nd_status joined, met;

/* The other rank: it comes, and aborts. */
static void *come_and_go(void *arg)
{
    nd_comm *c = arg;
    met = nd_comm_barrier(c);
    if (nd_comm_abort(c) != ND_OK)
        met = ND_ERR_STATE;
    return NULL;
}

static nd_comm *other;
__attribute__((visibility("default"))) int sched_yield(void)
{
    if (countdown && pthread_equal(pthread_self(), slow_thread) && --countdown == 0) {
        if (pthread_create(&other_thread, NULL, come_and_go, other) != 0)
            bail("no thread");
        pthread_join(other_thread, NULL);
    }
    return (int)syscall(SYS_sched_yield);
}

static void *join(void *arg)
{
    (void)arg;
    joined = nd_comm_init(NULL, 1, 2, &id, &other);
    return NULL;
}

/* How the slow rank's call ends when it is away at that wait. */
static nd_status away_at(int moment)
{
    nd_comm *mine = NULL;
    nd_status status = nd_comm_unique_id(NULL, &id);
    if (status != ND_OK || pthread_create(&other_thread, NULL, join, NULL) != 0)
        bail("no communicator");
    status = nd_comm_init(NULL, 0, 2, &id, &mine);
    pthread_join(other_thread, NULL);
    if (status != ND_OK || joined != ND_OK)
        bail(nd_last_error()->message);
    countdown = moment;
    status = nd_comm_barrier(mine);
    if (status != ND_OK)
        diag("moment %d: %s", moment, nd_last_error()->message);
    if (countdown || met != ND_OK || nd_comm_barrier(mine) != ND_ERR_COMM)
        status = ND_ERR_STATE;
    nd_comm_release(other);
    nd_comm_release(mine);
    return status;
}

static void away(void)
{
    int wrong = 0;
    slow_thread = pthread_self();
    for (int moment = 1; moment <= MOMENTS; moment++)
        wrong += away_at(moment) != ND_OK;
    is_int(wrong, 0,
           "a rank that was away when the others came and the communicator failed has met them");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"away", away}};
    setenv("NDOCK_DEVICE", "cpu", 1);
    setenv("NDOCK_COMM_TIMEOUT", "300000", 1);
    return tap_main(argc, argv, cases, 1);
}
