/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The CUDA plug-in's sources for programs compile, with the short form of their headers: every
 * operation in every dtype that kernels compute in, every conversion, flat and strided, and
 * operations by themselves; by NVRTC, which needs no GPU. Those that the driver assembles are taken
 * by ptxas, where that is. */
#include <dlfcn.h>
#include <unistd.h>
#include "backends/cuda/program/ptx.h"
#include "backends/cuda/program/text.h"
#include "tests/tap.h"

typedef struct nvrtc_program_ *nvrtc_program;
static int (*create)(nvrtc_program *, const char *, const char *, int, const char *const *,
                     const char *const *);
static int (*compile)(nvrtc_program, int, const char *const *);
static int (*log_size)(nvrtc_program, size_t *);
static int (*get_log)(nvrtc_program, char *);
static int (*destroy)(nvrtc_program *);

static int open_compiler(void)
{
    void *lib = dlopen("libnvrtc.so.13", RTLD_NOW);
    lib = lib ? lib : dlopen("/usr/local/cuda/lib64/libnvrtc.so.13", RTLD_NOW);
    lib = lib ? lib : dlopen("libnvrtc.so.12", RTLD_NOW);
    if (!lib)
        return 0;
    *(void **)&create = dlsym(lib, "nvrtcCreateProgram");
    *(void **)&compile = dlsym(lib, "nvrtcCompileProgram");
    *(void **)&log_size = dlsym(lib, "nvrtcGetProgramLogSize");
    *(void **)&get_log = dlsym(lib, "nvrtcGetProgramLog");
    *(void **)&destroy = dlsym(lib, "nvrtcDestroyProgram");
    return create && compile && log_size && get_log && destroy;
}

/* whole: the code for calls that move whole words. */
static int compiles(const ndp_program *p, int whole)
{
    static const char *const options[] = {"--gpu-architecture=compute_90", "--std=c++17",
                                          "--fmad=false", "--device-as-default-execution-space",
                                          "-minimal"};
    cuda_texts texts;
    cuda_text source = {0}, room = {0};
    nvrtc_program program = NULL;
    cuda_program_rows_facts rows;
    char why[256] = "";
    size_t n = 0;
    if (!cuda_program_source(p, whole, &source, &rows, why, sizeof why) ||
        !cuda_program_prune(source.data, &texts, &room)) {
        diag("%s", why);
        return 0;
    }
    int status = create(&program, source.data, "program.cu", texts.n, texts.text, texts.name);
    status = status ? status : compile(program, 5, options);
    if (status && log_size(program, &n) == 0 && n < 100000) {
        char *text = calloc(1, n + 1);
        get_log(program, text);
        diag("%.2000s", text);
        free(text);
    }
    destroy(&program);
    free(source.data);
    free(room.data);
    return status == 0;
}

/* One operation by itself, so that nothing is there but what it uses. */
static void alone(int32_t op, int32_t dtype)
{
    const int32_t dtypes[3] = {op == NDP_OP_where ? NDP_BOOL : dtype, dtype, dtype}, out = 3;
    const int inputs = ndp_op_class(op);
    const ndp_instruction k = {
        op, ndp_result_dtype(op, dtype), dtype, {0, inputs > 1 ? 1 : -1, inputs > 2 ? 2 : -1}};
    const ndp_program p = {.size = sizeof p,
                           .n_in = 3,
                           .n_instruction = 1,
                           .n_out = 1,
                           .dtype = dtypes,
                           .instruction = &k,
                           .out = &out};
    ok(compiles(&p, op % 2), "%s alone, %s", ndp_op_name(op), ndp_dtype_name(dtype));
}

static void each_alone(int32_t dtype)
{
    for (int32_t op = 1; op < NDP_OP_END; op++)
        if (ndp_op_class(op) <= NDP_CLASS_TERNARY && ndp_op_dtypes(op) >> dtype & 1)
            alone(op, dtype);
}

