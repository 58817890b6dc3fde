/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The list of parameters: what is set, what is not understood, what a program changed, and names
 * that nobody knows with the nearest one. */
#include <stdbool.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

static int warnings;
static char logged[4096];

static void sink(void *ctx, int32_t level, const char *message)
{
    (void)ctx;
    if (level != ND_LOG_WARN)
        return;
    warnings++;
    snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", message);
}

static bool find(const char *name, nd_param_info *p)
{
    p->size = sizeof *p;
    for (int32_t i = 0; nd_param_get(i, p) == ND_OK; i++)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

static void is_set(const char *name, const char *value, const char *source)
{
    nd_param_info p;
    if (!ok(find(name, &p), "%s is listed", name))
        return;
    is_str(p.value, value, "its value");
    is_str(p.source, source, "and where it comes from");
}

static void values(void)
{
    nd_param_info p;
    is_set("NDOCK_FALLBACK", "allow", "NDOCK_FALLBACK");
    is_set("NDOCK_KERNEL_CACHE_MAX_MB", "512", "default");
    is_set("NDOCK_COPY_CHECK", "0", "default");
    is_set("max_split_size_mb", "64", "NDOCK_ALLOC_CONF");
    is_set("backend", "caching", "default");
    ok(nd_fallback_set(ND_FALLBACK_ERROR) == ND_OK, "a program sets a policy");
    is_set("NDOCK_FALLBACK", "error", "program");
    if (ok(find("NDOCK_LOG", &p), "a bad value's parameter is listed")) {
        is_str(p.value, "warn", "with the default");
        has_text(p.problem, "NDOCK_LOG=loud", "and why");
        has_text(p.problem, "off|error|warn|info|debug|trace", "and what would be right");
    }
    ok(!find("NDOCK_CONFORM_SEED", &p), "variables of tests are not listed");
}

static void of_plugins(void)
{
    nd_param_info p;
    ok(find("NDOCK_SIM_DEVICES", &p) && strcmp(p.owner, "sim") == 0, "sim tells its parameters");
    is_str(p.value, "2", "one that is set");
    is_str(p.initial, "4", "its default");
    ok(find("NDOCK_SIM_SEED", &p) && strcmp(p.source, "default") == 0, "one that is not set");
    if (ok(find("NDOCK_SIM_PRIORITIES", &p), "one out of bounds")) {
        has_text(p.problem, "NDOCK_SIM_PRIORITIES=1000", "names variable and value");
        has_text(p.problem, "1 to 100", "and the bounds");
        is_str(p.value, "3", "the default holds");
    }
    ok(find("NDOCK_CPU_NUM_THREADS", &p), "the CPU plug-in's");
    is_str(p.value, "3", "by the variable without its name");
    is_str(p.source, "NDOCK_NUM_THREADS", "which is named");
    ok(find("sim.memory_mb", &p) && strcmp(p.value, "all") == 0,
       "a plug-in's key of the allocator");
}

static const char *nearest_of(const char *wrong)
{
    const char *name, *nearest;
    for (int32_t i = 0; nd_param_unknown(i, &name, &nearest) == ND_OK; i++)
        if (strcmp(name, wrong) == 0)
            return nearest;
    return NULL;
}

static void unknown(void)
{
    is_str(nearest_of("NDOCK_PLUGIN"), "NDOCK_PLUGINS", "a letter too few");
    is_str(nearest_of("NDOCK_FALBACK"), "NDOCK_FALLBACK", "a letter missing");
    is_str(nearest_of("NDOCK_SIM_DEVISE"), "NDOCK_SIM_DEVICES", "of a plug-in");
    is_str(nearest_of("NDOCK_THREADS"), "NDOCK_NUM_THREADS", "a part of a name");
    is_str(nearest_of("ndock_device"), "NDOCK_DEVICE", "in the wrong case");
    is_str(nearest_of("NDOCK_WHOLLY_DIFFERENT_THING"), "", "nothing is near");
    ok(!nearest_of("NDOCK_CUDA_ANYTHING"), "a plug-in that is not here may know its own");
    ok(!nearest_of("NDOCK_CONFORM_SEED") && !nearest_of("NDOCK_FALLBACK"), "known names are not");
}

static void told_once(void)
{
    nd_device *device;
    ok(nd_device_get("cpu", &device) == ND_OK && nd_device_get("sim:1", &device) == ND_OK,
       "two devices are opened");
    int after = warnings;
    has_text(logged, "NDOCK_FALBACK; did you mean NDOCK_FALLBACK?", "an unknown name is logged");
    has_text(logged, "NDOCK_LOG=loud is not understood", "so is a bad value");
    has_text(logged, "NDOCK_SIM_PRIORITIES=1000 is not understood", "and one of a plug-in");
    const char *first = strstr(logged, "NDOCK_FALBACK");
    ok(first && !strstr(first + 1, "NDOCK_FALBACK"), "once");
    ok(nd_device_get("sim:0", &device) == ND_OK && warnings == after, "and not again");
}

static void refused(void)
{
    nd_param_info p = {.size = 4};
    const char *name, *nearest;
    ok(nd_param_get(0, &p) == ND_ERR_ARGUMENT, "a size that is too small");
    ok(nd_param_get(0, NULL) == ND_ERR_ARGUMENT, "no struct");
    p.size = sizeof p;
    ok(nd_param_get(-1, &p) == ND_ERR_INDEX && nd_param_get(100000, &p) == ND_ERR_INDEX,
       "past the ends");
    ok(nd_param_unknown(-1, &name, &nearest) == ND_ERR_INDEX && !name, "the same of names");
}

static void all(void)
{
    int32_t n;
    nd_log_set(sink, NULL, ND_LOG_WARN);
    told_once();
    ok(nd_device_list(NULL, 0, &n) == ND_OK && n == 3, "sim has as many devices as it was told");
    values();
    of_plugins();
    unknown();
    refused();
}

int main(int argc, char **argv)
{
    static const char *const set[][2] = {{"NDOCK_FALLBACK", "allow"},
                                         {"NDOCK_LOG", "loud"},
                                         {"NDOCK_ALLOC_CONF", "max_split_size_mb:64"},
                                         {"NDOCK_NUM_THREADS", "3"},
                                         {"NDOCK_SIM_DEVICES", "2"},
                                         {"NDOCK_SIM_PRIORITIES", "1000"},
                                         {"NDOCK_PLUGIN", "x"},
                                         {"NDOCK_FALBACK", "x"},
                                         {"NDOCK_SIM_DEVISE", "x"},
                                         {"NDOCK_THREADS", "x"},
                                         {"ndock_device", "x"},
                                         {"NDOCK_WHOLLY_DIFFERENT_THING", "x"},
                                         {"NDOCK_CUDA_ANYTHING", "x"},
                                         {"NDOCK_CONFORM_SEED", "7"}};
    static const tap_case cases[] = {{"all", all}};
    unsetenv("NDOCK_CPU_NUM_THREADS");
    unsetenv("NDOCK_DEVICE");
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        setenv(set[i][0], set[i][1], 1);
    return tap_main(argc, argv, cases, 1);
}
