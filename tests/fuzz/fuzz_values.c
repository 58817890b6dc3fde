/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Values for random calls of the C API: numbers, lists, records and pointers that are wrong, but
 * for what C cannot check. */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include "tests/fuzz/fuzz_calls.h"

static int64_t wild_number(void)
{
    static const int64_t values[] = {INT64_MIN, INT64_MIN + 1,
                                     INT64_MAX, INT64_MAX / 2,
                                     INT32_MIN, INT32_MAX,
                                     -1,        -2,
                                     -99,       0,
                                     1,         2,
                                     3,         7,
                                     64,        65,
                                     99,        4096,
                                     1 << 20,   (int64_t)1 << 40};
    return values[below((int)(sizeof values / sizeof values[0]))];
}

/* Counts of lists that the caller gives are negative, or no more than LIST entries: what lies
 * behind a pointer is the caller's word. Ranks that are too large are refused before they are used.
 */
static int64_t wild_count(void)
{
    static const int64_t values[] = {-1, INT32_MIN, INT64_MIN, 0, 1, 2, 3, 5, 8, 63, 64, 65, 100};
    return values[below((int)(sizeof values / sizeof values[0]))];
}

static bool is_count(const nd_call *c, const char *name)
{
    static const char *const names[] = {"n",      "nq",     "ndim",     "naxes", "nreps",
                                        "count",  "nbytes", "max_size", "room",  "n_pairs",
                                        "n_args", "n_out",  NULL};
    return among(names, name) || strcmp(c->name, "nd_block_matrix") == 0 ||
           strstr(c->name, "memory_cap") || ends(c->name, "_cap_set");
}

static const int64_t *wild_list(const char *type)
{
    static int64_t wide[LIST];
    static int32_t narrow[LIST];
    for (int i = 0; i < LIST; i++) {
        int64_t v = once_in(8) ? wild_number() : below(5) - 1;
        wide[i] = v;
        narrow[i] = (int32_t)v;
    }
    return strstr(type, "int64_t") ? wide : (const int64_t *)(const void *)narrow;
}

static nd_array *some_array(void)
{
    return fuzz_pool[below(POOL)];
}

static const nd_array *const *array_list(void)
{
    static const nd_array *list[LIST];
    for (int i = 0; i < LIST; i++)
        list[i] = once_in(16) ? NULL : some_array();
    return list;
}

/* Options of which nothing but the size is sure: all else is zero, which means defaults. */
static void *sized(void)
{
    static const uint32_t sizes[] = {0, 1, 3, 4, 5, 8, 12, 16, 24, 40, 64, 200, 4096, UINT32_MAX};
    static union {
        max_align_t align;
        uint32_t size;
        char bytes[4096];
    } record;
    memset(&record, 0, sizeof record);
    record.size = sizes[below((int)(sizeof sizes / sizeof sizes[0]))];
    return record.size == UINT32_MAX
               ? NULL
               : &record; /* larger than the record: again the caller's word */
}

static void *reduce_options(void)
{
    static nd_reduce_opts o;
    o = (nd_reduce_opts){.size = once_in(4) ? (uint32_t)below(80) : sizeof o,
                         .dtype = (nd_dtype)(once_in(3) ? wild_number() : 0),
                         .axes = once_in(3) ? NULL
                                            : (const int32_t *)(const void *)wild_list("int32_t"),
                         .naxes = (int32_t)wild_count(),
                         .keepdims = below(3) - 1,
                         .correction = below(4) - 1};
    return &o;
}

static double wild_real(void)
{
    static const double values[] = {0, -0.0, 1, -1, 0.5, 1e300, -1e300, 1e-320};
    int i = below(10);
    return i < 8 ? values[i] : i == 8 ? (double)NAN : (double)INFINITY;
}

static nd_scalar wild_scalar(void)
{
    nd_scalar s = once_in(3)   ? nd_float(wild_real())
                  : once_in(2) ? nd_int(wild_number())
                               : nd_bool(below(2));
    if (once_in(20))
        s.kind = (nd_dtype)wild_number();
    return s;
}

