/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C16: keys of NDOCK_ALLOC_CONF that plug-ins add: by a plug-in of the test's own, and by sim. */
#include <sys/wait.h>
#include <unistd.h>
#include "core/memory/conf/settings.h"
#include "tests/tap.h"

/* What the test's plug-in, "mock", was told. */
static char told[256];
static const ndp_plugin table = {.size = sizeof table};
static nd_plugin_slot mock = {.name = (char *)(uintptr_t) "mock", .table = &table};

static void tell(const char *key, const char *value)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s=%s;", key, value);
}

static int32_t set_number(void *arg, const char *value)
{
    char *end = NULL;
    tell(arg, value);
    if (strtod(value, &end) <= 8 && !*end)
        return NDP_OK;
    return mock.host.error(mock.host.ctx, NDP_ERR_ARGUMENT, 77, "%s goes to 8", (const char *)arg);
}

/* Any word but "none". While it is told, settings can be read and not changed. */
static int32_t set_word(void *arg, const char *value)
{
    char *text = NULL;
    tell(arg, value);
    if (strcmp(value, "read") == 0) {
        int32_t status = nd_memory_conf_get(&text);
        free(text);
        return status;
    }
    if (strcmp(value, "change") == 0)
        return nd_memory_conf_set("thread_cache:false");
    return strcmp(value, "none") ? NDP_OK
                                 : mock.host.error(mock.host.ctx, NDP_ERR_MEMORY, 5, "it is empty");
}

static int32_t add(const char *key, const char *initial,
                   int32_t (*set)(void *arg, const char *value))
{
    return nd__conf_service.add(&mock, key, "a number up to 8", initial, set,
                                (void *)(uintptr_t)(key ? key : ""));
}

static void add_mock(void)
{
    nd__host_init(&mock);
    if (add("level", "2.5", set_number) || add("weight", "1", set_number) ||
        add("word", "one", set_word))
        bail(nd_last_error()->message);
    nd__conf_plugin_loaded("mock");
}

static bool says(const char *text)
{
    bool said = strstr(nd_last_error()->message, text) != NULL;
    if (!said)
        diag("%s", nd_last_error()->message);
    return said;
}

static bool prints(const char *values)
{
    char *text = NULL;
    bool good = nd_memory_conf_get(&text) == ND_OK && strstr(text, values);
    if (!good)
        diag("%s", text);
    free(text);
    return good;
}

