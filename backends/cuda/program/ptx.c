/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What both kinds of kernels in PTX share: bodies, and which programs they are there for. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "program/ptx.h"

__asm__(".section .rodata\ncuda_ptx_bodies:\n.incbin \"" CUDA_FATBIN_DIR
        "/program/bodies.txt\"\n.byte 0\n.previous\n");
extern const char cuda_ptx_bodies[] __attribute__((visibility("hidden")));

static const char *prefix(int32_t dtype)
{
    return dtype == NDP_F32 ? "f32" : dtype == NDP_F16 ? "f16" : "bf16";
}

typedef struct {
    const char *name;
    int32_t at, n; /* of its text */
} body;

/* NULL: there is none. */
static const body *find_body(const char *of, const char *name)
{
    static const body bodies[] = {
#include "program/bodies.h"
    };
    const size_t n = strlen(of);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (strncmp(bodies[i].name, of, n) == 0 && bodies[i].name[n] == '_' &&
            strcmp(bodies[i].name + n + 1, name) == 0)
            return &bodies[i];
    return NULL;
}

/* ---- text ---- */
static void add_text(cuda_ptx *x, const char *at, const char *end, const char *to,
                     const char *const *operand)
{
    while (at < end) {
        const char *mark = memchr(at, '#', (size_t)(end - at));
        mark = mark ? mark : end;
        cuda_text_add(x->t, "%.*s", (int)(mark - at), at);
        if (mark == end)
            return;
        if (mark[1] == 'r')
            cuda_text_add(x->t, "%s", to);
        else if (mark[1] == 'u')
            cuda_text_add(x->t, "%u", x->count);
        else
            cuda_text_add(x->t, "%s", operand[mark[1] - '0']);
        at = mark + 2;
    }
}

const void *cuda_ptx_find(cuda_ptx *x, const char *name)
{
    const body *found = find_body(prefix(x->dtype), name);
    x->missing |= !found;
    return found;
}

void cuda_ptx_body(cuda_ptx *x, const void *found, const char *to, const char *const *operand)
{
    const body *b = found;
    if (!b)
        return;
    x->count++;
    cuda_text_add(x->t, "{\n");
    add_text(x, cuda_ptx_bodies + b->at, cuda_ptx_bodies + b->at + b->n, to, operand);
    cuda_text_add(x->t, "}\n");
}

void cuda_ptx_head(cuda_ptx *x)
{
    x->capability =
        x->capability >= 90 ? 90 : 80; /* from 90 on a kernel waits for the one before it */
    cuda_text_add(x->t, ".version 7.8\n.target sm_%d\n.address_size 64\n", x->capability);
}

void cuda_ptx_load_one(cuda_ptx *x, const char *space, const char *to, const char *from)
{
    if (x->dtype == NDP_F32)
        cuda_text_add(x->t, "ld.%s.b32 %s, [%s];\n", space, to, from);
    else
        cuda_text_add(x->t, "ld.%s.b16 %%half, [%s];\nmov.b32 %s, {%%half, %%half};\n", space, from,
                      to);
}

int cuda_ptx_bytes(const cuda_ptx *x)
{
    return x->dtype == NDP_F32 ? 4 : 2;
}

/* ---- places ---- */
void cuda_ptx_locating(cuda_ptx *x)
{
    cuda_text_add(x->t, ".reg .b32 %%at, %%q, %%t, %%u, %%x;\n.reg .b64 %%to, %%stride;\n");
    for (uint32_t i = 0; i < x->p->n_in + x->p->n_out; i++)
        cuda_text_add(x->t, ".reg .b64 %%o%u;\n", i);
}

/* x: the position in a dimension, what is left of at by cuda_quotient() of divisor.cuh. */
static void add_position(cuda_ptx *x, size_t extent)
{
    cuda_text_add(x->t,
                  "ld.param.u32 %%t, [p+%zu];\nmul.hi.u32 %%t, %%at, %%t;\n"
                  "add.s32 %%t, %%t, %%at;\nld.param.u32 %%u, [p+%zu];\n"
                  "shr.u32 %%q, %%t, %%u;\nld.param.u32 %%u, [p+%zu];\n"
                  "mul.lo.s32 %%t, %%q, %%u;\nsub.s32 %%x, %%at, %%t;\nmov.b32 %%at, %%q;\n",
                  extent + offsetof(cuda_divisor, magic), extent + offsetof(cuda_divisor, shift),
                  extent + offsetof(cuda_divisor, value));
}

