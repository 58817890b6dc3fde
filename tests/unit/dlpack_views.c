/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * DLPack round trips: every dtype and every sort of view goes out, says what it is, and comes back
 * without a copy. */
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { ROWS = 4, COLUMNS = 6, N = ROWS * COLUMNS, WIDEST = 16, MOST = 3 };

static int good(nd_status status, const char *what)
{
    if (status != ND_OK)
        diag("%s: %s", what, nd_last_error()->message);
    return status == ND_OK;
}

/* By the DLPack 1.3 specification, DLDataTypeCode. */
static const struct {
    nd_dtype dtype;
    uint8_t code, bits;
} types[] = {{ND_BOOL, 6, 8},    {ND_I8, 0, 8},   {ND_I16, 0, 16},   {ND_I32, 0, 32},
             {ND_I64, 0, 64},    {ND_U8, 1, 8},   {ND_U16, 1, 16},   {ND_U32, 1, 32},
             {ND_U64, 1, 64},    {ND_F16, 2, 16}, {ND_BF16, 4, 16},  {ND_F32, 2, 32},
             {ND_F64, 2, 64},    {ND_C64, 5, 64}, {ND_C128, 5, 128}, {ND_F8_E4M3, 10, 8},
             {ND_F8_E5M2, 12, 8}};
enum { TYPES = sizeof types / sizeof types[0] };

/* Element p of the base array; no pattern is a NaN. */
static void element(nd_dtype dtype, int64_t p, unsigned char *to)
{
    for (size_t b = 0; b < nd_dtype_size(dtype); b++)
        to[b] = (unsigned char)(dtype == ND_BOOL ? p % 2 : (p + 7 * (int64_t)b + dtype) & 0x3f);
}

static nd_array *base_array(nd_dtype dtype)
{
    static const int64_t shape[2] = {ROWS, COLUMNS};
    nd_layout layout = {.size = sizeof layout, .dtype = dtype, .ndim = 2, .shape = shape};
    unsigned char data[N * WIDEST];
    nd_device *cpu = NULL;
    nd_array *a = NULL;
    for (int64_t p = 0; p < N; p++)
        element(dtype, p, data + (size_t)p * nd_dtype_size(dtype));
    (void)(good(nd_device_get("cpu", &cpu), "cpu") &&
           good(nd_from_host(&layout, data, cpu, &a), "from_host"));
    return a;
}

static nd_status dense(const nd_array *a, nd_array **out)
{
    *out = nd_retain((nd_array *)a);
    return ND_OK;
}
static nd_status strided(const nd_array *a, nd_array **out)
{
    const nd_index idx[2] = {nd_range(1, ND_END_OPEN, 2), nd_range(ND_END_OPEN, ND_END_OPEN, 3)};
    return nd_slice(a, idx, 2, out);
}
static nd_status negative(const nd_array *a, nd_array **out)
{
    return nd_flip(a, 0, NULL, out);
}
static nd_status broadcast(const nd_array *a, nd_array **out)
{
    static const int64_t wide[2] = {3, COLUMNS};
    const nd_index row = nd_at(2);
    nd_array *one = NULL;
    nd_status status = nd_slice(a, &row, 1, &one);
    if (status == ND_OK)
        status = nd_broadcast_to(one, 2, wide, out);
    nd_release(one);
    return status;
}
static nd_status zero_d(const nd_array *a, nd_array **out)
{
    const nd_index idx[2] = {nd_at(1), nd_at(4)};
    return nd_slice(a, idx, 2, out);
}
static nd_status zero_size(const nd_array *a, nd_array **out)
{
    const nd_index none = nd_range(2, 2, 1);
    return nd_slice(a, &none, 1, out);
}
static nd_status new_axis(const nd_array *a, nd_array **out)
{
    const nd_index idx[3] = {nd_all_of(), nd_newaxis(), nd_range(ND_END_OPEN, ND_END_OPEN, -2)};
    return nd_slice(a, idx, 3, out);
}

/* first: the base element at index 0. */
typedef struct {
    const char *name;
    nd_status (*make)(const nd_array *, nd_array **);
    int ndim, readonly;
    int64_t first, shape[MOST], stride[MOST];
} view;
static const view views[] = {
    {"dense", dense, 2, 0, 0, {ROWS, COLUMNS}, {COLUMNS, 1}},
    {"transposed", nd_transpose, 2, 0, 0, {COLUMNS, ROWS}, {1, COLUMNS}},
    {"strided", strided, 2, 0, 6, {2, 2}, {12, 3}},
    {"negative", negative, 2, 0, N - 1, {ROWS, COLUMNS}, {-COLUMNS, -1}},
    {"broadcast", broadcast, 2, 1, 12, {3, COLUMNS}, {0, 1}},
    {"with a new axis", new_axis, 3, 0, 5, {ROWS, 1, 3}, {COLUMNS, 0, -2}},
    {"0-d", zero_d, 0, 0, 10, {0}, {0}},
    {"zero-size", zero_size, 2, 0, 12, {0, COLUMNS}, {COLUMNS, 1}},
};
enum { VIEWS = sizeof views / sizeof views[0] };

