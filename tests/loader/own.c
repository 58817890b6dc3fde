/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which plug-ins are as trusted as the library, and not tried in a process of their own first: our
 * own, of its version, in the folder beside it. This program plays the library: a copy of it is
 * started in a folder of its own, with plug-ins beside it. */
#include "tests/loader/sandbox.h"

static char trace[300], beside[300];

static int lines_of_trace(void)
{
    int lines = 0;
    FILE *f = fopen(trace, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        lines += c == '\n';
    if (f)
        fclose(f);
    return lines;
}

/* In the copy: how often the plug-in's code began, in this process and in others. */
static int look(const char *name)
{
    nd_device *device;
    snprintf(trace, sizeof trace, "%s", getenv("MOCK_TRACE"));
    if (nd_device_get(name, &device) != ND_OK) {
        fprintf(stderr, "# %s\n", nd_last_error()->message);
        return 90;
    }
    return lines_of_trace();
}

static void make_copy(char *program, size_t n)
{
    char self[512];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        bail("no name of this program");
    self[length] = 0;
    path_in(program, n, "program");
    copy_file(self, program);
}

/* The mock as a plug-in of that name: beside the program, or in NDOCK_PLUGIN_PATH. */
static int began(const char *mock, const char *name, int is_beside)
{
    char program[300], from[512], to[600], device[32];
    int status = -1;
    fresh_folder();
    path_in(trace, sizeof trace, "trace");
    path_in(beside, sizeof beside, "ndock");
    mkdir(beside, 0755);
    path_in(beside, sizeof beside, "ndock/plugins-0");
    mkdir(beside, 0755);
    make_copy(program, sizeof program);
    snprintf(from, sizeof from, "tests/loader/.libs/ndock-%s.so", mock);
    snprintf(to, sizeof to, "%s/ndock-%s.so", is_beside ? beside : folder, name);
    copy_file(from, to);
    snprintf(device, sizeof device, "%s:0", name);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char probe[512], path[1024];
        const char *here = getcwd((char[256]){0}, 256);
        snprintf(probe, sizeof probe, "%s/tools/ndock-probe", here);
        snprintf(path, sizeof path, "%s:%s/backends/cpu/.libs", folder, here);
        setenv("NDOCK_PLUGIN_PATH", path, 1);
        setenv("NDOCK_PROBE_PROGRAM", probe, 1);
        path_in(probe, sizeof probe, "cache"); /* where no trial is remembered yet */
        setenv("NDOCK_KERNEL_CACHE_DIR", probe, 1);
        setenv("MOCK_TRACE", trace, 1);
        unsetenv("NDOCK_PLUGIN_DIR"); /* which would name a folder in the place of ours */
        execl(program, program, "--look", device, (char *)NULL);
        _exit(91);
    }
    waitpid(pid, &status, 0);
    remove_folder();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 92;
}

static void ours(void)
{
    is_int(began("ours", "sim", 1), 1,
           "our own, of this version, beside the library: loaded at once");
    is_int(began("oursold", "sim", 1), 2, "of another version: tried first");
    is_int(began("ours", "sim", 0), 2, "in another folder: tried first");
    is_int(began("new", "versions", 1), 2, "of another name: tried first");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"ours", ours}};
    if (argc > 2 && strcmp(argv[1], "--look") == 0)
        return look(argv[2]);
    return tap_main(argc, argv, cases, 1);
}
