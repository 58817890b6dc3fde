/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * From a file to a loaded plug-in: who finds it, who may have written it, what its note says, which
 * one of a name is taken, whether it survives a trial in another process, its table. All of it runs
 * under the registry's lock. */
#ifndef NDOCK_CORE_LOADER_H
#define NDOCK_CORE_LOADER_H
#include "core/base/settings.h"
#include "core/plugin/device.h"

/* Sources in the order in which they win. */
enum {
    ND_SOURCE_CALL = 1,    /* nd_plugin_load */
    ND_SOURCE_ENVIRONMENT, /* NDOCK_PLUGIN_PATH */
    ND_SOURCE_CONF,        /* $sysconfdir/ndock/plugins.d */
    ND_SOURCE_FOLDER       /* the plug-in folder */
};

/* A candidate passes CANDIDATE, LOADING, LOADED, or ends in REFUSED, before any code of it ran or
 * after. */
enum { ND_SLOT_CANDIDATE, ND_SLOT_LOADING, ND_SLOT_LOADED, ND_SLOT_REFUSED };

/* ---- registry.c ---- */
/* The lock, taken, and the list, which is made by the first call. */
nd_plugin_slot **nd__registry_enter(void);
void nd__registry_leave(void);
nd_plugin_slot *nd__slots(void); /* the list, under the lock */
/* The loaded plug-in of that name, loaded if need be; NULL if there is none. */
nd_plugin_slot *nd__load_by_name(const char *name);
void nd__load_all(void);
/* Without the lock. The latest one opened, next_opened the one before; and cpu:0. NULL: not yet. */
nd_device *nd__devices_opened(void);
nd_device *nd__cpu_opened(void);

/* ---- discover.c ---- */
/* The slot of that path, made at the list's end if there is none; NULL without memory. */
nd_plugin_slot *nd__loader_candidate(nd_plugin_slot **list, const char *path, int source);
void nd__discover(nd_plugin_slot **list);
void nd__discover_conf(nd_plugin_slot **list, const char *folder);
/* What NDOCK_PLUGIN_DIR names in place of everything that is installed; NULL: nothing. */
const char *nd__plugin_dir_named(void);

/* ---- trust.c ---- */
/* NULL: the file may be loaded; real is its path without symbolic links (PATH_MAX bytes), st what
 * it is. Else MISSING or PERMISSION, with the reason and what to do in why. *whose: what is wrong
 * is who may write to it, nothing else. */
struct stat;
const char *nd__path_refusal(const char *path, char *real, struct stat *st, bool *whose,
                             nd_text *why);
/* Between the two calls folders are looked at once. */
void nd__trust_scan(bool begins);

/* ---- acl.c ---- */
typedef struct {
    bool found, unreadable;
    bool own_group; /* the group that owns the file may write */
    char whom[32];  /* one that may write and is not the user: "user 1000", "group 5", or "" */
} nd_acl;
nd_acl nd__acl_read(const char *path);

/* ---- loader.c ---- */
void nd__slot_state(nd_plugin_slot *slot, const char *state, const char *fmt, ...) ND_PRINTF(3, 4);
/* Everything that is known without running code of it; ends in REFUSED or stays CANDIDATE. */
void nd__loader_examine(nd_plugin_slot *slot);
/* Opens the file; ends in LOADED or REFUSED. */
void nd__loader_load(nd_plugin_slot *slot);
/* Counts the devices of a loaded plug-in again, as long as none of them is open: what the
 * environment shows may change until then. */
void nd__loader_recount(nd_plugin_slot *slot);

/* ---- choose.c ---- */
bool nd__plugin_filtered(const char *name); /* by NDOCK_PLUGINS */
/* Whether both are one file, or one a copy of the other. */
bool nd__same_plugin_file(const nd_plugin_slot *a, const nd_plugin_slot *b);
/* The one of that name to use: the loaded one, else the candidate that wins; NULL if none is
 * left. */
nd_plugin_slot *nd__slot_of_name(nd_plugin_slot *list, const char *name);
/* Tells every candidate whether another one comes first. */
void nd__settle_names(nd_plugin_slot *list);
/* Of the candidates that nobody shadows and that were not in this round yet, the one of the highest
 * priority; NULL after the last. */
nd_plugin_slot *nd__next_by_priority(nd_plugin_slot *list, uint32_t round);
/* Whether two texts name one piece of hardware: equal, or equal as PCI addresses. "" does not. */
bool nd__same_hardware(const char *a, const char *b);

/* ---- trial.c ---- */
/* Whether the plug-in must not be opened here, since it crashed, hung or changed the process where
 * that could do no harm. */
bool nd__quarantined(nd_plugin_slot *slot, nd_text *why);

/* ---- trial_run.c ---- */
typedef enum {
    ND_TRIAL_HARMLESS,
    ND_TRIAL_HARMFUL, /* why says what it did */
    ND_TRIAL_UNTRIED  /* why says what is wrong with the program that tries */
} nd_trial_result;
nd_trial_result nd__trial_run(const char *program, const char *file, int seconds, nd_text *why);

#endif
