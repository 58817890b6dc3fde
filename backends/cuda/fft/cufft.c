/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * cuFFT. A plan is made without a work area of its own: that is scratch of the call, from the core,
 * as in blaslt.c, so it is ordered by the stream and may be captured, and one plan runs on any
 * number of streams at once. The stream and the work area are set in the plan before a run, where
 * they are not those of the run before, under its lock. */
#include "fft/cufft.h"
#include <stdlib.h>
#include <string.h>

enum { INVALID_SIZE = 8, ALLOC_FAILED = 2 }; /* cufftResult */
enum { FORWARD = -1, MEMO = 256, WORK_LEAST = 256 };

typedef struct {
#define CUFFT_FN(name, parameters) int(*name) parameters;
#include "fft/cufft.def"
} functions;

typedef struct {
    ndp_dev *dev;
    cufft_key key;
    int handle;
    size_t work;
    CUstream stream; /* what the handle has, under the lock */
    CUdeviceptr area;
    pthread_mutex_t lock;
} plan;

static functions fn;

/* Work areas by key, so that scratch() need not have the plan; of two that share a place the later
 * one is there. */
static struct {
    cufft_key key;
    uint64_t nbytes;
} memo[MEMO];
static pthread_mutex_t memo_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the library ---- */

#define INSTALL                                                                                  \
    "install the CUDA toolkit's libcufft (Debian and Ubuntu: libcufft-13-0), or put its folder " \
    "into LD_LIBRARY_PATH"

static int32_t version_text(const void *table, char *text, size_t n)
{
    int v = 0;
    const int result = ((const functions *)table)->cufftGetVersion(&v);
    return cuda_version_text(result, v, text, n);
}

static int32_t open_library(void)
{
    static const char *const sonames[] = {"libcufft.so.12", "libcufft.so.11"};
    static const ndh_symbol symbols[] = {
#define CUFFT_FN(name, parameters) {#name, offsetof(functions, name), 1},
#include "fft/cufft.def"
    };
    static const ndh_library library = {
        .size = sizeof library,
        .n_sonames = sizeof sonames / sizeof *sonames,
        .n_symbols = sizeof symbols / sizeof *symbols,
        .name = "cuFFT",
        .install = INSTALL,
        .sonames = sonames,
        .symbols = symbols,
        .version = version_text,
    };
    return cuda_open_library(&library, &fn);
}

int32_t cuda_cufft_open(void)
{
    static cuda_optional cufft =
        CUDA_OPTIONAL(open_library, NDP_LOG_WARN,
                      "no cuFFT, so Fourier transforms of GPUs are computed by the CPU; " INSTALL);
    return cuda_optional_open(&cufft);
}

const char *cuda_cufft_missing(void)
{
    return "cuFFT (libcufft.so.12 or libcufft.so.11) cannot be opened: " INSTALL;
}

/* ---- errors ---- */

/* cufftResult by its number, cufft.h of 13.0. */
static const char *result_name(int r)
{
    static const char *const names[] = {
        [1] = "INVALID_PLAN",       [2] = "ALLOC_FAILED",        [3] = "INVALID_TYPE",
        [4] = "INVALID_VALUE",      [5] = "INTERNAL_ERROR",      [6] = "EXEC_FAILED",
        [7] = "SETUP_FAILED",       [8] = "INVALID_SIZE",        [9] = "UNALIGNED_DATA",
        [11] = "INVALID_DEVICE",    [13] = "NO_WORKSPACE",       [14] = "NOT_IMPLEMENTED",
        [16] = "NOT_SUPPORTED",     [17] = "MISSING_DEPENDENCY", [18] = "NVRTC_FAILURE",
        [19] = "NVJITLINK_FAILURE", [20] = "NVSHMEM_FAILURE"};
    const int n = (int)(sizeof names / sizeof *names);
    return r > 0 && r < n && names[r] ? names[r] : "an unknown result";
}

