/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who may have written a plug-in's file: it, and every folder above it, belong to root or to the
 * user, and nobody else can write there. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/loader.h"

static bool refuse_component(const char *path, const struct stat *st, bool ancestor, nd_text *why)
{
    bool owned = st->st_uid == 0 || st->st_uid == geteuid();
    bool sticky_ancestor = ancestor && st->st_uid == 0 && (st->st_mode & S_ISVTX);
    const unsigned mode = (unsigned)st->st_mode & 07777;
    if (!owned) {
        nd__text_add(why,
                     "%s belongs to user %u (mode %04o), neither root nor you: chown it, or copy "
                     "the plug-in to a folder of yours",
                     path, (unsigned)st->st_uid, mode);
    } else if ((st->st_mode & S_IWOTH) && !sticky_ancestor) {
        nd__text_add(why, "%s (user %u) can be written by everyone (mode %04o): chmod o-w '%s'",
                     path, (unsigned)st->st_uid, mode, path);
    } else if ((st->st_mode & S_IWGRP) && !sticky_ancestor && st->st_gid != getegid()) {
        nd__text_add(why, "%s (user %u) can be written by group %u (mode %04o): chmod g-w '%s'",
                     path, (unsigned)st->st_uid, (unsigned)st->st_gid, mode, path);
    } else {
        if ((st->st_mode & S_IWGRP) && !sticky_ancestor)
            nd__log(ND_LOG_INFO, "%s can be written by your own group; accepted", path);
        return false;
    }
    return true;
}

/* The file counts, and every parent: the plug-in's own folder as strictly as the file, those above
 * it may be sticky. */
static bool refuse_path(const char *real, const struct stat *file, nd_text *why)
{
    char full[PATH_MAX];
    struct stat st;
    if (refuse_component(real, file, false, why))
        return true;
    memcpy(full, real, strlen(real) + 1);
    for (char *slash = strrchr(full, '/'), *first = slash; slash; slash = strrchr(full, '/')) {
        *slash = 0;
        const char *folder = full[0] ? full : "/";
        if (stat(folder, &st) != 0) {
            nd__text_add(why, "%s cannot be examined: %s", folder, strerror(errno));
            return true;
        }
        if (refuse_component(folder, &st, slash != first, why))
            return true;
    }
    return false;
}

const char *nd__path_refusal(const char *path, char *real, bool *whose, nd_text *why)
{
    struct stat st;
    *whose = false;
    if (!realpath(path, real) || stat(real, &st) != 0) {
        const int err = errno;
        nd__text_add(why, "%s: %s", path, strerror(err));
        return err == EACCES ? "PERMISSION" : "MISSING";
    }
    if (!S_ISREG(st.st_mode)) {
        nd__text_add(why, "%s is not a regular file", real);
        return "PERMISSION";
    }
    *whose = refuse_path(real, &st, why);
    return *whose ? "PERMISSION" : NULL;
}
