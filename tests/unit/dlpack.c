/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack in and out: what an imported tensor becomes, who frees what and when, and what is refused.
 * dlpack_views.c has the round trips. */
#include <stdint.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

static int good(nd_status status, const char *what)
{
    if (status != ND_OK)
        diag("%s: %s", what, nd_last_error()->message);
    return status == ND_OK;
}

/* ---- a producer that is not this library ---- */

typedef struct {
    nd_dl_managed managed;
    int64_t shape[2], stride[2];
    char *memory; /* freed by the deleter, as a producer's is */
} producer;
static int deleted; /* how often, of the last producer */

static void producer_delete(nd_dl_managed *m)
{
    producer *p = m->manager_ctx;
    deleted++;
    free(p->memory);
    free(p);
}

/* A dense i32 matrix of 2 rows and 3 columns, elements 100, 101 ..., skip bytes into its memory. */
static producer *produce(size_t skip)
{
    deleted = 0;
    producer *p = calloc(1, sizeof *p);
    char *memory = malloc(256);
    if (!p || !memory)
        bail("out of memory");
    memset(memory, 0x55, 256);
    for (int32_t i = 0; i < 6; i++) {
        int32_t value = 100 + i;
        memcpy(memory + skip + 4 * (size_t)i, &value, sizeof value);
    }
    *p = (producer){.shape = {2, 3}, .stride = {3, 1}, .memory = memory};
    p->managed = (nd_dl_managed){.version = {1, 0},
                                 .manager_ctx = p,
                                 .deleter = producer_delete,
                                 .tensor = {.data = memory + skip,
                                            .device = {1, 0},
                                            .ndim = 2,
                                            .dtype = {0, 32, 1},
                                            .shape = p->shape,
                                            .strides = p->stride}};
    return p;
}

static int equals(const nd_array *a, int n, const int32_t *want)
{
    int32_t got[6];
    return a && nd_dtype_of(a) == ND_I32 &&
           good(nd_to_host(a, got, (size_t)n * sizeof *got), "to_host") &&
           memcmp(got, want, (size_t)n * sizeof *got) == 0;
}
static const int32_t in_order[6] = {100, 101, 102, 103, 104, 105};

/* The import succeeds and equals want, and the deleter has run `before` times while the array lives
 * and once after. */
static void accepts(producer *p, int n, const int32_t *want, int before, const char *what)
{
    nd_array *a = NULL;
    int taken = good(nd_from_dlpack(&p->managed, &a), what);
    ok(taken && equals(a, n, want), "%s: the values", what);
    ok(taken && deleted == before, "%s: %s while the array lives", what,
       before ? "a copy, the producer is released" : "no copy, the producer is kept");
    nd_release(a);
    ok(deleted == 1, "%s: in the end the deleter has run once", what);
    if (!taken && deleted == 0)
        producer_delete(&p->managed);
}

/* The import is refused with the status and the word, and the tensor is still the caller's. op: who
 * refuses. */
static void refuses_as(const char *op, producer *p, nd_status want, const char *word,
                       const char *what)
{
    nd_array *a = (nd_array *)(uintptr_t)8;
    nd_status got = nd_from_dlpack(&p->managed, &a);
    const nd_error *e = nd_last_error();
    ok(got == want && a == NULL, "%s: refused with %s", what, nd_status_name(want));
    if (got != want)
        diag("got %s", nd_status_name(got));
    ok(got != ND_OK && e->status == want && strstr(e->message, word),
       "%s: the message names \"%s\"", what, word);
    if (got != ND_OK) {
        is_str(e->op, op, "it names the operation");
        is_int(deleted, 0, "the deleter has not run");
        p->managed.deleter(&p->managed);
    } else {
        nd_release(a);
    }
}

static void refuses(producer *p, nd_status want, const char *word, const char *what)
{
    refuses_as("from_dlpack", p, want, word, what);
}

