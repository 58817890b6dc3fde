/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Keys of NDOCK_ALLOC_CONF that plug-ins add (C16), and changes of their values: all of a text's or
 * none. */
#include <stdlib.h>
#include "core/memory/conf/conf.h"

/* Both lists, and the values of keys, are under nd__conf_lock. Keys and names of plug-ins are never
 * removed. */
static nd_conf_key *keys, **last_key = &keys;
typedef struct loaded {
    char *plugin;
    struct loaded *next;
} loaded;
static loaded *plugins;

static bool is(const char *text, const char *part, size_t n)
{
    return strlen(text) == n && memcmp(text, part, n) == 0;
}

static nd_conf_key *find_key(const char *name, size_t n)
{
    nd_conf_key *k = keys;
    while (k && !is(k->name, name, n))
        k = k->next;
    return k;
}

static bool is_loaded(const char *plugin, size_t n)
{
    const loaded *p = plugins;
    while (p && !is(p->plugin, plugin, n))
        p = p->next;
    return p != NULL;
}

bool nd__conf_add_plugin(const char *plugin)
{
    loaded *l = malloc(sizeof *l);
    char *name = strdup(plugin);
    if (l && name) {
        *l = (loaded){name, plugins};
        plugins = l;
        return true;
    }
    free(l);
    free(name);
    return false;
}

bool nd__conf_add_key(nd_conf_key *k)
{
    bool fresh = !find_key(k->name, strlen(k->name));
    if (fresh) {
        *last_key = k;
        last_key = &k->next;
    }
    return fresh;
}

/* ---- what a text asks for ---- */
static nd_status refuse_key(const char *name, size_t n)
{
    size_t dot = strcspn(name, ".");
    pthread_mutex_lock(&nd__conf_lock);
    bool here = is_loaded(name, dot);
    pthread_mutex_unlock(&nd__conf_lock);
    if (here)
        return nd__conf_refuse("unknown key", name, n, NULL, NULL);
    return nd__fail(ND_ERR_ARGUMENT, "memory_conf_set", 0,
                    "\"%.*s\" is a key of a plug-in \"%.*s\", which is not loaded: open one of its "
                    "devices first, or set the key in NDOCK_ALLOC_CONF",
                    (int)n, name, (int)dot, name);
}

/* Takes the change over: one of the environment waits at once, another goes to the list's end. */
static nd_status put(nd_conf_change *c, bool environment, nd_conf_change **list)
{
    if (!c)
        return nd__fail(ND_ERR_MEMORY, "memory_conf", -1, "no host memory");
    if (environment) {
        pthread_mutex_lock(&nd__conf_lock);
        nd_conf_change *before = nd__conf_let_wait(c);
        pthread_mutex_unlock(&nd__conf_lock);
        nd__conf_change_free(before);
        return ND_OK;
    }
    for (; *list; list = &(*list)->next)
        c->before = *list;
    *list = c;
    return ND_OK;
}

nd_status nd__conf_parse_extra(const char **at, size_t n, bool environment, nd_conf_change **list)
{
    const char *name = *at;
    pthread_mutex_lock(&nd__conf_lock);
    nd_conf_key *key = environment ? NULL : find_key(name, n);
    pthread_mutex_unlock(&nd__conf_lock);
    if (!key && !environment)
        return refuse_key(name, n);
    const char *own = key ? key->name : NULL, *help = key ? key->help : NULL;
    if (name[n] != ':')
        return nd__conf_refuse("no value for", name, n, own, help);
    const char *value = name + n + 1;
    size_t length = strcspn(value, ",");
    if (length == 0)
        return nd__conf_refuse("bad value", value, length, own, help);
    *at = value + length;
    nd_conf_change *c = nd__conf_change_new(name, n, value, length);
    if (c)
        c->key = key;
    return put(c, environment, list);
}

