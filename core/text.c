/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text for messages and reports. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "core/core.h"

void nd__text_add(nd_text *t, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    size_t need = t->len + (size_t)(n > 0 ? n : 0) + 1;
    if (n >= 0 && need > t->cap) {
        size_t cap = need < 64 ? 64 : need * 2;
        char *grown = realloc(t->data, cap);
        t->failed |= grown == NULL;
        t->data = grown ? grown : t->data;
        t->cap = grown ? cap : t->cap;
    }
    if (n >= 0 && need <= t->cap) {
        vsnprintf(t->data + t->len, t->cap - t->len, fmt, again);
        t->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

const char *nd__text_keep(const char *text)
{
    static struct kept {
        struct kept *next;
        char text[];
    } * kept;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const size_t n = strlen(text) + 1;
    pthread_mutex_lock(&lock);
    struct kept *k = kept;
    while (k && strcmp(k->text, text) != 0)
        k = k->next;
    if (!k && (k = malloc(sizeof *k + n)) != NULL) {
        memcpy(k->text, text, n);
        k->next = kept;
        kept = k;
    }
    pthread_mutex_unlock(&lock);
    return k ? k->text : "";
}

const char *nd__shape_text(int ndim, const int64_t *shape, char *buf, size_t n)
{
    size_t len = (size_t)snprintf(buf, n, "(");
    for (int d = 0; d < ndim && len + 28 < n; d++)
        len += (size_t)snprintf(buf + len, n - len, "%s%lld", d ? ", " : "", (long long)shape[d]);
    snprintf(buf + len, n - len, ndim == 1 ? ",)" : ")");
    return buf;
}
