/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * D7, D13, D14, D15: two GPUs, and what lies between them. */
#include <cuda.h>
#include <dlfcn.h>
#include "tests/cuda/gpu.h"

enum { MIB = 1 << 20, MOST = 64 };
static nd_device *second;
static ndp_dev *dev2;

/* ---- who uses memory, by NVML ---- */
typedef struct {
    unsigned long long total, unused, used;
} nvml_memory;
static int (*nvml_count)(unsigned *), (*nvml_handle)(unsigned, void **);
static int (*nvml_memory_of)(void *, nvml_memory *);
static unsigned cards;
static unsigned long long used_first[MOST];

/* The driver's library is there, since the plug-in found a device. */
static void *function(const char *library, const char *name)
{
    void *from = dlopen(library, RTLD_NOW), *at = from ? dlsym(from, name) : NULL;
    if (!at)
        diag("%s has no %s", library, name);
    return at;
}

static unsigned long long used_by(unsigned i)
{
    nvml_memory memory = {0};
    void *card = NULL;
    return nvml_handle(i, &card) == 0 && nvml_memory_of(card, &memory) == 0 ? memory.used : 0;
}

/* Before anything is opened. Zero cards: NVML is not there. */
static void look_at_cards(void)
{
    static const char library[] = "libnvidia-ml.so.1";
    void *from = dlopen(library, RTLD_NOW);
    int (*start)(void) = NULL;
    if (!from)
        return;
    *(void **)(void *)&start = dlsym(from, "nvmlInit_v2");
    *(void **)(void *)&nvml_count = dlsym(from, "nvmlDeviceGetCount_v2");
    *(void **)(void *)&nvml_handle = dlsym(from, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)(void *)&nvml_memory_of = dlsym(from, "nvmlDeviceGetMemoryInfo");
    if (!start || !nvml_count || !nvml_handle || !nvml_memory_of || start() != 0 ||
        nvml_count(&cards) != 0 || cards > MOST)
        cards = 0;
    for (unsigned i = 0; i < cards; i++)
        used_first[i] = used_by(i);
}

/* A context takes hundreds of MiB. */
static int cards_in_use(void)
{
    int n = 0;
    for (unsigned i = 0; i < cards; i++)
        n += used_by(i) > used_first[i] + 32 * MIB;
    return n;
}

static int has_context(int device)
{
    CUresult (*state)(CUdevice, unsigned *, int *);
    unsigned flags = 0;
    int active = -1;
    *(void **)(void *)&state = function("libcuda.so.1", "cuDevicePrimaryCtxGetState");
    return state && state(device, &flags, &active) == CUDA_SUCCESS ? active : -1;
}

/* Work of every kind on the first device. */
static void work(nd_device *on)
{
    const int64_t shape[2] = {512, 512};
    nd_array *a = NULL, *b = NULL, *pinned = NULL;
    nd_stream *s = NULL;
    DO(nd_stream_create(on, NULL, &s));
    DO(nd_stream_push(s));
    DO(nd_full(on, ND_F32, 2, shape, (nd_scalar){.kind = ND_F64, .v.f = 2}, &a));
    DO(nd_matmul(a, a, NULL, &b));
    DO(nd_empty_pinned(on, ND_F32, 2, shape, &pinned));
    DO(nd_copy_to(b, pinned, NULL));
    DO(nd_stream_pop(s));
    DO(nd_synchronize(on));
    nd_release(pinned);
    nd_release(b);
    nd_release(a);
    nd_stream_release(s);
}

static void no_context_elsewhere(void)
{
    work(gpu);
    is_int(has_context(1), 0, "D7: work on cuda:0 makes no context of cuda:1");
    if (cards)
        is_int(cards_in_use(), 1, "D7: by NVML one device's memory is used");
    else
        skip(1, "no libnvidia-ml.so.1");
    DO(nd_device_get("cuda:1", &second));
    work(second);
    is_int(has_context(1), 1, "D7: work on cuda:1 does");
    if (cards)
        is_int(cards_in_use(), 2, "D7: then two are");
    else
        skip(1, "no libnvidia-ml.so.1");
}

