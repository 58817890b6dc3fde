/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * For the loader's tests: a folder of one's own with copies of mock plug-ins, changed where a test
 * wants them so, looked at from a fresh process, since a process scans once. Run at the top of the
 * build tree. */
#ifndef NDOCK_TESTS_LOADER_SANDBOX_H
#define NDOCK_TESTS_LOADER_SANDBOX_H
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include <ndock/note.h>
#include "tests/tap.h"
#define UNUSED __attribute__((unused))

static char folder[256];

UNUSED static void path_in(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s/%s", folder, name);
}

UNUSED static void copy_file(const char *from, const char *to)
{
    char buf[65536];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    ssize_t n;
    while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof buf)) > 0)
        if (write(out, buf, (size_t)n) != n)
            bail("cannot copy a plug-in");
    if (in < 0 || out < 0)
        bail(from);
    close(in);
    close(out);
}

/* ndock-NAME.so of the build tree, as ndock-AS.so in the folder. */
UNUSED static void install(const char *name, const char *as)
{
    char from[512], to[512];
    snprintf(from, sizeof from, "tests/loader/.libs/ndock-%s.so", name);
    snprintf(to, sizeof to, "%s/ndock-%s.so", folder, as);
    copy_file(from, to);
}

UNUSED static void fresh_folder(void)
{
    snprintf(folder, sizeof folder, "%s/tests/loader/tmp.XXXXXX", getcwd((char[128]){0}, 128));
    if (!mkdtemp(folder))
        bail(strerror(errno));
}

UNUSED static void remove_folder(void)
{
    char command[300];
    chmod(folder, 0755);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        diag("%s stays", folder);
}

/* Runs look() in a child with the folder as the only place to search besides the CPU plug-in's; its
 * exit status is the verdict. */
UNUSED static int in_child(int (*look)(void), const char *path)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        char cpu[512], both[1024];
        snprintf(cpu, sizeof cpu, "%s/backends/cpu/.libs", getcwd((char[256]){0}, 256));
        snprintf(both, sizeof both, "%s:%s", path, cpu);
        setenv("NDOCK_PLUGIN_PATH", both, 1);
        fflush(NULL);
        _exit(look());
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

UNUSED static const char *want_state, *want_word, *want_path;

/* 0: the candidate is in the wanted state and its reason has the word, and the CPU still works. */
UNUSED static int look_at_state(void)
{
    nd_plugin_report r[32];
    int32_t n = 0;
    nd_device *cpu;
    if (nd_plugin_list(r, 32, &n) != ND_OK)
        return 1;
    for (int32_t i = 0; i < n && i < 32; i++) {
        if (!strstr(r[i].path, want_path))
            continue;
        if (strcmp(r[i].state, want_state) != 0 || !strstr(r[i].reason, want_word)) {
            fprintf(stderr, "# %s: %s: %s\n", r[i].path, r[i].state, r[i].reason);
            return 2;
        }
        return nd_device_get("cpu", &cpu) == ND_OK ? 0 : 3;
    }
    fprintf(stderr, "# no candidate %s among %d\n", want_path, (int)n);
    return 4;
}

/* Replaces n bytes of a file at an offset. */
UNUSED static void patch(const char *path, long at, const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY);
    if (fd < 0 || pwrite(fd, bytes, n, at) != (ssize_t)n)
        bail(path);
    close(fd);
}

/* The whole file; *n its bytes. */
UNUSED static char *read_file(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    char *bytes = fd >= 0 && fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    if (!bytes || read(fd, bytes, (size_t)st.st_size) != (ssize_t)st.st_size)
        bail(path);
    close(fd);
    bytes[st.st_size] = 0;
    *n = (size_t)st.st_size;
    return bytes;
}

/* Where the note's contents begin in the file. */
UNUSED static long note_at(const char *path)
{
    static const uint32_t header[3] = {sizeof NDP_NOTE_OWNER, sizeof(ndp_note), NDP_NOTE_TYPE};
    size_t n;
    char *bytes = read_file(path, &n);
    char *found = memmem(bytes, n, header, sizeof header);
    long at = found ? (long)(found - bytes) + (long)offsetof(ndp_note_section, desc) : -1;
    free(bytes);
    if (at < 0)
        bail("no note");
    return at;
}

/* Every occurrence of a text becomes another one of the same length. */
UNUSED static void rename_all(const char *path, const char *from, const char *to)
{
    size_t n, length = strlen(from);
    char *bytes = read_file(path, &n);
    for (size_t i = 0; i + length <= n; i++)
        if (memcmp(bytes + i, from, length) == 0)
            patch(path, (long)i, to, length);
    free(bytes);
}
#endif
