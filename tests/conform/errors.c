/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: bad input. Each is refused with its status, its operation and a text that names the
 * values, leaves *out NULL and the destination as it was. */
#include "tests/conform/conform.h"

#define DIMS(...)     \
    (const int64_t[]) \
    {                 \
        __VA_ARGS__   \
    }
#define HUGE_EXTENT ((int64_t)1 << 62)

/* got is the status of a call of operation op (NULL: the plug-in names it); the texts are words of
 * the message ("" for none). Calls made of other calls are named by the one that refused. */
static void refused(nd_status got, nd_status want, const char *op, const char *a, const char *b)
{
    const nd_error *e = nd_last_error();
    end_if_lost(got == want ? ND_OK : got);
    bool later = got == ND_OK && want == ND_ERR_INDEX && run.async;
    if (later) { /* the device notices, and its words are fewer */
        got = nd_synchronize(run.device);
        e = nd_last_error();
    }
    op = op && !later ? op : e->op;
    a = later ? "out of range" : a;
    b = later ? "" : b;
    if (got != want)
        fail_case("%s gave %s where %s is due: %s", op, nd_status_name(got), nd_status_name(want),
                  got == ND_OK ? "(accepted)" : e->message);
    else if (e->status != want)
        fail_case("%s: the detail's status is %s", op, nd_status_name(e->status));
    else if (strcmp(e->op, op) != 0)
        fail_case("%s: the detail names the operation \"%s\" (%s)", op, e->op, e->message);
    else if (!strstr(e->message, a) || !strstr(e->message, b))
        fail_case("%s: \"%s\" does not name %s and %s", op, e->message, a, b);
}

/* The same for calls with a result: *out is NULL afterwards. */
static void refused_out(nd_status got, nd_array **out, nd_status want, const char *op,
                        const char *a, const char *b)
{
    refused(got, want, op, a, b);
    if (*out && got == ND_OK && run.async) { /* it holds zeros where the index was bad */
        nd_release(*out);
        *out = NULL;
    }
    if (*out)
        fail_case("%s failed and left *out set", op ? op : "a call");
    nd_release(*out);
    *out = (nd_array *)(uintptr_t)8; /* so that the next call must clear it */
}
#define NO(want, op, a, b, call) refused_out((call), &out, (want), (op), (a), (b))

static nd_array *ramp(nd_dtype dtype, int ndim, const int64_t *shape)
{
    nd_array *a = NULL;
    good(nd_full(run.device, dtype, ndim, shape, nd_int(1), &a), "full");
    return a;
}

static void group(const char *name, void (*body)(void))
{
    if (!wanted(name))
        return;
    begin_op(name);
    body();
    end_op();
}

