/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which devices there are without opening one, what a plug-in without devices says, and the
 * services as a loaded plug-in sees them. Each case is a process of its own, since a process loads
 * once. */
#include <sys/wait.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/cache/served.h"
#include "tests/tap.h"

/* Exit status of look() in a child that sees this plug-in of the build tree and the CPU's. */
static int with_plugin(const char *file, int (*look)(void))
{
    char here[512], path[2048];
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (!getcwd(here, sizeof here))
            _exit(99);
        snprintf(path, sizeof path, "%s/tests/%s:%s/backends/cpu/.libs", here, file, here);
        setenv("NDOCK_PLUGIN_PATH", path, 1);
        _exit(look());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}
#define SERVED "cache/.libs/ndock-served.so"

static int state_of(const char *name, int32_t probe)
{
    int32_t state = -1;
    return nd_device_available(name, probe, &state) == ND_OK ? state : -1;
}

/* Three numbers there and back, and their doubles. */
static int computes(const char *name)
{
    const int64_t shape[1] = {3};
    const float in[3] = {1, 2, 3};
    float out[3] = {0}, twice[3] = {0};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = shape};
    nd_device *d;
    nd_array *a = NULL, *sum = NULL;
    int right = nd_device_get(name, &d) == ND_OK && nd_from_host(&layout, in, d, &a) == ND_OK &&
                nd_to_host(a, out, sizeof out) == ND_OK && memcmp(in, out, sizeof in) == 0 &&
                nd_add(a, a, &sum) == ND_OK && nd_to_host(sum, twice, sizeof twice) == ND_OK &&
                twice[0] == 2 && twice[2] == 6;
    if (!right)
        fprintf(stderr, "# %s\n", nd_last_error()->message);
    nd_release(a);
    nd_release(sum);
    return right;
}

static int in_fork(int (*look)(void))
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(look());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

/* ---- D10 ---- */
static int three_states(void)
{
    if (state_of("served", ND_PROBE_COUNT) != ND_AVAILABLE_LIKELY ||
        state_of("served:1", ND_PROBE_COUNT) != ND_AVAILABLE_LIKELY ||
        state_of("served:2", ND_PROBE_COUNT) != ND_AVAILABLE_NO ||
        state_of("nothing", ND_PROBE_COUNT) != ND_AVAILABLE_NO)
        return 1;
    if (state_of("served:1", ND_PROBE_OPEN) != ND_AVAILABLE_YES ||
        state_of("served:1", ND_PROBE_COUNT) != ND_AVAILABLE_YES ||
        state_of("served:0", ND_PROBE_COUNT) != ND_AVAILABLE_LIKELY)
        return 2;
    return 0;
}

static int bad_arguments(void)
{
    int32_t state = 7;
    if (nd_device_available(NULL, 0, &state) != ND_ERR_ARGUMENT || state != ND_AVAILABLE_NO)
        return 1;
    if (nd_device_available("cpu", 5, &state) != ND_ERR_ARGUMENT ||
        !strstr(nd_last_error()->message, "5"))
        return 2;
    return nd_device_available("cpu:x", 0, &state) == ND_ERR_DEVICE ? 0 : 3;
}

static int likely_but_not(void)
{
    return state_of("openfails", ND_PROBE_COUNT) == ND_AVAILABLE_LIKELY &&
                   state_of("openfails", ND_PROBE_OPEN) == ND_AVAILABLE_NO &&
                   strstr(nd_last_error()->message, "busy")
               ? 0
               : 1;
}

static int child_computes(void)
{
    return state_of("served", ND_PROBE_COUNT) == ND_AVAILABLE_LIKELY && computes("served:0") &&
                   state_of("served", ND_PROBE_COUNT) == ND_AVAILABLE_YES
               ? 0
               : 1;
}

static int ask_fork_compute(void)
{
    if (state_of("served", ND_PROBE_COUNT) != ND_AVAILABLE_LIKELY)
        return 1;
    if (in_fork(child_computes) != 0)
        return 2;
    return computes("served:0") ? 0 : 3;
}

static int child_is_told(void)
{
    nd_device *d;
    if (state_of("served", ND_PROBE_COUNT) != ND_AVAILABLE_NO ||
        state_of("cpu", ND_PROBE_COUNT) == ND_AVAILABLE_NO)
        return 1;
    if (nd_device_get("served", &d) != ND_OK)
        return 2;
    return nd_synchronize(d) == ND_ERR_FORKED && computes("cpu") ? 0 : 3;
}

static int open_fork(void)
{
    return computes("served:0") ? in_fork(child_is_told) : 100;
}

static void availability(void)
{
    is_int(with_plugin(SERVED, three_states), 0, "D10 no, likely, and yes once it is open");
    is_int(with_plugin(SERVED, bad_arguments), 0, "D10 bad arguments are told");
    is_int(with_plugin("loader/.libs/ndock-openfails.so", likely_but_not), 0,
           "D10 likely, and no with the reason when opening it fails");
    is_int(with_plugin(SERVED, ask_fork_compute), 0,
           "D10 is it available, fork: the child opens it and computes, and so does the parent");
    is_int(with_plugin(SERVED, open_fork), 0,
           "D10 opened before the fork: the child is told no, and the CPU works");
}

