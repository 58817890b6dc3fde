/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A program that runs with rights which its caller lacks (AT_SECURE) takes no word of the caller's
 * environment. Such a program is a copy of this one, owned by another user and marked set-user-ID,
 * which takes root to make. */
#include <sys/auxv.h>
#include "core/ops/ops.h"
#include "tests/loader/sandbox.h"

enum { NOT_SECURE = 77, SOMEBODY = 65534 };

/* In the copy. 0: nothing of the environment counted. */
static int look_secure(void)
{
    static const char *const names[] = {
        "NDOCK_PLUGIN_PATH",   "NDOCK_PLUGINS",          "NDOCK_DEVICE", "NDOCK_PLUGIN_PROBE",
        "NDOCK_PROBE_PROGRAM", "NDOCK_KERNEL_CACHE_DIR", "HOME"};
    nd_plugin_details d = {.size = sizeof d};
    if (!getauxval(AT_SECURE))
        return NOT_SECURE;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!getenv(names[i]) || nd__getenv(names[i]))
            return 1 + (int)i;
    for (int32_t i = 0; nd_plugin_describe(i, ND_PLUGIN_NOTES, &d) == ND_OK; i++)
        if (strcmp(d.source, "NDOCK_PLUGIN_PATH") == 0 || strcmp(d.state, "FILTERED") == 0)
            return 20;
    return 0;
}

static void secure(void)
{
    char copy[512], self[512];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    int status = -1;
    if (geteuid() != 0 || n <= 0) {
        skip(1, "only root can make a set-user-ID program of another user");
        return;
    }
    self[n] = 0;
    fresh_folder();
    chmod(folder, 0755);
    install("tier0", "tier0");
    path_in(copy, sizeof copy, "secure");
    copy_file(self, copy);
    if (chown(copy, SOMEBODY, SOMEBODY) != 0 || chmod(copy, 04755) != 0)
        bail("chown");
    pid_t pid = fork();
    if (pid == 0) {
        static const char *const names[] = {"NDOCK_PLUGINS",          "NDOCK_DEVICE",
                                            "NDOCK_PLUGIN_PROBE",     "NDOCK_PROBE_PROGRAM",
                                            "NDOCK_KERNEL_CACHE_DIR", "HOME"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            setenv(names[i], "^cpu", 1);
        setenv("NDOCK_PLUGIN_PATH", folder, 1);
        execl(copy, copy, "look", (char *)NULL);
        _exit(NOT_SECURE);
    }
    waitpid(pid, &status, 0);
    const int verdict = WIFEXITED(status) ? WEXITSTATUS(status) : 100;
    if (verdict == NOT_SECURE)
        skip(1, "this file system ignores the set-user-ID bit");
    else
        is_int(verdict, 0, "under AT_SECURE no variable of the environment counts");
    remove_folder();
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"secure", secure}};
    if (argc == 2 && strcmp(argv[1], "look") == 0)
        _exit(look_secure()); /* leak checkers cannot look at such a program */
    return tap_main(argc, argv, cases, 1);
}