nd_status nd__conf_hand_on(const char *name, const char *value, bool environment,
                           nd_conf_change **list)
{
    const size_t n = strlen(name);
    pthread_mutex_lock(&nd__conf_lock);
    nd_conf_key *key = environment ? NULL : find_key(name, n);
    const bool lacks = !key && !environment && is_loaded(name, strcspn(name, "."));
    pthread_mutex_unlock(&nd__conf_lock);
    if (lacks)
        return ND_OK;
    nd_conf_change *c = nd__conf_change_new(name, n, value, strlen(value));
    if (c) {
        c->key = key;
        c->may_lack = true;
    }
    return put(c, environment, list);
}

/* ---- making it so ---- */
nd_status nd__conf_tell(const nd_conf_key *key, const char *value)
{
    nd_status status = key->set(key->arg, value);
    if (status == ND_OK)
        return ND_OK;
    nd_error e = *nd_last_error();
    char *plugin = strndup(key->name, strcspn(key->name, "."));
    nd__fail(status, "memory_conf_set", 0, "%s:%s: %s", key->name, value, e.message);
    nd__error_native(e.native);
    nd__error_context(NULL, NULL, plugin);
    free(plugin);
    return status;
}

/* Tells the plug-ins their former values again, for the changes before c, the latest first. The
 * error that is the reason stays the thread's. */
static void put_back(const nd_conf_change *c)
{
    nd_error e = *nd_last_error();
    char *message = c->before ? strdup(e.message) : NULL;
    char *plugin = message ? strdup(e.plugin) : NULL;
    for (c = c->before; c; c = c->before)
        if (c->key && c->key->set(c->key->arg, c->key->value) != ND_OK)
            nd__log(ND_LOG_ERROR, "%s: its former value %s is refused: %s", c->key->name,
                    c->key->value, nd_last_error()->message);
    if (message) {
        nd__fail(e.status, NULL, e.argument, "%s", message);
        nd__error_native(e.native);
        nd__error_context("memory_conf_set", NULL, plugin);
    }
    free(message);
    free(plugin);
}

nd_status nd__conf_make(const nd_conf_change *list)
{
    for (const nd_conf_change *c = list; c; c = c->next) {
        nd_status status = c->key ? nd__conf_tell(c->key, c->value) : (nd_status)ND_OK;
        if (status != ND_OK) {
            put_back(c);
            return status;
        }
    }
    return ND_OK;
}

void nd__conf_keep(nd_conf_change **list)
{
    for (nd_conf_change *c; (c = *list) != NULL;) {
        if (c->key) {
            char *before = c->key->value;
            c->key->value = c->value;
            c->value = before;
            list = &c->next;
            continue;
        }
        nd_conf_change *next = c->next, *before = nd__conf_let_wait(c);
        /* the change whose place it takes is dropped in its stead */
        *list = before ? before : next;
        if (before)
            before->next = next;
        list = before ? &before->next : list;
    }
}

void nd__conf_drop(nd_conf_change *list)
{
    for (nd_conf_change *next; list; list = next) {
        next = list->next;
        nd__conf_change_free(list);
    }
}

/* ---- what there is ---- */
void nd__conf_extra_names(nd_text *t)
{
    pthread_mutex_lock(&nd__conf_lock);
    for (const nd_conf_key *k = keys; k; k = k->next)
        nd__text_add(t, ", %s (%s)", k->name, k->help);
    pthread_mutex_unlock(&nd__conf_lock);
}

void nd__conf_extra_values(nd_text *t)
{
    for (const nd_conf_key *k = keys; k; k = k->next)
        nd__text_add(t, ",%s:%s", k->name, k->value);
}

bool nd__conf_extra_key(int32_t *i, nd_param_info *out)
{
    const nd_conf_key *k = keys;
    for (; k && *i > 0; --*i)
        k = k->next;
    if (!k)
        return false;
    char *plugin = strndup(k->name, strcspn(k->name, "."));
    *out = (nd_param_info){.type = ND_PARAM_TEXT,
                           .name = nd__text_keep(k->name),
                           .owner = nd__text_keep(plugin ? plugin : ""),
                           .help = "a key of NDOCK_ALLOC_CONF",
                           .values = nd__text_keep(k->help),
                           .initial = k->initial,
                           .value = nd__text_keep(k->value)};
    free(plugin);
    return true;
}