static int32_t failed(const ndp_dev *dev, const cufft_key *k, int r, const char *what)
{
    static const char *const kinds[] = {"complex", "real to complex", "complex to real"};
    const int32_t status = r == ALLOC_FAILED   ? NDP_ERR_MEMORY
                           : r == INVALID_SIZE ? NDP_ERR_OVERFLOW
                                               : NDP_ERR_INTERNAL;
    return cuda_host->error(
        cuda_host->ctx, status, r,
        "cuFFT on cuda:%u: CUFFT_%s (%d) %s a transform, %s, in %s precision, of %lld x %lld x "
        "%lld elements, batch %lld",
        dev->index, result_name(r), r, what, kinds[k->kind], k->single ? "single" : "double",
        (long long)(k->rank > 2 ? k->n[k->rank - 3] : 1),
        (long long)(k->rank > 1 ? k->n[k->rank - 2] : 1), (long long)k->n[k->rank - 1],
        (long long)k->batch);
}

/* ---- plans ---- */

void cuda_cufft_key(const ndp_dev *dev, int32_t kind, int32_t single, cufft_key *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->name, "cufft", 6);
    out->epoch = atomic_load(&dev->epoch);
    out->kind = kind;
    out->single = single;
    out->device = (int32_t)dev->index;
}

static int type_of(const cufft_key *k) /* cufftType */
{
    static const int types[3][2] = {{0x69, 0x29}, {0x6a, 0x2a}, {0x6c, 0x2c}};
    return types[k->kind][k->single];
}

/* Inside cuda_enter(). Sets p->work. */
static int make_handle(plan *p)
{
    cufft_key k = p->key; /* the library takes pointers to numbers that may be written */
    const int dense = k.in.step == 0;
    long long n[CUFFT_AXES], in[CUFFT_AXES], out[CUFFT_AXES];
    for (int i = 0; i < CUFFT_AXES; i++) {
        n[i] = k.n[i];
        in[i] = k.in.embed[i];
        out[i] = k.out.embed[i];
    }
    int r = fn.cufftCreate(&p->handle);
    if (r != 0)
        return r;
    r = fn.cufftSetAutoAllocation(p->handle, 0);
    if (r == 0)
        r = fn.cufftMakePlanMany64(p->handle, k.rank, n, dense ? NULL : in, dense ? 1 : k.in.step,
                                   dense ? 1 : k.in.apart, dense ? NULL : out,
                                   dense ? 1 : k.out.step, dense ? 1 : k.out.apart, type_of(&k),
                                   k.batch, &p->work);
    if (r != 0)
        fn.cufftDestroy(p->handle);
    return r;
}

typedef struct {
    ndp_dev *dev;
    const cufft_key *key;
} wanted;

/* cuFFT does not say what memory a plan takes: about a root of unity for each element of an axis. */
static uint64_t estimate(const cufft_key *k)
{
    uint64_t elements = 0;
    for (int i = 0; i < k->rank; i++)
        elements += (uint64_t)k->n[i];
    return sizeof(plan) + elements * (k->single ? 8 : 16);
}

static int32_t plan_make(void *arg, void **value, uint64_t *nbytes)
{
    const wanted *w = arg;
    cuda_scope scope;
    plan *p = calloc(1, sizeof *p);
    if (!p)
        return cuda_error(NDP_ERR_MEMORY, "no host memory for a plan of cuFFT");
    p->dev = w->dev;
    p->key = *w->key;
    int32_t status = cuda_enter(w->dev, &scope);
    if (status == NDP_OK) {
        CUstreamCaptureMode mode =
            cuda_capture_relax(); /* tables of a plan are no part of a graph */
        int r = make_handle(p);
        cuda_capture_restore(mode);
        cuda_leave(&scope);
        status = r == 0 ? NDP_OK : failed(w->dev, w->key, r, "planning");
    }
    if (status != NDP_OK) {
        free(p);
        return status;
    }
    pthread_mutex_init(&p->lock, NULL);
    *nbytes = estimate(&p->key);
    *value = p;
    return NDP_OK;
}

