/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters of plug-ins: the host's param() and service "ndh.param/1". Declared ones are
 * remembered for the list, whether or not they are set. */
#include <stdio.h>
#include <stdlib.h>
#include "core/plugin/param.h"

/* Those whose names a variable can begin with. tells: it declares by the service, so that what it
 * has not declared is unknown. */
typedef struct plugin {
    const char *name;
    bool tells;
    struct plugin *next;
} plugin;

typedef struct record {
    nd_param p;
    struct record *next;
} record;
static record *records, **last_record = &records;
static plugin *plugins;
static pthread_mutex_t params_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_params(nd_fork now)
{
    nd__fork_mutex(&params_lock, now);
}

bool nd__param_at(int32_t i, nd_param *out)
{
    pthread_mutex_lock(&params_lock);
    const record *r = records;
    while (r && i-- > 0)
        r = r->next;
    if (r)
        *out = r->p;
    pthread_mutex_unlock(&params_lock);
    return r != NULL;
}

static plugin *find_plugin(const char *name)
{
    plugin *p = plugins;
    while (p && strcmp(p->name, name) != 0)
        p = p->next;
    if (!p && (p = calloc(1, sizeof *p)) != NULL) {
        p->name = nd__text_keep(name);
        p->next = plugins;
        plugins = p;
    }
    return p;
}

void nd__params_candidate(const char *name)
{
    pthread_mutex_lock(&params_lock);
    (void)find_plugin(name);
    pthread_mutex_unlock(&params_lock);
}

/* Of that variable; under the lock. */
static record *find_record(const char *variable)
{
    record *r = records;
    while (r && strcmp(r->p.name, variable) != 0)
        r = r->next;
    return r;
}

static void remember(const nd_param *like, bool tells)
{
    pthread_mutex_lock(&params_lock);
    plugin *owner = find_plugin(like->plugin);
    if (owner && tells)
        owner->tells = true;
    record *r = find_record(like->name);
    if (!r && (r = calloc(1, sizeof *r)) != NULL) {
        *last_record = r;
        last_record = &r->next;
    }
    if (r)
        r->p = *like;
    pthread_mutex_unlock(&params_lock);
}

static const char *variable_of(const char *owner, const char *name, char *out, size_t n)
{
    const char *begin = out;
    snprintf(out, n, "NDOCK_%s_%s", owner, name);
    for (; *out; out++)
        if (*out >= 'a' && *out <= 'z')
            *out = (char)(*out - 'a' + 'A');
    return begin;
}

static const char *text_or_none(const char *text)
{
    return nd__text_keep(text ? text : "");
}

/* The text that counts, and whose it is. The size of a team is everybody's affair, so the CPU
 * plug-in's parameter may be given without its name. */
static const char *text_of(const char *owner, const char *variable, const char **source)
{
    const char *text = nd__getenv(variable);
    *source = variable;
    if (!text && strcmp(owner, "cpu") == 0 && strcmp(variable, "NDOCK_CPU_NUM_THREADS") == 0) {
        *source = nd__env_rows[ND_ENV_NUM_THREADS].name;
        text = nd__env(ND_ENV_NUM_THREADS);
    }
    return text;
}

/* The value of *p by the rule, out as it was (the default) if the variable is unset or bad. */
static int32_t take(nd_param *p, const nd_param_rule *rule, bool tells, void *out)
{
    const char *source, *text = text_of(p->plugin, p->name, &source);
    const bool good = text && nd__param_parse(rule, text, NULL);
    char problem[512] = "";
    int32_t status = NDP_OK;
    if (good) {
        p->value = nd__text_keep(text);
        (void)nd__param_parse(rule, p->value, out);
    }
    p->source = good ? nd__text_keep(source) : "default";
    if (text && !good)
        snprintf(problem, sizeof problem,
                 "%s=%s is not understood and counts as unset: it takes %s", source, text,
                 p->values[0] ? p->values : p->help);
    p->problem = nd__text_keep(problem);
    remember(p, tells);
    if (problem[0])
        status = nd__fail(NDP_ERR_ARGUMENT, "param", -1, "%s", problem);
    return status;
}

