/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * needle's backend interface: arithmetic, products and reductions on handles. Outputs are the
 * caller's; everything is queued on the device's current stream. */
#include "python/src/needle/needle.h"

/* ---- elementwise ---- */

static PyObject *apply(const char *name, nd_op op, const char *form, PyObject *const *args,
                       Py_ssize_t given)
{
    py_needle_args p;
    if (py_needle_parse(name, form, args, given, &p) < 0)
        return NULL;
    bool two = form[1] == 'h' && form[2], scalar = form[1] == 'v';
    nd_array *out = p.h[two ? 2 : 1];
    if (py_needle_size(name, "out", out, nd_size(p.h[0])) < 0 ||
        (two && py_needle_size(name, "b", p.h[1], nd_size(p.h[0])) < 0))
        return NULL;
    nd_arg operands[2] = {nd_array_arg(p.h[0]), scalar ? nd_scalar_arg(p.v) : nd_array_arg(p.h[1])};
    PyThreadState *saved = py_unlock(out, nd_size(out));
    nd_status status = nd_apply_into(op, operands, two || scalar ? 2 : 1, NULL, out);
    py_lock(saved);
    return py_none(p.st, status);
}

/* name, op, form, parameters, what it does */
#define ELEMENTWISE(X)                                                                           \
    X(ewise_add, add, "hhh", "(a, b, out, /)", "out = a + b")                                    \
    X(scalar_add, add, "hvh", "(a, val, out, /)", "out = a + val")                               \
    X(ewise_mul, multiply, "hhh", "(a, b, out, /)", "out = a * b")                               \
    X(scalar_mul, multiply, "hvh", "(a, val, out, /)", "out = a * val")                          \
    X(ewise_div, divide, "hhh", "(a, b, out, /)", "out = a / b")                                 \
    X(scalar_div, divide, "hvh", "(a, val, out, /)", "out = a / val")                            \
    X(scalar_power, pow, "hvh", "(a, val, out, /)",                                              \
      "out = a ** val; NaN for a negative base with a fractional exponent")                      \
    X(ewise_maximum, maximum, "hhh", "(a, b, out, /)", "out = max(a, b); NaN propagates")        \
    X(scalar_maximum, maximum, "hvh", "(a, val, out, /)", "out = max(a, val)")                   \
    X(ewise_eq, equal, "hhh", "(a, b, out, /)", "out = 1.0 where a == b, else 0.0")              \
    X(scalar_eq, equal, "hvh", "(a, val, out, /)", "out = 1.0 where a == val, else 0.0")         \
    X(ewise_ge, greater_equal, "hhh", "(a, b, out, /)", "out = 1.0 where a >= b, else 0.0")      \
    X(scalar_ge, greater_equal, "hvh", "(a, val, out, /)", "out = 1.0 where a >= val, else 0.0") \
    X(ewise_log, log, "hh", "(a, out, /)", "out = natural logarithm of a")                       \
    X(ewise_exp, exp, "hh", "(a, out, /)", "out = e to the a")                                   \
    X(ewise_tanh, tanh, "hh", "(a, out, /)", "out = hyperbolic tangent of a")

