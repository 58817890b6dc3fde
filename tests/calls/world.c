/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Valid arguments for every public function; see world.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/calls/things.h"

#define ROOM 64 /* places that results go to, each large enough for any struct of results */
static union {
    max_align_t align;
    char bytes[4096];
} place[ROOM];

/* ---- which value an argument gets: the first row that fits; NULL fits all ---- */
typedef struct {
    const char *function, *type, *name;
    const void *at;
    bool handle; /* at is where the pointer lies, else it is the pointer */
} pointer_row;
#define IT(function, type, name, thing)    \
    {                                      \
        function, type, name, thing, false \
    }
#define OF(function, type, name, handle)      \
    {                                         \
        function, type, name, &w.handle, true \
    }

static const pointer_row pointers[] = {
#include "tests/calls/pointers.def"
};

typedef struct {
    const char *function, *name;
    int64_t value;
} number_row;

static const number_row numbers[] = {
#include "tests/calls/numbers.def"
};

/* Real numbers that are 1; the others are 0. */
static const struct {
    const char *function, *name;
} ones_of[] = {
    {NULL, "high"},
    {NULL, "fraction"},
    {NULL, "spacing"},
    {"nd_random_geometric", "p"},
    {"nd_random_negative_binomial", NULL},
    {"nd_lp_pool", "p"},
    {"nd_lp_pool_grad", "p"},
    {"nd_random_weibull", NULL},
    {"nd_random_pareto", NULL},
    {"nd_random_beta", NULL},
    {NULL, "df"},
    {"nd_random_triangular", "right"},
    {"nd_random_truncated_normal", "scale"},
};

static bool fits(const char *pattern, const char *text)
{
    return !pattern || strcmp(pattern, text) == 0;
}

/* An array that the operation of the function takes; i32 where it takes no f32. */
static nd_array *operand(const nd_call *call, const char *argument)
{
    char name[64];
    snprintf(name, sizeof name, "%s", call->name + strlen("nd_"));
    static const char *const ends[] = {"_into", "_scalar"};
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(name), m = strlen(ends[i]);
        if (n > m && strcmp(name + n - m, ends[i]) == 0)
            name[n - m] = 0;
    }
    static const char *const square[] = {
        "cholesky",         "lu_factor",    "lu_solve", "cho_solve", "solve",    "inv",
        "solve_triangular", "det",          "slogdet",  "eigh",      "eigvalsh", "eig",
        "eigvals",          "matrix_power", "expm"};
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        if (strcmp(name, square[i]) == 0)
            return w.matrix;
    const nd_op_info *info = nd_op_get(nd_op_find(name));
    bool reduces =
        info && (info->op_class == ND_CLASS_REDUCE || info->op_class == ND_CLASS_ARGREDUCE);
    if (reduces && strcmp(argument, "dst") == 0)
        return w.number;
    uint64_t dtypes = info ? nd_op_dtypes(nd_op_find(name)) : 0;
    return !dtypes || dtypes >> ND_F32 & 1 ? w.f32 : w.i32;
}

static double real_number(const nd_call *call, const char *name)
{
    for (size_t k = 0; k < sizeof ones_of / sizeof ones_of[0]; k++)
        if (fits(ones_of[k].function, call->name) && fits(ones_of[k].name, name))
            return 1;
    return 0;
}

static void *pointer(const nd_call *call, const nd_call_argument *a, int i)
{
    for (size_t k = 0; k < sizeof pointers / sizeof pointers[0]; k++) {
        const pointer_row *r = &pointers[k];
        if (!fits(r->function, call->name) || !fits(r->type, a->type) || !fits(r->name, a->name))
            continue;
        return r->handle ? *(void *const *)r->at : (void *)(uintptr_t)r->at;
    }
    if (strcmp(a->type, "const nd_array *") == 0 || strcmp(a->type, "nd_array *") == 0)
        return operand(call, a->name);
    if (strstr(a->type, "_opts *"))
        return NULL;
    memset(&place[i], 0, sizeof place[i]);
    if (!strstr(a->type, "**") && strstr(a->type, "nd_"))
        memset(&place[i], 0xff, sizeof(uint32_t)); /* the size that structs of results begin with */
    return &place[i];
}

