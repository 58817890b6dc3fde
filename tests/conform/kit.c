/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The suite as `ndock conform` runs it: on the file of a plug-in, under the policy of its tier, and
 * with a last word about the case in hand when a signal ends the program. */
#include <ndock/plugin.h>
#include <signal.h>
#include <unistd.h>
#include "tests/conform/conform.h"

enum { MOST_PLUGINS = 256 };
static bool has_kernels;
static char last_words[320];
static volatile sig_atomic_t last_words_n;

void kit_now(const char *name, int64_t i)
{
    last_words_n = 0;
    int n = snprintf(last_words, sizeof last_words, "# in D.%s\n# replay: D:%s:%llu:%lld\n", name,
                     name, (unsigned long long)run.seed, (long long)i);
    last_words_n = n < (int)sizeof last_words ? n : 0;
}

/* Sanitizers have handlers of their own, which say more. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void say_last_words(int signal_number)
{
    ssize_t n = write(STDOUT_FILENO, last_words, (size_t)last_words_n);
    (void)n;
    raise(signal_number); /* SA_RESETHAND: it ends the program now */
}

static void catch_signals(void)
{
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM};
    static char room[1 << 16]; /* the stack may be what overflowed */
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_handler = say_last_words, .sa_flags = SA_RESETHAND | SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0)
        return;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &action, NULL);
}
#else
static void catch_signals(void) {}
#endif

/* What became of the plug-in in file. */
static bool find_report(const char *file, nd_plugin_report *out)
{
    static nd_plugin_report all[MOST_PLUGINS];
    int32_t n = 0;
    if (nd_plugin_list(all, MOST_PLUGINS, &n) != ND_OK)
        return false;
    for (int i = 0; i < n && i < MOST_PLUGINS; i++)
        if (strcmp(all[i].path, file) == 0) {
            *out = all[i];
            return true;
        }
    return false;
}

/* It is sound as far as was seen, but there is nothing here for it to drive. */
static bool nothing_to_drive(const char *state)
{
    return strcmp(state, "NO_DEVICE") == 0 || strcmp(state, "NO_LIBRARY") == 0 ||
           strcmp(state, "OLD_DRIVER") == 0;
}

static int refused(const char *what)
{
    printf("not ok 1 - D.load: %s\n# replay: D.load\n1..1\n", what);
    return 1;
}

int kit_open(const char *file)
{
    nd_plugin_report report = {0};
    const void *kernels = NULL;
    struct ndp_dev *dev;
    char name[80], path[4096];
    static const char *const not_mine[] = {"NDOCK_DEVICE", "NDOCK_PLUGINS", "NDOCK_FALLBACK"};
    for (size_t i = 0; i < sizeof not_mine / sizeof *not_mine; i++)
        unsetenv(not_mine[i]);
    setenv("NDOCK_PLUGIN_PROBE", "off", 0); /* a crash is to be seen here */
    catch_signals();
    contract_listen();
    if (!realpath(file, path))
        return refused("the file cannot be found");
    nd_status status = nd_plugin_load(path);
    char said[1024];
    snprintf(said, sizeof said, "%s", status == ND_OK ? "" : nd_last_error()->message);
    if (!find_report(path, &report))
        return refused(said[0] ? said : "the loader did not look at the file");
    if (status != ND_OK && nothing_to_drive(report.state)) {
        printf("1..0 # SKIP %s: %s\n", report.state, report.reason);
        return 0;
    }
    snprintf(name, sizeof name, "%s:0", report.name);
    if (status != ND_OK || nd_device_get(name, &run.device) != ND_OK)
        return refused(said[0] ? said : nd_last_error()->message);
    has_kernels =
        nd_device_group(run.device, "ndp.op/1", &kernels, &dev) == ND_OK && kernels != NULL;
    run.fallback = ND_FALLBACK_ALLOW;
    return -1;
}

bool kit_has_kernels(void)
{
    return has_kernels;
}
