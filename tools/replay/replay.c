/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * ndock replay: makes the calls of a trace (NDOCK_HOOK=trace) again, on the plug-in that they were
 * made on or on another one, and says where what they return differs. What arrays held is not in a
 * trace; seeded bytes take its place. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/replay/replay.h"
#include "tools/tool.h"

static const char usage[] =
    "Usage: ndock replay [OPTION]... FILE\n\nMakes the calls of a trace again (see NDOCK_HOOK in "
    "ndock(7)) and says where statuses differ.\n\n"
    "  --plugin FILE  on the devices of this plug-in, whatever made the trace\n"
    "  --only NAME    the calls of this plug-in alone\n"
    "  --seed N       of the bytes that stand for what arrays held (default 1)\n"
    "  --verbose      also the calls that are left out, and why\n\n"
    "The status is 1 when a call's differs or a call cannot be made as the trace has it, 2 when "
    "the "
    "trace cannot be read. Calls are made under NDOCK_HOOK=check, which refuses those that would "
    "break the plug-in.\n";

typedef struct {
    const char *file, *plugin, *only;
    uint64_t seed;
    bool verbose, help;
} options;

replay_object *replay_object_at(replay_state *r, char type, uint32_t number)
{
    uint32_t *n = &r->n_objects[(unsigned char)type & 127];
    replay_object **list = &r->objects[(unsigned char)type & 127];
    if (number >= *n) {
        uint32_t want = number < 1u << 24 ? (number + 64) * 2 : 0;
        replay_object *more = want ? realloc(*list, want * sizeof **list) : NULL;
        if (!more)
            return NULL;
        memset(more + *n, 0, (want - *n) * sizeof *more);
        *list = more;
        *n = want;
    }
    return &(*list)[number];
}

replay_device *replay_device_get(replay_state *r, const char *name)
{
    char own[80];
    const char *colon = strchr(name, ':');
    ndp_dev *dev;
    const void *table;
    snprintf(own, sizeof own, "%.*s%s", (int)strcspn(r->plugin ? r->plugin : name, ":"),
             r->plugin ? r->plugin : name, colon ? colon : ":0");
    replay_device *d = r->devices;
    while (d && strcmp(d->name, own) != 0)
        d = d->next;
    if (d || (d = calloc(1, sizeof *d)) == NULL)
        return d && d->device ? d : NULL;
    snprintf(d->name, sizeof d->name, "%s", own);
    d->next = r->devices;
    r->devices = d;
    if (nd_device_get(own, &d->device) != ND_OK ||
        nd_device_group(d->device, "ndp.plugin/0", &table, &dev) != ND_OK)
        return NULL;
    d->dev = dev;
    return d;
}

const char *replay_blame(replay_state *r, const char *why)
{
    r->blames_trace = true;
    return why;
}

void *replay_bytes(replay_state *r, uint64_t nbytes)
{
    if (nbytes > PTRDIFF_MAX - 1)
        return NULL;
    if (nbytes >= r->buffer_size) {
        char *more = realloc(r->buffer, (size_t)nbytes + 1);
        if (!more)
            return NULL;
        r->buffer = more;
        r->buffer_size = (size_t)nbytes + 1;
    }
    for (uint64_t i = 0; i < nbytes; i++) {
        if (i % 32 == 0)
            r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        r->buffer[i] = (char)(r->random >> (32 + i % 32) & 1);
    }
    return r->buffer;
}

static const char *outcome(const hook_slot *slot, uint64_t result, char *buf, size_t n)
{
    const char *name = nd_status_name((int32_t)result);
    if (!slot->status)
        snprintf(buf, n, "%#llx", (unsigned long long)result);
    else if (name[0] == '?')
        snprintf(buf, n, "%d", (int)(int32_t)result);
    else
        snprintf(buf, n, "%s", (int32_t)result == NDP_OK ? "OK" : name + strlen("ND_ERR_"));
    return buf;
}

static void replay_one(replay_state *r, const options *o, const replay_line *line, long number)
{
    const hook_slot *slot = NULL;
    uint64_t result = 0;
    char text[32];
    r->blames_trace = false;
    const char *why = replay_make(r, line, &slot, &result);
    if (why && r->blames_trace) {
        r->impossible++;
        printf("%s:%ld: %s %s cannot be made: %s\n", o->file, number, line->device, line->function,
               why);
        return;
    }
    if (why) {
        r->skipped++;
        if (o->verbose)
            printf("%s:%ld: %s left out: %s\n", o->file, number, line->function, why);
        return;
    }
    r->calls++;
    outcome(slot, result, text, sizeof text);
    if (strcmp(text, line->status) == 0)
        return;
    r->different++;
    printf("%s:%ld: %s %s gave %s, and now %s", o->file, number, line->device, line->function,
           line->status, text);
    printf(slot->status && result ? ": %s\n" : "\n", nd_last_error()->message);
}

