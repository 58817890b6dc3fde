/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Settings of memory: NDOCK_ALLOC_CONF and its calls. A text's changes are made as a whole. */
#include <ctype.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/memory/conf/conf.h"
#include "core/base/env.h"

/* Records are never freed, since readers do not say when they are through with one; each points
 * to the one before. `current` is under nd__conf_lock, or belongs to the thread that makes a
 * change. */
typedef struct record {
    nd_conf conf;
    struct record *before;
} record;
static record defaults = {.conf = {.max_split_size = UINT64_MAX,
                                   .max_non_split_rounding = 20u << 20,
                                   .large_segment_size = 20u << 20,
                                   .expandable_segments_reserve = 1.125,
                                   .steal = 1,
                                   .thread_cache = 1,
                                   .max_cached = -1,
                                   .quarantine_blocks = 256}};
static record *current;
_Atomic(const nd_conf *) nd__conf_now;
pthread_mutex_t nd__conf_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t first_use = PTHREAD_ONCE_INIT;
static char environment_error[512]; /* under nd__conf_lock */

/* Held while a change is made, under no other lock, since plug-ins are asked. */
static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER;
ND_TLS bool changing; /* the calling thread makes one */

static nd_status change_begin(void)
{
    if (changing)
        return nd__fail(ND_ERR_STATE, "memory_conf_set", -1,
                        "this is called by a plug-in that is just told of a setting");
    pthread_mutex_lock(&change_lock);
    changing = true;
    return ND_OK;
}

static void change_end(void)
{
    changing = false;
    pthread_mutex_unlock(&change_lock);
}

/* A change that another thread of the parent was making is not made in the child. */
void nd__fork_conf(nd_fork now)
{
    if (now == ND_FORK_CHILD && !changing)
        pthread_mutex_init(&change_lock, NULL);
    nd__fork_mutex(&nd__conf_lock, now);
}

nd_status nd__conf_refuse(const char *what, const char *at, size_t n, const char *key,
                          const char *values)
{
    nd_text t = {0};
    nd__text_add(&t, "%s \"%.*s\"", what, (int)(n > 60 ? 60 : n), at);
    if (key)
        nd__text_add(&t, "; %s takes %s", key, values);
    nd__text_puts(&t, "; valid keys: ");
    nd__conf_own_names(&t);
    nd__conf_extra_names(&t);
    nd_status status =
        nd__fail(ND_ERR_ARGUMENT, "memory_conf_set", 0, "%s", t.data ? t.data : what);
    free(t.data);
    return status;
}

/* What a text asks for, before any of it is done. */
typedef struct {
    bool environment;
    nd_conf *conf;
    nd_conf_change *extras;
} wanted;

static nd_status parse_pair(const char **at, wanted *w)
{
    size_t n = strcspn(*at, ":,");
    if (nd__conf_is_pytorch(*at, n))
        return nd__conf_parse_pytorch(at, n, w->environment, &w->extras);
    return memchr(*at, '.', n) ? nd__conf_parse_extra(at, n, w->environment, &w->extras)
                               : nd__conf_parse_own(at, n, w->conf);
}

static nd_status parse_all(const char *text, wanted *w)
{
    char *dense = malloc(strlen(text) + 1), *to = dense;
    if (!dense)
        return nd__fail(ND_ERR_MEMORY, "memory_conf_set", 0, "no host memory");
    for (; *text; text++)
        if (!isspace((unsigned char)*text))
            *to++ = *text;
    *to = 0;
    nd_status status = ND_OK;
    for (const char *at = dense; *at && status == ND_OK;) {
        status = parse_pair(&at, w);
        if (status == ND_OK && *at == ',' && !*++at)
            status = nd__conf_refuse("a key is missing after", ",", 1, NULL, NULL);
    }
    free(dense);
    return status;
}

nd_status nd__in_c_locale(nd_status (*fn)(void *arg), void *arg)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return nd__fail(ND_ERR_MEMORY, "memory_conf", -1, "no host memory for a locale");
    locale_t before = uselocale(c);
    nd_status status = fn(arg);
    (void)uselocale(before);
    freelocale(c);
    return status;
}

typedef struct {
    const char *text;
    bool environment;
} change;

static nd_status set_text(void *arg)
{
    const change *c = arg;
    record *next = malloc(sizeof *next);
    if (!next)
        return nd__fail(ND_ERR_MEMORY, "memory_conf_set", 0, "no host memory");
    next->conf = current->conf;
    next->before = current;
    wanted w = {.environment = c->environment, .conf = &next->conf};
    nd_status status = parse_all(c->text, &w);
    if (status == ND_OK)
        status = nd__conf_make(w.extras);
    if (status == ND_OK) {
        pthread_mutex_lock(&nd__conf_lock);
        nd__conf_keep(&w.extras);
        current = next;
        atomic_store_explicit(&nd__conf_now, &next->conf, memory_order_release);
        pthread_mutex_unlock(&nd__conf_lock);
    } else {
        free(next);
    }
    nd__conf_drop(w.extras);
    return status;
}

