/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info --suggest FILE`: which kernels a plug-in lacks, ranked by the time that their absence
 * cost a run of the user's own program. FILE is what NDOCK_FALLBACK_REPORT or nd_fallback_save()
 * wrote. */
#include <stdlib.h>
#include <string.h>
#include "tools/mem/mem.h"
#include "tools/tool.h"

typedef struct {
    const char *op, *dtypes, *device, *rung, *why;
    uint64_t calls, bytes, time_ns, longest_ns;
} item;

typedef struct {
    char *text, *arena; /* of the file; texts of items point into the latter */
    const char *version;
    uint64_t elapsed_ns, total_ns;
    item *items;
    size_t n;
    bool is_report;
} report;

/* ---- reading; unknown keys are skipped, as the format may grow ---- */
static bool read_text(nd__json *j, const char *key, item *i)
{
    const struct {
        const char *key;
        const char **out;
    } fields[] = {{"op", &i->op},
                  {"dtypes", &i->dtypes},
                  {"device", &i->device},
                  {"rung", &i->rung},
                  {"why", &i->why}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (strcmp(key, fields[k].key) == 0) {
            *fields[k].out = json_read_text(j);
            return true;
        }
    return false;
}

static bool read_number(nd__json *j, const char *key, item *i)
{
    const struct {
        const char *key;
        uint64_t *out;
    } fields[] = {{"calls", &i->calls},
                  {"bytes", &i->bytes},
                  {"time_ns", &i->time_ns},
                  {"longest_ns", &i->longest_ns}};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (strcmp(key, fields[k].key) == 0) {
            *fields[k].out = json_read_count(j);
            return true;
        }
    return false;
}

static item read_item(nd__json *j)
{
    item i = {.op = "?", .dtypes = "", .device = "?", .rung = "", .why = ""};
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first) && nd__json_key(j, &key))
        if (!read_text(j, key, &i) && !read_number(j, key, &i))
            (void)nd__json_skip(j);
    return i;
}

static void read_items(nd__json *j, report *r)
{
    int first = 1;
    (void)nd__json_enter(j, '[');
    while (nd__json_next(j, '[', &first)) {
        item i = read_item(j);
        item *grown = realloc(r->items, (r->n + 1) * sizeof *grown);
        if (!grown) {
            nd__json_fail(j, "out of memory");
            return;
        }
        r->items = grown;
        r->items[r->n++] = i;
        r->total_ns += i.time_ns;
    }
}

static void read_report(nd__json *j, report *r)
{
    const char *key;
    int first = 1;
    (void)nd__json_enter(j, '{');
    while (nd__json_next(j, '{', &first) && nd__json_key(j, &key)) {
        if (strcmp(key, "ndock_fallback") == 0)
            r->is_report = json_read_count(j) == 1;
        else if (strcmp(key, "version") == 0)
            r->version = json_read_text(j);
        else if (strcmp(key, "elapsed_ns") == 0)
            r->elapsed_ns = json_read_count(j);
        else if (strcmp(key, "items") == 0)
            read_items(j, r);
        else
            (void)nd__json_skip(j);
    }
    if (!j->error && !r->is_report)
        nd__json_fail(j, "it is no fallback report of this form: \"ndock_fallback\": 1 is missing");
    (void)nd__json_end(j);
}

static int read_file(const char *path, report *r)
{
    nd__json j;
    size_t size;
    r->text = tool_read_file("ndock: info", path, &size);
    if (!r->text)
        return 1;
    r->arena = malloc(size + 1);
    if (!r->arena) {
        fprintf(stderr, "ndock: info: %s: out of memory\n", path);
        return 1;
    }
    nd__json_start(&j, r->text, size, r->arena);
    read_report(&j, r);
    if (!j.error)
        return 0;
    fprintf(stderr, "ndock: info: %s: %s, at byte %zu\n", path, j.error, j.error_at);
    return 1;
}

/* ---- printing ---- */
static int by_time(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return x->time_ns < y->time_ns ? 1 : x->time_ns > y->time_ns ? -1 : strcmp(x->op, y->op);
}

static const char *duration(uint64_t ns, char *out, size_t n)
{
    const double s = (double)ns / 1e9;
    if (s >= 1)
        snprintf(out, n, "%.2f s", s);
    else if (s >= 1e-3)
        snprintf(out, n, "%.2f ms", s * 1e3);
    else
        snprintf(out, n, "%.1f us", s * 1e6);
    return out;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_item(const item *i, size_t rank, const report *r)
{
    char took[32], name[160];
    snprintf(name, sizeof name, "%s%s%s", i->op, i->dtypes[0] ? " " : "", i->dtypes);
    printf("%3zu  %-34s %-8s %10s %5.1f %% %10llu %11s  %s\n", rank, name, i->device,
           duration(i->time_ns, took, sizeof took), share(i->time_ns, r->total_ns),
           (unsigned long long)i->calls, mem_size((double)i->bytes), i->rung);
    if (i->why[0])
        printf("     %s\n", i->why);
}

static void print_report(const report *r)
{
    char all[32], elapsed[32];
    if (r->n == 0) {
        puts("Nothing fell back: the devices computed every operation themselves.");
        return;
    }
    printf("Operations that fell back took %s", duration(r->total_ns, all, sizeof all));
    if (r->elapsed_ns)
        printf(", %.1f %% of the run's %s", share(r->total_ns, r->elapsed_ns),
               duration(r->elapsed_ns, elapsed, sizeof elapsed));
    printf(" (ndock %s).\nKernels that a plug-in should have, the most costly first:\n\n",
           r->version);
    printf("     %-34s %-8s %10s %7s %10s %11s  %s\n", "kernel", "device", "time", "share", "calls",
           "moved", "how");
    for (size_t i = 0; i < r->n; i++)
        print_item(&r->items[i], i + 1, r);
    puts("\nstaged: computed by the CPU plug-in on copies; derived: made on the device of several "
         "operations that it has.");
}

static void json_report(const report *r)
{
    json_writer w = {.out = stdout};
    json_open(&w, NULL, '{');
    json_integer(&w, "schema", TOOL_INFO_SCHEMA);
    json_integer(&w, "elapsed_ns", r->elapsed_ns);
    json_integer(&w, "fallback_ns", r->total_ns);
    json_open(&w, "missing_kernels", '[');
    for (size_t i = 0; i < r->n; i++) {
        const item *x = &r->items[i];
        json_open(&w, NULL, '{');
        json_text(&w, "op", x->op);
        json_text(&w, "dtypes", x->dtypes);
        json_text(&w, "device", x->device);
        json_text(&w, "rung", x->rung);
        json_text(&w, "why", x->why);
        json_integer(&w, "calls", x->calls);
        json_integer(&w, "bytes", x->bytes);
        json_integer(&w, "time_ns", x->time_ns);
        json_number(&w, "share", share(x->time_ns, r->total_ns) / 100);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_close(&w, '}');
}

static int say_how(void)
{
    puts("Which kernels a plug-in should have next is told by a run of your own program:\n\n"
         "  NDOCK_FALLBACK_REPORT=report.json ./program\n"
         "  ndock info --suggest report.json\n\n"
         "With %p in the name each process, forked children too, writes a report of its own. A\n"
         "program writes one at any time by nd_fallback_save().");
    return 0;
}

int tool_info_suggest(const char *path, bool json)
{
    report r = {.version = "?"};
    if (!path)
        return say_how();
    int status = read_file(path, &r);
    if (status == 0) {
        if (r.n)
            qsort(r.items, r.n, sizeof *r.items, by_time);
        if (json)
            json_report(&r);
        else
            print_report(&r);
    }
    free(r.items);
    free(r.text);
    free(r.arena);
    return status;
}
