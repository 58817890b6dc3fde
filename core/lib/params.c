/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The list of all parameters: the core's variables with their values now, keys of the allocator's
 * settings, and what plug-ins declared. */
#include "core/plugin/param.h"
#include "core/interop/interop.h"
#include "core/memory/conf/conf.h"

/* What the first version of nd_param_info had. */
#define ND_PARAM_INFO_REQUIRED NDP_END(nd_param_info, problem)

/* Settings that a program can change after the environment was read. */
static const char *value_of_program(nd_env id)
{
    static const char *const exports[] = {"", "stream", "none", "sync"};
    static const char *const policies[] = {"allow", "warn", "error"};
    switch (id) {
    case ND_ENV_FALLBACK:
        return policies[nd__fallback_policy()];
    case ND_ENV_LAUNCH_BLOCKING:
        return nd_launch_blocking() ? "1" : "0";
    case ND_ENV_CAI_EXPORT:
        return exports[nd_cai_export_policy()];
    case ND_ENV_CAI_SYNC:
        return nd_cai_sync() == ND_CAI_SYNC_ON ? "1" : "0";
    default:
        return NULL;
    }
}

static bool same_value(const nd_env_row *row, const char *a, const char *b)
{
    const nd_param_rule rule = {.type = ND_PARAM_BOOL};
    int32_t x = 0, y = 0;
    if (row->type == ND_PARAM_BOOL)
        return nd__param_parse(&rule, a, &x) && nd__param_parse(&rule, b, &y) && x == y;
    return strcmp(a, b) == 0;
}

static void describe_row(nd_env id, nd_param_info *p)
{
    const nd_env_row *row = &nd__env_rows[id];
    const char *text = nd__env(id), *now = value_of_program(id), *problem = nd__env_problem(id);
    const bool good = text && !problem[0];
    *p = (nd_param_info){.type = row->type,
                         .name = row->name,
                         .owner = row->owner,
                         .help = row->help,
                         .values = row->values,
                         .initial = row->initial,
                         .value = good ? nd__text_keep(text) : row->initial,
                         .source = good ? row->name : "default",
                         .problem = problem};
    if (now && !same_value(row, p->value, now)) {
        p->value = now;
        p->source = "program";
    }
}

static void describe_plugin_param(const nd_param *of, nd_param_info *p)
{
    *p = (nd_param_info){.type = of->type,
                         .name = of->name,
                         .owner = of->plugin,
                         .help = of->help,
                         .values = of->values,
                         .initial = of->initial,
                         .value = of->value,
                         .source = of->source,
                         .problem = of->problem};
}

static bool find_param(int32_t i, nd_param_info *p)
{
    nd_param of;
    for (int row = 0; row < ND_ENVS; row++)
        if (strcmp(nd__env_rows[row].owner, "tests") != 0 && i-- == 0) {
            describe_row((nd_env)row, p);
            return true;
        }
    if (nd__conf_describe(&i, p))
        return true;
    if (!nd__param_at(i, &of))
        return false;
    describe_plugin_param(&of, p);
    return true;
}

nd_status nd_param_get(int32_t i, nd_param_info *out)
{
    nd_param_info p;
    if (!out || out->size < ND_PARAM_INFO_REQUIRED)
        return nd__fail(ND_ERR_ARGUMENT, "param_get", 1, "out is NULL or its size is not set");
    if (i < 0 || !find_param(i, &p))
        return nd__fail(ND_ERR_INDEX, "param_get", 0, "there is no parameter number %d", (int)i);
    uint32_t size = out->size;
    p.size = size;
    memcpy(out, &p, size < sizeof p ? size : sizeof p);
    return ND_OK;
}
