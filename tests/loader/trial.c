/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in that crashes, ends the program or never comes back does so in the spawned program
 * alone, and once: what came of it is remembered by the file's contents. So is one that changes
 * what belongs to the whole process; what it changes of its thread is put back. */
#include <fenv.h>
#include <ftw.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include "tests/loader/sandbox.h"

static char cache[300], trace[300], program[512];

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

/* The next trial is of a file that nobody knows, while what is known of others stays. */
static void make_unknown(const char *plugin)
{
    char path[512], name[64];
    snprintf(name, sizeof name, "ndock-%s.so", plugin);
    path_in(path, sizeof path, name);
    FILE *f = fopen(path, "a");
    if (!f || fputc('\n', f) == EOF || fclose(f) != 0)
        bail(path);
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
    begin("mock00");
    expect("mock00", "LOADED", "", "the CPU and a good one are tried, with all the time they need");
    install("hangs", "hangs");
    setenv("NDOCK_PLUGIN_PROBE_TIMEOUT", "1", 1);
    expect("hangs", "QUARANTINED", "within 1 s", "a probe that never comes back");
    unsetenv("NDOCK_PLUGIN_PROBE_TIMEOUT");
    expect("hangs", "QUARANTINED", "within 1 s", "which the next process need not wait for");
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

/* What a constructor may do (changes.c), and the words with which the plug-in is refused. */
static const struct {
    const char *change, *word;
} harms[] = {
    {"locale", "it sets the locale to"},
    {"handler", "it installs a handler of signal 11"},
    {"ignore", "it ignores signal 13"},
    {"print", "it prints to standard output: \"changes: hello"},
    {"close", "it closes"},
    {"replace", "it closes or replaces files that are not its own (descriptor 2)"},
    {"umask", "it sets the umask to 0000"},
    {"folder", "it changes the current folder to /"},
    {"setenv", "it sets MOCK_WAS_HERE in the environment"},
    {"clearenv", "it removes"},
    {"limit", "it sets a resource limit (RLIMIT_NOFILE) to 50"},
    {"timer", "it starts a timer (ITIMER_REAL)"},
    {"child", "it leaves a process that it has started"},
    {"group", "it changes the process group"},
    {"kill", "(SIGTERM)"},
    {"exit", "with status 0"},
    {"claim-crash", "(SIGABRT)"},
    {"session-crash", "(SIGABRT)"},
};

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void process_is_kept(void)
{
    begin("changes");
    setenv("NDOCK_PLUGIN_PROBE_TIMEOUT", "3600", 1);
    setenv("MOCK_CHANGE", "nothing", 1);
    expect("changes", "LOADED", "", "a constructor that does nothing is harmless");
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        const double start = seconds_now();
        make_unknown("changes");
        setenv("MOCK_CHANGE", harms[i].change, 1);
        expect("changes", "QUARANTINED", harms[i].word, harms[i].change);
        ok(seconds_now() - start < 1800, "told at once, not at the deadline");
    }
    setenv("NDOCK_PLUGIN_PROBE_TIMEOUT", "2", 1); /* the CPU's plug-in is not tried again */
    static const char *const late[] = {"close-hang", "claim-hang", "stop"};
    for (size_t i = 0; i < sizeof late / sizeof *late; i++) {
        make_unknown("changes");
        setenv("MOCK_CHANGE", late[i], 1);
        expect("changes", "QUARANTINED", "within 2 s", late[i]);
    }
    unsetenv("NDOCK_PLUGIN_PROBE_TIMEOUT");
    unsetenv("MOCK_CHANGE");
    remove_folder();
}

static int read_number(const char *path)
{
    int number = -1;
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &number) != 1)
        number = -1;
    if (f)
        fclose(f);
    return number;
}

/* Whether the process has ended; a zombie that nobody has reaped counts as ended. */
static bool has_ended(int pid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    if (f)
        fclose(f);
    return !f || state == 'Z' || state == 'X';
}

/* What a constructor has started ends with the trial, whether it crashed or not. */
static void children_end(void)
{
    static const char *const changes[] = {"child", "child-crash"};
    char path[512];
    begin("changes");
    path_in(path, sizeof path, "child");
    setenv("MOCK_CHILD", path, 1);
    setenv("NDOCK_PLUGIN_PROBE", "on", 1);
    for (size_t i = 0; i < 2; i++) {
        setenv("MOCK_CHANGE", changes[i], 1);
        unlink(path);
        expect("changes", "QUARANTINED", "", changes[i]);
        const int pid = read_number(path);
        const double end = seconds_now() + 120;
        while (pid > 0 && !has_ended(pid) && seconds_now() < end)
            sched_yield();
        ok(pid > 0 && has_ended(pid), "what it started has ended with the trial");
    }
    unsetenv("NDOCK_PLUGIN_PROBE");
    unsetenv("MOCK_CHANGE");
    unsetenv("MOCK_CHILD");
    remove_folder();
}

/* A thread's own settings are no reason to refuse: they are as they were after loading. */
static int look_at_settings(void)
{
    char path[512];
    sigset_t before, now;
    locale_t locale = uselocale((locale_t)0);
    volatile double smallest = 4.9406564584124654e-324;
    path_in(path, sizeof path, "ndock-changes.so");
    setenv("MOCK_CHANGE", "modes", 1);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    if (nd_plugin_load(path) != ND_OK)
        return 1;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    if (sigismember(&now, SIGUSR1) != sigismember(&before, SIGUSR1))
        return 2;
    if (fegetround() != FE_TONEAREST || smallest * 1 == 0)
        return 3;
    return uselocale((locale_t)0) == locale ? 0 : 4;
}

static void thread_is_kept(void)
{
    begin("changes");
    is_int(in_child(look_at_settings, folder), 0,
           "rounding, flush-to-zero, the signal mask and the thread's locale are put back");
    remove_folder();
}

/* The same build-id, other contents: each file has a verdict of its own. */
static void damaged_copy(void)
{
    char path[512];
    begin("changes");
    path_in(path, sizeof path, "ndock-changes.so");
    rename_all(path, "CHANGE: nothing", "CHANGE: crash  ");
    expect("changes", "QUARANTINED", "(SIGABRT)", "a damaged copy is quarantined");
    install("changes", "changes");
    expect("changes", "LOADED", "", "and the good file in its place is not");
    rename_all(path, "CHANGE: nothing", "CHANGE: crash  ");
    setenv("NDOCK_PROBE_PROGRAM", "/bin/false", 1);
    expect("changes", "QUARANTINED", "(SIGABRT)", "the damaged one is known again, untried");
    setenv("NDOCK_PROBE_PROGRAM", program, 1);
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
    setenv("NDOCK_PROBE_PROGRAM", program, 1);
    remove_folder();
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"crashes", crashes},
                                     {"others", others},
                                     {"exits", exits},
                                     {"hangs", hangs},
                                     {"harmless", harmless},
                                     {"without_program", without_program},
                                     {"process_is_kept", process_is_kept},
                                     {"children_end", children_end},
                                     {"thread_is_kept", thread_is_kept},
                                     {"damaged_copy", damaged_copy}};
    snprintf(program, sizeof program, "%s/tools/ndock-probe", getcwd((char[400]){0}, 400));
    setenv("NDOCK_PROBE_PROGRAM", program, 1);
    return tap_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
