/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Ranks in processes of their own, by shared memory: one dies, hangs, calls something else, leaves or
 * aborts, and the others get an error within the time limit that names it; what it calls is compared
 * by the plug-in, or before that under NDOCK_COMM_CHECK. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ndock/comm.h>
#include <ndock/ndock.h>
#include "tests/tap.h"

enum { RANKS = 3 };

/* Where a rank does not come: it sleeps longer. Else nobody waits that long: a rank that gets no processor for a while is not late,
 * and what is told is told before. */
static const char limit_ms[] = "1500", patience_ms[] = "300000";

static void limit_waits(const char *ms)
{
    setenv("NDOCK_COMM_TIMEOUT", ms, 1);
}

static void fine(nd_status status)
{
    if (status != ND_OK) {
        printf("# %s\n", nd_last_error()->message);
        fflush(stdout);
        _exit(9);
    }
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static nd_array *ones(void)
{
    nd_array *x = NULL;
    const int64_t n = 10;
    fine(nd_full(NULL, ND_F32, 1, &n, nd_float(1), &x));
    return x;
}

static void sum_once(nd_comm *c)
{
    nd_array *x = ones(), *y = NULL;
    fine(nd_comm_all_reduce(c, x, NULL, &y));
    nd_release(x);
    nd_release(y);
}

/* What the other ranks call after the first sum. */
static nd_status sum_again(nd_comm *c, nd_array *x)
{
    nd_array *y = NULL;
    return nd_comm_all_reduce(c, x, NULL, &y);
}
static nd_status broadcast_of_0(nd_comm *c, nd_array *x)
{
    return nd_comm_broadcast(c, x, 0, NULL);
}
static nd_status (*second_call)(nd_comm *c, nd_array *x) = sum_again;

/* The other ranks: the second call fails with these words, and so does everything after it. */
static int expect(nd_comm *c, const char *first, const char *second)
{
    nd_array *x = ones(), *y = NULL;
    const double since = now_s();
    sum_once(c);
    nd_status status = second_call(c, x);
    const char *text = nd_last_error()->message;
    if (status != ND_ERR_COMM || !strstr(text, first) || !strstr(text, second)) {
        printf("# rank %d: status %d, %s\n", (int)nd_comm_rank(c), (int)status, text);
        return 1;
    }
    if (now_s() - since > 150)
        return 2;
    if (nd_comm_all_reduce(c, x, NULL, &y) != ND_ERR_COMM || nd_comm_status(c) != ND_ERR_COMM)
        return 3;
    nd_release(x);
    return 0;
}

/* ---- what rank 1 does after the first sum; the process ends when it returns ---- */
static void dies(nd_comm *c)
{
    (void)c;
    raise(SIGKILL);
}
/* Until it is ended, when the others have been told. */
static void hangs(nd_comm *c)
{
    (void)c;
    for (;;)
        pause();
}
/* Refused as those of the others are; "root 0" of a broadcast, "all_reduce of 10 f32" of a sum. */
static void refused(nd_status status)
{
    const char *text = nd_last_error()->message;
    if (status == ND_ERR_COMM && (strstr(text, "all_reduce of 10 f32") || strstr(text, "root 0")))
        return;
    printf("# rank 1: status %d, %s\n", (int)status, text);
    fflush(stdout);
    _exit(8);
}
static void calls_another(nd_comm *c)
{
    refused(nd_comm_broadcast(c, ones(), 2, NULL));
}
static void calls_f64(nd_comm *c)
{
    nd_array *x = NULL, *y = NULL;
    fine(nd_astype(ones(), ND_F64, &x));
    refused(nd_comm_all_reduce(c, x, NULL, &y));
}
static void calls_fewer(nd_comm *c)
{
    nd_array *x = NULL, *y = NULL;
    const nd_index few = nd_range(0, 7, 1);
    fine(nd_slice(ones(), &few, 1, &x));
    refused(nd_comm_all_reduce(c, x, NULL, &y));
}
static void calls_max(nd_comm *c)
{
    const nd_comm_opts opts = {.size = sizeof opts, .reduce = ND_COMM_MAX};
    nd_array *y = NULL;
    refused(nd_comm_all_reduce(c, ones(), &opts, &y));
}
static void calls_root_2(nd_comm *c)
{
    refused(nd_comm_broadcast(c, ones(), 2, NULL));
}
static void leaves(nd_comm *c)
{
    nd_comm_release(c);
    sleep(1);
}
static void aborts(nd_comm *c)
{
    fine(nd_comm_abort(c));
}

static int be_rank(int rank, const nd_comm_id *id, void (*first)(nd_comm *c), const char *word,
                   const char *other)
{
    nd_comm *c = NULL;
    alarm(600);
    fine(nd_comm_init(NULL, rank, RANKS, id, &c));
    if (rank != 1)
        return expect(c, word, other);
    sum_once(c);
    first(c);
    return 0;
}

static void with(const char *name, void (*first)(nd_comm *c), const char *word, const char *other)
{
    pid_t pid[RANKS];
    nd_comm_id id;
    int good = 1;
    struct stat st;
    char path[ND_COMM_ID_BYTES + 16];
    fine(nd_comm_unique_id(NULL, &id));
    fflush(NULL);
    for (int r = 0; r < RANKS; r++)
        if ((pid[r] = fork()) == 0)
            _exit((be_rank(r, &id, first, word, other) | fflush(NULL)) != 0);
    for (int i = 0; i < RANKS; i++) {
        const int r = (i + 2) % RANKS; /* rank 1 last */
        int status = 1;
        if (r == 1 && first == hangs && pid[1] > 0)
            kill(pid[1], SIGKILL);
        const int ended = pid[r] > 0 && waitpid(pid[r], &status, 0) == pid[r];
        good = ended && (status == 0 || (r == 1 && (first == dies || first == hangs))) && good;
    }
    ok(good, "a rank that %s: the others are told in time", name);
    snprintf(path, sizeof path, "/dev/shm%.127s", (const char *)id.bytes);
    ok(stat(path, &st) != 0, "and no shared memory is left behind");
}

static void compare(const char *how)
{
    char name[80];
#define CASE(what, call, word)                              \
    snprintf(name, sizeof name, "calls %s, %s", what, how); \
    with(name, call, word, "of rank 1")
    CASE("another operation", calls_another, "broadcast of 10 f32");
    CASE("another dtype", calls_f64, "all_reduce of 10 f64");
    CASE("fewer elements", calls_fewer, "all_reduce of 7 f32");
    CASE("another reduction", calls_max, "all_reduce of 10 f32 by max");
    second_call = broadcast_of_0;
    CASE("another root", calls_root_2, "root 2");
    second_call = sum_again;
#undef CASE
}

/* Two communicators of the same ranks, which rank 1 calls in the opposite order. */
static int be_one_of_two(int rank, const nd_comm_id *id)
{
    nd_comm *c[2];
    nd_array *x = ones(), *y = NULL;
    const double since = now_s();
    alarm(600);
    for (int i = 0; i < 2; i++)
        fine(nd_comm_init(NULL, rank, 2, &id[i], &c[i]));
    const nd_status status = nd_comm_all_reduce(c[rank], x, NULL, &y);
    const char *text = nd_last_error()->message;
    if (status == ND_ERR_COMM && strstr(text, "call 1 of rank") && strstr(text, "all_reduce") &&
        strstr(text, rank ? "waits for rank 0" : "waits for rank 1") && now_s() - since < 150)
        return 0;
    printf("# rank %d: status %d, %s\n", rank, (int)status, text);
    return 1;
}

static void two_communicators(const char *how)
{
    nd_comm_id id[2];
    pid_t pid[2];
    int good = 1, status;
    limit_waits(limit_ms);
    for (int i = 0; i < 2; i++)
        fine(nd_comm_unique_id(NULL, &id[i]));
    fflush(NULL);
    for (int r = 0; r < 2; r++)
        if ((pid[r] = fork()) == 0)
            _exit((be_one_of_two(r, id) | fflush(NULL)) != 0);
    for (int r = 0; r < 2; r++)
        good = waitpid(pid[r], &status, 0) == pid[r] && status == 0 && good;
    limit_waits(patience_ms);
    ok(good, "communicators in the opposite order, %s: both are told in time", how);
}

/* Rank 0 comes late to a barrier and leaves at once: rank 1, which meanwhile looks for it now and then,
 * has to see that it came before that it left. */
static int leave_after_all(int rank, int time, const nd_comm_id *id)
{
    (void)time;
    const struct timespec late = {.tv_nsec = 4000000};
    nd_comm *c = NULL;
    alarm(600);
    fine(nd_comm_init(NULL, rank, 2, id, &c));
    if (rank == 0)
        nanosleep(&late, NULL);
    fine(nd_comm_barrier(c));
    nd_comm_release(c);
    return 0;
}

/* Ranks that are the same communicators one after the other, each in a process; whether all is good. */
static int again_and_again(int n, int times, int (*be)(int rank, int time, const nd_comm_id *id))
{
    nd_comm_id *id = calloc((size_t)times, sizeof *id);
    pid_t pid[RANKS];
    int good = id != NULL, status;
    for (int i = 0; i < times && good; i++)
        fine(nd_comm_unique_id(NULL, &id[i]));
    fflush(NULL);
    for (int r = 0; r < n && good; r++)
        if ((pid[r] = fork()) == 0) {
            int wrong = 0;
            for (int i = 0; i < times && !wrong; i++)
                wrong = be(r, i, &id[i]);
            fflush(NULL);
            _exit(wrong);
        }
    for (int r = 0; r < n && id; r++)
        good = waitpid(pid[r], &status, 0) == pid[r] && status == 0 && good;
    free(id);
    return good;
}

static void leaves_after_all(void)
{
    const int times = getenv("NDOCK_TEST_SLICE") ? 60 : 300;
    ok(again_and_again(2, times, leave_after_all),
       "a rank that leaves when all is done, %d times: the other one is not told", times);
}

/* How many calls the rank makes of a communicator before it leaves. */
static int calls_of(int rank, int time)
{
    return (int)((uint32_t)(time * RANKS + rank + 1) * 2654435761u >> 16) % 6;
}

/* As many calls succeed on every rank as the rank makes that leaves first; the next one names it. */
static int leave_at_random(int rank, int time, const nd_comm_id *id)
{
    int least = calls_of(0, time), made = 0;
    nd_comm *c = NULL;
    nd_array *x = ones();
    nd_status status = ND_OK;
    for (int r = 1; r < RANKS; r++)
        least = calls_of(r, time) < least ? calls_of(r, time) : least;
    alarm(600);
    fine(nd_comm_init(NULL, rank, RANKS, id, &c));
    while (made < calls_of(rank, time) && status == ND_OK) {
        status = made % 2 ? nd_comm_barrier(c) : nd_comm_broadcast(c, x, made % RANKS, NULL);
        made += status == ND_OK;
    }
    const int wrong =
        made != least ||
        (calls_of(rank, time) > least &&
         (status != ND_ERR_COMM || !strstr(nd_last_error()->message, "which has left")));
    if (wrong)
        printf("# time %d, rank %d: %d calls of %d, least %d, status %d, %s\n", time, rank, made,
               calls_of(rank, time), least, (int)status, nd_last_error()->message);
    nd_release(x);
    nd_comm_release(c);
    return wrong;
}

static void leave_at_random_times(void)
{
    const int times = getenv("NDOCK_TEST_SLICE") ? 60 : 300;
    ok(again_and_again(RANKS, times, leave_at_random),
       "ranks that leave after any number of calls, %d times: the others are told then", times);
}

static void nobody_comes(void)
{
    nd_comm_id id;
    nd_comm *c = NULL;
    struct stat st;
    char path[ND_COMM_ID_BYTES + 16];
    fine(nd_comm_unique_id(NULL, &id));
    limit_waits(limit_ms);
    ok(nd_comm_init(NULL, 0, 2, &id, &c) == ND_ERR_COMM, "a communicator that stays incomplete");
    limit_waits(patience_ms);
    has_text(nd_last_error()->message, "rank 1, which did not join within 1500 ms", "is no wait");
    snprintf(path, sizeof path, "/dev/shm%.127s", (const char *)id.bytes);
    ok(stat(path, &st) != 0, "and leaves nothing");
    memset(&id, 'x', sizeof id);
    ok(nd_comm_init(NULL, 0, 2, &id, &c) == ND_ERR_ARGUMENT && !c, "bytes that are no name");
}

static int has_segment(const nd_comm_id *id)
{
    struct stat st;
    char path[ND_COMM_ID_BYTES + 16];
    snprintf(path, sizeof path, "/dev/shm%.127s", (const char *)id->bytes);
    return stat(path, &st) == 0;
}

/* In a group a rank does not wait for the others, so that the segment keeps its name for a while. */
static void joined_in_a_group(void)
{
    nd_comm_id id[3];
    nd_comm *c[3] = {NULL};
    for (int i = 0; i < 3; i++)
        fine(nd_comm_unique_id(NULL, &id[i]));
    fine(nd_comm_init(NULL, 0, 1, &id[0], &c[0]));
    fine(nd_comm_group_begin(c[0]));
    for (int i = 1; i < 3; i++)
        fine(nd_comm_init(NULL, 0, 1, &id[i], &c[i]));
    fine(nd_comm_group_end(c[0]));
    fine(nd_comm_barrier(c[1]));
    ok(!has_segment(&id[1]), "joined in a group: no shared memory is left when the ranks have met");
    nd_comm_release(c[2]);
    ok(!has_segment(&id[2]), "nor when they never have");
    nd_comm_release(c[1]);
    nd_comm_release(c[0]);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    limit_waits(patience_ms);
    setenv("NDOCK_DEVICE", "cpu", 1); /* whose plug-in it is that is tested */
    alarm(600);
    with("dies", dies, "waits for rank 1, which has died", "call 2");
    limit_waits(limit_ms);
    with("hangs", hangs, "waits for rank 1, which did not come within 1500 ms",
         "number 1, all_reduce");
    limit_waits(patience_ms);
    compare("compared by the plug-in");
    two_communicators("compared by the plug-in");
    setenv("NDOCK_COMM_CHECK", "1", 1);
    compare("under NDOCK_COMM_CHECK");
    two_communicators("under NDOCK_COMM_CHECK");
    unsetenv("NDOCK_COMM_CHECK");
    with("leaves early", leaves, "rank 1, which has left", "all_reduce");
    with("aborts", aborts, "rank 1 aborted it", "latest call was all_reduce of 10 f32 by sum");
    leaves_after_all();
    leave_at_random_times();
    nobody_comes();
    joined_in_a_group();
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
