/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * D6, D10, A6, S18: the caller's context, faults that cannot be mended, closing and opening, and
 * the end of the process. What breaks a device or the process happens in a child. */
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include "tests/cuda/gpu.h"

/* The driver as another library of the process uses it. */
static void *driver(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    void *f = library ? dlsym(library, name) : NULL;
    if (!f)
        bail(name);
    return f;
}

static CUcontext current(void)
{
    CUresult (*get)(CUcontext *);
    CUcontext now = NULL;
    *(void **)&get = driver("cuCtxGetCurrent");
    return get(&now) == CUDA_SUCCESS ? now : (CUcontext)(uintptr_t)-1;
}

static void context_stays(void)
{
    static const int64_t huge[1] = {(int64_t)1 << 50};
    static float data[1000];
    CUcontext primary = NULL, popped;
    CUresult (*retain)(CUcontext *, CUdevice), (*push)(CUcontext), (*pop)(CUcontext *);
    nd_array *none = NULL;
    *(void **)&retain = driver("cuDevicePrimaryCtxRetain");
    *(void **)&push = driver("cuCtxPushCurrent_v2");
    *(void **)&pop = driver("cuCtxPopCurrent_v2");
    ok(current() == NULL, "D6: opening a device makes no context current");
    for (int with = 0; with < 2; with++) {
        CUcontext before = current();
        nd_array *sum = NULL, *a = upload(data, ND_F32, 1000);
        DO(nd_add(a, a, &sum));
        DO(nd_to_host(sum, data, sizeof data));
        ok(current() == before, "D6: as before after copies and a kernel");
        is_int(nd_empty(gpu, ND_U8, 1, huge, &none), ND_ERR_MEMORY, "D6: an error");
        ok(current() == before, "D6: as before after it");
        nd_release(a);
        nd_release(sum);
        if (!with)
            ok(retain(&primary, 0) == CUDA_SUCCESS && push(primary) == CUDA_SUCCESS,
               "D6: the same with a context");
    }
    (void)pop(&popped);
}

/* ---- in a child ---- */
static int in_child(const char *what)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "context.t", what, (char *)NULL);
        _exit(99);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

static const int64_t extent[1] = {1024}, step[1] = {1};

static void call_add(ndp_call *call, ndp_view v[3], ndp_mem *a, ndp_mem *out)
{
    for (int i = 0; i < 3; i++)
        v[i] = (ndp_view){.mem = i < 2 ? a : out,
                          .shape = extent,
                          .stride = step,
                          .dtype = NDP_F32,
                          .ndim = 1,
                          .flags = NDP_VIEW_CONTIGUOUS};
    *call = (ndp_call){
        .size = sizeof *call, .op = NDP_OP_add, .n_in = 2, .n_out = 1, .in = v, .out = v + 2};
}

/* A kernel reads addresses that have no memory. */
static int fault(void)
{
    const ndp_op_1 *op = group("ndp.op/1");
    const ndp_memory_1 *m = group("ndp.memory/1");
    const ndp_kernel *k = NULL;
    ndp_view v[3];
    ndp_call call;
    ndp_mem *nothing = NULL;
    uint64_t page = 0;
    char why[200];
    nd_device *cpu;
    nd_array *a = NULL;
    const int64_t shape[1] = {4};
    DO(m->granularity(dev, &page));
    DO(m->reserve(dev, page, &nothing));
    call_add(&call, v, nothing, nothing);
    if (op->find(dev, &call, &k, why, sizeof why) != NDP_OK || k->run(k, NULL, &call) != NDP_OK)
        return 1;
    if (nd_synchronize(gpu) != ND_ERR_LOST || nd_last_error()->native != 700)
        return 2;
    if (strstr(nd_last_error()->message, "pre-existing"))
        return 3; /* it is our own fault */
    if (nd_empty(gpu, ND_F32, 1, shape, &a) != ND_ERR_LOST || nd_last_error()->native != 700)
        return 4;
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_empty(cpu, ND_F32, 1, shape, &a) != ND_OK)
        return 5;
    nd_release(a);
    return 0;
}

static nd_array *left;
static void release_late(void)
{
    nd_release(left);
}

/* Arrays and streams are alive when main returns, and one dies even later. */
static int leave(void)
{
    static float data[100];
    nd_stream *s = NULL;
    left = upload(data, ND_F32, 100);
    return nd_stream_create(gpu, NULL, &s) == ND_OK && left ? 0 : 1;
}

