/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A process that has computed with a team of threads forks: the child computes right and does not
 * hang, and so does the parent afterwards. fork.t and, with NDOCK_CPU_BLAS=any, itself again. */
#include <sys/wait.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { N = 1000000, SIDE = 300, PATIENCE_S = 600 };

static nd_array *ramp(int ndim, const int64_t *shape, int64_t n, int modulus)
{
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = ndim, .shape = shape};
    nd_array *a = NULL;
    float *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(i % modulus);
    if (nd_from_host(&layout, v, NULL, &a) != ND_OK)
        a = NULL;
    free(v);
    return a;
}

/* Small integers, so that every sum is exact in f32. */
static int add_is_right(void)
{
    const int64_t shape[1] = {N};
    nd_array *a = ramp(1, shape, N, 1000), *r = NULL, *sum = NULL;
    float *v = malloc(N * sizeof *v);
    nd_scalar total = nd_int(0);
    double want = 0;
    int right = a && nd_add(a, a, &r) == ND_OK && nd_to_host(r, v, N * sizeof *v) == ND_OK;
    for (int64_t i = 0; right && i < N; i++)
        right = v[i] == (float)(2 * (i % 1000));
    for (int64_t i = 0; i < N; i++)
        want += (double)(i % 1000);
    right = right && nd_sum(a, NULL, &sum) == ND_OK && nd_item(sum, &total) == ND_OK &&
            total.v.f == (double)(float)want;
    free(v);
    nd_release(a);
    nd_release(r);
    nd_release(sum);
    return right;
}

/* Every element is looked at; rows repeat after 7 and columns after 5, as their operands do. */
static int matmul_is_right(void)
{
    const int64_t shape[2] = {SIDE, SIDE};
    int64_t want[7][5] = {{0}};
    nd_array *a = ramp(2, shape, SIDE * SIDE, 7), *b = ramp(2, shape, SIDE * SIDE, 5), *r = NULL;
    float *v = malloc(SIDE * SIDE * sizeof *v);
    int right = a && b && nd_matmul(a, b, NULL, &r) == ND_OK &&
                nd_to_host(r, v, SIDE * SIDE * sizeof *v) == ND_OK;
    for (int64_t i = 0; i < 7; i++)
        for (int64_t j = 0; j < 5; j++)
            for (int64_t k = 0; k < SIDE; k++)
                want[i][j] += (i * SIDE + k) % 7 * ((k * SIDE + j) % 5);
    for (int64_t i = 0; right && i < SIDE; i++)
        for (int64_t j = 0; right && j < SIDE; j++)
            right = v[i * SIDE + j] == (float)want[i % 7][j % 5];
    free(v);
    nd_release(a);
    nd_release(b);
    nd_release(r);
    return right;
}

/* 0: all is right; else which result is not. */
static int compute(void)
{
    return add_is_right() ? matmul_is_right() ? 0 : 2 : 1;
}

/* What a fresh child's computation gives; -1 if it was killed, as by its alarm. */
static int in_child(int depth)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(PATIENCE_S);
        int wrong = compute();
        if (!wrong && depth > 1)
            wrong = in_child(depth - 1);
        _exit(wrong < 0 ? 99 : wrong);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* The same program once more, with matrix products by a BLAS where the machine has one. */
static int with_blas(const char *program)
{
    int status = 0;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("NDOCK_CPU_BLAS", "any", 1);
        execl(program, program, "quiet", (char *)NULL);
        _exit(98);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    setenv("NDOCK_NUM_THREADS", "4", 1);
    setenv("NDOCK_DEVICE", "cpu", 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(3 * PATIENCE_S);
    if (argc > 1)
        return compute() || in_child(1) || compute();
    setenv("NDOCK_CPU_BLAS", "own", 1);
    is_int(in_child(1), 0, "a child computes before its parent does");
    is_int(compute(), 0, "a process computes with four threads");
    is_int(in_child(2), 0, "its child computes, and its child's child");
    is_int(compute(), 0, "the parent goes on");
    is_int(in_child(1), 0, "a second child computes");
    is_int(with_blas(argv[0]), 0, "with a BLAS: parent, child, parent");
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
