/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What every operation of the conformance suite is run by: which one, its random cases, what failed
 * in them, and its line of TAP. */
#include <fnmatch.h>
#include <unistd.h>
#include "tests/conform/conform.h"

conform_run run = {.count = 300, .seed = 1, .only_case = -1};

enum { MOST_FAILURES = 5, TEXT = 1024 };
static int failures;
static int64_t case_number, first_failed, last_failed, cases, failed_cases;
static char failed[MOST_FAILURES][TEXT];
static const char *op_name;
static char skip_reason[TEXT], replay_text[160];
static uint64_t staged_before;

/* Among the names of a list with commas. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : at)
        if (strncmp(at, name, n) == 0 && (at[n] == 0 || at[n] == ','))
            return true;
    return false;
}

bool wanted(const char *name)
{
    char id[128];
    snprintf(id, sizeof id, "D.%s", name);
    bool yes = (!run.only || listed(run.only, name)) && !listed(run.except, id) &&
               (!run.pattern || fnmatch(run.pattern, id, 0) == 0);
    if (yes && run.list)
        puts(id);
    return yes && !run.list;
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

bool begin_case(int64_t i)
{
    uint64_t h = run.seed;
    modes_watch(op_name, case_number);
    case_number = i;
    if (run.only_case >= 0 && run.only_case != i)
        return false;
    for (const char *p = op_name; *p; p++)
        h = mix(h ^ (uint64_t)*p);
    run.state = mix(h + (uint64_t)i);
    cases++;
    kit_now(op_name, i);
    return true;
}

bool begin_share(int64_t i)
{
    bool all = run.only_case >= 0 || run.count >= FULL_COUNT;
    return (all || mix((uint64_t)i) % FULL_COUNT < (uint64_t)run.count) && begin_case(i);
}

uint64_t random_bits(void)
{
    run.state += UINT64_C(0x9e3779b97f4a7c15);
    return mix(run.state);
}

int64_t random_below(int64_t n)
{
    return n > 0 ? (int64_t)(random_bits() % (uint64_t)n) : 0;
}

bool good(nd_status status, const char *what)
{
    modes_watch(op_name, case_number);
    if (run.probing && status == ND_ERR_UNSUPPORTED)
        claims_refused(nd_last_error());
    end_if_lost(status);
    if (status != ND_OK)
        fail_case("%s gave %s: %s", what, nd_status_name(status), nd_last_error()->message);
    return status == ND_OK;
}

static uint64_t staged_calls(void)
{
    nd_fallback_stats s;
    nd_fallback_get(&s);
    return s.staged_calls;
}

void may_stage(const char *name)
{
    const nd_op op = nd_op_find(name);
    const bool lacking = listed(run.staged, name);
    if (!run.staged)
        return;
    if (lacking && op != ND_OP_NONE && nd_device_op_dtypes(run.device, op))
        fail_case("the device has kernels of %s: it is to be left out of --staged", name);
    if (nd_fallback_set(lacking ? ND_FALLBACK_ALLOW : run.fallback) != ND_OK)
        fail_case("the policy cannot be set: %s", nd_last_error()->message);
}

void begin_op(const char *name)
{
    op_name = name;
    failures = 0;
    cases = failed_cases = 0;
    case_number = 0;
    skip_reason[0] = replay_text[0] = 0;
    staged_before = staged_calls();
    kit_now(name, 0);
    may_stage(name);
}

void skip_op(const char *why)
{
    snprintf(skip_reason, sizeof skip_reason, "%s", why);
}

void fail_case(const char *fmt, ...)
{
    va_list ap;
    if (run.probing)
        return;
    if (failures == 0)
        first_failed = case_number;
    failed_cases += failures == 0 || last_failed != case_number;
    last_failed = case_number;
    if (failures++ < MOST_FAILURES) {
        char *text = failed[failures - 1];
        int n = snprintf(text, TEXT, "%s (seed %llu, case %lld): ", op_name,
                         (unsigned long long)run.seed, (long long)case_number);
        va_start(ap, fmt);
        vsnprintf(text + n, TEXT - (size_t)n, fmt, ap);
        va_end(ap);
    }
}

bool failing(void)
{
    return failures >= MOST_FAILURES;
}

void replay_as(const char *name, int64_t i)
{
    snprintf(replay_text, sizeof replay_text, "D:%s:%llu:%lld", name, (unsigned long long)run.seed,
             (long long)i);
}

static void print_failures(void)
{
    for (int i = 0; i < failures && i < MOST_FAILURES; i++) {
        for (char *c = failed[i]; *c; c++)
            *c = *c == '\n' ? ' ' : *c; /* a comment ends with its line */
        printf("# %s\n", failed[i]);
    }
    if (!replay_text[0])
        replay_as(op_name, first_failed);
    printf("# replay: %s\n", replay_text);
}

/* A plug-in with kernels, but none of this operation: its author should see that. */
static void note_staging(void)
{
    nd_op op = nd_op_find(op_name);
    if (staged_calls() == staged_before || !kit_has_kernels())
        return;
    claims_staged(op_name);
    if (op != ND_OP_NONE && op < ND_OP_END && !nd_device_op_dtypes(run.device, op))
        skip_op("right, but by the CPU: the plug-in has no kernel of it");
}

/* "D.add: 300 cases on cpu:0", or how many of them failed. */
static void print_result(void)
{
    const char *no = failures ? "not " : "", *where = nd_device_name(run.device);
    if (!run.kit)
        printf("%sok %d - %s on %s\n", no, tap_count, op_name, where);
    else if (failures && cases)
        printf("not ok %d - D.%s: %lld of %lld case%s failed on %s%s\n", tap_count, op_name,
               (long long)failed_cases, (long long)cases, cases == 1 ? "" : "s", where,
               failing() ? ", then it gave up" : "");
    else if (cases)
        printf("ok %d - D.%s: %lld case%s on %s\n", tap_count, op_name, (long long)cases,
               cases == 1 ? "" : "s", where);
    else
        printf("%sok %d - D.%s: on %s\n", no, tap_count, op_name, where);
}

void end_op(void)
{
    if (run.probing)
        return;
    modes_watch(op_name, case_number);
    if (run.kit)
        note_staging();
    tap_count++;
    tap_failures += failures != 0;
    if (skip_reason[0] && !failures)
        printf("ok %d - %s%s # SKIP %s\n", tap_count, run.kit ? "D." : "", op_name, skip_reason);
    else
        print_result();
    if (failures)
        print_failures();
}

void end_if_lost(nd_status status)
{
    if (status != ND_ERR_LOST)
        return;
    printf("not ok %d - %s%s: the device was lost in case %lld, so this and all that comes after "
           "is unknown\n# %s\n# replay: D:%s:%llu:%lld\n1..%d\n",
           tap_count + 1, run.kit ? "D." : "", op_name, (long long)case_number,
           nd_last_error()->message, op_name, (unsigned long long)run.seed, (long long)case_number,
           tap_count + 1);
    fflush(stdout);
    _exit(1); /* what is open on a lost device is better not closed */
}

int end_run(void)
{
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
