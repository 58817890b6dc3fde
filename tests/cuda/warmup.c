/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * W13 on a GPU: what nd_warmup has loaded, operations do not load again. The driver and cuBLASLt
 * only pretend, and count; each kind of operation is a process of its own. Plans and workspaces are
 * of one shape, which nobody tells nd_warmup. */
#include <ndock/ndock.h>
#include "tests/cuda/stubs.h"

/* ---- the process that looks ---- */
static nd_device *dev;

static int modules(void)
{
    return counted("libcuda.so.1", "stub_modules");
}

/* Handles of cuBLASLt; 0: it is not loaded yet. */
static int handles(void)
{
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    const struct {
        int settings[5];
        unsigned schemes;
        int runs, handles;
    } *heard = library ? dlsym(library, "stub_blaslt_asked") : NULL;
    return heard ? heard->handles : 0;
}

static nd_status run(const char *what)
{
    const int64_t shape[2] = {32, 32};
    nd_array *a = NULL, *r = NULL;
    nd_status status = nd_empty(dev, ND_F32, 2, shape, &a);
    if (status == ND_OK)
        status = strcmp(what, "add") == 0   ? nd_add(a, a, &r)
                 : strcmp(what, "sum") == 0 ? nd_sum(a, NULL, &r)
                                            : nd_matmul(a, a, NULL, &r);
    nd_release(a);
    nd_release(r);
    return status;
}

static int look(void)
{
    const char *what = getenv("TEST_RUN");
    nd_warmup_item item = {strcmp(what, "add") == 0   ? ND_OP_add
                           : strcmp(what, "sum") == 0 ? ND_OP_sum
                                                      : ND_OP_matmul,
                           ND_F32, NULL};
    nd_status status = ND_OK, own = ND_OK;
    if (nd_device_get("cuda:0", &dev) != ND_OK) {
        printf("cannot begin: %s\n", nd_last_error()->message);
        return 1;
    }
    item.device = dev;
    if (getenv("TEST_WARM"))
        status = nd_warmup(&item, 1, &own);
    const int loaded = modules(), made = handles();
    printf("%s %s, modules %d, handles %d|", nd_status_name(status), nd_status_name(own), loaded,
           made);
    status = run(what);
    printf("%s, more modules %d, more handles %d|%s\n", nd_status_name(status), modules() - loaded,
           handles() - made, status == ND_OK ? "" : nd_last_error()->message);
    return 0;
}

/* ---- the one that judges ---- */
#define ONE "STUB_CUDA_COUNT=1", "STUB_CUDA_WORKS=1"
#define SAYS(word, what) has_text(answer, word, what)

static void modules_ahead(void)
{
    ask(MACHINE(ONE, "TEST_RUN=add"), NO_NVML);
    SAYS("ND_OK ND_OK, modules 0, handles 0|ND_OK, more modules 1,",
         "W13 the first operation loads its module");
    ask(MACHINE(ONE, "TEST_RUN=add", "TEST_WARM=1"), NO_NVML);
    SAYS("|ND_OK, more modules 0,", "W13 after warming up it loads none");
    ask(MACHINE(ONE, "TEST_RUN=sum", "TEST_WARM=1"), NO_NVML);
    SAYS("|ND_OK, more modules 0,", "W13 nor does a reduction");
}

static void handles_ahead(void)
{
    ask(MACHINE(ONE, "TEST_RUN=matmul"), NO_NVML);
    SAYS("handles 0|ND_OK, more modules 1, more handles 1|",
         "W13 the first product loads a module and makes a handle");
    ask(MACHINE(ONE, "TEST_RUN=matmul", "TEST_WARM=1"), NO_NVML);
    SAYS("handles 1|ND_OK, more modules 0, more handles 0|", "W13 after warming up it is there");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"modules", modules_ahead}, {"handles", handles_ahead}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
