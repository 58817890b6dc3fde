/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whom a file's POSIX ACL lets write. The kernel hands it out as an extended attribute, whose bytes
 * are those of <linux/posix_acl_xattr.h>: a version, then entries of eight bytes, little-endian. */
#include <errno.h>
#include <stdio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "core/plugin/loader.h"

enum { ACL_USER = 0x02, ACL_OWN_GROUP = 0x04, ACL_GROUP = 0x08, ACL_MASK = 0x10 };
enum { ACL_VERSION = 2, HEADER_BYTES = 4, ENTRY_BYTES = 8, MOST_BYTES = 1 << 12, MAY_WRITE = 2 };

typedef struct {
    unsigned tag, rights, id;
} entry;

static unsigned number(const unsigned char *p, int n)
{
    unsigned value = 0;
    for (int i = 0; i < n; i++)
        value |= (unsigned)p[i] << 8 * i;
    return value;
}

static entry entry_at(const unsigned char *bytes, size_t at)
{
    return (entry){number(bytes + at, 2), number(bytes + at + 2, 2), number(bytes + at + 4, 4)};
}

/* The mask bounds what the ACL grants to everyone but the owner and the world. */
static unsigned find_mask(const unsigned char *bytes, size_t n)
{
    for (size_t at = HEADER_BYTES; at < n; at += ENTRY_BYTES)
        if (entry_at(bytes, at).tag == ACL_MASK)
            return entry_at(bytes, at).rights;
    return MAY_WRITE;
}

static void note_writer(entry e, nd_acl *out)
{
    const bool other_user = e.tag == ACL_USER && e.id != 0 && e.id != geteuid();
    const bool other_group = e.tag == ACL_GROUP && e.id != getegid();
    out->own_group |= e.tag == ACL_OWN_GROUP;
    if ((other_user || other_group) && !out->whom[0])
        snprintf(out->whom, sizeof out->whom, "%s %u", other_user ? "user" : "group", e.id);
}

nd_acl nd__acl_read(const char *path)
{
    unsigned char bytes[MOST_BYTES];
    nd_acl acl = {.found = true};
    const ssize_t got = getxattr(path, "system.posix_acl_access", bytes, sizeof bytes);
    if (got < 0 && (errno == ENODATA || errno == ENOTSUP || errno == ENOSYS))
        return (nd_acl){0};
    const size_t n = got > 0 ? (size_t)got : 0;
    if (n < HEADER_BYTES || (n - HEADER_BYTES) % ENTRY_BYTES || number(bytes, 4) != ACL_VERSION) {
        acl.unreadable = true;
        return acl;
    }
    const unsigned mask = find_mask(bytes, n);
    for (size_t at = HEADER_BYTES; at < n; at += ENTRY_BYTES)
        if (entry_at(bytes, at).rights & mask & MAY_WRITE)
            note_writer(entry_at(bytes, at), &acl);
    return acl;
}