/* ---- copies ---- */
static void fill_words(uint32_t *p, int64_t n, uint32_t seed)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = seed + (uint32_t)i * 2654435761u;
}

static nd_array *upload_to(nd_device *device, const void *data, int32_t ndim, const int64_t *shape)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_U32, .ndim = ndim, .shape = shape};
    nd_array *a = NULL;
    DO(nd_from_host(&layout, data, device, &a));
    return a;
}

/* From one device to the other and back, in the elements' order. */
static int round_trip(const nd_array *a, nd_device *there, nd_device *back, void *out, size_t n)
{
    nd_array *away = NULL, *home = NULL;
    int good = nd_copy(a, there, &away) == ND_OK && nd_copy(away, back, &home) == ND_OK &&
               nd_to_host(home, out, n) == ND_OK;
    if (!good)
        diag("%s", nd_last_error()->message);
    nd_release(away);
    nd_release(home);
    return good;
}

static void dense(void)
{
    static const int64_t sizes[] = {1, 3, 1023, 65536, MIB + 1, 16 * MIB + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = (size_t)sizes[i] * 4;
        uint32_t *in = malloc(n), *out = calloc(1, n);
        fill_words(in, sizes[i], (uint32_t)i);
        for (int way = 0; way < 2; way++) {
            nd_device *from = way ? second : gpu, *to = way ? gpu : second;
            nd_array *a = upload_to(from, in, 1, &sizes[i]);
            memset(out, 0, n);
            ok(round_trip(a, to, from, out, n) && memcmp(in, out, n) == 0,
               "D13: %lld words from cuda:%d and back", (long long)sizes[i], way);
            nd_release(a);
        }
        free(in);
        free(out);
    }
}

/* Columns backwards of every other row of the transpose, into a view of the same kind. */
static nd_array *strided_view(const nd_array *a)
{
    const nd_index index[2] = {nd_range(ND_END_OPEN, ND_END_OPEN, 2),
                               nd_range(ND_END_OPEN, ND_END_OPEN, -3)};
    nd_array *t = NULL, *view = NULL;
    DO(nd_transpose(a, &t));
    DO(nd_slice(t, index, 2, &view));
    nd_release(t);
    return view;
}

static void strided(void)
{
    enum { ROWS = 300, COLUMNS = 211 };
    const int64_t shape[2] = {ROWS, COLUMNS};
    static uint32_t in[ROWS * COLUMNS], want[ROWS * COLUMNS], out[ROWS * COLUMNS];
    fill_words(in, ROWS * COLUMNS, 7);
    for (int way = 0; way < 2; way++) {
        nd_device *from = way ? second : gpu, *to = way ? gpu : second;
        nd_array *a = upload_to(from, in, 2, shape), *room = NULL;
        DO(nd_zeros(to, ND_U32, 2, shape, &room));
        nd_array *source = strided_view(a), *target = strided_view(room);
        memset(want, 0, sizeof want);
        memset(out, 0xff, sizeof out);
        for (int r = ROWS - 1; r >= 0; r -= 3)
            for (int c = 0; c < COLUMNS; c += 2)
                want[r * COLUMNS + c] = in[r * COLUMNS + c];
        DO(nd_copy_to(source, target, NULL));
        DO(nd_to_host(room, out, sizeof out));
        ok(memcmp(want, out, sizeof want) == 0, "D15: a strided view of cuda:%d into another", way);
        nd_release(source);
        nd_release(target);
        nd_release(room);
        nd_release(a);
    }
}

/* Nobody waits on the host: the copy must come after the kernels that make its source, the kernels
 * that read its destination after it, and what overwrites the source after it as well. */