#define DEFINE(name, op, form, parameters, doc)                                      \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t given) \
    {                                                                                \
        (void)module;                                                                \
        return apply(#name, ND_OP_##op, form, args, given);                          \
    }
ELEMENTWISE(DEFINE)

/* ---- products ---- */

/* TF32 and the like stay off, whatever the program chose: this is set at the level that is looked
 * up first. */
static nd_status ieee_product(const nd_array *a, const nd_array *b, const nd_array *dst,
                              nd_array **out)
{
    nd_device_info info;
    nd_device_describe(nd_device_of(a), &info);
    nd_status status = nd_math_push(ND_MATH_F32_MATMUL, info.plugin, ND_OP_matmul, ND_MATH_IEEE);
    if (status != ND_OK)
        return status;
    status = dst ? nd_matmul_into(a, b, NULL, dst) : nd_matmul(a, b, NULL, out);
    nd_status popped = nd_math_pop();
    return status != ND_OK ? status : popped;
}

/* Views the handles a, b and out in the shapes of a product in blocks of tile x tile; as matrices
 * where tile is 1. */
static int operands(const char *name, const py_needle_args *p, int64_t tile, nd_array *view[3])
{
    static const char *const names[] = {"a", "b", "out"};
    const int64_t m = p->n[0] / tile, n = p->n[1] / tile, w = p->n[2] / tile;
    const int64_t shapes[3][4] = {{m, n, tile, tile}, {n, w, tile, tile}, {m, w, tile, tile}};
    for (int i = 0; i < 3; i++) {
        int64_t size;
        if (__builtin_mul_overflow(shapes[i][0] * tile, shapes[i][1] * tile, &size)) {
            PyErr_Format(PyExc_OverflowError, "%s(): the extents reach beyond 2^63", name);
            return -1;
        }
        if (py_needle_size(name, names[i], p->h[i], size) < 0 ||
            py_check(p->st, nd_reshape(p->h[i], tile > 1 ? 4 : 2, shapes[i], &view[i])) < 0)
            return -1;
    }
    return 0;
}

static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    nd_array *view[3] = {NULL, NULL, NULL};
    PyObject *result = NULL;
    (void)module;
    if (py_needle_parse("matmul", "hhhnnn", args, given, &p) < 0)
        return NULL;
    if (operands("matmul", &p, 1, view) == 0) {
        PyThreadState *saved = py_unlock(view[2], nd_size(view[2]) + p.n[1]);
        nd_status status = ieee_product(view[0], view[1], view[2], NULL);
        py_lock(saved);
        result = py_none(p.st, status);
    }
    for (int i = 0; i < 3; i++)
        nd_release(view[i]);
    return result;
}

/* Blocks (m/t, n/t, t, t) become their matrix (m, n), and back, by an exchange of the middle
 * axes. */
static const int32_t exchange[] = {0, 2, 1, 3};

/* A new dense matrix of the blocks. */
static nd_status untile(const nd_array *blocks, nd_array **matrix)
{
    nd_array *rows = NULL;
    nd_status status = nd_permute(blocks, 4, exchange, &rows);
    if (status != ND_OK)
        return status;
    const int64_t *s = nd_shape(rows), shape[2] = {s[0] * s[1], s[2] * s[3]};
    status = nd_reshape_copy(rows, 2, shape, matrix);
    nd_release(rows);
    return status;
}

static nd_status tile_into(const nd_array *matrix, const nd_array *blocks)
{
    nd_array *rows = NULL, *source = NULL;
    nd_status status = nd_permute(blocks, 4, exchange, &rows);
    if (status == ND_OK)
        status = nd_reshape(matrix, 4, nd_shape(rows), &source);
    if (status == ND_OK)
        status = nd_assign(source, rows);
    nd_release(source);
    nd_release(rows);
    return status;
}

/* The blocks are copied to matrices and back, which costs far less than the product. */
static nd_status tiled_product(nd_array *const view[3])
{
    nd_array *a = NULL, *b = NULL, *product = NULL;
    nd_status status = untile(view[0], &a);
    if (status == ND_OK)
        status = untile(view[1], &b);
    if (status == ND_OK)
        status = ieee_product(a, b, NULL, &product);
    if (status == ND_OK)
        status = tile_into(product, view[2]);
    nd_release(product);
    nd_release(b);
    nd_release(a);
    return status;
}

