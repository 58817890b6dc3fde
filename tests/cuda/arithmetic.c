/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * M5: from the settings of arithmetic to what cuBLASLt is asked for, call by call: compute type,
 * dtype of the factors, and the mask of reduction schemes. W3: every product is given the workspace
 * that its algorithm needs; W5: one handle serves all threads. The library is one that remembers
 * its calls, and the driver one that pretends, so that every kind of device can be had. */
#include <dlfcn.h>
#include <pthread.h>
#include <ndock/ndock.h>
#include <stdbool.h>
#include "tests/cuda/stubs.h"

/* ---- the process that multiplies ---- */
typedef struct {
    int compute, scale, a, b, out;
    unsigned schemes;
    _Atomic int runs, handles, without;
    int epilogue;
    _Atomic int refused;
} asked;

static nd_device *dev;

/* One product in the dtypes, and what the library heard: "compute scale schemes". */
static void multiply(const char *name, nd_dtype dtype, nd_dtype result)
{
    static int64_t side = 16; /* another one each time: plans are kept */
    const int64_t shape[2] = {side, side};
    const nd_matmul_opts opts = {.size = sizeof opts, .dtype = result};
    nd_array *a = NULL, *out = NULL;
    asked *heard = NULL;
    side += 16;
    nd_status status = nd_empty(dev, dtype, 2, shape, &a);
    if (status == ND_OK)
        status = nd_matmul(a, a, &opts, &out);
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    heard = library ? dlsym(library, "stub_blaslt_asked") : NULL;
    if (status != ND_OK || !heard)
        printf("%s: %s\n", name, heard ? nd_last_error()->message : "the library is not loaded");
    else
        printf("%s: %d %d %u%s\n", name, heard->compute, heard->scale, heard->schemes,
               heard->runs == 1 && heard->a == heard->b ? "" : " and was not run once");
    if (heard)
        heard->runs = 0;
    nd_release(a);
    nd_release(out);
}

/* A scale that begins so many elements after its memory does. */
static nd_status scale_at(int64_t offset, nd_array **out)
{
    const int64_t room[1] = {8};
    const nd_index at = nd_at(offset);
    nd_array *all = NULL;
    nd_status status = nd_empty(dev, ND_F32, 1, room, &all);
    if (status == ND_OK)
        status = nd_slice(all, &at, 1, out);
    nd_release(all);
    return status;
}

/* M11: products of 8-bit floating matrices, b as it lies or dense along k: "compute scale types of the
 * library's a and b runs refused". */
static void multiply_narrow(const char *name, nd_dtype left, nd_dtype right, bool turned,
                            int64_t offset)
{
    static int64_t side = 128;
    const int64_t shape[2] = {side, side};
    nd_array *a = NULL, *b = NULL, *one = NULL, *view = NULL, *out = NULL;
    side += 8; /* lines of a multiple of 16 bytes, and others, which are filled up */
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    asked *heard = library ? dlsym(library, "stub_blaslt_asked") : NULL;
    nd_status status = nd_empty(dev, left, 2, shape, &a);
    if (status == ND_OK)
        status = nd_empty(dev, right, 2, shape, &b);
    if (status == ND_OK)
        status = scale_at(offset, &one);
    if (status == ND_OK)
        status = nd_matrix_transpose(b, &view);
    if (status == ND_OK)
        status = nd_scaled_mm(a, turned ? view : b, one, one, NULL, &out);
    if (status != ND_OK || !heard)
        printf("%s: %s\n", name, heard ? nd_last_error()->message : "the library is not loaded");
    else
        printf("%s: %d %d %d %d %d %d\n", name, heard->compute, heard->scale, heard->a, heard->b,
               heard->runs, heard->refused);
    if (heard)
        heard->runs = heard->refused = 0;
    nd_release_all(5, (nd_array *[]){a, b, one, view, out});
}

/* relu or gelu_tanh of a product and a bias, as an expression that allows one rounding: "epilogue of
 * the library, runs". */
