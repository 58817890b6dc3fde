/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Putting wrappers into a plug-in's tables, and what happens when one is called. */
#include <stdio.h>
#include <stdlib.h>
#include "core/plugin/hook/wrap.h"
#include "core/plugin/hook/check.h"

static int instances; /* under the loader's lock */

/* Wrappers for the functions that a table has. */
static void put_wrappers(int instance, hook_table in, void *table, uint32_t nbytes)
{
    const char *wrappers = (const char *)nd__hook_wrappers[instance];
    static const size_t of_table[HOOK_TABLES] = {
#define HOOK_TABLE(table, type, id) [HOOK_TABLE_##table] = offsetof(hook_wrappers, table),
#include "core/plugin/hook/slot.def"
    };
    for (int i = 0; i < HOOK_SLOTS; i++) {
        const hook_slot *s = &nd__hook_slots[i];
        void (*function)(void);
        if (s->in != in || s->offset + sizeof function > nbytes)
            continue;
        memcpy(&function, (char *)table + s->offset, sizeof function);
        if (function)
            memcpy((char *)table + s->offset, wrappers + of_table[in] + s->offset, sizeof function);
    }
}

/* "cpu,cuda" names the only ones, "^cuda" those that are not, as NDOCK_PLUGINS does. */
static bool wanted(const char *list, const char *name)
{
    bool negated = list && list[0] == '^', named = false;
    size_t n = strlen(name);
    for (const char *p = list ? list + negated : NULL; p && *p;
         p += strcspn(p, ","), p += *p == ',')
        named |= strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == 0);
    return !list || named != negated;
}

nd_status nd__hook_plugin(const char *name, ndp_plugin *table)
{
    const hook_conf *conf = &nd__hook_settings;
    ND_RETURN_IF(nd__hook_read_settings());
    if (!conf->hooks || !wanted(conf->plugins, name))
        return ND_OK;
    if (instances == HOOK_INSTANCES)
        return nd__fail(ND_ERR_PLUGIN, NULL, -1,
                        "NDOCK_HOOK can stand before %d plug-ins, and there are more: name those "
                        "that are meant in NDOCK_HOOK_PLUGINS",
                        HOOK_INSTANCES);
    int i = instances++;
    hook_instance *of = &nd__hook_instances[i];
    of->plugin = name;
    of->real = *table;
    of->hooks = conf->hooks;
    put_wrappers(i, HOOK_TABLE_plugin, table, sizeof *table);
    if (table->group)
        table->group = nd__hook_wrappers[i]->plugin.group;
    return ND_OK;
}

/* ---- devices ---- */
static void opened(hook_call *c)
{
    ndp_dev *dev = *(ndp_dev **)(uintptr_t)c->word[1];
    hook_dev *d = nd__hook_find_dev(c->of, dev);
    if (!dev || (!d && (d = calloc(1, sizeof *d)) == NULL))
        return;
    bool known = d->dev != NULL;
    d->of = c->of;
    d->dev = dev;
    d->index = (uint32_t)c->word[0];
    d->info.size = sizeof d->info;
    (void)c->of->real.info(d->index, &d->info);
    nd__hook_lock();
    d->opened++;
    if (!known) {
        d->next = c->of->devs;
        atomic_store_explicit(&c->of->devs, d, memory_order_release);
    }
    nd__hook_unlock();
    c->dev = d;
}

static void closed(hook_dev *d)
{
    nd__hook_lock();
    d->opened -= d->opened > 0;
    nd__hook_unlock();
}

/* ---- groups ---- */
static int table_of(const char *id)
{
    for (int i = 0; i < HOOK_TABLES; i++)
        if (nd__hook_tables[i].id[0] && strcmp(nd__hook_tables[i].id, id) == 0)
            return i;
    return -1;
}

const void *nd__hook_group(int instance, ndp_dev *dev, const char *id)
{
    hook_instance *of = &nd__hook_instances[instance];
    const void *given = of->real.group(dev, id);
    hook_dev *d = nd__hook_find_dev(of, dev);
    int in = id ? table_of(id) : -1;
    if (!given || !d || in < 0 || *(const uint32_t *)given < 2 * sizeof(uint32_t))
        return given; /* of a vendor, which only its users know */
    hook_group *g = &d->group[in];
    nd__hook_lock();
    if (g->given != given) {
        uint32_t nbytes = nd__hook_tables[in].nbytes, own = *(const uint32_t *)given;
        memset(&g->real, 0, sizeof g->real);
        memcpy(&g->real, given, own < nbytes ? own : nbytes);
        g->wrapper = g->real;
        g->wrapper.size = own < nbytes ? own : nbytes;
        put_wrappers(instance, (hook_table)in, &g->wrapper, g->wrapper.size);
        g->given = given;
    }
    nd__hook_unlock();
    return &g->wrapper;
}