/* What is left for a tangent hyperbolic is one formula with its parts. */
static void is_short(void)
{
    const char *source = "#include \"math/f32.cuh\"\n d_F32::cuda_tanh(x)";
    const cuda_texts *whole = cuda_program_texts();
    cuda_texts some;
    cuda_text room = {0};
    size_t before = 0, after = 0;
    int has_tanh = 0, has_sinh = 0;
    ok(cuda_program_prune(source, &some, &room), "headers have a short form");
    is_int(some.n, whole->n, "of each");
    for (int i = 0; i < whole->n; i++) {
        before += strlen(whole->text[i]);
        after += strlen(some.text[i]);
        has_tanh |= strstr(some.text[i], "float cuda_f32_tanh(float x)") != NULL;
        has_sinh |= strstr(some.text[i], "float cuda_f32_sinh(float x)") != NULL;
    }
    ok(after * 3 < before, "%zu bytes of %zu", after, before);
    ok(has_tanh, "what is used is there");
    ok(!has_sinh, "what is not is left out");
    free(room.data);
}

/* All operations of one dtype, of those whose formulas are among the special functions or not. */
static void every_op(int32_t dtype, int special, uint32_t flags)
{
    static ndp_instruction k[512];
    const int32_t dtypes[6] = {dtype, dtype, dtype, NDP_BOOL, dtype, NDP_F32};
    int32_t out[8];
    uint32_t n = 0;
    for (int32_t op = 1; op < NDP_OP_END; op++) {
        int c = ndp_op_class(op);
        if (c <= NDP_CLASS_TERNARY && ndp_op_dtypes(op) >> dtype & 1 &&
            cuda_program_is_special(ndp_op_name(op)) == special)
            k[n++] =
                (ndp_instruction){op,
                                  ndp_result_dtype(op, dtype),
                                  dtype,
                                  {op == NDP_OP_where ? 3 : 0, c > 1 ? 1 : -1, c > 2 ? 4 : -1}};
    }
    for (int32_t to = 1; !special && to <= NDP_C128; to++)
        if (to != dtype && (dtype < NDP_C64 || to >= NDP_C64 || to == NDP_BOOL))
            k[n++] = (ndp_instruction){NDP_OP_copy, to, dtype, {0, -1, -1}};
    for (uint32_t i = 0; i < 8; i++)
        out[i] = i < n ? (int32_t)(6 + n - 1 - i) : 0;
    const ndp_program p = {.size = sizeof p,
                           .flags = flags,
                           .n_in = 4,
                           .n_scalar = 2,
                           .n_instruction = n,
                           .n_out = 8,
                           .dtype = dtypes,
                           .instruction = k,
                           .out = out};
    if (n)
        ok(compiles(&p, dtype / 2 % 2), "%u instructions of %s%s, %s", n, ndp_dtype_name(dtype),
           special ? ", special functions" : "", flags ? "flat" : "strided");
}

/* Softmax of rows by hand, and reductions of every kind beside it, of an array, with one value for
 * each row and one for each column. */
