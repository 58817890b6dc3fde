/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What `ndock conform` shows: a line a group, the failures with the command that repeats them, and
 * a verdict; or all of it as TAP 14. */
#include <stdlib.h>
#include <string.h>
#include "tools/conform/conform.h"

static void quote(nd_text *out, const char *word)
{
    if (word[0] &&
        word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                          "_-+=./:,@%")] == 0) {
        nd__text_puts(out, word);
        return;
    }
    nd__text_puts(out, "'");
    for (; *word; word++)
        nd__text_bytes(out, *word == '\'' ? "'\\''" : word, *word == '\'' ? 4 : 1);
    nd__text_puts(out, "'");
}

void conform_print_head(const conform_run *r)
{
    printf("ndock conform %s: %s %s, %s\n", nd_version(), r->name, r->version, r->path);
}

static void print_lines(const char *indent, const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        printf("%s%.*s\n", indent, n, text);
        text += n + (text[n] == '\n');
    }
}

void conform_print_group(const conform_run *r, const conform_group *g)
{
    nd_text t = {0};
    for (int o = 0; o < CASE_OUTCOMES; o++)
        if (g->count[o])
            nd__text_add(&t, "%s%d %s", t.len ? ", " : "", g->count[o], conform_outcome_name(o));
    if (!g->ran)
        nd__text_add(&t, "did not run: %s", g->why_not ? g->why_not : "it has no checks");
    else if (!t.len)
        nd__text_puts(&t, "no checks");
    printf("  %c  %-12s %-48s", g->letter, g->title, t.data);
    printf(g->ran ? " %7.1f s\n" : "\n", g->seconds);
    for (size_t i = 0; i < r->n; i++)
        if (g->letter == 'P' && r->cases[i].group == 'P' && r->cases[i].outcome == CASE_PASS)
            print_lines("       ", r->cases[i].said);
    fflush(stdout);
    free(t.data);
}

void conform_replay_command(nd_text *out, const conform_run *r, const conform_case *c)
{
    nd__text_puts(out, "ndock conform --replay ");
    quote(out, c->replay[0] ? c->replay : c->id);
    nd__text_puts(out, " ");
    quote(out, r->path);
}

static void print_replay(const conform_run *r, const conform_case *c)
{
    nd_text t = {0};
    conform_replay_command(&t, r, c);
    printf("      %s\n", t.data ? t.data : "");
    free(t.data);
}

/* A skip that leaves a tier unproven says why. */
static void print_case(const conform_run *r, const conform_case *c)
{
    if (c->outcome == CASE_FAIL)
        printf("\n  FAILED %s: %s\n", c->id, c->text);
    else if (c->outcome == CASE_XPASS)
        printf("\n  XPASS %s: it passes, though the expect file says: %s\n", c->id, c->reason);
    else if (c->outcome == CASE_XFAIL)
        printf("\n  expected failure %s: %s\n", c->id, c->reason);
    if (c->outcome == CASE_FAIL) {
        print_lines("      ", c->said);
        print_replay(r, c);
    }
}

void conform_print_end(const conform_run *r, bool conforms)
{
    nd_text t = {0};
    for (size_t i = 0; i < r->n; i++)
        print_case(r, &r->cases[i]);
    conform_verdict(r, conforms, &t);
    printf("\n%s %s\n", r->name[0] ? r->name : "it", t.data ? t.data : "");
    if (r->trouble.len)
        print_lines("  ", r->trouble.data);
    free(t.data);
}

/* A YAML text in double quotes. */
static void yaml_text(const char *key, const char *value)
{
    nd_text t = {0};
    nd__text_json(&t, value); /* JSON's texts are YAML's */
    printf("  %s: %s\n", key, t.data ? t.data : "\"\"");
    free(t.data);
}

static void tap_case(const conform_run *r, const conform_case *c, size_t number)
{
    bool failed = c->outcome == CASE_FAIL || c->outcome == CASE_XFAIL;
    printf("%sok %zu - %s", failed ? "not " : "", number, c->id);
    if (c->text[0])
        printf(": %s", c->text);
    if (c->outcome == CASE_SKIP)
        printf(" # SKIP %s", c->reason);
    else if (c->outcome == CASE_XFAIL || c->outcome == CASE_XPASS)
        printf(" # TODO %s", c->reason);
    putchar('\n');
    if (!failed && c->said[0])
        print_lines("# ", c->said);
    if (!failed)
        return;
    puts("  ---");
    if (c->said[0])
        yaml_text("message", c->said);
    yaml_text("replay", c->replay[0] ? c->replay : c->id);
    yaml_text("file", r->path);
    printf("  duration_ms: %.3f\n  ...\n", 1000 * c->seconds);
}

void conform_print_tap(const conform_run *r)
{
    printf("TAP version 14\n1..%zu%s\n", r->n, r->n ? "" : " # SKIP no check ran");
    for (size_t i = 0; i < r->n; i++)
        tap_case(r, &r->cases[i], i + 1);
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (r->group[i].wanted && !r->group[i].ran)
            printf("# group %c did not run: %s\n", r->group[i].letter,
                   r->group[i].why_not ? r->group[i].why_not : "");
}
