/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From a program to CUDA C++: the formulas of each dtype that is computed in, in a namespace, then
 * one function for an element, a line an instruction, each as elementwise.cu has it: operands
 * widened from what is stored, the result narrowed. */
#include <stdio.h>
#include "program/source.h"
#include "host/dtype_word.h"

const char *cuda_source_dtype(int32_t dtype)
{
    return cuda_dtype_word(dtype);
}

/* Kinds that kernels compute in. */
static int computes(int32_t dtype)
{
    return dtype > 0 && dtype < NDP_DTYPE_END &&
           (ndp_dtype_kind(dtype) & (1 | 2 | 4 | 8 | 16)) != 0 && ndp_dtype_size(dtype) <= 16;
}

static void add_formulas(cuda_text *t, const ndp_program *p)
{
    uint64_t done = 0, kinds = 0;
    int special = 0, converts = 0;
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        converts |= k->op == NDP_OP_copy;
        if (k->op == NDP_OP_copy || cuda_source_is_reduction(k))
            continue;
        kinds |= (uint64_t)1 << k->compute;
        special |= cuda_program_is_special(ndp_op_name(k->op));
    }
    cuda_text_add(t, "%s#include \"program/frame.cuh\"\n%s%s",
                  special ? "#define PROGRAM_SPECIAL\n" : "",
                  converts ? "#include \"copy/convert.cuh\"\n" : "",
                  p->flags & NDP_PROGRAM_ROWS ? "#include \"program/rows.cuh\"\n" : "");
    /* In the namespace of none of the dtypes. */
    if (kinds >> NDP_F16)
        cuda_text_add(t, "#include \"math/f32.cuh\"\n#include \"math/f64.cuh\"\n");
    if (kinds & ((uint64_t)1 << NDP_F16 | (uint64_t)1 << NDP_BF16))
        cuda_text_add(t, "#include \"math/half.cuh\"\n");
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        if (k->op == NDP_OP_copy || cuda_source_is_reduction(k) || done >> k->compute & 1)
            continue;
        done |= (uint64_t)1 << k->compute;
        cuda_text_add(t,
                      "#define CUDA_DTYPE %s\nnamespace d_%s {\n#include \"math/scalar.cuh\"\n}\n"
                      "#include \"program/undef.cuh\"\n",
                      cuda_source_dtype(k->compute), cuda_source_dtype(k->compute));
    }
}

void cuda_source_stored(cuda_text *t, int32_t dtype)
{
    cuda_text_add(t, "cuda_dtype<NDP_%s>::stored", cuda_source_dtype(dtype));
}

int32_t cuda_source_dtype_of(const ndp_program *p, int32_t value)
{
    int32_t first = (int32_t)(p->n_in + p->n_scalar);
    return value < first ? p->dtype[value] : p->instruction[value - first].dtype;
}

void cuda_source_instruction(cuda_text *t, const ndp_instruction *k, uint32_t value)
{
    const char *in = cuda_source_dtype(k->compute), *name = ndp_op_name(k->op);
    cuda_text_add(t, "    const ");
    cuda_source_stored(t, k->dtype);
    if (k->op == NDP_OP_copy) {
        cuda_text_add(t, " v%u = convert<NDP_%s, NDP_%s>::of(v%d);\n", value, in,
                      cuda_source_dtype(k->dtype), (int)k->arg[0]);
        return;
    }
    cuda_text_add(t, " v%u = cuda_narrow<", value);
    cuda_source_stored(t, k->dtype);
    cuda_text_add(t, ">(d_%s::cuda_%s(", in, name);
    for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
        cuda_text_add(t, i ? ", " : "");
        if (k->op == NDP_OP_where && i == 0)
            cuda_text_add(t, "v%d", (int)k->arg[i]);
        else
            cuda_text_add(t, "d_%s::cuda_operand<d_%s::cuda_on_stored(NDP_OP_%s)>::of(v%d)", in, in,
                          name, (int)k->arg[i]);
    }
    cuda_text_add(t, "));\n");
}

