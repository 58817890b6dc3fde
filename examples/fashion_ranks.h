/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Training by several processes: each has a part of every batch, and the gradients of all, which lie
 * one behind the other in memory, are added up in one exchange. The includer has the network, its
 * batch, and CHECK(call). */
#ifndef FASHION_RANKS_H
#define FASHION_RANKS_H
#include <ndock/comm.h>
#include <ndock/ndock.h>

/* comm NULL: this process alone. */
typedef struct {
    nd_comm *comm;
    int64_t rank, n;
} ranks;
static ranks team = {.n = 1};

static void join_team(nd_device *device)
{
    CHECK(nd_comm_world(device, &team.comm));
    team.rank = nd_comm_rank(team.comm);
    team.n = nd_comm_size(team.comm);
}

/* g[i] becomes a view of common memory, which is returned, of the shape of p[i]. */
static nd_array *join_gradients(nd_array *const *p, nd_array **g, int n)
{
    nd_array *flat;
    int64_t size = 0, at = 0;
    for (int i = 0; i < n; i++)
        size += nd_size(p[i]);
    flat = make(ND_F32, 1, size, 0);
    for (int i = 0; i < n; at += nd_size(p[i++])) {
        nd_index range = nd_range(at, at + nd_size(p[i]), 1);
        nd_array *part;
        CHECK(nd_slice(flat, &range, 1, &part));
        CHECK(nd_reshape(part, nd_ndim(p[i]), nd_shape(p[i]), &g[i]));
        keep(g[i]);
        nd_release(part);
    }
    CHECK(nd_comm_all_reduce_into(team.comm, flat, NULL, flat)); /* connects, before a capture */
    return flat;
}

/* v = momentum*v - lr*g, w += v, with the gradients of all ranks. */
static void update_together(const network *net, const optimiser *opt)
{
    CHECK(nd_comm_all_reduce_into(team.comm, opt->flat, NULL, opt->flat));
    for (int i = 0; i < PARAMS; i++) {
        apply_scalar(ND_OP_multiply, opt->g[i], -opt->lr, opt->g[i]);
        apply_scalar(ND_OP_multiply, opt->v[i], momentum, opt->v[i]);
        CHECK(nd_add_into(opt->v[i], opt->g[i], opt->v[i]));
        CHECK(nd_add_into(net->p[i], opt->v[i], net->p[i]));
    }
}

static void gradients_of_part(const optimiser *opt, const batch *t)
{
    nd_reduce_opts rows = {.size = sizeof rows, .axes = (int32_t[]){0}, .naxes = 1};
    CHECK(nd_matmul_into(t->xt, t->dh, NULL, opt->g[W1]));
    CHECK(nd_sum_into(t->dh, &rows, opt->g[B1]));
    CHECK(nd_matmul_into(t->ht, t->dz, NULL, opt->g[W2]));
    CHECK(nd_sum_into(t->dz, &rows, opt->g[B2]));
}

#endif
