/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From a program of rows to CUDA C++: walks over a row, one after another. Walk n computes what the
 * reductions of that walk take and the results that need no later ones; then its reductions are
 * merged, and what is one value for each row is computed of them by every thread. What a later walk
 * needs again of an earlier one lies in shared memory, each thread's own: inputs are copied there
 * before their first walk, all at once. */
#include <stdio.h>
#include <stdlib.h>
#include "program/source_rows.h"
#include "reduce/keys.h"

void cuda_rows_add_type(const cuda_rows_maker *m, int32_t value)
{
    cuda_source_stored(m->t, cuda_source_dtype_of(m->w.p, value));
}

/* The type of the operation, of ops.cuh or rows.cuh. */
static void add_operation(const cuda_rows_maker *m, const ndp_instruction *k)
{
    static const char *const names[][2] = {[NDP_F16] = {"__half", "f16"},
                                           [NDP_BF16] = {"__nv_bfloat16", "bf16"},
                                           [NDP_F32] = {"float", "f32"}};
    /* Minus infinity of max, infinity of min. */
    static const uint32_t least[][2] = {[NDP_F16] = {0xfc00fc00, 0x7c007c00},
                                        [NDP_BF16] = {0xff80ff80, 0x7f807f80},
                                        [NDP_F32] = {0xff800000, 0x7f800000}};
    const int wide = k->compute == NDP_F64, var = k->op == NDP_OP_var || k->op == NDP_OP_std;
    const char *type = wide ? "double" : names[k->compute][0];
    if ((k->op == NDP_OP_min || k->op == NDP_OP_max) && wide)
        cuda_text_add(m->t, "rows_as<reduce_extreme<int64_t, int64_t, true>>");
    else if (k->op == NDP_OP_min || k->op == NDP_OP_max)
        cuda_text_add(m->t, "ROWS_EXTREME_OF(%s, %s, %s, 0x%xu)", type, names[k->compute][1],
                      k->op == NDP_OP_min ? "min" : "max",
                      (unsigned)least[k->compute][k->op == NDP_OP_min]);
    else if (k->op == NDP_OP_prod)
        cuda_text_add(m->t, "rows_as<reduce_float<prod_float<%s>>>", type);
    else if (var)
        cuda_text_add(
            m->t, wide ? "rows_as<reduce_var<var_double>>" : "rows_as<reduce_var<var_single<%s>>>",
            type);
    else
        cuda_text_add(m->t, wide ? "rows_as<reduce_float<sum_f64>>" : "rows_sum<%s>", type);
}

/* The operation, its parameters and its state. */
static void add_reduction(const cuda_rows_maker *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    const int var = k->op == NDP_OP_var || k->op == NDP_OP_std;
    const int extreme = k->op == NDP_OP_min || k->op == NDP_OP_max;
    reduce_params keys = {0};
    cuda_text_add(m->t, "    typedef ");
    add_operation(m, k);
    cuda_text_add(m->t, " R%d;\n    reduce_params q%d = {};\n    q%d.count = p.count;\n", (int)v,
                  (int)v, (int)v);
    if (var)
        cuda_text_add(m->t, "    q%d.divisor = (double)p.count - v%d;\n    q%d.finish = %s;\n",
                      (int)v, (int)k->arg[1], (int)v,
                      k->op == NDP_OP_std ? "REDUCE_SQRT" : "REDUCE_VALUE");
    else
        cuda_text_add(m->t, "    q%d.divisor = %s;\n    q%d.inverse = %s;\n", (int)v,
                      k->op == NDP_OP_mean ? "(double)p.count" : "1", (int)v,
                      k->op == NDP_OP_mean ? "p.inverse" : "1");
    if (extreme) {
        cuda_reduce_keys(&keys, k->op, k->compute);
        cuda_text_add(m->t,
                      "    q%d.flip = %lld;\n    q%d.nan_above = %lld;\n    q%d.nan_bits = %lld;\n",
                      (int)v, (long long)keys.flip, (int)v, (long long)keys.nan_above, (int)v,
                      (long long)keys.nan_bits);
    }
    cuda_text_add(m->t, "    R%d::state s%d = R%d::zero();\n", (int)v, (int)v, (int)v);
}

/* Whether an operand is moved an item at a time. */
static void add_whole(const cuda_rows_maker *m, uint32_t operand)
{
    if (m->whole)
        cuda_text_add(m->t, "true, 1");
    else
        cuda_text_add(m->t, "p.whole >> %u & 1, p.step[%u]", operand, operand);
}

