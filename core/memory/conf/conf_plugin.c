/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Keys of NDOCK_ALLOC_CONF that plug-ins add (C16): service "ndh.conf/1". Plug-ins are loaded when
 * they are first asked for, so the environment's values wait for their keys. */
#include <stdlib.h>
#include "core/memory/conf/conf.h"

/* Keys are never removed. All lists, and the values: under nd__conf_lock. */
struct nd_conf_key {
    char *name, *help; /* name: plugin.key */
    char *value;
    const char *initial; /* kept */
    int32_t (*set)(void *arg, const char *value);
    void *arg;
    nd_conf_key *next;
};
typedef struct nd_conf_pair { /* of the environment, or handed on */
    char *name, *value;
    bool may_lack; /* the plug-in may have no such key */
    struct nd_conf_pair *next;
} pair;
typedef struct loaded {
    char *plugin;
    struct loaded *next;
} loaded;
static nd_conf_key *keys, **last_key = &keys;
static pair *waiting;
static loaded *plugins;

static nd_conf_key *find_key(const char *name, size_t n)
{
    nd_conf_key *k = keys;
    while (k && (strlen(k->name) != n || memcmp(k->name, name, n) != 0))
        k = k->next;
    return k;
}

static bool is_loaded(const char *plugin, size_t n)
{
    const loaded *p = plugins;
    while (p && (strlen(p->plugin) != n || memcmp(p->plugin, plugin, n) != 0))
        p = p->next;
    return p != NULL;
}

/* Up to the next comma outside of brackets; false if there is nothing, or a bracket alone. */
static bool value_length(const char *text, size_t *length)
{
    int depth = 0;
    size_t n = 0;
    for (; text[n] && (text[n] != ',' || depth > 0); n++)
        depth += (text[n] == '[') - (text[n] == ']');
    *length = n;
    return n > 0 && depth == 0;
}

static nd_status no_memory(void)
{
    return nd__fail(ND_ERR_MEMORY, "memory_conf", -1, "no host memory");
}

static void pair_free(pair *p)
{
    free(p->name);
    free(p->value);
    free(p);
}

/* The later of two values of a key stands. */
static pair *take_pair(const char *name)
{
    pair **at = &waiting, *p;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    p = *at;
    if (p)
        *at = p->next;
    return p;
}

static pair *pair_new(const char *name, size_t n, const char *value, size_t length)
{
    pair *p = malloc(sizeof *p);
    if (!p)
        return NULL;
    *p = (pair){.name = strndup(name, n), .value = strndup(value, length)};
    if (p->name && p->value)
        return p;
    pair_free(p);
    return NULL;
}

/* Under the lock: the pair whose place it takes, or NULL. */
static pair *let_wait(pair *p)
{
    pair *before = take_pair(p->name);
    p->next = waiting;
    waiting = p;
    return before;
}

/* p, of which nobody else knows; NULL: there was no memory for it. */
static nd_status put_away(pair *p)
{
    if (!p)
        return no_memory();
    pthread_mutex_lock(&nd__conf_lock);
    pair *before = let_wait(p);
    pthread_mutex_unlock(&nd__conf_lock);
    if (before)
        pair_free(before);
    return ND_OK;
}

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

/* value: malloc'ed, and the change's from now on, as later is; one of the two. */
static nd_status add_change(nd_conf_key *key, char *value, pair *later, nd_conf_change **list)
{
    nd_conf_change *c = value || later ? malloc(sizeof *c) : NULL, *before = NULL;
    for (; *list; list = &before->next)
        before = *list;
    if (!c) {
        free(value);
        if (later)
            pair_free(later);
        return no_memory();
    }
    *c = (nd_conf_change){.key = key, .later = later, .value = value, .before = before};
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
    if (name[n] != ':')
        return nd__conf_refuse("no value for", name, n, key ? key->name : NULL,
                               key ? key->help : NULL);
    const char *value = name + n + 1;
    size_t length;
    if (!value_length(value, &length))
        return nd__conf_refuse("bad value", value, length, key ? key->name : NULL,
                               key ? key->help : NULL);
    *at = value + length;
    return key ? add_change(key, strndup(value, length), NULL, list)
               : put_away(pair_new(name, n, value, length));
}

nd_status nd__conf_hand_on(const char *name, const char *value, bool environment,
                           nd_conf_change **list)
{
    pthread_mutex_lock(&nd__conf_lock);
    nd_conf_key *key = environment ? NULL : find_key(name, strlen(name));
    const bool lacks = !key && !environment && is_loaded(name, strcspn(name, "."));
    pthread_mutex_unlock(&nd__conf_lock);
    if (lacks)
        return ND_OK;
    if (key)
        return add_change(key, strdup(value), NULL, list);
    pair *p = pair_new(name, strlen(name), value, strlen(value));
    if (p)
        p->may_lack = true;
    return environment ? put_away(p) : add_change(NULL, NULL, p, list);
}

