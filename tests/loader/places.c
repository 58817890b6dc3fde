/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which folders are searched for plug-ins: this program's own scandir() writes down who is asked
 * for and finds nothing there. With NDOCK_PLUGIN_DIR nothing that was installed is looked at, by
 * which `make check` sees what it names alone, whatever the machine has. */
#include <dirent.h>
#include "tests/loader/sandbox.h"

static char asked[8192]; /* "/a;/b;" */

int scandir(const char *dir, struct dirent ***list, int (*filter)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    (void)filter;
    (void)compare;
    strncat(asked, dir, sizeof asked - strlen(asked) - 2);
    strncat(asked, ";", sizeof asked - strlen(asked) - 1);
    *list = NULL;
    errno = ENOENT;
    return -1;
}

/* The folders that a new process asks for, in their order, as the environment is now. */
static const char *places(void)
{
    static char answer[sizeof asked];
    int ends[2];
    ssize_t n = 0, got = 1;
    nd_plugin_report r[32];
    fflush(NULL);
    if (pipe(ends) != 0)
        bail("no pipe");
    const pid_t pid = fork();
    if (pid == 0) {
        int32_t count;
        asked[0] = 0;
        const nd_status status = nd_plugin_list(r, 32, &count);
        _exit(status != ND_OK || write(ends[1], asked, strlen(asked)) < 0);
    }
    close(ends[1]);
    for (; got > 0; n += got > 0 ? got : 0)
        got = read(ends[0], answer + n, sizeof answer - 1 - (size_t)n);
    answer[n] = 0;
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return answer;
}

/* First of all, since the others change the environment. */
static void of_make_check(void)
{
    char want[2048], top[512];
    if (!getcwd(top, sizeof top))
        bail("no current folder");
    const char *dir = getenv("NDOCK_PLUGIN_DIR");
    if (!dir) {
        skip(1, "not started by make check, which sets the environment");
        return;
    }
    snprintf(want, sizeof want,
             "%s/backends/cpu/.libs;%s/plugins/sim/.libs;%s/tests/nothing-installed;", top, top,
             top);
    is_str(places(), want, "make check: the plug-ins of the build tree, and nothing installed");
}

static void installed(void)
{
    unsetenv("NDOCK_PLUGIN_DIR");
    setenv("NDOCK_PLUGIN_PATH", "/nowhere/a", 1);
    const char *found = places();
    ok(strncmp(found, "/nowhere/a;", 11) == 0, "NDOCK_PLUGIN_PATH comes first");
    const char *conf = strstr(found, "/ndock/plugins.d;"),
               *own = strstr(found, "/ndock/plugins-0;");
    if (!ok(conf && own && conf < own, "then plugins.d, then the installed folder"))
        diag("%s", found);
    setenv("NDOCK_PLUGIN_DIR", "", 1);
    has_text(places(), "/ndock/plugins.d;", "an empty NDOCK_PLUGIN_DIR says nothing");
}

static void named(void)
{
    setenv("NDOCK_PLUGIN_PATH", "/nowhere/a", 1);
    setenv("NDOCK_PLUGIN_DIR", "/nowhere/b", 1);
    is_str(places(), "/nowhere/a;/nowhere/b;",
           "NDOCK_PLUGIN_DIR stands for plugins.d and the installed folder");
    setenv("NDOCK_PLUGIN_DIR", "b", 1);
    is_str(places(), "/nowhere/a;", "a relative one is not searched, nor what is installed");
    nd_plugin_report r[32];
    int32_t n = 0;
    const nd_status status = nd_plugin_list(r, 32, &n);
    ok(status == ND_OK && n == 2 && strstr(r[1].reason, "not an absolute path"), "and says so");
    is_str(nd_plugin_dir(), "b", "nd_plugin_dir says what was named");
}

TAP_MAIN({"of_make_check", of_make_check}, {"installed", installed}, {"named", named})
