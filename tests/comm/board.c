/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The board by which the CUDA plug-in tells who is missing from a collective of NCCL: what ranks see of
 * each other's calls, leaving, dying and failing. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include "backends/cuda/comm/board.h"
#include "tests/tap.h"

enum { RANKS = 3 };
static char id[128], why[CUDA_BOARD_TEXT];
static cuda_board *board[RANKS];
#define SUM "all_reduce of 10 f32 by sum"

static void open_ranks(int n)
{
    if (getrandom(id, sizeof id, 0) != (ssize_t)sizeof id)
        diag("no random bytes");
    for (int r = 0; r < n; r++)
        board[r] = cuda_board_open(id, sizeof id, r, RANKS);
}

static void close_ranks(void)
{
    cuda_board_unname(board[0]);
    for (int r = 0; r < RANKS; r++) {
        cuda_board_close(board[r]);
        board[r] = NULL;
    }
}

static int is_hopeless(int rank, uint64_t number, const char *text)
{
    return cuda_board_hopeless(board[rank], number, text, why, sizeof why);
}

static int is_late(int rank, uint64_t number, const char *text)
{
    return cuda_board_late(board[rank], number, text, 300, why, sizeof why);
}

static void entering(void)
{
    char text[40];
    open_ranks(1);
    ok(board[0] != NULL, "a board");
    is_str(cuda_board_absent(board[0], text, sizeof text), "ranks 1, 2", "who did not enter");
    board[2] = cuda_board_open(id, sizeof id, 2, RANKS);
    is_str(cuda_board_absent(board[0], text, sizeof text), "rank 1", "one of them does");
    ok(!cuda_board_open(id, sizeof id, 2, RANKS), "two of a rank have no board");
    ok(!cuda_board_open(id, sizeof id, 1, RANKS + 1), "nor has one that counts otherwise");
    is_str(cuda_board_absent(board[0], text, sizeof text), "rank 1", "and that one is not in");
    ok(!is_hopeless(0, 1, SUM) && !is_late(2, 0, SUM), "who did not enter is not blamed");
    close_ranks();
}

static void nobody(void)
{
    char text[40];
    cuda_board_note(NULL, 1, SUM);
    cuda_board_leave(NULL);
    cuda_board_unname(NULL);
    cuda_board_fail(NULL, "x");
    cuda_board_close(NULL);
    ok(!cuda_board_hopeless(NULL, 1, SUM, why, sizeof why) &&
           !cuda_board_late(NULL, 1, SUM, 1, why, sizeof why) && !cuda_board_gone(NULL, 0) &&
           !cuda_board_failed(NULL, why, sizeof why) &&
           !*cuda_board_absent(NULL, text, sizeof text),
       "without a board nobody is known");
}

static void late(void)
{
    open_ranks(RANKS);
    for (int r = 0; r < RANKS; r++)
        cuda_board_note(board[r], 1, SUM);
    ok(!is_hopeless(0, 1, SUM) && !is_late(0, 1, SUM), "all have come");
    cuda_board_note(board[0], 2, SUM);
    ok(!is_hopeless(0, 2, SUM) && is_late(0, 2, SUM), "a rank that is late can still come");
    is_str(why,
           "call 2 of rank 0, " SUM ", waits for rank 1, which did not come within 300 ms; its "
           "latest call was number 1, " SUM,
           "and is named");
    cuda_board_note(board[1], 2, SUM);
    ok(is_late(0, 2, SUM), "the next one");
    has_text(why, "waits for rank 2,", "is named then");
    close_ranks();
}