static void multiply_layer(const char *name, nd_dtype dtype, nd_op op, bool taken)
{
    static int64_t side = 512;
    const int64_t shape[2] = {side, side};
    const nd_expr_opts opts = {.size = sizeof opts, .flags = taken ? ND_EXPR_EPILOGUES : 0};
    nd_array *a = NULL, *bias = NULL, *out = NULL;
    nd_expr *e = NULL;
    int32_t x, b, product, sum, y;
    side += 32;
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    asked *heard = library ? dlsym(library, "stub_blaslt_asked") : NULL;
    int bad = nd_empty(dev, dtype, 2, shape, &a) || nd_empty(dev, dtype, 1, shape, &bias) ||
              nd_expr_create(&e) || nd_expr_input(e, &x) || nd_expr_input(e, &b) ||
              nd_expr_matmul(e, x, x, &product) ||
              nd_expr_apply(e, ND_OP_add, (int32_t[]){product, b}, 2, 0, &sum) ||
              nd_expr_apply(e, op, &sum, 1, 0, &y) || nd_expr_output(e, y);
    const nd_arg args[2] = {nd_array_arg(a), nd_array_arg(bias)};
    bad = bad || nd_expr_run(e, args, 2, &opts, 1, &out);
    if (bad || !heard)
        printf("%s: %s\n", name, heard ? nd_last_error()->message : "the library is not loaded");
    else
        printf("%s: %d %d\n", name, heard->epilogue, heard->runs);
    if (heard)
        heard->runs = 0;
    nd_release_all(3, (nd_array *[]){a, bias, out});
    nd_expr_release(e);
}

static void with(int32_t setting, int32_t value, const char *name, nd_dtype dtype)
{
    if (nd_math_push(setting, NULL, ND_OP_NONE, value) != ND_OK)
        printf("%s: %s\n", name, nd_last_error()->message);
    multiply(name, dtype, dtype);
    (void)!nd_math_pop();
}

static void *multiply_apart(void *arg)
{
    const int64_t shape[2] = {64, 64};
    nd_array *a = NULL, *out = NULL;
    nd_status status = nd_empty(dev, ND_F32, 2, shape, &a);
    for (int i = 0; i < 8 && status == ND_OK; i++) {
        status = nd_matmul(a, a, NULL, &out);
        nd_release(out);
    }
    nd_release(a);
    *(int *)arg = status == ND_OK;
    return NULL;
}

/* After all other products: "threads: 4 handles: 1 without: 0". */
static void multiply_together(void)
{
    pthread_t t[4];
    int good[4] = {0};
    for (int i = 0; i < 4; i++)
        if (pthread_create(&t[i], NULL, multiply_apart, &good[i]) != 0)
            return;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    void *library = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
    asked *heard = library ? dlsym(library, "stub_blaslt_asked") : NULL;
    if (heard)
        printf("threads: %d runs: %d handles: %d without: %d\n",
               good[0] + good[1] + good[2] + good[3], heard->runs, heard->handles, heard->without);
}