static void bad_shapes(void)
{
    nd_array *a = ramp(ND_F32, 2, DIMS(3, 4)), *b = ramp(ND_F32, 1, DIMS(5)), *z = NULL;
    nd_array *out = (nd_array *)(uintptr_t)8;
    int64_t big[65];
    for (int i = 0; i < 65; i++)
        big[i] = 1;
    NO(ND_ERR_SHAPE, "add", "(3, 4)", "(5,)", nd_add(a, b, &out));
    NO(ND_ERR_SHAPE, "reshape", "(3, 4)", "(5, 3)", nd_reshape(a, 2, DIMS(5, 3), &out));
    NO(ND_ERR_SHAPE, "reshape", "(-1, -1)", "-1", nd_reshape(a, 2, DIMS(-1, -1), &out));
    NO(ND_ERR_SHAPE, "reshape", "12", "(7, -1)", nd_reshape(a, 2, DIMS(7, -1), &out));
    NO(ND_ERR_SHAPE, "reshape", "-2", "", nd_reshape(a, 2, DIMS(-2, 6), &out));
    NO(ND_ERR_SHAPE, "zeros", "-4", "1", nd_zeros(run.device, ND_F32, 2, DIMS(3, -4), &out));
    NO(ND_ERR_SHAPE, "zeros", "-1", "negative", nd_zeros(run.device, ND_F32, 2, DIMS(3, -1), &out));
    NO(ND_ERR_SHAPE, "zeros", "65", "64", nd_zeros(run.device, ND_F32, 65, big, &out));
    NO(ND_ERR_SHAPE, "reshape", "65", "64", nd_reshape(b, 65, big, &out));
    NO(ND_ERR_SHAPE, "broadcast_to", "(5,)", "(2, 4)", nd_broadcast_to(b, 2, DIMS(2, 4), &out));
    NO(ND_ERR_OVERFLOW, "zeros", "2^63", "f32",
       nd_zeros(run.device, ND_F32, 2, DIMS(HUGE_EXTENT, 4), &out));
    NO(ND_ERR_OVERFLOW, "empty", "2^63", "f64",
       nd_empty(run.device, ND_F64, 1, DIMS(HUGE_EXTENT), &out));
    NO(ND_ERR_OVERFLOW, "as_strided", "2^63", "",
       nd_as_strided(a, 2, DIMS(3, 4), DIMS(INT64_MAX, 1), 0, &out));
    NO(ND_ERR_INDEX, "as_strided", "storage", "",
       nd_as_strided(a, 2, DIMS(3, 5), DIMS(4, 1), 0, &out));
    NO(ND_ERR_INDEX, "as_strided", "-1", "", nd_as_strided(a, 1, DIMS(2), DIMS(-1), 0, &out));
    NO(ND_ERR_SHAPE, "concat", "", "", nd_concat(2, (const nd_array *[]){a, b}, 0, &out));
    NO(ND_ERR_SHAPE, "stack", "(3, 4)", "(5,)", nd_stack(2, (const nd_array *[]){a, b}, 0, &out));
    if (good(nd_zeros(run.device, ND_F32, 2, DIMS(0, 3), &z), "zeros"))
        NO(ND_ERR_SHAPE, "max", "", "", nd_max(z, NULL, &out));
    nd_release(a);
    nd_release(b);
    nd_release(z);
}

/* Errors of products show the shapes that were given, not those of the matrices made of them. */
static void bad_products(void)
{
    nd_array *v = ramp(ND_F32, 1, DIMS(3)), *w = ramp(ND_F32, 1, DIMS(4));
    nd_array *m = ramp(ND_F32, 2, DIMS(4, 5)), *out = (nd_array *)(uintptr_t)8;
    nd_array *s = ramp(ND_F32, 3, DIMS(2, 3, 4)), *t = ramp(ND_F32, 3, DIMS(5, 4, 3));
    NO(ND_ERR_SHAPE, "matmul", "(3,) @ (4,)", "3 and 4", nd_matmul(v, w, NULL, &out));
    NO(ND_ERR_SHAPE, "matmul", "(3,) @ (4, 5)", "3 and 4", nd_matmul(v, m, NULL, &out));
    NO(ND_ERR_SHAPE, "matmul", "(4, 5) @ (3,)", "5 and 3", nd_matmul(m, v, NULL, &out));
    NO(ND_ERR_SHAPE, "matmul", "(2, 3, 4) @ (3,)", "4 and 3", nd_matmul(s, v, NULL, &out));
    NO(ND_ERR_SHAPE, "matmul", "(2, 3, 4) @ (5, 4, 3)", "broadcast", nd_matmul(s, t, NULL, &out));
    nd_release(v);
    nd_release(w);
    nd_release(m);
    nd_release(s);
    nd_release(t);
}

/* Errors of indices count in the array that was given, even where it was stretched: by the caller,
 * here a column of i64 to (3, 4), whose first bad element is number 4; or by the operation. */
/* A bad index is told once; what follows is not blamed for it. */
static void after_bad_indices(const nd_array *a)
{
    static const int64_t fine = 1;
    nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 1, .shape = DIMS(1)};
    nd_array *index = NULL, *out = NULL;
    (void)(good(nd_from_host(&layout, &fine, run.device, &index), "from_host") &&
           good(nd_take(a, index, 0, &out), "take after a bad index") &&
           good(nd_synchronize(run.device), "synchronize after a bad index and a good one"));
    nd_release(index);
    nd_release(out);
}

