/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance of a plug-in with kernels: what it says it computes, it computes; the least that tier
 * 1 asks for; and what is refused leaves its destination as it was. */
#include "tests/conform/grid.h"

enum { MOST_LIES = 5, SIZE = 5 };

/* ---- what was staged in the first pass is asked for again, with staging forbidden ---- */
static char staged[8192]; /* names of operations with commas */
static char lies[MOST_LIES][512];
static int n_lies;

void claims_staged(const char *name)
{
    size_t n = strlen(staged), room = sizeof staged - n;
    if (strcmp(name, "runtime_ops") != 0 && strlen(name) + 2 < room)
        snprintf(staged + n, room, "%s%s", n ? "," : "", name);
}

/* The dtype that the message names right behind those words; 0: it names none. */
static nd_dtype dtype_behind(const char *message, const char *words)
{
    const char *name = strstr(message, words);
    size_t n = 0;
    if (name)
        n = strcspn(name += strlen(words), " ");
    for (nd_dtype d = 1; n && d < ND_DTYPE_END; d++)
        if (strlen(nd_dtype_name(d)) == n && strncmp(nd_dtype_name(d), name, n) == 0)
            return d;
    return 0;
}

static bool claimed(nd_op op, nd_dtype dtype)
{
    uint64_t claims = nd_device_op_dtypes(run.device, op), legal = nd_op_dtypes(op);
    if (op == ND_OP_where) /* its first operand's dtype is always bool */
        return (claims & legal) == legal;
    return dtype && (claims >> dtype & 1);
}

void claims_refused(const nd_error *e)
{
    nd_op op = nd_op_find(e->op);
    nd_dtype dtype = dtype_behind(e->message, "does not support it for "),
             into = dtype_behind(e->message, " into "); /* of a conversion, which needs both */
    char text[512];
    if (op == ND_OP_NONE || op >= ND_OP_END || !claimed(op, dtype) || (into && !claimed(op, into)))
        return;
    snprintf(text, sizeof text, "%s of %s is among its dtypes(), but has no kernel: %s", e->op,
             nd_dtype_name(dtype), e->message);
    text[strcspn(text, "\n")] = 0;
    for (int i = 0; i < n_lies && i < MOST_LIES; i++)
        if (strncmp(lies[i], text, strcspn(text, ",")) == 0)
            return;
    if (n_lies < MOST_LIES)
        snprintf(lies[n_lies], sizeof lies[0], "%s", text);
    n_lies++;
}

/* Cases take all dtypes in turn, so that a few of them meet every one. */
enum { MOST_CASES = 100, ALONE_CASES = 20 };

static void look_again(void (*everything)(void), int most)
{
    const conform_run before = run;
    run.only = staged[0] ? staged : NULL;
    run.except = run.pattern = NULL;
    run.only_case = -1;
    run.count = run.count < most ? run.count : most;
    run.fallback = ND_FALLBACK_ERROR;
    run.probing = true;
    if (nd_fallback_set(run.fallback) == ND_OK)
        everything();
    run = before;
    good(nd_fallback_set(run.fallback), "fallback_set");
}

void conform_claims(void (*everything)(void))
{
    if (!wanted("claims"))
        return;
    bool alone = run.only && strcmp(run.only, "claims") == 0; /* there was no first pass */
    if (kit_has_kernels() && (staged[0] || alone))
        look_again(everything, alone ? ALONE_CASES : MOST_CASES);
    begin_op("claims");
    if (!kit_has_kernels())
        skip_op("the plug-in has no group ndp.op/1");
    for (int i = 0; i < n_lies && i < MOST_LIES; i++)
        fail_case("%s", lies[i]);
    end_op();
}

/* ---- the kernels that tier 1 asks for ---- */
static const nd_op minimum[] = {
    ND_OP_fill, ND_OP_copy, ND_OP_add,     ND_OP_subtract, ND_OP_multiply, ND_OP_divide,
    ND_OP_pow,  ND_OP_less, ND_OP_maximum, ND_OP_equal,    ND_OP_exp,      ND_OP_log,
    ND_OP_tanh, ND_OP_sqrt, ND_OP_where,   ND_OP_sum,      ND_OP_max,      ND_OP_matmul,
};