/* The plug-in's reason, with the key and the value. */
static nd_status set_value(const nd_conf_key *key, const char *value)
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

/* Those before c, the latest first. The error that is the reason stays the thread's. */
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

nd_status nd__conf_make(nd_conf_change *list)
{
    for (nd_conf_change *c = list; c; c = c->next) {
        nd_status status = c->key ? set_value(c->key, c->value) : (nd_status)ND_OK;
        if (status != ND_OK) {
            put_back(c);
            return status;
        }
    }
    return ND_OK;
}

void nd__conf_keep(nd_conf_change *list)
{
    for (; list; list = list->next) {
        if (!list->key) {
            list->later = let_wait(list->later);
            continue;
        }
        char *before = list->key->value;
        list->key->value = list->value;
        list->value = before;
    }
}

void nd__conf_drop(nd_conf_change *list)
{
    for (nd_conf_change *next; list; list = next) {
        next = list->next;
        if (list->later)
            pair_free(list->later);
        free(list->value);
        free(list);
    }
}

void nd__conf_drop_environment(void)
{
    for (pair *next; waiting; waiting = next) {
        next = waiting->next;
        pair_free(waiting);
    }
}

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

/* ---- the service ---- */
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

/* What is printed is parsed again. */
static nd_status check_key(const nd_plugin_slot *slot, const char *key, const char *initial,
                           const void *set)
{
    if (!slot->table)
        return nd__fail(ND_ERR_STATE, NULL, -1, "keys are added from probe() on");
    if (!key || !key[0] || key[strspn(key, ND_CONF_NAME)])
        return nd__fail(ND_ERR_ARGUMENT, NULL, 1, "\"%s\" is no key: a-z, 0-9 and _ make one",
                        key ? key : "");
    size_t n = 0;
    if (!initial || !value_length(initial, &n) || initial[n] ||
        initial[strcspn(initial, " \t\n\v\f\r")])
        return nd__fail(
            ND_ERR_ARGUMENT, NULL, 3,
            "%s: the initial value \"%s\" is empty, or has blanks, a bracket alone or a "
            "comma outside of brackets",
            key, initial ? initial : "");
    return set ? ND_OK : nd__fail(ND_ERR_ARGUMENT, NULL, 4, "%s: set is NULL", key);
}

/* k becomes a key, unless there is one of that name. */
static bool insert(nd_conf_key *k)
{
    pthread_mutex_lock(&nd__conf_lock);
    bool fresh = !find_key(k->name, strlen(k->name));
    if (fresh) {
        *last_key = k;
        last_key = &k->next;
    }
    pthread_mutex_unlock(&nd__conf_lock);
    return fresh;
}

/* A value that the plug-in refuses leaves it the initial one. */
static nd_status take_environment(void *arg)
{
    nd_conf_key *k = arg;
    pthread_mutex_lock(&nd__conf_lock);
    pair *p = take_pair(k->name);
    pthread_mutex_unlock(&nd__conf_lock);
    if (!p)
        return ND_OK;
    nd_status status = set_value(k, p->value);
    if (status == ND_OK) {
        char *before = k->value;
        k->value = p->value;
        p->value = before;
    } else {
        nd__conf_environment_failed(nd_last_error()->message);
    }
    pair_free(p);
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
        return no_memory();
    k->set = set;
    k->arg = arg;
    status = nd__in_c_locale(take_environment, k); /* nobody else knows the key yet */
    if (insert(k))
        return status;
    status = nd__fail(ND_ERR_STATE, NULL, 1, "%s was added before", k->name);
    key_free(k);
    return status;
}

const ndh_conf_1 nd__conf_service = {.size = sizeof(ndh_conf_1), .add = service_add};

/* The next value of the environment that waits for a key of the plug-in. */
static pair *take_pair_of(const char *plugin)
{
    const size_t n = strlen(plugin);
    pthread_mutex_lock(&nd__conf_lock);
    pair **at = &waiting, *p;
    while (*at && (strncmp((*at)->name, plugin, n) != 0 || (*at)->name[n] != '.'))
        at = &(*at)->next;
    p = *at;
    if (p)
        *at = p->next;
    pthread_mutex_unlock(&nd__conf_lock);
    return p;
}

void nd__conf_plugin_loaded(const char *plugin)
{
    loaded *l = malloc(sizeof *l);
    char *name = strdup(plugin);
    (void)nd__conf();
    pthread_mutex_lock(&nd__conf_lock);
    if (l && name) {
        *l = (loaded){name, plugins};
        plugins = l;
    } else { /* its keys will be called those of a plug-in that is not there */
        free(l);
        free(name);
    }
    pthread_mutex_unlock(&nd__conf_lock);
    for (pair *p; (p = take_pair_of(plugin)) != NULL; pair_free(p)) {
        if (p->may_lack)
            continue;
        (void)nd__conf_refuse("unknown key", p->name, strlen(p->name), NULL, NULL);
        nd__conf_environment_failed(nd_last_error()->message);
    }
}
