/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Hooks are set up once a process, so each case of a test is a child of its own, which sets its
 * environment and looks at the log. */
#ifndef NDOCK_TEST_HOOK_CHILD_H
#define NDOCK_TEST_HOOK_CHILD_H
#include <sys/wait.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include <ndock/plugin.h>
#include "tests/tap.h"

static char log_text[1 << 16];

static void keep_log(void *ctx, int32_t level, const char *text)
{
    size_t n = strlen(log_text);
    (void)ctx;
    (void)level;
    snprintf(log_text + n, sizeof log_text - n, "%s\n", text);
}

static void add_mock(void)
{
    char both[4096], here[1024];
    const char *path = getenv("NDOCK_PLUGIN_PATH");
    snprintf(both, sizeof both, "%s:%s/tests/hook/.libs/ndock-defect.so", path ? path : "",
             getcwd(here, sizeof here));
    setenv("NDOCK_PLUGIN_PATH", both, 1);
}

/* The verdict of look() in a child with these variables, "NAME=value" with NULL at the end. */
static int in_child(int (*look)(const void *), const void *arg, const char *const *env)
{
    int status = -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        for (; *env; env++)
            putenv((char *)(uintptr_t)*env);
        add_mock();
        alarm(600);
        nd_log_set(keep_log, NULL, ND_LOG_WARN);
        int verdict = look(arg);
        if (verdict)
            printf("# %d: %s\n# %s\n", verdict, nd_last_error()->message, log_text);
        fflush(NULL);
        _exit(verdict);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + status;
}

/* The table of a group, or of the plug-in itself ("ndp.plugin/0"). */
__attribute__((unused)) static const void *table_of(nd_device *d, const char *id, ndp_dev **dev)
{
    const void *table = NULL;
    return d && nd_device_group(d, id, &table, dev) == ND_OK ? table : NULL;
}
#endif
