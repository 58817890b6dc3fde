/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * conform-abi [--group LETTER] [--seed N] [--count N] [--replay CASE] [--list] [--with FILE]
 * [--timeout SECONDS] FILE: the checks of one plug-in file below the library; TAP 14. `ndock
 * conform` runs it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi.h"

static const struct {
    char letter;
    const abi_check *checks;
} groups[] = {{'B', abi_load_checks},   {'C', abi_memory_checks},  {'E', abi_stream_checks},
              {'F', abi_thread_checks}, {'G', abi_process_checks}, {'H', abi_comm_checks},
              {'P', abi_speed_checks}};

static int usage(const char *why, const char *what)
{
    fprintf(stderr,
            "conform-abi: %s%s\nusage: conform-abi [--group B|C|E|F|G|H|P] [--seed N] [--count N] "
            "[--replay CASE] [--list] [--with FILE] [--timeout SECONDS] FILE\n",
            why, what);
    return 2;
}

typedef struct {
    char group;
    bool list;
    char replay[128];
} options;

static bool number(const char *text, uint64_t *out)
{
    char *end = NULL;
    if (text[0] < '0' || text[0] > '9')
        return false;
    *out = strtoull(text, &end, 0);
    return *end == 0;
}

/* One option with its value. False: it is not known, or its value is no good. */
static bool set(options *o, const char *name, const char *value)
{
    uint64_t n = 0;
    if (strcmp(name, "--group") == 0) {
        o->group = value[0];
        return value[0] && !value[1];
    }
    if (strcmp(name, "--seed") == 0)
        return number(value, &abi.seed);
    if (strcmp(name, "--count") == 0)
        return number(value, &abi.count) && abi.count > 0;
    if (strcmp(name, "--timeout") == 0) {
        bool ok = number(value, &n) && n > 0 && n < 86400;
        abi.timeout_s = (unsigned)n;
        return ok;
    }
    if (strcmp(name, "--with") == 0) {
        abi.with = value;
        return value[0] != 0;
    }
    if (strcmp(name, "--replay") == 0) {
        snprintf(o->replay, sizeof o->replay, "%s", value);
        char *at = strchr(o->replay, '@');
        if (at)
            *at = 0;
        return o->replay[0] && (!at || number(at + 1, &abi.seed));
    }
    return false;
}

/* The checks wanted, in order; how many. */
static int run_all(const options *o, int *failed)
{
    int n = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (const abi_check *c = groups[g].checks; c->id; c++) {
            if ((o->group && groups[g].letter != o->group) ||
                (o->replay[0] && strcmp(o->replay, c->id) != 0))
                continue;
            n++;
            if (o->list)
                printf("%s: %s\n", c->id, c->what);
            else
                *failed += !abi_run(c, n);
        }
    return n;
}

/* Groups B and C count the heap's bytes, of which glibc's caches of small blocks, one a thread,
 * count as used; a driver's threads have such. It can only be told at the start to keep none.
 * Valgrind has an allocator of its own, and would not follow. */
static void without_thread_caches(const options *o, char **argv)
{
    const char first = o->replay[0] ? o->replay[0] : o->group;
    const char *preloaded = getenv("LD_PRELOAD");
    if (o->list || (first && first != 'B' && first != 'C') || getenv("GLIBC_TUNABLES") ||
        (preloaded && strstr(preloaded, "vgpreload")))
        return;
    if (setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1) == 0)
        execv("/proc/self/exe", argv); /* where there is none we go on as we are */
}

int main(int argc, char **argv)
{
    static char file[PATH_MAX], with[PATH_MAX];
    options o = {0};
    int failed = 0;
    abi.seed = 1;
    abi.count = 100;
    abi.timeout_s = 60;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--list") == 0) {
            o.list = true;
        } else if (argv[i][0] == '-') {
            if (i + 1 >= argc || !set(&o, argv[i], argv[i + 1]))
                return usage("not understood: ", argv[i]);
            i++;
        } else if (abi.file) {
            return usage("one file, not also ", argv[i]);
        } else {
            abi.file = argv[i];
        }
    }
    if (!abi.file && !o.list)
        return usage("which plug-in file?", "");
    if (abi.file && !o.list && !realpath(abi.file, file))
        return usage("no such file: ", abi.file);
    if (abi.with && !realpath(abi.with, with))
        return usage("no such file: ", abi.with);
    without_thread_caches(&o, argv);
    abi.file = file;
    abi.with = abi.with ? with : NULL;
    if (!o.list)
        printf("TAP version 14\n");
    int n = run_all(&o, &failed);
    if (n == 0)
        return usage("no such check or group: ", o.replay[0] ? o.replay : "--group");
    if (!o.list)
        printf("1..%d\n", n);
    return failed ? 1 : 0;
}
