/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the settings: what conf.c (the record, changes as a whole), conf_keys.c (the core's own
 * keys) and conf_plugin.c, conf_waiting.c, conf_service.c (keys that plug-ins add) share. */
#ifndef NDOCK_CORE_CONF_H
#define NDOCK_CORE_CONF_H
#include "core/memory/conf/settings.h"

/* The names of plug-ins and of their keys consist of these. */
#define ND_CONF_NAME "abcdefghijklmnopqrstuvwxyz0123456789_"

/* ---- conf.c ---- */
extern pthread_mutex_t nd__conf_lock; /* of the record that holds now and of all plug-ins' keys */
/* ND_ERR_ARGUMENT: 'what "at"; key takes values; valid keys: ...'. at is cut to n bytes. key NULL:
 * it concerns no key in particular. Not under the lock. */
nd_status nd__conf_refuse(const char *what, const char *at, size_t n, const char *key,
                          const char *values);
/* Calls fn in the C locale, in which numbers have a point whatever the language. */
nd_status nd__in_c_locale(nd_status (*fn)(void *arg), void *arg);
/* Sets what nd__conf_check refuses from now on, unless it refuses already. */
void nd__conf_environment_failed(const char *message);
/* Describes the *i-th key of all. False past the last one, and *i is less by how many there are. */
bool nd__conf_describe(int32_t *i, nd_param_info *out);

/* ---- conf_keys.c ---- */
/* Parses a pair "key:value" of n bytes up to its colon. *at: what follows the pair. */
nd_status nd__conf_parse_own(const char **at, size_t n, nd_conf *conf);
/* The names of the core's own keys, and "key:value" of each; their number. */
void nd__conf_own_names(nd_text *t);
void nd__conf_own_values(const nd_conf *conf, nd_text *t);
int nd__conf_own_count(void);
/* Describes the i-th key but for what concerns its value, which is added to the text. False past
 * the last one. */
bool nd__conf_own_key(int i, const nd_conf *conf, nd_param_info *out, nd_text *value);

/* ---- conf_divisions.c ---- */
/* Parses a number in the range. *at: what follows the number. */
bool nd__conf_number(const char **at, double low, double high, double *out);
/* Parse and print the steps between two powers of two, by the request's power of two. */
bool nd__conf_parse_divisions(const char **at, uint32_t table[64]);
void nd__conf_print_divisions(const uint32_t table[64], nd_text *out);

/* ---- conf_plugin.c ---- */
typedef struct nd_conf_key {
    char *name, *help; /* name: plugin.key */
    char *value;
    const char *initial; /* kept */
    int32_t (*set)(void *arg, const char *value);
    void *arg;
    struct nd_conf_key *next;
} nd_conf_key;
/* A value that one key is to have, in the order of the text. */
typedef struct nd_conf_change {
    char *name, *value; /* value: once it is kept, the value before */
    nd_conf_key *key;   /* NULL: of a plug-in that is not there yet, for which the change waits */
    bool may_lack;      /* the plug-in may have no such key */
    struct nd_conf_change *next, *before;
} nd_conf_change;
/* Add a key, or the name of a plug-in that is loaded. Under the lock. False: there is such a key
 * already; there was no memory. */
bool nd__conf_add_key(nd_conf_key *k);
bool nd__conf_add_plugin(const char *plugin);
/* Parses a pair "plugin.key:value" of n bytes up to its colon. A value of the environment, which is
 * read before any plug-in is there, waits; another is added to the list. *at: what follows the
 * pair. */
nd_status nd__conf_parse_extra(const char **at, size_t n, bool environment, nd_conf_change **list);
/* Hands on a value, in the plug-in's words, of what a key of another name means: to the plug-in's
 * key, to the plug-in when it comes, or to nobody if it has no such key. */
nd_status nd__conf_hand_on(const char *name, const char *value, bool environment,
                           nd_conf_change **list);
/* Tells the key's plug-in a value. Its error is passed on with the key and the value. */
nd_status nd__conf_tell(const nd_conf_key *key, const char *value);
/* Tells the plug-ins: all of them or none. Under no lock, one caller at a time. */
nd_status nd__conf_make(const nd_conf_change *list);
/* Makes what was told the values that hold, under the lock. What is left in the list is to be
 * dropped. */
void nd__conf_keep(nd_conf_change **list);
void nd__conf_drop(nd_conf_change *list);
void nd__conf_extra_names(nd_text *t);  /* ", sim.memory_mb" ... */
void nd__conf_extra_values(nd_text *t); /* ",sim.memory_mb:all" ...; under the lock */
/* Describes the *i-th key, with texts that are kept. False past the last one, and *i is less by how
 * many there are. Under the lock. */
bool nd__conf_extra_key(int32_t *i, nd_param_info *out);

/* ---- conf_waiting.c ---- */
/* A change for no key yet; NULL: there is no host memory. */
nd_conf_change *nd__conf_change_new(const char *name, size_t n, const char *value, size_t length);
void nd__conf_change_free(nd_conf_change *c); /* NULL: nothing */
/* The following are called under the lock. Lets a change wait. The later of two values of a key
 * stands, so that the change whose place it takes is returned, or NULL. */
nd_conf_change *nd__conf_let_wait(nd_conf_change *c);
/* Take out what waits for the key, or for any key of the plug-in; NULL: nothing. */
nd_conf_change *nd__conf_waiting_for(const char *name);
nd_conf_change *nd__conf_waiting_for_any_of(const char *plugin);
void nd__conf_drop_environment(void);

/* ---- conf_pytorch.c ---- */
bool nd__conf_is_pytorch(const char *name, size_t n);
/* Parses a pair of such a key, as nd__conf_parse_extra does. */
nd_status nd__conf_parse_pytorch(const char **at, size_t n, bool environment,
                                 nd_conf_change **list);

#endif