static void bad_indices(void)
{
    static const int64_t good_bad_good[3] = {0, 9, 1};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 2, .shape = DIMS(3, 1)};
    nd_array *a = ramp(ND_F32, 2, DIMS(3, 4)), *out = (nd_array *)(uintptr_t)8;
    nd_array *column = NULL, *wide = NULL, *flat = NULL;
    const char *own = "index 9 at position 1 of (3, 1) is",
               *four = "index 9 at position 4 of (3, 4) is";
    const char *one = "index 9 at position 1 of (3,) is";
    if (good(nd_from_host(&layout, good_bad_good, run.device, &column), "from_host") &&
        good(nd_broadcast_to(column, 2, DIMS(3, 4), &wide), "broadcast_to") &&
        good(nd_reshape(column, 1, DIMS(3), &flat), "reshape")) {
        NO(ND_ERR_INDEX, "take", four, "-4 to 3", nd_take(a, wide, 1, &out));
        NO(ND_ERR_INDEX, "take", one, "-3 to 2", nd_take(a, flat, 0, &out));
        NO(ND_ERR_INDEX, "gather", four, "-4 to 3", nd_gather(a, wide, 1, &out));
        NO(ND_ERR_INDEX, "gather", four, "-3 to 2", nd_gather(a, wide, 0, &out));
        NO(ND_ERR_INDEX, "take_along_axis", four, "-4 to 3", nd_take_along_axis(a, wide, 1, &out));
        NO(ND_ERR_INDEX, "take_along_axis", own, "-3 to 2", nd_take_along_axis(a, column, 0, &out));
        NO(ND_ERR_INDEX, "scatter", four, "-4 to 3",
           nd_scatter(a, wide, a, 1, ND_SCATTER_SET, &out));
        NO(ND_ERR_INDEX, "scatter_add", own, "-4 to 3",
           nd_scatter(a, column, column, 1, ND_SCATTER_ADD, &out));
        NO(ND_ERR_INDEX, "index_add", one, "-3 to 2", nd_index_add(a, flat, a, 0, &out));
        NO(ND_ERR_INDEX, "index_add", one, "-4 to 3", nd_index_add(a, flat, column, 1, &out));
        after_bad_indices(a);
    }
    nd_release(a);
    nd_release(column);
    nd_release(wide);
    nd_release(flat);
}

static void bad_dtypes(void)
{
    nd_array *u = ramp(ND_U64, 1, DIMS(3)), *i = ramp(ND_I32, 1, DIMS(3));
    nd_array *b = ramp(ND_BOOL, 1, DIMS(3)), *c = ramp(ND_C64, 1, DIMS(3));
    nd_array *f = ramp(ND_F32, 1, DIMS(3)), *out = (nd_array *)(uintptr_t)8;
    NO(ND_ERR_DTYPE, "add", "u64", "i32", nd_add(u, i, &out));
    NO(ND_ERR_DTYPE, "subtract", "bool", "", nd_subtract(b, b, &out));
    NO(ND_ERR_DTYPE, "less", "c64", "", nd_less(c, c, &out));
    NO(ND_ERR_DTYPE, "maximum", "c64", "", nd_maximum(c, f, &out));
    NO(ND_ERR_DTYPE, "bitwise_and", "f32", "", nd_bitwise_and(f, f, &out));
    NO(ND_ERR_DTYPE, "negative", "bool", "", nd_negative(b, &out));
    NO(ND_ERR_DTYPE, "erf", "c64", "", nd_erf(c, &out));
    NO(ND_ERR_DTYPE, "where", "f32", "bool", nd_where(f, f, f, &out));
    NO(ND_ERR_DTYPE, "astype", "c64", "f32", nd_astype(c, ND_F32, &out));
    NO(ND_ERR_DTYPE, "astype", "99", "", nd_astype(f, 99, &out));
    NO(ND_ERR_DTYPE, "zeros", "-1", "", nd_zeros(run.device, -1, 1, DIMS(3), &out));
    NO(ND_ERR_DTYPE, "max", "c64", "", nd_max(c, NULL, &out));
    NO(ND_ERR_DTYPE, "take", "f32", "", nd_take(f, f, 0, &out));
    refused(nd_add_into(f, f, i), ND_ERR_DTYPE, "add", "f32", "i32");
    refused(nd_multiply_into(c, c, f), ND_ERR_DTYPE, "multiply", "c64", "f32");
    nd_release(u);
    nd_release(i);
    nd_release(b);
    nd_release(c);
    nd_release(f);
}

