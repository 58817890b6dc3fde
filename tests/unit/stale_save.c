/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a writer leaves that is killed between giving its file a temporary name and renaming it: one
 * file at most, however often it happens, and none after the next save. A writer that is alive and
 * slow keeps its file. rename() is ours here: it ends the process, or waits. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/wait.h>
#include "tests/unit/io_files.h"

enum { AS_EVER, DIE, WAIT };
static int at_rename = AS_EVER;
static int arrived[2], go_on[2]; /* pipes: a waiting writer's word, and its permission */

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    char byte = 0;
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "rename");
    if (at_rename == DIE)
        _exit(0);
    if (at_rename == WAIT && (write(arrived[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1))
        _exit(3);
    return real(from, to);
}

static int save(const char *path, int version)
{
    nd_array *a = NULL;
    nd_status status = nd_full(NULL, ND_F32, 1, (const int64_t[]){100}, nd_int(version), &a);
    if (status == ND_OK)
        status = nd_npy_save(path, a, NULL);
    nd_release(a);
    return status == ND_OK ? 0 : 1;
}

static int version_of(const char *path)
{
    nd_array *a = NULL, *one = NULL;
    nd_scalar value = {0};
    const nd_index first = nd_at(0);
    if (nd_npy_load(path, NULL, &a) == ND_OK && nd_slice(a, &first, 1, &one) == ND_OK)
        (void)!nd_item(one, &value);
    nd_release(a);
    nd_release(one);
    return (int)value.v.f;
}

static int left_over(void)
{
    int n = 0;
    DIR *folder = opendir(io_folder);
    for (struct dirent *e; folder && (e = readdir(folder));)
        n += strncmp(e->d_name, ".ndock-", 7) == 0;
    if (folder)
        closedir(folder);
    return n;
}

/* A process that saves the version, and does that at the renaming. */
static pid_t save_aside(const char *path, int version, int what)
{
    const pid_t pid = fork();
    if (pid == 0) {
        at_rename = what;
        _exit(save(path, version));
    }
    return pid;
}

static int status_of(pid_t pid)
{
    int status = -1;
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static bool can_be_unnamed(void)
{
    const int fd = open(io_folder, O_WRONLY | O_TMPFILE, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void killed(void)
{
    const char *path = io_path("a.npy");
    is_int(save(path, 1), 0, "a first version");
    for (int i = 0; i < 3; i++)
        is_int(status_of(save_aside(path, 2, DIE)), 0, "a writer dies before its renaming");
    is_int(left_over(), 1, "three dead writers leave one file");
    is_int(version_of(path), 1, "the old version is there");
    is_int(save(path, 3), 0, "a save after them");
    is_int(left_over(), 0, "and nothing is left");
    is_int(version_of(path), 3, "the new version is there");
}

static void alive(void)
{
    const char *path = io_path("a.npy");
    char byte = 0;
    if (pipe(arrived) != 0 || pipe(go_on) != 0)
        bail("no pipes");
    const pid_t slow = save_aside(path, 4, WAIT);
    ok(read(arrived[0], &byte, 1) == 1, "a writer is about to rename its file");
    is_int(save(path, 5), 0, "another one saves the same file");
    is_int(version_of(path), 5, "its version is there");
    is_int(left_over(), 1, "the slow one's file is left alone");
    ok(write(go_on[1], &byte, 1) == 1, "the slow one goes on");
    is_int(status_of(slow), 0, "and saves");
    is_int(version_of(path), 4, "the last renaming counts");
    is_int(left_over(), 0, "nothing is left");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"killed", killed}, {"alive", alive}};
    (void)io_path("");
    if (can_be_unnamed())
        return tap_main(argc, argv, cases, 2);
    printf("1..0 # SKIP the file system of TMPDIR has no files without a name\n");
    return 0;
}
