/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * C30: how pinned memory is locked: by the driver, or ordinary pages that threads touch and the
 * driver then locks. On a driver that only pretends, which looks whether they were touched; each
 * setting is a process of its own. */
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

/* ---- the process that looks ---- */
static int count(const char *name)
{
    return counted("libcuda.so.1", name);
}

/* Pins so many bytes, writes them all, and gives them back. */
static void pin(nd_device *device, int64_t nbytes)
{
    nd_array *a = NULL;
    void *data = NULL;
    nd_status status = nd_empty_pinned(device, ND_U8, 1, &nbytes, &a);
    if (status == ND_OK)
        status = nd_data(a, &data);
    if (status == ND_OK)
        memset(data, 1, (size_t)nbytes);
    nd_release(a);
    printf("%lld: %s, driver %d, registered %d, untouched %d|%s\n", (long long)nbytes,
           nd_status_name(status), count("stub_pinned"), count("stub_registered"),
           count("stub_untouched"), status == ND_OK ? "" : nd_last_error()->message);
}

static int look(void)
{
    nd_device *device = NULL;
    char *conf = getenv("TEST_CONF");
    if (nd_device_get("cuda:0", &device) != ND_OK || (conf && nd_memory_conf_set(conf) != ND_OK)) {
        printf("cannot begin: %s\n", nd_last_error()->message);
        return 1;
    }
    pin(device, 1);
    pin(device, 5000);
    pin(device, (5 << 20) + 1);
    if (nd_memory_empty_host_cache(device) == ND_OK)
        printf("unregistered %d\n", count("stub_unregistered"));
    conf = NULL;
    if (nd_memory_conf_get(&conf) == ND_OK)
        printf("%s\n", strstr(conf, "cuda.pinned") ? strstr(conf, "cuda.pinned") : conf);
    free(conf);
    return 0;
}

/* ---- the one that judges ---- */
#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1"
#define SAYS(word, what) has_text(answer, word, what)

static void by_the_driver(void)
{
    ask(MACHINE(ONE), NO_NVML);
    SAYS("\n5000: ND_OK, driver 2, registered 0,", "C30 by default the driver makes pinned memory");
    SAYS("cuda.pinned_use_host_register:false,cuda.pinned_num_register_threads:1\n",
         "C30 the settings are told");
}

static void registered(void)
{
    static char *const threads[] = {"NDOCK_CUDA_PINNED_NUM_REGISTER_THREADS=1",
                                    "NDOCK_CUDA_PINNED_NUM_REGISTER_THREADS=8",
                                    "NDOCK_CUDA_PINNED_NUM_REGISTER_THREADS=128"};
    for (int i = 0; i < 3; i++) {
        ask(MACHINE(ONE, "NDOCK_CUDA_PINNED_USE_HOST_REGISTER=1", threads[i]), NO_NVML);
        SAYS("1: ND_OK, driver 0, registered 1, untouched 0|", "C30 ordinary memory is registered");
        SAYS("\n5000: ND_OK, driver 0, registered 2, untouched 0|", "C30 of two pages");
        SAYS("\n5242881: ND_OK, driver 0, registered 3, untouched 0|",
             "C30 every page of it was touched before");
        SAYS("\nunregistered 3\n", "C30 and goes back the same way");
    }
}

static void by_settings(void)
{
    static char *const from[] = {
        "NDOCK_ALLOC_CONF=cuda.pinned_use_host_register:true,cuda.pinned_num_register_threads:4",
        "NDOCK_ALLOC_CONF=pinned_use_cuda_host_register:True,pinned_num_register_threads:4",
        "TEST_CONF=pinned_use_cuda_host_register:True,pinned_num_register_threads:4"};
    for (int i = 0; i < 3; i++) {
        ask(MACHINE(ONE, from[i]), NO_NVML);
        SAYS("\n5242881: ND_OK, driver 0, registered 3, untouched 0|",
             "C30 the allocator's settings choose it, PyTorch's names too");
        SAYS("cuda.pinned_use_host_register:true,cuda.pinned_num_register_threads:4\n",
             "C30 and are told");
    }
    ask(MACHINE(ONE, "NDOCK_CUDA_PINNED_USE_HOST_REGISTER=1",
                "TEST_CONF=cuda.pinned_use_host_register:false"),
        NO_NVML);
    SAYS("\n5000: ND_OK, driver 2, registered 0,", "C30 the program's word is the last");
}

static void refused(void)
{
    ask(MACHINE(ONE, "TEST_CONF=cuda.pinned_num_register_threads:3"), NO_NVML);
    SAYS("cuda.pinned_num_register_threads:3: it has to be a power of two from 1 to "
         "128",
         "C30 a number of threads that is none");
    ask(MACHINE(ONE, "TEST_CONF=cuda.pinned_use_host_register:perhaps"), NO_NVML);
    SAYS("cuda.pinned_use_host_register:perhaps: it is true or false", "C30 a word that is none");
    ask(MACHINE(ONE, "NDOCK_CUDA_PINNED_USE_HOST_REGISTER=1",
                "NDOCK_CUDA_PINNED_NUM_REGISTER_THREADS=256"),
        NO_NVML);
    SAYS("1: ND_ERR_ARGUMENT, driver 0, registered 0,", "C30 too many of the environment");
    SAYS("NDOCK_CUDA_PINNED_NUM_REGISTER_THREADS is 256; it has to be a power of two from 1 to 128",
         "C30 and says what is right");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"by_the_driver", by_the_driver},
                                     {"registered", registered},
                                     {"by_settings", by_settings},
                                     {"refused", refused}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