int32_t nd__host_param(void *ctx, const char *name, int32_t type, const char *help, void *out)
{
    const nd_plugin_slot *slot = ctx;
    char variable[128];
    const nd_param_rule rule = {.type = type};
    nd_param p = {.plugin = nd__text_keep(slot->name),
                  .name = nd__text_keep(variable_of(slot->name, name, variable, sizeof variable)),
                  .help = text_or_none(help),
                  .values = "",
                  .initial = "",
                  .value = "",
                  .type = type};
    int32_t status = take(&p, &rule, false, out);
    if (status != NDP_OK)
        nd__params_tell(p.problem);
    return status;
}

/* ---- service "ndh.param/1" ---- */
static nd_param_rule rule_of(const ndh_param *d)
{
    return (nd_param_rule){.type = d->words ? ND_PARAM_CHOICE : d->type,
                           .low = d->low,
                           .high = d->high,
                           .words = d->words};
}

static int32_t check_declaration(const ndh_param *d, const nd_param_rule *rule, const void *out)
{
    if (!d || d->size < NDP_END(ndh_param, high) || !out)
        return nd__fail(ND_ERR_ARGUMENT, "param", 1, "the declaration is NULL or too short");
    if (!d->name || !d->name[0] ||
        d->name[strspn(d->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
        return nd__fail(ND_ERR_ARGUMENT, "param", 1,
                        "\"%s\" is no name of a parameter: A-Z, 0-9 and _ make one",
                        d->name ? d->name : "");
    if (d->type < NDP_PARAM_I64 || d->type > NDP_PARAM_TEXT)
        return nd__fail(ND_ERR_ARGUMENT, "param", 1, "%s: %d is no type of a parameter", d->name,
                        (int)d->type);
    if (d->initial && !nd__param_parse(rule, d->initial, NULL))
        return nd__fail(ND_ERR_ARGUMENT, "param", 1,
                        "%s: its own default \"%s\" is not of the form that it declares", d->name,
                        d->initial);
    return NDP_OK;
}

static int32_t service_get(void *ctx, const ndh_param *d, void *out)
{
    const nd_plugin_slot *slot = ctx;
    char variable[128];
    nd_param_rule rule = d && d->size >= NDP_END(ndh_param, high) ? rule_of(d) : (nd_param_rule){0};
    ND_RETURN_IF(check_declaration(d, &rule, out));
    nd_param p = {.plugin = nd__text_keep(slot->name),
                  .name = text_or_none(variable_of(slot->name, d->name, variable, sizeof variable)),
                  .help = text_or_none(d->help),
                  .values = text_or_none(d->values ? d->values : d->words),
                  .initial = text_or_none(d->initial),
                  .value = text_or_none(d->initial),
                  .type = rule.type};
    if (d->initial)
        (void)nd__param_parse(&rule, p.initial, out);
    return take(&p, &rule, true, out);
}

const ndh_param_1 nd__param_service = {.size = sizeof(ndh_param_1), .get = service_get};

/* ---- names ---- */
/* Plug-ins of ndock's own, whose variables are nobody's mistake where they are not installed. */
static const char *const own_plugins[] = {"cpu", "cuda", "opencl", "sim"};

static bool begins(const char *variable, const char *owner)
{
    char start[96];
    variable_of(owner, "", start, sizeof start);
    return strncmp(variable, start, strlen(start)) == 0;
}

nd_name_state nd__param_name_state(const char *variable)
{
    bool of_plugin = false, told = false;
    for (int row = 0; row < ND_ENVS; row++)
        if (strcmp(nd__env_rows[row].name, variable) == 0)
            return ND_NAME_KNOWN;
    pthread_mutex_lock(&params_lock);
    bool known = find_record(variable) != NULL;
    for (const plugin *p = plugins; p && !known; p = p->next) {
        bool mine = begins(variable, p->name);
        of_plugin |= mine;
        told |= mine && p->tells;
    }
    pthread_mutex_unlock(&params_lock);
    for (size_t i = 0; i < sizeof own_plugins / sizeof *own_plugins; i++)
        of_plugin |= begins(variable, own_plugins[i]);
    return known ? ND_NAME_KNOWN : of_plugin && !told ? ND_NAME_OF_PLUGIN : ND_NAME_UNKNOWN;
}
