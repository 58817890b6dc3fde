/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * W12: what NVRTC is asked for on devices that it knows, is too old for, or has given up; the
 * compiler's log; the folder of sources; which expressions the driver assembles. NVRTC and the driver only pretend; each machine is a
 * process of its own. */
#include <ndock/expr.h>
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

/* ---- the process that looks ---- */
static void load(const char *source)
{
    nd_module *m = NULL;
    const nd_module_opts opts = {.size = sizeof opts,
                                 .kind = ND_CODE_SOURCE,
                                 .name = "some.cu",
                                 .code = source,
                                 .options = "-DSTEP=7  -w"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    char *image = library ? dlsym(library, "stub_image") : NULL;
    if (image)
        image[0] = 0;
    nd_status status = nd_module_load(NULL, &opts, &m);
    printf("%s: %s|%s|\n", nd_status_name(status), image ? image : "no driver",
           status == ND_OK ? "" : nd_last_error()->message);
    nd_module_release(m);
}

/* x + tanh(x) or, of rows, x + the sum of its row, and how the code was made. */
static void fuse(nd_dtype dtype, int of_rows)
{
    const int64_t shape[] = {4, 64};
    const int32_t last = -1;
    const nd_reduce_opts of_row = {.size = sizeof of_row, .axes = &last, .naxes = 1, .keepdims = 1};
    int32_t x, y;
    nd_expr *e = NULL;
    nd_array *a = NULL, *out = NULL;
    nd_status status = nd_expr_create(&e);
    status = status == ND_OK ? nd_expr_input(e, &x) : status;
    if (status == ND_OK)
        status = of_rows ? nd_expr_reduce(e, ND_OP_sum, x, &of_row, &y)
                         : nd_expr_apply(e, ND_OP_tanh, &x, 1, 0, &y);
    status = status == ND_OK ? nd_expr_apply(e, ND_OP_add, (int32_t[]){x, y}, 2, 0, &y) : status;
    status = status == ND_OK ? nd_expr_output(e, y) : status;
    status = status == ND_OK ? nd_empty(NULL, dtype, 2, shape, &a) : status;
    const nd_arg argument = nd_array_arg(a);
    status = status == ND_OK ? nd_expr_run(e, &argument, 1, NULL, 1, &out) : status;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    const char *image = library ? dlsym(library, "stub_image") : NULL;
    const char *ptx = library ? dlsym(library, "stub_ptx") : NULL;
    printf("%s: %.12s|%.13s|%s|\n", nd_status_name(status), image ? image : "no driver",
           ptx ? ptx : "", status == ND_OK ? nd_expr_reason() : nd_last_error()->message);
    nd_release(out);
    nd_release(a);
    nd_expr_release(e);
}

static int look(void)
{
    nd_device *device = NULL;
    if (nd_device_get("cuda:0", &device) != ND_OK || nd_device_set_current(device) != ND_OK) {
        printf("cannot begin: %s\n", nd_last_error()->message);
        return 1;
    }
    if (getenv("LOOK_FUSE")) {
        fuse(strcmp(getenv("LOOK_FUSE"), "f64") == 0 ? ND_F64 : ND_F32,
             strcmp(getenv("LOOK_FUSE"), "rows") == 0);
        return 0;
    }
    load("first");
    if (getenv("LOOK_ONCE")) {
        nd_library_report libraries[16];
        int32_t n = 0, open = 0;
        for (int32_t i = 0; nd_library_list(libraries, 16, &n) == ND_OK && i < n; i++)
            open |= strcmp(libraries[i].name, "NVRTC") == 0;
        printf("NVRTC %s\n", open ? "was opened" : "stayed closed");
        return 0;
    }
    load("wrong");
    load("second");
    return 0;
}

/* ---- the one that judges ---- */
#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "NDOCK_KERNEL_CACHE=0"
#define KNOWS "STUB_NVRTC_ARCHS=75,80,86,90"
#define SAYS(word, what) has_text(answer, word, what)

static void exact(void)
{
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=86"), NO_NVML);
    SAYS("ND_OK: machine code --gpu-architecture=sm_86 -DSTEP=7 -w||\n",
         "W12 machine code for exactly the device, with the program's options");
}

/* The driver compiles PTX for what NVRTC does not know. */
static void newer(void)
{
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=120"), NO_NVML);
    SAYS("ND_OK: ptx --gpu-architecture=compute_90 -DSTEP=7 -w||\n",
         "W12 for a newer device PTX of the newest that NVRTC knows");
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=89"), NO_NVML);
    SAYS("ND_OK: ptx --gpu-architecture=compute_86 ",
         "W12 and of the newest below one in between, not above it");
}

static void older(void)
{
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=61"), NO_NVML);
    SAYS(
        "ND_ERR_UNSUPPORTED: |this NVRTC compiles for compute capability 7.5 and above, cuda:0 has "
        "6.1",
        "W12 a device that NVRTC has given up: both are named");
    ask(MACHINE(ONE, "STUB_NVRTC_ARCHS=", "STUB_CUDA_CAPABILITY=90"), NO_NVML);
    SAYS("ND_ERR_UNSUPPORTED: |NVRTC does not say what it compiles for",
         "W12 an NVRTC that knows none");
}

static void mistakes(void)
{
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=90"), NO_NVML);
    SAYS("\nND_ERR_ARGUMENT: |some.cu does not compile for sm_90: line 3: \"wrong\" is undefined|",
         "W12 the compiler's log is in the error");
}

/* What is part of a kernel's key is known from the process before. */
static void remembered(void)
{
    char setting[800];
    snprintf(setting, sizeof setting, "NDOCK_KERNEL_CACHE_DIR=%s/kernels", folder);
    for (int i = 0; i < 2; i++) {
        ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", KNOWS, "STUB_CUDA_CAPABILITY=90",
                    "LOOK_ONCE=1", setting),
            NO_NVML);
        SAYS("ND_OK: machine code --gpu-architecture=sm_90 ", "W9 compiled, and from its file");
        SAYS(i ? "NVRTC stayed closed" : "NVRTC was opened",
             "W14 NVRTC is opened to compile, not to load");
    }
    ask(MACHINE("STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1", "STUB_NVRTC_ARCHS=75,80",
                "STUB_CUDA_CAPABILITY=80", "LOOK_ONCE=1", setting),
        NO_NVML);
    SAYS("ND_OK: machine code --gpu-architecture=sm_80 ", "W12 another device");
    SAYS("NVRTC was opened", "W14 needs another kernel");
}