static void bad_axes(void)
{
    nd_array *a = ramp(ND_F32, 2, DIMS(3, 4)), *s = ramp(ND_F32, 0, NULL);
    nd_array *i = ramp(ND_I64, 1, DIMS(2)), *out = (nd_array *)(uintptr_t)8;
    nd_reduce_opts r = {.size = sizeof r, .naxes = 1, .axes = (const int32_t[]){2}};
    nd_sort_opts sort = {.size = sizeof sort, .axis = -3};
    nd_index idx[3] = {nd_at(3), nd_all_of(), nd_all_of()};
    NO(ND_ERR_INDEX, "sum", "2", "", nd_sum(a, &r, &out));
    r.axes = (const int32_t[]){0, -2};
    r.naxes = 2;
    NO(ND_ERR_INDEX, "sum", "0", "twice", nd_sum(a, &r, &out));
    NO(ND_ERR_INDEX, "sort", "-3", "2", nd_sort(a, &sort, &out));
    NO(ND_ERR_INDEX, "permute", "1", "twice", nd_permute(a, 2, (const int32_t[]){1, 1}, &out));
    NO(ND_ERR_ARGUMENT, "permute", "1", "2", nd_permute(a, 1, (const int32_t[]){1}, &out));
    NO(ND_ERR_INDEX, "flip", "7", "", nd_flip(a, 1, (const int32_t[]){7}, &out));
    NO(ND_ERR_SHAPE, "squeeze", "0", "3", nd_squeeze(a, 1, (const int32_t[]){0}, &out));
    NO(ND_ERR_INDEX, "diagonal", "0", "", nd_diagonal(a, 0, 0, -2, &out));
    NO(ND_ERR_INDEX, "slice", "3", "0", nd_slice(a, idx, 1, &out));
    idx[0] = nd_range(0, 3, 0);
    NO(ND_ERR_ARGUMENT, "slice", "0", "", nd_slice(a, idx, 1, &out));
    idx[0] = nd_all_of();
    NO(ND_ERR_INDEX, "slice", "3", "2", nd_slice(a, idx, 3, &out));
    NO(ND_ERR_INDEX, "take", "5", "2", nd_take(a, i, 5, &out));
    NO(ND_ERR_INDEX, "concat", "4", "", nd_concat(1, (const nd_array *[]){a}, 4, &out));
    NO(ND_ERR_SHAPE, "matrix_transpose", "0", "2", nd_matrix_transpose(s, &out));
    NO(ND_ERR_SHAPE, "nonzero", "0", "", nd_nonzero(s, &out));
    nd_release(a);
    nd_release(s);
    nd_release(i);
}

static void check_unchanged(const nd_array *a, const char *before, const char *what)
{
    char *now = fetch(a);
    if (now && memcmp(now, before, (size_t)nd_size(a) * nd_dtype_size(nd_dtype_of(a))) != 0)
        fail_case("%s failed and changed its destination", what);
    free(now);
}

