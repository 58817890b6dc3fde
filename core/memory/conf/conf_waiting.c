/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Values of plug-ins' keys that wait for their plug-in: those of the environment, which is read
 * before any plug-in is there, and those that other keys stand for. */
#include <stdlib.h>
#include "core/memory/conf/conf.h"

static nd_conf_change *waiting; /* under nd__conf_lock */

nd_conf_change *nd__conf_change_new(const char *name, size_t n, const char *value, size_t length)
{
    nd_conf_change *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->name = strndup(name, n);
    c->value = strndup(value, length);
    if (c->name && c->value)
        return c;
    nd__conf_change_free(c);
    return NULL;
}

void nd__conf_change_free(nd_conf_change *c)
{
    if (!c)
        return;
    free(c->name);
    free(c->value);
    free(c);
}

nd_conf_change *nd__conf_let_wait(nd_conf_change *c)
{
    nd_conf_change *before = nd__conf_waiting_for(c->name);
    c->next = waiting;
    waiting = c;
    return before;
}

static nd_conf_change *take(nd_conf_change **at)
{
    nd_conf_change *c = *at;
    if (c)
        *at = c->next;
    return c;
}

nd_conf_change *nd__conf_waiting_for(const char *name)
{
    nd_conf_change **at = &waiting;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return take(at);
}

nd_conf_change *nd__conf_waiting_for_any_of(const char *plugin)
{
    const size_t n = strlen(plugin);
    nd_conf_change **at = &waiting;
    while (*at && (strncmp((*at)->name, plugin, n) != 0 || (*at)->name[n] != '.'))
        at = &(*at)->next;
    return take(at);
}

void nd__conf_drop_environment(void)
{
    for (nd_conf_change *next; waiting; waiting = next) {
        next = waiting->next;
        nd__conf_change_free(waiting);
    }
}