static int look(void)
{
    if (nd_device_get("cuda:0", &dev) != ND_OK) {
        puts(nd_last_error()->message);
        return 1;
    }
    multiply("f32", ND_F32, ND_F32);
    with(ND_MATH_F32_MATMUL, ND_MATH_TF32, "f32 tf32", ND_F32);
    with(ND_MATH_F32_MATMUL, ND_MATH_BF16X9, "f32 bf16x9", ND_F32);
    multiply("f64", ND_F64, ND_F64);
    with(ND_MATH_F32_MATMUL, ND_MATH_TF32, "f64 tf32", ND_F64);
    multiply("c64", ND_C64, ND_C64);
    multiply("c128", ND_C128, ND_C128);
    multiply("f16", ND_F16, ND_F16);
    with(ND_MATH_F16_REDUCTION, ND_MATH_ON, "f16 reduced", ND_F16);
    with(ND_MATH_F16_SPLIT_K, ND_MATH_OFF, "f16 whole", ND_F16);
    with(ND_MATH_F16_ACCUMULATE, ND_MATH_F16, "f16 sums", ND_F16);
    with(ND_MATH_BF16_REDUCTION, ND_MATH_ON, "f16 other", ND_F16);
    multiply("f16 to f32", ND_F16, ND_F32);
    multiply("bf16", ND_BF16, ND_BF16);
    with(ND_MATH_BF16_REDUCTION, ND_MATH_ON, "bf16 reduced", ND_BF16);
    with(ND_MATH_BF16_SPLIT_K, ND_MATH_OFF, "bf16 whole", ND_BF16);
    with(ND_MATH_F16_ACCUMULATE, ND_MATH_F16, "bf16 sums", ND_BF16);
    multiply("i8 to i32", ND_I8, ND_I32);
    multiply_layer("layer f32 relu", ND_F32, ND_OP_relu, true);
    multiply_layer("layer bf16 relu", ND_BF16, ND_OP_relu, true);
    multiply_layer("layer f16 gelu_tanh", ND_F16, ND_OP_gelu_tanh, true);
    multiply_layer("layer f32 gelu_tanh", ND_F32, ND_OP_gelu_tanh, true);
    multiply_layer("layer bf16 gelu", ND_BF16, ND_OP_gelu, true);
    multiply_layer("layer bf16 apart", ND_BF16, ND_OP_relu, false);
    multiply_narrow("e4m3 e4m3", ND_F8_E4M3, ND_F8_E4M3, false, 0);
    multiply_narrow("e4m3 e4m3 turned", ND_F8_E4M3, ND_F8_E4M3, true, 0);
    multiply_narrow("e4m3 e5m2", ND_F8_E4M3, ND_F8_E5M2, false, 0);
    multiply_narrow("e5m2 e4m3", ND_F8_E5M2, ND_F8_E4M3, true, 0);
    multiply_narrow("e4m3 e4m3 scales apart", ND_F8_E4M3, ND_F8_E4M3, true, 3);
    multiply_narrow("e5m2 e5m2", ND_F8_E5M2, ND_F8_E5M2, true, 0);
    multiply_together();
    return 0;
}

/* ---- the one that judges ---- */
/* The numbers are those of cublas_api.h (cublasComputeType_t: 64 16F, 68 32F, 70 64F, 72 32I, 77
 * 32F_FAST_TF32, 78 32F_EMULATED_16BFX9), library_types.h (cudaDataType: 0 R_32F, 1 R_64F, 2 R_16F,
 * 4 C_32F, 5 C_64F, 10 R_32I) and cublasLt.h (schemes: 1 in place, 2 compute type, 4 output type).
 */
typedef struct {
    const char *name, *heard;
} row;

static void check(const row *rows, int n, const char *machine)
{
    char line[100];
    for (int i = 0; i < n; i++) {
        snprintf(line, sizeof line, "%s: %s\n", rows[i].name, rows[i].heard);
        if (!ok(strstr(answer, line) != NULL, "M5 %s: %s is %s", machine, rows[i].name,
                rows[i].heard))
            diag("%s", answer);
    }
}
#define CHECK(rows, machine) check(rows, (int)(sizeof(rows) / sizeof *(rows)), machine)
#define DEVICE(last) MACHINE("STUB_CUDA_WORKS=1", "STUB_CUDA_COUNT=1", "STUB_NVML_COUNT=1", last)