/* Whether the walk stores the value's elements: as a result, or for later walks. */
int cuda_rows_is_stored(const cuda_rows_maker *m, int32_t walk, int32_t v)
{
    int result = 0;
    for (uint32_t i = 0; i < m->w.p->n_out; i++)
        result |= m->w.p->out[i] == v && m->w.walk[v] == walk;
    return m->w.use[walk][v] == CUDA_MADE &&
           (result || (m->w.kept[v] >= 0 && !cuda_walk_is_input(&m->w, v) &&
                       !cuda_walk_was_made(&m->w, walk, v)));
}

/* Copies of inputs to shared memory. */
static void add_stages(const cuda_rows_maker *m, int32_t walk)
{
    int some = 0;
    for (int32_t v = 0; cuda_walk_is_input(&m->w, v); v++) {
        if (m->w.use[walk][v] != CUDA_MADE || m->w.kept[v] < 0)
            continue;
        cuda_text_add(m->t, "    rows_stage<V>(k%d, i%d, lane, lanes, items, ", (int)v, (int)v);
        add_whole(m, (uint32_t)v);
        cuda_text_add(m->t, ");\n");
        some = 1;
    }
    if (some)
        cuda_text_add(m->t, "    rows_staged();\n");
}

static void add_fetch(const cuda_rows_maker *m, int32_t walk)
{
    for (int32_t v = 0; v < m->w.n_values; v++) {
        const int fetched =
            m->w.use[walk][v] == CUDA_FETCHED ||
            (cuda_walk_is_input(&m->w, v) && m->w.use[walk][v] && m->w.kept[v] >= 0);
        if (!fetched && !(cuda_walk_is_input(&m->w, v) && m->w.use[walk][v]))
            continue;
        cuda_text_add(m->t, "        ");
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t,
                      " a%d[U * V];\n#pragma unroll\n        for (uint32_t u = 0; u < U; u++)\n",
                      (int)v);
        cuda_text_add(m->t, "            rows_load<V>(a%d + u * V, %s%d, at[u], ", (int)v,
                      fetched ? "k" : "i", (int)v);
        if (fetched)
            cuda_text_add(m->t, "true, 1");
        else
            add_whole(m, (uint32_t)v);
        cuda_text_add(m->t, ");\n");
    }
}

/* Whether the instruction divides elements by one value of the row. */
int cuda_rows_is_by_row(const cuda_rows_maker *m, int32_t v)
{
    const ndp_instruction *k = cuda_walk_instruction(&m->w, v);
    return k->op == NDP_OP_divide && k->compute >= NDP_F16 && k->compute <= NDP_F32 &&
           k->dtype == k->compute && m->w.of_row[k->arg[1]] && !m->w.of_row[v];
}

/* n: what divides, prepared once for the walk. */
static void add_divisors(const cuda_rows_maker *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (m->w.use[walk][v] != CUDA_MADE || !cuda_rows_is_by_row(m, v))
            continue;
        cuda_text_add(m->t, "    const rows_divisor n%d_%d = rows_divisor_of<", (int)v, (int)walk);
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, ">(v%d);\n", (int)cuda_walk_instruction(&m->w, v)->arg[1]);
    }
}

static void add_instruction(const cuda_rows_maker *m, int32_t walk, int32_t v)
{
    if (!cuda_rows_is_by_row(m, v)) {
        cuda_source_instruction(m->t, cuda_walk_instruction(&m->w, v), (uint32_t)v);
        return;
    }
    cuda_text_add(m->t, "    const ");
    cuda_rows_add_type(m, v);
    cuda_text_add(m->t, " v%d = rows_quotient<", (int)v);
    cuda_rows_add_type(m, v);
    cuda_text_add(m->t, ">(v%d, n%d_%d);\n", (int)cuda_walk_instruction(&m->w, v)->arg[0], (int)v,
                  (int)walk);
}