/* ---- D12 ---- */
static const char *want_state, *want_words[4];
static int says_why(void)
{
    nd_plugin_report r[16];
    nd_device *d;
    int32_t n;
    if (nd_plugin_list(r, 16, &n) != ND_OK || strcmp(r[0].state, want_state) != 0)
        return 1;
    nd_status status = nd_device_get(r[0].name, &d);
    for (int i = 0; i < 4 && want_words[i]; i++)
        if (!strstr(r[0].reason, want_words[i]) || status != ND_ERR_DEVICE ||
            !strstr(nd_last_error()->message, want_words[i])) {
            fprintf(stderr, "# %s: %s\n", r[0].state, r[0].reason);
            return 2;
        }
    return state_of(r[0].name, ND_PROBE_OPEN) == ND_AVAILABLE_NO && computes("cpu") ? 0 : 3;
}

static void failures(void)
{
    want_state = "NO_LIBRARY";
    want_words[0] = "libndock-mock.so.2";
    want_words[1] = "libndock-mock.so.1";
    want_words[2] = "install the package mock-driver";
    is_int(with_plugin("cache/.libs/ndock-nolibrary.so", says_why), 0,
           "D12 library missing: its names and what to install; the CPU works");
    want_state = "OLD_DRIVER";
    want_words[0] = "12.1";
    want_words[1] = "12.4";
    want_words[2] = NULL;
    is_int(with_plugin("cache/.libs/ndock-olddriver.so", says_why), 0,
           "D12 driver too old: both versions; the CPU works");
    want_state = "NO_DEVICE";
    want_words[0] = "shows none";
    want_words[1] = NULL;
    setenv("MOCK_VISIBLE_DEVICES", "", 1);
    is_int(with_plugin(SERVED, says_why), 0, "D12 no device: its reason; the CPU works");
    unsetenv("MOCK_VISIBLE_DEVICES");
}

/* ---- D16 ---- */
static int served_count(void)
{
    const char *names[16];
    int32_t n, count = 0;
    if (nd_device_list(names, 16, &n) != ND_OK)
        return -1;
    for (int32_t i = 0; i < n && i < 16; i++)
        count += strncmp(names[i], "served:", 7) == 0;
    return count;
}

static int frozen(void)
{
    static const struct {
        const char *visible;
        int count;
    } before[] = {{"0", 1}, {"", 0}, {"0,1", 2}, {"0,0", 0}, {" 1 , 0 ", 2}, {"1", 1}, {"0,1", 2}};
    nd_device *d;
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        setenv("MOCK_VISIBLE_DEVICES", before[i].visible, 1);
        if (served_count() != before[i].count ||
            state_of("served", ND_PROBE_COUNT) !=
                (before[i].count ? ND_AVAILABLE_LIKELY : ND_AVAILABLE_NO))
            return (int)i + 1;
    }
    setenv("MOCK_VISIBLE_DEVICES", "0", 1);
    if (served_count() != 1)
        return 19;
    setenv("MOCK_VISIBLE_DEVICES", "0,1", 1); /* nobody has counted since */
    if (nd_device_get("cpu", &d) != ND_OK || nd_device_get("served:1", &d) != ND_OK)
        return 20;
    setenv("MOCK_VISIBLE_DEVICES", "", 1);
    return served_count() == 2 && nd_device_get("served:0", &d) == ND_OK &&
                   nd_device_get("served:2", &d) == ND_ERR_DEVICE
               ? 0
               : 21;
}

static int reports_stay(void)
{
    nd_plugin_report r[16];
    int32_t n;
    setenv("MOCK_VISIBLE_DEVICES", "", 1);
    if (nd_plugin_list(r, 16, &n) != ND_OK || strcmp(r[0].state, "NO_DEVICE") != 0)
        return 1;
    const char *reason = r[0].reason;
    for (int i = 0; i < 10; i++) {
        setenv("MOCK_VISIBLE_DEVICES", i % 2 ? "junk" : "0", 1);
        if (served_count() != !(i % 2))
            return 2;
    }
    return strstr(reason, "shows none") ? 0 : 3;
}

static void counting(void)
{
    is_int(with_plugin(SERVED, frozen), 0,
           "D16 the variable counts until a device is open; then the number is constant");
    is_int(with_plugin(SERVED, reports_stay), 0, "D16 texts of earlier reports stay");
}

/* ---- the services ---- */
static int served_dev(const served_1 **g, struct ndp_dev **dev)
{
    nd_device *d;
    const void *table;
    if (nd_device_get("served", &d) != ND_OK ||
        nd_device_group(d, "test.served/1", &table, dev) != ND_OK)
        return 0;
    *g = table;
    return *g != NULL;
}

static int serves(void)
{
    const served_1 *g;
    struct ndp_dev *dev;
    char folder[] = "/tmp/ndock-served.XXXXXX", command[64];
    if (!mkdtemp(folder))
        return 1;
    setenv("NDOCK_KERNEL_CACHE_DIR", folder, 1);
    if (!served_dev(&g, &dev))
        return 2;
    int32_t step[4] = {g->plans(dev), g->kernels(dev), g->workspaces(dev), g->others(dev)};
    nd_clear_workspaces();
    nd_status cleared = nd_kernel_cache_clear();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0 || cleared != ND_OK)
        return 3;
    for (int i = 0; i < 4; i++)
        if (step[i]) {
            fprintf(stderr, "# service %d fails at step %d: %s\n", i, (int)step[i],
                    nd_last_error()->message);
            return 10 * (i + 1);
        }
    return 0;
}

static void services(void)
{
    is_int(with_plugin(SERVED, serves), 0,
           "W2 W6 W9 W14 D8 a plug-in gets plans, kernels, workspaces, and no unknown service");
}

TAP_MAIN({"availability", availability}, {"failures", failures}, {"counting", counting},
         {"services", services})