static void bad_destinations(void)
{
    nd_array *a = ramp(ND_F32, 2, DIMS(3, 4)), *s = ramp(ND_F32, 0, NULL), *ro = NULL, *wide = NULL;
    nd_array *window = NULL, *touching = NULL, *i9 = NULL;
    char *before = fetch(a);
    if (good(nd_readonly(a, &ro), "readonly") && before &&
        good(nd_broadcast_to(s, 2, DIMS(3, 4), &wide), "broadcast_to") &&
        good(nd_as_strided(a, 2, DIMS(3, 4), DIMS(2, 1), 0, &window), "as_strided") &&
        good(nd_as_strided(a, 2, DIMS(3, 4), DIMS(3, 1), 0, &touching), "as_strided") &&
        good(nd_full(run.device, ND_I64, 2, DIMS(3, 4), nd_int(9), &i9), "full")) {
        refused(nd_add_into(a, a, ro), ND_ERR_READONLY, "add", "read-only", "");
        refused(nd_fill(ro, nd_int(7)), ND_ERR_READONLY, "fill", "read-only", "");
        refused(nd_assign(s, ro), ND_ERR_READONLY, "assign", "read-only", "");
        refused(nd_add_into(a, a, wide), ND_ERR_READONLY, "add", "read-only", "");
        refused(nd_add_into(a, a, window), ND_ERR_OVERLAP, "add", "overlaps itself", "");
        refused(nd_fill(window, nd_int(7)), ND_ERR_OVERLAP, "fill", "overlaps itself", "");
        /* The last element of each row is the first of the next. */
        refused(nd_fill(touching, nd_int(7)), ND_ERR_OVERLAP, "fill", "overlaps itself", "");
        refused(nd_add_into(a, a, s), ND_ERR_SHAPE, "add", "()", "(3, 4)");
        refused(nd_scatter_into(i9, a, 0, ND_SCATTER_SET, ro), ND_ERR_READONLY, "scatter",
                "read-only", "");
        refused(nd_scatter_into(i9, a, 0, 9, a), ND_ERR_ARGUMENT, "scatter", "9", "");
        refused(nd_matmul_into(a, a, NULL, ro), ND_ERR_SHAPE, "matmul", "(3, 4)", "");
        refused(nd_assign(i9, s), ND_ERR_SHAPE, "assign", "(3, 4)", "()");
        check_unchanged(a, before, "a write");
    }
    free(before);
    nd_release(a);
    nd_release(s);
    nd_release(ro);
    nd_release(wide);
    nd_release(window);
    nd_release(touching);
    nd_release(i9);
}

/* Long enough for several chunks of a kernel, with the one bad index at the end: who writes as it
 * goes has written much by then. Devices that queue write all elements but the bad one. */
static void bad_index_writes(void)
{
    enum { N = 40000 };
    const int64_t n = N;
    static int64_t positions[N];
    nd_layout layout = {.size = sizeof layout, .dtype = ND_I64, .ndim = 1, .shape = &n};
    nd_array *dst = ramp(ND_F32, 1, &n), *src = NULL, *at = NULL;
    char *before = fetch(dst);
    for (int64_t i = 0; i < N; i++)
        positions[i] = i == N - 1 ? N : N - 1 - i;
    if (run.async)
        skip_op("a device that queues tells of a bad index when the others are written");
    else if (before && good(nd_full(run.device, ND_F32, 1, &n, nd_int(7), &src), "full") &&
             good(nd_from_host(&layout, positions, run.device, &at), "from_host")) {
        refused(nd_take_into(src, at, 0, dst), ND_ERR_INDEX, "take", "40000", "39999");
        check_unchanged(dst, before, "take with a bad index, the last of 40000,");
        refused(nd_gather_into(src, at, 0, dst), ND_ERR_INDEX, "gather", "40000", "39999");
        check_unchanged(dst, before, "gather with a bad index, the last of 40000,");
        refused(nd_scatter_into(at, src, 0, ND_SCATTER_SET, dst), ND_ERR_INDEX, "scatter", "40000",
                "39999");
        check_unchanged(dst, before, "scatter with a bad index, the last of 40000,");
        refused(nd_scatter_into(at, src, 0, ND_SCATTER_ADD, dst), ND_ERR_INDEX, "scatter_add",
                "40000", "39999");
        check_unchanged(dst, before, "scatter_add with a bad index, the last of 40000,");
    }
    free(before);
    nd_release(dst);
    nd_release(src);
    nd_release(at);
}