static void every_setting(void)
{
    static const row rows[] = {
        {"f32", "68 0 7"},        {"f32 tf32", "77 0 7"},  {"f32 bf16x9", "68 0 7"},
        {"f64", "70 1 7"},        {"f64 tf32", "70 1 7"},  {"c64", "68 4 7"},
        {"c128", "70 5 7"},       {"f16", "68 0 2"},       {"f16 reduced", "68 0 7"},
        {"f16 whole", "68 0 0"},  {"f16 sums", "64 2 2"},  {"f16 other", "68 0 2"},
        {"f16 to f32", "68 0 7"}, {"bf16", "68 0 2"},      {"bf16 reduced", "68 0 7"},
        {"bf16 whole", "68 0 0"}, {"bf16 sums", "68 0 2"}, {"i8 to i32", "72 10 7"},
    };
    ask(DEVICE("STUB_CUDA_CAPABILITY=90"), 0);
    CHECK(rows, "9.0");
}

/* cublasLtEpilogue_t: 6 RELU_BIAS, 36 GELU_BIAS; 0: none was asked for, our own kernel follows. */
static void epilogues(void)
{
    static const row rows[] = {{"layer f32 relu", "6 1"},       {"layer bf16 relu", "6 1"},
                               {"layer f16 gelu_tanh", "36 1"}, {"layer f32 gelu_tanh", "0 1"},
                               {"layer bf16 gelu", "0 1"},      {"layer bf16 apart", "0 1"}};
    ask(DEVICE("STUB_CUDA_CAPABILITY=90"), 0);
    CHECK(rows, "9.0");
}

static void narrow(void)
{
    /* 28 is e4m3, 29 e5m2; the library's a is our b */
    static const row rows[] = {
        {"e4m3 e4m3", "68 0 28 28 1 0"},
        {"e4m3 e4m3 turned", "68 0 28 28 1 0"},
        {"e4m3 e5m2", "68 0 29 28 1 0"},
        {"e5m2 e4m3", "68 0 28 29 1 0"},
        {"e4m3 e4m3 scales apart", "68 0 28 28 1 0"},
    };
    ask(DEVICE("STUB_CUDA_CAPABILITY=90"), 0);
    CHECK(rows, "9.0");
    const char *line = strstr(answer, "e5m2 e5m2: "), *end = line ? strchr(line, '\n') : NULL;
    ok(end && strncmp(end - 4, " 0 0", 4) == 0, "M11 the library is never asked for e5m2 by e5m2");
}

static void handles_and_workspaces(void)
{
    ask(DEVICE("STUB_CUDA_CAPABILITY=90"), 0);
    has_text(answer, "threads: 4 runs: 32 ", "W5: four threads multiply");
    has_text(answer, " handles: 1 ", "W5: with one handle of the device");
    has_text(answer, " without: 0\n", "W3: every product has the workspace that it needs");
}

/* What the library has an algorithm for and refuses all the same is computed by our own kernels. */
static void refusals(void)
{
    static const row rows[] = {{"e4m3 e4m3 turned", "68 0 28 28 0 1"},
                               {"e5m2 e4m3", "68 0 28 29 0 1"},
                               {"f32", "68 0 7 and was not run once"},
                               {"layer bf16 relu", "6 0"}};
    ask(DEVICE("STUB_BLASLT_REFUSES=1"), 0);
    CHECK(rows, "9.0");
    has_text(answer, "threads: 4 runs: 0 ",
             "M5 each of many products that the library refuses is computed");
}

static void other_devices(void)
{
    static const row newer[] = {{"f32 tf32", "77 0 7"}, {"f32 bf16x9", "78 0 7"}};
    static const row older[] = {{"f32 tf32", "68 0 7"}, {"f32 bf16x9", "68 0 7"}};
    ask(DEVICE("STUB_CUDA_CAPABILITY=100"), 0);
    CHECK(newer, "10.0");
    ask(DEVICE("STUB_CUDA_CAPABILITY=75"), 0);
    CHECK(older, "7.5");
    ask(DEVICE("NVIDIA_TF32_OVERRIDE=0"), 0);
    CHECK(older, "9.0 with NVIDIA_TF32_OVERRIDE=0");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"M5", every_setting},  {"epilogues", epilogues},
                                     {"M11", narrow},        {"M5_devices", other_devices},
                                     {"refusals", refusals}, {"W3_W5", handles_and_workspaces}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
