/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Expressions give the bits of their operations called one by one: every elementwise operation in
 * every dtype, every conversion, and random expressions over views and broadcasts, on the devices
 * that NDOCK_TEST_DEVICES names, else on cpu and sim. */
#include "tests/fuse/random_expr.h"

static nd_device *device;

static int count_of(int n)
{
    return getenv("NDOCK_TEST_SLICE") ? n / 10 + 1 : n;
}

/* op(a, b, c), and the same of a result and of a scalar, so that it reads and writes registers. */
static int try_op(const nd_op_info *op, nd_dtype dtype)
{
    const int64_t shape[2] = {7, 41};
    const int n = op->op_class == ND_CLASS_UNARY ? 1 : op->op_class == ND_CLASS_BINARY ? 2 : 3;
    random_expr r;
    random_expr_begin(&r);
    for (int i = 0; i < 3; i++)
        add_input(&r, random_array(op->op == ND_OP_where && i == 0 ? ND_BOOL : dtype, device,
                                   i == 2 ? 1 : 2, i == 2 ? shape + 1 : shape));
    int made = add_apply(&r, op->op, (const int[]){0, 1, 2}, n), last = r.n - 1;
    add_scalar(&r, nd_int(2));
    if (made && n == 2) {
        add_apply(&r, op->op, (const int[]){last, 1}, 2);
        add_apply(&r, op->op, (const int[]){0, 4}, 2);
    } else if (made && n == 1) {
        add_apply(&r, op->op, (const int[]){last}, 1);
    } else if (made) {
        add_apply(&r, op->op, (const int[]){0, last, 4}, 3);
    }
    int outs[4], n_out = 0;
    for (int i = 3; i < r.n && n_out < 4; i++)
        if (r.value[i])
            outs[n_out++] = i;
    const int holds = n_out == 0 || random_expr_holds(&r, outs, n_out);
    random_expr_end(&r);
    return holds;
}

static void every_op(void)
{
    int tried = 0, failed = 0;
    for (nd_op op = 1; op < ND_OP_END; op++) {
        const nd_op_info *info = nd_op_get(op);
        if (info->op_class > ND_CLASS_TERNARY)
            continue;
        for (nd_dtype dtype = 1; dtype < ND_DTYPE_END; dtype++, tried++)
            if (!try_op(info, dtype))
                failed++;
    }
    ok(tried > 1000 && failed == 0, "every operation in every dtype: %d of %d differ on %s", failed,
       tried, nd_device_name(device));
}

static void every_cast(void)
{
    const int64_t shape[2] = {5, 33};
    int failed = 0;
    for (nd_dtype from = 1; from < ND_DTYPE_END; from++)
        for (nd_dtype to = 1; to < ND_DTYPE_END; to++) {
            random_expr r;
            random_expr_begin(&r);
            add_input(&r, random_array(from, device, 2, shape));
            add_apply(&r, ND_OP_add, (const int[]){0, 0}, 2);
            if (add_cast(&r, to, r.n - 1))
                failed += !random_expr_holds(&r, (const int[]){r.n - 1}, 1);
            random_expr_end(&r);
        }
    ok(failed == 0, "every conversion: %d differ on %s", failed, nd_device_name(device));
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
