/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A run of `ndock conform` for programs: JUnit's XML (as Jenkins, GitLab and GitHub read it) and
 * JSON. */
#include <errno.h>
#include <ndock/plugin.h>
#include <stdlib.h>
#include <string.h>
#include "tools/conform/conform.h"

int conform_write(const char *path, const nd_text *t)
{
    if (t->failed || !t->data) {
        fprintf(stderr, "ndock conform: no memory for %s\n", path);
        return -1;
    }
    if (strcmp(path, "-") == 0)
        return fwrite(t->data, 1, t->len, stdout) == t->len ? 0 : -1;
    if (tool_replace_file(path, t->data, t->len) != 0) {
        fprintf(stderr, "ndock conform: %s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

void conform_markup(nd_text *out, const char *text)
{
    bool valid = nd__utf8_valid(text, strlen(text));
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p == '&')
            nd__text_puts(out, "&amp;");
        else if (*p == '<')
            nd__text_puts(out, "&lt;");
        else if (*p == '>')
            nd__text_puts(out, "&gt;");
        else if (*p == '"')
            nd__text_puts(out, "&quot;");
        else if ((*p < 0x20 && *p != '\n' && *p != '\t') || (*p >= 0x7f && !valid))
            nd__text_puts(out, "?"); /* XML has no such character */
        else
            nd__text_bytes(out, p, 1);
}

static void attribute(nd_text *out, const char *name, const char *value)
{
    nd__text_add(out, " %s=\"", name);
    conform_markup(out, value);
    nd__text_puts(out, "\"");
}

static void xml_failure(nd_text *out, const conform_run *r, const conform_case *c)
{
    const char *kind = c->died ? "error" : "failure";
    nd__text_add(out, "\n      <%s", kind);
    attribute(out, "message", c->text);
    attribute(out, "type", c->died ? "died" : "wrong");
    nd__text_puts(out, ">");
    conform_markup(out, c->said);
    nd__text_puts(out, "\nreplay: ");
    nd_text replay = {0};
    conform_replay_command(&replay, r, c);
    conform_markup(out, replay.data ? replay.data : "");
    free(replay.data);
    nd__text_add(out, "</%s>\n    ", kind);
}

static void xml_case(nd_text *out, const conform_run *r, const conform_case *c)
{
    nd__text_puts(out, "    <testcase");
    attribute(out, "classname", r->name[0] ? r->name : "plugin");
    attribute(out, "name", c->id);
    nd__text_add(out, " time=\"%.6f\">", c->seconds);
    if (c->outcome == CASE_FAIL || (c->outcome == CASE_XPASS && r->strict)) {
        xml_failure(out, r, c);
    } else if (c->outcome == CASE_SKIP || c->outcome == CASE_XFAIL) {
        nd__text_puts(out, "<skipped");
        attribute(out, "message", c->reason);
        nd__text_puts(out, "/>");
    }
    nd__text_puts(out, "</testcase>\n");
}

static void xml_group(nd_text *out, const conform_run *r, const conform_group *g)
{
    int all = 0, died = 0, failed = 0;
    for (int o = 0; o < CASE_OUTCOMES; o++)
        all += g->count[o];
    for (size_t i = 0; i < r->n; i++)
        died +=
            r->cases[i].group == g->letter && r->cases[i].outcome == CASE_FAIL && r->cases[i].died;
    failed = g->count[CASE_FAIL] - died + (r->strict ? g->count[CASE_XPASS] : 0);
    char name[64];
    snprintf(name, sizeof name, "%c %s", g->letter, g->title);
    nd__text_puts(out, "  <testsuite");
    attribute(out, "name", name);
    attribute(out, "timestamp", r->date);
    attribute(out, "hostname", r->host);
    nd__text_add(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
                 all, failed, died, g->count[CASE_SKIP] + g->count[CASE_XFAIL], g->seconds);
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].group == g->letter)
            xml_case(out, r, &r->cases[i]);
    if (!g->ran) {
        nd__text_puts(out, "    <system-err>did not run: ");
        conform_markup(out, g->why_not ? g->why_not : "");
        nd__text_puts(out, "</system-err>\n");
    }
    nd__text_puts(out, "  </testsuite>\n");
}

