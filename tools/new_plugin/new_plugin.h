/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What `ndock new-plugin` was asked for, and how a template becomes a file of the project. */
#ifndef NDOCK_NEW_PLUGIN_H
#define NDOCK_NEW_PLUGIN_H
#include "core/base/text.h"

typedef struct {
    const char *name, *lang, *build, *tier; /* tier: "tier0", as templates have it */
    const char *templates, *dir;            /* where from and where to */
} new_plugin;

/* Appends the template's text to out: lines that begin with @WORD@ or @WORD,WORD@ are kept, without
 * that, where a word is the request's lang, build or tier; then the marks are replaced. */
void new_plugin_expand(const new_plugin *p, const char *text, nd_text *out);

/* Writes all files into p->dir, which appears complete or not at all. 0, or 1 after a message. */
int new_plugin_write(const new_plugin *p);

/* The files of the request, for people; NULL after the last. */
const char *new_plugin_file(const new_plugin *p, int i, char *path, size_t n);
#endif
