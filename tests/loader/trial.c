/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in that crashes, ends the program or never comes back does so in the spawned program
 * alone, and once: what came of it is remembered by the file's build-id. */
#include <ftw.h>
#include <signal.h>
#include <time.h>
#include "tests/loader/sandbox.h"

static char cache[300], trace[300];

static int forget(const char *path, const struct stat *st, int type, struct FTW *f)
{
    (void)st;
    (void)type;
    return f->level ? remove(path) : 0;
}

static int lines_of(const char *path)
{
    int lines = 0;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        lines += c == '\n';
    if (f)
        fclose(f);
    unlink(path);
    return lines;
}

static void begin(const char *plugin)
{
    fresh_folder();
    path_in(cache, sizeof cache, "cache");
    path_in(trace, sizeof trace, "trace");
    mkdir(cache, 0700);
    setenv("NDOCK_KERNEL_CACHE_DIR", cache, 1);
    setenv("MOCK_TRACE", trace, 1);
    install(plugin, plugin);
}

static void expect(const char *plugin, const char *state, const char *word, const char *what)
{
    char file[64];
    snprintf(file, sizeof file, "ndock-%s.so", plugin);
    want_state = state;
    want_word = word;
    want_path = file;
    is_int(in_child(look_at_state, folder), 0, what);
}

static void crashes(void)
{
    begin("crashes");
    expect("crashes", "QUARANTINED", "it is not loaded here",
           "a crash in the constructor: quarantined, and the CPU works");
    is_int(lines_of(trace), 1, "it ran once");
    expect("crashes", "QUARANTINED", "rm '", "the next process knows, and says how to try again");
    is_int(lines_of(trace), 0, "it did not run again");
    setenv("NDOCK_PLUGIN_PROBE", "on", 1);
    expect("crashes", "QUARANTINED", "NDOCK_PLUGIN_PROBE=off", "on: tried each time");
    is_int(lines_of(trace), 1, "it ran again");
    unsetenv("NDOCK_PLUGIN_PROBE");
    nftw(cache, forget, 8, FTW_DEPTH | FTW_PHYS);
    expect("crashes", "QUARANTINED", "", "forgotten with the file that kept it");
    is_int(lines_of(trace), 1, "it ran again");
    remove_folder();
}

static int look_at_two(void)
{
    nd_device *d;
    char path[512];
    path_in(path, sizeof path, "ndock-crashes.so");
    return nd_device_get("crashes", &d) == ND_ERR_DEVICE &&
                   strstr(nd_last_error()->message, "QUARANTINED") &&
                   nd_plugin_load(path) == ND_ERR_PLUGIN &&
                   strstr(nd_last_error()->message, "QUARANTINED") &&
                   nd_device_get("mock00", &d) == ND_OK
               ? 0
               : 1;
}

/* A program that ignores SIGCHLD learns no status of its children. */
static int look_ignoring(void)
{
    signal(SIGCHLD, SIG_IGN);
    return look_at_two();
}

static void others(void)
{
    begin("crashes");
    install("mock00", "mock00");
    is_int(in_child(look_at_two, folder), 0,
           "others serve, and the error for its device says what happened");
    is_int(lines_of(trace), 1 + 2, "the crash ran once; the other here and there");
    is_int(in_child(look_at_two, folder), 0, "again");
    is_int(lines_of(trace), 1, "the other ran here alone");
    nftw(cache, forget, 8, FTW_DEPTH | FTW_PHYS);
    is_int(in_child(look_ignoring, folder), 0, "also in a program that ignores SIGCHLD");
    remove_folder();
}

static void exits(void)
{
    begin("exits");
    expect("exits", "QUARANTINED", "with status 3", "a constructor that ends the program");
    remove_folder();
}

static void hangs(void)
{
    struct timespec t;
    begin("hangs");
    setenv("NDOCK_PLUGIN_PROBE_TIMEOUT", "1", 1);
    clock_gettime(CLOCK_MONOTONIC, &t);
    const time_t start = t.tv_sec;
    expect("hangs", "QUARANTINED", "within 1 s", "a probe that never comes back");
    unsetenv("NDOCK_PLUGIN_PROBE_TIMEOUT");
    expect("hangs", "QUARANTINED", "within 1 s", "which the next process need not wait for");
    clock_gettime(CLOCK_MONOTONIC, &t);
    diag("both took %d s", (int)(t.tv_sec - start));
    remove_folder();
}

static void harmless(void)
{
    begin("mock00");
    expect("mock00", "LOADED", "", "a good one is tried and then loaded");
    is_int(lines_of(trace), 2, "there and here");
    expect("mock00", "LOADED", "", "the next process loads it at once");
    is_int(lines_of(trace), 1, "here alone");
    setenv("NDOCK_PLUGIN_PROBE", "off", 1);
    nftw(cache, forget, 8, FTW_DEPTH | FTW_PHYS);
    expect("mock00", "LOADED", "", "off: not tried");
    is_int(lines_of(trace), 1, "here alone");
    unsetenv("NDOCK_PLUGIN_PROBE");
    remove_folder();
    begin("nodevice");
    expect("nodevice", "NO_DEVICE", "install mock-driver", "a missing driver is no crash");
    remove_folder();
    begin("refuses");
    expect("refuses", "ENTRY", "newer host", "nor is an entry that refuses");
    remove_folder();
}

static int look_at_nothing(void)
{
    nd_device *d;
    return nd_device_get("mock00", &d) == ND_ERR_DEVICE &&
                   strstr(nd_last_error()->message, "QUARANTINED") &&
                   strstr(nd_last_error()->message, "/nowhere/ndock-probe")
               ? 0
               : 1;
}

static void without_program(void)
{
    begin("mock00");
    setenv("NDOCK_PROBE_PROGRAM", "/nowhere/ndock-probe", 1);
    expect("mock00", "LOADED", "", "without the program, auto loads untried");
    setenv("NDOCK_PROBE_PROGRAM", "/bin/false", 1);
    expect("mock00", "LOADED", "", "nor is one quarantined because the program does not work");
    setenv("NDOCK_PROBE_PROGRAM", "/nowhere/ndock-probe", 1);
    setenv("NDOCK_PLUGIN_PROBE", "on", 1);
    is_int(in_child(look_at_nothing, folder), 0, "and on loads nothing");
    unsetenv("NDOCK_PLUGIN_PROBE");
    remove_folder();
}

int main(int argc, char **argv)
{
    char program[512];
    static const tap_case cases[] = {{"crashes", crashes},   {"others", others},
                                     {"exits", exits},       {"hangs", hangs},
                                     {"harmless", harmless}, {"without_program", without_program}};
    snprintf(program, sizeof program, "%s/tools/ndock-probe", getcwd((char[400]){0}, 400));
    setenv("NDOCK_PROBE_PROGRAM", program, 1);
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
