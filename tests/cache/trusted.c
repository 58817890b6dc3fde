/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * W9: a kernel that somebody else could have written is not run: entries that everyone can write,
 * or that belong to another user, and folders of that kind, are as if they were not there. */
#include <sys/stat.h>
#include "tests/cache/kernels.h"

static void entry_path(char path[ND_STORE_PATH])
{
    char command[200];
    snprintf(command, sizeof command, "find %s -type f", folder);
    FILE *f = popen(command, "r");
    if (!f || !fgets(path, ND_STORE_PATH, f))
        bail("no entry");
    pclose(f);
    path[strcspn(path, "\n")] = 0;
}

/* How often the kernel is compiled by a cache that finds the entry of another one. */
static int compiled_again(int runs_before, compiler *c)
{
    nd_kernel_cache *cache = open_cache(folder, UINT64_C(1) << 20);
    if (!get_is_right(cache, c))
        return -1;
    nd__kernel_cache_destroy(cache);
    return c->runs - runs_before;
}

static void entries(void)
{
    static const struct {
        mode_t mode;
        int again;
        const char *what;
    } modes[] = {{0600, 0, "W9 an entry for the user alone is taken"},
                 {0644, 0, "W9 one that others can read is taken"},
                 {0666, 1, "W9 one that everyone can write is not"},
                 {0602, 1, "W9 nor one that only strangers can write"}};
    char path[ND_STORE_PATH];
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        compiler c = {.number = 1, .nbytes = 100};
        make_folder();
        is_int(compiled_again(0, &c), 1, "W9 a kernel is compiled and stored");
        entry_path(path);
        if (chmod(path, modes[i].mode) != 0)
            bail("chmod");
        is_int(compiled_again(1, &c), modes[i].again, modes[i].what);
        remove_folder();
    }
}

static void owners(void)
{
    char path[ND_STORE_PATH];
    if (geteuid() != 0) {
        skip(4, "only root can give a file away");
        return;
    }
    compiler c = {.number = 1, .nbytes = 100};
    make_folder();
    is_int(compiled_again(0, &c), 1, "W9 a kernel is compiled and stored");
    entry_path(path);
    if (chown(path, 12345, 12345) != 0)
        bail("chown");
    is_int(compiled_again(1, &c), 1, "W9 an entry of another user is not taken");
    if (chown(folder, 12345, 12345) != 0 || chown(path, 0, 0) != 0)
        bail("chown");
    is_int(compiled_again(2, &c), 1, "W9 nor is one in a folder of another user");
    if (chown(folder, 0, 0) != 0 || chmod(folder, 0777) != 0)
        bail("chmod");
    is_int(compiled_again(3, &c), 1, "W9 nor in one that everyone can write");
    remove_folder();
}

TAP_MAIN({"entries", entries}, {"owners", owners})