static int holds(const char *path, const char *text)
{
    char data[64] = "";
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(data, 1, sizeof data - 1, f) : 0;
    if (f)
        fclose(f);
    unlink(path);
    return n == strlen(text) && memcmp(data, text, n) == 0;
}

static void dumps(void)
{
    char dump[700], setting[800], path[800];
    snprintf(dump, sizeof dump, "%s/dump", folder);
    snprintf(setting, sizeof setting, "NDOCK_CUDA_DUMP_DIR=%s", dump);
    if (mkdir(dump, 0700) != 0)
        bail("no folder");
    ask(MACHINE(ONE, KNOWS, setting), NO_NVML);
    snprintf(path, sizeof path, "%s/0-some.cu.cu", dump);
    ok(holds(path, "first"), "W12 every source is written to the folder of dumps");
    snprintf(path, sizeof path, "%s/1-some.cu.cu", dump);
    ok(holds(path, "wrong"), "W12 one that does not compile as well");
    snprintf(path, sizeof path, "%s/2-some.cu.cu", dump);
    ok(holds(path, "second"), "W12 each in a file of its own");
    is_int(rmdir(dump), 0, "W12 and there is no other file");
    ask(MACHINE(ONE, KNOWS, setting), NO_NVML);
    SAYS("ND_OK: machine code --gpu-architecture=sm_90 ",
         "W12 a folder that is not there: no error");
}

/* What the driver refuses, and what has no bodies, NVRTC compiles. */
static void assembled(void)
{
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=90", "LOOK_FUSE=f32"), NO_NVML);
    SAYS("ND_OK: assembled .v|.version 7.8\n||", "W12 the driver assembles an expression of f32");
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=90", "LOOK_FUSE=rows"), NO_NVML);
    SAYS("ND_OK: assembled .v|.version 7.8\n||", "W12 and one of rows");
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=90", "LOOK_FUSE=f32", "STUB_LINK_ERROR=218"),
        NO_NVML);
    SAYS("ND_OK: machine code|.version 7.8\n||", "W12 which NVRTC compiles where that fails");
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=90", "LOOK_FUSE=f32", "NDOCK_CUDA_ASSEMBLE=0"),
        NO_NVML);
    SAYS("ND_OK: machine code|||", "W12 or where it is not wanted");
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=90", "LOOK_FUSE=f64"), NO_NVML);
    SAYS("ND_OK: machine code|||", "W12 and one of f64");
    ask(MACHINE(ONE, KNOWS, "STUB_CUDA_CAPABILITY=75", "LOOK_FUSE=f32"), NO_NVML);
    SAYS("ND_OK: machine code|||", "W12 and one for a device without them");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"exact", exact},           {"newer", newer},
                                     {"older", older},           {"mistakes", mistakes},
                                     {"remembered", remembered}, {"dumps", dumps},
                                     {"assembled", assembled}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
