/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in whose constructor does what MOCK_CHANGE names: one of the ways in which code that is
 * merely loaded can harm a process. Without the variable it does what the text in its own file
 * says, which a test can overwrite without changing the build-id. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#define MOCK_NAME "changes"
#include "tier0.c"

static volatile const char in_file[] = "MOCK CHANGE: nothing   ";

static void nothing(int number)
{
    (void)number;
}

static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void hang(void)
{
    for (;;)
        pause();
}

/* The group of a child of its own. The parent's group may have no number here, as in a container
 * that was entered without a session of its own. */
static void join_another_group(void)
{
    const pid_t child = fork();
    if (child == 0)
        hang();
    if (setpgid(child, child) != 0 || setpgid(0, child) != 0)
        puts("# the group cannot be changed");
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

/* A child that outlives this process; its process id goes to the file MOCK_CHILD. */
static void leave_child(int own_session)
{
    const char *path = getenv("MOCK_CHILD");
    pid_t pid = fork();
    FILE *f = pid > 0 && path ? fopen(path, "w") : NULL;
    if (pid == 0) {
        if (own_session)
            setsid();
        sleep(300); /* longer than the test waits for its end */
        _exit(0);
    }
    if (f) {
        fprintf(f, "%d\n", (int)pid);
        fclose(f);
    }
}

static void flush_to_zero(void)
{
    fesetround(FE_TOWARDZERO);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
}

/* What a plug-in can know of the trial's protocol: words of the arguments and of the pipe. */
static void claim_done(int argc, char **argv)
{
    char line[256];
    for (int i = 0; i < argc; i++) {
        int n = snprintf(line, sizeof line, "%s done\n", argv[i]);
        if (write(3, line, (size_t)n) < 0 || write(3, "done\n", 5) < 0)
            return;
    }
}

static void limit_files(void)
{
    struct rlimit files = {50, 50};
    setrlimit(RLIMIT_NOFILE, &files);
}

static void start_timer(void)
{
    struct itimerval hour = {.it_value = {.tv_sec = 3600}};
    setitimer(ITIMER_REAL, &hour, NULL);
}

static void print(void)
{
    printf("changes: hello\n");
    fflush(stdout);
}

__attribute__((constructor)) static void change(int argc, char **argv, char **env)
{
    const char *named = getenv("MOCK_CHANGE");
    char what[32];
    (void)env;
    for (size_t i = 0; i < sizeof in_file; i++)
        what[i] = in_file[i];
    snprintf(what, sizeof what, "%s", named ? named : what + strlen("MOCK CHANGE: "));
#define DOES(name) else if (strncmp(what, name, strlen(name)) == 0)
    if (strncmp(what, "nothing", 7) == 0)
        return;
    DOES("locale")(void) setlocale(LC_ALL, "C.UTF-8");
    DOES("handler")(void) signal(SIGSEGV, nothing);
    DOES("ignore")(void) signal(SIGPIPE, SIG_IGN);
    DOES("print") print();
    DOES("close-hang")
    {
        close_all();
        hang();
    }
    DOES("close") close_all();
    DOES("replace")(void) dup2(open("/dev/zero", O_RDONLY), 2);
    DOES("claim-hang")
    {
        claim_done(argc, argv);
        hang();
    }
    DOES("claim-crash")
    {
        claim_done(argc, argv);
        abort();
    }
    DOES("umask")(void) umask(0);
    DOES("folder")
    {
        if (chdir("/") != 0)
            abort();
    }
    DOES("setenv")(void) setenv("MOCK_WAS_HERE", "1", 1);
    DOES("clearenv")(void) clearenv();
    DOES("limit") limit_files();
    DOES("timer") start_timer();
    DOES("session-crash")
    {
        leave_child(1);
        abort();
    }
    DOES("child-crash")
    {
        leave_child(0);
        abort();
    }
    DOES("child") leave_child(0);
    DOES("group") join_another_group();
    DOES("stop")(void) raise(SIGSTOP);
    DOES("kill")(void) kill(0, SIGTERM);
    DOES("exit") exit(0);
    DOES("modes")
    {
        flush_to_zero();
        block_signals();
        (void)uselocale(newlocale(LC_ALL_MASK, "C.UTF-8", NULL));
    }
    DOES("crash") abort();
}
