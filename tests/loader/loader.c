/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The loader: every way in which a candidate can be unusable ends in a state with a reason, and the
 * others go on working. The plug-ins come from tests/loader/.libs. */
#include <stdbool.h>
#include <sys/xattr.h>
#include "tests/loader/sandbox.h"

static void state_of(const char *plugin, const char *state, const char *word)
{
    char what[128], file[64];
    fresh_folder();
    install(plugin, plugin);
    snprintf(file, sizeof file, "ndock-%s.so", plugin);
    want_state = state;
    want_word = word;
    want_path = file;
    snprintf(what, sizeof what, "%s ends as %s, saying \"%s\"", plugin, state, word);
    is_int(in_child(look_at_state, folder), 0, what);
    remove_folder();
}

static void broken(void)
{
    state_of("tier0", "LOADED", "");
    state_of("noentry", "NO_ENTRY", "ndock_plugin_entry_0");
    state_of("abi", "ABI", "0.99");
    state_of("short", "SHORT", "bytes");
    state_of("noread", "SHORT", "read");
    state_of("refuses", "ENTRY", "newer host");
    state_of("nodevice", "NO_DEVICE", "install mock-driver");
}

static void not_plugins(void)
{
    char path[512];
    fresh_folder();
    path_in(path, sizeof path, "ndock-text.so");
    FILE *f = fopen(path, "w");
    fputs("this is no shared object\n", f);
    fclose(f);
    want_state = "NO_NOTE";
    want_word = "no ELF file";
    want_path = "ndock-text.so";
    is_int(in_child(look_at_state, folder), 0, "a text file is no plug-in");
    path_in(path, sizeof path, "ndock-empty.so");
    f = fopen(path, "w");
    fclose(f);
    want_path = "ndock-empty.so";
    is_int(in_child(look_at_state, folder), 0, "nor is an empty file");
    path_in(path, sizeof path, "ndock-folder.so");
    mkdir(path, 0755);
    want_state = "PERMISSION";
    want_word = "not a regular file";
    want_path = "ndock-folder.so";
    is_int(in_child(look_at_state, folder), 0, "a folder is no plug-in");
    remove_folder();
    want_state = "MISSING";
    want_word = "No such file";
    want_path = "/nowhere/at/all";
    is_int(in_child(look_at_state, "/nowhere/at/all"), 0, "a missing folder is MISSING");
    want_word = "not an absolute path";
    want_path = "relative/folder";
    is_int(in_child(look_at_state, "relative/folder"), 0, "a relative path is not searched");
}

static void permissions(void)
{
    char path[512];
    fresh_folder();
    install("tier0", "tier0");
    want_state = "PERMISSION";
    want_path = "ndock-tier0.so";
    chmod(folder, 0777);
    want_word = "chmod o-w";
    is_int(in_child(look_at_state, folder), 0,
           "a plug-in in a folder that everyone can write is refused, with the cure");
    chmod(folder, 01777);
    is_int(in_child(look_at_state, folder), 0,
           "the sticky bit does not help the plug-in's own folder");
    chmod(folder, 0755);
    path_in(path, sizeof path, "ndock-tier0.so");
    chmod(path, 0666);
    is_int(in_child(look_at_state, folder), 0, "a plug-in that everyone can write is refused");
    chmod(path, 0775);
    want_state = "LOADED";
    want_word = "";
    is_int(in_child(look_at_state, folder), 0,
           "one that the caller's own group can write is accepted");
    if (geteuid() == 0) {
        want_state = "PERMISSION";
        want_word = "belongs to user";
        if (chown(path, 12345, 0) != 0)
            bail("chown");
        is_int(in_child(look_at_state, folder), 0, "one of another user is refused");
    } else {
        skip(1, "only root can give a file away");
    }
    remove_folder();
}

/* A group that is not the caller's main one and that it may give files to; -1: there is none. */
static gid_t foreign_group(void)
{
    gid_t groups[64];
    int n = getgroups(64, groups);
    if (geteuid() == 0)
        return 65533;
    for (int i = 0; i < n; i++)
        if (groups[i] != getegid())
            return groups[i];
    return (gid_t)-1;
}

