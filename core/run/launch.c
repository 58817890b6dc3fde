/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Launches of a program's functions, which are queued and watched like every other operation. */
#include "core/run/code.h"

enum { MAX_ARGUMENTS = 256 };

/* The first number is needed, the others count as 1 when they are 0. */
static nd_status check_extents(const nd_function *f, const char *what, const uint32_t *given,
                               const uint32_t *most, uint32_t *out)
{
    static const char axis[] = "xyz";
    if (given[0] == 0)
        return nd__fail(ND_ERR_ARGUMENT, f->name, -1, "the %s begins with 0; launch nothing then",
                        what);
    for (int i = 0; i < 3; i++) {
        out[i] = given[i] ? given[i] : 1;
        if (out[i] > most[i])
            return nd__fail(ND_ERR_ARGUMENT, f->name, -1,
                            "the %s has %u in %c; %s takes %u at most", what, out[i], axis[i],
                            f->module->device->name, most[i]);
    }
    return ND_OK;
}

static nd_status check_sizes(const nd_function *f, int32_t n, const nd_launch_opts *o,
                             ndp_launch *launch)
{
    const ndp_code_limits *most = &f->limits;
    ND_RETURN_IF(check_extents(f, "grid", o->grid, most->grid, launch->grid));
    ND_RETURN_IF(check_extents(f, "block", o->block, most->block, launch->block));
    uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    if (threads > most->block_threads)
        return nd__fail(ND_ERR_ARGUMENT, f->name, -1,
                        "a block of %u x %u x %u threads; this function runs with %u at most",
                        launch->block[0], launch->block[1], launch->block[2], most->block_threads);
    if (o->shared_bytes > most->shared_bytes)
        return nd__fail(ND_ERR_ARGUMENT, f->name, -1,
                        "%llu bytes of shared memory; this function can have %llu at most",
                        (unsigned long long)o->shared_bytes,
                        (unsigned long long)most->shared_bytes);
    if (most->n_arguments != UINT32_MAX && (uint32_t)n != most->n_arguments)
        return nd__fail(ND_ERR_ARGUMENT, f->name, -1, "%d arguments are given, the function has %u",
                        (int)n, most->n_arguments);
    launch->shared_bytes = o->shared_bytes;
    return ND_OK;
}

static nd_status check_argument(const nd_function *f, const nd_launch_arg *a, int32_t i,
                                ndp_launch_argument *out)
{
    const nd_device *d = f->module->device;
    if (!a->array && (!a->value || !a->nbytes))
        return nd__fail(ND_ERR_ARGUMENT, f->name, i, "argument %d is neither an array nor bytes",
                        (int)i);
    if (!a->array) {
        *out = (ndp_launch_argument){.value = a->value, .nbytes = a->nbytes};
        return ND_OK;
    }
    ND_RETURN_IF(a->writes ? nd__check_writable(f->name, a->array, i)
                           : nd__check_array(f->name, a->array, i));
    const nd_device *on = a->array->storage->device;
    if (on != d)
        return nd__fail(ND_ERR_DEVICE, f->name, i,
                        "argument %d is on %s, the function's module on %s; move one with "
                        "nd_to_device",
                        (int)i, on->name, d->name);
    *out = (ndp_launch_argument){.mem = a->array->storage->mem,
                                 .offset_bytes = (uint64_t)nd__byte_offset(a->array)};
    return ND_OK;
}

/* What the launch reads and writes, as the order of accesses is kept for every operation. */
static nd_status order_accesses(nd_stream *s, const nd_function *f, const nd_launch_arg *args,
                                int32_t n)
{
    ndp_view in[MAX_ARGUMENTS], out[MAX_ARGUMENTS];
    ndp_call call = {.size = sizeof call, .in = in, .out = out};
    for (int32_t i = 0; i < n; i++)
        if (args[i].array && args[i].writes)
            out[call.n_out++] = nd__view(args[i].array);
        else if (args[i].array)
            in[call.n_in++] = nd__view(args[i].array);
    return nd__hazard_call(s, &call, f->name);
}

static void let_module_go(void *module)
{
    nd_module_release(module);
}

static nd_status queue_launch(nd_stream *s, const nd_function *f, const nd_launch_arg *args,
                              int32_t n, const ndp_launch *launch)
{
    nd_device *d = s->device;
    ndp_view like;
    const nd_array *first = NULL;
    for (int32_t i = 0; i < n && !first; i++)
        first = args[i].writes ? args[i].array : NULL;
    if (first)
        like = nd__view(first);
    for (int32_t i = 0; i < n; i++)
        if (args[i].array)
            nd__used(args[i].array->storage);
    if (nd__hazards_now())
        ND_RETURN_IF(order_accesses(s, f, args, n));
    if (nd__capture_id(s)) { /* the graph runs the code again */
        nd_status status = nd__capture_keep(s, f->name, let_module_go, nd_module_retain(f->module));
        if (status != ND_OK) {
            nd_module_release(f->module);
            return status;
        }
    }
    ND_RETURN_IF(nd__queue_begin(s, f->name, first ? &like : NULL));
    ND_RETURN_IF(nd__queue_end(s, f->name, d->code.launch(d->dev, s->handle, f->handle, launch)));
    if (nd__tape_of(s))
        ND_RETURN_IF(nd__tape_other(nd__tape_of(s), s, "launch"));
    ndp_mem *used[MAX_ARGUMENTS];
    for (int32_t i = 0; i < n; i++)
        used[i] = launch->argument[i].mem;
    return nd__follow(s, used, n);
}

static nd_status launch_now(nd_device *d, const nd_function *f, const ndp_launch *launch)
{
    ND_RETURN_IF(nd__usable(d, f->name));
    ND_RETURN_IF(nd__refuse_capture(nd__stream_current(d), f->name,
                                    "launch before it begins or after it ends"));
    nd_status status = d->code.launch(d->dev, NULL, f->handle, launch);
    if (status != ND_OK)
        nd__error_context(f->name, d->name, d->slot->name);
    return status;
}

nd_status nd_launch(nd_function *function, const nd_launch_arg *args, int32_t n,
                    const nd_launch_opts *opts)
{
    nd_scope scope;
    ndp_launch_argument argument[MAX_ARGUMENTS];
    ndp_launch launch = {.size = sizeof launch, .argument = argument};
    if (!function || !opts || opts->size < NDP_END(nd_launch_opts, shared_bytes))
        return nd__fail(ND_ERR_ARGUMENT, "launch", !function ? 0 : 3,
                        !function ? "the function is NULL"
                                  : "the options are needed, their size field set to "
                                    "sizeof(nd_launch_opts)");
    ND_NEED_LIST(function->name, 1, n, args);
    if (n < 0 || n > MAX_ARGUMENTS)
        return nd__fail(ND_ERR_ARGUMENT, function->name, 2, "%d arguments; 0 to %d can be given",
                        (int)n, MAX_ARGUMENTS);
    nd_device *d = function->module->device;
    launch.n_arguments = (uint32_t)n;
    ND_RETURN_IF(check_sizes(function, n, opts, &launch));
    for (int32_t i = 0; i < n; i++)
        ND_RETURN_IF(check_argument(function, &args[i], i, &argument[i]));
    ND_RETURN_IF(nd__scope_enter(function->name, d, opts->stream, &scope));
    nd_stream *s = nd__stream(d);
    atomic_store_explicit(&function->module->launched, true, memory_order_relaxed);
    nd_status status =
        s ? queue_launch(s, function, args, n, &launch) : launch_now(d, function, &launch);
    nd__scope_leave(&scope);
    return status;
}