static void rows(int32_t dtype)
{
    const int32_t dtypes[4] = {dtype, dtype, dtype, NDP_F64}, out[5] = {8, 10, 13, 14, 15};
    const ndp_instruction k[] = {
        {NDP_OP_max, dtype, dtype, {0, -1, -1}},     /* 4, a row's */
        {NDP_OP_subtract, dtype, dtype, {0, 4, -1}}, /* 5 */
        {NDP_OP_exp, dtype, dtype, {5, -1, -1}},     /* 6 */
        {NDP_OP_sum, dtype, dtype, {6, -1, -1}},     /* 7, a row's */
        {NDP_OP_divide, dtype, dtype, {6, 7, -1}},   /* 8 */
        {NDP_OP_std, dtype, dtype, {0, 3, -1}},      /* 9, a row's */
        {NDP_OP_multiply, dtype, dtype, {9, 1, -1}}, /* 10, a row's */
        {NDP_OP_add, dtype, dtype, {0, 2, -1}},      /* 11 */
        {NDP_OP_prod, dtype, dtype, {11, -1, -1}},   /* 12, a row's */
        {NDP_OP_add, dtype, dtype, {11, 12, -1}},    /* 13 */
        {NDP_OP_min, dtype, dtype, {13, -1, -1}},    /* 14, a row's */
        {NDP_OP_var, dtype, dtype, {13, 3, -1}},     /* 15, a row's */
    };
    const ndp_program p = {.size = sizeof p,
                           .flags = NDP_PROGRAM_ROWS | 3u << 8,
                           .n_in = 3,
                           .n_scalar = 1,
                           .n_instruction = sizeof k / sizeof *k,
                           .n_out = 5,
                           .dtype = dtypes,
                           .instruction = k,
                           .out = out,
                           .row_in = 1u << 1};
    for (int whole = 0; whole < 2; whole++)
        ok(compiles(&p, whole), "rows of %s%s", ndp_dtype_name(dtype), whole ? ", whole" : "");
}

/* ---- PTX ---- */
static const char *assembler(void)
{
    static const char *const paths[] = {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (access(paths[i], X_OK) == 0)
            return paths[i];
    return NULL;
}

/* What ptxas says of a kernel: registers that spill are a line of their own. */
static int assembles(const char *ptx)
{
    char path[] = "/tmp/ndock-ptx-XXXXXX", command[256];
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    int fine = f && fputs(ptx, f) >= 0;
    fine = f && fclose(f) == 0 && fine;
    snprintf(command, sizeof command, "%s -arch=sm_90 -o /dev/null %s >&2", assembler(), path);
    fine = fine && system(command) == 0;
    if (fd >= 0)
        unlink(path);
    return fine;
}

static void is_assembled(const ndp_program *p, int whole, const char *what)
{
    cuda_text text = {0};
    const int known = cuda_program_ptx(p, 90, whole, &text);
    ok(known && !text.failed, "%s: there are bodies for it", what);
    if (known && assembler())
        ok(assembles(text.data), "ptxas takes it");
    else
        skip(1, "no ptxas");
    free(text.data);
}

/* Of each kind of kernel one with every operation that has a body; the others are compiled. */
static void assembled_ops(int32_t dtype)
{
    static ndp_instruction k[512];
    const int32_t dtypes[5] = {dtype, dtype, dtype, dtype, dtype}, one = 5;
    int32_t out[1];
    uint32_t n = 0;
    ndp_program p = {.size = sizeof p,
                     .n_in = 4,
                     .n_scalar = 1,
                     .n_out = 1,
                     .dtype = dtypes,
                     .instruction = k,
                     .out = out};
    for (int32_t op = 1; op < NDP_OP_END; op++) {
        const int c = ndp_op_class(op);
        cuda_text text = {0};
        if (c > NDP_CLASS_TERNARY || ndp_result_dtype(op, dtype) != dtype || op == NDP_OP_where)
            continue;
        k[n] = (ndp_instruction){op, dtype, dtype, {0, c > 1 ? 1 : -1, c > 2 ? 4 : -1}};
        ndp_program alone = p;
        alone.flags = NDP_PROGRAM_FLAT;
        alone.n_instruction = 1;
        alone.instruction = &k[n];
        alone.out = &one;
        n += (uint32_t)cuda_program_ptx(&alone, 90, 1, &text);
        free(text.data);
    }
    ok(n > 50, "%u operations of %s have bodies", n, ndp_dtype_name(dtype));
    p.n_instruction = n;
    out[0] = (int32_t)(4 + n);
    for (int whole = 0; whole < 2; whole++) {
        p.flags = NDP_PROGRAM_FLAT;
        is_assembled(&p, whole, whole ? "all of them, whole words" : "all of them");
    }
    p.flags = 3u << 8;
    is_assembled(&p, 1, "strided ones of all of them");
    k[n] = (ndp_instruction){NDP_OP_sum, dtype, dtype, {out[0], -1, -1}};
    k[n + 1] = (ndp_instruction){NDP_OP_max, dtype, dtype, {out[0] - 1, -1, -1}};
    k[n + 2] = (ndp_instruction){NDP_OP_min, dtype, dtype, {1, -1, -1}};
    k[n + 3] = (ndp_instruction){NDP_OP_mean, dtype, dtype, {0, -1, -1}};
    k[n + 4] = (ndp_instruction){NDP_OP_divide, dtype, dtype, {out[0], out[0] + 1, -1}};
    out[0] = (int32_t)(p.n_in + p.n_scalar + n + 4);
    p.n_instruction = n + 5;
    p.flags = NDP_PROGRAM_ROWS | 3u << 8;
    p.row_in = 1u << 2;
    is_assembled(&p, 1, "rows of all of them");
}

/* What has no bodies is left to the compiler. */
static void is_compiled(void)
{
    static const struct {
        int32_t op, dtype;
        int capability;
    } row[] = {{NDP_OP_tanh, NDP_F64, 90}, {NDP_OP_zeta, NDP_F32, 90}, {NDP_OP_tanh, NDP_F32, 75}};
    const int32_t one = 2;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const int32_t dtypes[2] = {row[i].dtype, row[i].dtype};
        const ndp_instruction k = {
            row[i].op, row[i].dtype, row[i].dtype, {0, ndp_op_class(row[i].op) > 1 ? 1 : -1, -1}};
        const ndp_program p = {.size = sizeof p,
                               .flags = NDP_PROGRAM_FLAT,
                               .n_in = 2,
                               .n_instruction = 1,
                               .n_out = 1,
                               .dtype = dtypes,
                               .instruction = &k,
                               .out = &one};
        cuda_text text = {0};
        ok(!cuda_program_ptx(&p, row[i].capability, 1, &text), "%s of %s for %d is compiled",
           ndp_op_name(row[i].op), ndp_dtype_name(row[i].dtype), row[i].capability);
        free(text.data);
    }
}