static void ordered(void)
{
    enum { N = 4 * MIB, ROUNDS = 20 };
    const int64_t n = N;
    uint32_t *in = malloc(N * 4), *out = malloc(N * 4);
    nd_array *there[ROUNDS] = {NULL}, *a;
    nd_stream *s = NULL, *d = NULL;
    int wrong = 0;
    fill_words(in, N, 1);
    DO(nd_stream_create(gpu, NULL, &s));
    DO(nd_stream_create(second, NULL, &d));
    DO(nd_stream_push(s));
    DO(nd_stream_push(d));
    a = upload_to(gpu, in, 1, &n);
    for (int i = 0; i < ROUNDS; i++) {
        nd_array *copied = NULL;
        DO(nd_add_into(a, a, a));
        DO(nd_copy(a, second, &copied));
        DO(nd_subtract(copied, copied, &there[i]));
        DO(nd_add_into(there[i], copied, there[i]));
        nd_release(copied);
    }
    for (int i = 0; i < ROUNDS; i++) {
        DO(nd_to_host(there[i], out, N * 4));
        for (int k = 0; k < N; k++)
            wrong += out[k] != in[k] << (i + 1);
        nd_release(there[i]);
    }
    is_int(wrong, 0, "D15: copies are ordered with the kernels of both devices");
    DO(nd_stream_pop(d));
    DO(nd_stream_pop(s));
    nd_release(a);
    nd_stream_release(s);
    nd_stream_release(d);
    free(in);
    free(out);
}

/* ---- kernels of one device on memory of the other ---- */
static const void *group_of(nd_device *device, const char *id, ndp_dev **out)
{
    const void *table = NULL;
    DO(nd_device_group(device, id, &table, out));
    if (!table)
        bail(id);
    return table;
}

/* dst = -src, as words of i32, by a kernel of the first device. */
static int32_t negate(ndp_mem *src, ndp_mem *dst, int64_t n)
{
    const ndp_op_1 *op = group("ndp.op/1");
    const int64_t one = 1;
    const ndp_view in = {.mem = src,
                         .shape = &n,
                         .stride = &one,
                         .dtype = ND_I32,
                         .ndim = 1,
                         .flags = NDP_VIEW_CONTIGUOUS};
    ndp_view out = in;
    out.mem = dst;
    const ndp_call call = {
        .size = sizeof call, .op = NDP_OP_negative, .n_in = 1, .n_out = 1, .in = &in, .out = &out};
    const ndp_kernel *kernel = NULL;
    char why[200] = "";
    int32_t status = op->find(dev, &call, &kernel, why, sizeof why);
    return status == NDP_OK ? kernel->run(kernel, NULL, &call) : status;
}

static struct {
    CUresult (*retain)(CUcontext *, CUdevice), (*set)(CUcontext);
    CUresult (*alloc)(CUdeviceptr *, size_t), (*release)(CUdeviceptr);
    CUresult (*write)(CUdeviceptr, const void *, size_t), (*read)(void *, CUdeviceptr, size_t);
    CUresult (*peer)(CUcontext, unsigned);
} driver;