static PyObject *matmul_tiled(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    enum { T = NEEDLE_TILE };
    py_needle_args p;
    nd_array *view[3] = {NULL, NULL, NULL};
    PyObject *result = NULL;
    (void)module;
    if (py_needle_parse("matmul_tiled", "hhhnnn", args, given, &p) < 0)
        return NULL;
    if (p.n[0] % T || p.n[1] % T || p.n[2] % T)
        return PyErr_Format(PyExc_ValueError,
                            "matmul_tiled(): %lld, %lld, %lld must be multiples of %d",
                            (long long)p.n[0], (long long)p.n[1], (long long)p.n[2], T);
    if (operands("matmul_tiled", &p, T, view) == 0) {
        PyThreadState *saved = py_unlock(view[2], nd_size(view[2]) + p.n[1]);
        nd_status status = tiled_product(view);
        py_lock(saved);
        result = py_none(p.st, status);
    }
    for (int i = 0; i < 3; i++)
        nd_release(view[i]);
    return result;
}

/* _needle_matmul(a, b): the same of two ndock.Arrays; a new one. */
PyObject *py_needle_matmul(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    py_state *st = py_state_of(module);
    if (given != 2)
        return PyErr_Format(PyExc_TypeError, "_needle_matmul() takes 2 arguments, not %zd", given);
    nd_array *a = py_array_need(st, args[0], "matmul"), *out = NULL;
    nd_array *b = a ? py_array_need(st, args[1], "matmul") : NULL;
    if (!b)
        return NULL;
    PyThreadState *saved = py_unlock(a, py_work(a, b));
    nd_status status = ieee_product(a, b, NULL, &out);
    py_lock(saved);
    return py_result(st, status, &out);
}

/* ---- reductions ---- */

typedef nd_status reduction(const nd_array *a, const nd_reduce_opts *opts, const nd_array *dst);

static PyObject *reduce(const char *name, reduction *f, PyObject *const *args, Py_ssize_t given)
{
    py_needle_args p;
    nd_array *rows = NULL;
    int64_t size;
    if (py_needle_parse(name, "hhn", args, given, &p) < 0)
        return NULL;
    const int64_t shape[2] = {nd_size(p.h[1]), p.n[0]};
    if (__builtin_mul_overflow(shape[0], shape[1], &size))
        return PyErr_Format(PyExc_OverflowError, "%s(): out and n reach beyond 2^63", name);
    if (py_needle_size(name, "a", p.h[0], size) < 0 ||
        py_check(p.st, nd_reshape(p.h[0], 2, shape, &rows)) < 0)
        return NULL;
    const int32_t last = 1;
    const nd_reduce_opts opts = {.size = sizeof opts, .axes = &last, .naxes = 1};
    PyThreadState *saved = py_unlock(rows, size);
    nd_status status = f(rows, &opts, p.h[1]);
    py_lock(saved);
    nd_release(rows);
    return py_none(p.st, status);
}
static PyObject *reduce_max(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    (void)module;
    return reduce("reduce_max", nd_max_into, args, given);
}
static PyObject *reduce_sum(PyObject *module, PyObject *const *args, Py_ssize_t given)
{
    (void)module;
    return reduce("reduce_sum", nd_sum_into, args, given);
}

#define METHOD(name, parameters, doc)                                            \
    {                                                                            \
#name, PY_FUNCTION(name), METH_FASTCALL, #name parameters "\n--\n\n" doc \
    }
#define ROW(name, op, form, parameters, doc) METHOD(name, parameters, doc ".  Sizes are equal."),
PyMethodDef py_needle_math_methods[] = {
    ELEMENTWISE(ROW) METHOD(
        matmul, "(a, b, out, m, n, p, /)",
        "out (m, p) = a (m, n) @ b (n, p), all dense in C order, in full float32 precision."),
    METHOD(matmul_tiled, "(a, b, out, m, n, p, /)",
           "The same with every matrix as blocks: a is (m/T, n/T, T, T) and so on, T being\n"
           "__tile_size__, which divides m, n and p."),
    METHOD(reduce_max, "(a, out, n, /)", "out[i] = the largest of a[i*n] ... a[i*n + n-1]."),
    METHOD(reduce_sum, "(a, out, n, /)", "out[i] = the sum of a[i*n] ... a[i*n + n-1]."),
    PY_METHODS_END};
