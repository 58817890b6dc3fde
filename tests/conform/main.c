/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * conform [DEVICE] [--count N] [--seed S] [--only NAME,...] [--staged NAME,...]: the conformance
 * suite on a device (default cpu). NDOCK_CONFORM_DEVICE, _COUNT, _SEED and _STAGED say the same.
 * Operations that the device lacks fail, but for those of --staged, unless
 * NDOCK_CONFORM_FALLBACK=allow.
 * conform-ops --group D [--count N] [--seed S] [--replay CASE] [--filter GLOB] [--except ID,...]
 * [--large] [--list] FILE: the same on a plug-in's first device, for `ndock conform`. */
#include "tests/conform/conform.h"

static void (*const groups[])(void) = {
    conform_elementwise, conform_copy,        conform_reduce,    conform_accuracy,  conform_norm,
    conform_matmul,      conform_indexing,    conform_scatter,   conform_select,    conform_bools,
    conform_sorting,     conform_selection,   conform_sets,      conform_random,    conform_draws,
    conform_manip,       conform_create,      conform_views,     conform_slice,     conform_assign,
    conform_errors,      conform_runtime_ops, conform_special,   conform_ties,      conform_zeros,
    conform_into,        conform_edges,       conform_kit,       conform_large,     conform_growth,
    conform_together,    conform_training,    conform_long_sums, conform_margins,   conform_linalg,
    conform_fft,         conform_groups,      conform_neural,    conform_attention, conform_conv,
    conform_pool,        conform_quant,       conform_fused,     conform_scaled_mm,
};
static const char *device = "cpu", *group, *replay;

static const char *setting(const char *name, const char *fallback)
{
    const char *value = getenv(name);
    return value && value[0] ? value : fallback;
}

static void read_options(int argc, char **argv)
{
    struct {
        const char *name, **value;
    } texts[] = {{"--only", &run.only}, {"--except", &run.except}, {"--filter", &run.pattern},
                 {"--replay", &replay}, {"--staged", &run.staged}, {"--group", &group}};
    device = setting("NDOCK_CONFORM_DEVICE", device);
    run.staged = setting("NDOCK_CONFORM_STAGED", NULL);
    run.count = atoi(setting("NDOCK_CONFORM_COUNT", "300"));
    run.seed = strtoull(setting("NDOCK_CONFORM_SEED", "1"), NULL, 10);
    for (int i = 1; i < argc; i++) {
        size_t t = 0, n = sizeof texts / sizeof *texts;
        bool more = i + 1 < argc;
        while (t < n && strcmp(argv[i], texts[t].name) != 0)
            t++;
        if (t < n && more)
            *texts[t].value = argv[++i];
        else if (strcmp(argv[i], "--count") == 0 && more)
            run.count = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seed") == 0 && more)
            run.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--list") == 0)
            run.list = true;
        else if (strcmp(argv[i], "--large") == 0)
            run.large = true;
        else
            device = argv[i];
    }
}

/* "D:add:1:17", or the id of a check, of which all cases run then. */
static bool read_replay(void)
{
    static char name[128];
    unsigned long long seed;
    long long i;
    int end = 0;
    if (sscanf(replay, "D:%127[a-z0-9_]:%llu:%lld%n", name, &seed, &i, &end) == 3 && !replay[end]) {
        run.seed = seed;
        run.only_case = i;
        run.count = FIXED_CASE; /* whatever the count was, the case is among them */
    } else if (sscanf(replay, "D.%127[a-z0-9_]%n", name, &end) != 1 || replay[end]) {
        return false;
    }
    run.only = name;
    return true;
}

/* -1, or the exit status when there is nothing to run on. */
static int open_device(void)
{
    nd_device_info info;
    int status = run.kit ? kit_open(device) : -1;
    if (status >= 0)
        return status;
    if (!run.kit && nd_device_get(device, &run.device) != ND_OK) {
        printf("1..0 # SKIP %s\n", nd_last_error()->message);
        return 0;
    }
    nd_device_describe(run.device, &info);
    run.async = info.async;
    if (!run.kit)
        run.fallback = strcmp(setting("NDOCK_CONFORM_FALLBACK", "error"), "allow")
                           ? ND_FALLBACK_ERROR
                           : ND_FALLBACK_ALLOW;
    if (nd_device_set_current(run.device) != ND_OK || nd_fallback_set(run.fallback) != ND_OK)
        bail(nd_last_error()->message);
    return -1;
}

static void everything(void)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        groups[i]();
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_options(argc, argv);
    run.kit = group != NULL;
    if (run.kit && strcmp(group, "D") != 0) {
        printf("1..0 # SKIP this program has group D alone, not %s\n", group);
        return 2;
    }
    if (replay && !read_replay()) {
        fprintf(stderr, "conform-ops: \"%s\" is no case: D:add:1:17, or D.add for all of add\n",
                replay);
        return 2;
    }
    int status = run.list ? -1 : open_device();
    if (status >= 0)
        return status;
    everything();
    if (run.kit) {
        conform_claims(everything);
        conform_contract(device);
    }
    conform_modes(); /* of all calls before */
    return run.list ? 0 : end_run();
}