/* ---- the environment, in children: it is read once a process ---- */
static bool child(const char *conf, bool (*check)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("NDOCK_ALLOC_CONF", conf, 1);
        bool good = check();
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static uint64_t free_bytes(nd_device *d)
{
    uint64_t free_now = 1, total = 0;
    return nd_memory_usage(d, &free_now, &total) == ND_OK ? free_now : 1;
}

static nd_status allocate(const char *device, int64_t nbytes)
{
    nd_array *a = NULL;
    nd_device *d;
    nd_status status = nd_device_get(device, &d);
    if (status == ND_OK)
        status = nd_empty(d, ND_U8, 1, &nbytes, &a);
    nd_release(a);
    return status;
}

static bool held_for_sim(void)
{
    nd_device *d;
    char *text = NULL;
    if (nd_memory_conf_get(&text) != ND_OK || strchr(text, '.') == NULL || strstr(text, "sim."))
        return false;
    free(text);
    return nd_device_get("sim:0", &d) == ND_OK && free_bytes(d) == 64 << 20 &&
           prints(",sim.memory_mb:64") && !nd__conf()->thread_cache && allocate("sim:0", 1) == 0;
}

static bool held_for_mock(void)
{
    (void)nd__conf();
    add_mock();
    return strcmp(told, "level=8;word=seven;") == 0 &&
           prints(",mock.level:8,mock.weight:1,mock.word:seven") && nd__conf_check() == ND_OK;
}

static bool unknown_key(void)
{
    return allocate("sim:0", 1) == ND_ERR_ARGUMENT && says("NDOCK_ALLOC_CONF: ") &&
           says("unknown key \"sim.memory\"; valid keys: max_split_size_mb, ") &&
           says("sim.memory_mb (all, or MiB");
}

static bool refused_value(void)
{
    return allocate("sim:0", 1) == ND_ERR_ARGUMENT && says("sim.memory_mb:lots: neither all") &&
           prints(",sim.memory_mb:all");
}

static bool never_loaded(void)
{
    return allocate("cpu", 1) == ND_OK && allocate("sim:0", 1) == ND_OK;
}

static bool bad_as_a_whole(void)
{
    add_mock();
    return nd__conf_check() == ND_ERR_ARGUMENT && says("\"perhaps\"") && told[0] == 0 &&
           prints(",mock.level:2.5,");
}

static bool no_value(void)
{
    return nd__conf_check() == ND_ERR_ARGUMENT && says("no value for \"mock.level\"");
}

static void environment(void)
{
    ok(child("thread_cache:false, sim.memory_mb : 64", held_for_sim),
       "C16 a value waits for its plug-in");
    ok(child("mock.level:3,mock.word:se ven,mock.level:8", held_for_mock),
       "C16 several of them; the last value of a key counts");
    ok(child("sim.memory:64", unknown_key), "C16 an unknown key of a plug-in that is loaded");
    ok(child("sim.memory_mb:lots", refused_value), "C16 a value that the plug-in refuses");
    ok(child("absent.level:3", never_loaded), "C16 a plug-in that is not there: ignored");
    ok(child("mock.level:3,thread_cache:perhaps", bad_as_a_whole),
       "C16 a bad text is ignored as a whole");
    ok(child("mock.level", no_value), "C16 a plug-in's key without a value");
}

/* ---- the call ---- */
static void before_loading(void)
{
    is_int(nd_memory_conf_set("sim.memory_mb:64"), ND_ERR_ARGUMENT, "C16 a key of sim");
    ok(says("plug-in \"sim\", which is not loaded"), "C16 before sim is loaded: it says so");
}

static void adding(void)
{
    nd_plugin_slot early = {.name = mock.name};
    is_int(nd__conf_service.add(&early, "level", "", "1", set_number, NULL), NDP_ERR_STATE,
           "C16 no keys before probe()");
    add_mock();
    ok(prints(",mock.level:2.5,mock.weight:1,mock.word:one"), "C16 initial values are printed");
    is_int(add("level", "3", set_number), NDP_ERR_STATE, "C16 a key is added once");
    ok(prints(",mock.level:2.5,") && says("mock.level was added before"), "C16 the first stays");
    static const char *const keys[] = {NULL, "", "Level", "a.b", "a b", "a:b"};
    static const char *const values[] = {NULL, "", "1,2", "a b"};
    for (int i = 0; i < 6; i++)
        is_int(add(keys[i], "1", set_number), NDP_ERR_ARGUMENT, "C16 not a key");
    for (int i = 0; i < 4; i++)
        is_int(add("fresh", values[i], set_number), NDP_ERR_ARGUMENT, "C16 not a value");
    is_int(add("fresh", "1", NULL), NDP_ERR_ARGUMENT, "C16 no function");
    is_str(told, "", "C16 nobody was told of anything");
}

static void setting(void)
{
    char *first = NULL, *second = NULL;
    is_int(nd_memory_conf_set("mock.word:four,max_cached_mb:100,mock.level:0.5"), ND_OK,
           "C16 set among the core's own");
    is_str(told, "word=four;level=0.5;", "C16 in the order of the text");
    ok(nd__conf()->max_cached == 100 << 20, "C16 the core's too");
    ok(nd_memory_conf_get(&first) == ND_OK && nd_memory_conf_set(first) == ND_OK &&
           nd_memory_conf_get(&second) == ND_OK && strcmp(first, second) == 0,
       "C16 what is printed is accepted, and prints the same");
    ok(strstr(first, ",mock.level:0.5,mock.weight:1,mock.word:four"), "C16 with all keys");
    free(first);
    free(second);
}

static void refusing(void)
{
    static const struct {
        const char *text, *told, *named;
        nd_status status;
    } rows[] = {
        {"mock.level:1,thread_cache:perhaps", "", "\"perhaps\"", ND_ERR_ARGUMENT},
        {"mock.level:1,mock.wait:2", "", "unknown key \"mock.wait\"; valid keys: max_split_size",
         ND_ERR_ARGUMENT},
        {"mock.level", "", "no value for \"mock.level\"; mock.level takes a number up to 8",
         ND_ERR_ARGUMENT},
        {"mock.level:", "", "bad value \"\"; mock.level takes", ND_ERR_ARGUMENT},
        {"mock.level:1,", "", "a key is missing", ND_ERR_ARGUMENT},
        {"other.level:1", "", "\"other\", which is not loaded", ND_ERR_ARGUMENT},
        {".level:1", "", "\".level\"", ND_ERR_ARGUMENT},
        {"mock.level:9", "level=9;", "memory_conf_set: mock.level:9: level goes to 8",
         ND_ERR_ARGUMENT},
        {"max_cached_mb:7,mock.level:3,mock.weight:4,mock.level:5,mock.word:none",
         "level=3;weight=4;level=5;word=none;level=0.5;weight=1;level=0.5;",
         "mock.word:none: it is empty", ND_ERR_MEMORY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        told[0] = 0;
        is_int(nd_memory_conf_set(rows[i].text), rows[i].status, rows[i].text);
        ok(says(rows[i].named), "C16 says why");
        is_str(told, rows[i].told, "C16 what was set is put back, the latest first");
        ok(nd__conf()->max_cached == 100 << 20 &&
               prints(",mock.level:0.5,mock.weight:1,mock.word:four"),
           "C16 nothing changes on failure");
    }
    ok(nd_last_error()->native == 5 && strcmp(nd_last_error()->plugin, "mock") == 0,
       "C16 the plug-in's error is whole");
    is_int(nd_memory_conf_set("mock.wait:2"), ND_ERR_ARGUMENT, "C16 unknown");
    ok(says("mock.level (a number up to 8)"), "C16 the valid keys include the plug-in's");
}

static void inside(void)
{
    is_int(nd_memory_conf_set("mock.word:read"), ND_OK, "C16 no lock is held around set()");
    is_int(nd_memory_conf_set("mock.word:change"), ND_ERR_STATE,
           "C16 settings are not changed from inside set()");
    ok(prints("mock.word:read"), "C16 nothing changes on failure");
}

static void *set_many(void *arg)
{
    char text[64];
    for (int i = 0; i < 300; i++) {
        snprintf(text, sizeof text, "mock.level:%d,mock.weight:%d", i % 9, i % 9);
        if (nd_memory_conf_set(text) != ND_OK)
            return arg;
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];
    void *wrong = NULL;
    int n = 0;
    if (nd_memory_conf_set("mock.level:0,mock.weight:0") != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, set_many, told) != 0)
            bail("no thread");
    for (int i = 0; i < 100; i++) {
        char *text = NULL, *level, *weight;
        if (nd_memory_conf_get(&text) != ND_OK)
            bail("conf_get");
        level = strstr(text, "mock.level:");
        weight = strstr(text, "mock.weight:");
        n += level && weight && level[11] == weight[12];
        free(text);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &wrong);
        ok(!wrong, "C16 four threads change settings");
    }
    is_int(n, 100, "C16 one text's values come into force together");
}

