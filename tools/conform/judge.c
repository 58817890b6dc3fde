/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a run of `ndock conform` amounts to: the tier, whether that is enough, and in which words.
 */
#include <string.h>
#include "tools/conform/conform.h"

void conform_count(conform_run *r, conform_group *g)
{
    memset(g->count, 0, sizeof g->count);
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].group == g->letter)
            g->count[r->cases[i].outcome]++;
}

static int failures(const conform_run *r)
{
    int n = 0;
    for (int i = 0; i < CONFORM_GROUPS; i++)
        n += r->group[i].count[CASE_FAIL] + (r->strict ? r->group[i].count[CASE_XPASS] : 0);
    return n;
}

/* Groups asked for that did not run. Speed is reported, not judged. */
static int left_out(const conform_run *r)
{
    int n = 0;
    for (int i = 0; i < CONFORM_GROUPS; i++)
        n += r->group[i].wanted && !r->group[i].ran && r->group[i].letter != 'P';
    return n;
}

static const conform_case *find(const conform_run *r, const char *id)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->cases[i].id, id) == 0)
            return &r->cases[i];
    return NULL;
}

static int tier_reached(conform_run *r)
{
    const conform_case *minimum = find(r, "D.tier1");
    if (failures(r) || !conform_group_of(r, 'D')->ran || !minimum)
        return -1;
    if (minimum->outcome != CASE_PASS)
        return 0;
    return conform_group_of(r, 'E')->count[CASE_PASS] > 0 ? 2 : 1;
}

/* What would have to change for the next tier. */
static void explain_tier(conform_run *r)
{
    const conform_case *minimum = find(r, "D.tier1");
    if (r->reached < r->tier)
        nd__text_add(&r->trouble, "tier %d was asked for, tier %d is reached\n", r->tier,
                     r->reached);
    if (r->reached == 0 && minimum && minimum->reason[0])
        nd__text_add(&r->trouble, "%s\n", minimum->reason);
    else if (r->reached == 1 && conform_group_of(r, 'E')->ran)
        nd__text_puts(&r->trouble, "for tier 2, the plug-in lacks the group ndp.stream/1\n");
}

bool conform_judge(conform_run *r, int *status)
{
    int failed = failures(r), left = left_out(r), unused = conform_expect_unused(r);
    r->reached = tier_reached(r);
    bool low = r->tier >= 0 && r->reached >= 0 && r->reached < r->tier;
    if (r->reached >= 0)
        explain_tier(r);
    bool wrong = failed || low || (r->strict && unused);
    bool unknown = left || (r->tier >= 0 && r->reached < 0) || r->n == 0;
    if (!wrong && unknown && !left)
        nd__text_puts(&r->trouble,
                      r->n ? "without group D no tier can be told\n" : "no check was run\n");
    *status = wrong ? 1 : unknown ? EXIT_CANNOT : 0;
    return !wrong && !unknown;
}

bool conform_is_whole(const conform_run *r)
{
    for (int i = 0; i < CONFORM_GROUPS; i++)
        if (!r->group[i].ran && r->group[i].letter != 'P')
            return false;
    return !r->some_groups && !r->filter && !r->count;
}

void conform_verdict(const conform_run *r, bool conforms, nd_text *out)
{
    int failed = failures(r), left = left_out(r), expected = 0;
    for (int i = 0; i < CONFORM_GROUPS; i++)
        expected += r->group[i].count[CASE_XFAIL];
    if (conforms) {
        nd__text_add(out, "conforms%s", r->some_groups || r->filter ? " as far as was asked" : "");
        if (r->reached >= 0)
            nd__text_add(out, ", tier %d", r->reached);
        if (expected)
            nd__text_add(out, ", with %d expected failure%s", expected, expected == 1 ? "" : "s");
    } else if (failed) {
        nd__text_add(out, "does not conform: %d check%s failed", failed, failed == 1 ? "" : "s");
    } else if (left) {
        nd__text_add(out, "is not judged: %d group%s did not run", left, left == 1 ? "" : "s");
    } else {
        nd__text_add(out, "%s", r->n ? "does not conform" : "is not judged");
    }
}
