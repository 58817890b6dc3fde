/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Text and bytes that grow. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/base/text.h"

/* Room for n more and a 0. */
static bool make_room(nd_text *t, size_t n)
{
    if (!t->failed && n >= t->cap - t->len) {
        size_t cap = 2 * t->cap + n + 64;
        char *grown = realloc(t->data, cap);
        t->failed = grown == NULL;
        t->data = grown ? grown : t->data;
        t->cap = grown ? cap : t->cap;
    }
    return !t->failed;
}

void nd__text_bytes(nd_text *t, const void *data, size_t n)
{
    if (!make_room(t, n))
        return;
    memcpy(t->data + t->len, data, n);
    t->len += n;
    t->data[t->len] = 0;
}

void nd__text_puts(nd_text *t, const char *text)
{
    nd__text_bytes(t, text, strlen(text));
}

void nd__text_add(nd_text *t, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0 && make_room(t, (size_t)n)) {
        vsnprintf(t->data + t->len, (size_t)n + 1, fmt, again);
        t->len += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

/* Bytes of the UTF-8 sequence that starts with c, and the range of its second byte (Unicode 15,
 * table 3-7); 0 if nothing does. */
static int sequence_length(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    *high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    return c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
}

bool nd__utf8_valid(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    while (p < end) {
        unsigned char low, high;
        int length = sequence_length(*p, &low, &high);
        if (length == 0 || end - p < length)
            return false;
        if (length > 1 && (p[1] < low || p[1] > high))
            return false;
        for (int i = 2; i < length; i++)
            if ((p[i] & 0xC0) != 0x80)
                return false;
        p += length;
    }
    return true;
}

void nd__text_json(nd_text *t, const char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const bool valid = nd__utf8_valid(text, strlen(text));
    nd__text_puts(t, "\"");
    for (const char *p = text; *p; p++) {
        const char *found = strchr(from, *p);
        if (found)
            nd__text_add(t, "\\%c", to[found - from]);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            nd__text_add(t, "\\u%04x", (unsigned char)*p);
        else
            nd__text_bytes(t, valid || (unsigned char)*p < 0x80 ? p : "?", 1);
    }
    nd__text_puts(t, "\"");
}

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

void nd__fork_texts(nd_fork now)
{
    nd__fork_mutex(&kept_lock, now);
}

const char *nd__text_keep(const char *text)
{
    static struct kept {
        struct kept *next;
        char text[];
    } * kept;
    const size_t n = strlen(text) + 1;
    pthread_mutex_lock(&kept_lock);
    struct kept *k = kept;
    while (k && strcmp(k->text, text) != 0)
        k = k->next;
    if (!k && (k = malloc(sizeof *k + n)) != NULL) {
        memcpy(k->text, text, n);
        k->next = kept;
        kept = k;
    }
    pthread_mutex_unlock(&kept_lock);
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