static void foreign_groups(void)
{
    char path[512];
    const gid_t group = foreign_group();
    fresh_folder();
    install("tier0", "tier0");
    path_in(path, sizeof path, "ndock-tier0.so");
    want_path = "ndock-tier0.so";
    if (group == (gid_t)-1) {
        skip(3, "you are in no group but your main one, so no file can belong to another");
        remove_folder();
        return;
    }
    if (chown(path, (uid_t)-1, group) != 0)
        bail("chown");
    chmod(path, 0664);
    want_state = "PERMISSION";
    want_word = "can be written by group";
    is_int(in_child(look_at_state, folder), 0, "one that a foreign group can write is refused");
    chmod(path, 0644);
    want_state = "LOADED";
    want_word = "";
    is_int(in_child(look_at_state, folder), 0, "one that it can read is not");
    if (chown(folder, (uid_t)-1, group) != 0)
        bail("chown");
    chmod(folder, 0775);
    want_state = "PERMISSION";
    want_word = "chmod g-w";
    is_int(in_child(look_at_state, folder), 0, "so is one in a folder that it can write");
    remove_folder();
}

/* One entry of the bytes that <linux/posix_acl_xattr.h> describes. */
static size_t add_entry(unsigned char *bytes, size_t at, unsigned tag, unsigned rights, unsigned id)
{
    const unsigned char entry[8] = {(unsigned char)tag,        0,
                                    (unsigned char)rights,     0,
                                    (unsigned char)id,         (unsigned char)(id >> 8),
                                    (unsigned char)(id >> 16), (unsigned char)(id >> 24)};
    memcpy(bytes + at, entry, sizeof entry);
    return at + sizeof entry;
}

/* An ACL of the owner, one named user or group, the file's group, the mask and the others. */
static bool set_acl(const char *path, unsigned tag, unsigned id, unsigned rights, unsigned mask)
{
    enum { OWNER = 1, NAMED_USER = 2, GROUP = 4, MASK = 16, OTHERS = 32, NOBODY = -1 };
    unsigned char bytes[64] = {2};
    size_t n = add_entry(bytes, 4, OWNER, 7, (unsigned)NOBODY); /* who must enter a folder */
    if (tag == NAMED_USER)
        n = add_entry(bytes, n, tag, rights, id);
    n = add_entry(bytes, n, GROUP, 4, (unsigned)NOBODY);
    if (tag != NAMED_USER)
        n = add_entry(bytes, n, tag, rights, id);
    n = add_entry(bytes, n, MASK, mask, (unsigned)NOBODY);
    n = add_entry(bytes, n, OTHERS, 4, (unsigned)NOBODY);
    return setxattr(path, "system.posix_acl_access", bytes, n, 0) == 0;
}

static void access_lists(void)
{
    enum { USER = 2, GROUP = 8, SOMEBODY = 12345 };
    char path[512];
    fresh_folder();
    install("tier0", "tier0");
    path_in(path, sizeof path, "ndock-tier0.so");
    want_path = "ndock-tier0.so";
    want_state = "PERMISSION";
    want_word = "can be written by user 12345, as its ACL says: setfacl -b";
    if (!set_acl(path, USER, SOMEBODY, 6, 6)) {
        skip(6, "this file system keeps no ACLs");
        remove_folder();
        return;
    }
    is_int(in_child(look_at_state, folder), 0, "one that its ACL lets another user write");
    set_acl(path, GROUP, SOMEBODY, 6, 6);
    want_word = "can be written by group 12345, as its ACL says";
    is_int(in_child(look_at_state, folder), 0, "or another group");
    want_state = "LOADED";
    want_word = "";
    set_acl(path, USER, SOMEBODY, 6, 4);
    is_int(in_child(look_at_state, folder), 0, "but not where the ACL's mask forbids it");
    set_acl(path, USER, SOMEBODY, 4, 6);
    is_int(in_child(look_at_state, folder), 0, "nor one that it lets them read");
    set_acl(path, USER, geteuid(), 6, 6);
    is_int(in_child(look_at_state, folder), 0, "nor one that it lets the caller write");
    set_acl(folder, USER, SOMEBODY, 7, 7);
    want_state = "PERMISSION";
    want_word = "as its ACL says";
    is_int(in_child(look_at_state, folder), 0, "the same of its folder");
    remove_folder();
}

