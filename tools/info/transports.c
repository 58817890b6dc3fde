/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who carries communicators, of this machine's devices and between processes that MPI started, and
 * what is missing. */
#include <stdlib.h>
#include <string.h>
#include <ndock/comm.h>
#include "tools/tool.h"

enum { TEXT = 256 };

/* What plug-in mpi, which has no devices, carries, or what is missing; whether it is there. */
static bool find_mpi(char *text, size_t n)
{
    nd_plugin_details d = {.size = sizeof d};
    snprintf(text, n, "not there: build plugins/mpi where mpicc is; `ndock run` needs none");
    for (int32_t i = 0; nd_plugin_describe(i, ND_PLUGIN_OPEN, &d) == ND_OK; i++) {
        if (strcmp(d.name, "mpi") != 0 || d.shadowed_by[0])
            continue;
        const bool there = strcmp(d.state, "LOADED") == 0 || strcmp(d.state, "NO_DEVICE") == 0;
        if (there)
            snprintf(text, n, "plug-in mpi, between processes that mpirun or srun started");
        else
            snprintf(text, n, "%s: %s", d.state, d.reason);
        return there;
    }
    return false;
}

void tool_print_transports(const char *const *devices, int n)
{
    char missing[TEXT];
    puts("\nCommunicators");
    for (int i = 0; i < n; i++) {
        nd_device *device;
        const char *by;
        if (nd_device_get(devices[i], &device) != ND_OK ||
            nd_comm_carrier(device, &by, missing, sizeof missing) != ND_OK)
            continue;
        printf("  %-10s %s%s%s%s\n", devices[i], by[0] ? "carried by plug-in " : "none", by,
               missing[0] ? ", by way of the host: " : "", missing);
    }
    (void)find_mpi(missing, sizeof missing);
    printf("  %-10s %s\n", "mpi", missing);
}

/* Communicators of a GPU that go by way of the host are worth a look, no fault. */
static void tell(json_writer *json, const char *name)
{
    nd_device *device;
    const char *by;
    char missing[TEXT], advice[TEXT] = "";
    if (nd_device_get(name, &device) != ND_OK ||
        nd_comm_carrier(device, &by, missing, sizeof missing) != ND_OK)
        return;
    char *install = strstr(missing, ": install");
    if (install) {
        snprintf(advice, sizeof advice, "%s", install + 2);
        *install = 0;
    }
    if (json) {
        json_open(json, NULL, '{');
        json_text(json, "device", name);
        json_text(json, "by", by);
        json_text(json, "missing", missing);
        json_text(json, "advice", advice);
        json_close(json, '}');
        return;
    }
    printf("  %s   %-10s by %s\n", missing[0] ? "--" : "ok", name, by[0] ? by : "nobody");
    if (missing[0])
        printf("       %-5s %s\n", "why", missing);
    if (advice[0])
        printf("       %-5s %s\n", "do", advice);
}

void tool_doctor_transports(json_writer *json)
{
    int32_t n = 0;
    char text[TEXT];
    const char **names = tool_devices(&n);
    const bool there = find_mpi(text, sizeof text);
    if (json)
        json_open(json, "communicators", '[');
    else
        puts("\nCommunicators");
    for (int i = 0; i < n; i++)
        tell(json, names[i]);
    free(names);
    if (json) {
        json_close(json, ']');
        json_text(json, "mpi", text);
    } else {
        printf("  %s   %-10s %s\n", there ? "ok" : "--", "mpi", text);
    }
}
