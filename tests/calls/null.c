/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * NULL in every pointer argument of every public function, the others valid: nothing crashes; what
 * is needed is refused, with the function's name and the argument's place; what may be NULL is in
 * the list below. And numbers that nothing takes. */
#include <stdlib.h>
#include "tests/calls/world.h"
#include "tests/calls/calls.inc"
#include "tests/tap.h"

/* ---- what may be NULL: "function argument", with * for every function or every argument ---- */
static const char *const optional[] = {
    "* device",
    "* opts",
    "* ctx",
    "nd_log_set sink",
    "nd_device_list out",
    "nd_plugin_list out",
    "nd_library_list out",
    "nd_plugin_advice state",
    "nd_stream_push stream",
    "nd_stream_pop stream",
    "nd_stream_synchronize stream",
    "nd_event_record stream",
    "nd_stream_wrap release",
    "nd_wrap release",
    "nd_host_is_pinned host",
    "nd_warmup statuses",
    "nd_math_set plugin",
    "nd_math_push plugin",
    "nd_math_get plugin",
    "nd_effective_precision mnk",
    "nd_allocator_load free_symbol",
    "nd_qr q",
    "nd_pinv rtol",
    "nd_matrix_rank rtol",
    "nd_lstsq rtol",
    "nd_conv bias",
    "nd_conv_into bias",
    "nd_conv_transpose bias",
    "nd_conv_transpose_into bias",
    "nd_max_pool indices",
    "nd_max_pool_into indices",
    "nd_roll axes",
    "nd_fftshift axes",
    "nd_ifftshift axes",
    "* scale",
    "* bias",
    "* da",
    "* dscale",
    "* dbias",
    "nd_scaled_dot_product_attention logsumexp",
    "nd_moe scales",
    "nd_topk indices",
    "nd_searchsorted sorter",
    "nd_unique_all *",
    "nd_unique_counts *",
    "nd_unique_inverse *",
    "nd_unique_values values",
    "nd_dtype_of_typestr vendor",
    "nd_safetensors_save metadata",
    "nd_npz_count file",
    "nd_npz_name file",
    "nd_custom_find name",
    "nd_op_find name",
    "nd_safetensors_count file",
    "nd_safetensors_name file",
    "nd_safetensors_metadata file",
    "nd_safetensors_metadata key",
    "nd_release_waits a",
    "nd_custom_has_form op",
    "nd_meshgrid arrays",
    "nd_meshgrid out",
    "* weights",
    "* bins",
    "* edges",
    "nd_average total",
    "nd_ediff1d before",
    "nd_ediff1d after",
    "nd_gradient coordinates",
    "nd_trapezoid coordinates",
    "nd_unique_axis *",
    "nd_intersect1d indices_a",
    "nd_intersect1d indices_b",
    "nd_sliding_window_view axes",
    "nd_print a",
    "nd_random_choice p",
    "nd_graph_break fn",
    "nd_graph_break release",
    "nd_graph_launch stream",
    "nd_graph_update updated",
    "nd_qarray_retain q",
    "nd_comm_store_stop store",
};
/* Devices and options that are needed after all. */
static const char *const needed[] = {
    "nd_device_name device",
    "nd_device_describe device",
    "nd_device_fact device",
    "nd_device_op_dtypes device",
    "nd_device_group device",
    "nd_device_set_current device",
    "nd_device_can_access_peer device",
    "nd_device_enable_peer device",
    "nd_module_load opts",
    "nd_module_get opts",
    "nd_launch opts",
    "nd_unique_all a",
    "nd_unique_counts a",
    "nd_unique_inverse a",
    "nd_digitize bins",
    "nd_random_categorical weights",
    "nd_unique_axis a",
    "nd_max_pool opts",
    "nd_max_pool_into opts",
    "nd_max_pool_grad opts",
    "nd_max_pool_grad_into opts",
    "nd_avg_pool opts",
    "nd_avg_pool_into opts",
    "nd_avg_pool_grad opts",
    "nd_avg_pool_grad_into opts",
    "nd_lp_pool opts",
    "nd_lp_pool_grad opts",
    "nd_upsample opts",
    "nd_upsample_into opts",
    "nd_upsample_grad opts",
    "nd_upsample_grad_into opts",
    "nd_unfold opts",
    "nd_unfold_into opts",
    "nd_fold opts",
    "nd_fold_into opts",
    "nd_moe weights",
    "nd_embedding weights",
};
/* What cannot succeed on a CPU without more ado, with valid arguments. */
static const char *const hopeless[] = {
    "nd_plugin_load",
    "nd_fallback_describe",
    "nd_param_unknown",
    "nd_stream_wrap",
    "nd_stream_pop",
    "nd_device_pop",
    "nd_sync_watch_pop",
    "nd_tag_pop",
    "nd_memory_free_callback_remove",
    "nd_memory_oom_observer_remove",
    "nd_allocator_load",
    "nd_memory_debug_report",
    "nd_pool_pop",
    "nd_host_register",
    "nd_host_unregister",
    "nd_math_pop",
    "nd_custom_error",
    "nd_cai_export",
    "nd_cai_import",
    "nd_idx_load",
    "nd_device_fact",
    "nd_ptr_info",
    "nd_ipc_export", /* of the CPU's memory */
    "nd_ipc_import",
    "nd_event_export",
    "nd_event_import",
    "nd_ipc_is_used",
    "nd_eig", /* without a LAPACK */
    "nd_eigvals",
    "nd_graph_end", /* of a graph that has been captured */
    "nd_graph_abort",
    "nd_graph_break",
    "nd_graph_cond",
    "nd_graph_random",
    "nd_graph_keep",
    "nd_graph_update", /* with itself */
    "nd_comm_send",    /* to itself, outside of a group */
    "nd_comm_recv",
};

