/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info --doctor`: what is wrong and what to do about it. Exit status 0 when every device
 * that is wanted is there and nothing else is wrong either. */
#include <stdlib.h>
#include <string.h>
#include "tools/tool.h"

/* Fine; worth a look; wrong. */
typedef enum { GOOD, NOTE, WRONG } verdict;
static const char *const marks[] = {"ok", "--", "!!"};

typedef struct {
    json_writer *json; /* NULL: for people */
    int problems;
    bool wants_gpu; /* a plug-in for NVIDIA's GPUs does not serve, or one of its devices is asked */
} doctor;

/* States in which nothing is wrong with the file: it serves, it is not asked to, or it is none. */
static verdict judge(const nd_plugin_details *d)
{
    if (strcmp(d->state, "LOADED") == 0)
        return GOOD;
    if (strcmp(d->state, "NO_DEVICE") == 0 && strcmp(d->name, "mpi") == 0)
        return GOOD; /* it has none by nature */
    if (strcmp(d->state, "NO_NOTE") == 0 && !d->named)
        return NOTE;
    if (strcmp(d->state, "MISSING") == 0 && strcmp(d->source, "plugindir") == 0)
        return NOTE; /* nothing is installed: a build tree, or all is named by variables */
    return strcmp(d->state, "SHADOWED") == 0 || strcmp(d->state, "FILTERED") == 0 ? NOTE : WRONG;
}

static void heading(const doctor *doc, const char *text)
{
    if (!doc->json)
        printf("\n%s\n", text);
}

static void say(const doctor *doc, const char *label, const char *text)
{
    if (!doc->json && text[0])
        printf("       %-5s %s\n", label, text);
}

/* ---- devices ---- */
static void tell_device(doctor *doc, const char *name, const char *description, const char *error,
                        const char *advice)
{
    doc->problems += error[0] != 0;
    if (!doc->json) {
        printf("  %s   %-10s %s\n", marks[error[0] ? WRONG : GOOD], name, description);
        say(doc, "why", error);
        say(doc, "do", advice);
        return;
    }
    json_open(doc->json, NULL, '{');
    json_text(doc->json, "name", name);
    json_bool(doc->json, "ok", error[0] == 0);
    json_text(doc->json, "description", description);
    json_text(doc->json, "error", error);
    json_text(doc->json, "advice", advice);
    json_close(doc->json, '}');
}

/* What to do about a device that does not open: the plug-in's own state tells, further down, unless
 * there is no such plug-in. */
static void advise(const char *name, char *out, size_t n)
{
    nd_plugin_details d = {.size = sizeof d};
    const size_t length = strcspn(name, ":");
    out[0] = 0;
    for (int32_t i = 0; nd_plugin_describe(i, ND_PLUGIN_NOTES, &d) == ND_OK; i++)
        if (strlen(d.name) == length && strncmp(d.name, name, length) == 0)
            return;
    snprintf(out, n,
             "install the plug-in ndock-%.*s.so in %s, or name its folder in NDOCK_PLUGIN_PATH",
             (int)length, name, nd_plugin_dir());
}

/* The error without its last part, which sends to this command. */
static void cut_error(const char *message, char *out, size_t n)
{
    snprintf(out, n, "%s", message);
    char *tail = strstr(out, "; `ndock info --doctor`");
    if (tail)
        *tail = 0;
}

static void check_device(doctor *doc, const char *name)
{
    nd_device *device = NULL;
    nd_device_info info;
    char error[1024], advice[1024];
    if (nd_device_get(name, &device) != ND_OK) {
        doc->wants_gpu |= strncmp(name, "cuda", 4) == 0;
        cut_error(nd_last_error()->message, error, sizeof error);
        advise(name, advice, sizeof advice);
        tell_device(doc, name, "", error, advice);
        return;
    }
    nd_device_describe(device, &info);
    tell_device(doc, nd_device_name(device), info.description, "", "");
}

/* NDOCK_DEVICE names devices in order of preference: all of them are wanted. */
static void check_listed(doctor *doc, const char *list)
{
    char name[80];
    for (const char *p = list; *p; p += *p == ',') {
        size_t n = strcspn(p, ",");
        snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), p);
        p += n;
        check_device(doc, name);
    }
}

static void check_devices(doctor *doc, char **wanted, int n)
{
    int32_t count = 0;
    const char *list = getenv("NDOCK_DEVICE");
    const char **names = n == 0 && !(list && *list) ? tool_devices(&count) : NULL;
    heading(doc, n || (list && *list) ? "Devices that are wanted" : "Devices");
    if (doc->json)
        json_open(doc->json, "devices", '[');
    for (int i = 0; i < n; i++)
        check_device(doc, wanted[i]);
    if (n == 0 && list && *list)
        check_listed(doc, list);
    for (int i = 0; i < count; i++)
        check_device(doc, names[i]);
    free(names);
    if (n == 0 && !(list && *list) && count == 0)
        tell_device(doc, "none", "", "no plug-in serves", "see below");
    if (doc->json)
        json_close(doc->json, ']');
}

/* ---- plug-ins ---- */
static void tell_plugin(doctor *doc, const nd_plugin_details *d, verdict v)
{
    const char *advice = nd_plugin_advice(d->state);
    char kept[256] = ""; /* what a certificate says of it */
    if (d->devices)
        (void)tool_conform_line(d->path, d->name, kept, sizeof kept);
    if (!doc->json) {
        printf("  %s   %-10s %-12s %s  [%s]\n", marks[v], d->name, d->state, d->path, d->source);
        say(doc, "note", kept);
        say(doc, "why", d->reason);
        if (v != NOTE || strcmp(d->state, "MISSING") != 0)
            say(doc, "do", advice);
        return;
    }
    json_open(doc->json, NULL, '{');
    json_text(doc->json, "name", d->name);
    json_text(doc->json, "path", d->path);
    json_text(doc->json, "state", d->state);
    json_text(doc->json, "verdict", v == GOOD ? "ok" : v == NOTE ? "note" : "problem");
    json_text(doc->json, "reason", d->reason);
    json_text(doc->json, "advice", advice);
    json_text(doc->json, "conformance", kept);
    json_text(doc->json, "source", d->source);
    json_text(doc->json, "version", d->version);
    json_text(doc->json, "build_id", d->build_id);
    json_integer(doc->json, "devices", (unsigned long long)d->devices);
    json_close(doc->json, '}');
}

/* Whether the plug-in number i is one of the devices' that were named; where none were, all are. */
static bool is_asked_for(int32_t i, char **devices, int n)
{
    nd_plugin_details d = {.size = sizeof d};
    bool any = n == 0;
    if (any || nd_plugin_describe(i, ND_PLUGIN_NOTES, &d) != ND_OK)
        return any;
    for (int k = 0; k < n; k++) {
        const size_t length = strcspn(devices[k], ":");
        any |= strlen(d.name) == length && strncmp(d.name, devices[k], length) == 0;
    }
    return any;
}

/* With devices that are wanted by the environment, and that are there, a plug-in that does not
 * serve is no problem by itself. Of those asked for by name alone anything is told, and opened. */
static void check_plugins(doctor *doc, char **devices, int n, bool all_wanted)
{
    nd_plugin_details d = {.size = sizeof d};
    heading(doc, n ? "Plug-ins of that name, in the order of search"
                   : "Plug-ins, in the order of search");
    if (doc->json)
        json_open(doc->json, "plugins", '[');
    for (int32_t i = 0; nd_plugin_describe(i, ND_PLUGIN_NOTES, &d) == ND_OK; i++) {
        if (!is_asked_for(i, devices, n) || nd_plugin_describe(i, ND_PLUGIN_OPEN, &d) != ND_OK)
            continue;
        verdict v = judge(&d);
        if (v == WRONG && !all_wanted && !d.named)
            v = NOTE;
        doc->problems += v == WRONG;
        doc->wants_gpu |= v != GOOD && strcmp(d.name, "cuda") == 0;
        tell_plugin(doc, &d, v);
    }
    if (doc->json)
        json_close(doc->json, ']');
}

/* ---- the rest ---- */
static void check_hardware(const doctor *doc)
{
    tool_gpu_line lines[TOOL_GPU_LINES];
    const int n = doc->wants_gpu || doc->json ? tool_gpu_lines(lines) : 0;
    if (n)
        heading(doc, "What a plug-in for NVIDIA GPUs finds here");
    if (doc->json)
        json_open(doc->json, "nvidia", '[');
    for (int i = 0; i < n; i++) {
        if (doc->json) {
            json_open(doc->json, NULL, '{');
            json_text(doc->json, "fact", lines[i].fact);
            json_text(doc->json, "advice", lines[i].action);
            json_close(doc->json, '}');
            continue;
        }
        printf("  %s   %s\n", marks[lines[i].action[0] ? NOTE : GOOD], lines[i].fact);
        say(doc, "do", lines[i].action);
    }
    if (doc->json)
        json_close(doc->json, ']');
}

static int check_values(const doctor *doc)
{
    nd_param_info p = {.size = sizeof p};
    const char *last = "";
    int n = 0;
    if (doc->json)
        json_open(doc->json, "bad_values", '[');
    for (int32_t i = 0; nd_param_get(i, &p) == ND_OK; i++) {
        if (!p.problem[0] || strcmp(p.problem, last) == 0)
            continue;
        last = p.problem;
        n++;
        if (doc->json)
            json_text(doc->json, NULL, p.problem);
        else
            printf("  !!   %s\n", p.problem);
    }
    if (doc->json)
        json_close(doc->json, ']');
    return n;
}

static int print_unknown(void)
{
    const char *name, *nearest;
    int n = 0;
    for (; nd_param_unknown(n, &name, &nearest) == ND_OK; n++) {
        printf("  !!   nothing reads the variable %s\n", name);
        if (nearest[0])
            printf("       do    did you mean %s?\n", nearest);
        else
            puts("       do    unset it; `ndock info --params` lists those that are read");
    }
    return n;
}

static void check_environment(doctor *doc)
{
    heading(doc, "Environment");
    const int wrong =
        check_values(doc) + (doc->json ? tool_json_unknown(doc->json) : print_unknown());
    if (!doc->json && wrong == 0)
        puts("  ok   every variable NDOCK_... that is set is read and understood");
    doc->problems += wrong;
}

static void check_cache(doctor *doc)
{
    nd_kernel_stats s = {.size = sizeof s};
    const char *dir = nd_kernel_cache_dir();
    const bool stays = dir[0] && nd_kernel_cache_stats(&s) == ND_OK;
    const bool wrong = stays && !s.writable;
    heading(doc, "Kernel cache");
    doc->problems += wrong;
    if (doc->json) {
        json_open(doc->json, "kernel_cache", '{');
        json_text(doc->json, "dir", dir);
        json_bool(doc->json, "writable", stays && s.writable);
        json_close(doc->json, '}');
        return;
    }
    printf("  %s   %s%s\n", marks[wrong ? WRONG : GOOD], stays ? dir : "in memory alone",
           wrong ? " cannot be written, so kernels are compiled anew in every process" : "");
    if (wrong)
        printf("       do    mkdir -p '%s' && chmod u+rwx '%s', or name another by "
               "NDOCK_KERNEL_CACHE_DIR\n",
               dir, dir);
}

static void finish(doctor *doc)
{
    if (doc->json) {
        json_integer(doc->json, "problems", (unsigned long long)doc->problems);
        json_bool(doc->json, "ok", doc->problems == 0);
        json_close(doc->json, '}');
    } else if (doc->problems) {
        printf("\n%d problem%s, marked !!\n", doc->problems, doc->problems == 1 ? "" : "s");
    } else {
        puts("\nNothing is wrong.");
    }
}

int tool_info_doctor(char **devices, int n, bool json)
{
    json_writer w = {.out = stdout};
    doctor doc = {.json = json ? &w : NULL};
    const char *list = getenv("NDOCK_DEVICE");
    if (json) {
        json_open(&w, NULL, '{');
        json_integer(&w, "schema", TOOL_INFO_SCHEMA);
        json_text(&w, "version", nd_version());
        json_text(&w, "plugin_dir", nd_plugin_dir());
    } else {
        printf("ndock %s, plug-in folder %s\n", nd_version(), nd_plugin_dir());
    }
    check_devices(&doc, devices, n);
    check_plugins(&doc, devices, n, (n == 0 && !(list && *list)) || doc.problems > 0);
    if (n == 0 || doc.wants_gpu)
        check_hardware(&doc);
    if (n == 0) { /* else that device's section alone */
        check_environment(&doc);
        check_cache(&doc);
        tool_doctor_transports(doc.json);
    }
    finish(&doc);
    return doc.problems != 0;
}