void cuda_ptx_locate(cuda_ptx *x, int dims, size_t extent, size_t stride)
{
    for (int d = 0; d < dims; d++) {
        if (d + 1 < dims)
            add_position(x, extent + (size_t)d * sizeof(cuda_divisor));
        else
            cuda_text_add(x->t, "mov.b32 %%x, %%at;\n");
        cuda_text_add(x->t, "cvt.u64.u32 %%to, %%x;\n");
        for (uint32_t i = 0; i < x->p->n_in + x->p->n_out; i++) {
            cuda_text_add(x->t, "ld.param.u64 %%stride, [p+%zu];\n",
                          stride + (i * CUDA_PROGRAM_NDIM + (size_t)d) * sizeof(int64_t));
            cuda_text_add(x->t,
                          d ? "mad.lo.s64 %%o%u, %%stride, %%to, %%o%u;\n"
                            : "mul.lo.s64 %%o%u, %%stride, %%to;\n",
                          i, i);
        }
    }
}

/* ---- which programs ---- */
/* A bool is made by a comparison of f32 and taken by where, as its condition. */
static int is_known(const ndp_program *p, int32_t dtype, const ndp_instruction *k)
{
    const int rows = (p->flags & NDP_PROGRAM_ROWS) != 0, makes_bool = k->dtype == NDP_BOOL;
    if (k->op == NDP_OP_copy || k->compute != dtype)
        return 0;
    if (cuda_source_is_reduction(k))
        return rows && k->dtype == dtype &&
               (k->op == NDP_OP_sum || k->op == NDP_OP_mean || k->op == NDP_OP_max ||
                k->op == NDP_OP_min);
    if (k->dtype != dtype && (!makes_bool || rows || dtype != NDP_F32))
        return 0;
    for (int i = 0; i < 3 && k->arg[i] >= 0; i++) {
        const int condition = k->op == NDP_OP_where && i == 0;
        if (cuda_source_dtype_of(p, k->arg[i]) != (condition ? NDP_BOOL : dtype))
            return 0;
    }
    return find_body(prefix(dtype), ndp_op_name(k->op)) != NULL;
}

static int32_t dtype_of(const ndp_program *p)
{
    const int32_t dtype = p->n_in ? p->dtype[0] : NDP_BOOL;
    int same = dtype == NDP_F32 || dtype == NDP_F16 || dtype == NDP_BF16;
    for (uint32_t i = 0; i < p->n_in + p->n_scalar; i++)
        same = same && p->dtype[i] == dtype;
    for (uint32_t i = 0; i < p->n_out; i++)
        same = same && cuda_source_dtype_of(p, p->out[i]) == dtype;
    for (uint32_t i = 0; i < p->n_instruction; i++)
        same = same && is_known(p, dtype, &p->instruction[i]);
    return same ? dtype : 0;
}

int cuda_program_assembles(const ndp_program *p, int capability, int whole)
{
    return capability >= CUDA_PTX_CAPABILITY && (whole || !(p->flags & NDP_PROGRAM_ROWS)) &&
           dtype_of(p) != 0;
}

void cuda_program_key(const ndp_program *p, int whole, cuda_text *out)
{
    cuda_text_add(out, "program of ndock, headers %s, %x %d %x:", cuda_program_sums,
                  (unsigned)p->flags, whole, (unsigned)p->row_in);
    for (uint32_t i = 0; i < p->n_in + p->n_scalar; i++)
        cuda_text_add(out, i == p->n_in ? ", scalars %d" : " %d", (int)p->dtype[i]);
    for (uint32_t i = 0; i < p->n_instruction; i++) {
        const ndp_instruction *k = &p->instruction[i];
        cuda_text_add(out, "; %d %d %d: %d %d %d", (int)k->op, (int)k->dtype, (int)k->compute,
                      (int)k->arg[0], (int)k->arg[1], (int)k->arg[2]);
    }
    cuda_text_add(out, "; results");
    for (uint32_t i = 0; i < p->n_out; i++)
        cuda_text_add(out, " %d", (int)p->out[i]);
}

int cuda_program_ptx(const ndp_program *p, int capability, int whole, cuda_text *out)
{
    cuda_ptx x = {.p = p, .t = out, .capability = capability};
    if (!cuda_program_assembles(p, capability, whole))
        return 0;
    x.dtype = dtype_of(p);
    const int made = p->flags & NDP_PROGRAM_ROWS   ? cuda_ptx_rows(&x)
                     : p->flags & NDP_PROGRAM_FLAT ? cuda_ptx_flat(&x, whole)
                                                   : cuda_ptx_strided(&x);
    return made && !x.missing && !out->failed;
}
