/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A run of `ndock conform` as one page that needs nothing else: the verdict, counts by group, what
 * failed, then everything. */
#include <stdlib.h>
#include "tools/conform/conform.h"

static const char style[] =
    ":root{color-scheme:light dark;--text:#1b1b1b;--page:#fff;--line:#d4d4d4;--soft:#666;"
    "--good:#1a6b2d;--bad:#b01020;--odd:#8a5a00;--shade:#f5f5f5}\n"
    "@media(prefers-color-scheme:dark){:root{--text:#e6e6e6;--page:#161616;--line:#3a3a3a;"
    "--soft:#a0a0a0;--good:#7bd88f;--bad:#ff8080;--odd:#f0c060;--shade:#202020}}\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:var(--text);background:var(--page);"
    "max-width:70em;margin:2em auto;padding:0 1em}\n"
    "h1{font-size:1.4em;margin:0}h2{font-size:1.1em;margin:1.6em 0 .4em}\n"
    "p.verdict{font-size:1.15em;font-weight:600}\n"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;"
    "padding:.25em .6em;border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:500}\n"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".passed{color:var(--good)}.failed{color:var(--bad);font-weight:600}.other{color:var(--odd)}\n"
    ".skipped,dt{color:var(--soft)}code,pre{font:13px/1.4 ui-monospace,monospace}\n"
    "pre{background:var(--shade);padding:.5em;overflow-x:auto;margin:.3em 0;white-space:pre-wrap}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em}dd{margin:0;"
    "overflow-wrap:anywhere}summary{cursor:pointer}\n";

static const char *class_of(conform_outcome o)
{
    return o == CASE_PASS   ? "passed"
           : o == CASE_FAIL ? "failed"
           : o == CASE_SKIP ? "skipped"
                            : "other";
}

static void element(nd_text *t, const char *tag, const char *text)
{
    nd__text_add(t, "<%s>", tag);
    conform_markup(t, text);
    nd__text_add(t, "</%s>", tag);
}

static void fact(nd_text *t, const char *name, const char *value)
{
    if (!value[0])
        return;
    element(t, "dt", name);
    element(t, "dd", value);
    nd__text_puts(t, "\n");
}

static void head(nd_text *t, const conform_run *r, bool conforms)
{
    nd_text verdict = {0};
    conform_verdict(r, conforms, &verdict);
    nd__text_puts(t, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    conform_markup(t, r->name);
    nd__text_add(t, ": ndock conform</title>\n<style>\n%s</style></head><body>\n<h1>", style);
    conform_markup(t, r->name);
    nd__text_puts(t, " ");
    conform_markup(t, r->version);
    nd__text_add(t, "</h1>\n<p class=\"verdict %s\">", conforms ? "passed" : "failed");
    conform_markup(t, verdict.data ? verdict.data : "");
    nd__text_puts(t, "</p>\n<dl>\n");
    fact(t, "File", r->path);
    fact(t, "Build-id", r->build_id);
    fact(t, "SHA-256", r->sha256);
    fact(t, "Kit", nd_version());
    fact(t, "Date", r->date);
    fact(t, "Host", r->host);
    fact(t, "Remarks", r->trouble.data ? r->trouble.data : "");
    nd__text_puts(t, "</dl>\n");
    free(verdict.data);
}

static void group_row(nd_text *t, const conform_group *g)
{
    nd__text_add(t, "<tr><td>%c %s</td>", g->letter, g->title);
    for (int o = 0; o < CASE_OUTCOMES && g->ran; o++)
        nd__text_add(t, "<td class=\"n %s\">%d</td>", g->count[o] ? class_of(o) : "skipped",
                     g->count[o]);
    if (!g->ran) {
        nd__text_add(t, "<td class=\"other\" colspan=\"%d\">did not run: ", CASE_OUTCOMES);
        conform_markup(t, g->why_not ? g->why_not : "it has no checks");
        nd__text_puts(t, "</td>");
    }
    nd__text_add(t, "<td class=\"n\">%.1f</td></tr>\n", g->seconds);
}

static void groups(nd_text *t, const conform_run *r)
{
    nd__text_puts(t, "<h2>Groups</h2>\n<table><tr><th>Group</th><th class=\"n\">passed</th>"
                     "<th class=\"n\">failed</th><th class=\"n\">skipped</th>"
                     "<th class=\"n\">expected failures</th><th class=\"n\">unexpected passes</th>"
                     "<th class=\"n\">seconds</th></tr>\n");
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (r->group[i].wanted)
            group_row(t, &r->group[i]);
    nd__text_puts(t, "</table>\n");
}

static void case_row(nd_text *t, const conform_run *r, const conform_case *c)
{
    nd__text_puts(t, "<tr><td><code>");
    conform_markup(t, c->id);
    nd__text_add(t, "</code></td><td class=\"%s\">%s</td><td>", class_of(c->outcome),
                 conform_outcome_name(c->outcome));
    conform_markup(t, c->text);
    if (c->reason[0]) {
        nd__text_puts(t, " <span class=\"skipped\">");
        conform_markup(t, c->reason);
        nd__text_puts(t, "</span>");
    }
    if (c->said[0])
        element(t, "pre", c->said);
    if (c->outcome == CASE_FAIL) {
        nd_text replay = {0};
        conform_replay_command(&replay, r, c);
        nd__text_puts(t, "<code>");
        conform_markup(t, replay.data ? replay.data : "");
        nd__text_puts(t, "</code>");
        free(replay.data);
    }
    nd__text_add(t, "</td><td class=\"n\">%.3f</td></tr>\n", c->seconds);
}

static void table_of(nd_text *t, const conform_run *r, char group, bool notable)
{
    nd__text_puts(t,
                  "<table><tr><th>Check</th><th>Outcome</th><th></th><th class=\"n\">seconds</th>"
                  "</tr>\n");
    for (size_t i = 0; i < r->n; i++) {
        const conform_case *c = &r->cases[i];
        bool told = c->outcome != CASE_PASS && c->outcome != CASE_SKIP;
        if (notable ? told : c->group == group)
            case_row(t, r, c);
    }
    nd__text_puts(t, "</table>\n");
}

int conform_write_html(const conform_run *r, bool conforms)
{
    nd_text t = {0};
    bool told = false;
    head(&t, r, conforms);
    groups(&t, r);
    for (size_t i = 0; i < r->n; i++)
        told |= r->cases[i].outcome != CASE_PASS && r->cases[i].outcome != CASE_SKIP;
    if (told) {
        nd__text_puts(&t, "<h2>Failures</h2>\n");
        table_of(&t, r, 0, true);
    }
    nd__text_puts(&t, "<h2>All checks</h2>\n");
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (r->group[i].wanted && r->group[i].ran) {
            nd__text_add(&t, "<details><summary>%c %s</summary>\n", r->group[i].letter,
                         r->group[i].title);
            table_of(&t, r, r->group[i].letter, false);
            nd__text_puts(&t, "</details>\n");
        }
    nd__text_puts(&t, "</body></html>\n");
    int failed = conform_write(r->html, &t);
    free(t.data);
    return failed;
}
