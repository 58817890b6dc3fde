/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * One rank of several: sums, parts and messages against what it computes alone. With "late": rank 1
 * does not come to an exchange, and rank 0 is told so. */
#include <ndock/comm.h>
#include <ndock/ndock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(nd_status status)
{
    if (status == ND_OK)
        return;
    fprintf(stderr, "%s\n", nd_last_error()->message);
    exit(1);
}

static void expect(int holds, const char *what, int rank)
{
    if (holds)
        return;
    fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
    exit(1);
}

static void late(nd_comm *c, nd_array *x)
{
    nd_array *sum = NULL;
    if (nd_comm_rank(c) == 1) {
        sleep(2);
        _exit(0);
    }
    nd_status status = nd_comm_all_reduce(c, x, NULL, &sum);
    expect(status == ND_ERR_COMM && strstr(nd_last_error()->message, "did not come within 500 ms"),
           "the error of one that waits", 0);
    expect(nd_comm_status(c) == ND_ERR_COMM, "the communicator's state", 0);
    printf("rank 0 was told\n");
    fflush(NULL);
    _exit(0);
}

int main(int argc, char **argv)
{
    nd_device *cpu;
    nd_comm *c = NULL;
    const int64_t count = 2500003; /* several steps, and no multiple of one */
    nd_array *x = NULL, *sum = NULL, *next = NULL;
    float *v = malloc((size_t)count * sizeof *v);
    alarm(90);
    must(nd_device_get("cpu", &cpu));
    must(nd_comm_world(cpu, &c));
    const int n = nd_comm_size(c), rank = nd_comm_rank(c);
    expect(strcmp(nd_comm_transport(c), "mpi") == 0 && n > 1, "the transport", rank);
    must(nd_arange(cpu, ND_F32, nd_float(rank), nd_float((double)count + rank), nd_float(1), &x));
    if (argc > 1)
        late(c, x);
    must(nd_comm_all_reduce(c, x, NULL, &sum));
    must(nd_to_host(sum, v, (size_t)count * sizeof *v));
    for (int64_t i = 0; i < count; i++)
        expect(v[i] == (float)((double)n * (double)i + n * (n - 1) / 2), "all_reduce", rank);
    must(nd_copy(x, NULL, &next));
    must(nd_comm_group_begin(c));
    must(nd_comm_recv(c, next, (rank + n - 1) % n, NULL));
    must(nd_comm_send(c, x, (rank + 1) % n, NULL));
    must(nd_comm_group_end(c));
    must(nd_to_host(next, v, (size_t)count * sizeof *v));
    expect(v[7] == (float)(7 + (rank + n - 1) % n), "a ring of messages", rank);
    must(nd_comm_barrier(c));
    nd_release(x);
    nd_release(sum);
    nd_release(next);
    free(v);
    nd_comm_release(c);
    printf("rank %d of %d is content\n", rank, n);
    return 0;
}