/* ---- kernels: one wrapper for one of the plug-in's, however often it is found ---- */
static void found(int instance, hook_call *c)
{
    const ndp_kernel **out = (const ndp_kernel **)(uintptr_t)c->word[2];
    if (!*out || !c->dev)
        return;
    nd__hook_lock();
    hook_kernel *k = c->dev->kernels;
    while (k && k->real != *out)
        k = k->next;
    if (!k && (k = calloc(1, sizeof *k)) != NULL) {
        static uint32_t count;
        memcpy(&k->wrapper, *out,
               (*out)->size < sizeof k->wrapper ? (*out)->size : sizeof k->wrapper);
        k->wrapper.size = sizeof k->wrapper;
        k->real = *out;
        k->dev = c->dev;
        k->number = ++count;
        put_wrappers(instance, HOOK_TABLE_kernel, &k->wrapper, sizeof k->wrapper);
        k->next = c->dev->kernels;
        c->dev->kernels = k;
    }
    nd__hook_unlock();
    if (k) {
        *out = &k->wrapper;
        c->number[2] = k->number;
    }
}

/* The plug-in may use the kernel's address again, for one that it compiles later. */
static void discarded(hook_call *c)
{
    hook_kernel *k = (hook_kernel *)(uintptr_t)c->word[1];
    nd__hook_lock();
    c->number[1] = k->number;
    c->word[1] = (uint64_t)(uintptr_t)k->real;
    k->real = NULL;
    nd__hook_unlock();
}

/* A kernel of the group that is no wrapper's first argument. */
static void asked(hook_call *c)
{
    const hook_kernel *k = (const hook_kernel *)(uintptr_t)c->word[1];
    c->number[1] = k->number;
    c->word[1] = (uint64_t)(uintptr_t)k->real;
}

/* ---- calls ---- */
/* Whose device, and which of its tables. */
static void resolve(hook_call *c)
{
    const hook_slot *s = c->slot;
    c->table = &c->of->real;
    if (s->in == HOOK_TABLE_kernel) {
        hook_kernel *k = (hook_kernel *)(uintptr_t)c->word[0];
        c->kernel = k;
        c->dev = k->dev;
        c->number[0] = k->number;
        c->table = k->real;
        c->word[0] = (uint64_t)(uintptr_t)k->real;
    } else if (s->n && nd__hook_object(s->arg[0].kind) == 'd') {
        c->dev = nd__hook_find_dev(c->of, (ndp_dev *)(uintptr_t)c->word[0]);
        if (c->dev && s->in != HOOK_TABLE_plugin)
            c->table = &c->dev->group[s->in].real;
        if (c->id == HOOK_SLOT_fused_discard)
            discarded(c);
        if (c->id == HOOK_SLOT_fused_takes)
            asked(c);
    }
}

/* A violation of a function that returns nothing is told by the next one that can. */
static bool told_late(hook_call *c)
{
    nd__hook_lock();
    char *text = c->slot->status ? c->of->pending : NULL;
    if (text)
        c->of->pending = NULL;
    nd__hook_unlock();
    if (text) {
        c->result = (uint64_t)nd__fail(ND_ERR_PLUGIN, NULL, -1, "%s", text);
        nd__error_context(NULL, NULL, c->of->plugin);
        c->refused = true;
    }
    free(text);
    return c->refused;
}

static void clear_outs(const hook_call *c)
{
    for (uint32_t i = 0; i < c->slot->n; i++)
        if (nd__hook_family(c->slot->arg[i].kind) == HOOK_OUT && c->word[i])
            *(void **)(uintptr_t)c->word[i] = NULL;
}

static void make(int instance, hook_call *c)
{
    bool check = c->of->hooks & HOOK_CHECK, fault = c->of->hooks & HOOK_FAULT;
    if (check && (told_late(c) || !nd__hook_check_enter(c))) {
        c->refused = true;
        clear_outs(c);
        return;
    }
    nd__hook_objects_enter(c);
    if (c->id == HOOK_SLOT_plugin_close && c->dev)
        closed(c->dev);
    if (fault && nd__hook_fault_enter(c)) {
        clear_outs(c);
    } else {
        if (check)
            nd__hook_slow_enter(c);
        c->result = nd__hook_real(c, c->word);
        if (check)
            nd__hook_slow_leave(c);
        if (fault)
            nd__hook_fault_leave(c);
    }
    if (check)
        nd__hook_check_leave(c);
    nd__hook_objects_leave(c);
    if (c->slot->status && (int32_t)c->result != NDP_OK)
        return;
    if (c->id == HOOK_SLOT_op_find || c->id == HOOK_SLOT_fused_compile)
        found(instance, c);
    if (c->id == HOOK_SLOT_plugin_open)
        opened(c);
    if (c->id == HOOK_SLOT_plugin_probe)
        atomic_store(&c->of->count, *(uint32_t *)(uintptr_t)c->word[0]);
}

uint64_t nd__hook_call(int instance, hook_slot_id id, uint64_t *word)
{
    hook_call c = {
        .of = &nd__hook_instances[instance], .slot = &nd__hook_slots[id], .id = id, .word = word};
    resolve(&c);
    c.began_ns = nd__hook_now();
    make(instance, &c);
    c.took_ns = nd__hook_now() - c.began_ns;
    if (c.of->hooks & HOOK_TRACE)
        nd__hook_trace(&c);
    return c.result;
}
