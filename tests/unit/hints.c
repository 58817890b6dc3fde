/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Errors that say what to do, under the name of the function that was called; and the small
 * functions for programs of one file. */
#include <unistd.h>
#include <ndock/check.h>
#include "tests/tap.h"

static nd_device *cpu;

static void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
        bail("the file cannot be written");
}

static void load(const char *bytes, size_t n, const char *word, const char *what)
{
    char path[] = "/tmp/ndock-hints-XXXXXX";
    nd_array *a = NULL;
    int fd = mkstemp(path);
    if (fd < 0)
        bail("no temporary file");
    close(fd);
    write_file(path, bytes, n);
    ok(nd_npy_load(path, cpu, &a) != ND_OK, "%s is refused", what);
    has_text(nd_last_error()->message, word, "with what to do");
    unlink(path);
}

/* A .npy header with this dtype and no elements behind it. */
static void load_dtype(const char *descr, const char *word)
{
    char file[160];
    int n = snprintf(file + 10, sizeof file - 10,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (0,), }\n", descr);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (char)n;
    file[9] = 0;
    load(file, (size_t)n + 10, word, descr);
}

static void files(void)
{
    static const char zip[] = "PK\3\4 and the rest of an archive";
    load(zip, sizeof zip, "nd_npz_open", "an .npz archive");
    load_dtype("|O", "astype");
    load_dtype("<U5", "astype");
    load_dtype("<M8[s]", "view");
}

static void memory(void)
{
    const int64_t shape[] = {(int64_t)1 << 60}; /* 4096 PiB of f32 */
    nd_array *a = NULL;
    is_int(nd_empty(cpu, ND_F32, 1, shape, &a), ND_ERR_MEMORY, "4096 PiB are too much");
    has_text(nd_last_error()->message, "look at the shape", "the hint fits");
    ok(!strstr(nd_last_error()->message, "pieces"), "it is no fragmentation");
}

