/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Turns JSON into a Python pickle: a reader on one side, opcodes on the other. */
#include <stdlib.h>
#include "core/memory/report/pickle.h"

static nd_status put_value(nd__json *j, nd_text *out);

static void put_le(nd_text *out, uint64_t value, int n)
{
    char bytes[8];
    for (int i = 0; i < n; i++)
        bytes[i] = (char)(value >> 8 * i);
    nd__text_bytes(out, bytes, (size_t)n);
}

static void put_text(nd_text *out, const char *text)
{
    size_t n = strlen(text);
    nd__text_puts(out, "X"); /* BINUNICODE */
    put_le(out, n, 4);
    nd__text_bytes(out, text, n);
}

static void put_int(nd_text *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        nd__text_puts(out, "J"); /* BININT */
        put_le(out, (uint64_t)value, 4);
    } else {
        nd__text_bytes(out, "\x8a\x08", 2); /* LONG1 of eight bytes */
        put_le(out, (uint64_t)value, 8);
    }
}

/* ']' MARK items APPENDS; '}' MARK keys and values SETITEMS. */
static void put_group(nd__json *j, nd_text *out, char bracket)
{
    const char *key;
    int first = 1;
    if (!nd__json_enter(j, bracket))
        return;
    nd__text_puts(out, bracket == '[' ? "](" : "}(");
    while (nd__json_next(j, bracket, &first)) {
        if (bracket == '{' && nd__json_key(j, &key))
            put_text(out, key);
        (void)put_value(j, out);
    }
    nd__text_puts(out, bracket == '[' ? "e" : "u");
}

static unsigned char first_of_value(const nd__json *j)
{
    const unsigned char *p = j->at;
    while (p < j->end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p < j->end ? *p : 0;
}

static nd_status put_value(nd__json *j, nd_text *out)
{
    unsigned char c = j->error ? 0 : first_of_value(j);
    const char *text;
    int64_t value;
    if (c == '{' || c == '[') {
        put_group(j, out, (char)c);
    } else if (c == '"') {
        if (nd__json_text(j, &text))
            put_text(out, text);
    } else if (c == 't' || c == 'f' || c == 'n') {
        if (nd__json_skip(j))
            nd__text_puts(out, c == 't' ? "\x88" : c == 'f' ? "\x89" : "N");
    } else if (nd__json_int(j, &value)) {
        put_int(out, value);
    }
    return j->error ? ND_ERR_FORMAT : ND_OK;
}

nd_status nd__pickle(const char *json, size_t n, nd_text *out)
{
    nd__json j;
    char *arena = malloc(n + 1);
    if (!arena)
        return nd__fail(ND_ERR_MEMORY, "memory_snapshot", -1, "no %zu bytes for the texts", n + 1);
    nd__json_start(&j, json, n, arena);
    nd__text_bytes(out, "\x80\x02", 2); /* PROTO 2 */
    nd_status status = put_value(&j, out);
    nd__text_puts(out, ".");
    if (status != ND_OK || !nd__json_end(&j))
        status = nd__fail(ND_ERR_INTERNAL, "memory_snapshot", -1,
                          "the JSON is malformed at %zu: %s", j.error_at, j.error ? j.error : "");
    else if (out->failed)
        status = nd__fail(ND_ERR_MEMORY, "memory_snapshot", -1, "no memory for the pickle");
    free(arena);
    return status;
}