void cuda_source_scalars(cuda_text *t, const ndp_program *p)
{
    for (uint32_t i = 0; i < p->n_scalar; i++) {
        cuda_text_add(t, "    const ");
        cuda_source_stored(t, p->dtype[p->n_in + i]);
        cuda_text_add(t, " v%u = program_scalar<", p->n_in + i);
        cuda_source_stored(t, p->dtype[p->n_in + i]);
        cuda_text_add(t, ">(p.scalar[%u]);\n", i);
    }
}

/* element(p, inputs, results) */
static void add_element(cuda_text *t, const ndp_program *p)
{
    cuda_text_add(t,
                  "template <class P> static __device__ __forceinline__ void element(const P &p");
    for (uint32_t i = 0; i < p->n_in; i++) {
        cuda_text_add(t, ",\n    const ");
        cuda_source_stored(t, p->dtype[i]);
        cuda_text_add(t, " v%u", i);
    }
    for (uint32_t i = 0; i < p->n_out; i++) {
        cuda_text_add(t, ",\n    ");
        cuda_source_stored(t, cuda_source_dtype_of(p, p->out[i]));
        cuda_text_add(t, " &r%u", i);
    }
    cuda_text_add(t, ")\n{\n");
    cuda_source_scalars(t, p);
    for (uint32_t i = 0; i < p->n_instruction; i++)
        cuda_source_instruction(t, &p->instruction[i], p->n_in + p->n_scalar + i);
    for (uint32_t i = 0; i < p->n_out; i++)
        cuda_text_add(t, "    r%u = v%d;\n", i, (int)p->out[i]);
    cuda_text_add(t, "}\n");
}

int32_t cuda_source_operand_dtype(const ndp_program *p, uint32_t i)
{
    return i < p->n_in ? p->dtype[i] : cuda_source_dtype_of(p, p->out[i - p->n_in]);
}

int cuda_program_width(const ndp_program *p)
{
    int32_t least = 16;
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        if (ndp_dtype_size(cuda_source_operand_dtype(p, i)) < least)
            least = (int32_t)ndp_dtype_size(cuda_source_operand_dtype(p, i));
    return least <= 2 ? 8 : 16 / least;
}

int cuda_program_dims(const ndp_program *p)
{
    const int rank = (int)NDP_PROGRAM_RANK(p->flags);
    return rank > 0 && rank < CUDA_PROGRAM_NDIM ? rank : CUDA_PROGRAM_NDIM;
}

/* The call of element() for element j of the arrays a0, a1 ..., which end with the results. */
static void add_call(cuda_text *t, const ndp_program *p)
{
    cuda_text_add(t, "element(p");
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++)
        cuda_text_add(t, ", a%u[j]", i);
    cuda_text_add(t, ");\n");
}

static void add_arrays(cuda_text *t, const ndp_program *p, const char *count)
{
    for (uint32_t i = 0; i < p->n_in + p->n_out; i++) {
        cuda_text_add(t, "    ");
        cuda_source_stored(t, cuda_source_operand_dtype(p, i));
        cuda_text_add(t, " a%u[%s];\n", i, count);
    }
}

static void add_flat(cuda_text *t, const ndp_program *p, int whole)
{
    cuda_text_add(t,
                  "enum { N = %d };\nextern \"C\" __global__ void "
                  "__launch_bounds__(CUDA_PROGRAM_THREADS)\n    program_flat(const "
                  "__grid_constant__ cuda_program_flat p)\n{\n"
                  "    cuda_after_earlier();\n    const uint64_t at = ((uint64_t)blockIdx.x * "
                  "CUDA_PROGRAM_THREADS + "
                  "threadIdx.x) * N;\n    if (at >= p.n)\n        return;\n",
                  cuda_program_width(p));
    cuda_text_add(t, whole ? "    enum { whole = true, n = N };\n"
                           : "    const uint32_t n = p.n - at < N ? (uint32_t)(p.n - at) : N;\n"
                             "    const bool whole = p.aligned && n == N;\n");
    add_arrays(t, p, "N");
    for (uint32_t i = 0; i < p->n_in; i++) {
        cuda_text_add(t, "    program_load(a%u, (const ", i);
        cuda_source_stored(t, p->dtype[i]);
        cuda_text_add(t, " *)p.operand[%u] + at, whole, n);\n", i);
    }
    cuda_text_add(t, "#pragma unroll\n    for (int j = 0; j < N; j++)\n        ");
    add_call(t, p);
    for (uint32_t i = p->n_in; i < p->n_in + p->n_out; i++) {
        cuda_text_add(t, "    program_store((");
        cuda_source_stored(t, cuda_source_operand_dtype(p, i));
        cuda_text_add(t, " *)p.operand[%u] + at, a%u, whole, n);\n", i, i);
    }
    cuda_text_add(t, "}\n");
}