static void imports(void)
{
    producer *p = produce(0);
    accepts(p, 6, in_order, 0, "a dense matrix");

    p = produce(0);
    p->managed.tensor.strides = NULL;
    accepts(p, 6, in_order, 0, "NULL strides (C order)");

    p = produce(0);
    p->managed.tensor.data = p->memory - 8;
    p->managed.tensor.byte_offset = 8;
    accepts(p, 6, in_order, 0, "a byte offset");

    p = produce(0);
    p->managed.tensor.byte_offset = 20;
    p->stride[0] = -3;
    p->stride[1] = -1;
    accepts(p, 6, (const int32_t[]){105, 104, 103, 102, 101, 100}, 0, "negative strides");

    p = produce(0);
    p->stride[0] = 0;
    p->managed.flags = ND_DL_READ_ONLY;
    accepts(p, 6, (const int32_t[]){100, 101, 102, 100, 101, 102}, 0, "zero strides");

    p = produce(0);
    p->managed.tensor.ndim = 0;
    p->managed.tensor.shape = p->managed.tensor.strides = NULL;
    accepts(p, 1, in_order, 0, "0-d, NULL shape");

    p = produce(0);
    p->shape[0] = 0;
    p->managed.tensor.data = NULL;
    accepts(p, 0, in_order, 0, "no elements at NULL");

    p = produce(0);
    p->managed.version.minor = 99;
    p->managed.flags = UINT64_C(1) << 40;
    accepts(p, 6, in_order, 0, "a later minor version, an unknown flag");

    p = produce(0);
    p->managed.tensor.device.device_type = ND_DL_CUDA_HOST;
    accepts(p, 6, in_order, 0, "pinned host memory");
}

static void misaligned(void)
{
    producer *p = produce(1);
    accepts(p, 6, in_order, 1, "one byte off");

    p = produce(2);
    p->managed.tensor.data = p->memory;
    p->managed.tensor.byte_offset = 2;
    accepts(p, 6, in_order, 1, "misaligned by the byte offset");

    p = produce(3);
    p->managed.tensor.byte_offset = 16;
    p->shape[1] = 2;
    p->stride[0] = 1;
    p->stride[1] = -3;
    accepts(p, 4, (const int32_t[]){104, 101, 105, 102}, 1, "misaligned, negative strides");

    p = produce(1);
    p->managed.tensor.strides = NULL;
    accepts(p, 6, in_order, 1, "misaligned, NULL strides");

    p = produce(1);
    p->managed.tensor.ndim = 0;
    accepts(p, 1, in_order, 1, "misaligned, 0-d");

    p = produce(1);
    p->shape[1] = 0;
    accepts(p, 0, in_order, 1, "misaligned, no elements");
}

/* A complex number is aligned like its parts. */
static void aligned_parts(void)
{
    const double want[2] = {1.5, -2.5};
    double got[2] = {0};
    nd_array *a = NULL;
    void *at = NULL;
    for (size_t skip = 4; skip <= 8; skip += 4) {
        producer *p = produce(skip);
        const void *data = p->managed.tensor.data;
        memcpy(p->memory + skip, want, sizeof want);
        p->managed.tensor.dtype = (nd_dl_dtype){5, 128, 1};
        p->managed.tensor.ndim = 0;
        if (!ok(good(nd_from_dlpack(&p->managed, &a), "from_dlpack"), "c128, %zu bytes off", skip))
            continue;
        ok(good(nd_data(a, &at), "data") && (at == data) == (skip == 8), "c128: %s",
           skip == 8 ? "a view at a multiple of 8" : "a copy else");
        ok(good(nd_to_host(a, got, sizeof got), "to_host") && memcmp(got, want, sizeof got) == 0,
           "c128: the value");
        nd_release(a);
        is_int(deleted, 1, "c128: the deleter has run once");
    }
}

/* ---- ownership ---- */

static void count_release(void *ctx)
{
    ++*(int *)ctx;
}

/* An array over memory of this program, and how often it was given back. */
static nd_array *counted(int32_t *memory, int *released)
{
    static const int64_t shape[2] = {2, 3};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_I32, .ndim = 2, .shape = shape};
    nd_device *cpu = NULL;
    nd_array *a = NULL;
    *released = 0;
    memcpy(memory, in_order, sizeof in_order);
    (void)(good(nd_device_get("cpu", &cpu), "cpu") &&
           good(nd_wrap(&layout, memory, cpu, count_release, released, &a), "wrap"));
    return a;
}