/* ---- sim's key ---- */
static void of_sim(void)
{
    nd_device *d;
    is_int(allocate("sim:0", 100 << 20), ND_OK, "C16 sim has 1 GiB");
    if (nd_device_get("sim:0", &d) != ND_OK || nd_memory_empty_cache(d) != ND_OK)
        bail(nd_last_error()->message);
    is_int(nd_memory_conf_set("sim.memory_mb:32.5"), ND_OK, "C16 of which 32.5 MiB are shown");
    is_int(free_bytes(d), 65 << 19, "C16 as it says");
    ok(prints(",sim.memory_mb:32.5"), "C16 and prints");
    is_int(allocate("sim:0", 40 << 20), ND_ERR_MEMORY, "C16 40 MiB are too many");
    ok(says("free 32.50 MiB"), "C16 the report goes by what is left");
    is_int(allocate("sim:0", 20 << 20), ND_OK, "C16 20 are not");
    is_int(nd_memory_conf_set("sim.memory_mb:-1"), ND_ERR_ARGUMENT, "C16 a bad value");
    ok(says("sim.memory_mb:-1: neither all"), "C16 says what is right");
    is_int(nd_memory_conf_set("sim.memory_mb:all"), ND_OK, "C16 all again");
    is_int(allocate("sim:0", 40 << 20), ND_OK, "C16 40 MiB are there again");
}

TAP_MAIN({"environment", environment}, {"before_loading", before_loading}, {"adding", adding},
         {"setting", setting}, {"refusing", refusing}, {"inside", inside}, {"threads", threads},
         {"of_sim", of_sim})