static int look_at_names(void)
{
    nd_device *d;
    if (nd_device_get("tier0:7", &d) != ND_ERR_DEVICE || d ||
        !strstr(nd_last_error()->message, "tier0:0 to tier0:1"))
        return 1;
    if (nd_device_get("nonsense", &d) != ND_ERR_DEVICE ||
        !strstr(nd_last_error()->message, "no plug-in ndock-nonsense.so is in ") ||
        !strstr(nd_last_error()->message, "cpu:0") || !strstr(nd_last_error()->message, "tier0:1"))
        return 2;
    if (nd_device_get("cpu:", &d) != ND_ERR_DEVICE || nd_device_get("", &d) != ND_ERR_DEVICE ||
        nd_device_get(":0", &d) != ND_ERR_DEVICE || nd_device_get("cpu:-1", &d) != ND_ERR_DEVICE ||
        nd_device_get("cpu:99999999999", &d) != ND_ERR_DEVICE)
        return 3;
    if (nd_device_get(NULL, &d) != ND_ERR_ARGUMENT)
        return 4;
    if (nd_device_get("auto", &d) != ND_OK || strcmp(nd_device_name(d), "cpu:0") != 0)
        return 5; /* tier0 has a lower priority */
    return nd_device_get("tier0:1", &d) == ND_OK && strcmp(nd_device_name(d), "tier0:1") == 0 ? 0
                                                                                              : 6;
}

static int look_at_open(void)
{
    nd_device *d;
    if (nd_device_get("openfails", &d) != ND_ERR_DEVICE || d)
        return 1;
    const nd_error *e = nd_last_error();
    return strstr(e->message, "busy") && e->native == 77 && strcmp(e->plugin, "openfails") == 0 &&
                   strcmp(e->device, "openfails:0") == 0
               ? 0
               : 2;
}

static int look_at_shadow(void)
{
    nd_plugin_report r[16];
    int32_t n;
    int loaded = 0, shadowed = 0;
    if (nd_plugin_list(r, 16, &n) != ND_OK)
        return 1;
    for (int i = 0; i < n; i++) {
        loaded += strcmp(r[i].name, "tier0") == 0 && strcmp(r[i].state, "LOADED") == 0;
        shadowed += strcmp(r[i].state, "SHADOWED") == 0 && r[i].reason[0];
    }
    return loaded == 1 && shadowed == 2 ? 0 : 2;
}

static int look_at_filter(void)
{
    nd_device *d;
    setenv("NDOCK_PLUGINS", "^tier0", 1);
    return nd_device_get("tier0", &d) == ND_ERR_DEVICE &&
                   strstr(nd_last_error()->message, "FILTERED") && nd_device_get("cpu", &d) == ND_OK
               ? 0
               : 1;
}

static int look_at_explicit(void)
{
    char path[512];
    nd_device *d;
    path_in(path, sizeof path, "ndock-tier0.so");
    if (nd_plugin_load("ndock-tier0.so") != ND_ERR_ARGUMENT ||
        nd_plugin_load("/nowhere/x.so") != ND_ERR_PLUGIN || nd_plugin_load(NULL) != ND_ERR_ARGUMENT)
        return 1;
    return nd_plugin_load(path) == ND_OK && nd_plugin_load(path) == ND_OK &&
                   nd_device_get("tier0", &d) == ND_OK
               ? 0
               : 2;
}

static void names(void)
{
    char from[512], to[512];
    fresh_folder();
    install("tier0", "tier0");
    is_int(in_child(look_at_names, folder), 0, "device names: errors list what there is");
    is_int(in_child(look_at_filter, folder), 0, "NDOCK_PLUGINS=^tier0 leaves it out and says so");
    is_int(in_child(look_at_explicit, "/nowhere"), 0,
           "nd_plugin_load loads by absolute path, twice if asked");
    path_in(from, sizeof from, "ndock-tier0.so");
    path_in(to, sizeof to, "ndock-zlink.so");
    if (symlink(from, to) != 0)
        bail("symlink");
    install("tier0", "zcopy");
    is_int(in_child(look_at_shadow, folder), 0,
           "the same file by symlink, and a copy of the same name, are SHADOWED");
    remove_folder();
    fresh_folder();
    install("openfails", "openfails");
    is_int(in_child(look_at_open, folder), 0,
           "a device that does not open gives the plug-in's words, native code, name and device");
    remove_folder();
}

static int no_cpu(void)
{
    nd_device *d;
    setenv("NDOCK_PLUGINS", "^cpu", 1);
    return nd_device_get("auto", &d) == ND_ERR_DEVICE &&
                   strstr(nd_last_error()->message, "ndock-cpu.so")
               ? 0
               : 1;
}

static void without_cpu(void)
{
    is_int(in_child(no_cpu, "/nowhere"), 0, "without any plug-in the error names the paths tried");
}

TAP_MAIN({"broken", broken}, {"not_plugins", not_plugins}, {"permissions", permissions},
         {"foreign_groups", foreign_groups}, {"access_lists", access_lists}, {"names", names},
         {"without_cpu", without_cpu})