static void exported(void)
{
    _Alignas(64) int32_t memory[6];
    int released;
    nd_dl_managed *m = NULL, *second = NULL;
    nd_array *a = counted(memory, &released), *b = NULL;
    if (!ok(a && good(nd_to_dlpack(a, &m), "to_dlpack"), "an array is exported"))
        return;
    nd_release(a);
    is_int(released, 0, "the exporter is gone first: the tensor holds on");
    ok(((int32_t *)m->tensor.data)[5] == 105, "and can be read");
    m->deleter(m);
    is_int(released, 1, "the tensor's deleter gives the memory back");

    a = counted(memory, &released);
    ok(a && good(nd_to_dlpack(a, &m), "to_dlpack") && good(nd_to_dlpack(a, &second), "to_dlpack"),
       "two exports of one array");
    m->deleter(m);
    second->deleter(second);
    is_int(released, 0, "the deleters are first: the array holds on");
    ok(equals(a, 6, in_order), "and can be read");
    nd_release(a);
    is_int(released, 1, "the array gives the memory back");

    a = counted(memory, &released);
    ok(a && good(nd_to_dlpack(a, &m), "to_dlpack") && good(nd_from_dlpack(m, &b), "from_dlpack"),
       "out and in again");
    nd_release(a);
    ok(released == 0 && equals(b, 6, in_order), "the import outlives the exporter");
    nd_release(b);
    is_int(released, 1, "and gives the memory back");
}

static void imported(void)
{
    producer *p = produce(0);
    nd_array *a = NULL, *view_of = NULL;
    if (!ok(good(nd_from_dlpack(&p->managed, &a), "from_dlpack") &&
                good(nd_transpose(a, &view_of), "transpose"),
            "a view of an import"))
        return;
    nd_release(a);
    is_int(deleted, 0, "the import is gone, its view holds on");
    ok(equals(view_of, 6, (const int32_t[]){100, 103, 101, 104, 102, 105}), "and can be read");
    nd_release(view_of);
    is_int(deleted, 1, "the last array over it runs the deleter");

    p = produce(0);
    p->managed.deleter = NULL;
    ok(good(nd_from_dlpack(&p->managed, &a), "from_dlpack") && equals(a, 6, in_order),
       "a tensor without a deleter");
    nd_release(a);
    p->managed.deleter = producer_delete;
    p->managed.deleter(&p->managed);
}

static void read_only(void)
{
    producer *p = produce(0);
    nd_array *a = NULL, *ro = NULL;
    int32_t *data = p->managed.tensor.data;
    nd_dl_managed *m = NULL;
    if (!ok(good(nd_from_dlpack(&p->managed, &a), "from_dlpack"), "a writable import"))
        return;
    ok(!nd_is_readonly(a) && good(nd_fill(a, nd_int(7)), "fill") && data[0] == 7 && data[5] == 7,
       "writing changes the producer's memory");
    ok(good(nd_readonly(a, &ro), "readonly") && good(nd_to_dlpack(ro, &m), "to_dlpack") &&
           m->flags == ND_DL_READ_ONLY,
       "a read-only view is exported so");
    nd_release(a);
    nd_release(ro);
    a = NULL;
    ok(good(nd_from_dlpack(m, &a), "from_dlpack") && nd_is_readonly(a), "and imported so");
    ok(nd_fill(a, nd_int(9)) == ND_ERR_READONLY && data[0] == 7, "writing is refused");
    nd_release(a);
    is_int(deleted, 1, "the deleter has run once");
}

/* ---- refusals ---- */