/* x: what a reduction takes; b: what is stored. */
static void add_elements(const cuda_rows_maker *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] == walk + 1)
            cuda_text_add(m->t, "        R%d::element x%d[U * V];\n", (int)v, (int)v);
    for (int32_t v = 0; v < m->w.n_values; v++)
        if (cuda_rows_is_stored(m, walk, v)) {
            cuda_text_add(m->t, "        ");
            cuda_rows_add_type(m, v);
            cuda_text_add(m->t, " b%d[U * V];\n", (int)v);
        }
    cuda_text_add(m->t, "#pragma unroll\n        for (int j = 0; j < U * V; j++) {\n");
    for (int32_t v = 0; v < m->w.n_values; v++) {
        if (!m->w.use[walk][v])
            continue;
        if (m->w.use[walk][v] == CUDA_MADE && v >= m->w.first) {
            add_instruction(m, walk, v);
            continue;
        }
        cuda_text_add(m->t, "    const ");
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, " v%d = a%d[j];\n", (int)v, (int)v);
    }
    for (int32_t v = 0; v < m->w.n_values; v++)
        if (cuda_rows_is_stored(m, walk, v))
            cuda_text_add(m->t, "            b%d[j] = v%d;\n", (int)v, (int)v);
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] == walk + 1)
            cuda_text_add(m->t, "            x%d[j] = rows_bits<R%d::element>(v%d);\n", (int)v,
                          (int)v, (int)cuda_walk_instruction(&m->w, v)->arg[0]);
    cuda_text_add(m->t, "        }\n");
}

/* Runs of several items are one only where that has other bits than one after the other. */
static void add_folds(const cuda_rows_maker *m, int32_t walk)
{
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        if (!cuda_walk_is_reduction(&m->w, v) || m->w.walk[v] != walk + 1)
            continue;
        cuda_text_add(
            m->t,
            "        if (sizeof(R%d::element) == 8 && i + (U - 1) * lanes < items)\n"
            "            R%d::template add<U * V, V>(s%d, x%d, 0, 0, q%d);\n"
            "        else {\n#pragma unroll\n            for (uint32_t u = 0; u < U; u++)\n"
            "                if (i + u * lanes < items)\n"
            "                    R%d::template add<V, V>(s%d, x%d + u * V, 0, 0, q%d);\n"
            "        }\n",
            (int)v, (int)v, (int)v, (int)v, (int)v, (int)v, (int)v, (int)v, (int)v);
    }
}

static void add_stores(const cuda_rows_maker *m, int32_t walk)
{
    cuda_text_add(m->t, "#pragma unroll\n        for (uint32_t u = 0; u < U; u++) {\n"
                        "            if (i + u * lanes >= items)\n                break;\n");
    for (int32_t v = 0; v < m->w.n_values; v++)
        if (cuda_rows_is_stored(m, walk, v) && !cuda_walk_is_input(&m->w, v) && m->w.kept[v] >= 0 &&
            !cuda_walk_was_made(&m->w, walk, v))
            cuda_text_add(m->t, "            rows_store<V>(k%d, b%d + u * V, at[u], true, 1);\n",
                          (int)v, (int)v);
    for (uint32_t i = 0; i < m->w.p->n_out; i++) {
        const int32_t v = m->w.p->out[i];
        const uint32_t k = m->w.p->n_in + i;
        if (m->w.of_row[v] || m->w.walk[v] != walk)
            continue;
        cuda_text_add(m->t, "            rows_store<V>(o%u, %s%d + u * V, at[u], ", i,
                      m->w.use[walk][v] == CUDA_MADE ? "b" : "a", (int)v);
        add_whole(m, k);
        cuda_text_add(m->t, ");\n");
    }
    cuda_text_add(m->t, "        }\n");
}

static void add_walk(const cuda_rows_maker *m, int32_t walk)
{
    if (!cuda_walk_has_work(&m->w, walk))
        return;
    add_stages(m, walk);
    add_divisors(m, walk);
    if (m->pairs)
        cuda_rows_pair_operands(m, walk);
    cuda_text_add(m->t,
                  "#pragma unroll 1\n    for (uint32_t i = lane; i < items; i += U * lanes) {\n"
                  "        uint32_t at[U];\n#pragma unroll\n"
                  "        for (uint32_t u = 0; u < U; u++)\n"
                  "            at[u] = i + u * lanes < items ? i + u * lanes : items - 1;\n");
    add_fetch(m, walk);
    if (m->pairs)
        cuda_rows_pair_elements(m, walk);
    else
        add_elements(m, walk);
    add_folds(m, walk);
    add_stores(m, walk);
    cuda_text_add(m->t, "    }\n");
}

/* What is one value for each row, once the walks before this one have ended. */
static void add_row_values(const cuda_rows_maker *m, int32_t walk)
{
    int slot = 0; /* of the next merge, over all walks */
    for (int32_t v = m->w.first; v < m->w.n_values; v++) {
        slot += cuda_walk_is_reduction(&m->w, v) && m->w.walk[v] < walk;
        if (!m->w.of_row[v] || m->w.walk[v] != walk)
            continue;
        if (!cuda_walk_is_reduction(&m->w, v)) {
            cuda_source_instruction(m->t, cuda_walk_instruction(&m->w, v), (uint32_t)v);
            continue;
        }
        cuda_text_add(m->t, "    const ");
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, " v%d = rows_value<R%d, ", (int)v, (int)v);
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, ">(rows_merge<R%d, %d>(s%d, (int)lanes, q%d), q%d);\n", (int)v,
                      slot++ % 2, (int)v, (int)v, (int)v);
    }
}

