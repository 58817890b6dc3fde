/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C30: PyTorch's keys of how memory is locked: checked by the core, and handed on to the plug-in
 * "cuda", here one of the test's own, whenever it comes. Each case is a process of its own. */
#include <sys/wait.h>
#include <unistd.h>
#include "core/memory/conf/settings.h"
#include "tests/tap.h"

static char told[256]; /* what the plug-in was told */
static const ndp_plugin table = {.size = sizeof table};
static nd_plugin_slot cuda = {.name = (char *)(uintptr_t) "cuda", .table = &table};

static int32_t set(void *arg, const char *value)
{
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s=%s;", (const char *)arg, value);
    return NDP_OK;
}

static bool add(const char *key, const char *initial)
{
    return nd__conf_service.add(&cuda, key, "", initial, set, (void *)(uintptr_t)key) == NDP_OK;
}

/* With its keys, or without any, as an older one. */
static bool load_cuda(bool with_keys)
{
    nd__host_init(&cuda);
    bool good = !with_keys || (add("pinned_use_host_register", "false") &&
                               add("pinned_num_register_threads", "1"));
    nd__conf_plugin_loaded("cuda");
    return good;
}

static bool sets(const char *text)
{
    bool set_it = nd_memory_conf_set(text) == ND_OK;
    if (!set_it)
        diag("%s: %s", text, nd_last_error()->message);
    return set_it;
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

static bool refused(const char *text, const char *why)
{
    const nd_conf *before = nd__conf();
    bool good = nd_memory_conf_set(text) == ND_ERR_ARGUMENT &&
                strstr(nd_last_error()->message, why) && nd__conf() == before;
    if (!good)
        diag("%s: %s", text, nd_last_error()->message);
    return good;
}

/* ---- the cases ---- */
#define BOTH "pinned_use_cuda_host_register:True,pinned_num_register_threads:8"

static bool there(void)
{
    return load_cuda(true) && sets(BOTH ",thread_cache:false") &&
           strcmp(told, "pinned_use_host_register=true;pinned_num_register_threads=8;") == 0 &&
           prints(",cuda.pinned_use_host_register:true,cuda.pinned_num_register_threads:8") &&
           !nd__conf()->thread_cache && sets("pinned_use_cuda_host_register:0") &&
           prints("cuda.pinned_use_host_register:false");
}

static bool comes_later(void)
{
    return sets("pinned_num_register_threads:128") && sets(BOTH) && told[0] == 0 &&
           load_cuda(true) &&
           strcmp(told, "pinned_use_host_register=true;pinned_num_register_threads=8;") == 0 &&
           prints(",cuda.pinned_use_host_register:true,cuda.pinned_num_register_threads:8") &&
           nd__conf_check() == ND_OK;
}

static bool refused_text(void)
{
    return refused(BOTH ",thread_cache:perhaps", "\"perhaps\"") && load_cuda(true) &&
           told[0] == 0 && prints(",cuda.pinned_num_register_threads:1");
}

static bool lacks_keys(void)
{
    return sets(BOTH) && load_cuda(false) && sets(BOTH) && nd__conf_check() == ND_OK && !told[0];
}

static bool in_environment(void)
{
    return nd__conf_check() == ND_OK && load_cuda(true) &&
           strcmp(told, "pinned_use_host_register=true;pinned_num_register_threads=8;") == 0 &&
           sets("pinned_num_register_threads:2") && prints("cuda.pinned_num_register_threads:2");
}

static bool in_environment_bad(void)
{
    return nd__conf_check() == ND_ERR_ARGUMENT &&
           strstr(nd_last_error()->message, "NDOCK_ALLOC_CONF: ") &&
           strstr(nd_last_error()->message, "1, 2, 4, 8, 16, 32, 64 or 128") && load_cuda(true) &&
           told[0] == 0;
}

static bool in_environment_lacking(void)
{
    return load_cuda(false) && nd__conf_check() == ND_OK;
}

static bool values(void)
{
    static const char *const good[] = {
        "pinned_num_register_threads:1", "pinned_num_register_threads: 128 ",
        "pinned_use_cuda_host_register:off", "release_lock_on_cudamalloc:True",
        "release_lock_on_cudamalloc:0,pinned_num_register_threads:64"};
    static const char *const threads[] = {"",    "0",  "3",  "12",  "129", "256", "-8",
                                          "8.0", "08", "+8", "0x8", "8x",  "1e1", "true"};
    static const char *const words[] = {"", "yes", "TRUE", "2", "Truest", "tru"};
    char text[80];
    bool fine = true;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        fine &= sets(good[i]);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        snprintf(text, sizeof text, "pinned_num_register_threads:%s", threads[i]);
        fine &= refused(text, "pinned_num_register_threads takes 1, 2, 4, 8, 16, 32, 64 or 128");
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        snprintf(text, sizeof text, "pinned_use_cuda_host_register:%s", words[i]);
        fine &= refused(text, "pinned_use_cuda_host_register takes true or false");
        snprintf(text, sizeof text, "release_lock_on_cudamalloc:%s", words[i]);
        fine &= refused(text, "release_lock_on_cudamalloc takes true or false");
    }
    return fine && refused("pinned_num_register_threads", "no value for") &&
           refused("pinned_num_register_thread:8", "unknown key");
}

static bool child(const char *environment, bool (*run)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (environment)
            setenv("NDOCK_ALLOC_CONF", environment, 1);
        bool good = run();
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void by_call(void)
{
    ok(child(NULL, values), "C30 values are checked, and the error says which would be right");
    ok(child(NULL, there), "C30 the plug-in that is there is told, in its words");
    ok(child(NULL, comes_later), "C30 one that comes later is told the last values then");
    ok(child(NULL, refused_text), "C30 of a text that is refused it hears nothing");
    ok(child(NULL, lacks_keys), "C30 one without such keys is left alone");
}

static void by_environment(void)
{
    ok(child(BOTH, in_environment), "C30 values of the environment wait for the plug-in");
    ok(child("pinned_num_register_threads:7", in_environment_bad),
       "C30 a bad one is the first allocation's error");
    ok(child(BOTH, in_environment_lacking), "C30 a plug-in without such keys is no error");
}

TAP_MAIN({"by_call", by_call}, {"by_environment", by_environment})
