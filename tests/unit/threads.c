/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Sixteen threads compute on shared inputs into results of their own; each has its own errors. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { THREADS = 16, ROUNDS = 2000, ROWS = 7, COLUMNS = 9, N = ROWS * COLUMNS, PATIENCE_S = 600 };

static double values[2][N];          /* small integers: every result is exact */
static nd_array *shared[2], *turned; /* turned: a view of the first */

typedef struct {
    int number;
    uint64_t state;
    int wrong, failed, foreign; /* results, calls, errors of others */
} worker;

static int random_below(worker *w, int n)
{
    w->state = w->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)(w->state >> 33) % n;
}

/* One operation; want receives its elements, and their number is returned. */
static int operate(worker *w, nd_array **out, double *want)
{
    const int32_t axes[1] = {random_below(w, 2)};
    const nd_reduce_opts over = {.size = sizeof over, .axes = axes, .naxes = 1};
    nd_status status = ND_OK;
    int n = N, axis = axes[0], op = random_below(w, 5);
    for (int i = 0; i < N; i++)
        want[i] = op == 2 || op == 4 ? 0
                  : op == 1          ? values[0][i] * values[1][i]
                                     : values[0][i] + values[1][i];
    if (op == 0)
        status = nd_add(shared[0], shared[1], out);
    else if (op == 1)
        status = nd_multiply(shared[0], shared[1], out);
    else if (op == 2) {
        status = nd_sum(shared[0], &over, out);
        n = axis == 0 ? COLUMNS : ROWS;
        for (int i = 0; i < N; i++)
            want[axis == 0 ? i % COLUMNS : i / COLUMNS] += values[0][i];
    } else if (op == 3) {
        status = nd_copy(turned, NULL, out);
        for (int i = 0; i < N; i++)
            want[i] = values[0][i % ROWS * COLUMNS + i / ROWS];
    } else {
        status = nd_matmul(shared[1], turned, NULL, out);
        n = ROWS * ROWS;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < COLUMNS; k++)
                want[i] += values[1][i / ROWS * COLUMNS + k] * values[0][i % ROWS * COLUMNS + k];
    }
    w->failed += status != ND_OK;
    return n;
}

/* A call that fails with a message of this thread's own: it names an axis that only it uses. */
static void fail_alone(worker *w)
{
    const int32_t axes[1] = {100 + w->number};
    const nd_reduce_opts over = {.size = sizeof over, .axes = axes, .naxes = 1};
    char number[16];
    nd_array *r = NULL;
    snprintf(number, sizeof number, "%d", 100 + w->number);
    w->wrong += nd_sum(shared[0], &over, &r) != ND_ERR_INDEX || r != NULL;
    sched_yield();
    w->foreign += !strstr(nd_last_error()->message, number);
}

static void *work(void *ctx)
{
    worker *w = ctx;
    double want[N], got[N];
    for (int i = 0; i < ROUNDS; i++) {
        nd_array *r = NULL;
        int n = operate(w, &r, want);
        if (w->number % 2 && i % 8 == 0)
            fail_alone(w);
        if (r && (nd_size(r) != n || nd_to_host(r, got, (size_t)n * sizeof *got) != ND_OK ||
                  memcmp(got, want, (size_t)n * sizeof *got) != 0))
            w->wrong++;
        nd_release(r);
    }
    /* Threads of even number made no error, so they must have seen none. */
    if (w->number % 2 == 0 && nd_last_error()->status != ND_OK)
        w->foreign++;
    return NULL;
}

int main(void)
{
    const int64_t shape[2] = {ROWS, COLUMNS};
    nd_layout layout = {.size = sizeof layout, .dtype = ND_F64, .ndim = 2, .shape = shape};
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int wrong = 0, failed = 0, foreign = 0, started = 0;
    setenv("NDOCK_DEVICE", "cpu", 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(PATIENCE_S);
    for (int i = 0; i < N; i++) {
        values[0][i] = i * 7 % 11 - 5;
        values[1][i] = i * 5 % 13 - 6;
    }
    for (int i = 0; i < 2; i++)
        if (nd_from_host(&layout, values[i], NULL, &shared[i]) != ND_OK)
            bail(nd_last_error()->message);
    if (nd_matrix_transpose(shared[0], &turned) != ND_OK)
        bail(nd_last_error()->message);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.number = i, .state = (uint64_t)i * 977 + 1};
        started += pthread_create(&threads[i], NULL, work, &workers[i]) == 0;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
        wrong += workers[i].wrong;
        failed += workers[i].failed;
        foreign += workers[i].foreign;
    }
    is_int(started, THREADS, "sixteen threads start");
    is_int(failed, 0, "no operation fails");
    is_int(wrong, 0, "every result is right");
    is_int(foreign, 0, "no thread sees another's error");
    for (int i = 0; i < 2; i++)
        nd_release(shared[i]);
    nd_release(turned);
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
