/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Who may have written a plug-in's file: it, and every folder above it, belong to root or to the
 * user, and nobody else can write there, neither by the mode nor by a POSIX ACL. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/plugin/loader.h"

/* What lets anybody but root and the user write. acl.own_group takes the place of the mode's bit
 * for the group, which is the ACL's mask where there is an ACL. */
static bool refuse_writers(const char *path, const struct stat *st, nd_text *why)
{
    const unsigned mode = (unsigned)st->st_mode & 07777;
    const nd_acl acl = nd__acl_read(path);
    const bool group = acl.found ? acl.own_group : (st->st_mode & S_IWGRP) != 0;
    if (st->st_mode & S_IWOTH)
        nd__text_add(why, "%s (user %u) can be written by everyone (mode %04o): chmod o-w '%s'",
                     path, (unsigned)st->st_uid, mode, path);
    else if (acl.unreadable)
        nd__text_add(why, "%s has an ACL that cannot be read: remove it by setfacl -b '%s'", path,
                     path);
    else if (acl.whom[0])
        nd__text_add(why, "%s (user %u) can be written by %s, as its ACL says: setfacl -b '%s'",
                     path, (unsigned)st->st_uid, acl.whom, path);
    else if (group && st->st_gid != getegid())
        nd__text_add(why, "%s (user %u) can be written by group %u (mode %04o): chmod g-w '%s'",
                     path, (unsigned)st->st_uid, (unsigned)st->st_gid, mode, path);
    else if (group)
        nd__log(ND_LOG_INFO, "%s can be written by your own group; accepted", path);
    return why->len > 0;
}

static bool refuse_component(const char *path, const struct stat *st, bool ancestor, nd_text *why)
{
    const bool owned = st->st_uid == 0 || st->st_uid == geteuid();
    const bool sticky_ancestor = ancestor && st->st_uid == 0 && (st->st_mode & S_ISVTX);
    if (owned)
        return !sticky_ancestor && refuse_writers(path, st, why);
    nd__text_add(why,
                 "%s belongs to user %u (mode %04o), neither root nor you: chown it, or copy "
                 "the plug-in to a folder of yours",
                 path, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777);
    return true;
}

/* Every parent: the plug-in's own folder counts as strictly as the file, those above it may be
 * sticky. */
static bool refuse_folders(const char *real, nd_text *why)
{
    char full[PATH_MAX];
    struct stat st;
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

/* A scan looks at many files of one folder: the last folder that was found fine, as it was named
 * and as it is. "" outside of a scan. */
static char fine_folder[PATH_MAX], fine_real[PATH_MAX];
static bool in_scan;

void nd__trust_scan(bool begins)
{
    in_scan = begins;
    fine_folder[0] = 0;
}

static void remember_folder(const char *path, const char *real)
{
    const char *name = strrchr(path, '/'), *real_name = strrchr(real, '/');
    struct stat st;
    if (!in_scan || !name || !real_name || (size_t)(name - path) >= sizeof fine_folder ||
        lstat(path, &st) != 0 || S_ISLNK(st.st_mode)) /* a link says nothing of its folder */
        return;
    snprintf(fine_folder, sizeof fine_folder, "%.*s", (int)(name - path), path);
    snprintf(fine_real, sizeof fine_real, "%.*s", (int)(real_name - real), real);
}

/* The file's real path, if it lies, and is no link, in the folder that was just found fine. */
static bool in_fine_folder(const char *path, char *real, struct stat *st)
{
    const char *name = strrchr(path, '/');
    const size_t n = name ? (size_t)(name - path) : 0;
    return fine_folder[0] && n == strlen(fine_folder) && memcmp(path, fine_folder, n) == 0 &&
           snprintf(real, PATH_MAX, "%s%s", fine_real, name) < PATH_MAX && lstat(real, st) == 0 &&
           !S_ISLNK(st->st_mode);
}

const char *nd__path_refusal(const char *path, char *real, struct stat *st, bool *whose,
                             nd_text *why)
{
    *whose = false;
    const bool fine = in_fine_folder(path, real, st);
    if (!fine && (!realpath(path, real) || stat(real, st) != 0)) {
        const int err = errno;
        nd__text_add(why, "%s: %s", path, strerror(err));
        return err == EACCES ? "PERMISSION" : "MISSING";
    }
    if (!S_ISREG(st->st_mode)) {
        nd__text_add(why, "%s is not a regular file", real);
        return "PERMISSION";
    }
    *whose = refuse_component(real, st, false, why) || (!fine && refuse_folders(real, why));
    if (!*whose && !fine)
        remember_folder(path, real);
    return *whose ? "PERMISSION" : NULL;
}