/* What a closed device had is gone with its context, and at the end of the process with that. */
static void plan_destroy(void *value)
{
    plan *p = value;
    cuda_scope scope;
    if (p->key.epoch == atomic_load(&p->dev->epoch) && cuda_enter(p->dev, &scope) == NDP_OK) {
        CUstreamCaptureMode mode = cuda_capture_relax();
        fn.cufftDestroy(p->handle);
        cuda_capture_restore(mode);
        cuda_leave(&scope);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* The host has had services for as long as there have been plug-ins that ask: plugin.c refuses
 * others. */
static const ndh_plan_1 *plans(void)
{
    return cuda_host->service(cuda_host->ctx, "ndh.plan/1");
}

static int32_t acquire(ndp_dev *dev, const cufft_key *key, ndh_plan **use, plan **out)
{
    wanted w = {dev, key};
    void *value = NULL;
    const ndh_plan_1 *service = plans();
    *use = NULL;
    *out = NULL;
    if (!service)
        return cuda_error(NDP_ERR_UNSUPPORTED, "this ndock keeps no plans");
    int32_t status = service->acquire(cuda_host->ctx, dev, key, sizeof *key, plan_make,
                                      plan_destroy, &w, use, &value);
    *out = value;
    return status;
}

void cuda_cufft_close(ndp_dev *dev)
{
    const ndh_plan_1 *service = plans();
    if (service && service->size >= NDP_END(ndh_plan_1, clear))
        service->clear(cuda_host->ctx, dev);
}

/* ---- work areas ---- */

static size_t place_of(const cufft_key *key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const unsigned char *p = (const unsigned char *)key;
    for (size_t i = 0; i < sizeof *key; i++) /* FNV-1a */
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> 32) % MEMO;
}

int32_t cuda_cufft_work(ndp_dev *dev, const cufft_key *key, uint64_t *nbytes)
{
    const size_t at = place_of(key);
    ndh_plan *use;
    plan *p;
    pthread_mutex_lock(&memo_lock);
    const int known = memcmp(&memo[at].key, key, sizeof *key) == 0;
    *nbytes = memo[at].nbytes;
    pthread_mutex_unlock(&memo_lock);
    if (known)
        return NDP_OK;
    int32_t status = acquire(dev, key, &use, &p);
    if (status != NDP_OK)
        return status;
    *nbytes = p->work > WORK_LEAST ? p->work : WORK_LEAST;
    plans()->release(cuda_host->ctx, use, NULL);
    pthread_mutex_lock(&memo_lock);
    memo[at].key = *key;
    memo[at].nbytes = *nbytes;
    pthread_mutex_unlock(&memo_lock);
    return NDP_OK;
}

/* ---- running ---- */

static int execute(const plan *p, void *in, void *out, int32_t sign)
{
    const int single = p->key.single;
    if (p->key.kind == CUFFT_COMPLEX)
        return (single ? fn.cufftExecC2C : fn.cufftExecZ2Z)(p->handle, in, out, sign);
    if (p->key.kind == CUFFT_TO_COMPLEX)
        return (single ? fn.cufftExecR2C : fn.cufftExecD2Z)(p->handle, in, out);
    return (single ? fn.cufftExecC2R : fn.cufftExecZ2D)(p->handle, in, out);
}

/* A stream that was created may have the handle of one that is gone; a default one is always the same. */
static int set_stream(plan *p, CUstream stream)
{
    const int is_default = stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
    if (is_default && stream == p->stream)
        return 0;
    const int r = fn.cufftSetStream(p->handle, stream);
    p->stream = r == 0 ? stream : NULL;
    return r;
}

static int set_area(plan *p, CUdeviceptr area)
{
    if (area == p->area)
        return 0;
    const int r = fn.cufftSetWorkArea(p->handle, (void *)(uintptr_t)area);
    p->area = r == 0 ? area : 0;
    return r;
}

static int queue(plan *p, CUstream stream, const cufft_run *run)
{
    pthread_mutex_lock(&p->lock);
    int r = set_stream(p, stream);
    if (r == 0)
        r = set_area(p, run->work);
    for (int64_t i = 0; i < run->times && r == 0; i++) {
        const uint64_t moved = (uint64_t)(i * run->move);
        r = execute(p, (void *)(uintptr_t)(run->in + moved), (void *)(uintptr_t)(run->out + moved),
                    run->sign);
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

int32_t cuda_cufft_run(ndp_dev *dev, ndp_stream *s, const cufft_key *key, const cufft_run *run)
{
    cuda_scope scope;
    ndh_plan *use;
    plan *p;
    int32_t status = cuda_patch_refuse("a transform of cuFFT");
    if (status == NDP_OK)
        status = acquire(dev, key, &use, &p);
    if (status != NDP_OK)
        return status;
    status = cuda_enter(dev, &scope);
    if (status == NDP_OK) {
        int r = queue(p, cuda_stream(dev, s), run);
        cuda_leave(&scope);
        status = r == 0 ? NDP_OK : failed(dev, key, r, "running");
    }
    plans()->release(cuda_host->ctx, use, s);
    return status;
}
