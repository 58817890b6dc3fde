/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Communicators of GPUs by an NCCL that only pretends, between two devices of a driver that does so
 * too: every collective in the dtypes that NCCL reduces, the ranks in one thread or in one each, what
 * happens when one is late, calls something else or NCCL has an error, and without the library; and a
 * rank whose other one is in another process, which is played on the board. */
#include <ndock/plugin.h>
#include <pthread.h>
#include <time.h>
#include "backends/cuda/comm/board.h"
#include "tests/comm/matrix.h"
#include "tests/cuda/stubs.h"

/* ---- the process that looks ---- */
static nd_device *devices[2];
static nd_comm *comms[2];
static const ndp_comm_1 *table;
static ndp_dev *dev;

static int ask_status(nd_status status)
{
    printf("%s: %s\n", nd_status_name(status), status == ND_OK ? "" : nd_last_error()->message);
    return 0;
}

static void open_both(void)
{
    const void *group = NULL;
    fine(nd_device_get("cuda:0", &devices[0]));
    fine(nd_device_get("cuda:1", &devices[1]));
    fine(nd_device_group(devices[0], "ndp.comm/1", &group, &dev));
    table = group;
}

/* Kernels of the pretending driver compute nothing: what the core would make of other calls, or copy
 * out of strided views, is for a card. */
static int is_for_nccl(const matrix_case *m)
{
    const int reduces = m->what == ALL_REDUCE || m->what == REDUCE || m->what == REDUCE_SCATTER;
    return is_legal(m) && (m->kind == DENSE || m->kind == EMPTY || m->kind == NO_AXES) &&
           (!reduces || (table->dtypes(dev, m->op) >> m->d & 1));
}

static void count_case(const matrix_case *m, nd_comm **c, int local, int *seen, int *wrong)
{
    if (!is_for_nccl(m))
        return;
    ++*seen;
    *wrong += !run_case(m, c, local);
}

static void every_case(nd_comm **c, int local, int *seen, int *wrong)
{
    *seen = *wrong = 0;
    for (int what = 0; what < COLLECTIVES; what++)
        for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
            for (int op = ND_COMM_SUM; op <= ND_COMM_AVG; op++)
                for (int kind = 0; kind < KINDS; kind++)
                    for (int into = 0; into < 2; into++)
                        count_case(&(matrix_case){what, op, kind, into, d}, c, local, seen, wrong);
}

static void *rank_of_thread(void *arg)
{
    nd_comm **c = arg;
    int seen, wrong;
    every_case(c, 1, &seen, &wrong);
    printf("a thread: %s, wrong %d\n", seen > 300 ? "all" : "few", wrong);
    return NULL;
}

static void all_collectives(void)
{
    int seen, wrong;
    pthread_t other;
    fine(nd_comm_local(2, devices, comms));
    if (!getenv("STUB_CUDA_WAITS")) {
        every_case(comms, 2, &seen, &wrong);
        printf("one thread: %s, wrong %d, by %s\n", seen > 300 ? "all" : "few", wrong,
               nd_comm_transport(comms[0]));
        return;
    }
    pthread_create(&other, NULL, rank_of_thread, &comms[1]);
    (void)rank_of_thread(&comms[0]);
    pthread_join(other, NULL);
    ask_status(nd_comm_status(comms[1]));
}

/* Rank 0 to 1 and back, all in one group of one thread. */
static void messages(void)
{
    const int64_t n = 3;
    nd_array *a[2], *b[2];
    float got[2][3] = {{0}};
    for (int i = 0; i < 2; i++) {
        const float v[3] = {(float)i + 1, 5, 7};
        const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &n};
        fine(nd_from_host(&layout, v, devices[i], &a[i]));
        fine(nd_empty(devices[i], ND_F32, 1, &n, &b[i]));
    }
    fine(nd_comm_send(comms[0], a[0], 1, NULL)); /* outside a group: kept for the other end */
    fine(nd_comm_recv(comms[1], b[1], 0, NULL));
    fine(nd_comm_group_begin(comms[0]));
    fine(nd_comm_recv(comms[0], b[0], 1, NULL));
    fine(nd_comm_send(comms[1], a[1], 0, NULL));
    fine(nd_comm_group_end(comms[0]));
    for (int i = 0; i < 2; i++) {
        fine(nd_to_host(b[i], got[i], sizeof got[i]));
        nd_release(a[i]);
        nd_release(b[i]);
    }
    printf("messages: %g %g, %g %g\n", got[0][0], got[0][2], got[1][0], got[1][1]);
}

