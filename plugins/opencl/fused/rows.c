/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Programs of rows: sums, means, minima and maxima of rows and what is computed of these, in walks
 * over the row. Walk n feeds the reductions whose operands need those of n walks before; the last
 * one stores results. What a walk needs is computed anew in it. Reductions are fed and joined as the
 * kernels of reduce.cl do, short rows by one item, others by a group, so the bits are theirs. */
#include <stdio.h>
#include <string.h>
#include "fused/fused.h"

enum {
    SHORT_ROW = 64,     /* as in reduce.c: an item has it for itself */
    CHUNKED = 2 * 4096, /* so long rows are cut in chunks there, where there are few */
    ENOUGH_ROWS = 1024,
    WALKS = 8,
    VALUES = 320
};

typedef struct {
    ocl_writer *w;
    int32_t first, n;     /* of the instructions' values; all values */
    int group, n_walks;   /* group: a group has the row */
    char of_row[VALUES];  /* one value for each row */
    uint8_t walk[VALUES]; /* how many walks are before it */
} maker;

int ocl_is_reduction(const ndp_instruction *k)
{
    return (k->op == NDP_OP_sum || k->op == NDP_OP_mean || k->op == NDP_OP_min ||
            k->op == NDP_OP_max) &&
           ndp_dtype_kind(k->compute) == NDP_KIND_FLOAT && k->dtype == k->compute;
}

static const ndp_instruction *instruction(const maker *m, int32_t v)
{
    return v < m->first ? NULL : &m->w->p->instruction[v - m->first];
}

static int is_reduction(const maker *m, int32_t v)
{
    return v >= m->first && ndp_op_class(instruction(m, v)->op) == NDP_CLASS_REDUCE;
}

static int is_extreme(const ndp_instruction *k)
{
    return k->op == NDP_OP_min || k->op == NDP_OP_max;
}

/* ---- which walk has what ---- */
static int place(maker *m)
{
    const ndp_program *p = m->w->p;
    m->first = (int32_t)(p->n_in + p->n_scalar);
    m->n = m->first + (int32_t)p->n_instruction;
    m->n_walks = 0;
    for (int32_t v = 0; v < m->n && m->n <= VALUES; v++) {
        const ndp_instruction *k = instruction(m, v);
        m->walk[v] = 0;
        m->of_row[v] = v < (int32_t)p->n_in ? (char)(p->row_in >> v & 1) : 1;
        for (int i = 0; k && i < 3 && k->arg[i] >= 0; i++) {
            m->of_row[v] = (char)(m->of_row[v] && m->of_row[k->arg[i]]);
            m->walk[v] = m->walk[k->arg[i]] > m->walk[v] ? m->walk[k->arg[i]] : m->walk[v];
        }
        if (is_reduction(m, v)) {
            if (m->of_row[k->arg[0]] || ++m->walk[v] >= WALKS)
                return 0;
            m->of_row[v] = 1;
            m->n_walks = m->walk[v] > m->n_walks ? m->walk[v] : m->n_walks;
        }
    }
    return m->n <= VALUES;
}

/* The operands of what is needed, last ones first. */
static void need_operands(const maker *m, char *needed)
{
    for (int32_t v = m->n - 1; v >= m->first; v--)
        for (int i = 0; needed[v] && i < 3 && instruction(m, v)->arg[i] >= 0; i++)
            if (!m->of_row[instruction(m, v)->arg[i]])
                needed[instruction(m, v)->arg[i]] = 1;
}

/* ---- text ---- */
static void write_states(const maker *m, int walk)
{
    for (int32_t v = m->first; v < m->n; v++) {
        if (!is_reduction(m, v) || m->walk[v] != walk)
            continue;
        if (is_extreme(instruction(m, v)))
            ocl_put(m->w, "    extreme s%d = {0, 0};\n", (int)v);
        else
            ocl_put(m->w, "    total s%d = {(wide)-0.0f, 0};\n", (int)v);
    }
}

static void write_feed(const maker *m, int32_t v)
{
    const ndp_instruction *k = instruction(m, v);
    const int x = (int)k->arg[0];
    if (is_extreme(k))
        ocl_put(m->w, "    s%d.value = s%d.any ? nd_%s(s%d.value, v%d) : v%d;\n    s%d.any = 1;\n",
                (int)v, (int)v, k->op == NDP_OP_min ? "minimum" : "maximum", (int)v, x, x, (int)v);
    else
        ocl_put(m->w, "    total_add(&s%d, v%d);\n", (int)v, x);
}