static bool matches(const char *pattern, const char *function, const char *argument)
{
    size_t n = strcspn(pattern, " ");
    const char *rest = pattern + n + (pattern[n] != 0);
    return (pattern[0] == '*' || (strlen(function) == n && memcmp(pattern, function, n) == 0)) &&
           (rest[0] == '*' || strcmp(rest, argument) == 0);
}

static bool in_list(const char *const *list, size_t n, const nd_call *c, const char *argument)
{
    for (size_t i = 0; i < n; i++)
        if (matches(list[i], c->name, argument))
            return true;
    return false;
}
#define LISTED(list, c, argument) in_list(list, sizeof(list) / sizeof *(list), c, argument)

static bool ends(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool returns_status(const nd_call *c)
{
    return strcmp(c->result, "nd_status") == 0;
}

/* They take NULL, and what they are given is gone, or back, afterwards. */
static bool counts_references(const nd_call *c)
{
    return ends(c->name, "_release") || ends(c->name, "_retain") || ends(c->name, "_close");
}

/* The error is the function's own: it names it, up to _into and _scalar, or what it applies. */
static bool names_itself(const nd_call *c, const nd_error *e)
{
    static const char *const forms[] = {"", "_into", "_scalar", "_scalar_into"};
    const char *name = c->name + strlen("nd_");
    size_t n = strlen(e->op);
    bool applies = strstr(name, "apply") || strstr(name, "custom") || strcmp(name, "launch") == 0;
    if (applies && (strcmp(e->op, "add") == 0 || strcmp(e->op, "of_the_test") == 0 ||
                    strcmp(e->op, "twice") == 0))
        return true;
    if (strncmp(name, "random_draw", strlen("random_draw")) == 0 &&
        strcmp(e->op, "random_exponential") == 0)
        return true;
    for (int i = 0; i < 4; i++)
        if (strncmp(name, e->op, n) == 0 && strcmp(name + n, forms[i]) == 0)
            return true;
    return false;
}

/* An error that is no call's: what follows it must be new. */
static void forget_error(void)
{
    (void)nd_custom_error(ND_ERR_IO, "nothing");
}

static nd_value call_with(const nd_call *c, int i, nd_value instead, bool *failed)
{
    nd_value v[ND_CALL_MAX], result = {0};
    for (int k = 0; k < c->n; k++)
        v[k] = world_value(c, k);
    if (i >= 0)
        v[i] = instead;
    forget_error();
    c->call(v, &result);
    *failed = returns_status(c) && result.i != ND_OK;
    world_clear(c, v, !*failed);
    return result;
}

static bool refuses(const nd_call *c, int i, nd_value result)
{
    const nd_error *e = nd_last_error();
    bool ok = e->status == ND_ERR_ARGUMENT && e->argument == i && names_itself(c, e) &&
              (returns_status(c) ? result.i == ND_ERR_ARGUMENT : true);
    if (strstr(c->result, "char *"))
        ok = ok && result.p && !*(const char *)result.p;
    else if (!returns_status(c) && strcmp(c->result, "void") != 0)
        ok = ok && result.i == -(strcmp(c->name, "nd_comm_rank") == 0); /* 0 is a rank */
    if (!ok)
        diag("%s: %s of %s, argument %d: %s", c->name, nd_status_name(e->status), e->op,
             (int)e->argument, e->message);
    return ok;
}

static void one_null(const nd_call *c, int i)
{
    const nd_call_argument *a = &c->argument[i];
    const nd_value null = {0};
    bool failed;
    diag("%s(%s: NULL)", c->name, a->name); /* the last line before a crash */
    nd_value result = call_with(c, i, null, &failed);
    bool may =
        !LISTED(needed, c, a->name) && (LISTED(optional, c, a->name) || counts_references(c));
    if (!may) {
        ok(refuses(c, i, result), "%s refuses NULL for %s", c->name, a->name);
    } else {
        bool taken = !failed || nd_last_error()->argument != i || LISTED(hopeless, c, "");
        ok(taken, "%s takes NULL for %s", c->name, a->name);
    }
}

static void nulls(void)
{
    for (int k = 0; k < ND_CALLS; k++)
        for (int i = 0; i < nd_calls[k].n; i++)
            if (strchr("pf", nd_calls[k].argument[i].member))
                one_null(&nd_calls[k], i);
}

/* The values of the table are valid: without that the test above could not fail as it should. */
static void valid(void)
{
    const nd_value none = {0};
    for (int k = 0; k < ND_CALLS; k++) {
        const nd_call *c = &nd_calls[k];
        bool failed;
        if (counts_references(c) || LISTED(hopeless, c, ""))
            continue;
        diag("%s", c->name);
        (void)call_with(c, -1, none, &failed);
        if (!ok(!failed, "%s does what it is asked for", c->name))
            diag("%s", nd_last_error()->message);
    }
}

/* Entries of lists, which are pointers too. */
static void entries(void)
{
    static const void *holes[4];
    for (int k = 0; k < ND_CALLS; k++) {
        const nd_call *c = &nd_calls[k];
        for (int i = 0; i < c->n; i++) {
            bool failed, gradients = strcmp(c->argument[i].name, "grad_out") == 0 ||
                                     strcmp(c->argument[i].name, "metadata") == 0;
            bool list = ends(c->argument[i].type, "*const *");
            if (!list || gradients || strcmp(c->name, "nd_meshgrid") == 0)
                continue;
            diag("%s(%s: {NULL})", c->name, c->argument[i].name);
            nd_value v = {.p = (void *)(uintptr_t)holes};
            (void)call_with(c, i, v, &failed);
            ok(failed && nd_last_error()->status == ND_ERR_ARGUMENT &&
                   names_itself(c, nd_last_error()),
               "%s refuses a NULL in %s", c->name, c->argument[i].name);
        }
    }
}

/* Options whose size nobody set. */
static void options(void)
{
    static int64_t zeros[64];
    const nd_value v = {.p = zeros};
    for (int k = 0; k < ND_CALLS; k++)
        for (int i = 0; i < nd_calls[k].n; i++) {
            const nd_call *c = &nd_calls[k];
            bool failed;
            if (!ends(c->argument[i].type, "_opts *"))
                continue;
            diag("%s(%s: size 0)", c->name, c->argument[i].name);
            (void)call_with(c, i, v, &failed);
            ok(failed && nd_last_error()->status == ND_ERR_ARGUMENT &&
                   names_itself(c, nd_last_error()) && strstr(nd_last_error()->message, "size"),
               "%s refuses options without a size", c->name);
        }
}

/* Axes without their number, and a number without axes. */
static void contradictions(void)
{
    static const int32_t axes[1] = {0};
    nd_reduce_opts r = {.size = sizeof r, .axes = axes};
    nd_norm_opts n = {.size = sizeof n, .axes = axes};
    const nd_call c = {.argument = {{"const nd_array *", "a", 'p'}}, .name = "nd_sum"};
    const nd_array *a = world_value(&c, 0).p;
    nd_array *out = NULL;
    is_int(nd_sum(a, &r, &out), ND_ERR_ARGUMENT, "axes without naxes");
    has_text(nd_last_error()->message, "naxes is 0", "the message says what is missing");
    is_int(nd_softmax(a, &n, &out), ND_ERR_ARGUMENT, "of a normalisation too");
    r = (nd_reduce_opts){.size = sizeof r, .naxes = 1};
    is_int(nd_sum(a, &r, &out), ND_ERR_ARGUMENT, "naxes without axes");
    has_text(nd_last_error()->message, "axes is NULL", "the message says what is missing");
    is_int(nd_flip(a, 1, NULL, &out), ND_ERR_ARGUMENT, "of a view too");
    r.naxes = ND_NO_AXES;
    if (is_int(nd_sum(a, &r, &out), ND_OK, "ND_NO_AXES reduces nothing"))
        is_int(nd_ndim(out), nd_ndim(a), "so the rank stays");
    nd_release(out);
}

/* Numbers that are no dtype, axis, rank, count or op: an error of the function's name, if any. */
static void one_number(const nd_call *c, int i, int64_t number)
{
    static const char *const states[] = {"nd_launch_blocking_set", "nd_hazard_mode_set",
                                         "nd_stream_check_set", "nd_log_set"};
    for (size_t s = 0; s < sizeof states / sizeof states[0]; s++)
        if (strcmp(c->name, states[s]) == 0)
            return;
    bool failed;
    diag("%s(%s: %lld)", c->name, c->argument[i].name, (long long)number);
    (void)call_with(c, i, (nd_value){.i = number}, &failed);
    bool itself = !failed || names_itself(c, nd_last_error());
    if (!ok(itself, "%s(%s: %lld) answers for itself", c->name, c->argument[i].name,
            (long long)number))
        diag("\"%s\": %s", nd_last_error()->op, nd_last_error()->message);
}

static bool is_small(const char *name)
{
    static const char *const names[] = {
        "dtype",  "ndim", "axis",  "axis1",  "axis2",    "n",       "naxes", "nreps",  "op",
        "mode",   "kind", "i",     "slot",   "priority", "setting", "value", "policy", "reason",
        "opaque", "look", "probe", "format", "sync",     "check",   "a",     "b",      "k",
        "rank",   "root", "peer",  "color",  "key",      "port"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void numbers(void)
{
    for (int k = 0; k < ND_CALLS; k++)
        for (int i = 0; i < nd_calls[k].n; i++) {
            const nd_call_argument *a = &nd_calls[k].argument[i];
            bool count = strcmp(a->name, "n") == 0;
            if (a->member != 'i' || !is_small(a->name))
                continue;
            one_number(&nd_calls[k], i, -99);
            if (!count) /* more than there are is not refused, but read */
                one_number(&nd_calls[k], i, 99);
        }
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"valid", valid},
                                     {"nulls", nulls},
                                     {"entries", entries},
                                     {"options", options},
                                     {"contradictions", contradictions},
                                     {"numbers", numbers}};
    nd_log_set(NULL, NULL, 0);
    setenv("NDOCK_COMM_TIMEOUT", "50", 1); /* for ranks that nobody is */
    if (!world_make()) {
        diag("%s", nd_last_error()->message);
        bail("the values for the calls cannot be made");
    }
    int failed = tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
    world_end();
    return failed;
}