/* Asking what there is does not spoil the child, whose parent may then open the device too. */
static int ask_and_fork(void)
{
    static float data[100];
    int32_t state = ND_AVAILABLE_NO;
    int status = -1;
    set_plugin_path();
    if (nd_device_available("cuda:0", ND_PROBE_COUNT, &state) != ND_OK ||
        state != ND_AVAILABLE_LIKELY)
        return 1;
    pid_t pid = fork();
    if (nd_device_get("cuda:0", &gpu) != ND_OK)
        return 2;
    nd_array *a = upload(data, ND_F32, 100);
    int good = nd_to_host(a, data, sizeof data) == ND_OK;
    nd_release(a);
    if (pid == 0)
        _exit(good ? 0 : 3);
    waitpid(pid, &status, 0);
    return good && WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

/* ---- without the core ---- */
static char said[512];
static int32_t host_error(void *ctx, int32_t status, int64_t native, const char *fmt, ...)
{
    va_list ap;
    (void)ctx;
    (void)native;
    va_start(ap, fmt);
    vsnprintf(said, sizeof said, fmt, ap);
    va_end(ap);
    return status;
}
static int32_t host_param(void *ctx, const char *name, int32_t type, const char *help, void *out)
{
    (void)ctx;
    (void)name;
    (void)type;
    (void)help;
    (void)out;
    return NDP_OK;
}
static const void *host_service(void *ctx, const char *id)
{
    (void)ctx;
    (void)id;
    return NULL;
}

static const ndp_plugin *plugin(void)
{
    static const ndp_host host = {.size = sizeof host,
                                  .major = NDP_ABI_MAJOR,
                                  .minor = NDP_ABI_MINOR,
                                  .error = host_error,
                                  .param = host_param,
                                  .service = host_service};
    void *library = dlopen("backends/cuda/.libs/ndock-cuda.so", RTLD_NOW);
    ndp_entry_fn entry;
    *(void **)&entry = library ? dlsym(library, NDP_ENTRY) : NULL;
    return entry ? entry(&host) : NULL;
}

static int computes(const ndp_plugin *p, ndp_dev *d, const ndp_kernel **k)
{
    const ndp_op_1 *op = p->group(d, "ndp.op/1");
    float in[1024], out[1024] = {0};
    ndp_mem *a = NULL, *b = NULL;
    ndp_view v[3];
    ndp_call call;
    char why[200];
    for (int i = 0; i < 1024; i++)
        in[i] = (float)i;
    int good = p->alloc(d, sizeof in, &a) == NDP_OK && p->alloc(d, sizeof in, &b) == NDP_OK &&
               p->write(d, NULL, a, 0, in, sizeof in) == NDP_OK;
    call_add(&call, v, a, b);
    if (good && !*k)
        good = op->find(d, &call, k, why, sizeof why) == NDP_OK;
    good = good && (*k)->run(*k, NULL, &call) == NDP_OK &&
           p->read(d, NULL, b, 0, out, sizeof out) == NDP_OK;
    for (int i = 0; good && i < 1024; i++)
        good = out[i] == 2 * in[i];
    p->free(d, a);
    p->free(d, b);
    return good;
}

enum { GROWS = 4 };
static int open_and_close(const ndp_plugin *p, const ndp_kernel **k)
{
    uint64_t first = 0, last = 0, total;
    for (int i = 0; i < 20; i++) {
        ndp_dev *d = NULL;
        if (p->open(0, &d) != NDP_OK || !computes(p, d, k))
            return 2;
        const ndp_memory_1 *m = p->group(d, "ndp.memory/1");
        if (m->usage(d, i < 2 ? &first : &last, &total) != NDP_OK)
            return 3;
        p->close(d);
    }
    return last + (16 << 20) >= first ? 0 : GROWS;
}

/* A kernel that was found once serves the device however often that is closed and opened. Other
 * tests use the card too, all of which the figures are of: what grows here grows each time. */
static int cycles(void)
{
    const ndp_plugin *p = plugin();
    const ndp_kernel *k = NULL;
    uint32_t n;
    char why[200];
    if (!p || p->probe(&n, why, sizeof why) != NDP_OK || n == 0)
        return 1;
    int result = GROWS;
    for (int tries = 0; tries < 10 && result == GROWS; tries++)
        result = open_and_close(p, &k);
    p->shutdown();
    p->shutdown();
    return result;
}

static void children(void)
{
    is_int(in_child("--fault"), 0, "A6: an illegal access loses the device, and that alone");
    is_int(in_child("--leave"), 0, "S18: the process ends well with live arrays and streams");
    is_int(in_child("--fork"), 0, "D10: who only asks may fork, and the child computes");
    is_int(in_child("--cycles"), 0, "20 times closed and opened: kernels work, memory is flat");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"D6", context_stays}, {"children", children}};
    if (argc > 1 && strcmp(argv[1], "--cycles") == 0)
        return cycles();
    if (argc > 1 && strcmp(argv[1], "--fork") == 0)
        return ask_and_fork();
    if (argc > 1 && strcmp(argv[1], "--leave") == 0)
        (void)atexit(release_late); /* before the device is opened, so after its own handler */
    open_gpu();
    if (argc > 1 && strcmp(argv[1], "--fault") == 0)
        return fault();
    if (argc > 1 && strcmp(argv[1], "--leave") == 0)
        return leave();
    return tap_main(argc, argv, cases, 2);
}
