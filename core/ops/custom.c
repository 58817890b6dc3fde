/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Operations of programs: registered with a shape rule, a form for the CPU and forms for
 * plug-ins. */
#include <stdlib.h>
#include "core/ops/custom.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of registering */
static _Atomic(const nd_custom_op *) all;                /* the latest; never removed */

void nd__fork_custom(nd_fork now)
{
    nd__fork_mutex(&lock, now);
}

/* ---- registering ---- */
const nd_custom_op *nd_custom_find(const char *name)
{
    const nd_custom_op *op = atomic_load_explicit(&all, memory_order_acquire);
    while (name && op && strcmp(op->def.name, name) != 0)
        op = op->next;
    return name ? op : NULL;
}

const char *nd_custom_name(const nd_custom_op *op)
{
    ND_NEED_OR("custom_name", 0, op, "");
    return op->def.name;
}

static bool is_name(const char *name)
{
    size_t n = name ? strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
    return n && name[n] == 0 && name[0] >= 'a';
}

static nd_status check_def(const nd_custom_def *def)
{
    static const char op[] = "custom_register";
    if (!def || def->size < NDP_END(nd_custom_def, backward))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "the definition's size field is not sizeof(nd_custom_def)");
    if (!is_name(def->name))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "\"%s\" is no name of an operation: a-z first, then a-z, 0-9 and _",
                        def->name ? def->name : "");
    if (def->n_in < 0 || def->n_in > ND_CUSTOM_MAX || def->n_out < 1 || def->n_out > ND_CUSTOM_MAX)
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "\"%s\" has %d inputs and %d outputs; 0 to %d and 1 to %d can be",
                        def->name, (int)def->n_in, (int)def->n_out, ND_CUSTOM_MAX, ND_CUSTOM_MAX);
    if (!def->shape || def->n_forms < 0 || (def->n_forms && !def->forms) ||
        (!def->cpu && !def->n_forms))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "\"%s\" needs a shape rule, and a form for the CPU or for a plug-in",
                        def->name);
    for (int32_t i = 0; i < def->n_forms; i++)
        if (!is_name(def->forms[i].plugin) || !def->forms[i].run)
            return nd__fail(ND_ERR_ARGUMENT, op, 0,
                            "form %d of \"%s\" has no name of a plug-in, or no function", (int)i,
                            def->name);
    return ND_OK;
}

static void op_free(nd_custom_op *op)
{
    if (!op)
        return;
    free((char *)op->def.name);
    free((char *)op->def.doc);
    for (int32_t i = 0; op->forms && i < op->def.n_forms; i++)
        free((char *)op->forms[i].plugin);
    free(op->forms);
    free(op);
}

static nd_custom_op *op_new(const nd_custom_def *def)
{
    nd_custom_op *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    op->def = *def;
    op->def.name = strdup(def->name);
    op->def.doc = strdup(def->doc ? def->doc : "");
    op->forms = calloc((size_t)def->n_forms + 1, sizeof *op->forms);
    op->def.forms = op->forms;
    bool whole = op->def.name && op->def.doc && op->forms;
    for (int32_t i = 0; whole && i < def->n_forms; i++) {
        op->forms[i].run = def->forms[i].run;
        op->forms[i].plugin = strdup(def->forms[i].plugin);
        whole = op->forms[i].plugin != NULL;
    }
    if (whole)
        return op;
    op_free(op);
    return NULL;
}

nd_status nd_custom_register(const nd_custom_def *def, const nd_custom_op **out)
{
    if (!out)
        return nd__fail(ND_ERR_ARGUMENT, "custom_register", 1, "out is NULL");
    *out = NULL;
    ND_RETURN_IF(check_def(def));
    nd_custom_op *op = op_new(def);
    if (!op)
        return nd__fail(ND_ERR_MEMORY, "custom_register", -1, "no memory for \"%s\"", def->name);
    pthread_mutex_lock(&lock);
    bool taken = nd_custom_find(def->name) || nd_op_find(def->name) != ND_OP_NONE;
    if (!taken) {
        op->next = atomic_load(&all);
        atomic_store_explicit(&all, op, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    if (taken) {
        op_free(op);
        return nd__fail(ND_ERR_ARGUMENT, "custom_register", 0,
                        "there is an op named \"%s\" already", def->name);
    }
    *out = op;
    return ND_OK;
}

nd_custom_device_fn nd__custom_form(const nd_custom_op *op, const nd_device *device)
{
    for (int32_t i = 0; i < op->def.n_forms; i++)
        if (strcmp(op->forms[i].plugin, device->slot->name) == 0)
            return op->forms[i].run;
    return NULL;
}

int32_t nd_custom_has_form(const nd_custom_op *op, nd_device *device)
{
    nd_status status = ND_OK;
    device = op ? nd__or_current(device, &status) : NULL;
    return device && status == ND_OK &&
           (nd__custom_form(op, device) || (device->is_cpu && op->def.cpu));
}