static void versions_and_types(void)
{
    producer *p = produce(0);
    p->managed.version.major = 2;
    p->managed.version.minor = 7;
    refuses(p, ND_ERR_UNSUPPORTED, "2.7", "the next major version");
    static const struct {
        nd_dl_dtype dtype;
        const char *word;
    } bad[] = {{{0, 32, 2}, "2 lanes"}, {{3, 64, 1}, "code 3"}, {{200, 32, 1}, "code 200"},
               {{0, 4, 1}, "4 bits"},   {{2, 8, 1}, "8 bits"},  {{0, 32, 0}, "0 lanes"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        p = produce(0);
        p->managed.tensor.dtype = bad[i].dtype;
        refuses(p, ND_ERR_DTYPE, bad[i].word, bad[i].word);
    }
    static const int32_t nowhere[] = {0, 7, 99, -1};
    for (size_t i = 0; i < sizeof nowhere / sizeof nowhere[0]; i++) {
        char word[32];
        snprintf(word, sizeof word, "device type %d", (int)nowhere[i]);
        p = produce(0);
        p->managed.tensor.device.device_type = nowhere[i];
        refuses(p, ND_ERR_DEVICE, word, word);
    }
    p = produce(0);
    p->managed.tensor.device = (nd_dl_device){ND_DL_CUDA, 4711};
    refuses_as("device_get", p, ND_ERR_DEVICE, "cuda:4711", "a GPU that is not there");
}

static void sizes(void)
{
    const int64_t far = INT64_C(1) << 40;
    static int64_t many[ND_MAX_NDIM + 1];
    producer *p = produce(0);
    p->shape[0] = p->shape[1] = far;
    p->managed.tensor.strides = NULL;
    refuses(p, ND_ERR_OVERFLOW, "2^63", "more bytes than 2^63");

    p = produce(0);
    p->shape[0] = far;
    p->stride[0] = far;
    refuses(p, ND_ERR_OVERFLOW, "2^63", "strides that reach beyond 2^63 elements");

    p = produce(0);
    p->stride[0] = INT64_MAX / 4 + 1;
    refuses(p, ND_ERR_OVERFLOW, "2^63", "strides that reach beyond 2^63 bytes");

    p = produce(0);
    p->stride[0] = INT64_MIN;
    refuses(p, ND_ERR_OVERFLOW, "2^63", "the lowest stride");

    p = produce(0);
    p->managed.tensor.byte_offset = UINT64_MAX - 3;
    refuses(p, ND_ERR_OVERFLOW, "18446744073709551612", "an offset beyond all addresses");

    p = produce(1);
    p->shape[0] = far;
    p->stride[0] = far;
    refuses(p, ND_ERR_OVERFLOW, "2^63", "strides too far, misaligned");

    p = produce(0);
    p->shape[1] = -3;
    refuses(p, ND_ERR_SHAPE, "-3", "a negative extent");

    p = produce(0);
    p->managed.tensor.ndim = ND_MAX_NDIM + 1;
    p->managed.tensor.shape = p->managed.tensor.strides = many;
    refuses(p, ND_ERR_SHAPE, "65", "a rank of 65");

    p = produce(0);
    p->managed.tensor.ndim = -1;
    refuses(p, ND_ERR_SHAPE, "-1", "a negative rank");

    p = produce(0);
    p->managed.tensor.shape = NULL;
    refuses(p, ND_ERR_SHAPE, "NULL", "no shape");

    p = produce(0);
    p->managed.tensor.data = NULL;
    refuses(p, ND_ERR_ARGUMENT, "NULL", "no data");
}

static void nothing(void)
{
    nd_array *a = (nd_array *)(uintptr_t)8;
    nd_dl_managed *m = (nd_dl_managed *)(uintptr_t)8;
    ok(nd_from_dlpack(NULL, &a) == ND_ERR_ARGUMENT && !a, "from_dlpack of NULL");
    is_str(nd_last_error()->op, "from_dlpack", "names itself");
    ok(nd_to_dlpack(NULL, &m) == ND_ERR_ARGUMENT && !m, "to_dlpack of NULL");
    is_str(nd_last_error()->op, "to_dlpack", "names itself");
}

TAP_MAIN({"imports", imports}, {"misaligned", misaligned}, {"aligned_parts", aligned_parts},
         {"exported", exported}, {"imported", imported}, {"read_only", read_only},
         {"versions_and_types", versions_and_types}, {"sizes", sizes}, {"nothing", nothing})
