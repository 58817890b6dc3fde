/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What tests of communicators on the simulator share: the ranks of one process. */
#ifndef NDOCK_TESTS_COMM_TEAM_H
#define NDOCK_TESTS_COMM_TEAM_H
#include <ndock/comm.h>
#include "tests/stream/lab.h"

enum { MOST = 4 };
typedef struct {
    int n;
    sim sim[MOST];
    nd_comm *comm[MOST];
} team;

__attribute__((unused)) static team new_team(int n)
{
    team t = {.n = n};
    nd_device *devices[MOST];
    for (int i = 0; i < n; i++) {
        t.sim[i] = open_sim(i);
        devices[i] = t.sim[i].d;
    }
    must(nd_comm_local(n, devices, t.comm));
    return t;
}

__attribute__((unused)) static void end_team(team *t)
{
    for (int i = 0; i < t->n; i++) {
        nd_comm_release(t->comm[i]);
        t->comm[i] = NULL;
    }
}

__attribute__((unused)) static void set_modes(const team *t, int mode)
{
    for (int i = 0; i < t->n; i++)
        must(t->sim[i].c->set_mode(t->sim[i].dev, mode));
}

/* Calls all_reduce of rank + 1 on every rank. */
__attribute__((unused)) static void sum_ranks(const team *t, nd_array **in, nd_array **out)
{
    for (int i = 0; i < t->n; i++) {
        in[i] = vector(t->sim[i].d, 10, i + 1);
        must(nd_comm_all_reduce(t->comm[i], in[i], NULL, &out[i]));
    }
}

__attribute__((unused)) static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

__attribute__((unused)) static const char *message(void)
{
    return nd_last_error()->message;
}

#endif
