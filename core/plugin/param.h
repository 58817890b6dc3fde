/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters that plug-ins declare, and names that nobody declares. */
#ifndef NDOCK_CORE_PARAM_H
#define NDOCK_CORE_PARAM_H
#include "core/base/env.h"
#include "core/plugin/device.h"

/* ---- param.c: what plug-ins declare. Texts are kept ones. ---- */
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

/* ---- param_names.c ---- */
/* Logs once each name that nobody knows and each value that is not understood. */
void nd__params_report(void);
void nd__params_tell(const char *kept); /* a warning, once */

void nd__fork_params(nd_fork now);
void nd__fork_told(nd_fork now);

#endif
