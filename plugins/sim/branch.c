/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conditions of composed graphs: one operation that looks at a value when it runs, and then runs
 * others. */
#include <stdlib.h>
#include <string.h>
#include "ndock/plugin_facts.h"
#include "graph.h"
#include "simulator.h"

struct sim_branch {
    int32_t condition, is_signed;
    uint32_t n;
    sim_list body[];
};

void sim_list_free(sim_list *l)
{
    for (uint64_t i = 0; i < l->n; i++)
        sim_body_unref(l->body[i]);
    free(l->body);
    *l = (sim_list){NULL, 0};
}

void sim_branch_free(sim_branch *b)
{
    for (uint32_t i = 0; b && i < b->n; i++)
        sim_list_free(&b->body[i]);
    free(b);
}

/* ---- running ---- */
static uint64_t value_of(const sim_body *b)
{
    uint64_t x = 0;
    memcpy(&x, b->src, b->nbytes); /* of a little-endian host, as all are that sim runs on */
    const unsigned above = 64 - 8 * (unsigned)b->nbytes;
    return b->branch->is_signed ? (uint64_t)((int64_t)(x << above) >> above) : x;
}

/* Which body is next; n or above: none. */
static uint64_t choose(const sim_body *b)
{
    const uint64_t x = value_of(b);
    if (b->branch->condition == NDP_STEP_SWITCH)
        return x;
    return x ? 0 : b->branch->condition == NDP_STEP_IF ? 1 : b->branch->n;
}

void sim_branch_run(const sim_body *b, sim_error *error)
{
    if (!sim_is_backed(b->mem[1], b->src_offset, b->nbytes)) {
        error->status = NDP_ERR_LOST;
        error->native = 700;
        strcpy(error->text, "the value of a condition has no memory behind its address");
        return;
    }
    for (uint64_t next; error->status == NDP_OK && (next = choose(b)) < b->branch->n;) {
        const sim_list *l = &b->branch->body[next];
        for (uint64_t i = 0; error->status == NDP_OK && i < l->n; i++)
            sim_execute(l->body[i], error);
        if (b->branch->condition != NDP_STEP_WHILE)
            return;
    }
}

/* All of them may run. */
void sim_branch_each(const sim_branch *b, void (*fn)(const sim_body *body, void *ctx), void *ctx)
{
    for (uint32_t i = 0; i < b->n; i++)
        for (uint64_t k = 0; k < b->body[i].n; k++)
            fn(b->body[i].body[k], ctx);
}

/* ---- from steps to operations ---- */
static int32_t no_room(void)
{
    return sim_fail(NDP_ERR_MEMORY, 0, "no host memory to compose a graph");
}

static int32_t append(sim_list *l, sim_body **bodies, uint64_t n)
{
    sim_body **grown = bodies ? realloc(l->body, (l->n + n) * sizeof(sim_body *) + 1) : NULL;
    for (uint64_t i = 0; bodies && i < n; i++) {
        if (grown)
            grown[l->n + i] = bodies[i];
        else
            sim_body_unref(bodies[i]);
    }
    l->body = grown ? grown : l->body;
    l->n += grown ? n : 0;
    return grown ? NDP_OK : no_room();
}

/* Functions of the host and exchanges are no work of a body. */
static int32_t check_inside(const sim_list *l)
{
    for (uint64_t i = 0; i < l->n; i++)
        if (l->body[i]->kind == SIM_OP_HOST || l->body[i]->kind == SIM_OP_COMM)
            return sim_fail(NDP_ERR_UNSUPPORTED, 0, "%s is no work of a conditional body",
                            l->body[i]->name);
    return NDP_OK;
}

static int32_t add_branch(ndp_dev *dev, const ndp_step *s, sim_list *out)
{
    const ndp_view *v = s->value;
    sim_body *b = sim_body_new(SIM_OP_BRANCH, "condition", dev, 0, NULL);
    sim_branch *branch = b ? calloc(1, sizeof *branch + s->n_bodies * sizeof *branch->body) : NULL;
    int32_t status = branch ? NDP_OK : no_room();
    if (b)
        b->branch = branch;
    if (branch) {
        branch->condition = s->condition;
        branch->is_signed = v->dtype >= NDP_I8 && v->dtype <= NDP_I64;
        branch->n = s->n_bodies;
        b->nbytes = (uint64_t)ndp_dtype_size(v->dtype);
        b->src_offset = (uint64_t)v->offset_bytes;
        b->src = v->mem->alias + v->offset_bytes;
        sim_body_use(b, 1, v->mem);
    }
    for (uint32_t i = 0; status == NDP_OK && i < s->n_bodies; i++) {
        status = sim_list_make(dev, &s->body[i], &branch->body[i]);
        status = status == NDP_OK ? check_inside(&branch->body[i]) : status;
    }
    if (status == NDP_OK)
        return append(out, (sim_body *[]){b}, 1);
    sim_body_unref(b);
    return status;
}

static int32_t add_graph(ndp_dev *dev, const ndp_graph *g, sim_list *out)
{
    if (sim_graph_device(g) != dev)
        return sim_fail(NDP_ERR_DEVICE, 400, "the graph was captured on sim:%d, not on sim:%d",
                        sim_graph_device(g)->index, dev->index);
    sim_body **bodies = sim_graph_bodies(g);
    const int32_t status = append(out, bodies, sim_graph_size(g));
    free(bodies);
    return status;
}

int32_t sim_list_make(ndp_dev *dev, const ndp_steps *steps, sim_list *out)
{
    int32_t status = NDP_OK;
    for (uint32_t i = 0; status == NDP_OK && i < steps->n; i++)
        status = steps->step[i].graph ? add_graph(dev, steps->step[i].graph, out)
                                      : add_branch(dev, &steps->step[i], out);
    return status;
}
