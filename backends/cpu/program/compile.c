/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group "ndp.fused/1": from a program to steps over buffers. Places are numbered inputs first, then
 * scalars, then what steps write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "program/program.h"

typedef struct {
    const ndp_program *p;
    const ew_isa *isa;
    const cpu_copy_loops *copies;
    cpu_step *step;
    int32_t n_steps, n_places, widest, costly;
    int16_t *stored, *wide;           /* by value: its place; -1: none yet */
    int16_t *spread;                  /* the same of both, of rows' values as many as elements */
    char *of_rows;                    /* by value: it is one for each row */
    uint64_t repeated, repeated_wide; /* scalars, see cpu_program */
    int32_t last[CPU_PROGRAM_PLACES]; /* by place: the last step that uses it */
    char *why;
    size_t n;
} compiler;

#define REFUSE(c, ...) (snprintf((c)->why, (c)->n, __VA_ARGS__), NDP_ERR_UNSUPPORTED)

static int is_half(int32_t dtype)
{
    return dtype == NDP_F16 || dtype == NDP_BF16;
}

static int32_t dtype_of(const compiler *c, int32_t value)
{
    int32_t first = (int32_t)(c->p->n_in + c->p->n_scalar);
    return value < first ? c->p->dtype[value] : c->p->instruction[value - first].dtype;
}

static int16_t new_place(compiler *c, int64_t nbytes)
{
    c->widest = nbytes > c->widest ? (int32_t)nbytes : c->widest;
    return c->n_places < CPU_PROGRAM_PLACES ? (int16_t)c->n_places++ : -1;
}

static cpu_step *new_step(compiler *c, int32_t kind, int32_t n, int16_t to)
{
    cpu_step *s = &c->step[c->n_steps++];
    *s = (cpu_step){.kind = kind, .n = n, .to = to};
    memset(s->from, -1, sizeof s->from);
    return s;
}

/* The value as float; scalars are made so once, before the first block. */
static int16_t wide_place(compiler *c, int32_t value)
{
    int32_t scalar = value - (int32_t)c->p->n_in;
    if (c->wide[value] >= 0)
        return c->wide[value];
    int16_t to = c->wide[value] = new_place(c, 4);
    if (to < 0 || (scalar >= 0 && scalar < (int32_t)c->p->n_scalar))
        return to;
    cpu_step *s = new_step(c, CPU_STEP_WIDEN, 1, to);
    s->from[0] = c->stored[value];
    s->bf16 = dtype_of(c, value) == NDP_BF16;
    s->of_rows = c->of_rows[value];
    return to;
}

static int is_scalar(const compiler *c, int32_t value)
{
    return value >= (int32_t)c->p->n_in && value < (int32_t)(c->p->n_in + c->p->n_scalar);
}

/* Where an instruction reads an operand, which may have to be spread over the rows' elements. */
static int16_t operand_place(compiler *c, int32_t value, int widens, int of_rows)
{
    int16_t from = widens ? wide_place(c, value) : c->stored[value];
    int16_t *spread = &c->spread[2 * value + widens];
    const int64_t nbytes = widens ? 4 : ndp_dtype_size(dtype_of(c, value));
    if (of_rows || !c->of_rows[value] || from < 0)
        return from;
    if (*spread < 0 && (*spread = new_place(c, nbytes)) >= 0) {
        cpu_step *s = new_step(c, CPU_STEP_SPREAD, 1, *spread);
        s->from[0] = from;
        s->nbytes = (int32_t)nbytes;
    }
    return *spread;
}

/* The operand's elements are read one after the other, also if it is a scalar. */
static void repeat_scalar(compiler *c, int32_t value, int widens)
{
    if (is_scalar(c, value))
        *(widens ? &c->repeated_wide : &c->repeated) |= (uint64_t)1
                                                        << (value - (int32_t)c->p->n_in);
}

