/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info`: what there is, what was refused and why. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <ndock/comm.h>
#include "tools/tool.h"

extern char **environ;

enum { TEXT = 256 };

static void print_devices(const char *const *names, int n)
{
    nd_device *current = NULL;
    puts("Devices");
    if (nd_device_current(&current) != ND_OK)
        current = NULL;
    for (int i = 0; i < n; i++) {
        nd_device *device;
        nd_device_info info;
        char key[TEXT], value[TEXT];
        if (nd_device_get(names[i], &device) != ND_OK) {
            printf("  %-10s cannot be opened: %s\n", names[i], nd_last_error()->message);
            continue;
        }
        nd_device_describe(device, &info);
        printf("%c %-10s %s", device == current ? '*' : ' ', info.name, info.description);
        if (info.memory_bytes)
            printf(", %.1f GiB", (double)info.memory_bytes / (1 << 30));
        putchar('\n');
        for (int32_t f = 0; nd_device_fact(device, f, key, value, TEXT) == ND_OK; f++)
            printf("             %-9s %s\n", key, value);
    }
    if (n == 0)
        puts("  none");
}

static void print_conformance(const nd_plugin_report *r)
{
    char line[TEXT];
    if (r->devices && tool_conform_line(r->path, r->name, line, sizeof line)[0])
        printf("             %s\n", line);
}

static void print_plugins(const nd_plugin_report *r, int n)
{
    int problems = 0;
    puts("\nPlug-ins, in the order of search");
    for (int i = 0; i < n; i++) {
        printf("  %-10s %-11s %s", r[i].name, r[i].state, r[i].path);
        if (r[i].version[0])
            printf("  (version %s, %d device%s)", r[i].version, (int)r[i].devices,
                   r[i].devices == 1 ? "" : "s");
        printf("  [%s]\n", r[i].source);
        print_conformance(&r[i]);
        if (r[i].reason[0])
            printf("             %s\n", r[i].reason);
        problems += r[i].devices == 0;
    }
    if (problems)
        puts("  What to do about those that do not serve: ndock info --doctor");
    if (n == 0)
        puts("  none found");
}

static void print_caches(void)
{
    int32_t n;
    nd_library_report *r = tool_libraries(&n);
    nd_kernel_stats s = {.size = sizeof s};
    const char *dir = nd_kernel_cache_dir();
    if (n)
        puts("\nLibraries opened on first need");
    for (int i = 0; i < n; i++)
        printf("  %-10s %s %s\n", r[i].name, r[i].version,
               r[i].reason[0] ? r[i].reason : r[i].path);
    free(r);
    puts("\nKernel cache");
    if (dir[0] && nd_kernel_cache_stats(&s) == ND_OK)
        printf("  %s%s\n  %llu entries, %.1f of %.0f MiB\n", dir,
               s.writable ? "" : " (cannot be written)", (unsigned long long)s.disk_entries,
               (double)s.disk_bytes / (1 << 20), (double)s.max_disk_bytes / (1 << 20));
    else
        puts("  in memory alone");
}

static bool relevant(const char *variable)
{
    static const char *const prefixes[] = {"NDOCK_", "OMP_", "OPENBLAS_", "CUDA_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(variable, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static void print_environment(void)
{
    int n = 0;
    puts("\nEnvironment");
    for (char **e = environ; *e; e++)
        if (relevant(*e)) {
            printf("  %s\n", *e);
            n++;
        }
    if (n == 0)
        puts("  no NDOCK_, OMP_, OPENBLAS_ or CUDA_ variable is set");
}

static void json_transport(json_writer *w, nd_device *device)
{
    const char *by;
    char missing[TEXT];
    if (nd_comm_carrier(device, &by, missing, sizeof missing) != ND_OK)
        return;
    json_text(w, "communicators", by);
    json_text(w, "communicators_missing", missing);
}

static void json_device(json_writer *w, const char *name, bool memory)
{
    nd_device *device;
    nd_device_info info;
    char key[TEXT], value[TEXT];
    json_open(w, NULL, '{');
    json_text(w, "name", name);
    if (nd_device_get(name, &device) != ND_OK) {
        json_text(w, "error", nd_last_error()->message);
    } else {
        nd_device_describe(device, &info);
        json_text(w, "plugin", info.plugin);
        json_text(w, "description", info.description);
        json_text(w, "unique_id", info.unique_id);
        json_integer(w, "memory_bytes", info.memory_bytes);
        json_bool(w, "host_visible", info.host_visible);
        json_bool(w, "async", info.async);
        json_transport(w, device);
        json_open(w, "facts", '{');
        for (int32_t f = 0; nd_device_fact(device, f, key, value, TEXT) == ND_OK; f++)
            json_text(w, key, value);
        json_close(w, '}');
        if (memory)
            tool_json_memory(w, device);
    }
    json_close(w, '}');
}

static void json_plugin(json_writer *w, const nd_plugin_report *r)
{
    char line[TEXT] = "";
    json_open(w, NULL, '{');
    json_text(w, "name", r->name);
    json_text(w, "path", r->path);
    json_text(w, "conformance",
              r->devices ? tool_conform_line(r->path, r->name, line, sizeof line) : "");
    json_text(w, "state", r->state);
    json_text(w, "reason", r->reason);
    json_text(w, "advice", nd_plugin_advice(r->state));
    json_text(w, "version", r->version);
    json_text(w, "source", r->source);
    json_integer(w, "devices", (unsigned long long)r->devices);
    json_close(w, '}');
}

static void json_library(json_writer *w, const nd_library_report *r)
{
    json_open(w, NULL, '{');
    json_text(w, "name", r->name);
    json_text(w, "soname", r->soname);
    json_text(w, "path", r->path);
    json_text(w, "version", r->version);
    json_text(w, "reason", r->reason);
    json_close(w, '}');
}

static void print_json(const char *const *names, int devices, const nd_plugin_report *reports,
                       int plugins, bool memory)
{
    json_writer w = {.out = stdout};
    nd_device *current;
    json_open(&w, NULL, '{');
    json_integer(&w, "schema", TOOL_INFO_SCHEMA);
    json_text(&w, "version", nd_version());
    json_text(&w, "plugin_dir", nd_plugin_dir());
    json_text(&w, "current_device",
              nd_device_current(&current) == ND_OK ? nd_device_name(current) : "");
    json_open(&w, "devices", '[');
    for (int i = 0; i < devices; i++)
        json_device(&w, names[i], memory);
    json_close(&w, ']');
    json_open(&w, "plugins", '[');
    for (int i = 0; i < plugins; i++)
        json_plugin(&w, &reports[i]);
    json_close(&w, ']');
    json_text(&w, "kernel_cache_dir", nd_kernel_cache_dir());
    json_open(&w, "libraries", '[');
    int32_t n;
    nd_library_report *library = tool_libraries(&n);
    for (int i = 0; i < n; i++)
        json_library(&w, &library[i]);
    free(library);
    json_close(&w, ']');
    json_open(&w, "environment", '{');
    for (char **e = environ; *e; e++) {
        char key[TEXT];
        const char *equals = strchr(*e, '=');
        if (!relevant(*e) || !equals)
            continue;
        snprintf(key, sizeof key, "%.*s", (int)(equals - *e), *e);
        json_text(&w, key, equals + 1);
    }
    json_close(&w, '}');
    json_close(&w, '}');
}

static int usage(FILE *out, int status)
{
    fputs("Usage: ndock info [--json] [--memory]\n"
          "       ndock info [--json] --ops | --params\n"
          "       ndock info [--json] --doctor [DEVICE]...\n"
          "       ndock info [--json] --offline PLUGIN.so\n"
          "       ndock info [--json] --suggest [REPORT.json]\n\n"
          "  --json     for programs\n"
          "  --memory   also what each device's allocator has, and its settings\n"
          "  --ops      the matrix of operations, dtypes and devices\n"
          "  --params   every variable and setting, with help, default and present value\n"
          "  --doctor   what is wrong, and what to do about it\n"
          "  --offline  what a plug-in's file says of itself; none of its code runs\n"
          "  --suggest  which kernels a plug-in should have next, by the time that a run lost\n",
          out);
    return status;
}

typedef struct {
    bool json, memory, ops, params, doctor, offline, suggest;
    char **names; /* what follows the options */
    int n_names;
} options;

/* 0, or the position of a wrong argument. */
static int parse(int argc, char **argv, options *o)
{
    const struct {
        const char *name;
        bool *on;
    } known[] = {{"--json", &o->json},      {"--memory", &o->memory}, {"--ops", &o->ops},
                 {"--params", &o->params},  {"--doctor", &o->doctor}, {"--offline", &o->offline},
                 {"--suggest", &o->suggest}};
    o->names = argv + 1;
    for (int i = 1; i < argc; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(argv[i], known[k].name) != 0)
            k++;
        if (k < sizeof known / sizeof *known)
            *known[k].on = true;
        else if (argv[i][0] == '-' && argv[i][1])
            return i;
        else
            o->names[o->n_names++] = argv[i];
    }
    return 0;
}

static void print_all(const char *const *names, int devices, const nd_plugin_report *reports,
                      int plugins, bool memory)
{
    printf("ndock %s, plug-in folder %s\n\n", nd_version(), nd_plugin_dir());
    print_devices(names, devices);
    if (memory)
        tool_info_memory(names, devices);
    print_plugins(reports, plugins);
    tool_print_transports(names, devices);
    print_caches();
    print_environment();
}

static int show(const options *o)
{
    int32_t devices = 0, plugins = 0;
    const char **names = tool_devices(&devices);
    nd_plugin_report *reports = names ? tool_plugins(&plugins) : NULL;
    if (!reports) {
        free(names);
        return tool_failed("info");
    }
    if (o->json)
        print_json(names, devices, reports, plugins, o->memory);
    else
        print_all(names, devices, reports, plugins, o->memory);
    free(names);
    free(reports);
    return 0;
}

int tool_info(int argc, char **argv)
{
    options o = {.json = false};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
    const int wrong = parse(argc, argv, &o);
    const int most = o.doctor ? INT_MAX : o.offline || o.suggest; /* names that it takes */
    if (wrong || o.n_names > most || (o.offline && o.n_names == 0) ||
        o.ops + o.params + o.doctor + o.offline + o.suggest > 1) {
        if (wrong)
            fprintf(stderr, "ndock info: unknown option \"%s\"\n", argv[wrong]);
        else if (o.n_names > most)
            fprintf(stderr, "ndock info: \"%s\" is one argument too many\n", o.names[most]);
        else
            fputs("ndock info: --offline needs a file, and options of different kinds do not go "
                  "together\n",
                  stderr);
        return usage(stderr, EXIT_USAGE);
    }
    return o.ops       ? tool_info_ops(o.json)
           : o.params  ? tool_info_params(o.json)
           : o.doctor  ? tool_info_doctor(o.names, o.n_names, o.json)
           : o.offline ? tool_info_offline(o.names[0], o.json)
           : o.suggest ? tool_info_suggest(o.n_names ? o.names[0] : NULL, o.json)
                       : show(&o);
}