/* One over the row: to feed reductions, or, the last one, to store results. */
static void write_walk(const maker *m, int walk)
{
    const ndp_program *p = m->w->p;
    const int last = walk > m->n_walks;
    char needed[VALUES] = {0};
    for (int32_t v = m->first; v < m->n; v++)
        if (!last && is_reduction(m, v) && m->walk[v] == walk)
            needed[instruction(m, v)->arg[0]] = 1;
    for (uint32_t i = 0; last && i < p->n_out; i++)
        needed[p->out[i]] |= !m->of_row[p->out[i]];
    need_operands(m, needed);
    ocl_put(m->w, "    for (ulong j = lane; j < e.shape[%d]; j += LANES) {\n",
            (int)NDP_PROGRAM_RANK(p->flags) - 1);
    for (int32_t v = 0; v < m->n; v++) {
        char along[40];
        snprintf(along, sizeof along, " + (long)j * e.stride[%d][%d]", (int)v,
                 (int)NDP_PROGRAM_RANK(p->flags) - 1);
        if (needed[v] && v < (int32_t)p->n_in)
            ocl_put_load(m->w, (uint32_t)v, along);
        else if (needed[v] && v >= m->first && !m->of_row[v])
            ocl_put_instruction(m->w, instruction(m, v), (uint32_t)v);
    }
    for (int32_t v = m->first; !last && v < m->n; v++)
        if (is_reduction(m, v) && m->walk[v] == walk)
            write_feed(m, v);
    for (uint32_t i = 0; last && i < p->n_out; i++)
        if (!m->of_row[p->out[i]])
            ocl_put(m->w, "    store_%s(p%u, at%u + (long)j * e.stride[%u][%d], v%d);\n",
                    ndp_dtype_name(ocl_fused_dtype_of(p, p->out[i])), p->n_in + i, p->n_in + i,
                    p->n_in + i, (int)NDP_PROGRAM_RANK(p->flags) - 1, (int)p->out[i]);
    ocl_put(m->w, "    }\n");
}

/* The states of all lanes to one value, which every lane has. */
static void write_value(const maker *m, int32_t v)
{
    const ndp_instruction *k = instruction(m, v);
    const char *name = ndp_dtype_name(k->dtype);
    const int half = k->dtype == NDP_F16 || k->dtype == NDP_BF16;
    if (m->group)
        ocl_put(m->w, "    JOIN_LANES(s%d, %s, %s)\n", (int)v,
                is_extreme(k) ? "extremes" : "totals",
                !is_extreme(k)        ? "total_join"
                : k->op == NDP_OP_min ? "join_min"
                                      : "join_max");
    ocl_put(m->w, "    computed_%s v%d = ", name, (int)v);
    if (half)
        ocl_put(m->w, "widen_%s(narrow_%s(", name, name);
    if (is_extreme(k))
        ocl_put(m->w, "s%d.value", (int)v);
    else
        ocl_put(m->w, "(computed_%s)(total_of(&s%d, e.shape[%d])%s)", name, (int)v,
                (int)NDP_PROGRAM_RANK(m->w->p->flags) - 1,
                k->op == NDP_OP_mean ? " / (wide)e.shape[LAST]" : "");
    ocl_put(m->w, half ? "));\n" : ";\n");
}

/* What is one value for each row once so many walks are over. */
static void write_row_values(const maker *m, int walk)
{
    for (int32_t v = m->first; v < m->n; v++)
        if (m->of_row[v] && m->walk[v] == walk) {
            if (is_reduction(m, v))
                write_value(m, v);
            else
                ocl_put_instruction(m->w, instruction(m, v), (uint32_t)v);
        }
}

