/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The expect file of `ndock conform`: lines "unsupported GLOB reason" for checks that are not
 * judged, and "xfail GLOB reason" for those known to fail; # begins a comment. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "tools/conform/conform.h"
#include "tools/tool.h"

static bool bad_line(const conform_run *r, int line, const char *what, const char *text)
{
    fprintf(stderr, "ndock conform: %s:%d: %s: \"%s\"\n", r->expect, line, what, text);
    return false;
}

static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \t");
    char *end = word + strcspn(word, " \t");
    *at = end + (*end != 0);
    *end = 0;
    return word;
}

static bool keep(conform_run *r, const conform_expectation *e)
{
    conform_expectation *all = realloc(r->expected, (r->n_expected + 1) * sizeof *all);
    if (!all)
        return bad_line(r, e->line, "no memory for", e->glob);
    r->expected = all;
    all[r->n_expected] = *e;
    all[r->n_expected].glob = NULL;
    all[r->n_expected].reason = NULL;
    conform_set(&all[r->n_expected].glob, e->glob);
    conform_set(&all[r->n_expected].reason, e->reason);
    r->n_expected++;
    return true;
}

static bool read_line(conform_run *r, char *text, int number)
{
    char *at = text;
    text[strcspn(text, "\r\n")] = 0;
    at += strspn(at, " \t");
    if (!*at || *at == '#')
        return true;
    const char *kind = next_word(&at);
    conform_expectation e = {.line = number, .glob = next_word(&at)};
    e.reason = at + strspn(at, " \t");
    e.fails = strcmp(kind, "xfail") == 0;
    if (!e.fails && strcmp(kind, "unsupported") != 0)
        return bad_line(r, number, "a line begins with unsupported or xfail, not", kind);
    if (!e.glob[0])
        return bad_line(r, number, "which checks? A pattern of ids is missing after", kind);
    if (!e.reason[0] || e.reason[0] == '#')
        return bad_line(r, number, "a reason is missing after", e.glob);
    return keep(r, &e);
}

bool conform_expect_read(conform_run *r)
{
    FILE *f = tool_open_file("ndock conform", r->expect);
    char *text = NULL;
    size_t room = 0;
    bool fine = f != NULL;
    for (int number = 1; fine && getline(&text, &room, f) >= 0; number++)
        fine = read_line(r, text, number);
    free(text);
    if (f)
        fclose(f);
    return fine;
}

static void judge(conform_case *c, conform_expectation *e)
{
    nd_text reason = {0};
    if (!e->fails) {
        e->used = true;
        c->outcome = CASE_SKIP;
        nd__text_add(&reason, "unsupported: %s", e->reason);
    } else if (c->outcome == CASE_FAIL || c->outcome == CASE_PASS) {
        e->used = true;
        c->outcome = c->outcome == CASE_FAIL ? CASE_XFAIL : CASE_XPASS;
        nd__text_puts(&reason, e->reason);
    }
    if (reason.data)
        conform_set(&c->reason, reason.data);
    free(reason.data);
}

void conform_expect_apply(conform_run *r, char group)
{
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->n_expected && r->cases[i].group == group; k++)
            if (fnmatch(r->expected[k].glob, r->cases[i].id, 0) == 0) {
                judge(&r->cases[i], &r->expected[k]);
                break;
            }
}

/* Lines that no case met; of groups that did not run nothing is known. */
int conform_expect_unused(conform_run *r)
{
    int unused = 0;
    for (size_t k = 0; k < r->n_expected && !r->some_groups && !r->filter; k++)
        if (!r->expected[k].used) {
            unused++;
            nd__text_add(&r->trouble, "%s:%d: \"%s\" met nothing: the line can go\n", r->expect,
                         r->expected[k].line, r->expected[k].glob);
        }
    return unused;
}

void conform_expect_free(conform_run *r)
{
    for (size_t k = 0; k < r->n_expected; k++) {
        free(r->expected[k].glob);
        free(r->expected[k].reason);
    }
    free(r->expected);
}