static void another_call(void)
{
    open_ranks(RANKS);
    cuda_board_note(board[0], 1, SUM);
    ok(is_late(0, 1, SUM), "a rank without a call");
    has_text(why, "; it has made no call", "is told as such");
    cuda_board_note(board[1], 1, "broadcast of 10 f32, root 0");
    ok(is_hopeless(0, 1, SUM), "another call");
    is_str(why,
           "call 1 of rank 0 is " SUM ", that of rank 1 is broadcast of 10 f32, root 0; all ranks "
           "make the same calls in the same order",
           "names both");
    for (int k = 2; k < 17; k++)
        cuda_board_note(board[1], (uint64_t)k, SUM);
    ok(is_hopeless(0, 1, SUM), "which is still kept after 15 more");
    cuda_board_note(board[1], 17, SUM);
    ok(!is_hopeless(0, 1, SUM), "and not after 16");
    close_ranks();
}

static void gone(void)
{
    open_ranks(RANKS);
    for (int r = 0; r < RANKS; r++)
        cuda_board_note(board[r], 1, SUM);
    cuda_board_note(board[0], 2, SUM);
    cuda_board_note(board[2], 2, SUM);
    ok(!cuda_board_gone(board[0], 1) && !cuda_board_gone(board[0], 0), "nobody is gone");
    cuda_board_leave(board[2]);
    is_str(cuda_board_gone(board[0], 2), "has left", "a rank that has left");
    ok(!is_hopeless(0, 2, SUM), "after the call, which may still end");
    cuda_board_leave(board[1]);
    ok(is_hopeless(0, 2, SUM), "one that left before the call");
    is_str(why,
           "call 2 of rank 0, " SUM ", waits for rank 1, which has left; its latest call was "
           "number 1, " SUM,
           "is named");
    close_ranks();
}

/* Rank 1 in a process of its own, which makes one call, says so and waits to be killed. */
static void killed(void)
{
    char c = 0;
    int there[2], status;
    open_ranks(1);
    if (pipe(there) != 0)
        diag("no pipe");
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        /* The lock of the parent's rank belongs to this process too as long as it has the file. */
        cuda_board *mine = cuda_board_open(id, sizeof id, 1, RANKS);
        cuda_board_note(mine, 1, SUM);
        c = mine ? 'y' : 'n';
        if (write(there[1], &c, 1) == 1)
            pause();
        _exit(0);
    }
    ok(read(there[0], &c, 1) == 1 && c == 'y', "a rank in another process");
    cuda_board_note(board[0], 1, SUM);
    cuda_board_note(board[0], 2, SUM);
    ok(!is_hopeless(0, 2, SUM) && !cuda_board_gone(board[0], 1), "is alive");
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ok(is_hopeless(0, 2, SUM), "when it has been killed, its next call is waited for in vain");
    has_text(why, "waits for rank 1, which has died; its latest call was number 1, " SUM, "so");
    ok(!is_hopeless(0, 1, SUM), "not the one that it has made");
    close(there[0]);
    close(there[1]);
    close_ranks();
}

static void failing(void)
{
    open_ranks(RANKS);
    ok(!cuda_board_failed(board[0], why, sizeof why), "nothing has failed");
    cuda_board_fail(board[1], "rank 1 aborted it");
    cuda_board_fail(board[2], "rank 2 is later");
    ok(cuda_board_failed(board[0], why, sizeof why), "the others hear of it");
    is_str(why, "rank 1 aborted it", "with the first reason");
    close_ranks();
}

static void strangers(void)
{
    char name[80] = "";
    char *end = NULL;
    open_ranks(1);
    /* The only file of its kind that this process has open. */
    for (int fd = 3; fd < 64 && !strstr(name, "/ndock-nccl-"); fd++) {
        char link[40];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(link, name, sizeof name - 1);
        name[n > 0 ? n : 0] = 0;
    }
    end = strstr(name, "/ndock-nccl-");
    ok(end && shm_open(end, O_RDONLY, 0) >= 0, "the file has a name while ranks enter");
    cuda_board_unname(board[0]);
    ok(end && shm_open(end, O_RDONLY, 0) < 0, "and none afterwards");
    close_ranks();
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    entering();
    nobody();
    late();
    another_call();
    gone();
    killed();
    failing();
    strangers();
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