static void bad_scalars(void)
{
    nd_array *u = ramp(ND_U8, 1, DIMS(3)), *h = ramp(ND_F16, 1, DIMS(3));
    nd_array *i = ramp(ND_I64, 1, DIMS(3)), *out = (nd_array *)(uintptr_t)8;
    nd_scalar odd = {.kind = ND_F16};
    NO(ND_ERR_OVERFLOW, "add", "300", "u8", nd_add_scalar(u, nd_int(300), &out));
    NO(ND_ERR_OVERFLOW, "add", "-1", "u8", nd_add_scalar(u, nd_int(-1), &out));
    NO(ND_ERR_OVERFLOW, "multiply", "70000", "f16", nd_multiply_scalar(h, nd_float(70000), &out));
    NO(ND_ERR_OVERFLOW, "add", "18446744073709551615", "i64",
       nd_add_scalar(i, nd_uint(UINT64_MAX), &out));
    NO(ND_ERR_ARGUMENT, "add", "10", "", nd_add_scalar(i, odd, &out));
    NO(ND_ERR_OVERFLOW, "full", "256", "u8",
       nd_full(run.device, ND_U8, 1, DIMS(3), nd_int(256), &out));
    refused(nd_fill(u, nd_int(-5)), ND_ERR_OVERFLOW, "fill", "-5", "u8");
    refused(nd_fill(h, nd_complex(1, 2)), ND_ERR_DTYPE, "fill", "complex", "f16");
    nd_release(u);
    nd_release(h);
    nd_release(i);
}

static void bad_arguments(void)
{
    nd_array *a = ramp(ND_F32, 2, DIMS(3, 4)), *v = ramp(ND_F32, 1, DIMS(3));
    nd_array *s = ramp(ND_F32, 0, NULL), *out = (nd_array *)(uintptr_t)8;
    nd_arg two[2] = {nd_array_arg(a), nd_array_arg(a)};
    nd_arg scalars[2] = {nd_scalar_arg(nd_int(1)), nd_scalar_arg(nd_int(2))};
    nd_matmul_opts m = {.size = 4};
    nd_reduce_opts r = {.size = 3};
    nd_apply_opts p = {.size = 1};
    NO(ND_ERR_ARGUMENT, "add", "0", "NULL", nd_add(NULL, a, &out));
    NO(ND_ERR_ARGUMENT, "add", "1", "NULL", nd_add(a, NULL, &out));
    NO(ND_ERR_ARGUMENT, "sum", "NULL", "", nd_sum(NULL, NULL, &out));
    NO(ND_ERR_ARGUMENT, "reshape", "NULL", "", nd_reshape(NULL, 0, NULL, &out));
    NO(ND_ERR_ARGUMENT, "matmul", "NULL", "", nd_matmul(NULL, a, NULL, &out));
    NO(ND_ERR_ARGUMENT, "sort", "NULL", "", nd_sort(NULL, NULL, &out));
    NO(ND_ERR_ARGUMENT, "take", "NULL", "", nd_take(a, NULL, 0, &out));
    refused(nd_add_into(a, a, NULL), ND_ERR_ARGUMENT, "add", "NULL", "");
    refused(nd_fill(NULL, nd_int(1)), ND_ERR_ARGUMENT, "fill", "NULL", "");
    NO(ND_ERR_ARGUMENT, "matmul", "4", "size", nd_matmul(a, a, &m, &out));
    NO(ND_ERR_ARGUMENT, "sum", "3", "size", nd_sum(a, &r, &out));
    NO(ND_ERR_ARGUMENT, "add", "1", "size", nd_apply(ND_OP_add, two, 2, &p, &out));
    NO(ND_ERR_SHAPE, "matmul", "0", "0-d", nd_matmul(s, a, NULL, &out));
    NO(ND_ERR_SHAPE, "matmul", "(3, 4)", "4 and 3", nd_matmul(a, a, NULL, &out));
    NO(ND_ERR_SHAPE, "matmul", "(3, 4) @ (3,)", "4 and 3", nd_matmul(a, v, NULL, &out));
    NO(ND_ERR_ARGUMENT, "apply", "65000", "", nd_apply(65000, two, 2, NULL, &out));
    NO(ND_ERR_ARGUMENT, "apply", "", "", nd_apply(ND_OP_RUNTIME + 4000, two, 2, NULL, &out));
    NO(ND_ERR_ARGUMENT, "apply", "", "", nd_apply(-3, two, 2, NULL, &out));
    NO(ND_ERR_ARGUMENT, "apply", "", "elementwise", nd_apply(ND_OP_sum, two, 1, NULL, &out));
    NO(ND_ERR_ARGUMENT, "add", "1", "2", nd_apply(ND_OP_add, two, 1, NULL, &out));
    NO(ND_ERR_ARGUMENT, "add", "array", "", nd_apply(ND_OP_add, scalars, 2, NULL, &out));
    nd_release(a);
    nd_release(v);
    nd_release(s);
}

