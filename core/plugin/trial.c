/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in's first load happens in a program of its own, $(libexecdir)/ndock/ndock-probe, since
 * its constructors, its entry or its probe may crash, hang or change what belongs to the whole
 * process (trial_run.c). What came of it is kept in files (the store of core/cache/), keyed by the
 * file's contents and the driver, so that each file is tried once: a damaged copy and the good file
 * that is put in its place are two.
 *
 * NDOCK_PLUGIN_PROBE=auto (the default) tries what is new, on tries every time, off tries nothing
 * and forgives everything. Where the program is not installed, auto tries nothing. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "core/base/store.h"
#include "core/plugin/loader.h"

enum { PROBE_AUTO, PROBE_ON, PROBE_OFF };
enum { DEFAULT_SECONDS = 30, STORE_BYTES = 1 << 20 };

static int probe_mode(void)
{
    const char *text = nd__getenv("NDOCK_PLUGIN_PROBE");
    if (!text || strcmp(text, "auto") == 0)
        return PROBE_AUTO;
    if (strcmp(text, "on") == 0)
        return PROBE_ON;
    if (strcmp(text, "off") == 0)
        return PROBE_OFF;
    nd__log(ND_LOG_WARN, "NDOCK_PLUGIN_PROBE=%s is ignored: it is auto, on or off", text);
    return PROBE_AUTO;
}

static int probe_seconds(void)
{
    const char *text = nd__getenv("NDOCK_PLUGIN_PROBE_TIMEOUT");
    char *end = NULL;
    long seconds = text ? strtol(text, &end, 10) : DEFAULT_SECONDS;
    if (text && (*end || seconds < 1 || seconds > 3600)) {
        nd__log(ND_LOG_WARN,
                "NDOCK_PLUGIN_PROBE_TIMEOUT=%s is ignored: it is a number of seconds, 1 to 3600",
                text);
        seconds = DEFAULT_SECONDS;
    }
    return (int)seconds;
}

/* Beside this library as installed, so that an uninstalled one never runs another version's. */
static bool find_program(char path[PATH_MAX])
{
    const char *named = nd__getenv("NDOCK_PROBE_PROGRAM");
    Dl_info info;
    if (named) {
        snprintf(path, PATH_MAX, "%s", named);
        return named[0] == '/' && access(path, X_OK) == 0;
    }
    const char *slash = dladdr((void *)(uintptr_t)nd__quarantined, &info) && info.dli_fname &&
                                info.dli_fname[0] == '/'
                            ? strrchr(info.dli_fname, '/')
                            : NULL;
    const int n = slash ? (int)(slash - info.dli_fname) : 0;
    if (n == (int)strlen(ND_LIBDIR) && memcmp(info.dli_fname, ND_LIBDIR, (size_t)n) == 0)
        snprintf(path, PATH_MAX, "%s/ndock-probe", ND_LIBEXECDIR);
    else
        snprintf(path, PATH_MAX, "%.*s/../libexec/ndock/ndock-probe", n,
                 slash ? info.dli_fname : "");
    return n > 0 && access(path, X_OK) == 0;
}

/* Our own plug-ins, in our own folder and of our version, are as trusted as this library, and a
 * first start without a trial of each is faster. */
static bool is_ours(const nd_plugin_slot *slot)
{
    static const char *const names[] = {"cpu", "cuda", "sim"};
    if (slot->rank != ND_SOURCE_FOLDER || nd__plugin_dir_named() ||
        strcmp(slot->version, nd_version()) != 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(slot->name, names[i]) == 0)
            return true;
    return false;
}

/* ---- what is remembered ---- */

/* What identifies the kernel's side of GPU drivers, as far as it costs nothing to read. */
static void add_driver(nd_text *key)
{
    static const char *const files[] = {"/sys/module/nvidia/version", "/sys/module/amdgpu/version",
                                        "/sys/module/xe/version"};
    char text[64];
    struct utsname system;
    nd__text_add(key, " %s", uname(&system) == 0 ? system.release : "");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int fd = open(files[i], O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
        if (fd >= 0)
            close(fd);
        text[n > 0 ? n : 0] = 0;
        text[strcspn(text, "\n")] = 0;
        nd__text_add(key, " %s", text);
    }
}

static void hash_text(const nd_text *text, uint8_t digest[32])
{
    nd_sha256 sha;
    nd__sha256_init(&sha);
    nd__sha256_add(&sha, text->data ? text->data : "", text->len);
    nd__sha256_end(&sha, digest);
}

/* The SHA-256 of the file's bytes, which is kept by what the file system says of the file: reading
 * a large plug-in takes longer than loading it. False if it cannot be read. */