static int64_t size_of(const view *v)
{
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++)
        n *= v->shape[d];
    return n;
}

/* Elements from element 0 to the i-th in C order, by these strides. */
static int64_t distance(const view *v, const int64_t *stride, int64_t i)
{
    int64_t at = 0;
    for (int d = v->ndim - 1; d >= 0; i /= v->shape[d--])
        at += i % v->shape[d] * stride[d];
    return at;
}

/* An extent of one, or no elements, may have any stride. */
static int same_strides(const view *v, const int64_t *stride)
{
    for (int d = 0; d < v->ndim && size_of(v) > 0; d++)
        if (v->shape[d] > 1 && stride[d] != v->stride[d])
            return 0;
    return 1;
}

static int says_what_it_is(const view *v, int type, const nd_dl_managed *m)
{
    const nd_dl_tensor *t = &m->tensor;
    int same = m->version.major == 1 && m->deleter && t->device.device_type == 1 &&
               t->device.device_id == 0 && t->dtype.code == types[type].code &&
               t->dtype.bits == types[type].bits && t->dtype.lanes == 1 && t->ndim == v->ndim &&
               t->shape && t->strides && m->flags == (v->readonly ? 1u : 0u);
    for (int d = 0; same && d < v->ndim; d++)
        same = t->shape[d] == v->shape[d];
    return same && same_strides(v, t->strides) && (size_of(v) > 0) == (t->data != NULL);
}

/* Elements as a stranger to this library reads them. */
static int holds(const view *v, int type, const nd_dl_tensor *t)
{
    size_t item = types[type].bits / 8;
    unsigned char want[WIDEST];
    for (int64_t i = 0; i < size_of(v); i++) {
        const char *at = (const char *)t->data + t->byte_offset;
        element(types[type].dtype, v->first + distance(v, v->stride, i), want);
        if (memcmp(at + distance(v, t->strides, i) * (int64_t)item, want, item) != 0)
            return 0;
    }
    return 1;
}

static int came_back(const view *v, int type, const nd_array *a, const void *data)
{
    size_t item = types[type].bits / 8, n = (size_t)size_of(v);
    unsigned char got[N * WIDEST], want[WIDEST];
    void *at = NULL;
    int same = a && nd_dtype_of(a) == types[type].dtype && nd_ndim(a) == v->ndim &&
               !nd_is_readonly(a) == !v->readonly && good(nd_data(a, &at), "data") && at == data;
    for (int d = 0; same && d < v->ndim; d++)
        same = nd_shape(a)[d] == v->shape[d];
    same = same && same_strides(v, nd_strides(a)) && good(nd_to_host(a, got, n * item), "to_host");
    for (size_t i = 0; same && i < n; i++) {
        element(types[type].dtype, v->first + distance(v, v->stride, (int64_t)i), want);
        same = memcmp(got + i * item, want, item) == 0;
    }
    return same;
}

static void round_trip(const view *v, int type)
{
    const char *name = nd_dtype_name(types[type].dtype);
    nd_array *base = base_array(types[type].dtype), *a = NULL, *back = NULL;
    nd_dl_managed *m = NULL;
    if (base && good(v->make(base, &a), v->name) && good(nd_to_dlpack(a, &m), "to_dlpack")) {
        ok(says_what_it_is(v, type, m), "%s, %s: the tensor says so", name, v->name);
        ok(holds(v, type, &m->tensor), "%s, %s: its elements are where it says", name, v->name);
        nd_release(base);
        nd_release(a);
        base = a = NULL;
        const void *data = m->tensor.data;
        if (good(nd_from_dlpack(m, &back), "from_dlpack"))
            m = NULL;
        ok(came_back(v, type, back, data), "%s, %s: comes back, without a copy", name, v->name);
    } else {
        ok(0, "%s, %s: is exported", name, v->name);
    }
    if (m)
        m->deleter(m);
    nd_release(back);
    nd_release(a);
    nd_release(base);
}

static void round_trips(void)
{
    is_int(TYPES, ND_DTYPE_END - 1, "every dtype is tried");
    for (int type = 0; type < TYPES; type++)
        for (int i = 0; i < VIEWS; i++)
            round_trip(&views[i], type);
}

TAP_MAIN({"round_trips", round_trips})