static nd_array *vector(int i, nd_dtype d, int64_t n)
{
    nd_array *a = NULL;
    fine(nd_empty(devices[i], d, 1, &n, &a));
    return a;
}

static void leave(void)
{
    nd_comm_release(comms[0]);
    nd_comm_release(comms[1]);
}

static void another_call(void)
{
    nd_array *a = vector(0, ND_F32, 10), *b = vector(1, ND_I64, 4), *out = NULL;
    fine(nd_comm_local(2, devices, comms));
    ask_status(nd_comm_all_reduce(comms[0], a, NULL, &out));
    nd_release(out);
    ask_status(nd_comm_broadcast(comms[1], b, 0, NULL));
    ask_status(nd_comm_all_reduce(comms[0], a, NULL, &out));
    leave();
    nd_release(a);
    nd_release(b);
}

/* Until the communicator has failed, at most ten seconds. */
static void await_failure(nd_comm *c)
{
    const struct timespec t = {.tv_nsec = 10000000};
    for (int i = 0; i < 1000 && nd_comm_status(c) == ND_OK; i++)
        nanosleep(&t, NULL);
    ask_status(nd_comm_status(c));
}

static void alone(int error)
{
    nd_array *a = vector(0, ND_F32, 10), *out = NULL;
    fine(nd_comm_local(2, devices, comms));
    fine(nd_comm_all_reduce(comms[0], a, NULL, &out));
    _Atomic int *says = dlsym(dlopen("libnccl.so.2", RTLD_NOW), "stub_nccl_error");
    *says = error;
    await_failure(comms[1]);
    *says = 0;
    ask_status(nd_synchronize(devices[0]));
    ask_status(nd_synchronize(devices[0]));
    leave();
    nd_release(a);
    nd_release(out);
}

static void nobody_joins(void)
{
    nd_comm_id id;
    nd_comm *c = NULL;
    fine(nd_comm_unique_id(devices[0], &id));
    ask_status(nd_comm_init(devices[0], 0, 2, &id, &c));
}

static void leavers(void)
{
    fine(nd_comm_local(2, devices, comms));
    ask_status(nd_comm_abort(comms[0]));
    ask_status(nd_comm_status(comms[1]));
    leave();
}

/* ---- a rank of another process, of which only what it writes on the board is there ---- */
static cuda_board *join_with_other(nd_comm **c)
{
    nd_comm_id id;
    fine(nd_comm_unique_id(devices[0], &id));
    cuda_board *other = cuda_board_open(id.bytes, sizeof id.bytes, 1, 2);
    fine(nd_comm_init(devices[0], 0, 2, &id, c));
    return other;
}

enum { DIES, LEAVES, CALLS_ANOTHER, FAILS, LATE, WAYS };
static void with_other(int way)
{
    nd_comm *c = NULL;
    nd_array *a = vector(0, ND_F32, 10), *out = NULL;
    cuda_board *other = join_with_other(&c);
    if (way == CALLS_ANOTHER)
        cuda_board_note(other, 1, "broadcast of 4 i64, root 0");
    if (way == FAILS)
        cuda_board_fail(other, "rank 1 aborted it");
    if (way == LEAVES)
        cuda_board_leave(other);
    if (way == DIES)
        cuda_board_close(other);
    ask_status(nd_comm_all_reduce(c, a, NULL, &out));
    nd_comm_release(c);
    if (way != DIES)
        cuda_board_close(other);
    nd_release(out);
    nd_release(a);
}