static bool hash_file(nd_kernel_store *store, const char *path, uint8_t digest[32])
{
    nd_text identity = {0};
    uint8_t name[32];
    void *kept = NULL;
    size_t nbytes = 0;
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    nd__text_add(&identity, "file 1 %llx:%llx:%llx %llx.%lx %llx.%lx",
                 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
                 (unsigned long long)st.st_size, (unsigned long long)st.st_mtim.tv_sec,
                 (unsigned long)st.st_mtim.tv_nsec, (unsigned long long)st.st_ctim.tv_sec,
                 (unsigned long)st.st_ctim.tv_nsec);
    hash_text(&identity, name);
    bool known =
        nd__store_load(store, name, identity.data, identity.len, &kept, &nbytes) && nbytes == 32;
    if (known)
        memcpy(digest, kept, 32);
    else if ((known = nd__sha256_file(path, digest)))
        (void)nd__store_save(store, name, identity.data, identity.len, digest, 32);
    free(kept);
    free(identity.data);
    return known;
}

static bool make_key(nd_kernel_store *store, const nd_plugin_slot *slot, nd_text *key)
{
    uint8_t digest[32];
    if (!hash_file(store, slot->real, digest))
        return false;
    nd__text_add(key, "trial 2 ndock %s ", nd_version());
    for (int i = 0; i < 32; i++)
        nd__text_add(key, "%02x", digest[i]);
    add_driver(key);
    return true;
}

/* The folder beside the compiled kernels'. */
static void open_store(nd_kernel_store *store)
{
    const char *why, *own = nd__getenv("NDOCK_KERNEL_CACHE_DIR");
    char path[PATH_MAX + 16];
    char *kernels = nd__store_dir(own, nd__getenv("XDG_CACHE_HOME"), nd__getenv("HOME"), &why);
    if (kernels) {
        char *slash = strrchr(kernels, '/');
        const int n = own ? (int)strlen(kernels) : (int)(slash - kernels);
        snprintf(path, sizeof path, "%.*s/plugins", n, kernels);
    }
    nd__store_open(store, kernels ? path : NULL, STORE_BYTES);
    free(kernels);
}

/* ---- the verdict ---- */

static void add_advice(nd_text *why, const nd_kernel_store *store, const char *entry, bool kept)
{
    nd__text_puts(why, "; it is not loaded here. Report it to its author");
    if (kept && store->dir)
        nd__text_add(why, ", or update it; to try this file again: rm '%s'", entry);
    nd__text_puts(why, "; NDOCK_PLUGIN_PROBE=off loads it all the same");
}

static bool try_it(const nd_plugin_slot *slot, const char *program, nd_text *why, bool *tried)
{
    const nd_trial_result result = nd__trial_run(program, slot->real, probe_seconds(), why);
    *tried = result != ND_TRIAL_UNTRIED;
    if (result == ND_TRIAL_UNTRIED) {
        nd__log(ND_LOG_WARN, "%s %s, so %s is loaded untried", program,
                why->data ? why->data : "does not run", slot->path);
        why->len = 0;
    }
    return result == ND_TRIAL_HARMFUL;
}

/* Whether it is harmful, as kept under the key or as tried now. */
static bool look_up_or_try(nd_kernel_store *store, const nd_plugin_slot *slot, const char *program,
                           bool fresh, nd_text *why)
{
    nd_text key = {0};
    uint8_t hash[32];
    char entry[ND_STORE_PATH] = "";
    void *kept = NULL;
    size_t nbytes = 0;
    bool harmful, known = false, tried = false;
    const bool keyed = make_key(store, slot, &key);
    hash_text(&key, hash);
    if (keyed && !fresh)
        known = nd__store_load(store, hash, key.data, key.len, &kept, &nbytes);
    if (known) { /* nothing, or why not */
        harmful = nbytes > 0;
        nd__text_bytes(why, kept, nbytes);
    } else {
        harmful = try_it(slot, program, why, &tried);
        known =
            keyed && tried && harmful == (why->len > 0) &&
            nd__store_save(store, hash, key.data, key.len, why->data ? why->data : "", why->len);
    }
    if (keyed && store->dir)
        nd__store_path(store, hash, entry);
    free(kept);
    free(key.data);
    if (harmful)
        add_advice(why, store, entry, known);
    return harmful;
}

static bool try_and_keep(const nd_plugin_slot *slot, const char *program, bool fresh, nd_text *why)
{
    nd_kernel_store store;
    open_store(&store);
    const bool harmful = look_up_or_try(&store, slot, program, fresh, why);
    nd__store_close(&store);
    return harmful;
}

bool nd__quarantined(nd_plugin_slot *slot, nd_text *why)
{
    const int mode = probe_mode();
    char program[PATH_MAX];
    if (mode == PROBE_OFF || (mode == PROBE_AUTO && is_ours(slot)))
        return false;
    if (find_program(program))
        return try_and_keep(slot, program, mode == PROBE_ON, why);
    if (mode == PROBE_ON)
        nd__text_add(why,
                     "NDOCK_PLUGIN_PROBE=on, and %s, which would try it first, is not there: "
                     "install it, or set auto or off",
                     program);
    return mode == PROBE_ON;
}
