/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: a few cases of everything once more, in a process of its own, with the contract
 * checked at every call (NDOCK_HOOK=check). What that finds it names: the function, and the rule.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/conform/conform.h"

enum { MOST_RULES = 5, LINE = 900 };
static const char cases_each[] = "3";
static const char mark[] = "# contract: ";

/* ---- in the process that runs the cases: rules that are broken go to standard output ---- */
static void say_rule(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    (void)level;
    if (strncmp(text, "check: ", 7) == 0)
        printf("%s%s\n", mark, text + 7);
}

void contract_listen(void)
{
    if (getenv("NDOCK_CONFORM_CONTRACT"))
        nd_log_set(say_rule, NULL, ND_LOG_WARN);
}

/* ---- in the suite's own process ---- */
static _Noreturn void become(const char *file, int to)
{
    /* What runs for long, or measures, is not looked at again. */
    static const char not_again[] = "D.contract,D.growth,D.threads,D.claims,D.modes,D.training";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("NDOCK_HOOK", "check", 1);
    setenv("NDOCK_HOOK_CHECK", "warn", 1);
    setenv("NDOCK_CONFORM_CONTRACT", "1", 1);
    dup2(to, STDOUT_FILENO);
    execl("/proc/self/exe", "conform-ops", "--group", "D", "--count", cases_each, "--except",
          not_again, file, (char *)NULL);
    _exit(127);
}

/* The rule that a line ends with, "rounding_mode)"; one failure of each is enough. To be slow is no
 * breach. */
static bool is_new(const char *line)
{
    static char rules[MOST_RULES][64];
    static int n;
    const char *rule = strstr(line, "(rule ");
    for (int i = 0; i < n; i++)
        if (rule && strncmp(rules[i], rule + 6, sizeof rules[0] - 1) == 0)
            return false;
    if (n == MOST_RULES)
        return false;
    snprintf(rules[n++], sizeof rules[0], "%.63s", rule ? rule + 6 : line);
    return true;
}

static void read_rules(int from)
{
    char line[LINE];
    FILE *f = fdopen(from, "r");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, mark, strlen(mark)) == 0 && !strstr(line, "(rule slow)") && is_new(line))
            fail_case("%s", line + strlen(mark));
    }
    if (f)
        fclose(f);
}

void conform_contract(const char *file)
{
    int ends[2], status = 0;
    if (run.probing || getenv("NDOCK_CONFORM_CONTRACT") || !wanted("contract"))
        return;
    begin_op("contract");
    fflush(stdout);
    if (pipe(ends) != 0)
        bail("no pipe");
    const pid_t pid = fork();
    if (pid == 0)
        become(file, ends[1]);
    close(ends[1]);
    read_rules(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) > 1))
        fail_case("the suite cannot be run once more: status %d", status);
    else if (WIFSIGNALED(status))
        fail_case("with NDOCK_HOOK=check the suite ends by signal %d", WTERMSIG(status));
    end_op();
}
