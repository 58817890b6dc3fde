/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From a program of rows to CUDA C++: walks over a row, one after another. Walk n computes what the
 * reductions of that walk take and the results that need no later ones; then its reductions are
 * merged, and what is one value for each row is computed of them by every thread. What a later walk
 * needs again of an earlier one lies in shared memory, each thread's own: inputs are copied there
 * before their first walk, all at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "program/source.h"
#include "reduce/keys.h"

enum { WALKS = 8, VALUES = 16 + 64 + 768 };
enum { UNUSED, MADE, FETCHED };

typedef struct {
    const ndp_program *p;
    cuda_program_rows_facts *facts;
    cuda_text *t;
    int32_t first, n_values; /* of instructions; all of them */
    int32_t n_walks, unroll;
    char of_row[VALUES];        /* one value for each row, or a scalar */
    uint8_t walk[VALUES];       /* the first in which it can be computed */
    uint8_t use[WALKS][VALUES]; /* of elements, in each walk */
    int16_t kept[VALUES];       /* its number among those; -1: it is not kept */
} maker;

static const ndp_instruction *instruction(const maker *m, int32_t value)
{
    return &m->p->instruction[value - m->first];
}

static int is_input(const maker *m, int32_t value)
{
    return value < (int32_t)m->p->n_in;
}

static int is_reduction(const maker *m, int32_t value)
{
    return value >= m->first && cuda_source_is_reduction(instruction(m, value));
}

/* ---- which walk ---- */
static int place_values(maker *m)
{
    const ndp_program *p = m->p;
    for (int32_t v = 0; v < m->n_values; v++) {
        m->kept[v] = -1;
        m->walk[v] = 0;
        m->of_row[v] = v < (int32_t)p->n_in ? (char)(p->row_in >> v & 1) : 1;
        if (v < m->first)
            continue;
        const ndp_instruction *k = instruction(m, v);
        for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
            m->of_row[v] = (char)(m->of_row[v] && m->of_row[k->arg[i]]);
            m->walk[v] = m->walk[k->arg[i]] > m->walk[v] ? m->walk[k->arg[i]] : m->walk[v];
        }
        if (is_reduction(m, v)) {
            m->of_row[v] = 1;
            m->walk[v]++;
        }
        if (m->walk[v] >= WALKS)
            return 0;
        m->n_walks = m->walk[v] >= m->n_walks ? m->walk[v] + 1 : m->n_walks;
    }
    return 1;
}

/* A conversion to more bytes is rather done again than kept. */
static int is_widening(const maker *m, int32_t value)
{
    const ndp_instruction *k = instruction(m, value);
    return k->op == NDP_OP_copy && ndp_dtype_size(k->dtype) > ndp_dtype_size(k->compute);
}

static int was_made(const maker *m, int32_t walk, int32_t value)
{
    for (int32_t w = 0; w < walk; w++)
        if (m->use[w][value] == MADE)
            return 1;
    return 0;
}

static void need(maker *m, int32_t walk, int32_t value)
{
    if (!m->of_row[value] && !m->use[walk][value])
        m->use[walk][value] = MADE;
}

/* From what a walk is for to what that takes, operands after who takes them. */
static void use_values(maker *m, int32_t walk)
{
    const ndp_program *p = m->p;
    for (int32_t v = m->first; v < m->n_values; v++)
        if (is_reduction(m, v) && m->walk[v] == walk + 1)
            need(m, walk, instruction(m, v)->arg[0]);
    for (uint32_t i = 0; i < p->n_out; i++)
        if (m->walk[p->out[i]] == walk)
            need(m, walk, p->out[i]);
    for (int32_t v = m->n_values - 1; v >= 0; v--) {
        if (!m->use[walk][v])
            continue;
        if (was_made(m, walk, v) && !(v >= m->first && is_widening(m, v))) {
            m->use[walk][v] = FETCHED;
            m->kept[v] = 0;
        } else if (v >= m->first) {
            for (int i = 0; i < 3 && instruction(m, v)->arg[i] >= 0; i++)
                need(m, walk, instruction(m, v)->arg[i]);
        }
    }
}

/* The first walk that makes a kept value, and the last that fetches it. */
static int32_t made_in(const maker *m, int32_t value)
{
    int32_t w = 0;
    while (m->use[w][value] != MADE)
        w++;
    return w;
}

static int32_t last_fetch(const maker *m, int32_t value)
{
    int32_t w = m->n_walks - 1;
    while (m->use[w][value] != FETCHED)
        w--;
    return w;
}

/* A value takes the place of one that is fetched for the last time in the walk that makes it: each
 * thread fetches an element before it stores another in its place; inputs are there before. */
