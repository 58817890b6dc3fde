/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * conform [DEVICE] [--count N] [--seed S] [--only NAME,...]: the conformance suite on a device
 * (default cpu). NDOCK_CONFORM_DEVICE, _COUNT and _SEED say the same. Operations that the device
 * lacks fail, unless NDOCK_CONFORM_FALLBACK=allow. */
#include "tests/conform/conform.h"

conform_run run = {.count = 300, .seed = 1};

enum { MOST_FAILURES = 5 };
static int failures, case_number;
static const char *op_name;

bool wanted(const char *name)
{
    size_t n = strlen(name);
    for (const char *at = run.only; at; at = strchr(at, ','), at = at ? at + 1 : at)
        if (strncmp(at, name, n) == 0 && (at[n] == 0 || at[n] == ','))
            return true;
    return !run.only;
}

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void begin_case(const char *name, int i)
{
    uint64_t h = run.seed;
    case_number = i;
    for (const char *p = name; *p; p++)
        h = mix(h ^ (uint64_t)*p);
    run.state = mix(h + (uint64_t)i);
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
    if (status != ND_OK)
        fail_case("%s gave %s: %s", what, nd_status_name(status), nd_last_error()->message);
    return status == ND_OK;
}

void begin_op(const char *name)
{
    op_name = name;
    failures = 0;
}

void fail_case(const char *fmt, ...)
{
    va_list ap;
    if (failures++ < MOST_FAILURES) {
        va_start(ap, fmt);
        printf("# %s (seed %llu, case %d): ", op_name, (unsigned long long)run.seed, case_number);
        vprintf(fmt, ap);
        putchar('\n');
        va_end(ap);
    }
}

bool failing(void)
{
    return failures >= MOST_FAILURES;
}

void end_op(void)
{
    ok(failures == 0, "%s on %s", op_name, nd_device_name(run.device));
}

static const char *setting(const char *name, const char *fallback)
{
    const char *value = getenv(name);
    return value && value[0] ? value : fallback;
}

int main(int argc, char **argv)
{
    const char *device = setting("NDOCK_CONFORM_DEVICE", "cpu");
    setvbuf(stdout, NULL, _IOLBF, 0);
    run.count = atoi(setting("NDOCK_CONFORM_COUNT", "300"));
    run.seed = strtoull(setting("NDOCK_CONFORM_SEED", "1"), NULL, 10);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--count") == 0 && i + 1 < argc)
            run.count = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            run.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            run.only = argv[++i];
        else
            device = argv[i];
    }
    if (nd_device_get(device, &run.device) != ND_OK) {
        printf("1..0 # SKIP %s\n", nd_last_error()->message);
        return 0;
    }
    nd_device_info info;
    nd_device_describe(run.device, &info);
    run.async = info.async;
    run.fallback = strcmp(setting("NDOCK_CONFORM_FALLBACK", "error"), "allow") ? ND_FALLBACK_ERROR
                                                                               : ND_FALLBACK_ALLOW;
    if (nd_device_set_current(run.device) != ND_OK || nd_fallback_set(run.fallback) != ND_OK)
        bail(nd_last_error()->message);
    conform_elementwise();
    conform_copy();
    conform_reduce();
    conform_norm();
    conform_matmul();
    conform_indexing();
    conform_scatter();
    conform_select();
    conform_sorting();
    conform_sets();
    conform_random();
    conform_manip();
    conform_create();
    conform_views();
    conform_slice();
    conform_assign();
    conform_errors();
    conform_runtime_ops();
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
