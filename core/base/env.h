/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Variables of the environment: each is a row of param.def. */
#ifndef NDOCK_CORE_ENV_H
#define NDOCK_CORE_ENV_H
#include "core/base/base.h"

typedef enum {
#define ND_PARAM(name, owner, TYPE, initial, values, help) ND_ENV_##name,
#include "core/base/param.def"
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

#endif