static void *wild_pointer(const nd_call_argument *a, void *valid)
{
    if (strcmp(a->type, "const nd_array *") == 0 || strcmp(a->type, "nd_array *") == 0)
        return some_array();
    if (strcmp(a->type, "const nd_array *const *") == 0)
        return (void *)(uintptr_t)array_list();
    if (strcmp(a->type, "const nd_reduce_opts *") == 0)
        return reduce_options();
    if (ends(a->type, "_opts *") && !strstr(a->type, "module") && !strstr(a->type, "launch"))
        return sized();
    bool list = strcmp(a->type, "const int64_t *") == 0 || strcmp(a->type, "const int32_t *") == 0;
    return list ? (void *)(uintptr_t)wild_list(a->type) : valid;
}

/* Lists that stay as the world has them, so that counts must not be more than they hold. */
static bool counts_something_short(const nd_call *c)
{
    static const char *const lists[] = {"const nd_arg *",
                                        "const nd_index *",
                                        "nd_stream *const *",
                                        "nd_device *const *",
                                        "nd_graph *const *",
                                        "const nd_named_array *",
                                        "const nd_gguf_item *",
                                        "const nd_warmup_item *",
                                        "const nd_launch_arg *",
                                        "const int64_t *const *",
                                        "const void *",
                                        "void *",
                                        NULL};
    if (strcmp(c->name, "nd_block_matrix") == 0 /* rows*cols of them */ ||
        starts(c->name, "nd_expr_run"))
        return true;
    for (int i = 0; i < c->n; i++)
        if (among(lists, c->argument[i].type) || strstr(c->argument[i].type, "nd_plugin_report") ||
            strstr(c->argument[i].type, "nd_library_report"))
            return true;
    return false;
}

/* Memory of the caller's that is described by another argument. */
static bool describes_memory(const nd_call *c)
{
    return starts(c->name, "nd_wrap") || starts(c->name, "nd_from_host") ||
           starts(c->name, "nd_host_") || starts(c->name, "nd_cai") || strstr(c->name, "launch") ||
           strstr(c->name, "native") || strstr(c->name, "wrap") || strstr(c->name, "ptr_info");
}

nd_value fuzz_wild(const nd_call *c, const nd_call_argument *a, nd_value valid)
{
    bool output = strstr(a->type, "**") && !strstr(a->type, "const *");
    if (a->member == 'p' && once_in(12))
        return (nd_value){.p = NULL};
    if (strcmp(c->name, "nd_histogramdd") == 0 && strcmp(a->name, "sample") == 0)
        return valid; /* its columns count the bins */
    if (a->member == 'f' && once_in(6))
        return (nd_value){.p = NULL};
    if (a->member == 'p' && !output && !describes_memory(c))
        return (nd_value){.p = wild_pointer(a, valid.p)};
    if (a->member == 'd')
        return (nd_value){.d = wild_real()};
    if (a->member == 's')
        return (nd_value){.s = wild_scalar()};
    if (a->member != 'i')
        return valid;
    if (is_count(c, a->name) || describes_memory(c))
        return (nd_value){.i = counts_something_short(c) || describes_memory(c) ? -1 - below(3)
                                                                                : wild_count()};
    return (nd_value){.i = wild_number()};
}

nd_value fuzz_widened(const nd_call_argument *a, nd_value v, int i)
{
    static int64_t wide[ND_CALL_MAX][LIST];
    static int32_t narrow[ND_CALL_MAX][LIST];
    static double reals[ND_CALL_MAX][LIST];
    static const nd_array *arrays[ND_CALL_MAX][LIST];
    for (int k = 0; v.p && k < LIST; k++)
        if (strcmp(a->type, "const double *") == 0)
            reals[i][k] = ((const double *)v.p)[k % 2];
        else if (strcmp(a->type, "const int64_t *") == 0)
            wide[i][k] = k < 2 ? ((const int64_t *)v.p)[k] : 1;
        else if (strcmp(a->type, "const int32_t *") == 0)
            narrow[i][k] = k < 2 ? ((const int32_t *)v.p)[k] : 0;
        else if (strcmp(a->type, "const nd_array *const *") == 0)
            arrays[i][k] = ((const nd_array *const *)v.p)[k % 2];
    if (v.p && strcmp(a->type, "const double *") == 0)
        v.p = reals[i];
    else if (v.p && strcmp(a->type, "const int64_t *") == 0)
        v.p = wide[i];
    else if (v.p && strcmp(a->type, "const int32_t *") == 0)
        v.p = narrow[i];
    else if (v.p && strcmp(a->type, "const nd_array *const *") == 0)
        v.p = arrays[i];
    return v;
}