/* Tensors of DLPack are used up by an import that succeeds. */
static void make_tensors(void)
{
    if (!w.managed)
        (void)!nd_to_dlpack(w.f32, &w.managed);
    if (!w.legacy)
        (void)!nd_dlpack_export_legacy(w.f32, NULL, &w.legacy);
}

static void quiet(void) {}

nd_value world_value(const nd_call *call, int i)
{
    const nd_call_argument *a = &call->argument[i];
    nd_value v = {0};
    if (strstr(call->name, "dlpack"))
        make_tensors();
    if (a->member == 'p')
        v.p = pointer(call, a, i);
    else if (a->member == 'f')
        v.f = strcmp(a->type, "nd_op_cpu_fn") == 0 ? (void (*)(void))on_elements : quiet;
    else if (a->member == 's')
        v.s = nd_int(1);
    else if (a->member == 'd')
        v.d = real_number(call, a->name);
    for (size_t k = 0; a->member == 'i' && k < sizeof numbers / sizeof numbers[0]; k++)
        if (fits(numbers[k].function, call->name) && fits(numbers[k].name, a->name)) {
            v.i = numbers[k].value;
            break;
        }
    return v;
}

static void drop(const char *type, void **result)
{
    if (strcmp(type, "nd_array **") == 0)
        for (int i = 0; i < ND_CUSTOM_MAX && result[i]; i++)
            nd_release(result[i]);
    else if (strcmp(type, "char **") == 0)
        free(*result);
    else if (strcmp(type, "nd_stream **") == 0)
        nd_stream_release(*result);
    else if (strcmp(type, "nd_event **") == 0)
        nd_event_release(*result);
    else if (strcmp(type, "nd_graph **") == 0)
        nd_graph_release(*result);
    else if (strcmp(type, "nd_ipc **") == 0)
        nd_ipc_release(*result);
    else if (strcmp(type, "nd_comm **") == 0)
        nd_comm_release(*result);
    else if (strcmp(type, "nd_store **") == 0)
        nd_comm_store_stop(*result);
    else if (strcmp(type, "nd_pool **") == 0)
        nd_pool_release(*result);
    else if (strcmp(type, "nd_allocator **") == 0)
        nd_allocator_release(*result);
    else if (strcmp(type, "nd_expr **") == 0)
        nd_expr_release(*result);
    else if (strcmp(type, "nd_safetensors **") == 0)
        nd_safetensors_close(*result);
    else if (strcmp(type, "nd_npz **") == 0)
        nd_npz_close(*result);
    else if (strcmp(type, "nd_gguf **") == 0)
        nd_gguf_close(*result);
    else if (strcmp(type, "nd_qarray **") == 0)
        nd_qarray_release(*result);
    else if (strcmp(type, "nd_dl_managed **") == 0 && *result)
        ((nd_dl_managed *)*result)->deleter(*result);
    else if (strcmp(type, "nd_dl_legacy **") == 0 && *result)
        ((nd_dl_legacy *)*result)->deleter(*result);
}

void world_clear(const nd_call *call, const nd_value *v, bool succeeded)
{
    bool borrowed = strcmp(call->name, "nd_stream_default") == 0;
    for (int i = 0; i < call->n; i++) {
        const char *type = call->argument[i].type;
        bool owned = v[i].p == &place[i] && !borrowed;
        if (owned && strcmp(type, "nd_module **") == 0 && strcmp(call->name, "nd_module_load") == 0)
            nd_module_release(*(nd_module **)v[i].p);
        else if (owned)
            drop(type, v[i].p);
        if (succeeded && v[i].p && v[i].p == w.managed)
            w.managed = NULL;
        if (succeeded && v[i].p && v[i].p == w.legacy)
            w.legacy = NULL;
    }
}