static void bad_memory(void)
{
    nd_array *a = ramp(ND_F32, 1, DIMS(3)), *out = (nd_array *)(uintptr_t)8;
    float host[4];
    nd_scalar x;
    NO(ND_ERR_MEMORY, NULL, "1152921504606846976", "",
       nd_empty(run.device, ND_U8, 1, DIMS((int64_t)1 << 60), &out));
    NO(ND_ERR_MEMORY, NULL, "1152921504606846976", "",
       nd_zeros(run.device, ND_U8, 1, DIMS((int64_t)1 << 60), &out));
    out = NULL;
    if (good(nd_zeros(run.device, ND_U8, 1, DIMS(1000), &out), "a small request afterwards"))
        nd_release(out);
    refused(nd_to_host(a, host, sizeof host), ND_ERR_SHAPE, "to_host", "16", "12");
    refused(nd_to_host(a, NULL, 12), ND_ERR_ARGUMENT, "to_host", "NULL", "");
    refused(nd_item(a, &x), ND_ERR_SHAPE, "item", "(3,)", "3");
    nd_release(a);
}

/* Two arrays over one memory, the second one element on: a shift reads what was there before. */
static void wrapped_twice(void)
{
    enum { N = 40 };
    _Alignas(64) double memory[N + 1];
    nd_layout l = {.size = sizeof l, .dtype = ND_F64, .ndim = 1, .shape = DIMS(N)};
    nd_array *from = NULL, *to = NULL;
    nd_device_info info;
    nd_device_describe(run.device, &info);
    if (!info.host_visible)
        return;
    for (int i = 0; i <= N; i++)
        memory[i] = i;
    if (good(nd_wrap(&l, memory, run.device, NULL, NULL, &from), "wrap") &&
        good(nd_wrap(&l, memory + 1, run.device, NULL, NULL, &to), "wrap") &&
        good(nd_add_scalar_into(from, nd_float(100), to), "add_scalar_into"))
        for (int i = 0; i < N; i++)
            if (memory[i + 1] != i + 100)
                fail_case("element %d of a shift within wrapped memory is %g, not %d", i,
                          memory[i + 1], i + 100);
    nd_release(from);
    nd_release(to);
}

/* A stride that no element uses may be anything: here -2^63, which has no magnitude in 64 bits. */
static void idle_stride(void)
{
    _Alignas(64) double memory[4] = {1, 2, 3, 4};
    nd_layout l = {.size = sizeof l, .dtype = ND_F64, .ndim = 2, .shape = DIMS(1, 2)};
    nd_array *a = NULL;
    nd_device_info info;
    nd_device_describe(run.device, &info);
    if (!info.host_visible)
        return;
    l.stride = DIMS(INT64_MIN, 2);
    if (good(nd_wrap(&l, memory, run.device, NULL, NULL, &a), "wrap") &&
        good(nd_negative_into(a, a), "negative_into") && (memory[0] != -1 || memory[2] != -3))
        fail_case("two elements beside an idle stride became %g and %g, not -1 and -3", memory[0],
                  memory[2]);
    nd_release(a);
}