static int number_kept(maker *m)
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
                   (until[at] + is_input(m, v) > w || f->kept_bytes[at] != nbytes))
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
static int list_reductions(maker *m)
{
    cuda_program_rows_facts *f = m->facts;
    f->n_reductions = f->width = 0;
    for (int32_t v = m->first; v < m->n_values; v++) {
        if (!is_reduction(m, v))
            continue;
        const ndp_instruction *k = instruction(m, v);
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
    m->unroll = f->width == 2 ? 4 : 1; /* of reduce.cu, where it matters to the bits */
    return f->n_reductions > 0;
}

/* ---- text ---- */
static void add_type(const maker *m, int32_t value)
{
    cuda_source_stored(m->t, cuda_source_dtype_of(m->p, value));
}

/* The operation of ops.cuh, its parameters and its state. */
static void add_reduction(const maker *m, int32_t v)
{
    static const char *const stored[] = {
        [NDP_F16] = "__half", [NDP_BF16] = "__nv_bfloat16", [NDP_F32] = "float"};
    const ndp_instruction *k = instruction(m, v);
    const int wide = k->compute == NDP_F64, extreme = k->op == NDP_OP_min || k->op == NDP_OP_max;
    const int var = k->op == NDP_OP_var || k->op == NDP_OP_std;
    const char *type = wide ? "double" : stored[k->compute];
    reduce_params keys = {0};
    cuda_text_add(m->t, "    typedef ");
    if (extreme)
        cuda_text_add(m->t, "reduce_extreme<int%d_t, int%d_t, true>",
                      (int)(8 * ndp_dtype_size(k->compute)), wide ? 64 : 32);
    else if (k->op == NDP_OP_prod)
        cuda_text_add(m->t, "reduce_float<prod_float<%s>>", type);
    else if (var)
        cuda_text_add(m->t, wide ? "reduce_var<var_double>" : "reduce_var<var_single<%s>>", type);
    else
        cuda_text_add(m->t, wide ? "reduce_float<sum_f64>" : "reduce_float<sum_float<%s>>", type);
    cuda_text_add(m->t, " R%d;\n    reduce_params q%d = {};\n    q%d.count = p.count;\n", (int)v,
                  (int)v, (int)v);
    if (var)
        cuda_text_add(m->t, "    q%d.divisor = (double)p.count - v%d;\n    q%d.finish = %s;\n",
                      (int)v, (int)k->arg[1], (int)v,
                      k->op == NDP_OP_std ? "REDUCE_SQRT" : "REDUCE_VALUE");
    else
        cuda_text_add(m->t, "    q%d.divisor = %s;\n", (int)v,
                      k->op == NDP_OP_mean ? "(double)p.count" : "1");
    if (extreme) {
        cuda_reduce_keys(&keys, k->op, k->compute);
        cuda_text_add(m->t,
                      "    q%d.flip = %lld;\n    q%d.nan_above = %lld;\n    q%d.nan_bits = %lld;\n",
                      (int)v, (long long)keys.flip, (int)v, (long long)keys.nan_above, (int)v,
                      (long long)keys.nan_bits);
    }
    cuda_text_add(m->t, "    R%d::state s%d = R%d::zero();\n", (int)v, (int)v, (int)v);
}

/* Whether the walk stores the value's elements: as a result, or for later walks. */
static int is_stored(const maker *m, int32_t walk, int32_t v)
{
    int result = 0;
    for (uint32_t i = 0; i < m->p->n_out; i++)
        result |= m->p->out[i] == v && m->walk[v] == walk;
    return m->use[walk][v] == MADE &&
           (result || (m->kept[v] >= 0 && !is_input(m, v) && !was_made(m, walk, v)));
}

/* Copies of inputs to shared memory. */
static void add_stages(const maker *m, int32_t walk)
{
    int some = 0;
    for (int32_t v = 0; is_input(m, v); v++) {
        if (m->use[walk][v] != MADE || m->kept[v] < 0)
            continue;
        cuda_text_add(m->t,
                      "    rows_stage<V>(k%d, i%d, lane, lanes, items, p.whole >> %d & 1, "
                      "p.step[%d]);\n",
                      (int)v, (int)v, (int)v, (int)v);
        some = 1;
    }
    if (some)
        cuda_text_add(m->t, "    rows_staged();\n");
}

static void add_fetch(const maker *m, int32_t walk)
{
    for (int32_t v = 0; v < m->n_values; v++) {
        const int fetched =
            m->use[walk][v] == FETCHED || (is_input(m, v) && m->use[walk][v] && m->kept[v] >= 0);
        if (!fetched && !(is_input(m, v) && m->use[walk][v]))
            continue;
        cuda_text_add(m->t, "        ");
        add_type(m, v);
        cuda_text_add(m->t,
                      " a%d[U * V];\n#pragma unroll\n        for (uint32_t u = 0; u < U; u++)\n",
                      (int)v);
        if (fetched)
            cuda_text_add(m->t, "            rows_load<V>(a%d + u * V, k%d, at[u], true, 1);\n",
                          (int)v, (int)v);
        else
            cuda_text_add(m->t,
                          "            rows_load<V>(a%d + u * V, i%d, at[u], p.whole >> %d & 1, "
                          "p.step[%d]);\n",
                          (int)v, (int)v, (int)v, (int)v);
    }
}

/* x: what a reduction takes; b: what is stored. */
static void add_elements(const maker *m, int32_t walk)
{
    for (int32_t v = m->first; v < m->n_values; v++)
        if (is_reduction(m, v) && m->walk[v] == walk + 1)
            cuda_text_add(m->t, "        R%d::element x%d[U * V];\n", (int)v, (int)v);
    for (int32_t v = 0; v < m->n_values; v++)
        if (is_stored(m, walk, v)) {
            cuda_text_add(m->t, "        ");
            add_type(m, v);
            cuda_text_add(m->t, " b%d[U * V];\n", (int)v);
        }
    cuda_text_add(m->t, "#pragma unroll\n        for (int j = 0; j < U * V; j++) {\n");
    for (int32_t v = 0; v < m->n_values; v++) {
        if (!m->use[walk][v])
            continue;
        if (m->use[walk][v] == MADE && v >= m->first) {
            cuda_source_instruction(m->t, instruction(m, v), (uint32_t)v);
            continue;
        }
        cuda_text_add(m->t, "    const ");
        add_type(m, v);
        cuda_text_add(m->t, " v%d = a%d[j];\n", (int)v, (int)v);
    }
    for (int32_t v = 0; v < m->n_values; v++)
        if (is_stored(m, walk, v))
            cuda_text_add(m->t, "            b%d[j] = v%d;\n", (int)v, (int)v);
    for (int32_t v = m->first; v < m->n_values; v++)
        if (is_reduction(m, v) && m->walk[v] == walk + 1)
            cuda_text_add(m->t, "            x%d[j] = rows_bits<R%d::element>(v%d);\n", (int)v,
                          (int)v, (int)instruction(m, v)->arg[0]);
    cuda_text_add(m->t, "        }\n");
}

/* Runs of several items are one only where that has other bits than one after the other. */
static void add_folds(const maker *m, int32_t walk)
{
    for (int32_t v = m->first; v < m->n_values; v++) {
        if (!is_reduction(m, v) || m->walk[v] != walk + 1)
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

static void add_stores(const maker *m, int32_t walk)
{
    cuda_text_add(m->t, "#pragma unroll\n        for (uint32_t u = 0; u < U; u++) {\n"
                        "            if (i + u * lanes >= items)\n                break;\n");
    for (int32_t v = 0; v < m->n_values; v++)
        if (is_stored(m, walk, v) && !is_input(m, v) && m->kept[v] >= 0 && !was_made(m, walk, v))
            cuda_text_add(m->t, "            rows_store<V>(k%d, b%d + u * V, at[u], true, 1);\n",
                          (int)v, (int)v);
    for (uint32_t i = 0; i < m->p->n_out; i++) {
        const int32_t v = m->p->out[i];
        const uint32_t k = m->p->n_in + i;
        if (!m->of_row[v] && m->walk[v] == walk)
            cuda_text_add(m->t,
                          "            rows_store<V>(o%u, %s%d + u * V, at[u], p.whole >> %u & 1, "
                          "p.step[%u]);\n",
                          i, m->use[walk][v] == MADE ? "b" : "a", (int)v, k, k);
    }
    cuda_text_add(m->t, "        }\n");
}

static void add_walk(const maker *m, int32_t walk)
{
    int some = 0;
    for (int32_t v = 0; v < m->n_values; v++)
        some |= m->use[walk][v];
    if (!some)
        return;
    add_stages(m, walk);
    cuda_text_add(m->t,
                  "#pragma unroll 1\n    for (uint32_t i = lane; i < items; i += U * lanes) {\n"
                  "        uint32_t at[U];\n#pragma unroll\n"
                  "        for (uint32_t u = 0; u < U; u++)\n"
                  "            at[u] = i + u * lanes < items ? i + u * lanes : items - 1;\n");
    add_fetch(m, walk);
    add_elements(m, walk);
    add_folds(m, walk);
    add_stores(m, walk);
    cuda_text_add(m->t, "    }\n");
}

/* What is one value for each row, once the walks before this one have ended. */
static void add_row_values(const maker *m, int32_t walk)
{
    for (int32_t v = m->first; v < m->n_values; v++) {
        if (!m->of_row[v] || m->walk[v] != walk)
            continue;
        if (!is_reduction(m, v)) {
            cuda_source_instruction(m->t, instruction(m, v), (uint32_t)v);
            continue;
        }
        cuda_text_add(m->t, "    const ");
        add_type(m, v);
        cuda_text_add(m->t, " v%d = rows_value<R%d, ", (int)v, (int)v);
        add_type(m, v);
        cuda_text_add(m->t, ">(rows_merge<R%d>(s%d, (int)lanes, q%d), q%d);\n", (int)v, (int)v,
                      (int)v, (int)v);
    }
}

static void add_operands(const maker *m)
{
    const ndp_program *p = m->p;
    for (uint32_t i = 0; i < p->n_in; i++) {
        cuda_text_add(m->t, "    const ");
        cuda_source_stored(m->t, p->dtype[i]);
        cuda_text_add(m->t, " *const i%u = (const ", i);
        cuda_source_stored(m->t, p->dtype[i]);
        cuda_text_add(m->t, " *)p.operand[%u] + at[%u];\n", i, i);
        if (!m->of_row[i])
            continue;
        cuda_text_add(m->t, "    const ");
        cuda_source_stored(m->t, p->dtype[i]);
        cuda_text_add(m->t, " v%u = *i%u;\n", i, i);
    }
    for (uint32_t i = 0; i < p->n_out; i++) {
        cuda_text_add(m->t, "    ");
        add_type(m, p->out[i]);
        cuda_text_add(m->t, " *const o%u = (", i);
        add_type(m, p->out[i]);
        cuda_text_add(m->t, " *)p.operand[%u] + at[%u];\n", p->n_in + i, p->n_in + i);
    }
    cuda_source_scalars(m->t, p);
    for (int32_t v = 0; v < m->n_values; v++) {
        if (m->kept[v] < 0)
            continue;
        cuda_text_add(m->t, "    ");
        add_type(m, v);
        cuda_text_add(m->t, " *const k%d = (", (int)v);
        add_type(m, v);
        cuda_text_add(m->t, " *)((char *)rows_kept + p.kept[%d]) + (uint64_t)slot * p.items * V;\n",
                      (int)m->kept[v]);
    }
}

static void add_kernel(const maker *m)
{
    const ndp_program *p = m->p;
    const int dims = (int)NDP_PROGRAM_RANK(p->flags) - 1;
    cuda_text_add(
        m->t,
        "extern __shared__ uint4 rows_kept[];\nextern \"C\" __global__ void "
        "__launch_bounds__(CUDA_PROGRAM_THREADS)\n    program_rows(const "
        "__grid_constant__ cuda_program_rows p)\n{\n    cuda_after_earlier();\n"
        "    enum { V = %d, U = %d };\n    const uint32_t lanes = (uint32_t)p.lanes, lane "
        "= threadIdx.x & (lanes - 1);\n    const uint32_t slot = threadIdx.x / lanes;\n"
        "    const uint32_t row = blockIdx.x * (blockDim.x / lanes) + slot;\n"
        "    const bool inside = row < p.rows;\n"
        "    const uint32_t items = inside ? p.items : 0;\n    int64_t at[%u];\n"
        "    rows_locate<%d>(p, inside ? row : 0, at);\n",
        (int)m->facts->width, (int)m->unroll, p->n_in + p->n_out, dims);
    add_operands(m);
    for (int32_t v = m->first; v < m->n_values; v++)
        if (is_reduction(m, v))
            add_reduction(m, v);
    for (int32_t w = 0; w < m->n_walks; w++) {
        add_row_values(m, w);
        add_walk(m, w);
    }
    cuda_text_add(m->t, "    if (lane == 0 && inside) {\n");
    for (uint32_t i = 0; i < p->n_out; i++)
        if (m->of_row[p->out[i]])
            cuda_text_add(m->t, "        *o%u = v%d;\n", i, (int)p->out[i]);
    cuda_text_add(m->t, "    }\n}\n");
}

int cuda_source_rows(cuda_text *t, const ndp_program *p, cuda_program_rows_facts *facts, char *why,
                     size_t n)
{
    maker *m = calloc(1, sizeof *m);
    const int rank = (int)NDP_PROGRAM_RANK(p->flags);
    if (!m)
        return snprintf(why, n, "no host memory for the source"), 0;
    m->p = p;
    m->t = t;
    m->facts = facts;
    m->first = (int32_t)(p->n_in + p->n_scalar);
    m->n_values = m->first + (int32_t)p->n_instruction;
    int fits = rank >= 2 && rank - 1 <= CUDA_PROGRAM_NDIM && m->n_values <= VALUES &&
               place_values(m) && list_reductions(m);
    for (int32_t w = 0; fits && w < m->n_walks; w++)
        use_values(m, w);
    fits = fits && number_kept(m);
    if (fits)
        add_kernel(m);
    else
        snprintf(why, n, "its rows are of more kinds, or walks, than kernels have");
    free(m);
    return fits;
}
