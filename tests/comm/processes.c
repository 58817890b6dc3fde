/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every collective between processes: run this program by `ndock run`, mpirun or srun. Without one
 * it starts three processes of itself, which meet at MASTER_PORT. argv[1]: the device, else the
 * launcher's, else cpu. */
#include "tests/comm/matrix.h"
#include <sys/wait.h>
#include <unistd.h>

/* Larger than any buffer between the ranks, and no multiple of one. */
static void check_large(nd_comm *c)
{
    const int n = nd_comm_size(c), rank = nd_comm_rank(c);
    const int64_t count = 300007, rows[2] = {n, count};
    nd_array *x = NULL, *sum = NULL, *all = NULL, *back = NULL, *next = NULL;
    float *v = malloc((size_t)(n * count) * sizeof *v);
    int good = 1;
    fine(nd_arange(nd_comm_device(c), ND_F32, nd_float(rank), nd_float((double)count + rank),
                   nd_float(1), &x));
    fine(nd_comm_all_reduce(c, x, NULL, &sum));
    fine(nd_to_host(sum, v, (size_t)count * sizeof *v));
    for (int64_t i = 0; i < count; i++)
        good = good && v[i] == (float)(n * i + n * (n - 1) / 2);
    ok(good, "rank %d: all_reduce of %lld elements", rank, (long long)count);
    fine(nd_comm_all_gather(c, x, NULL, &all));
    fine(nd_to_host(all, v, (size_t)(n * count) * sizeof *v));
    for (int64_t i = 0; i < n * count; i++)
        good = good && v[i] == (float)(i / count + i % count);
    ok(good && nd_shape(all)[0] == rows[0], "rank %d: all_gather of them", rank);
    fine(nd_comm_reduce_scatter(c, all, NULL, &back));
    fine(nd_to_host(back, v, (size_t)count * sizeof *v));
    for (int64_t i = 0; i < count; i++)
        good = good && v[i] == (float)(n * (i + rank));
    ok(good, "rank %d: reduce_scatter", rank);
    fine(nd_copy(x, NULL, &next));
    fine(nd_comm_group_begin(c));
    fine(nd_comm_send(c, x, (rank + 1) % n, NULL));
    fine(nd_comm_recv(c, next, (rank + n - 1) % n, NULL));
    fine(nd_comm_group_end(c));
    fine(nd_to_host(next, v, (size_t)count * sizeof *v));
    for (int64_t i = 0; i < count; i++)
        good = good && v[i] == (float)(i + (rank + n - 1) % n);
    ok(good, "rank %d: a ring of messages", rank);
    nd_release(x);
    nd_release(sum);
    nd_release(all);
    nd_release(back);
    nd_release(next);
    free(v);
}

static void check_split(nd_comm *c)
{
    nd_comm *part = NULL;
    nd_array *x = NULL, *sum = NULL;
    const int rank = nd_comm_rank(c), n = nd_comm_size(c), color = rank % 2;
    double got = 0, want = 0;
    fine(nd_comm_split(c, color, -rank, &part));
    fine(nd_full(nd_comm_device(c), ND_F64, 0, NULL, nd_float(rank), &x));
    fine(nd_comm_all_reduce(part, x, NULL, &sum));
    fine(nd_item_f64(sum, &got));
    for (int r = color; r < n; r += 2)
        want += r;
    ok(got == want && nd_comm_rank(part) == (n - 1 - color) / 2 - rank / 2,
       "rank %d: ranks of one parity, in the opposite order", rank);
    nd_release(x);
    nd_release(sum);
    nd_comm_release(part);
    fine(nd_comm_barrier(c));
}

static int run_rank(const char *device)
{
    nd_device *dev;
    nd_comm *c = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(600);
    fine(nd_device_get(device, &dev));
    fine(nd_comm_world(dev, &c));
    run_matrix(&c, 1, getenv("NDOCK_TEST_SLICE") ? 7 : 1, COLLECTIVES);
    check_large(c);
    check_split(c);
    fine(nd_comm_status(c));
    nd_comm_release(c);
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}

/* ---- without a launcher ---- */
enum { PROCESSES = 3 };

static pid_t start_process(const char *program, const char *device, int rank, int port)
{
    char text[16];
    const pid_t pid = fork();
    if (pid)
        return pid;
    snprintf(text, sizeof text, "%d", rank);
    setenv("RANK", text, 1);
    setenv("LOCAL_RANK", text, 1);
    snprintf(text, sizeof text, "%d", PROCESSES);
    setenv("WORLD_SIZE", text, 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    snprintf(text, sizeof text, "%d", port);
    setenv("MASTER_PORT", text, 1);
    setenv("NDOCK_COMM_TOKEN", "0123456789abcdef", 1);
    setenv("NDOCK_COMM_STORE", "1", 1);
    if (rank && !freopen("/dev/null", "w", stdout))
        _exit(3);
    execl(program, program, device, (char *)NULL);
    _exit(4);
}

int main(int argc, char **argv)
{
    const char *given = getenv("NDOCK_DEVICE");
    const char *device = argc > 1 ? argv[1] : given ? given : "cpu";
    int32_t rank, size, local;
    int good = 1;
    nd_store *store = NULL;
    pid_t pid[PROCESSES];
    fine(nd_comm_launched(&rank, &size, &local));
    if (size > 1)
        return run_rank(device);
    fine(nd_comm_store_serve(0, "0123456789abcdef", &store));
    for (int i = 0; i < PROCESSES; i++)
        pid[i] = start_process("/proc/self/exe", device, i, (int)nd_comm_store_port(store));
    for (int i = 0; i < PROCESSES; i++) {
        int status = 1;
        good = pid[i] > 0 && waitpid(pid[i], &status, 0) == pid[i] && status == 0 && good;
    }
    nd_comm_store_stop(store);
    return !good; /* the plan is rank 0's */
}
