/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * W10 while others write: an entry that is stored after the folder has been looked through, and
 * before what was seen there is noted, is counted all the same. closedir is ours here, since the
 * last call of a look into the folder is where such an entry comes from. */
#include <dirent.h>
#include <dlfcn.h>
#include "tests/cache/kernels.h"

enum { MOST_BYTES = 10000, CODE_BYTES = 2900, ENTRY_BYTES = CODE_BYTES + ND_STORE_HEADER + 1 };
static nd_kernel_store store;
static int folders_until; /* 0: nothing comes; n: an entry comes when n folders have been closed */

/* An entry of its own for each number; at most three of them fit. */
static void save(int number)
{
    static const char code[CODE_BYTES];
    const uint8_t hash[32] = {(uint8_t)number};
    const char key = (char)number;
    if (!nd__store_save(&store, hash, &key, sizeof key, code, sizeof code))
        bail("an entry could not be stored");
}

__attribute__((visibility("default"))) int closedir(DIR *d)
{
    static int (*next)(DIR *);
    if (!next)
        next = (int (*)(DIR *))dlsym(RTLD_NEXT, "closedir");
    if (folders_until && --folders_until == 0)
        save(100);
    return next(d);
}

static void start(void)
{
    make_folder();
    nd__store_open(&store, folder, MOST_BYTES);
    save(1); /* from here on the store knows how much there is */
    is_int(nd__store_scan(&store, false).nbytes, ENTRY_BYTES, "one entry");
}

/* n more entries make four with those that are there. */
static void finish(int n, const char *what)
{
    for (int i = 0; i < n; i++)
        save(5 + i);
    const nd_store_usage left = nd__store_scan(&store, false);
    ok(left.nbytes <= MOST_BYTES && left.entries == 3, "W10 %s: %llu entries of %llu bytes left",
       what, (unsigned long long)left.entries, (unsigned long long)left.nbytes);
    nd__store_close(&store);
    remove_folder();
}

static void while_looked_through(void)
{
    start();
    folders_until = 2; /* that of entry 1, and the one around it */
    is_int(nd__store_scan(&store, true).nbytes, ENTRY_BYTES, "the other entry is not seen");
    is_int(folders_until, 0, "it came while the folder was looked through");
    finish(2, "stored while the folder is looked through");
}

static void while_cleared(void)
{
    start();
    folders_until = 2;
    is_int(nd__store_clear(&store), ND_OK, "all entries are removed");
    is_int(folders_until, 0, "but one, which came meanwhile");
    finish(3, "stored while the folder is emptied");
}

TAP_MAIN({"while_looked_through", while_looked_through}, {"while_cleared", while_cleared})
