/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Forms that a program gives its own elementwise operations for single plug-ins. */
#include <stdlib.h>
#include "core/run/run.h"

struct nd_op_form {
    const nd_op_form *next;
    nd_op op;
    const char *plugin; /* immortal */
    nd_op_device_fn run;
    void *ctx;
};

static _Atomic(const nd_op_form *) all; /* the latest; never removed */

static const nd_op_form *find(const nd_op_form *f, nd_op op, const char *plugin)
{
    while (f && (f->op != op || strcmp(f->plugin, plugin) != 0))
        f = f->next;
    return f;
}

const nd_op_form *nd__op_form(nd_op op, const nd_device *device)
{
    return op < ND_OP_RUNTIME
               ? NULL
               : find(atomic_load_explicit(&all, memory_order_acquire), op, device->slot->name);
}

nd_status nd_op_set_device_form(nd_op op, const char *plugin, nd_op_device_fn fn, void *ctx)
{
    static const char name[] = "op_set_device_form";
    if (op < ND_OP_RUNTIME || !nd_op_get(op))
        return nd__fail(ND_ERR_ARGUMENT, name, 0, "%d is no operation of nd_op_register", (int)op);
    if (!plugin || !fn)
        return nd__fail(ND_ERR_ARGUMENT, name, !plugin ? 1 : 2, "%s is NULL",
                        !plugin ? "the plug-in's name" : "the function");
    nd_op_form *f = malloc(sizeof *f);
    const char *kept = f ? nd__text_keep(plugin) : NULL;
    if (!kept) {
        free(f);
        return nd__fail(ND_ERR_MEMORY, name, -1, "no memory for a form");
    }
    *f = (nd_op_form){.next = atomic_load(&all), .op = op, .plugin = kept, .run = fn, .ctx = ctx};
    do {
        if (find(f->next, op, plugin)) {
            free(f);
            return nd__fail(ND_ERR_ARGUMENT, name, 1, "%s has a form for the plug-in %s already",
                            nd_op_get(op)->name, plugin);
        }
    } while (!atomic_compare_exchange_weak(&all, &f->next, f));
    return ND_OK;
}

nd_status nd__run_op_form(const nd_op_form *form, nd_op op, nd_dtype compute, const nd_arg *args,
                          int n, const nd_array *dst)
{
    nd_arg given[3];
    nd_array *view[3] = {NULL};
    nd_stream *stream = NULL;
    nd_status status;
    const char *name = nd_op_get(op)->name;
    for (int i = 0; i < n; i++) {
        given[i] = args[i];
        if (args[i].array) {
            ND_GOTO_IF(done, nd_broadcast_to(args[i].array, dst->ndim, dst->shape, &view[i]));
            given[i].array = view[i];
        } else {
            ndp_scalar rounded;
            char element[16];
            ND_GOTO_IF(done, nd__scalar_to(name, args[i].scalar, compute, i, &rounded));
            nd__scalar_store(&rounded, element);
            given[i].scalar = nd__scalar_load(compute, element);
        }
    }
    ND_GOTO_IF(done, nd_stream_current(dst->storage->device, &stream));
    status =
        nd__callback_status(name, "the device form", form->run(form->ctx, stream, given, n, dst));
done:
    for (int i = 0; i < n; i++)
        nd_release(view[i]);
    nd_stream_release(stream);
    return status;
}
