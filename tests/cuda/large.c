/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Elementwise operations over f32 arrays so large that a thread takes several vectors: the same
 * bits as over pieces, each too short for that, and nothing beyond the end. */
#include "tests/cuda/gpu.h"

enum { PIECE = 1 << 18, BEYOND = 16, BLOCK = 4 * 128 * 4 /* elements, at most */ };
static const int64_t whole = 1 << 23;
static nd_array *x, *y, *large, *pieces;
static char *from_large, *from_pieces;

static nd_array *part(const nd_array *a, int64_t from, int64_t to)
{
    nd_index range = nd_range(from, to, 1);
    nd_array *view = NULL;
    DO(nd_slice(a, &range, 1, &view));
    return view;
}

/* The op over elements from to `to` - 1; of two operands the second is an array or a number. */
static void run(const nd_op_info *op, int number, const nd_array *out, int64_t from, int64_t to)
{
    nd_array *a = part(x, from, to), *b = part(y, from, to), *dst = part(out, from, to);
    nd_arg args[2] = {nd_array_arg(a), number ? nd_scalar_arg(nd_float(2.5)) : nd_array_arg(b)};
    DO(nd_apply_into(op->op, args, op->op_class == ND_CLASS_BINARY ? 2 : 1, NULL, dst));
    nd_release(a);
    nd_release(b);
    nd_release(dst);
}

static int same(const nd_op_info *op, int number, int64_t n)
{
    size_t nbytes = (size_t)nd_size(large) * nd_dtype_size(nd_dtype_of(large));
    DO(nd_fill(large, nd_int(1)));
    DO(nd_fill(pieces, nd_int(1)));
    run(op, number, large, 0, n);
    for (int64_t from = 0; from < n; from += PIECE)
        run(op, number, pieces, from, from + PIECE < n ? from + PIECE : n);
    DO(nd_to_host(large, from_large, nbytes));
    DO(nd_to_host(pieces, from_pieces, nbytes));
    return memcmp(from_large, from_pieces, nbytes) == 0;
}

static void lengths(const nd_op_info *op, int number)
{
    static const int64_t over[] = {0, 3, BLOCK - 1, BLOCK / 2 + 2};
    int64_t n = nd_size(x);
    nd_dtype out = op->result == ND_RESULT_BOOL ? ND_BOOL : ND_F32;
    int good = 0;
    DO(nd_empty(gpu, out, 1, &n, &large));
    DO(nd_empty(gpu, out, 1, &n, &pieces));
    for (int i = 0; i < 4; i++)
        good += same(op, number, whole + over[i]);
    tap_ok(good == 4, __FILE__, __LINE__, "%s%s over 8 Mi elements and some", op->name,
           number ? " with a number" : "");
    nd_release(large);
    nd_release(pieces);
}

static void every_op(void)
{
    for (nd_op i = 1; nd_op_get(i); i++) {
        const nd_op_info *op = nd_op_get(i);
        int unary = op->op_class == ND_CLASS_UNARY, binary = op->op_class == ND_CLASS_BINARY;
        if ((!unary && !binary) || !(nd_op_dtypes(i) >> ND_F32 & 1))
            continue;
        lengths(op, 0);
        if (binary)
            lengths(op, 1);
    }
}

/* Numbers of every size, some negative, from -0.9 2^12 on. */
static nd_array *numbers(int64_t n, uint32_t seed)
{
    float *v = malloc((size_t)n * sizeof *v);
    if (!v)
        bail("no memory");
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        v[i] = ldexpf((float)(int32_t)seed * 0x1p-31f, (int)(seed % 25) - 12);
    }
    nd_array *a = upload(v, ND_F32, n);
    free(v);
    return a;
}

static void all(void)
{
    int64_t n = whole + BLOCK + BEYOND;
    x = numbers(n, 1);
    y = numbers(n, 2);
    from_large = malloc((size_t)n * sizeof(float));
    from_pieces = malloc((size_t)n * sizeof(float));
    if (!from_large || !from_pieces)
        bail("no memory");
    every_op();
    free(from_large);
    free(from_pieces);
    nd_release(x);
    nd_release(y);
}

GPU_MAIN({"large arrays", all})