/* Whether what is computed of these is one value for each row. */
static int operands_of_rows(const compiler *c, const ndp_instruction *k)
{
    int some = 0;
    for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
        if (!c->of_rows[k->arg[i]] && !is_scalar(c, k->arg[i]))
            return 0;
        some |= c->of_rows[k->arg[i]];
    }
    return some;
}

/* ---- instructions ---- */
static int32_t convert(compiler *c, const ndp_instruction *k, int32_t value)
{
    cpu_cast_fn *cast = c->copies->cast[k->compute][k->dtype];
    if (!cast)
        return REFUSE(c, "the CPU plug-in does not convert dtype %d to %d", (int)k->compute,
                      (int)k->dtype);
    int16_t to = c->stored[value] = new_place(c, ndp_dtype_size(k->dtype));
    repeat_scalar(c, k->arg[0], 0);
    cpu_step *s = new_step(c, CPU_STEP_CAST, 1, to);
    s->from[0] = c->stored[k->arg[0]];
    s->cast = cast;
    s->of_rows = c->of_rows[value] = (char)operands_of_rows(c, k);
    return NDP_OK;
}

static int32_t reduce(compiler *c, const ndp_instruction *k, int32_t value)
{
    const int is_var = k->op == NDP_OP_var || k->op == NDP_OP_std;
    if (!(c->p->flags & NDP_PROGRAM_ROWS) || k->compute < NDP_F16 || k->compute > NDP_F64 ||
        k->dtype != k->compute || c->of_rows[k->arg[0]] || (is_var && k->arg[1] < 0))
        return REFUSE(c, "%s of dtype %d is no part of a program", cpu_op_name(k->op),
                      (int)k->compute);
    cpu_step *s = new_step(c, CPU_STEP_REDUCE, is_var ? 2 : 1,
                           c->stored[value] = new_place(c, ndp_dtype_size(k->dtype)));
    s->from[0] = c->stored[k->arg[0]];
    s->from[1] = is_var ? c->stored[k->arg[1]] : -1;
    s->op = k->op;
    s->dtype = k->compute;
    c->of_rows[value] = 1;
    return NDP_OK;
}

static const ew_arith *arith_of(const compiler *c, const ndp_instruction *k)
{
    const ew_arith *row = c->isa->arith[k->compute];
    for (int i = 0; row && i < EW_ARITH_OPS; i++)
        if (row[i].op == k->op)
            return &row[i];
    return NULL;
}

/* The step's loop: one that takes a scalar as it is, or the operation's own. */
static void choose_loop(compiler *c, const ndp_instruction *k, int widens, cpu_step *s)
{
    const ew_arith *arith = arith_of(c, k);
    const int first = is_scalar(c, k->arg[0]);
    const int second = s->n > 1 && is_scalar(c, k->arg[1]);
    if (arith && !(first && second)) {
        const int form = first ? EW_SCALAR_FIRST : second ? EW_SCALAR_SECOND : EW_DENSE;
        s->loop = arith->loop[form];
        s->streamed = arith->streamed[form];
        s->op = k->compute == NDP_F32 || k->compute == NDP_F64 ? k->op : 0;
        s->dtype = k->compute;
        return;
    }
    s->loop = c->isa->loops[k->compute][k->op];
    for (int i = 0; i < s->n; i++)
        repeat_scalar(c, k->arg[i], widens);
}