static void open_driver(void)
{
    static const struct {
        const char *name;
        void *slot;
    } row[] = {{"cuDevicePrimaryCtxRetain", &driver.retain},
               {"cuCtxSetCurrent", &driver.set},
               {"cuMemAlloc_v2", &driver.alloc},
               {"cuMemFree_v2", &driver.release},
               {"cuMemcpyHtoD_v2", &driver.write},
               {"cuMemcpyDtoH_v2", &driver.read},
               {"cuCtxEnablePeerAccess", &driver.peer}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if ((*(void **)row[i].slot = function("libcuda.so.1", row[i].name)) == NULL)
            bail(row[i].name);
}

/* cuda:0 reads and writes a block of cuda:1, whose context is current. */
static void reaches(ndp_mem *theirs, const char *what)
{
    enum { N = 65536 };
    static int32_t words[N];
    const ndp_map_1 *map = group_of(second, "ndp.map/1", &dev2);
    uint64_t at = 0;
    int wrong = 0;
    DO(map->address(dev2, theirs, &at));
    for (int i = 0; i < N; i++)
        words[i] = 3 * i + 1;
    is_int(driver.write(at, words, sizeof words), CUDA_SUCCESS, "D14: words go to cuda:1");
    is_int(negate(theirs, theirs, N), NDP_OK, "D14: a kernel of cuda:0 gets the block");
    is_int(nd_synchronize(gpu), ND_OK, "D14: and ends well");
    is_int(driver.read(words, at, sizeof words), CUDA_SUCCESS, "D14: and they come back");
    for (int i = 0; i < N; i++)
        wrong += words[i] != -(3 * i + 1);
    is_int(wrong, 0, what);
}

/* The three kinds of memory that a device has; each needs its own permission. */
static void every_kind(void)
{
    enum { BYTES = 65536 * 4 };
    const ndp_pool_1 *pool = group_of(second, "ndp.pool/1", &dev2);
    const ndp_memory_1 *memory = group_of(second, "ndp.memory/1", &dev2);
    const ndp_map_1 *map = group_of(second, "ndp.map/1", &dev2);
    CUdeviceptr plain = 0;
    uint64_t page = 0;
    ndp_mem *wrapped = NULL, *pooled = NULL, *range = NULL;
    is_int(driver.alloc(&plain, BYTES), CUDA_SUCCESS, "D14: a block of the driver's");
    DO(map->wrap(dev2, plain, BYTES, &wrapped));
    reaches(wrapped, "D14: cuda:0 uses ordinary memory of cuda:1");
    DO(pool->alloc(dev2, NULL, BYTES, &pooled));
    DO(nd_synchronize(second));
    reaches(pooled, "D14: and memory of its pool");
    pool->free(dev2, NULL, pooled);
    DO(memory->granularity(dev2, &page));
    DO(memory->reserve(dev2, page, &range));
    DO(memory->commit(dev2, range, 0, page));
    DO(memory->set_access(dev2, range, 0, page));
    reaches(range, "D14: and memory at reserved addresses");
    DO(memory->decommit(dev2, range, 0, page));
    DO(nd_synchronize(second));
    (void)driver.release(plain);
}

static void access_of_kernels(void)
{
    const ndp_peer_1 *peer = group("ndp.peer/1");
    CUcontext first_context = NULL, context = NULL;
    int32_t yes = 0;
    (void)group_of(second, "ndp.peer/1", &dev2);
    open_driver();
    DO(peer->can_access(dev, dev2, &yes));
    int32_t status = peer->enable(dev, dev2);
    if (!yes || status != NDP_OK) {
        has_text(nd_last_error()->message, yes ? "self-test" : "cannot use",
                 "D13: access that is not there is refused with a reason");
        skip(1, "the two devices do not reach each other");
        return;
    }
    is_int(peer->enable(dev, dev2), NDP_OK, "D13: switched on twice is on");
    is_int(driver.retain(&first_context, 0), CUDA_SUCCESS, "the context of cuda:0");
    is_int(driver.retain(&context, 1), CUDA_SUCCESS, "the context of cuda:1");
    is_int(driver.set(context), CUDA_SUCCESS, "D14: the context of cuda:1 is current");
    every_kind();
    is_int(driver.peer(first_context, 0), CUDA_SUCCESS, "D14: the other way round by the driver");
    is_int(peer->enable(dev2, dev), NDP_OK, "D14: \"already enabled\" is no failure");
    (void)driver.set(NULL);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"D7", no_context_elsewhere},
                                     {"D13", dense},
                                     {"D15_strided", strided},
                                     {"D15", ordered},
                                     {"D14", access_of_kernels}};
    int32_t state = 0;
    look_at_cards();
    open_gpu();
    if (nd_device_available("cuda:1", ND_PROBE_COUNT, &state) != ND_OK || state == 0) {
        puts("1..0 # SKIP one CUDA device alone");
        return 0;
    }
    if (argc > 1 && nd_device_get("cuda:1", &second) != ND_OK)
        bail("cuda:1 does not open");
    return tap_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