static const char shared_text[] =
    "typedef struct {\n    CAT(computed_, T) value;\n    int any;\n} extreme;\n"
    "#define JOIN(name, OP)                                             \\\n"
    "    static inline void name(extreme *s, const extreme *t)          \\\n"
    "    {                                                              \\\n"
    "        if (t->any) {                                              \\\n"
    "            s->value = s->any ? OP(s->value, t->value) : t->value; \\\n"
    "            s->any = 1;                                            \\\n"
    "        }                                                          \\\n"
    "    }\n"
    "JOIN(join_min, nd_minimum)\nJOIN(join_max, nd_maximum)\n"
    "#define JOIN_LANES(s, all, join)                                      \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);                                     \\\n"
    "    all[lane] = s;                                                    \\\n"
    "    for (uint half_way = GROUP / 2; half_way > 0; half_way /= 2) {    \\\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);                                 \\\n"
    "        if (lane < half_way) {                                        \\\n"
    "            __typeof__(s) mine = all[lane], other = all[lane + half_way]; \\\n"
    "            join(&mine, &other);                                      \\\n"
    "            all[lane] = mine;                                         \\\n"
    "        }                                                             \\\n"
    "    }                                                                 \\\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);                                     \\\n"
    "    s = all[0];\n";

static void write_kernel(maker *m, int ndim, int group)
{
    const ndp_program *p = m->w->p;
    m->group = group;
    ocl_put(m->w, "#undef LANES\n#define LANES %s\n", group ? "GROUP" : "1");
    ocl_put_head(m->w,
                 group ? "__attribute__((reqd_work_group_size(GROUP, 1, 1))) void group_row"
                       : "void item_row",
                 group ? "get_group_id(0)" : "get_global_id(0)", ndim - 1);
    ocl_put(m->w, group ? "    uint lane = get_local_id(0);\n    local total totals[GROUP];\n"
                          "    local extreme extremes[GROUP];\n"
                        : "    uint lane = 0;\n");
    ocl_put_scalars(m->w);
    for (uint32_t i = 0; i < p->n_in; i++)
        if (m->of_row[i])
            ocl_put_load(m->w, i, "");
    write_row_values(m, 0);
    for (int walk = 1; walk <= m->n_walks; walk++) {
        write_states(m, walk);
        write_walk(m, walk);
        write_row_values(m, walk);
    }
    write_walk(m, m->n_walks + 1);
    for (uint32_t i = 0; i < p->n_out; i++)
        if (m->of_row[p->out[i]])
            ocl_put(m->w, "    if (lane == 0)\n        store_%s(p%u, at%u, v%d);\n",
                    ndp_dtype_name(ocl_fused_dtype_of(p, p->out[i])), p->n_in + i, p->n_in + i,
                    (int)p->out[i]);
    ocl_put(m->w, "}\n");
}

int ocl_put_rows(ocl_writer *w, int ndim, char *why, size_t n)
{
    maker m = {.w = w};
    if (ndim < 2 || !place(&m) || m.n_walks == 0)
        return snprintf(why, n, "its rows are of more kinds, or walks, than kernels have"), 0;
    ocl_put(w, "#define LAST %d\n%s", ndim - 1, shared_text);
    write_kernel(&m, ndim, 0);
    write_kernel(&m, ndim, 1);
    return 1;
}

/* ---- calls ---- */
static const ndp_view *operand(const ndp_call *call, uint32_t i)
{
    return i < call->n_in ? &call->in[i] : &call->out[i - call->n_in];
}

int64_t ocl_rows_length(const ndp_call *call)
{
    int64_t length = 1;
    for (uint32_t i = 0; i < call->n_in + call->n_out; i++) {
        const ndp_view *v = operand(call, i);
        length = v->shape[v->ndim - 1] > length ? v->shape[v->ndim - 1] : length;
    }
    return length;
}

int64_t ocl_rows_count(const ndp_call *call)
{
    int64_t rows = 1;
    for (int d = 0; d < call->out[0].ndim - 1; d++)
        rows *= call->out[0].shape[d];
    return rows;
}

int32_t ocl_rows_takes(ndp_dev *dev, const ndp_kernel *kernel, const ndp_call *call)
{
    (void)dev;
    (void)kernel;
    const int64_t length = ocl_rows_length(call);
    return length >= CHUNKED && ocl_rows_count(call) < ENOUGH_ROWS ? NDP_ERR_UNSUPPORTED : NDP_OK;
}

int ocl_rows_in_groups(const ndp_call *call)
{
    return ocl_rows_length(call) > SHORT_ROW;
}