static int32_t apply(compiler *c, const ndp_instruction *k, int32_t value)
{
    static const float ulps[NDP_OP_END] = {
#define ULP(half, single, double_, complex_) (float)(single)
#define ND_OP(name, CLASS, DOMAIN, RESULT, ulp, doc) [NDP_OP_##name] = ulp,
#include <ndock/op.def>
    };
    const ew_loop *row = c->isa->loops[k->compute];
    if (!row || !row[k->op] || ndp_result_dtype(k->op, k->compute) != k->dtype)
        return REFUSE(c, "%s has no loop for dtype %d", cpu_op_name(k->op), (int)k->compute);
    int widens = is_half(k->compute) && k->op != NDP_OP_where;
    int narrows = widens && is_half(k->dtype);
    int16_t from[3] = {-1, -1, -1};
    int n = 0;
    const int of_rows = operands_of_rows(c, k);
    for (; n < 3 && k->arg[n] >= 0; n++)
        from[n] = operand_place(c, k->arg[n], widens, of_rows);
    int16_t stored = new_place(c, ndp_dtype_size(k->dtype));
    int16_t to = narrows ? new_place(c, 4) : stored;
    cpu_step *s = new_step(c, CPU_STEP_LOOP, n, to);
    memcpy(s->from, from, sizeof from);
    choose_loop(c, k, widens, s);
    s->of_rows = c->of_rows[value] = (char)of_rows;
    c->stored[value] = stored;
    c->costly |= ulps[k->op] > 0.5f && k->compute >= NDP_F16;
    if (narrows) {
        s = new_step(c, CPU_STEP_NARROW, 1, stored);
        s->of_rows = of_rows;
        s->from[0] = to;
        s->bf16 = k->dtype == NDP_BF16;
    }
    return NDP_OK;
}

static int known(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END;
}

static int32_t add_instructions(compiler *c)
{
    const ndp_program *p = c->p;
    int32_t first = (int32_t)(p->n_in + p->n_scalar);
    for (int32_t v = 0; v < first; v++) {
        if (!known(p->dtype[v]))
            return REFUSE(c, "dtype %d is unknown", (int)p->dtype[v]);
        c->of_rows[v] = v < (int32_t)p->n_in && (p->row_in >> v & 1);
        c->stored[v] = new_place(c, ndp_dtype_size(p->dtype[v]));
    }
    for (int32_t i = 0; i < (int32_t)p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        if (!ndp_op_known(k->op) || !known(k->dtype) || !known(k->compute))
            return REFUSE(c, "op %d or its dtypes are unknown", (int)k->op);
        int32_t status = k->op == NDP_OP_copy                      ? convert(c, k, first + i)
                         : ndp_op_class(k->op) == NDP_CLASS_REDUCE ? reduce(c, k, first + i)
                                                                   : apply(c, k, first + i);
        if (status != NDP_OK)
            return status;
        if (c->n_places >= CPU_PROGRAM_PLACES - 8)
            return REFUSE(c, "the program has too many values");
    }
    return NDP_OK;
}

/* ---- buffers ---- */
static void find_last_uses(compiler *c, const cpu_program *out)
{
    memset(c->last, -1, sizeof c->last);
    for (int32_t i = 0; i < c->n_steps; i++)
        for (int k = 0; k < c->step[i].n; k++)
            c->last[c->step[i].from[k]] = i;
    for (int32_t i = 0; i < out->n_out; i++)
        c->last[out->out[i]] = c->n_steps;
}

/* A place has a buffer from the step that writes it to the last that reads it. */
static void share_buffers(const compiler *c, cpu_program *out)
{
    int16_t free_list[CPU_PROGRAM_PLACES];
    int32_t n_free = 0;
    for (int32_t i = 0; i < c->n_places; i++)
        out->buffer[i] = -1;
    for (int32_t i = 0; i < c->n_steps; i++) {
        const cpu_step *s = &c->step[i];
        out->buffer[s->to] = n_free ? free_list[--n_free] : (int16_t)out->n_buffers++;
        for (int k = 0; k < s->n; k++) {
            int16_t from = s->from[k];
            int again = 0;
            for (int j = 0; j < k; j++)
                again |= s->from[j] == from;
            if (out->buffer[from] >= 0 && c->last[from] == i && !again)
                free_list[n_free++] = out->buffer[from];
        }
        if (c->last[s->to] < i)
            free_list[n_free++] = out->buffer[s->to];
    }
}

