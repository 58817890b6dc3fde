/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Writing JSON, and what the library's reader of it lacks here. */
#include <stdlib.h>
#include "core/base/text.h"
#include "tools/tool.h"

static void quoted(FILE *out, const char *text)
{
    nd_text t = {0};
    nd__text_json(&t, text);
    fputs(t.data ? t.data : "\"\"", out);
    free(t.data);
}

static void begin_value(json_writer *w, const char *key)
{
    if (w->depth > 0) {
        fputs(w->first[w->depth] ? "\n" : ",\n", w->out);
        fprintf(w->out, "%*s", 2 * w->depth, "");
        w->first[w->depth] = false;
    }
    if (key) {
        quoted(w->out, key);
        fputs(": ", w->out);
    }
}

void json_open(json_writer *w, const char *key, char bracket)
{
    begin_value(w, key);
    fputc(bracket, w->out);
    w->first[++w->depth] = true;
}

void json_close(json_writer *w, char bracket)
{
    bool empty = w->first[w->depth--];
    if (!empty)
        fprintf(w->out, "\n%*s", 2 * w->depth, "");
    fputc(bracket, w->out);
    if (w->depth == 0)
        fputc('\n', w->out);
}

void json_text(json_writer *w, const char *key, const char *value)
{
    begin_value(w, key);
    quoted(w->out, value);
}

void json_integer(json_writer *w, const char *key, unsigned long long value)
{
    begin_value(w, key);
    fprintf(w->out, "%llu", value);
}

void json_number(json_writer *w, const char *key, double value)
{
    begin_value(w, key);
    fprintf(w->out, "%.6g", value);
}

void json_bool(json_writer *w, const char *key, bool value)
{
    begin_value(w, key);
    fputs(value ? "true" : "false", w->out);
}

/* ---- reading ---- */
uint64_t json_read_count(nd__json *j)
{
    int64_t value = 0;
    if (nd__json_int(j, &value) && value < 0)
        nd__json_fail(j, "a negative number");
    return (uint64_t)value;
}

const char *json_read_text(nd__json *j)
{
    const char *value = "";
    (void)nd__json_text(j, &value);
    return value;
}
