/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * D9, D10, D12: which devices there are, asked without initialising the driver, and what is said
 * where there is none; A8: whose a fault is called; A15: the driver's own words; X3: kernels that
 * are for another device. Libraries that only pretend stand in for the
 * driver's, so this runs on any machine; each question is put by a process of its own, started with
 * their folder in its path. */
#include <dlfcn.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

/* ---- the process that looks ---- */
static int state_of(const char *name)
{
    int32_t state = -1;
    return nd_device_available(name, ND_PROBE_COUNT, &state) == ND_OK ? state : -1;
}

static int cpu_adds(void)
{
    const int64_t shape[1] = {2};
    const float in[2] = {1, 2};
    float out[2] = {0};
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = shape};
    nd_device *cpu;
    nd_array *a = NULL, *sum = NULL;
    int right = nd_device_get("cpu", &cpu) == ND_OK &&
                nd_from_host(&layout, in, cpu, &a) == ND_OK && nd_add(a, a, &sum) == ND_OK &&
                nd_to_host(sum, out, sizeof out) == ND_OK && out[0] == 2 && out[1] == 4;
    nd_release(a);
    nd_release(sum);
    return right;
}

static int inits(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const int *count = library ? dlsym(library, "stub_inits") : NULL;
    return count ? *count : 0;
}

/* The device is lost while work of ours is queued on it, or while none is. */
static int lose(const char *when)
{
    const int64_t n = 1 << 20;
    nd_device *device = NULL;
    nd_array *a = NULL, *b = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    nd_status status = nd_device_get("cuda:0", &device);
    library = library ? library : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int *lost = library ? dlsym(library, "stub_lost") : NULL;
    if (status == ND_OK)
        status = nd_empty(device, ND_F32, 1, &n, &a);
    if (status == ND_OK && strcmp(when, "busy") == 0)
        status = nd_fill(a, nd_float(1));
    if (status != ND_OK || !lost) {
        printf("cannot begin: %s\n", nd_last_error()->message);
        return 1;
    }
    *lost = 1;
    const int64_t much = 1 << 28; /* more than is kept */
    status = nd_empty(device, ND_F32, 1, &much, &b);
    printf("%s: %s\n", nd_status_name(status), nd_last_error()->message);
    return 0;
}

/* The first kernel, whose module the driver refuses. */
static int load(void)
{
    const int64_t n = 16;
    nd_device *device = NULL;
    nd_array *a = NULL, *r = NULL;
    nd_status status = nd_device_get("cuda:0", &device);
    if (status == ND_OK)
        status = nd_empty(device, ND_F32, 1, &n, &a);
    if (status != ND_OK) {
        printf("cannot begin: %s\n", nd_last_error()->message);
        return 1;
    }
    status = nd_add(a, a, &r);
    printf("%s, native %lld: %s\n", nd_status_name(status), (long long)nd_last_error()->native,
           nd_last_error()->message);
    return 0;
}

/* Each number as a stream's handle: what came of it, and how often the driver was asked. */
static int wrap_streams(void)
{
    static const uint64_t record[2];
    const uint64_t there = (uint64_t)(uintptr_t)record;
    const uint64_t handles[] = {3,         4,          4096,           there + 1,
                                there + 4, UINT64_MAX, UINT64_MAX - 7, there};
    nd_device *device = NULL;
    if (nd_device_get("cuda:0", &device) != ND_OK) {
        printf("cannot begin: %s\n", nd_last_error()->message);
        return 1;
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const int *asked = library ? dlsym(library, "stub_streams_asked") : NULL;
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        nd_stream *s = NULL;
        const nd_status status = nd_stream_wrap(device, handles[i], NULL, NULL, &s);
        const char *why = status == ND_OK ? "" : nd_last_error()->message;
        printf("%zu %s %s, asked %d|\n", i, nd_status_name(status),
               strstr(why, "is no CUstream") ? "is no CUstream" : why, asked ? *asked : -1);
        nd_stream_release(s);
    }
    return 0;
}

/* "state reason|cuda:0 cuda:1 cuda:2|inits|cpu" */
static int look(void)
{
    nd_plugin_report report[16];
    int32_t n = 0;
    if (getenv("TEST_LOSE"))
        return lose(getenv("TEST_LOSE"));
    if (getenv("TEST_LOAD"))
        return load();
    if (getenv("TEST_STREAMS"))
        return wrap_streams();
    int first = state_of("cuda:0"), second = state_of("cuda:1"), third = state_of("cuda:2");
    (void)!nd_plugin_list(report, 16, &n);
    for (int i = 0; i < n && i < 16; i++)
        if (strcmp(report[i].name, "cuda") == 0 && strstr(report[i].path, "ndock-cuda"))
            printf("%s %s", report[i].state, report[i].reason ? report[i].reason : "");
    printf("|%d %d %d|", first, second, third);
    if (getenv("TEST_VISIBLE_LATER")) {
        setenv("CUDA_VISIBLE_DEVICES", getenv("TEST_VISIBLE_LATER"), 1);
        printf("%d %d|", state_of("cuda:0"), state_of("cuda:1"));
    }
    printf("inits %d|%s\n", inits(), cpu_adds() ? "cpu adds" : "cpu fails");
    return 0;
}

/* ---- the one that judges ---- */
#define SAYS(word) has_text(answer, word, "says " word)

