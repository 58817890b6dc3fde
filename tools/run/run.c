/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock run -n N program`: starts the ranks of a communicator on this machine, with the variables
 * by which nd_comm_world finds the others. When one fails the others are ended, and what it said
 * comes last. Several machines are mpirun's affair, or srun's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <ndock/comm.h>
#include "tools/run/run.h"
#include "tools/tool.h"

typedef struct {
    int n;
    const char *device, *hosts;
    char **program;
    char token[33];
    nd_store *store;
    run_process *processes;
} running;

enum { GRACE_MS = 5000, TICK_MS = 50 };
static volatile sig_atomic_t asked_to_end;

static void note_signal(int signal)
{
    asked_to_end = signal;
}

static const char usage[] =
    "Usage: ndock run -n N [--device NAME] [--hosts A,B] PROGRAM [ARGUMENT]...\n\n"
    "Starts PROGRAM N times on this machine, as the ranks of one communicator (nd_comm_world,\n"
    "ndock.comm.world()). Each line that they print begins with its rank. When one fails, the\n"
    "others are ended, its last lines are printed again, and its status is the command's.\n\n"
    "  -n N           how many, 1 to 256\n"
    "  --device NAME  what the device \"auto\" is in each: NAME:RANK, or NAME where it is cpu\n"
    "  --hosts A,B    several machines: prints the command of MPI that starts them\n"
    "  --help         this text\n\n"
    "Sets RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,\n"
    "NDOCK_COMM_TOKEN, NDOCK_COMM_STORE, and NDOCK_NUM_THREADS where it is not set.\n";

/* ---- starting ---- */
static void set_number(const char *name, long n)
{
    char text[24];
    snprintf(text, sizeof text, "%ld", n);
    setenv(name, text, 1);
}

static void set_environment(const running *r, int rank)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    char device[96];
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank);
    set_number("WORLD_SIZE", r->n);
    set_number("LOCAL_WORLD_SIZE", r->n);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    set_number("MASTER_PORT", nd_comm_store_port(r->store));
    setenv("NDOCK_COMM_TOKEN", r->token, 1);
    setenv("NDOCK_COMM_STORE", "1", 1);
    if (!getenv("NDOCK_NUM_THREADS") && !getenv("OMP_NUM_THREADS"))
        set_number("NDOCK_NUM_THREADS", cores > r->n ? cores / r->n : 1);
    if (r->device) {
        const int as_it_is = strcmp(r->device, "cpu") == 0 || strchr(r->device, ':') != NULL;
        snprintf(device, sizeof device, as_it_is ? "%s" : "%s:%d", r->device, rank);
        setenv("NDOCK_DEVICE", device, 1);
    }
}

static void become(const running *r, int rank, const int out[2])
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    (void)setpgid(0, 0);                    /* so that it is ended with what it starts */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* and when this program is */
    dup2(out[0], STDOUT_FILENO);
    dup2(out[1], STDERR_FILENO);
    set_environment(r, rank);
    execvp(r->program[0], r->program);
    fprintf(stderr, "%s: %s\n", r->program[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static int start(running *r, int rank)
{
    run_process *p = &r->processes[rank];
    int ends[2][2], out[2];
    for (int i = 0; i < 2; i++) {
        if (pipe2(ends[i], O_CLOEXEC) != 0)
            return -1;
        p->out[i].fd = ends[i][0];
        out[i] = ends[i][1];
        (void)fcntl(ends[i][0], F_SETFL, O_NONBLOCK);
    }
    p->pid = fork();
    if (p->pid == 0)
        become(r, rank, out);
    close(out[0]);
    close(out[1]);
    return p->pid > 0 ? 0 : -1;
}

/* ---- watching ---- */
static void end_all(const running *r, int signal)
{
    for (int i = 0; i < r->n; i++)
        if (r->processes[i].pid > 0)
            (void)kill(-r->processes[i].pid, signal);
}

static int width_of(int n)
{
    return n > 100 ? 3 : n > 10 ? 2 : 1;
}

/* Waits a moment for output and prints it; whether any of the processes still has some to come. */
static int print_output(running *r)
{
    struct pollfd fds[2 * RUN_MOST];
    int open = 0;
    for (int i = 0; i < 2 * r->n; i++) {
        fds[i] = (struct pollfd){.fd = r->processes[i / 2].out[i % 2].fd, .events = POLLIN};
        open += fds[i].fd >= 0;
    }
    if (poll(fds, (nfds_t)(2 * r->n), TICK_MS) <= 0)
        return open;
    for (int i = 0; i < 2 * r->n; i++)
        if (fds[i].fd >= 0 && fds[i].revents)
            run_take_output(&r->processes[i / 2], i / 2, width_of(r->n), i % 2);
    return open;
}

/* Notes who has ended; the rank that failed first, as far as that can be told, or failed. *left: how
 * many run. */
static int reap(running *r, int failed, int *left)
{
    *left = 0;
    for (int i = 0; i < r->n; i++) {
        run_process *p = &r->processes[i];
        if (p->pid > 0 && waitpid(p->pid, &p->status, WNOHANG) == p->pid) {
            (void)kill(-p->pid, SIGTERM); /* what it started */
            p->pid = 0;
            if (p->status != 0 && failed < 0)
                failed = i;
        }
        *left += p->pid > 0;
    }
    return failed;
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until all have ended; the rank that failed, or -1. */
static int watch(running *r)
{
    int failed = -1, left = r->n, open = 1;
    long ending = 0; /* since when */
    while (left || (open && (!ending || now_ms() - ending < 2 * GRACE_MS))) {
        open = print_output(r);
        failed = reap(r, failed, &left);
        if (!ending && (failed >= 0 || asked_to_end || !left)) {
            ending = now_ms();
            end_all(r, asked_to_end ? (int)asked_to_end : SIGTERM);
        }
        if (ending && left && now_ms() - ending > GRACE_MS)
            end_all(r, SIGKILL);
    }
    return failed;
}

/* ---- the command ---- */
static int print_mpi_line(const running *r)
{
    printf("ndock run starts processes on this machine alone. With plug-in mpi there:\n"
           "  mpirun -n %d --host %s -x NDOCK_PLUGIN_PATH",
           r->n, r->hosts);
    for (char **a = r->program; *a; a++)
        printf(" %s", *a);
    printf("\nor, under Slurm:\n  srun -n %d --nodelist %s", r->n, r->hosts);
    for (char **a = r->program; *a; a++)
        printf(" %s", *a);
    printf("\n");
    return EXIT_USAGE;
}

static int make_token(running *r)
{
    unsigned char bits[16];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return -1;
    for (size_t i = 0; i < sizeof bits; i++)
        snprintf(r->token + 2 * i, 3, "%02x", bits[i]);
    return 0;
}

static int exit_status(const running *r, int failed)
{
    if (failed < 0)
        return asked_to_end ? 128 + (int)asked_to_end : 0;
    const run_process *p = &r->processes[failed];
    run_print_tail(p, failed);
    if (WIFSIGNALED(p->status)) {
        fprintf(stderr, "ndock run: rank %d was ended by signal %d (%s)\n", failed,
                WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
        return 128 + WTERMSIG(p->status);
    }
    fprintf(stderr, "ndock run: rank %d ended with status %d\n", failed, WEXITSTATUS(p->status));
    return WEXITSTATUS(p->status);
}

static int run_all(running *r)
{
    const struct sigaction end = {.sa_handler = note_signal};
    int failed = -1;
    if (make_token(r) != 0 || nd_comm_store_serve(0, r->token, &r->store) != ND_OK)
        return tool_failed("run");
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    for (int i = 0; i < r->n; i++)
        for (int o = 0; o < 2; o++)
            r->processes[i].out[o].fd = -1;
    for (int i = 0; i < r->n; i++)
        if (start(r, i) != 0) {
            fprintf(stderr, "ndock run: rank %d cannot be started: %s\n", i, strerror(errno));
            asked_to_end = SIGTERM;
            break;
        }
    failed = watch(r);
    nd_comm_store_stop(r->store);
    return exit_status(r, failed);
}

static int misused(const char *what)
{
    fprintf(stderr, "ndock run: %s\n%s", what, usage);
    return EXIT_USAGE;
}

int tool_run(int argc, char **argv)
{
    running r = {.n = 0};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        char *end = NULL;
        if (strcmp(argv[i], "--help") == 0)
            return fputs(usage, stdout) < 0;
        if (!value)
            return misused("an option lacks its value");
        if (strcmp(argv[i], "-n") == 0)
            r.n = (int)strtol(value, &end, 10);
        else if (strcmp(argv[i], "--device") == 0)
            r.device = value;
        else if (strcmp(argv[i], "--hosts") == 0)
            r.hosts = value;
        else
            return misused("there is no such option");
        if (end && *end)
            return misused("-n is followed by a number");
        i++;
    }
    r.program = argv + i;
    if (r.n < 1 || r.n > RUN_MOST)
        return misused("-n N says how many processes, 1 to 256");
    if (i >= argc)
        return misused("a program is to follow");
    if (r.hosts)
        return print_mpi_line(&r);
    r.processes = calloc((size_t)r.n, sizeof *r.processes);
    if (!r.processes)
        return misused("there is no memory");
    const int status = run_all(&r);
    free(r.processes);
    return status;
}
