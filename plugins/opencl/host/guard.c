/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Drivers do what a plug-in may not: when they start they install signal handlers and set variables
 * of the environment. Both are put back, so that the program's own stay in force. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "host/opencl.h"

extern char **environ;
enum { SIGNALS = 65 };

struct ocl_guard {
    struct sigaction action[SIGNALS];
    int known[SIGNALS];
    char **variables; /* NAME=VALUE, ended by NULL; NULL if there was no memory */
};

static void free_variables(char **v)
{
    for (char **at = v; at && *at; at++)
        free(*at);
    free(v);
}

static char **copy_variables(void)
{
    size_t n = 0;
    while (environ && environ[n])
        n++;
    char **copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = strdup(environ[i]))) {
            free_variables(copy);
            return NULL;
        }
    return copy;
}

ocl_guard *ocl_guard_begin(void)
{
    ocl_guard *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    for (int s = 1; s < SIGNALS; s++)
        g->known[s] = sigaction(s, NULL, &g->action[s]) == 0;
    g->variables = copy_variables();
    return g;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

static const char *value_before(char *const *variables, const char *now)
{
    size_t n = name_length(now);
    for (; *variables; variables++)
        if (strncmp(*variables, now, n) == 0 && (*variables)[n] == '=')
            return *variables + n + 1;
    return NULL;
}

static void restore_variable(char *const *before, const char *now)
{
    char name[256];
    size_t n = name_length(now);
    const char *value = value_before(before, now);
    if (n == 0 || n >= sizeof name || now[n] != '=' || (value && strcmp(value, now + n + 1) == 0))
        return;
    memcpy(name, now, n);
    name[n] = 0;
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void restore_variables(char *const *before)
{
    char **after = copy_variables(), *name;
    for (char **v = after; v && *v; v++)
        restore_variable(before, *v);
    for (; *before; before++) /* those that are gone */
        if (after && !value_before(after, *before) && (name = strdup(*before)) != NULL) {
            size_t n = name_length(name);
            name[n] = 0;
            setenv(name, *before + n + 1, 1);
            free(name);
        }
    free_variables(after);
}

void ocl_guard_end(ocl_guard *g)
{
    struct sigaction now;
    if (!g)
        return;
    for (int s = 1; s < SIGNALS; s++)
        if (g->known[s] && sigaction(s, NULL, &now) == 0 &&
            now.sa_handler != g->action[s].sa_handler)
            sigaction(s, &g->action[s], NULL);
    if (g->variables)
        restore_variables(g->variables);
    free_variables(g->variables);
    free(g);
}
