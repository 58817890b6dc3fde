/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * bincount: how often each of 0, 1 ... is among integers, or sums of weights by them; one pass of
 * one thread. */
#include <string.h>
#include "host/cpu.h"

enum {
    COUNT_TABLES = 4,
    COUNT_TABLES_TO = 512 /* counts; the tables stay in the first cache */
};

#define SAME(x) (x)
#define TRUE(x) ((x) != 0) /* any byte but 0 */
#define T uint8_t
#define VALUE TRUE
#define FN(name) name##_bool
#include "index/count_tmpl.h"
#define T int8_t
#define VALUE SAME
#define FN(name) name##_i8
#include "index/count_tmpl.h"
#define T int16_t
#define VALUE SAME
#define FN(name) name##_i16
#include "index/count_tmpl.h"
#define T int32_t
#define VALUE SAME
#define FN(name) name##_i32
#include "index/count_tmpl.h"
#define T int64_t
#define VALUE SAME
#define FN(name) name##_i64
#include "index/count_tmpl.h"
#define T uint8_t
#define VALUE SAME
#define FN(name) name##_u8
#include "index/count_tmpl.h"
#define T uint16_t
#define VALUE SAME
#define FN(name) name##_u16
#include "index/count_tmpl.h"
#define T uint32_t
#define VALUE SAME
#define FN(name) name##_u32
#include "index/count_tmpl.h"
#define T uint64_t
#define VALUE SAME
#define FN(name) name##_u64
#include "index/count_tmpl.h"

typedef struct {
    void (*count)(const void *values, int64_t m, uint64_t n, int64_t *to);
    void (*count_apart)(const void *values, int64_t m, uint64_t n, int64_t *to, int64_t *others);
    void (*add)(const void *values, const double *weights, int64_t m, uint64_t n, double *to);
} count_functions;
#define FUNCTIONS(kind)                              \
    {                                                \
        count_##kind, count_apart_##kind, add_##kind \
    }
static const count_functions functions[NDP_DTYPE_END] = {
    [NDP_BOOL] = FUNCTIONS(bool), [NDP_I8] = FUNCTIONS(i8),   [NDP_I16] = FUNCTIONS(i16),
    [NDP_I32] = FUNCTIONS(i32),   [NDP_I64] = FUNCTIONS(i64), [NDP_U8] = FUNCTIONS(u8),
    [NDP_U16] = FUNCTIONS(u16),   [NDP_U32] = FUNCTIONS(u32), [NDP_U64] = FUNCTIONS(u64),
};

static void count_in_tables(const count_functions *f, const void *values, int64_t m, int64_t n,
                            int64_t *to)
{
    int64_t others[(COUNT_TABLES - 1) * COUNT_TABLES_TO];
    memset(others, 0, (size_t)((COUNT_TABLES - 1) * n) * sizeof *others);
    f->count_apart(values, m, (uint64_t)n, to, others);
    for (int64_t v = 0; v < n; v++)
        to[v] += others[v] + others[n + v] + others[2 * n + v];
}

static int32_t run(const ndp_kernel *kernel, ndp_stream *s, const ndp_call *call)
{
    (void)kernel;
    (void)s;
    const ndp_view *values = &call->in[0], *out = &call->out[0];
    const count_functions *f = &functions[values->dtype];
    const int64_t n = out->shape[0], m = ndp_view_size(values);
    int64_t *to = (int64_t *)cpu_ptr(out);
    memset(to, 0, (size_t)n * sizeof *to);
    if (call->n_in == 2)
        f->add(cpu_ptr(values), (const double *)cpu_ptr(&call->in[1]), m, (uint64_t)n,
               (double *)to);
    else if (n <= COUNT_TABLES_TO && m >= 2 * n)
        count_in_tables(f, cpu_ptr(values), m, n, to);
    else
        f->count(cpu_ptr(values), m, (uint64_t)n, to);
    return NDP_OK;
}

static const ndp_kernel count_kernel = {.size = sizeof(ndp_kernel),
                                        .needs = NDP_NEEDS_CONTIGUOUS,
                                        .max_ndim = NDP_MAX_NDIM,
                                        .run = run};

static const ndp_kernel *find(const ndp_call *like, char *why, size_t n)
{
    (void)like;
    (void)why;
    (void)n;
    return &count_kernel;
}

const cpu_class cpu_count = {cpu_domain_dtypes, find};