/* ---- "program.t --ptx softmax bfloat16 1": what ptx_kernels.py runs ---- */
enum { MOST_STEPS = 8 };
/* Instructions as their operation and operands; inputs come first, then scalars. */
static const struct {
    const char *name;
    uint32_t n_in, n_scalar, flags, row_in;
    int32_t step[MOST_STEPS][3], out; /* out: how many steps there are, the last is the result */
} kernels[] = {
    {"chain",
     1,
     0,
     NDP_PROGRAM_FLAT,
     0,
     {{NDP_OP_multiply, 0, 0}, {NDP_OP_add, 1, 0}, {NDP_OP_tanh, 2, -1}},
     3},
    {"strided", 2, 0, 3u << 8, 0, {{NDP_OP_multiply, 0, 1}, {NDP_OP_add, 2, 0}}, 2},
    {"softmax",
     1,
     0,
     NDP_PROGRAM_ROWS | 2u << 8,
     0,
     {{NDP_OP_max, 0, -1},
      {NDP_OP_subtract, 0, 1},
      {NDP_OP_exp, 2, -1},
      {NDP_OP_sum, 3, -1},
      {NDP_OP_divide, 3, 4}},
     5},
    {"layer",
     1,
     1,
     NDP_PROGRAM_ROWS | 2u << 8,
     0,
     {{NDP_OP_mean, 0, -1},
      {NDP_OP_subtract, 0, 2},
      {NDP_OP_multiply, 3, 3},
      {NDP_OP_mean, 4, -1},
      {NDP_OP_add, 5, 1},
      {NDP_OP_sqrt, 6, -1},
      {NDP_OP_divide, 3, 7}},
     7},
    {"variance",
     1,
     0,
     NDP_PROGRAM_ROWS | 2u << 8,
     0,
     {{NDP_OP_mean, 0, -1}, {NDP_OP_subtract, 0, 1}, {NDP_OP_multiply, 2, 2}, {NDP_OP_mean, 3, -1}},
     4},
    {"roots", 1, 0, NDP_PROGRAM_ROWS | 2u << 8, 0, {{NDP_OP_max, 0, -1}, {NDP_OP_sqrt, 1, -1}}, 2},
    /* a row by its value, and its largest element, which makes it a program of rows */
    {"quotients",
     2,
     0,
     NDP_PROGRAM_ROWS | 2u << 8,
     1u << 1,
     {{NDP_OP_max, 0, -1}, {NDP_OP_divide, 0, 1}},
     2}};