static void add_operands(const cuda_rows_maker *m)
{
    const ndp_program *p = m->w.p;
    for (uint32_t i = 0; i < p->n_in; i++) {
        cuda_text_add(m->t, "    const ");
        cuda_source_stored(m->t, p->dtype[i]);
        cuda_text_add(m->t, " *const i%u = (const ", i);
        cuda_source_stored(m->t, p->dtype[i]);
        cuda_text_add(m->t, " *)p.operand[%u] + at[%u];\n", i, i);
        if (!m->w.of_row[i])
            continue;
        cuda_text_add(m->t, "    const ");
        cuda_source_stored(m->t, p->dtype[i]);
        cuda_text_add(m->t, " v%u = *i%u;\n", i, i);
    }
    for (uint32_t i = 0; i < p->n_out; i++) {
        cuda_text_add(m->t, "    ");
        cuda_rows_add_type(m, p->out[i]);
        cuda_text_add(m->t, " *const o%u = (", i);
        cuda_rows_add_type(m, p->out[i]);
        cuda_text_add(m->t, " *)p.operand[%u] + at[%u];\n", p->n_in + i, p->n_in + i);
    }
    cuda_source_scalars(m->t, p);
    for (int32_t v = 0; v < m->w.n_values; v++) {
        if (m->w.kept[v] < 0)
            continue;
        cuda_text_add(m->t, "    ");
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, " *const k%d = (", (int)v);
        cuda_rows_add_type(m, v);
        cuda_text_add(m->t, " *)((char *)rows_kept + p.kept[%d]) + (uint64_t)slot * p.items * V;\n",
                      (int)m->w.kept[v]);
    }
}

static void add_kernel(const cuda_rows_maker *m)
{
    const ndp_program *p = m->w.p;
    const int dims = (int)NDP_PROGRAM_RANK(p->flags) - 1;
    cuda_text_add(
        m->t,
        "extern __shared__ uint4 rows_kept[];\nextern \"C\" __global__ void "
        "__launch_bounds__(CUDA_PROGRAM_THREADS)\n    program_rows(const "
        "__grid_constant__ cuda_program_rows p)\n{\n    cuda_after_earlier();\n"
        "    enum { V = %d, U = %d };\n    const uint32_t lanes = (uint32_t)p.lanes, lane "
        "= threadIdx.x & (lanes - 1);\n    const uint32_t slot = threadIdx.x >> p.lanes_log2;\n"
        "    const uint32_t row = blockIdx.x * p.slots + slot;\n"
        "    const bool inside = row < p.rows;\n"
        "    const uint32_t items = inside ? p.items : 0;\n    int64_t at[%u];\n"
        "    program_locate<%d>(p, inside ? row : 0, at);\n",
        (int)m->w.facts->width, (int)m->unroll, p->n_in + p->n_out, dims);
    add_operands(m);
    for (int32_t v = m->w.first; v < m->w.n_values; v++)
        if (cuda_walk_is_reduction(&m->w, v))
            add_reduction(m, v);
    for (int32_t w = 0; w < m->w.n_walks; w++) {
        add_row_values(m, w);
        add_walk(m, w);
    }
    cuda_text_add(m->t, "    if (lane == 0 && inside) {\n");
    for (uint32_t i = 0; i < p->n_out; i++)
        if (m->w.of_row[p->out[i]])
            cuda_text_add(m->t, "        *o%u = v%d;\n", i, (int)p->out[i]);
    cuda_text_add(m->t, "    }\n}\n");
}

int cuda_source_rows(cuda_text *t, const ndp_program *p, int whole, cuda_program_rows_facts *facts,
                     char *why, size_t n)
{
    cuda_rows_maker *m = calloc(1, sizeof *m);
    if (!m)
        return snprintf(why, n, "no host memory for the source"), 0;
    m->t = t;
    m->whole = whole;
    const int fits = cuda_walks_find(&m->w, p, facts);
    m->unroll = facts->width == 2 ? 4 : 1; /* of reduce.cu, where it matters to the bits */
    m->pairs = fits && cuda_rows_has_pairs(m);
    if (fits)
        add_kernel(m);
    else
        snprintf(why, n, "its rows are of more kinds, or walks, than kernels have");
    free(m);
    return fits;
}