static void missing(void)
{
    ask(MACHINE("A=1"), NO_DRIVER);
    SAYS("no NVIDIA driver");
    SAYS("libcuda.so.1");
    SAYS("|0 0 0|");
    SAYS("cpu adds");
    if (dlopen("libcuda.so.1", RTLD_NOW)) {
        skip(1, "this machine has a driver");
        return;
    }
    ask(MACHINE("A=1"), SYSTEM);
    SAYS("no NVIDIA driver: libcuda.so.1: cannot open");
}

static void too_old(void)
{
    ask(MACHINE("STUB_CUDA_VERSION=11020", "STUB_NVML_COUNT=1"), 0);
    SAYS("too old");
    SAYS("11.2");
    SAYS("12.0");
    SAYS("|0 0 0|inits 0|cpu adds");
}

static void no_device(void)
{
    ask(MACHINE("STUB_CUDA_INIT=100"), NO_NVML);
    SAYS("sees no device");
    SAYS("|0 0 0|inits");
    SAYS("cpu adds");
    ask(MACHINE("STUB_CUDA_COUNT=0"), NO_NVML);
    SAYS("sees no device");
    ask(MACHINE("STUB_NVML_COUNT=0"), 0);
    SAYS("sees no device");
    SAYS("inits 0");
    ask(MACHINE("STUB_CUDA_INIT=803"), NO_NVML);
    SAYS("does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)");
}

static void counted_without_init(void)
{
    ask(MACHINE("STUB_NVML_COUNT=2"), 0);
    SAYS("|1 1 0|inits 0|cpu adds");
    ask(MACHINE("STUB_NVML_COUNT=2", "CUDA_VISIBLE_DEVICES=1"), 0);
    SAYS("|1 0 0|inits 0|");
    ask(MACHINE("STUB_NVML_COUNT=2", "CUDA_VISIBLE_DEVICES="), 0);
    SAYS("CUDA_VISIBLE_DEVICES hides all");
    SAYS("|0 0 0|inits 0|");
    ask(MACHINE("STUB_NVML_COUNT=2", "CUDA_VISIBLE_DEVICES=GPU-1"), 0);
    SAYS("|1 0 0|inits 0|");
    ask(MACHINE("STUB_NVML_COUNT=2", "CUDA_VISIBLE_DEVICES=0", "TEST_VISIBLE_LATER=1,0"), 0);
    SAYS("|1 0 0|1 1|inits 0|");
}

static void the_driver_is_asked(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1"), NO_NVML);
    SAYS("|1 0 0|inits 1|");
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_NVML_INIT=9", "STUB_NVML_COUNT=3"), 0);
    SAYS("|1 0 0|inits 1|");
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_NVML_MIG=1", "STUB_NVML_COUNT=3"), 0);
    SAYS("|1 0 0|inits 1|");
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_NVML_COUNT=3", "CUDA_VISIBLE_DEVICES=MIG-1"), 0);
    SAYS("|1 0 0|inits 1|");
}

static void whose_fault(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "TEST_LOSE=idle"), NO_NVML);
    SAYS("ND_ERR_LOST");
    SAYS("pre-existing: nothing of ndock was queued");
    SAYS("another library in this process caused it");
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "TEST_LOSE=busy"), NO_NVML);
    SAYS("ND_ERR_LOST");
    ok(!strstr(answer, "pre-existing"), "A8: not where work of ours may have done it");
}

/* A15: drivers of CUDA 12.9 and later log more than a code. */
static void drivers_words(void)
{
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "TEST_LOSE=busy",
                "STUB_CUDA_WORDS=block 3 wrote to 0x10\nmore"),
        NO_NVML);
    SAYS("ND_ERR_LOST");
    SAYS("driver: block 3 wrote to 0x10");
    ok(!strstr(answer, "0x10\nmore"), "A15: the first line of it alone");
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "TEST_LOSE=busy"), NO_NVML);
    ok(!strstr(answer, "driver: "), "A15: a driver without a log is not quoted");
}

/* X3: no SASS for this device, or PTX of a newer toolkit than the driver's. */
static void other_device(void)
{
    static const char *const errors[] = {"STUB_MODULE_ERROR=209", "STUB_MODULE_ERROR=222"};
    static const char *const native[] = {"native 209", "native 222"};
    for (int i = 0; i < 2; i++) {
        ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "TEST_LOAD=1",
                    "STUB_CUDA_CAPABILITY=90", "STUB_CUDA_VERSION=12040", (char *)errors[i]),
            NO_NVML);
        SAYS("ND_ERR_PLUGIN");
        has_text(answer, native[i], "X3: with the driver's own code");
        SAYS("the kernels were built for");
        SAYS("cuda:0 has compute capability 9.0");
        SAYS("a driver for CUDA 12.4");
        SAYS("--with-cuda-arch=90");
    }
}

/* The driver follows what it is given, so it must see none of the numbers that are no address. */
static void numbers_that_are_no_stream(void)
{
    char line[80];
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "TEST_STREAMS=1"), NO_NVML);
    for (int i = 0; i < 7; i++) {
        snprintf(line, sizeof line, "%d ND_ERR_ARGUMENT is no CUstream, asked 0|", i);
        has_text(answer, line, "S9: unaligned or unmapped: refused before the driver sees it");
    }
    SAYS("7 ND_OK , asked 1|");
}

static const tap_case cases[] = {
    {"D12_missing", missing},
    {"D12_too_old", too_old},
    {"D12_no_device", no_device},
    {"D9_D10_D16_counted", counted_without_init},
    {"D9_unknown", the_driver_is_asked},
    {"A8", whose_fault},
    {"A15", drivers_words},
    {"X3", other_device},
    {"S9", numbers_that_are_no_stream},
};

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
