/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A broken rule of the check: the log's line, and the error that the call gets, or the next one
 * that can return an error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/plugin/hook/check.h"

bool nd__hook_violated(hook_call *c, const char *rule, const char *fmt, ...)
{
    char text[512], whole[768], device[16] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (c->dev)
        snprintf(device, sizeof device, ":%u", c->dev->index);
    snprintf(whole, sizeof whole, "check: %s%s, %s.%s: %s (rule %s)", c->of->plugin, device,
             c->slot->table, c->slot->name, text, rule);
    const hook_strictness strictness = nd__hook_settings.strictness;
    const bool warn = strictness == HOOK_WARN || (strictness == HOOK_BEFORE && c->made);
    nd__log(warn ? ND_LOG_WARN : ND_LOG_ERROR, "%s", whole);
    if (warn)
        return false;
    if (c->slot->status) {
        c->result = (uint64_t)nd__fail(ND_ERR_PLUGIN, NULL, -1, "%s", whole);
        nd__error_context(NULL, NULL, c->of->plugin);
    } else {
        c->result = 0;
        nd__hook_lock();
        if (!c->of->pending)
            c->of->pending = strdup(whole);
        nd__hook_unlock();
    }
    return true;
}