int conform_write_junit(const conform_run *r)
{
    nd_text t = {0};
    nd__text_puts(&t, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    attribute(&t, "name", "ndock conform");
    nd__text_puts(&t, ">\n");
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (r->group[i].wanted)
            xml_group(&t, r, &r->group[i]);
    nd__text_puts(&t, "</testsuites>\n");
    int failed = conform_write(r->junit, &t);
    free(t.data);
    return failed;
}

void conform_json_head(json_writer *w, const conform_run *r)
{
    char abi[16];
    json_integer(w, "schema", 1);
    json_text(w, "plugin", r->name);
    json_text(w, "version", r->version);
    json_text(w, "file", r->path);
    json_text(w, "build_id", r->build_id);
    json_text(w, "sha256", r->sha256);
    json_text(w, "kit", nd_version());
    snprintf(abi, sizeof abi, "%d.%d", NDP_ABI_MAJOR, NDP_ABI_MINOR);
    json_text(w, "abi", abi);
    json_text(w, "date", r->date);
    json_text(w, "host", r->host);
    json_text(w, "seed", r->seed ? r->seed : "default");
    json_text(w, "count", r->count ? r->count : "default");
    if (r->reached >= 0)
        json_integer(w, "tier", (unsigned long long)r->reached);
}

void conform_json_counts(json_writer *w, const conform_group *g)
{
    static const char *const keys[CASE_OUTCOMES] = {"passed", "failed", "skipped", "xfailed",
                                                    "xpassed"};
    for (int o = 0; o < CASE_OUTCOMES; o++)
        json_integer(w, keys[o], (unsigned long long)g->count[o]);
    json_integer(w, "milliseconds", (unsigned long long)(1000 * g->seconds + 0.5));
}

static void json_group(json_writer *w, const conform_group *g)
{
    char letter[2] = {g->letter, 0};
    json_open(w, NULL, '{');
    json_text(w, "group", letter);
    json_text(w, "title", g->title);
    json_bool(w, "ran", g->ran);
    if (!g->ran)
        json_text(w, "reason", g->why_not ? g->why_not : "");
    conform_json_counts(w, g);
    json_close(w, '}');
}

static void json_case(json_writer *w, const conform_case *c)
{
    json_open(w, NULL, '{');
    json_text(w, "id", c->id);
    json_text(w, "outcome", conform_outcome_name(c->outcome));
    json_text(w, "text", c->text);
    if (c->reason[0])
        json_text(w, "reason", c->reason);
    if (c->said[0])
        json_text(w, "said", c->said);
    if (c->replay[0])
        json_text(w, "replay", c->replay);
    if (c->died)
        json_bool(w, "died", true);
    json_integer(w, "microseconds", (unsigned long long)(1e6 * c->seconds + 0.5));
    json_close(w, '}');
}

int conform_write_json(const conform_run *r, bool conforms)
{
    nd_text t = {0}, verdict = {0};
    json_writer w = {.out = open_memstream(&t.data, &t.len)};
    if (!w.out)
        return conform_write(r->json, &t);
    conform_verdict(r, conforms, &verdict);
    json_open(&w, NULL, '{');
    conform_json_head(&w, r);
    json_bool(&w, "conforms", conforms);
    json_text(&w, "verdict", verdict.data ? verdict.data : "");
    json_open(&w, "groups", '[');
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (r->group[i].wanted)
            json_group(&w, &r->group[i]);
    json_close(&w, ']');
    json_open(&w, "cases", '[');
    for (size_t i = 0; i < r->n; i++)
        json_case(&w, &r->cases[i]);
    json_close(&w, ']');
    json_close(&w, '}');
    t.failed = fclose(w.out) != 0;
    int failed = conform_write(r->json, &t);
    free(t.data);
    free(verdict.data);
    return failed;
}
