/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading a line of a trace: words with blanks between them, some of the form key="text" with the
 * escapes of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include "tools/replay/replay.h"

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Decodes the text after an opening quote in place; where it ends, or NULL. */
static char *unquote(char *text)
{
    static const char from[] = "nrtbf", meant[] = "\n\r\t\b\f";
    char *to = text;
    for (; *text && *text != '"'; text++) {
        if (*text != '\\') {
            *to++ = *text;
            continue;
        }
        const char *known = *++text ? strchr(from, *text) : NULL;
        if (*text == 'u') {
            char hex[5] = {0}, *end;
            for (int i = 0; i < 4 && text[1]; i++)
                hex[i] = *++text;
            to = put_utf8(to, (unsigned)strtoul(hex, &end, 16));
            if (end != hex + 4)
                return NULL;
        } else if (*text) {
            *to++ = known ? meant[known - from] : *text;
        } else {
            return NULL;
        }
    }
    if (*text != '"')
        return NULL;
    *to = 0;
    return text + 1;
}

/* The next word and its value; *at moves behind it. false at the end, or when it is malformed. */
static bool next_word(char **at, replay_word *w)
{
    char *p = *at + strspn(*at, " ");
    *w = (replay_word){p, "", false};
    if (!*p)
        return false;
    p += strcspn(p, " =");
    if (*p == '=' && p != w->key) {
        *p++ = 0;
        w->value = p;
        w->quoted = *p == '"';
        if (w->quoted) {
            w->value = p + 1;
            p = unquote(p + 1);
            if (!p || (*p && *p != ' '))
                return false;
        } else {
            p += strcspn(p, " ");
        }
    } else {
        p += strcspn(p, " ");
    }
    *at = *p ? p + 1 : p;
    *p = 0;
    return true;
}

static void take_result(replay_line *out, const replay_word *w)
{
    if (w->value[0] || w->quoted)
        out->result[out->n_results++] = *w;
    else if (strcmp(w->key, "injected") == 0)
        out->injected = true;
    else if (strcmp(w->key, "refused") == 0)
        out->refused = true;
}

const char *replay_parse(char *text, replay_line *out)
{
    replay_word w;
    char **heads[] = {NULL, NULL, &out->device, &out->function}; /* time and thread say nothing */
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 4; i++) {
        if (!next_word(&text, &w))
            return "it has fewer than four words";
        if (heads[i])
            *heads[i] = w.key;
    }
    while (next_word(&text, &w)) {
        if (strcmp(w.key, "=") == 0 && !out->status) {
            if (!next_word(&text, &w))
                break;
            out->status = w.key;
        } else if (out->n_arguments == REPLAY_WORDS - 1 || out->n_results == REPLAY_WORDS - 1) {
            return "it has more words than any call";
        } else if (out->status) {
            take_result(out, &w);
        } else {
            out->argument[out->n_arguments++] = w;
        }
    }
    if (*text)
        return "a text in it does not end";
    return out->status ? NULL : "it has no status";
}

const char *replay_value(const replay_line *line, const char *key, int k)
{
    for (int i = 0; i < line->n_arguments; i++)
        if (strcmp(line->argument[i].key, key) == 0 && k-- == 0)
            return line->argument[i].value;
    return NULL;
}

const char *replay_result(const replay_line *line, const char *key)
{
    for (int i = 0; i < line->n_results; i++)
        if (strcmp(line->result[i].key, key) == 0)
            return line->result[i].value;
    return NULL;
}
