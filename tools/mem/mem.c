/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock mem`: what a snapshot of memory holds, as a picture or a table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/mem/mem.h"
#include "tools/tool.h"

static int usage(FILE *out, int status)
{
    fputs("Usage: ndock mem snapshot SNAPSHOT.json [PICTURE]\n"
          "       ndock mem stats SNAPSHOT.json\n\n"
          "  snapshot  draws segments, and blocks over time, as one file: PICTURE, or\n"
          "            SNAPSHOT.html; a name that ends in .svg gets an SVG\n"
          "  stats     prints the sums\n\n"
          "NDOCK_MEMORY_SNAPSHOT=SNAPSHOT.json before any program, or\n"
          "nd_memory_snapshot_save() in it, writes a snapshot.\n",
          out);
    return status;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* SNAPSHOT.json becomes SNAPSHOT.html; malloc'ed. */
static char *picture_name(const char *snapshot)
{
    size_t n = strlen(snapshot) - (ends_in(snapshot, ".json") ? 5 : 0);
    char *name = malloc(n + 6);
    if (name) {
        memcpy(name, snapshot, n);
        memcpy(name + n, ".html", 6);
    }
    return name;
}

static int write_page(const char *to, nd_text *page)
{
    if (page->failed)
        errno = ENOMEM;
    if (!page->failed && tool_replace_file(to, page->data, page->len) == 0) {
        printf("%s\n", to);
        return 0;
    }
    fprintf(stderr, "ndock: mem: cannot write %s: %s\n", to, strerror(errno));
    return 1;
}

static int draw(const char *from, const char *given)
{
    mem_snapshot s;
    nd_text page = {0};
    char *made = given ? NULL : picture_name(from);
    const char *to = given ? given : made ? made : "snapshot.html";
    int failed = mem_read(from, &s);
    if (!failed) {
        mem_draw(&s, !ends_in(to, ".svg"), &page);
        failed = write_page(to, &page);
    }
    free(page.data);
    free(made);
    mem_free(&s);
    return failed;
}

static void print_bytes(const char *name, uint64_t bytes)
{
    printf("  %-22s %12s  %20llu\n", name, mem_size((double)bytes), (unsigned long long)bytes);
}

static void print_tags(const mem_life *l)
{
    for (int k = 0; k < l->n_groups; k++)
        if (l->groups[k].at_peak)
            printf("    %-20s %12s  %20llu\n", l->groups[k].text,
                   mem_size((double)l->groups[k].at_peak),
                   (unsigned long long)l->groups[k].at_peak);
}

static void print_device(const mem_snapshot *s, const mem_device *d)
{
    mem_sums sums;
    mem_life life;
    mem_sum(d, &sums);
    printf("%s%s%s%s\n", d->name[0] ? d->name : "device", d->allocator[0] ? "  (allocator " : "",
           d->allocator, d->allocator[0] ? ")" : "");
    print_bytes("reserved", sums.reserved);
    print_bytes("allocated", sums.allocated);
    print_bytes("asked for", sums.requested);
    print_bytes("waiting for a stream", sums.pending);
    print_bytes("free", sums.inactive);
    print_bytes("  in segments in use", sums.inactive_split);
    print_bytes("  largest piece", sums.largest_free);
    printf("  %-22s %11.0f%%\n", "fragmentation", 100 * sums.fragmentation);
    printf("  %-22s %12zu\n", "segments", d->n_segments);
    printf("  %-22s %12zu\n", "blocks allocated", sums.blocks[MEM_ALLOCATED]);
    printf("  %-22s %12zu\n", "events in the trace", d->n_events);
    if (mem_life_of(s, d, &life) == 0 && d->n_events) {
        print_bytes("peak in the trace", life.total[life.peak]);
        print_tags(&life);
    }
    mem_life_free(&life);
}

static int stats(const char *path)
{
    mem_snapshot s;
    int failed = mem_read(path, &s);
    for (size_t i = 0; !failed && i < s.n_devices; i++) {
        if (i)
            putchar('\n');
        print_device(&s, &s.devices[i]);
    }
    if (!failed && s.settings[0])
        printf("\nsettings  %s\n", s.settings);
    mem_free(&s);
    return failed;
}

int tool_mem(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage(stdout, 0);
    if (argc >= 3 && argc <= 4 && strcmp(argv[1], "snapshot") == 0)
        return draw(argv[2], argc > 3 ? argv[3] : NULL);
    if (argc == 3 && strcmp(argv[1], "stats") == 0)
        return stats(argv[2]);
    if (argc > 1 && strcmp(argv[1], "snapshot") != 0 && strcmp(argv[1], "stats") != 0)
        fprintf(stderr, "ndock mem: there is no \"%s\"\n", argv[1]);
    return usage(stderr, EXIT_USAGE);
}