static int32_t finish(compiler *c, const ndp_kernel **kernel)
{
    const ndp_program *p = c->p;
    c->n_steps = cpu_program_link(p, c->stored, c->step, c->n_steps);
    size_t steps = (size_t)c->n_steps * sizeof *c->step;
    cpu_program *out = calloc(1, sizeof *out + steps + (size_t)c->n_places * sizeof(int16_t));
    if (!out)
        return cpu_error(NDP_ERR_MEMORY, "no memory for a program of %d steps", (int)c->n_steps);
    out->base =
        (ndp_kernel){.size = sizeof(ndp_kernel), .max_ndim = NDP_MAX_NDIM, .run = cpu_program_run};
    out->buffer = (int16_t *)(void *)((char *)out->step + steps);
    memcpy(out->step, c->step, steps);
    out->n_in = (int32_t)p->n_in;
    out->n_scalar = (int32_t)p->n_scalar;
    out->n_out = (int32_t)p->n_out;
    out->n_steps = c->n_steps;
    out->n_places = c->n_places;
    out->slot_bytes = c->widest;
    out->costly = c->costly;
    out->row_in = p->row_in;
    out->repeated = c->repeated;
    out->repeated_wide = c->repeated_wide;
    out->n_repeated = __builtin_popcountll(c->repeated) + __builtin_popcountll(c->repeated_wide);
    for (int32_t i = 0; i < out->n_out; i++) {
        out->out[i] = c->stored[p->out[i]];
        out->row_out |= (uint64_t)c->of_rows[p->out[i]] << i;
    }
    if (p->flags & NDP_PROGRAM_ROWS)
        out->base.run = cpu_program_rows_run;
    for (int32_t i = 0; i < out->n_scalar; i++) {
        out->wide_of_scalar[i] = c->wide[out->n_in + i];
        out->scalar_dtype[i] = p->dtype[out->n_in + i];
    }
    find_last_uses(c, out);
    share_buffers(c, out);
    int64_t least = (int64_t)(out->n_buffers + out->n_in + out->n_repeated) *
                    (c->widest * CPU_PROGRAM_LEAST + CPU_PROGRAM_PAD);
    if (least > CPU_PROGRAM_ARENA) {
        free(out);
        return REFUSE(c, "the program has too many values at a time for the CPU's cache");
    }
    *kernel = &out->base;
    return NDP_OK;
}

static int32_t compile(ndp_dev *dev, const ndp_program *p, const ndp_kernel **out, char *why,
                       size_t n)
{
    (void)dev;
    size_t values = p->n_in + p->n_scalar + p->n_instruction;
    compiler c = {.p = p,
                  .isa = CPU_ISA_PICK(elementwise_isa),
                  .copies = cpu_copy_level(),
                  .why = why,
                  .n = n};
    *out = NULL;
    if (p->n_in > NDP_PROGRAM_MAX_IN || p->n_scalar > NDP_PROGRAM_MAX_SCALARS ||
        p->n_out > NDP_PROGRAM_MAX_OUT || values > CPU_PROGRAM_PLACES)
        return REFUSE(&c, "the program has too many values");
    /* An instruction makes eight steps at most: three operands widened and spread, the loop,
     * narrowed. */
    c.step = malloc((8 * (size_t)p->n_instruction + 1) * sizeof *c.step);
    c.stored = malloc((4 * values + 1) * sizeof *c.stored);
    c.of_rows = calloc(values + 1, 1);
    int32_t status = c.step && c.stored && c.of_rows
                         ? NDP_OK
                         : cpu_error(NDP_ERR_MEMORY, "no memory to compile");
    if (status == NDP_OK) {
        c.wide = c.stored + values;
        c.spread = c.wide + values;
        memset(c.stored, -1, 4 * values * sizeof *c.stored);
        status = add_instructions(&c);
    }
    if (status == NDP_OK)
        status = finish(&c, out);
    free(c.step);
    free(c.stored);
    free(c.of_rows);
    return status;
}

static void discard(ndp_dev *dev, const ndp_kernel *kernel)
{
    (void)dev;
    free((cpu_program *)kernel);
}

const ndp_fused_1 cpu_fused_group = {.size = sizeof(ndp_fused_1),
                                     .compile = compile,
                                     .discard = discard,
                                     .takes = cpu_program_rows_takes};