static int write_ptx(const char *name, int32_t dtype, int whole)
{
    int32_t dtypes[4] = {dtype, dtype, dtype, dtype}, out[2];
    ndp_instruction k[MOST_STEPS];
    cuda_text text = {0};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (strcmp(kernels[i].name, name) != 0)
            continue;
        const int32_t n = kernels[i].out, first = (int32_t)(kernels[i].n_in + kernels[i].n_scalar);
        for (int j = 0; j < n; j++)
            k[j] = (ndp_instruction){kernels[i].step[j][0],
                                     dtype,
                                     dtype,
                                     {kernels[i].step[j][1], kernels[i].step[j][2], -1}};
        out[0] = first + n - 1;
        out[1] = first;
        const ndp_program p = {.size = sizeof p,
                               .flags = kernels[i].flags,
                               .n_in = kernels[i].n_in,
                               .n_scalar = kernels[i].n_scalar,
                               .n_instruction = (uint32_t)n,
                               .n_out = kernels[i].row_in ? 2 : 1,
                               .dtype = dtypes,
                               .instruction = k,
                               .out = out,
                               .row_in = kernels[i].row_in};
        if (cuda_program_ptx(&p, 90, whole, &text))
            fputs(text.data, stdout);
    }
    const int made = text.data != NULL;
    free(text.data);
    return !made;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--ptx") == 0)
        return write_ptx(argv[2],
                         strcmp(argv[3], "float32") == 0   ? NDP_F32
                         : strcmp(argv[3], "float16") == 0 ? NDP_F16
                                                           : NDP_BF16,
                         argv[4][0] == '1');
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!open_compiler()) {
        printf("1..0 # SKIP libnvrtc.so is not there\n");
        return 0;
    }
    is_short();
    is_compiled();
    for (int32_t dtype = NDP_F16; dtype <= NDP_F32; dtype++)
        assembled_ops(dtype);
    for (int32_t dtype = NDP_F16; dtype <= NDP_F64; dtype++)
        if (getenv("NDOCK_TEST_ALL_DTYPES") || dtype == NDP_BF16)
            rows(dtype);
    const int some = getenv("NDOCK_TEST_ALL_DTYPES") == NULL; /* each takes a second or two */
    for (int32_t dtype = NDP_BOOL; dtype <= NDP_C128; dtype++)
        for (int special = 0; special < 2; special++)
            if (!some || (special ? dtype == NDP_F32 : dtype == NDP_BF16 || dtype == NDP_I64))
                every_op(dtype, special, dtype % 2 ? NDP_PROGRAM_FLAT : (uint32_t)dtype % 4 << 8);
    if (some) {
        static const int32_t ops[] = {NDP_OP_pow, NDP_OP_gelu, NDP_OP_logaddexp, NDP_OP_divide};
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
            alone(ops[i], i % 2 ? NDP_F32 : NDP_F16);
        alone(NDP_OP_tanh, NDP_C64);
    }
    for (int32_t dtype = NDP_BOOL; !some && dtype <= NDP_C128; dtype++)
        each_alone(dtype);
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