static int look(void)
{
    const char *what = getenv("TEST_WHAT");
    alarm(600);
    open_both();
    if (!what)
        return ask_status(nd_comm_local(2, devices, comms));
    if (strcmp(what, "all") == 0) {
        all_collectives();
        if (!getenv("STUB_CUDA_WAITS"))
            messages();
        leave();
    }
    if (strcmp(what, "faults") == 0) {
        another_call();
        alone(0);
        alone(6);
        nobody_joins();
        leavers();
    }
    if (strcmp(what, "other") == 0)
        for (int way = DIES; way < WAYS; way++)
            with_other(way);
    const int *n = dlsym(dlopen("libnccl.so.2", RTLD_NOW), "stub_nccl_counts");
    printf("joined %d, split %d, ended %d\n", n[0], n[1], n[2] + n[3]);
    return 0;
}

/* ---- the one that judges ---- */
#define TWO "STUB_CUDA_COUNT=2", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1", "NDOCK_FALLBACK=error"
#define SAYS(word, what)                   \
    do                                     \
        if (!has_text(answer, word, what)) \
            diag("%s", answer);            \
    while (0)

static void collectives(void)
{
    ask(MACHINE(TWO, "TEST_WHAT=all"), NO_NVML);
    SAYS("one thread: all, wrong 0, by cuda\n", "one thread calls for both ranks in turn");
    SAYS("messages: 2 7, 1 5\n", "messages, in a group and outside");
    SAYS("joined 2, split 2, ended 4\n", "what joined and was split off is ended");
    ask(MACHINE(TWO, "TEST_WHAT=all", "STUB_CUDA_WAITS=1"), NO_NVML);
    SAYS("a thread: all, wrong 0\na thread: all, wrong 0\nND_OK", "a thread for each");
}

static void faults(void)
{
    ask(MACHINE(TWO, "TEST_WHAT=faults", "NDOCK_COMM_TIMEOUT=1500"), NO_NVML);
    SAYS("call 1 of rank 1 is broadcast of 4 i64, root 0, that of rank 0 was all_reduce of 10 f32 "
         "by sum",
         "another call: both are named");
    SAYS("rank 0, all_reduce of 10 f32 by sum, waits for a rank of this process, which did not "
         "call within 1500 ms\nND_ERR_ASYNC",
         "a rank that does not call, and whoever waits for the stream hears of it");
    SAYS(": NCCL says ncclRemoteError (6); its latest call was ", "an error of NCCL");
    SAYS("ND_ERR_COMM: communicator of 2 ranks: rank 0 waited 1500 ms for others; rank 1 did not "
         "join",
         "nobody joins");
    SAYS("ND_OK: \nND_ERR_COMM: communicator of 2 ranks: rank 0 aborted it", "aborted for all");
}

static void another_process(void)
{
    static const char call[] = "call 1 of rank 0, all_reduce of 10 f32 by sum, waits for rank 1, ";
    char text[200];
    ask(MACHINE(TWO, "TEST_WHAT=other", "NDOCK_COMM_TIMEOUT=1500", "STUB_NCCL_ALONE=1"), NO_NVML);
    snprintf(text, sizeof text, "%swhich has died", call);
    SAYS(text, "a rank that died is named");
    snprintf(text, sizeof text, "%swhich has left", call);
    SAYS(text, "one that has left");
    SAYS("that of rank 1 is broadcast of 4 i64, root 0", "one that makes another call");
    SAYS("communicator of 2 ranks: rank 1 aborted it", "why it failed there");
    snprintf(text, sizeof text, "%swhich did not come within 1500 ms", call);
    SAYS(text, "one that is late");
}

static void without_library(void)
{
    ask(MACHINE(TWO), NO_NVML | NO_NCCL);
    SAYS("ND_ERR_UNSUPPORTED: comm_local: NCCL (libnccl.so.2, 2.18 or later) cannot be used: "
         "install",
         "without the library the error says what to install");
    ask(MACHINE(TWO, "STUB_NCCL_VERSION=21700"), NO_NVML);
    SAYS("ND_ERR_UNSUPPORTED", "one that is too old is refused");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"collectives", collectives},
                                     {"faults", faults},
                                     {"another_process", another_process},
                                     {"without_library", without_library}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