/* Names of what dtype lacks; whether it lacks nothing. */
static bool has_minimum(nd_dtype dtype, char *lacks, size_t n)
{
    size_t at = 0;
    lacks[0] = 0;
    for (size_t i = 0; i < sizeof minimum / sizeof *minimum; i++) {
        uint64_t claims = nd_device_op_dtypes(run.device, minimum[i]);
        uint64_t enough = (uint64_t)1 << dtype;
        if (minimum[i] == ND_OP_where)
            enough |= (uint64_t)1 << ND_BOOL;
        if (!(claims & enough) && at < n)
            at += (size_t)snprintf(lacks + at, n - at, "%s%s", at ? ", " : "",
                                   nd_op_get(minimum[i])->name);
    }
    return at == 0;
}

/* One real floating dtype with all of them makes the tier. */
static void check_minimum(void)
{
    static const nd_dtype real[] = {ND_F32, ND_F64, ND_F16, ND_BF16};
    char lacks[4][320], why[400];
    int best = 0;
    for (int i = 0; i < 4; i++) {
        if (has_minimum(real[i], lacks[i], sizeof lacks[i]))
            return;
        best = strlen(lacks[i]) < strlen(lacks[best]) ? i : best;
    }
    snprintf(why, sizeof why, "for tier 1, %s lacks kernels of %s", nd_dtype_name(real[best]),
             lacks[best]);
    skip_op(why);
}

/* ---- refused calls ---- */
static bool call_into(nd_op op, nd_dtype dtype, int n_in, nd_array *dst, nd_array *const *in)
{
    nd_arg args[3];
    const nd_apply_opts opts = {.size = sizeof opts, .dtype = dtype};
    for (int i = 0; i < n_in; i++)
        args[i] = nd_array_arg(in[i]);
    return nd_apply_into(op, args, n_in, &opts, dst) == ND_ERR_UNSUPPORTED;
}

static void untouched_case(const nd_op_info *info, nd_dtype dtype)
{
    const int64_t shape = SIZE;
    int n_in = info->op_class == ND_CLASS_UNARY ? 1 : info->op_class == ND_CLASS_BINARY ? 2 : 3;
    nd_array *in[3] = {NULL}, *dst = NULL;
    bool truth = info->result == ND_RESULT_BOOL, part = info->result == ND_RESULT_REAL;
    nd_dtype result = truth                      ? ND_BOOL
                      : part && dtype == ND_C64  ? ND_F32
                      : part && dtype == ND_C128 ? ND_F64
                                                 : dtype;
    dense pattern = dense_random(result, 1, &shape, true);
    dst = dense_array(&pattern);
    for (int i = 0; i < n_in; i++) {
        dense d =
            dense_random(i == 0 && info->op == ND_OP_where ? ND_BOOL : dtype, 1, &shape, true);
        in[i] = dense_array(&d);
        dense_release(&d);
    }
    if (dst && in[0] && in[n_in - 1] && in[n_in / 2]) {
        good(nd_fallback_set(ND_FALLBACK_ERROR), "fallback_set");
        bool refused = call_into(info->op, dtype, n_in, dst, in);
        good(nd_fallback_set(run.fallback), "fallback_set");
        if (refused)
            (void)dense_is(&pattern, dst, "the destination of a refused operation");
    }
    for (int i = 0; i < 3; i++)
        nd_release(in[i]);
    nd_release(dst);
    dense_release(&pattern);
}

void conform_kit(void)
{
    if (run.kit && wanted("tier1")) {
        begin_op("tier1");
        if (kit_has_kernels())
            check_minimum();
        else
            skip_op("for tier 1, the plug-in lacks the group ndp.op/1");
        end_op();
    }
    if (!wanted("untouched"))
        return;
    begin_op("untouched");
    for (nd_op op = 1; op < ND_OP_END; op++)
        for (nd_dtype d = 1; d < ND_DTYPE_END && nd_op_get(op)->op_class <= ND_CLASS_TERNARY; d++)
            if ((nd_op_dtypes(op) >> d & 1) && begin_case(op * 64 + d))
                untouched_case(nd_op_get(op), d);
    end_op();
}
