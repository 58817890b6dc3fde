/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a later walk needs again of an earlier one lies in shared memory, each thread's own; which
 * values those are, and where, is found here. */
#include <stdlib.h>
#include "program/walks.h"

static int place_values(cuda_walks *m)
{
    const ndp_program *p = m->p;
    for (int32_t v = 0; v < m->n_values; v++) {
        m->kept[v] = -1;
        m->walk[v] = 0;
        m->of_row[v] = v < (int32_t)p->n_in ? (char)(p->row_in >> v & 1) : 1;
        if (v < m->first)
            continue;
        const ndp_instruction *k = cuda_walk_instruction(m, v);
        for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
            m->of_row[v] = (char)(m->of_row[v] && m->of_row[k->arg[i]]);
            m->walk[v] = m->walk[k->arg[i]] > m->walk[v] ? m->walk[k->arg[i]] : m->walk[v];
        }
        if (cuda_walk_is_reduction(m, v)) {
            m->of_row[v] = 1;
            m->walk[v]++;
        }
        if (m->walk[v] >= CUDA_WALKS)
            return 0;
        m->n_walks = m->walk[v] >= m->n_walks ? m->walk[v] + 1 : m->n_walks;
    }
    return 1;
}

/* A conversion to more bytes is rather done again than kept. */
static int is_widening(const cuda_walks *m, int32_t value)
{
    const ndp_instruction *k = cuda_walk_instruction(m, value);
    return k->op == NDP_OP_copy && ndp_dtype_size(k->dtype) > ndp_dtype_size(k->compute);
}

static void need(cuda_walks *m, int32_t walk, int32_t value)
{
    if (!m->of_row[value] && !m->use[walk][value])
        m->use[walk][value] = CUDA_MADE;
}

/* From what a walk is for to what that takes, operands after who takes them. */
static void use_values(cuda_walks *m, int32_t walk)
{
    const ndp_program *p = m->p;
    for (int32_t v = m->first; v < m->n_values; v++)
        if (cuda_walk_is_reduction(m, v) && m->walk[v] == walk + 1)
            need(m, walk, cuda_walk_instruction(m, v)->arg[0]);
    for (uint32_t i = 0; i < p->n_out; i++)
        if (m->walk[p->out[i]] == walk)
            need(m, walk, p->out[i]);
    for (int32_t v = m->n_values - 1; v >= 0; v--) {
        if (!m->use[walk][v])
            continue;
        if (cuda_walk_was_made(m, walk, v) && !(v >= m->first && is_widening(m, v))) {
            m->use[walk][v] = CUDA_FETCHED;
            m->kept[v] = 0;
        } else if (v >= m->first) {
            for (int i = 0; i < 3 && cuda_walk_instruction(m, v)->arg[i] >= 0; i++)
                need(m, walk, cuda_walk_instruction(m, v)->arg[i]);
        }
    }
}

/* The first walk that makes a kept value, and the last that fetches it. */
static int32_t made_in(const cuda_walks *m, int32_t value)
{
    int32_t w = 0;
    while (m->use[w][value] != CUDA_MADE)
        w++;
    return w;
}

static int32_t last_fetch(const cuda_walks *m, int32_t value)
{
    int32_t w = m->n_walks - 1;
    while (m->use[w][value] != CUDA_FETCHED)
        w--;
    return w;
}

/* A value takes the place of one that is fetched for the last time in the walk that makes it: each
 * thread fetches an element before it stores another in its place; inputs are there before. */
static int number_kept(cuda_walks *m)
{
    cuda_program_rows_facts *f = m->facts;
    int32_t until[CUDA_PROGRAM_KEPT];
    f->n_kept = 0;
    for (int32_t w = 0; w < m->n_walks; w++)
        for (int32_t v = 0; v < m->n_values; v++) {
            if (m->kept[v] < 0 || made_in(m, v) != w)
                continue;
            const int32_t nbytes = (int32_t)ndp_dtype_size(cuda_source_dtype_of(m->p, v));
            int32_t at = 0;
            while (at < f->n_kept &&
                   (until[at] + cuda_walk_is_input(m, v) > w || f->kept_bytes[at] != nbytes))
                at++;
            if (at == CUDA_PROGRAM_KEPT)
                return 0;
            f->n_kept = at == f->n_kept ? at + 1 : f->n_kept;
            f->kept_bytes[at] = nbytes;
            until[at] = last_fetch(m, v);
            m->kept[v] = (int16_t)at;
        }
    return 1;
}

/* Reductions of one element size: a lane has the same elements in each. */
static int list_reductions(cuda_walks *m)
{
    cuda_program_rows_facts *f = m->facts;
    f->n_reductions = f->width = 0;
    for (int32_t v = m->first; v < m->n_values; v++) {
        if (!cuda_walk_is_reduction(m, v))
            continue;
        const ndp_instruction *k = cuda_walk_instruction(m, v);
        const int32_t width = 16 / (int32_t)ndp_dtype_size(k->compute);
        if (k->compute < NDP_F16 || k->compute > NDP_F64 || k->dtype != k->compute ||
            m->of_row[k->arg[0]] || f->n_reductions == CUDA_PROGRAM_KEPT ||
            (f->width && f->width != width))
            return 0;
        f->width = width;
        f->op[f->n_reductions] = k->op;
        f->dtype[f->n_reductions] = k->compute;
        f->input[f->n_reductions++] = k->arg[0] < (int32_t)m->p->n_in ? k->arg[0] : -1;
    }
    return f->n_reductions > 0;
}

static uint32_t moved_operands(const cuda_walks *m)
{
    const ndp_program *p = m->p;
    uint32_t moved = 0;
    for (uint32_t i = 0; i < p->n_in; i++)
        moved |= (uint32_t)!m->of_row[i] << i;
    for (uint32_t i = 0; i < p->n_out; i++)
        moved |= (uint32_t)!m->of_row[p->out[i]] << (p->n_in + i);
    return moved;
}

int cuda_walks_find(cuda_walks *m, const ndp_program *p, cuda_program_rows_facts *facts)
{
    const int rank = (int)NDP_PROGRAM_RANK(p->flags);
    m->p = p;
    m->facts = facts;
    m->first = (int32_t)(p->n_in + p->n_scalar);
    m->n_values = m->first + (int32_t)p->n_instruction;
    if (rank < 2 || rank - 1 > CUDA_PROGRAM_NDIM || m->n_values > CUDA_WALK_VALUES ||
        !place_values(m) || !list_reductions(m))
        return 0;
    for (int32_t w = 0; w < m->n_walks; w++)
        use_values(m, w);
    facts->moved = moved_operands(m);
    return number_kept(m);
}

int cuda_walks_facts(const ndp_program *p, cuda_program_rows_facts *facts)
{
    cuda_walks *m = calloc(1, sizeof *m);
    const int fits = m && cuda_walks_find(m, p, facts);
    free(m);
    return fits;
}