#define NAMES_ITSELF(call, name)                                                        \
    do {                                                                                \
        ok((call) != ND_OK, "%s fails", #call);                                         \
        is_str(nd_last_error()->op, name, name " is the operation");                    \
        has_text(nd_last_error()->message, name ": ", "which the message begins with"); \
    } while (0)

static void names(void)
{
    const int64_t shape[] = {2, 3};
    nd_array *a, *index, *out = NULL;
    ND_CHECK(nd_ones(cpu, ND_F32, 2, shape, &a));
    ND_CHECK(nd_ones(cpu, ND_I64, 2, shape, &index));
    NAMES_ITSELF(nd_eye(cpu, 99, 2, 2, 0, &out), "eye");
    NAMES_ITSELF(nd_eye(cpu, ND_F32, -2, 2, 0, &out), "eye");
    NAMES_ITSELF(nd_ones_like(a, 99, &out), "ones_like");
    NAMES_ITSELF(nd_full_like(index, ND_I8, nd_int(1000), &out), "full_like");
    NAMES_ITSELF(nd_linspace(cpu, ND_F32, nd_int(0), nd_int(1), -1, 1, &out), "linspace");
    NAMES_ITSELF(nd_reshape_copy(a, 1, (const int64_t[]){7}, &out), "reshape_copy");
    NAMES_ITSELF(nd_scatter(a, index, a, 9, ND_SCATTER_SET, &out), "scatter");
    NAMES_ITSELF(nd_random_permutation(cpu, -1, &(nd_random_key){1, {0}}, &out),
                 "random_permutation");
    NAMES_ITSELF(nd_unique_counts(NULL, NULL, NULL), "unique_counts");
    NAMES_ITSELF(nd_device_get("nonesuch:0", &cpu), "device_get");
    NAMES_ITSELF(nd_device_preferred("nonesuch:0", &(const char *){NULL}), "device_preferred");
    nd_release_all(2, (nd_array *[]){a, index});
    ND_CHECK(nd_device_get("cpu", &cpu));
}

static void items(void)
{
    nd_array *a[4] = {NULL};
    double f = 7;
    int64_t i = 7;
    ND_CHECK(nd_full(cpu, ND_F32, 0, NULL, nd_float(2.5), &a[0]));
    ND_CHECK(nd_full(cpu, ND_U64, 0, NULL, nd_uint(UINT64_MAX), &a[1]));
    ND_CHECK(nd_full(cpu, ND_C64, 0, NULL, nd_complex(1, 2), &a[2]));
    ND_CHECK(nd_full(cpu, ND_BOOL, 0, NULL, nd_bool(1), &a[3]));
    ok(nd_item_f64(a[0], &f) == ND_OK && f == 2.5, "a float as a double");
    is_int(nd_item_i64(a[0], &i), ND_ERR_OVERFLOW, "2.5 is no integer");
    is_int(i, 0, "and leaves 0");
    ok(nd_item_f64(a[1], &f) == ND_OK && f == 0x1p64, "the largest u64 is rounded");
    is_int(nd_item_i64(a[1], &i), ND_ERR_OVERFLOW, "as an integer it is out of range");
    is_int(nd_item_f64(a[2], &f), ND_ERR_DTYPE, "complex has two parts");
    ok(nd_item_i64(a[3], &i) == ND_OK && i == 1, "true is 1");
    nd_release_all(4, a);
    ok(!a[0] && !a[1] && !a[2] && !a[3], "nd_release_all leaves NULL");
    nd_release_all(4, a);
    nd_release_all(0, NULL);
}

/* nd_X_scalar_into of each binary operation gives what nd_X_scalar does. */
static void into_scalars(void)
{
    static const struct {
        const char *name;
        nd_status (*fresh)(const nd_array *, nd_scalar, nd_array **);
        nd_status (*into)(const nd_array *, nd_scalar, const nd_array *);
        nd_op op;
    } rows[] = {
#define ROW_BINARY(name, DOMAIN, RESULT, ulp, doc) \
    {#name, nd_##name##_scalar, nd_##name##_scalar_into, ND_OP_##name},
#define ND_EXPAND_BINARY ND_EXPAND_BY(ROW_BINARY)
#include <ndock/op_expand.h>
    };
    const int64_t shape[] = {5};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        nd_dtype dtype = nd_op_dtypes(rows[k].op) >> ND_F32 & 1 ? ND_F32 : ND_I32;
        nd_array *a = NULL, *want = NULL, *got = NULL;
        char want_bytes[20] = {1}, got_bytes[20] = {2};
        ND_CHECK(nd_arange(cpu, dtype, nd_int(1), nd_int(6), nd_int(1), &a));
        ND_CHECK(rows[k].fresh(a, nd_int(3), &want));
        ND_CHECK(nd_empty(cpu, nd_dtype_of(want), 1, shape, &got));
        size_t n = 5 * nd_dtype_size(nd_dtype_of(want));
        is_int(rows[k].into(a, nd_int(3), got), ND_OK, rows[k].name);
        ND_CHECK(nd_to_host(want, want_bytes, n));
        ND_CHECK(nd_to_host(got, got_bytes, n));
        ok(memcmp(want_bytes, got_bytes, n) == 0, "%s_scalar_into gives the same", rows[k].name);
        nd_release_all(3, (nd_array *[]){a, want, got});
    }
    nd_array *x = NULL;
    float three[2];
    ND_CHECK(nd_full(cpu, ND_F32, 1, (const int64_t[]){2}, nd_int(4), &x));
    ND_CHECK(nd_subtract_scalar_into(x, nd_int(1), x));
    ND_CHECK(nd_to_host(x, three, sizeof three));
    ok(three[0] == 3 && three[1] == 3, "in place: 4 - 1");
    nd_release(x);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"files", files},
                                     {"memory", memory},
                                     {"names", names},
                                     {"items", items},
                                     {"into_scalars", into_scalars}};
    ND_CHECK(nd_device_get("cpu", &cpu));
    return tap_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
