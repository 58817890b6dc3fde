/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters inside the core: reading variables by their rows of param.def, and the list of them
 * all. */
#ifndef NDOCK_CORE_PARAM_H
#define NDOCK_CORE_PARAM_H
#include "core/core.h"

/* What the first version of nd_param_info had. */
#define ND_PARAM_INFO_REQUIRED NDP_END(nd_param_info, problem)

typedef enum {
#define ND_PARAM(name, owner, TYPE, initial, values, help) ND_ENV_##name,
#include "core/base/param/param.def"
    ND_ENVS
} nd_env;

typedef struct {
    const char *name, *owner;
    int32_t type;
    const char *initial, *values, *help;
} nd_env_row;
extern const nd_env_row nd__env_rows[ND_ENVS];

/* Its text; NULL when unset, empty or under AT_SECURE. */
const char *nd__env(nd_env id);
/* Of a BOOL. What is not understood counts as unset, and is reported by nd__params_report. */
bool nd__env_bool(nd_env id);
/* Of an I64. */
int64_t nd__env_integer(nd_env id);
/* Of a CHOICE: the position of its word. */
int nd__env_choice(nd_env id);

/* Why its value does not count; "" if it does. Kept. */
const char *nd__env_problem(nd_env id);

/* A text as a value of the type; false if it is none. Bounds hold if low < high; words: NULL, or
 * separated by |. out: int64_t, double, int32_t or const char *; NULL: only asks. */
typedef struct {
    int32_t type;
    int64_t low, high;
    const char *words;
} nd_param_rule;
bool nd__param_parse(const nd_param_rule *rule, const char *text, void *out);
nd_param_rule nd__env_rule(const nd_env_row *row);
/* The word's position among those separated by |; -1 if it is none of them. */
int nd__word_index(const char *words, const char *text);

/* ---- plugin.c: what plug-ins declare. Texts are kept ones. ---- */
typedef struct nd_param {
    const char *plugin, *name, *help, *values, *initial; /* name: the whole variable */
    const char *value, *source, *problem;
    int32_t type;
} nd_param;
int32_t nd__host_param(void *ctx, const char *name, int32_t type, const char *help, void *out);
extern const ndh_param_1 nd__param_service;
/* A plug-in of that name is a candidate: NDOCK_<NAME>_... may be its. */
void nd__params_candidate(const char *name);
/* The i-th of all of them in the order of declaration; false past the last. */
bool nd__param_at(int32_t i, nd_param *out);
typedef enum { ND_NAME_KNOWN, ND_NAME_OF_PLUGIN, ND_NAME_UNKNOWN } nd_name_state;
/* Of a variable NDOCK_...: OF_PLUGIN may be a parameter that is not declared. */
nd_name_state nd__param_name_state(const char *variable);

/* ---- names.c ---- */
/* Logs once each name that nobody knows and each value that is not understood. */
void nd__params_report(void);
void nd__params_tell(const char *kept); /* a warning, once */

#endif
