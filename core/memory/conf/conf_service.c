/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Service "ndh.conf/1", by which plug-ins add keys (C16). Plug-ins are loaded when they are first
 * asked for, so that the environment's values wait for their keys. */
#include <stdlib.h>
#include "core/memory/conf/conf.h"

static void key_free(nd_conf_key *k)
{
    free(k->name);
    free(k->help);
    free(k->value);
    free(k);
}

static nd_conf_key *key_new(const char *plugin, const char *key, const char *help,
                            const char *initial)
{
    nd_conf_key *k = calloc(1, sizeof *k);
    nd_text name = {0};
    if (!k)
        return NULL;
    nd__text_add(&name, "%s.%s", plugin, key);
    k->name = name.data;
    k->help = strdup(help ? help : "");
    k->value = strdup(initial);
    k->initial = nd__text_keep(initial);
    if (!name.failed && k->help && k->value)
        return k;
    key_free(k);
    return NULL;
}

/* Checks a new key. Its value must be fit to be parsed again once it is printed. */
static nd_status check_key(const nd_plugin_slot *slot, const char *key, const char *initial,
                           const void *set)
{
    if (!slot->table)
        return nd__fail(ND_ERR_STATE, NULL, -1, "keys are added from probe() on");
    if (!key || !key[0] || key[strspn(key, ND_CONF_NAME)])
        return nd__fail(ND_ERR_ARGUMENT, NULL, 1, "\"%s\" is no key: a-z, 0-9 and _ make one",
                        key ? key : "");
    if (!initial || !initial[0] || initial[strcspn(initial, ", \t\n\v\f\r")])
        return nd__fail(ND_ERR_ARGUMENT, NULL, 3,
                        "%s: the initial value \"%s\" is empty, or has blanks or a comma", key,
                        initial ? initial : "");
    return set ? ND_OK : nd__fail(ND_ERR_ARGUMENT, NULL, 4, "%s: set is NULL", key);
}

/* Tells the plug-in the environment's value of the key. If the plug-in refuses it, the initial
 * value stays. */
static nd_status take_environment(void *arg)
{
    nd_conf_key *k = arg;
    pthread_mutex_lock(&nd__conf_lock);
    nd_conf_change *c = nd__conf_waiting_for(k->name);
    pthread_mutex_unlock(&nd__conf_lock);
    if (!c)
        return ND_OK;
    nd_status status = nd__conf_tell(k, c->value);
    if (status == ND_OK) {
        char *before = k->value;
        k->value = c->value;
        c->value = before;
    } else {
        nd__conf_environment_failed(nd_last_error()->message);
    }
    nd__conf_change_free(c);
    return status;
}

static int32_t service_add(void *ctx, const char *key, const char *help, const char *initial,
                           int32_t (*set)(void *arg, const char *value), void *arg)
{
    nd_plugin_slot *slot = ctx;
    nd_status status = check_key(slot, key, initial, (const void *)(uintptr_t)set);
    if (status != ND_OK)
        return status;
    (void)nd__conf(); /* the environment is read before there are keys */
    nd_conf_key *k = key_new(slot->name, key, help, initial);
    if (!k)
        return nd__fail(ND_ERR_MEMORY, "memory_conf", -1, "no host memory");
    k->set = set;
    k->arg = arg;
    status = nd__in_c_locale(take_environment, k); /* nobody else knows the key yet */
    pthread_mutex_lock(&nd__conf_lock);
    bool added = nd__conf_add_key(k);
    pthread_mutex_unlock(&nd__conf_lock);
    if (added)
        return status;
    status = nd__fail(ND_ERR_STATE, NULL, 1, "%s was added before", k->name);
    key_free(k);
    return status;
}

const ndh_conf_1 nd__conf_service = {.size = sizeof(ndh_conf_1), .add = service_add};

void nd__conf_plugin_loaded(const char *plugin)
{
    nd_conf_change *c;
    (void)nd__conf();
    pthread_mutex_lock(&nd__conf_lock);
    /* if that fails, its keys are said to be of a plug-in that is not there */
    (void)nd__conf_add_plugin(plugin);
    while ((c = nd__conf_waiting_for_any_of(plugin)) != NULL) {
        pthread_mutex_unlock(&nd__conf_lock);
        if (!c->may_lack) {
            (void)nd__conf_refuse("unknown key", c->name, strlen(c->name), NULL, NULL);
            nd__conf_environment_failed(nd_last_error()->message);
        }
        nd__conf_change_free(c);
        pthread_mutex_lock(&nd__conf_lock);
    }
    pthread_mutex_unlock(&nd__conf_lock);
}