void nd__conf_environment_failed(const char *message)
{
    pthread_mutex_lock(&nd__conf_lock);
    if (!environment_error[0])
        snprintf(environment_error, sizeof environment_error, "%s", message);
    pthread_mutex_unlock(&nd__conf_lock);
}

static void read_environment(void)
{
    change c = {nd__env(ND_ENV_ALLOC_CONF), true};
    current = &defaults;
    if (c.text && nd__in_c_locale(set_text, &c) != ND_OK) {
        nd__conf_drop_environment();
        nd__conf_environment_failed(nd_last_error()->message);
    }
    atomic_store_explicit(&nd__conf_now, &current->conf, memory_order_release);
}

const nd_conf *nd__conf_first(void)
{
    pthread_once(&first_use, read_environment);
    return atomic_load(&nd__conf_now);
}

nd_status nd__conf_check(void)
{
    char message[sizeof environment_error];
    (void)nd__conf();
    pthread_mutex_lock(&nd__conf_lock);
    memcpy(message, environment_error, sizeof message);
    pthread_mutex_unlock(&nd__conf_lock);
    return message[0] ? nd__fail(ND_ERR_ARGUMENT, "alloc", -1, "NDOCK_ALLOC_CONF: %s", message)
                      : ND_OK;
}

/* ---- the list of parameters ---- */
/* Whether the environment's text sets the key. */
static bool set_by_environment(const char *key)
{
    const char *text = nd__env(ND_ENV_ALLOC_CONF);
    size_t n = strlen(key);
    for (const char *at = text; at && (at = strstr(at, key)) != NULL; at += n)
        if ((at == text || at[-1] == ',' || isspace((unsigned char)at[-1])) &&
            at[n + strspn(at + n, " \t")] == ':')
            return true;
    return false;
}

typedef struct {
    int32_t *i;
    nd_param_info *out;
    nd_text initial, value;
    char problem[sizeof environment_error];
    bool found;
} description;

/* Describes one key; under the lock and in the C locale. */
static nd_status describe_key(void *arg)
{
    description *d = arg;
    memcpy(d->problem, environment_error, sizeof d->problem);
    d->found = nd__conf_own_key(*d->i, &defaults.conf, d->out, &d->initial) &&
               nd__conf_own_key(*d->i, &current->conf, d->out, &d->value);
    if (d->found)
        return ND_OK;
    *d->i -= nd__conf_own_count();
    d->found = nd__conf_extra_key(d->i, d->out);
    return ND_OK;
}

bool nd__conf_describe(int32_t *i, nd_param_info *out)
{
    description d = {.i = i, .out = out};
    (void)nd__conf();
    pthread_mutex_lock(&nd__conf_lock);
    (void)nd__in_c_locale(describe_key, &d);
    pthread_mutex_unlock(&nd__conf_lock);
    if (d.value.data) {
        out->initial = nd__text_keep(d.initial.data ? d.initial.data : "");
        out->value = nd__text_keep(d.value.data);
    }
    free(d.initial.data);
    free(d.value.data);
    if (!d.found)
        return false;
    bool environment = set_by_environment(out->name);
    out->source = environment                             ? "NDOCK_ALLOC_CONF"
                  : strcmp(out->value, out->initial) == 0 ? "default"
                                                          : "program";
    out->problem = environment ? nd__text_keep(d.problem) : "";
    return true;
}

nd_status nd_memory_conf_set(const char *text)
{
    change c = {text, false};
    if (!text)
        return nd__fail(ND_ERR_ARGUMENT, "memory_conf_set", 0, "text is NULL");
    (void)nd__conf();
    ND_RETURN_IF(change_begin());
    nd_status status = nd__in_c_locale(set_text, &c);
    change_end();
    return status;
}

/* Appends all values; under nd__conf_lock, so that they are of one moment. */
static nd_status get_text(void *arg)
{
    nd_text *t = arg;
    nd__conf_own_values(&current->conf, t);
    nd__conf_extra_values(t);
    return t->failed ? nd__fail(ND_ERR_MEMORY, "memory_conf_get", -1, "no host memory") : ND_OK;
}

nd_status nd_memory_conf_get(char **out)
{
    nd_text t = {0};
    ND_OUT("memory_conf_get", 0, out, NULL);
    (void)nd__conf();
    pthread_mutex_lock(&nd__conf_lock);
    nd_status status = nd__in_c_locale(get_text, &t);
    pthread_mutex_unlock(&nd__conf_lock);
    if (status == ND_OK)
        *out = t.data;
    else
        free(t.data);
    return status;
}
