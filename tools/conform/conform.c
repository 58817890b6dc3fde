/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock conform PLUGIN.so`: whether the plug-in in a file keeps the contract of <ndock/plugin.h>,
 * and how far it goes (its tier). */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "core/plugin/note.h"
#include "tools/conform/conform.h"
#include "tools/elf.h"

/* In the order in which they run. Seconds are of silence, between one check's line and the next. */
static const conform_group all_groups[CONFORM_GROUPS] = {
    {.letter = 'A', .title = "static", .limit = 10},
    {.letter = 'B', .title = "load", .program = "conform-abi", .limit = 60},
    {.letter = 'C', .title = "memory", .program = "conform-abi", .limit = 120},
    {.letter = 'D',
     .title = "operations",
     .program = "conform-ops",
     .excepts = true,
     .hooked = true,
     .limit = 600},
    {.letter = 'E', .title = "streams", .program = "conform-abi", .limit = 60},
    {.letter = 'F', .title = "threads", .program = "conform-abi", .limit = 120},
    {.letter = 'G', .title = "process", .program = "conform-abi", .limit = 60},
    {.letter = 'H', .title = "communicators", .program = "conform-abi", .limit = 60},
    {.letter = 'P', .title = "performance", .program = "conform-abi", .limit = 120},
};

static const char help_text[] =
    "Usage: ndock conform [OPTION]... PLUGIN.so\n\n"
    "  --tier N            it must reach tier N: 0 storage, 1 kernels, 2 streams\n"
    "  --group A,B,...     these groups alone: A static, B load, C memory, D operations,\n"
    "                      E streams, F threads, G process, H communicators,\n"
    "                      P performance\n"
    "  --filter GLOB       checks alone whose id matches, such as 'D.scatter*'\n"
    "  --expect FILE       lines \"unsupported GLOB reason\" and \"xfail GLOB reason\"\n"
    "  --strict            an unexpected pass and an unused line of FILE are failures\n"
    "  --seed S --count N  of random cases\n"
    "  --large             also arrays of more than 2^31 elements\n"
    "  --timeout S         seconds that a check may take\n"
    "  --replay CASE       one case again, as a failure's last line names it\n"
    "  --tap               TAP on standard output\n"
    "  --junit FILE --json FILE --html FILE\n"
    "  -o CERTIFICATE      where the certificate of a whole run that passed goes\n"
    "  --help\n\nSee ndock-conform(1).\n";

static int usage(const char *what, const char *value)
{
    fprintf(stderr, "ndock conform: %s%s%s%s\n%s", what, value ? " \"" : "", value ? value : "",
            value ? "\"" : "", help_text);
    return EXIT_USAGE;
}

/* "A,B" or "AB". */
static bool choose_groups(conform_run *r, const char *letters)
{
    r->some_groups = true;
    for (int i = 0; i < CONFORM_GROUPS; i++)
        r->group[i].wanted = false;
    for (; *letters; letters++) {
        conform_group *g = conform_group_of(r, *letters);
        if (g)
            g->wanted = true;
        else if (*letters != ',')
            return false;
    }
    return true;
}

static bool number(const char *text, unsigned long long most)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && n <= most;
}

enum {
    TIER = 256,
    GROUP,
    FILTER,
    EXPECT,
    STRICT,
    SEED,
    COUNT,
    LARGE,
    LIMIT,
    REPLAY,
    TAP,
    JUNIT,
    JSON,
    HTML,
    HELP
};
static const struct option options[] = {
    {"tier", 1, NULL, TIER},     {"group", 1, NULL, GROUP},   {"filter", 1, NULL, FILTER},
    {"expect", 1, NULL, EXPECT}, {"strict", 0, NULL, STRICT}, {"seed", 1, NULL, SEED},
    {"count", 1, NULL, COUNT},   {"large", 0, NULL, LARGE},   {"timeout", 1, NULL, LIMIT},
    {"replay", 1, NULL, REPLAY}, {"tap", 0, NULL, TAP},       {"junit", 1, NULL, JUNIT},
    {"json", 1, NULL, JSON},     {"html", 1, NULL, HTML},     {"help", 0, NULL, HELP},
    {NULL, 0, NULL, 0},
};

/* -1, or an exit status. */
static int set_option(conform_run *r, int option, const char *value)
{
    switch (option) {
    case TIER:
        r->tier = number(value, 2) ? atoi(value) : -1;
        return r->tier >= 0 ? -1 : usage("a tier is 0, 1 or 2, not", value);
    case GROUP:
        return choose_groups(r, value) ? -1 : usage("groups are letters of ABCDEFGHP, not", value);
    case SEED:
        r->seed = value;
        return number(value, UINT64_MAX) ? -1 : usage("a seed is a number, not", value);
    case COUNT:
        r->count = value;
        return number(value, 1000000) && atoi(value) > 0
                   ? -1
                   : usage("a count is a number from 1 to 1000000, not", value);
    case LIMIT:
        r->timeout = strtod(value, NULL);
        return r->timeout > 0 ? -1 : usage("a time limit is seconds above 0, not", value);
    case REPLAY:
        r->replay = value;
        return conform_group_of(r, value[0]) ? -1 : usage("no group's letter begins", value);
    case HELP:
        fputs(help_text, stdout);
        return 0;
    default:
        return usage("see the options:", NULL);
    }
}

static int read_options(conform_run *r, int argc, char **argv)
{
    int option, status = -1;
    opterr = 0;
    optind = 0; /* this program has read its own already */
    while (status < 0 && (option = getopt_long(argc, argv, ":o:", options, NULL)) != -1) {
        const char **text = option == FILTER   ? &r->filter
                            : option == EXPECT ? &r->expect
                            : option == JUNIT  ? &r->junit
                            : option == JSON   ? &r->json
                            : option == HTML   ? &r->html
                            : option == 'o'    ? &r->certificate
                                               : NULL;
        bool *flag = option == STRICT  ? &r->strict
                     : option == LARGE ? &r->large
                     : option == TAP   ? &r->tap
                                       : NULL;
        if (text)
            *text = optarg;
        else if (flag)
            *flag = true;
        else if (option == '?' || option == ':')
            status = usage(option == ':' ? "a value is missing after" : "unknown option",
                           argv[optind - 1]);
        else
            status = set_option(r, option, optarg);
    }
    if (status >= 0)
        return status;
    if (optind + 1 != argc)
        return usage(optind == argc ? "which plug-in? Name its file" : "more than one file:",
                     optind == argc ? NULL : argv[optind + 1]);
    r->file = argv[optind];
    return -1;
}

/* Crashes are expected here; --replay leaves dumps. */
static void no_dumps(void)
{
    struct rlimit core;
    if (getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &core);
    }
}

static void run_groups(conform_run *r)
{
    static char not_loadable[] = "the file is nothing that can be loaded";
    bool loadable = true;
    no_dumps();
    for (int i = 0; i < CONFORM_GROUPS; i++) {
        conform_group *g = &r->group[i];
        if (r->filter && isupper((unsigned char)r->filter[0]) && r->filter[0] != g->letter)
            g->wanted = false; /* ids begin with the group's letter */
        if (!g->wanted)
            continue;
        if (g->letter == 'A')
            loadable = conform_run_static(r, g);
        else if (loadable)
            conform_run_group(r, g);
        else
            conform_set(&g->why_not, not_loadable);
        conform_expect_apply(r, g->letter);
        conform_count(r, g);
        if (!r->quiet)
            conform_print_group(r, g);
    }
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int write_all(conform_run *r, bool conforms)
{
    int failed = 0;
    if (conforms && conform_is_whole(r))
        failed |= conform_write_certificate(r);
    else if (r->certificate)
        nd__text_add(&r->trouble, "no certificate: %s\n",
                     conforms ? "only a whole run, of every group with the usual count, gets one"
                              : "it goes to plug-ins that conform");
    if (r->tap)
        conform_print_tap(r);
    if (!r->quiet)
        conform_print_end(r, conforms);
    failed |= r->junit ? conform_write_junit(r) : 0;
    failed |= r->json ? conform_write_json(r, conforms) : 0;
    failed |= r->html ? conform_write_html(r, conforms) : 0;
    return failed;
}

/* One check or case of group A, or of a program of the kit. */
static int replay(conform_run *r)
{
    conform_group *g = conform_group_of(r, r->replay[0]);
    if (g->program)
        return conform_replay(r);
    r->filter = r->replay;
    conform_run_static(r, g);
    conform_count(r, g);
    conform_print_tap(r);
    return g->count[CASE_FAIL] ? 1 : g->count[CASE_PASS] ? 0 : EXIT_CANNOT;
}

/* A file that was meant to be another one gets a sentence, and no list of all that it lacks. */
static bool is_plugin(conform_run *r)
{
    elf_file e;
    elf_symbol symbol;
    nd_note_file note;
    uint64_t at = 0;
    char why[512];
    bool entry = false;
    if (!elf_open(r->path, &e, why, sizeof why)) {
        fprintf(stderr, "ndock conform: %s is no plug-in: %s\n", r->file, why);
        return false;
    }
    while (!entry && elf_next_export(&e, &at, &symbol))
        entry = strcmp(symbol.name, NDP_ENTRY) == 0;
    elf_close(&e);
    const bool noted = nd__note_read(r->path, &note, why, sizeof why) != ND_NOTE_ABSENT;
    if (!entry && !noted)
        fprintf(stderr,
                "ndock conform: %s is no plug-in: it has no note of ndock's and exports no "
                "%s\n",
                r->file, NDP_ENTRY);
    return entry || noted;
}

static int run(conform_run *r)
{
    int status;
    if (r->expect && !conform_expect_read(r))
        return EXIT_CANNOT;
    if (!realpath(r->file, r->path)) {
        fprintf(stderr, "ndock conform: %s: %s\n", r->file, strerror(errno));
        return EXIT_CANNOT;
    }
    if (!is_plugin(r))
        return EXIT_CANNOT;
    if (r->replay)
        return replay(r);
    r->quiet = r->tap || is_stdout(r->junit) || is_stdout(r->json) || is_stdout(r->html);
    conform_read_file(r);
    conform_sha256(r->path, r->sha256);
    conform_read_host(r);
    if (!r->quiet)
        conform_print_head(r);
    run_groups(r);
    bool conforms = conform_judge(r, &status);
    return write_all(r, conforms) ? EXIT_CANNOT : status;
}

int tool_conform(int argc, char **argv)
{
    conform_run r = {.tier = -1, .reached = -1};
    memcpy(r.group, all_groups, sizeof all_groups);
    for (int i = 0; i < CONFORM_GROUPS; i++)
        r.group[i].wanted = true;
    int status = read_options(&r, argc, argv);
    if (status < 0)
        status = run(&r);
    conform_free(&r);
    return status;
}
