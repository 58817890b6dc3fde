/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock cache`: what the folder of compiled kernels holds, for people or as JSON, and clearing
 * it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/cache/cache.h"
#include "tools/tool.h"

static int usage(FILE *out, int status)
{
    fputs("Usage: ndock cache [--json] [show | list | clear]\n\n"
          "  show   the folder of kernels that were compiled at run time, and what it holds\n"
          "  list   every entry, the latest used first\n"
          "  clear  removes all of them; programs that run keep what they use\n\n"
          "The folder is NDOCK_KERNEL_CACHE_DIR, else $XDG_CACHE_HOME/ndock/kernels, else\n"
          "~/.cache/ndock/kernels. --json prints the same for programs.\n",
          out);
    return status;
}

static const char *time_text(int64_t seconds, char text[32])
{
    const time_t t = (time_t)seconds;
    struct tm parts;
    if (!gmtime_r(&t, &parts) || !strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts))
        text[0] = 0;
    return text;
}

/* ---- show ---- */
static void show_json(const nd_kernel_stats *s, const cache_entries *all)
{
    json_writer w = {.out = stdout};
    json_open(&w, NULL, '{');
    json_integer(&w, "schema", 1);
    json_text(&w, "dir", nd_kernel_cache_dir());
    json_bool(&w, "writable", s->writable);
    json_integer(&w, "entries", s->disk_entries);
    json_integer(&w, "bytes", s->disk_bytes);
    json_integer(&w, "max_bytes", s->max_disk_bytes);
    json_integer(&w, "damaged", all->damaged);
    json_open(&w, "makers", '[');
    for (size_t i = 0; i < all->n_makers; i++) {
        json_open(&w, NULL, '{');
        json_text(&w, "library", all->makers[i].name);
        json_integer(&w, "entries", all->makers[i].entries);
        json_integer(&w, "bytes", all->makers[i].nbytes);
        json_close(&w, '}');
    }
    json_close(&w, ']');
    json_close(&w, '}');
}

static void show_text(const nd_kernel_stats *s, const cache_entries *all)
{
    const char *dir = nd_kernel_cache_dir();
    printf("folder    %s%s\n", dir[0] ? dir : "none: kernels are kept in memory alone",
           dir[0] && !s->writable ? "  (cannot be written)" : "");
    printf("entries   %llu\n", (unsigned long long)s->disk_entries);
    printf("bytes     %llu of at most %llu\n", (unsigned long long)s->disk_bytes,
           (unsigned long long)s->max_disk_bytes);
    for (size_t i = 0; i < all->n_makers; i++)
        printf("  %-26s %8llu entries %12llu bytes\n", all->makers[i].name,
               (unsigned long long)all->makers[i].entries,
               (unsigned long long)all->makers[i].nbytes);
    if (all->damaged)
        printf("damaged   %llu, which are removed when they are wanted\n",
               (unsigned long long)all->damaged);
}

/* ---- list ---- */
static void list_json(const cache_entries *all)
{
    char used[32];
    json_writer w = {.out = stdout};
    json_open(&w, NULL, '[');
    for (size_t i = 0; i < all->n; i++) {
        const cache_entry *e = &all->items[i];
        json_open(&w, NULL, '{');
        json_text(&w, "name", e->name);
        json_integer(&w, "bytes", e->nbytes);
        json_text(&w, "used", time_text(e->used, used));
        json_bool(&w, "damaged", e->damaged);
        json_text(&w, "library", e->library);
        json_text(&w, "arch", e->arch);
        json_text(&w, "compiler", e->compiler);
        json_text(&w, "options", e->options);
        json_close(&w, '}');
    }
    json_close(&w, ']');
}

static void list_text(const cache_entries *all)
{
    char used[32];
    for (size_t i = 0; i < all->n; i++) {
        const cache_entry *e = &all->items[i];
        printf("%.12s  %s %10llu  %s  %s\n", e->name, time_text(e->used, used),
               (unsigned long long)e->nbytes, e->damaged ? "DAMAGED" : e->library,
               e->damaged ? "" : e->arch);
    }
}

/* ---- the command ---- */
static int show(bool list, bool json)
{
    nd_kernel_stats s = {.size = sizeof s};
    cache_entries all;
    if (nd_kernel_cache_stats(&s) != ND_OK)
        return tool_failed("cache");
    if (cache_read(nd_kernel_cache_dir(), &all) != 0) {
        fprintf(stderr, "ndock: cache: no memory for the list of entries\n");
        return 1;
    }
    if (list)
        (json ? list_json : list_text)(&all);
    else
        (json ? show_json : show_text)(&s, &all);
    cache_free(&all);
    return 0;
}

static int clear(bool json)
{
    nd_kernel_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    json_writer w = {.out = stdout};
    if (nd_kernel_cache_stats(&before) != ND_OK || nd_kernel_cache_clear() != ND_OK ||
        nd_kernel_cache_stats(&after) != ND_OK)
        return tool_failed("cache");
    const unsigned long long gone = before.disk_entries - after.disk_entries;
    if (!json) {
        printf("%llu entries removed\n", gone);
        return 0;
    }
    json_open(&w, NULL, '{');
    json_integer(&w, "schema", 1);
    json_integer(&w, "removed", gone);
    json_close(&w, '}');
    return 0;
}

int tool_cache(int argc, char **argv)
{
    bool json = false;
    const char *what = "show";
    for (int i = 1, words = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0)
            return usage(stdout, 0);
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (words++ == 0)
            what = argv[i];
        else
            what = argv[i][0] ? argv[i] : "?";
    }
    if (strcmp(what, "clear") == 0)
        return clear(json);
    if (strcmp(what, "show") == 0 || strcmp(what, "list") == 0)
        return show(what[0] == 'l', json);
    fprintf(stderr, "ndock cache: there is no \"%s\"\n", what);
    return usage(stderr, EXIT_USAGE);
}
