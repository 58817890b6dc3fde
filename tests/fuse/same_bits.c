/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions give the bits of their operations called one by one: every elementwise operation in
 * every dtype, every conversion, and random expressions over views and broadcasts, on the devices
 * that NDOCK_TEST_DEVICES names, else on cpu and sim. */
#include "tests/fuse/random_expr.h"

static nd_device *device;
static int tried;

/* A GPU's compiler takes some 100 ms for each loop. */
static int count_of(int n)
{
    return strncmp(nd_device_name(device), "cuda", 4) == 0 ? n / 20
           : getenv("NDOCK_TEST_SLICE")                    ? n / 10 + 1
                                                           : n;
}

/* Up to eight operations of x, b and c, where x = a + b is computed with them: one loop. */
enum { BUNDLE = 8 };
static int try_ops(const nd_op *ops, int n_ops, nd_dtype dtype)
{
    const int64_t shape[2] = {7, 41};
    int outs[BUNDLE], n_out = 0;
    random_expr r;
    random_expr_begin(&r);
    for (int i = 0; i < 3; i++)
        add_input(&r, random_array(dtype, device, i == 2 ? 1 : 2, i == 2 ? shape + 1 : shape));
    add_input(&r, random_array(ND_BOOL, device, 2, shape));
    const int x = add_apply(&r, ND_OP_add, (const int[]){0, 1}, 2) ? r.n - 1 : 0;
    for (int i = 0; i < n_ops; i++) {
        const nd_op_info *op = nd_op_get(ops[i]);
        const int n = op->op_class == ND_CLASS_UNARY ? 1 : op->op_class == ND_CLASS_BINARY ? 2 : 3;
        const int first = op->op == ND_OP_where ? 3 : x;
        if (add_apply(&r, op->op, (const int[]){first, 1, op->op == ND_OP_where ? x : 2}, n))
            outs[n_out++] = r.n - 1;
    }
    const int holds = n_out == 0 || random_expr_holds(&r, outs, n_out);
    tried += n_out;
    random_expr_end(&r);
    return holds;
}

static void every_op(void)
{
    int failed = 0;
    tried = 0;
    for (nd_dtype dtype = 1; dtype < ND_DTYPE_END; dtype++) {
        nd_op ops[BUNDLE];
        int n = 0;
        for (nd_op op = 1; op <= ND_OP_END; op++) {
            const nd_op_info *info = nd_op_get(op);
            if (info && info->op_class <= ND_CLASS_TERNARY)
                ops[n++] = op;
            if (n == BUNDLE || (n && op == ND_OP_END)) {
                failed += !try_ops(ops, n, dtype);
                n = 0;
            }
        }
    }
    ok(tried > 1000 && failed == 0, "%d operations in every dtype, by eights: %d differ on %s",
       tried, failed, nd_device_name(device));
}

/* Of a sum, to every dtype, by eights. */
static void every_cast(void)
{
    const int64_t shape[2] = {5, 33};
    int failed = 0, casts = 0;
    for (nd_dtype from = 1; from < ND_DTYPE_END; from++)
        for (nd_dtype to = 1; to < ND_DTYPE_END;) {
            int outs[BUNDLE], n = 0;
            random_expr r;
            random_expr_begin(&r);
            add_input(&r, random_array(from, device, 2, shape));
            add_apply(&r, ND_OP_add, (const int[]){0, 0}, 2);
            const int x = r.n - 1;
            for (; to < ND_DTYPE_END && n < BUNDLE; to++)
                if (add_cast(&r, to, x))
                    outs[n++] = r.n - 1;
            failed += n && !random_expr_holds(&r, outs, n);
            casts += n;
            random_expr_end(&r);
        }
    ok(casts > 150 && failed == 0, "%d conversions: %d differ on %s", casts, failed,
       nd_device_name(device));
}

static void random_ones(void)
{
    int failed = 0;
    const int n = count_of(600);
    for (int i = 0; i < n && failed < 5; i++) {
        state = (uint64_t)i + 1;
        if (!random_expr_try(device, 3 + i % 24, i % 2)) {
            diag("that was expression %d", i);
            failed++;
        }
    }
    ok(failed == 0, "%d random expressions on %s", n, nd_device_name(device));
    nd_expr_stats s = {.size = sizeof s};
    need(nd_expr_statistics(&s));
    ok(s.fused_runs > (uint64_t)n / 2 || !getenv("NDOCK_TEST_FUSED"),
       "%llu loops ran, %llu compiled, %llu refused", (unsigned long long)s.fused_runs,
       (unsigned long long)s.compiled, (unsigned long long)s.refused);
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {
        {"every_op", every_op}, {"every_cast", every_cast}, {"random", random_ones}};
    char names[256];
    const char *given = getenv("NDOCK_TEST_DEVICES");
    snprintf(names, sizeof names, "%s", given ? given : "cpu sim:0");
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (char *rest = NULL, *name = strtok_r(names, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        need(nd_device_get(name, &device));
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            if (argc < 2 || strcmp(argv[1], cases[i].name) == 0)
                cases[i].run();
    }
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
