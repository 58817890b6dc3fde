/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elements of f16 and bf16 in programs of rows, two in a word: sums, differences and products by one
 * instruction for both (rounding exact ones once is the same as rounding what float has of them:
 * Figueroa, SIGNUM Newsletter 30, 1995), others one after the other, narrowed together. */
#include "program/source_rows.h"

/* What pair.cuh has for both at once; NULL: it has not. */
static const char *function_of(int32_t op)
{
    switch (op) {
    case NDP_OP_add:
        return "add";
    case NDP_OP_subtract:
        return "subtract";
    case NDP_OP_multiply:
        return "multiply";
    case NDP_OP_negative:
        return "negative";
    case NDP_OP_abs:
        return "abs";
    default:
        return NULL;
    }
}

/* Those of scalar.cuh that take what is stored have no form for a float. */
static int takes_stored(int32_t op)
{
    switch (op) {
    case NDP_OP_copysign:
    case NDP_OP_positive:
    case NDP_OP_real:
    case NDP_OP_conj:
    case NDP_OP_signbit:
    case NDP_OP_where:
        return 1;
    default:
        return 0;
    }
}

int cuda_rows_has_pairs(const cuda_rows_maker *m)
{
    const ndp_program *p = m->w.p;
    int32_t dtype = 0;
    for (int32_t v = 0; v < m->w.n_values; v++) {
        const int32_t own = cuda_source_dtype_of(p, v);
        if (m->w.of_row[v])
            continue;
        if (own < NDP_F16 || own > NDP_BF16 || (dtype && own != dtype))
            return 0;
        dtype = own;
    }
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
        if (m->w.of_row[v])
            continue;
        if (k->op == NDP_OP_copy || k->compute != dtype || takes_stored(k->op))
            return 0;
        for (int i = 0; i < 3 && k->arg[i] >= 0; i++)
            if (cuda_source_dtype_of(p, k->arg[i]) != dtype)
                return 0;
    }
    return dtype != 0;
}

void cuda_rows_pair_operands(const cuda_rows_maker *m, int32_t walk)
{
    char done[CUDA_WALK_VALUES] = {0};
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
        if (m->w.use[walk][v] != CUDA_MADE)
            continue;
        for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
            const int32_t from = k->arg[i];
            if (!m->w.of_row[from] || done[from] || (i == 1 && cuda_rows_is_by_row(m, v)))
                continue;
            done[from] = 1;
            cuda_text_add(m->t, "    const uint32_t w%d_%d = pair_both(v%d);\n", (int)from,
                          (int)walk, (int)from);
        }
    }
}

static void add_operand(const cuda_rows_maker *m, int32_t walk, int32_t value)
{
    if (m->w.of_row[value])
        cuda_text_add(m->t, "w%d_%d", (int)value, (int)walk);
    else
        cuda_text_add(m->t, "w%d", (int)value);
}

/* The function of one of the two, "hi" or "lo". */
static void add_half(const cuda_rows_maker *m, int32_t walk, int32_t v, const char *half)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    cuda_text_add(m->t, "d_%s::cuda_%s(", cuda_source_dtype(k->compute), ndp_op_name(k->op));
    for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
        cuda_text_add(m->t, "%sP::%s(", i ? ", " : "", half);
        add_operand(m, walk, k->arg[i]);
        cuda_text_add(m->t, ")");
    }
    cuda_text_add(m->t, ")");
}

static void add_instruction(const cuda_rows_maker *m, int32_t walk, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    const char *both = function_of(k->op);
    cuda_text_add(m->t, "            const uint32_t w%d = ", (int)v);
    if (cuda_rows_is_by_row(m, v)) {
        cuda_text_add(m->t, "rows_quotients<T>(");
        add_operand(m, walk, k->arg[0]);
        cuda_text_add(m->t, ", n%d_%d);\n", (int)v, (int)walk);
        return;
    }
    cuda_text_add(m->t, "P::%s(", both ? both : "of");
    if (both) {
        for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
            cuda_text_add(m->t, i ? ", " : "");
            add_operand(m, walk, k->arg[i]);
        }
    } else {
        add_half(m, walk, v, "hi");
        cuda_text_add(m->t, ", ");
        add_half(m, walk, v, "lo");
    }
    cuda_text_add(m->t, ");\n");
}

void cuda_rows_pair_elements(const cuda_rows_maker *m, int32_t walk)
{
    int32_t dtype = 0;
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] == walk + 1)
            cuda_text_add(m->t, "        R%d::element x%d[U * V];\n", (int)v, (int)v);
    for (int32_t v = 0; v < m->w.n_values; v++) {
        dtype = m->w.of_row[v] ? dtype : cuda_source_dtype_of(m->w.p, v);
        if (!cuda_rows_is_stored(m, walk, v))
            continue;
        cuda_text_add(m->t, "        ");
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, " b%d[U * V];\n", (int)v);
    }
    cuda_text_add(m->t, "#pragma unroll\n        for (int j = 0; j < U * V; j += 2) {\n"
                        "            typedef ");
    cuda_source_stored(m->t, dtype);
    cuda_text_add(m->t, " T;\n            typedef pair<T> P;\n");
    for (int32_t v = 0; v < m->w.n_values; v++) {
        if (!m->w.use[walk][v])
            continue;
        if (m->w.use[walk][v] == CUDA_MADE && v >= m->w.first)
            add_instruction(m, walk, v);
        else
            cuda_text_add(m->t, "            const uint32_t w%d = pair_get(a%d + j);\n", (int)v,
                          (int)v);
    }
    for (int32_t v = 0; v < m->w.n_values; v++)
        if (cuda_rows_is_stored(m, walk, v))
            cuda_text_add(m->t, "            pair_put(b%d + j, w%d);\n", (int)v, (int)v);
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] == walk + 1)
            cuda_text_add(m->t, "            pair_put(x%d + j, w%d);\n", (int)v,
                          (int)cuda_walk_instruction(&m->w, v)->arg[0]);
    cuda_text_add(m->t, "        }\n");
}