static void count_up(void *ctx)
{
    ++*(int *)ctx;
}

static void bad_wraps(void)
{
    _Alignas(8) char memory[64] = {0};
    nd_layout l = {.size = sizeof l, .dtype = ND_F64, .ndim = 1, .shape = DIMS(3)};
    nd_device_info info;
    nd_array *out = (nd_array *)(uintptr_t)8, *view = NULL;
    int released = 0;
    nd_device_describe(run.device, &info);
    if (!info.host_visible)
        return;
    NO(ND_ERR_ARGUMENT, "wrap", "8", "f64",
       nd_wrap(&l, memory + 1, run.device, count_up, &released, &out));
    NO(ND_ERR_ARGUMENT, "wrap", "NULL", "3",
       nd_wrap(&l, NULL, run.device, count_up, &released, &out));
    NO(ND_ERR_ARGUMENT, "wrap", "NULL", "",
       nd_wrap(NULL, memory, run.device, count_up, &released, &out));
    l.stride = DIMS(INT64_MAX / 2);
    NO(ND_ERR_OVERFLOW, "wrap", "2^63", "",
       nd_wrap(&l, memory, run.device, count_up, &released, &out));
    l.stride = NULL;
    l.dtype = 77;
    NO(ND_ERR_DTYPE, "wrap", "77", "", nd_wrap(&l, memory, run.device, count_up, &released, &out));
    l.dtype = ND_F64;
    l.size = 4;
    NO(ND_ERR_ARGUMENT, "wrap", "size", "",
       nd_wrap(&l, memory, run.device, count_up, &released, &out));
    if (released)
        fail_case("wrap failed and released the memory %d times", released);
    l.size = sizeof l;
    if (!good(nd_wrap(&l, memory, run.device, count_up, &released, &out), "wrap"))
        return;
    good(nd_flip(out, 0, NULL, &view), "flip");
    nd_release(out);
    if (released)
        fail_case("the memory was released while a view was left");
    nd_release(view);
    if (released != 1)
        fail_case("the memory was released %d times, not once", released);
}

static void details(void)
{
    nd_array *a = ramp(ND_F32, 1, DIMS(3)), *out = (nd_array *)(uintptr_t)8;
    const nd_error *e = nd_last_error();
    NO(ND_ERR_ARGUMENT, "add", "NULL", "", nd_add(a, NULL, &out));
    if (e->argument != 1 || e->line <= 0 || !e->file[0] || e->plugin[0] || e->native)
        fail_case("argument %d, line %d, file \"%s\", plugin \"%s\", native %lld", e->argument,
                  e->line, e->file, e->plugin, (long long)e->native);
    out = NULL;
    good(nd_add(a, a, &out), "add");
    nd_release(out);
    if (e->status != ND_ERR_ARGUMENT || e->argument != 1 || strcmp(e->op, "add") != 0)
        fail_case("a succeeding call changed the detail");
    out = NULL;
    refused_out(nd_empty(run.device, ND_U8, 1, DIMS((int64_t)1 << 60), &out), &out, ND_ERR_MEMORY,
                NULL, "", "");
    if (strcmp(e->device, nd_device_name(run.device)) != 0)
        fail_case("out of memory on %s names the device \"%s\"", nd_device_name(run.device),
                  e->device);
    nd_release(a);
}

void conform_errors(void)
{
    group("errors_shapes", bad_shapes);
    group("errors_products", bad_products);
    group("errors_indices", bad_indices);
    group("errors_index_writes", bad_index_writes);
    group("errors_dtypes", bad_dtypes);
    group("errors_axes", bad_axes);
    group("errors_destinations", bad_destinations);
    group("errors_scalars", bad_scalars);
    group("errors_arguments", bad_arguments);
    group("errors_memory", bad_memory);
    group("errors_wrapped_memory", bad_wraps);
    group("wrapped_twice", wrapped_twice);
    group("idle_stride", idle_stride);
    group("errors_detail", details);
}
