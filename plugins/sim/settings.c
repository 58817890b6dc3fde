/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The simulator's settings: its parameters, and its key of NDOCK_ALLOC_CONF. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "simulator.h"

sim_settings sim_set = {.devices = 4,
                        .memory = 1 << 30,
                        .granularity = 64 << 10,
                        .priorities = 3,
                        .seed = 1,
                        .capability = "9.0",
                        .peers = "all",
                        .comm = "all",
                        .usable = UINT64_MAX};

/* NDOCK_ALLOC_CONF=sim.memory_mb. What is allocated beyond it stays. */
static int32_t set_usable(void *arg, const char *value)
{
    char *end = NULL;
    double mib = strtod(value, &end);
    int32_t all = strcmp(value, "all") == 0;
    (void)arg;
    if (!all && (end == value || *end || !(mib >= 0 && mib <= 1 << 24)))
        return sim_fail(NDP_ERR_ARGUMENT, 0, "neither all nor a number of MiB up to 2^24");
    pthread_mutex_lock(&sim_mutex);
    sim_set.usable = all ? UINT64_MAX : (uint64_t)(mib * 1048576.0);
    pthread_mutex_unlock(&sim_mutex);
    return NDP_OK;
}

/* A value of the environment that is refused is the first allocation's error. */
static void add_keys(const ndp_host *h)
{
    const ndh_conf_1 *conf = h->size >= NDP_END(ndp_host, service) && h->service
                                 ? h->service(h->ctx, "ndh.conf/1")
                                 : NULL;
    if (conf && conf->size >= NDP_END(ndh_conf_1, add))
        (void)conf->add(h->ctx, "memory_mb", "all, or MiB of a device's memory that may be used",
                        "all", set_usable, NULL);
}

#define INTEGER(field, name_, default_, least, most, values_, help_)                              \
    {                                                                                             \
        &sim_set.field,                                                                           \
        {                                                                                         \
            .size = sizeof(ndh_param), .type = NDP_PARAM_I64, .name = name_, .initial = default_, \
            .low = least, .high = most, .values = values_, .help = help_                          \
        }                                                                                         \
    }
static const char *mode;
static const struct {
    void *out;
    ndh_param declaration;
} parameters[] = {
    INTEGER(devices, "DEVICES", "4", 1, SIM_MAX_DEVICES, "1 to 64", "how many devices there are"),
    INTEGER(memory, "MEMORY", "1073741824", 1, INT64_C(1) << 44, "1 to 2^44",
            "bytes of memory of each device"),
    INTEGER(granularity, "GRANULARITY", "65536", 4096, INT64_C(1) << 44, "a power of two from 4096",
            "bytes that memory is committed in"),
    INTEGER(priorities, "PRIORITIES", "3", 1, 100, "1 to 100",
            "how many priorities streams have: from 0, the least urgent, downwards"),
    INTEGER(seed, "SEED", "1", 0, 0, "an integer", "of the choice among streams"),
    INTEGER(latency_us, "LATENCY_US", "0", 0, INT64_C(1) << 40, "0 or more",
            "longest random delay of an operation"),
    {&sim_set.capability,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "CAPABILITY",
      .initial = "9.0",
      .values = "a text",
      .help = "what `ndock info` shows as capability"}},
    {&sim_set.peers,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "PEERS",
      .initial = "all",
      .values = "all, none, or rows of 0 and 1 separated by commas",
      .help = "who reaches whom"}},
    {&sim_set.comm,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "COMM",
      .initial = "all",
      .values = "all, or collectives separated by commas",
      .help = "which exchanges communicators have; the core makes the others of them"}},
    {&mode,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_TEXT,
      .name = "MODE",
      .initial = "auto",
      .words = "auto|stepped",
      .help = "auto: work runs; stepped: a test steps it"}},
    {&sim_set.check,
     {.size = sizeof(ndh_param),
      .type = NDP_PARAM_BOOL,
      .name = "CHECK",
      .initial = "0",
      .values = "0 or 1",
      .help = "compare unordered accesses from the start"}},
};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static const ndh_param_1 *param_service(const ndp_host *h)
{
    const ndh_param_1 *s = h->size >= NDP_END(ndp_host, service) && h->service
                               ? h->service(h->ctx, "ndh.param/1")
                               : NULL;
    return s && s->size >= NDP_END(ndh_param_1, get) ? s : NULL;
}

/* A value that is refused leaves the default: the host tells the user. A host without the service
 * has param(), which knows neither bounds nor words. */
static void read_parameters(const ndp_host *h)
{
    const ndh_param_1 *service = param_service(h);
    for (int i = 0; i < PARAMETERS; i++) {
        const ndh_param *d = &parameters[i].declaration;
        if (service)
            (void)service->get(h->ctx, d, parameters[i].out);
        else
            (void)h->param(h->ctx, d->name, d->type, d->help, parameters[i].out);
    }
}

/* What a host without the service lets through, and what no bounds can say. */
static int32_t settings_fit(char *why, size_t n)
{
    if (sim_set.devices < 1 || sim_set.devices > SIM_MAX_DEVICES)
        snprintf(why, n, "NDOCK_SIM_DEVICES is %lld, not 1 to %d", (long long)sim_set.devices,
                 SIM_MAX_DEVICES);
    else if (sim_set.memory < 1 || sim_set.memory > INT64_C(1) << 44)
        snprintf(why, n, "NDOCK_SIM_MEMORY is %lld, not 1 to 2^44 bytes",
                 (long long)sim_set.memory);
    else if (sim_set.granularity < 4096 || sim_set.granularity & (sim_set.granularity - 1))
        snprintf(why, n, "NDOCK_SIM_GRANULARITY is %lld, not a power of two from 4096",
                 (long long)sim_set.granularity);
    else if (sim_set.priorities < 1 || sim_set.priorities > 100)
        snprintf(why, n, "NDOCK_SIM_PRIORITIES is %lld, not 1 to 100",
                 (long long)sim_set.priorities);
    else if (sim_set.mode < 0)
        snprintf(why, n, "NDOCK_SIM_MODE is neither auto nor stepped");
    else
        return 1;
    return 0;
}

int32_t sim_read_settings(char *why, size_t n)
{
    static int32_t done;
    if (!done) {
        done = 1;
        mode = "auto";
        read_parameters(sim_host);
        sim_set.mode = strcmp(mode, "stepped") == 0 ? NDSIM_STEPPED
                       : strcmp(mode, "auto") == 0  ? NDSIM_AUTO
                                                    : -1;
        add_keys(sim_host);
    }
    return settings_fit(why, n);
}