static void add_strided(cuda_text *t, const ndp_program *p)
{
    cuda_text_add(
        t,
        "extern \"C\" __global__ void __launch_bounds__(CUDA_PROGRAM_THREADS)\n"
        "    program_strided(const __grid_constant__ cuda_program_strided p)\n{\n"
        "    cuda_after_earlier();\n    enum { E = CUDA_PROGRAM_EACH, T = CUDA_PROGRAM_THREADS };\n"
        "    const uint32_t first = blockIdx.x * (E * T) + threadIdx.x;\n"
        "    int64_t at[E][%u];\n",
        p->n_in + p->n_out);
    add_arrays(t, p, "E");
    cuda_text_add(t,
                  "#pragma unroll\n    for (int j = 0; j < E; j++) {\n"
                  "        if (first + j * T >= p.n)\n            break;\n"
                  "        program_locate<%d>(p, first + j * T, at[j]);\n",
                  cuda_program_dims(p));
    for (uint32_t i = 0; i < p->n_in; i++) {
        cuda_text_add(t, "        a%u[j] = ((const ", i);
        cuda_source_stored(t, p->dtype[i]);
        cuda_text_add(t, " *)p.operand[%u])[at[j][%u]];\n", i, i);
    }
    cuda_text_add(t, "    }\n#pragma unroll\n    for (int j = 0; j < E; j++) {\n"
                     "        if (first + j * T >= p.n)\n            break;\n        ");
    add_call(t, p);
    for (uint32_t i = p->n_in; i < p->n_in + p->n_out; i++) {
        cuda_text_add(t, "        ((");
        cuda_source_stored(t, cuda_source_operand_dtype(p, i));
        cuda_text_add(t, " *)p.operand[%u])[at[j][%u]] = a%u[j];\n", i, i, i);
    }
    cuda_text_add(t, "    }\n}\n");
}

static int check(const ndp_program *p, char *why, size_t n)
{
    for (uint32_t i = 0; i < p->n_in + p->n_scalar; i++)
        if (!computes(p->dtype[i]))
            return snprintf(why, n, "kernels do not know dtype %d", (int)p->dtype[i]), 0;
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        if (!ndp_op_known(k->op) || !computes(k->dtype) || !computes(k->compute) ||
            (k->op != NDP_OP_copy && !(ndp_op_dtypes(k->op) >> k->compute & 1)))
            return snprintf(why, n, "kernels do not know op %d in dtype %d", (int)k->op,
                            (int)k->compute),
                   0;
    }
    return 1;
}

int cuda_program_source(const ndp_program *p, int whole, cuda_text *out,
                        cuda_program_rows_facts *rows, char *why, size_t n)
{
    if (!check(p, why, n))
        return 0;
    cuda_text_add(out, "/* program of ndock, headers %s*/\n", cuda_program_sums);
    add_formulas(out, p);
    if (p->flags & NDP_PROGRAM_ROWS) {
        if (!cuda_source_rows(out, p, whole, rows, why, n))
            return 0;
    } else {
        add_element(out, p);
        if (p->flags & NDP_PROGRAM_FLAT)
            add_flat(out, p, whole);
        else
            add_strided(out, p);
    }
    if (out->failed)
        snprintf(why, n, "no host memory for the source");
    return !out->failed;
}