static bool chosen(const options *o, const char *device)
{
    size_t n = strcspn(device, ":");
    return !o->only || (strlen(o->only) == n && strncmp(o->only, device, n) == 0);
}

static int replay_all(replay_state *r, const options *o, FILE *in)
{
    static replay_line line;
    char *text = NULL;
    size_t room = 0;
    ssize_t n;
    for (long number = 1; (n = getline(&text, &room, in)) >= 0; number++) {
        r->lines = number;
        text[strcspn(text, "\n")] = 0;
        if (number == 1 && strncmp(text, "# ndock trace 1,", 16) != 0) {
            fprintf(stderr, "ndock: %s is no trace of version 1\n", o->file);
            free(text);
            return EXIT_USAGE;
        }
        if (text[0] == '#' || !text[0])
            continue;
        const char *wrong = replay_parse(text, &line);
        if (wrong) {
            fprintf(stderr, "ndock: %s:%ld: %s\n", o->file, number, wrong);
            free(text);
            return EXIT_USAGE;
        }
        if (chosen(o, line.device))
            replay_one(r, o, &line, number);
    }
    free(text);
    if (ferror(in)) {
        fprintf(stderr, "ndock: %s: %s\n", o->file, strerror(errno));
        return EXIT_USAGE;
    }
    if (!r->lines) {
        fprintf(stderr, "ndock: %s is no trace of version 1: it is empty\n", o->file);
        return EXIT_USAGE;
    }
    printf("%ld calls replayed, %ld differ, %ld left out", r->calls, r->different, r->skipped);
    if (r->impossible)
        printf(", %ld cannot be made", r->impossible);
    printf("\n");
    return r->different || r->impossible ? 1 : 0;
}

static bool parse_options(int argc, char **argv, options *o)
{
    *o = (options){.seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--help") == 0)
            o->help = true;
        else if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (strcmp(argv[i], "--plugin") == 0 && next)
            o->plugin = argv[++i];
        else if (strcmp(argv[i], "--only") == 0 && next)
            o->only = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0 && next)
            o->seed = strtoull(argv[++i], NULL, 10);
        else if (argv[i][0] != '-' && !o->file)
            o->file = argv[i];
        else
            return false;
    }
    return o->help || o->file;
}

/* The name of the plug-in in a file, which it is loaded from; malloc'ed. */
static char *load_plugin(const char *path)
{
    char full[PATH_MAX], *name = NULL;
    int32_t n = 0;
    if (!realpath(path, full)) {
        fprintf(stderr, "ndock: %s: %s\n", path, strerror(errno));
        return NULL;
    }
    nd_plugin_report *list = nd_plugin_load(full) == ND_OK ? tool_plugins(&n) : NULL;
    if (!list)
        tool_failed(path);
    for (int32_t i = 0; i < n && !name; i++)
        if (strcmp(list[i].path, full) == 0)
            name = strdup(list[i].name);
    free(list);
    return name;
}

/* A trace is a text that anybody may have changed: a call that breaks a rule must not reach the
 * plug-in. To be done before the first plug-in is loaded. Whoever asks for the check gets all of
 * it. */
static bool hook_checks(void)
{
    const char *text = getenv("NDOCK_HOOK"), *strictness = getenv("NDOCK_HOOK_CHECK");
    bool asked = text && strstr(text, "check");
    char both[512];
    snprintf(both, sizeof both, "%s%scheck", text ? text : "", text && *text ? "," : "");
    if (!asked || (strictness && strcmp(strictness, "warn") == 0))
        strictness = "before";
    return unsetenv("NDOCK_HOOK_PLUGINS") == 0 && setenv("NDOCK_HOOK", both, 1) == 0 &&
           (!strictness || setenv("NDOCK_HOOK_CHECK", strictness, 1) == 0);
}

int tool_replay(int argc, char **argv)
{
    replay_state r = {0};
    options o;
    if (!parse_options(argc, argv, &o) || o.help) {
        fputs(usage, o.help ? stdout : stderr);
        return o.help ? 0 : EXIT_USAGE;
    }
    r.random = r.seed = o.seed;
    if (!hook_checks()) {
        fprintf(stderr, "ndock: the environment cannot be set: %s\n", strerror(errno));
        return EXIT_USAGE;
    }
    if (o.plugin && (r.plugin = load_plugin(o.plugin)) == NULL)
        return EXIT_USAGE;
    FILE *in = tool_open_file("ndock", o.file);
    if (!in)
        return EXIT_USAGE;
    int status = replay_all(&r, &o, in);
    fclose(in);
    replay_end(&r);
    free(r.buffer);
    free(r.found);
    for (int i = 0; i < 128; i++)
        free(r.objects[i]);
    free(r.plugin);
    while (r.devices) {
        replay_device *next = r.devices->next;
        free(r.devices);
        r.devices = next;
    }
    return status;
}
