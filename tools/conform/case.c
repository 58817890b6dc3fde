/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The cases of a run, and how lines of TAP become cases. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "tools/conform/conform.h"

conform_group *conform_group_of(conform_run *r, char letter)
{
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (r->group[i].letter == letter)
            return &r->group[i];
    return NULL;
}

void conform_set(char **text, const char *value)
{
    char *copy = strdup(value ? value : "");
    if (!copy)
        return;
    free(*text);
    *text = copy;
}

void conform_append(char **text, const char *line)
{
    nd_text t = {0};
    if (*text && **text)
        nd__text_add(&t, "%s\n", *text);
    nd__text_puts(&t, line);
    if (t.data)
        conform_set(text, t.data);
    free(t.data);
}

conform_case *conform_add(conform_run *r, char group, conform_outcome outcome, const char *id,
                          const char *text)
{
    if (r->n == r->room) {
        size_t room = r->room ? 2 * r->room : 256;
        conform_case *cases = realloc(r->cases, room * sizeof *cases);
        if (!cases) {
            fputs("ndock conform: no memory for another case\n", stderr);
            exit(EXIT_CANNOT);
        }
        r->cases = cases;
        r->room = room;
    }
    conform_case *c = &r->cases[r->n++];
    *c = (conform_case){.group = group, .outcome = outcome};
    conform_set(&c->id, id);
    conform_set(&c->text, text);
    conform_set(&c->reason, NULL);
    conform_set(&c->said, NULL);
    conform_set(&c->replay, NULL);
    return c;
}

const char *conform_outcome_name(conform_outcome outcome)
{
    static const char *const names[CASE_OUTCOMES] = {
        [CASE_PASS] = "passed",
        [CASE_FAIL] = "failed",
        [CASE_SKIP] = "skipped",
        [CASE_XFAIL] = "failed as expected",
        [CASE_XPASS] = "passed unexpectedly",
    };
    return names[outcome];
}

static void free_case(conform_case *c)
{
    free(c->id);
    free(c->text);
    free(c->reason);
    free(c->said);
    free(c->replay);
}

void conform_keep(conform_run *r, size_t first, const char *pattern)
{
    size_t kept = first;
    for (size_t i = first; i < r->n; i++)
        if (fnmatch(pattern, r->cases[i].id, 0) == 0)
            r->cases[kept++] = r->cases[i];
        else
            free_case(&r->cases[i]);
    r->n = kept;
}

void conform_free(conform_run *r)
{
    for (size_t i = 0; i < r->n; i++)
        free_case(&r->cases[i]);
    for (int i = 0; i < CONFORM_GROUPS; i++)
        free(r->group[i].why_not);
    conform_expect_free(r);
    free(r->cases);
    free(r->trouble.data);
}

/* "3 - D.add: what was checked # SKIP why", after "ok " or "not ok ". */
static void result_line(conform_reader *reader, bool passed, const char *at)
{
    char *copy = strdup(at), *rest = copy, *skip, *colon;
    if (!copy)
        return;
    rest += strspn(rest, "0123456789 ");
    rest += strncmp(rest, "- ", 2) == 0 ? 2 : 0;
    skip = strstr(rest, " # SKIP");
    if (skip)
        *skip = 0;
    colon = strstr(rest, ": ");
    if (colon)
        *colon = 0;
    conform_case *c = conform_add(reader->run, reader->group->letter,
                                  !passed ? CASE_FAIL
                                  : skip  ? CASE_SKIP
                                          : CASE_PASS,
                                  rest, colon ? colon + 2 : "");
    double now = conform_now();
    c->seconds = now - reader->since;
    reader->since = now;
    reader->seen++;
    if (skip)
        conform_set(&c->reason, skip + strlen(" # SKIP") + (skip[strlen(" # SKIP")] == ' '));
    snprintf(reader->last_id, sizeof reader->last_id, "%s", c->id);
    free(copy);
}

static void comment_line(conform_reader *reader, const char *text)
{
    conform_case *c =
        reader->run->n > reader->first ? &reader->run->cases[reader->run->n - 1] : NULL;
    if (strncmp(text, "in ", 3) == 0) {
        snprintf(reader->in, sizeof reader->in, "%s", text + 3);
    } else if (strncmp(text, "replay: ", 8) == 0) {
        if (reader->in[0])
            snprintf(reader->last_words, sizeof reader->last_words, "%s", text + 8);
        else if (c)
            conform_set(&c->replay, text + 8);
    } else if (c && (c->outcome == CASE_FAIL || c->group == 'P')) { /* speeds are the point of P */
        conform_append(&c->said, text);
    }
}

static void plan_line(conform_reader *reader, const char *line)
{
    const char *skip = strstr(line, "# SKIP");
    reader->planned = atoi(line + strlen("1.."));
    if (skip && reader->planned == 0) {
        reader->skipped = true;
        conform_set(&reader->group->why_not, skip + strlen("# SKIP") + (skip[6] == ' '));
    }
}

void conform_line(conform_reader *reader, const char *line)
{
    if (strncmp(line, "ok ", 3) == 0)
        result_line(reader, true, line + 3);
    else if (strncmp(line, "not ok ", 7) == 0)
        result_line(reader, false, line + 7);
    else if (strncmp(line, "1..", 3) == 0 && isdigit((unsigned char)line[3]))
        plan_line(reader, line);
    else if (line[0] == '#')
        comment_line(reader, line + (line[1] == ' ' ? 2 : 1));
}
