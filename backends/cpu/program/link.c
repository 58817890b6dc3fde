/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Steps of one program that follow one another become chains: where nothing else reads what a step
 * leaves, its operations go before those of the step that does. */
#include <string.h>
#include "program/program.h"

typedef struct {
    cpu_step *step;
    int32_t n, first_scalar, end_scalar;
    int16_t uses[CPU_PROGRAM_PLACES], maker[CPU_PROGRAM_PLACES]; /* by place; the step, or -1 */
} linker;

static int is_scalar(const linker *l, int16_t place)
{
    return place >= l->first_scalar && place < l->end_scalar;
}

/* The code of add to divide; 0: it has none. */
static int op_of(int32_t op)
{
    switch (op) {
    case NDP_OP_add:
        return CPU_LINK_add;
    case NDP_OP_subtract:
        return CPU_LINK_subtract;
    case NDP_OP_multiply:
        return CPU_LINK_multiply;
    case NDP_OP_divide:
        return CPU_LINK_divide;
    default:
        return 0;
    }
}

static void add(cpu_step *to, int op, int form, int16_t from)
{
    to->link[to->n] = (uint8_t)(op * 8 + form);
    to->from[to->n++] = from;
}

/* A loop of one operation as a chain: its array is loaded, the other operand is a link. */
static cpu_step chain_of(const linker *l, const cpu_step *s)
{
    cpu_step c = *s;
    const int op = op_of(s->op), later = is_scalar(l, s->from[0]);
    c.kind = CPU_STEP_CHAIN;
    c.n = 0;
    add(&c, CPU_LINK_LOAD, CPU_LINK_ARRAY, s->from[later]);
    if (s->from[0] == s->from[1])
        add(&c, op, CPU_LINK_SELF, s->from[0]);
    else if (later)
        add(&c, op, CPU_LINK_SCALAR_FIRST, s->from[0]);
    else
        add(&c, op, is_scalar(l, s->from[1]) ? CPU_LINK_SCALAR : CPU_LINK_ARRAY, s->from[1]);
    return c;
}

/* The step whose result is operand k of s alone, and can go before it; NULL: there is none. */
static cpu_step *maker_of(const linker *l, const cpu_step *s, int k)
{
    const int16_t place = s->from[k];
    cpu_step *m = l->maker[place] >= 0 ? &l->step[l->maker[place]] : NULL;
    const int here = (s->from[0] == place) + (s->from[1] == place);
    return m && m->op && m->dtype == s->dtype && l->uses[place] == here &&
                   (m->kind == CPU_STEP_LOOP || m->n < CPU_CHAIN_LINKS)
               ? m
               : NULL;
}

static cpu_step as_chain(const linker *l, const cpu_step *m)
{
    return m->kind == CPU_STEP_CHAIN ? *m : chain_of(l, m);
}

/* The chain c, which ends with what s does, in its place; the maker is no step any more. */
static void replace(cpu_step *s, cpu_step *c, cpu_step *m)
{
    c->op = s->op;
    c->to = s->to;
    *s = *c;
    m->op = 0;
    m->n = -1;
}

/* The maker's chain, and s behind it. */
static void join(const linker *l, cpu_step *m, cpu_step *s, int k)
{
    cpu_step c = as_chain(l, m);
    const int op = op_of(s->op), scalar = is_scalar(l, s->from[!k]);
    const int form = k ? (scalar ? CPU_LINK_SCALAR_FIRST : CPU_LINK_ARRAY_FIRST)
                       : (scalar ? CPU_LINK_SCALAR : CPU_LINK_ARRAY);
    const int self = s->from[0] == s->from[1];
    add(&c, op, self ? CPU_LINK_SELF : form, self ? c.from[0] : s->from[!k]);
    replace(s, &c, m);
}

static int puts_aside(const cpu_step *c)
{
    for (int i = 1; i < c->n; i++)
        if (c->link[i] == CPU_LINK(LOAD, CPU_LINK_ARRAY))
            return 1;
    return 0;
}

/* Both operands' chains, one after the other, and s: first the one that puts something aside itself. 0:
 * there is no room for these. */
static int join_both(const linker *l, cpu_step *const m[2], cpu_step *s)
{
    cpu_step c[2] = {as_chain(l, m[0]), as_chain(l, m[1])};
    const int later = puts_aside(&c[1]);
    cpu_step *first = &c[later], *second = &c[!later];
    if (first->n + second->n + 1 > CPU_CHAIN_LINKS || puts_aside(second))
        return 0;
    for (int i = 0; i < second->n; i++)
        add(first, second->link[i] / 8, second->link[i] % 8, second->from[i]);
    add(first, op_of(s->op), later ? CPU_LINK_ASIDE : CPU_LINK_ASIDE_FIRST, first->from[0]);
    replace(s, first, m[0]);
    m[1]->op = 0;
    m[1]->n = -1;
    return 1;
}

static void count_uses(linker *l, const ndp_program *p, const int16_t *stored)
{
    memset(l->uses, 0, sizeof l->uses);
    memset(l->maker, -1, sizeof l->maker);
    for (int32_t i = 0; i < l->n; i++) {
        for (int k = 0; k < l->step[i].n; k++)
            l->uses[l->step[i].from[k]]++;
        l->maker[l->step[i].to] = (int16_t)i;
    }
    for (uint32_t i = 0; i < p->n_out; i++)
        l->uses[stored[p->out[i]]] += CPU_CHAIN_LINKS; /* it is wanted as it is */
}

static void link_step(const linker *l, cpu_step *s)
{
    const cpu_chain_loops *loops = CPU_ISA_PICK(cpu_chain_table);
    cpu_step *const m[2] = {maker_of(l, s, 0), s->n > 1 ? maker_of(l, s, 1) : NULL};
    const int both = m[0] && m[1] && m[0] != m[1] && join_both(l, m, s);
    if (!both && (m[0] || m[1]))
        join(l, m[0] ? m[0] : m[1], s, !m[0]);
    s->chain = s->dtype == NDP_F64 ? loops->f64 : loops->f32;
}

int32_t cpu_program_link(const ndp_program *p, const int16_t *stored, cpu_step *step,
                         int32_t n_steps)
{
    linker l = {.step = step,
                .n = n_steps,
                .first_scalar = (int32_t)p->n_in,
                .end_scalar = (int32_t)(p->n_in + p->n_scalar)};
    int32_t n = 0;
    if (p->flags & NDP_PROGRAM_ROWS)
        return n_steps; /* what is one value for each row may lie between */
    count_uses(&l, p, stored);
    for (cpu_step *s = step; s < step + n_steps; s++)
        if (s->kind == CPU_STEP_LOOP && s->op)
            link_step(&l, s);
    for (int32_t i = 0; i < n_steps; i++)
        if (step[i].n >= 0)
            step[n++] = step[i];
    return n;
}
