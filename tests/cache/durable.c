/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What survives a power cut or a kill: all that replaces a file as a whole, and every cache on
 * disk, writes another file, flushes that, renames it, and, where it was asked to be durable,
 * flushes the folder. A saved file has no name before it is whole. The calls of libc are ours here,
 * so that their order is seen; a file is told by its inode, as it may have no name yet. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include "tests/cache/kernels.h"

/* ---- the interposer ---- */
typedef enum { WRITE, FLUSH, LINK, RENAME } kind;
typedef struct {
    kind what;
    ino_t file;
    nlink_t names; /* that the file had before the call */
    char path[200], to[200];
} call;
enum { MOST = 256 };
static call calls[MOST];
static int n_calls;
static bool watching;
static int refuse[RENAME + 1]; /* by kind: the errno of the next call in the folder; 0: none */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;

static bool in_folder(const char *path)
{
    return folder[0] && strncmp(path, folder, strlen(folder)) == 0;
}

/* Notes the call. False: it is to fail, errno says how. */
static bool note(kind what, const char *path, const char *to, const struct stat *st)
{
    pthread_mutex_lock(&watch_lock);
    const call *last = n_calls ? &calls[n_calls - 1] : NULL;
    const bool again = what == WRITE && last && last->what == WRITE && last->file == st->st_ino;
    if (watching && (in_folder(path) || in_folder(to)) && !again && n_calls < MOST) {
        call *c = &calls[n_calls++];
        *c = (call){.what = what, .file = st->st_ino, .names = st->st_nlink};
        snprintf(c->path, sizeof c->path, "%s", path);
        snprintf(c->to, sizeof c->to, "%s", to);
    }
    const bool ours = in_folder(path) || in_folder(to);
    const int error = ours ? refuse[what] : 0;
    refuse[what] = ours ? 0 : refuse[what];
    pthread_mutex_unlock(&watch_lock);
    errno = error ? error : errno;
    return !error;
}

static bool note_fd(kind what, int fd)
{
    char link[64], path[PATH_MAX];
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return fstat(fd, &st) != 0 || note(what, path, "", &st);
}

static bool note_name(kind what, const char *from, const char *to)
{
    struct stat st;
    return stat(from, &st) != 0 || note(what, from, to, &st);
}

#define REAL(name) dlsym(RTLD_NEXT, name)

__attribute__((visibility("default"))) ssize_t write(int fd, const void *data, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (!real)
        *(void **)&real = REAL("write");
    return note_fd(WRITE, fd) ? real(fd, data, n) : -1;
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    static int (*real)(int);
    if (!real)
        *(void **)&real = REAL("fsync");
    return note_fd(FLUSH, fd) ? real(fd) : -1;
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    static int (*real)(const char *, const char *);
    if (!real)
        *(void **)&real = REAL("rename");
    return note_name(RENAME, from, to) ? real(from, to) : -1;
}

__attribute__((visibility("default"))) int linkat(int from_dir, const char *from, int to_dir,
                                                  const char *to, int flags)
{
    static int (*real)(int, const char *, int, const char *, int);
    if (!real)
        *(void **)&real = REAL("linkat");
    return note_name(LINK, from, to) ? real(from_dir, from, to_dir, to, flags) : -1;
}

/* ---- what must have happened ---- */
static int last_of(kind what, ino_t file, int before)
{
    for (int i = before - 1; i >= 0; i--)
        if (calls[i].what == what && calls[i].file == file)
            return i;
    return -1;
}

/* The file that has this path now; 0: there is none. */
static ino_t file_at(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

static bool folder_flushed(const char *path, int after)
{
    char parent[200];
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = 0;
    for (int i = after + 1; i < n_calls; i++)
        if (calls[i].what == FLUSH && strcmp(calls[i].path, parent) == 0)
            return true;
    return false;
}

/* The renaming to a path of that end; -1: there is none, or more than one. */
static int renaming_to(const char *end)
{
    int found = -1;
    for (int i = 0; i < n_calls; i++) {
        const size_t n = strlen(calls[i].to), m = strlen(end);
        if (calls[i].what == RENAME && n >= m && strcmp(calls[i].to + n - m, end) == 0)
            found = found == -1 ? i : -2;
    }
    return found < 0 ? -1 : found;
}

static void show_calls(void)
{
    static const char *const names[] = {"write", "fsync", "link", "rename"};
    for (int i = 0; i < n_calls; i++)
        diag("%s %s %s (file %llu of %d names)", names[calls[i].what], calls[i].path, calls[i].to,
             (unsigned long long)calls[i].file, (int)calls[i].names);
}

static ino_t replaced; /* the file that begin_over() was given */

static void begin_over(const char *path)
{
    replaced = path ? file_at(path) : 0;
    n_calls = 0;
    watching = true;
}

static void begin(void)
{
    make_folder();
    begin_over(NULL);
}

/* Some network file systems have no files without a name; those of tests/ are on none of these. */
static bool can_be_unnamed(void)
{
    const int fd = open(folder, O_WRONLY | O_TMPFILE, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

typedef enum { FLUSHED = 1, DURABLE = 2, UNNAMED = 4 } promises;

static bool unnamed_until(int link, int flush, ino_t file)
{
    const int written = last_of(WRITE, file, n_calls);
    for (int i = 0; i < link; i++)
        if (calls[i].file == file && calls[i].names != 0)
            return false;
    return link > written && link > flush;
}

static void end(const char *what, const char *file, int promised)
{
    watching = false;
    const int at = renaming_to(file);
    const ino_t id = at >= 0 ? calls[at].file : 0;
    const int written = last_of(WRITE, id, n_calls), flush = last_of(FLUSH, id, n_calls);
    int good =
        ok(id && written >= 0 && written < at, "%s: another file is written, then renamed", what);
    good &= ok(id && file_at(calls[at].to) == id && last_of(WRITE, replaced, n_calls) < 0,
               "%s: the file itself is never written to", what);
    if (promised & FLUSHED)
        good &= ok(flush > written && flush < at,
                   "%s: flushed after its last byte, before the renaming", what);
    if (promised & DURABLE)
        good &= ok(id && folder_flushed(calls[at].to, at), "%s: then its folder is flushed", what);
    if (promised & UNNAMED && !can_be_unnamed())
        skip(1, "the file system has no files without a name");
    else if (promised & UNNAMED)
        good &= ok(unnamed_until(last_of(LINK, id, at), flush, id),
                   "%s: it has no name before it is whole", what);
    if (!good)
        show_calls();
    remove_folder();
}

/* ---- every saver ---- */
static nd_array *array(void)
{
    nd_array *a = NULL;
    nd_device *cpu = NULL;
    const int64_t n = 100000;
    if (nd_device_get("cpu", &cpu) != ND_OK || nd_zeros(cpu, ND_F64, 1, &n, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

static const char *file_path(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void done(nd_status status, const char *what)
{
    if (status != ND_OK)
        diag("%s: %s", what, nd_last_error()->message);
}

static void npy(void)
{
    nd_array *a = array();
    const nd_save_opts sync = {.size = sizeof sync, .sync = 1};
    begin();
    done(nd_npy_save(file_path("a.npy"), a, NULL), "npy_save");
    end("npy", "/a.npy", UNNAMED);
    begin();
    done(nd_npy_save(file_path("a.npy"), a, &sync), "npy_save");
    end("npy, sync", "/a.npy", FLUSHED | DURABLE | UNNAMED);
    begin();
    if (nd_npy_save(file_path("old.npy"), a, NULL) != ND_OK)
        bail("no file to replace");
    begin_over(file_path("old.npy"));
    done(nd_npy_save(file_path("old.npy"), a, &sync), "npy_save");
    end("npy over an old file, sync", "/old.npy", FLUSHED | DURABLE | UNNAMED);
    nd_release(a);
}

static void safetensors(void)
{
    nd_array *a = array();
    const nd_save_opts sync = {.size = sizeof sync, .sync = 1};
    const nd_named_array named[2] = {{"a", a}, {"b", a}};
    begin();
    done(nd_safetensors_save(file_path("a.safetensors"), 2, named, NULL, &sync), "save");
    end("safetensors, sync", "/a.safetensors", FLUSHED | DURABLE | UNNAMED);
    nd_release(a);
}

static void reports(void)
{
    nd_array *a = array();
    begin();
    done(nd_memory_snapshot_save(NULL, file_path("m.json"), ND_SNAPSHOT_JSON), "snapshot");
    end("memory snapshot", "/m.json", FLUSHED | DURABLE | UNNAMED);
    begin();
    done(nd_memory_snapshot_save(NULL, file_path("m.pickle"), ND_SNAPSHOT_PICKLE), "snapshot");
    end("memory snapshot, pickled", "/m.pickle", FLUSHED | DURABLE | UNNAMED);
    begin();
    done(nd_fallback_save(file_path("f.json")), "fallback_save");
    end("fallback report", "/f.json", UNNAMED);
    nd_release(a);
}

/* ---- every cache ---- */
/* A lost entry is compiled again, but one that is there must be whole: no folder is flushed. */
static void kernels(void)
{
    compiler c = {.number = 1, .nbytes = 5000};
    begin();
    nd_kernel_cache *cache = open_cache(folder, UINT64_C(1) << 20);
    ok(get_is_right(cache, &c), "a kernel is compiled");
    end("kernel cache", "", FLUSHED);
    nd__kernel_cache_destroy(cache);
}

/* ---- what fails leaves nothing behind ---- */
static int files_left(void)
{
    char command[160], line[64] = "";
    snprintf(command, sizeof command, "find %s -type f | wc -l", folder);
    FILE *p = popen(command, "r");
    if (!p || !fgets(line, sizeof line, p) || pclose(p) != 0)
        bail(command);
    return atoi(line);
}

static void saving_fails(void)
{
    static const char *const names[] = {"write", "fsync", "link", "rename"};
    nd_array *a = array();
    const nd_save_opts sync = {.size = sizeof sync, .sync = 1};
    make_folder();
    const bool unnamed = can_be_unnamed();
    for (kind what = WRITE; what <= RENAME; what++) {
        if (what == LINK && !unnamed)
            continue; /* then nothing is linked */
        refuse[what] = EDQUOT;
        is_int(nd_npy_save(file_path("a.npy"), a, &sync), ND_ERR_IO, names[what]);
        has_text(nd_last_error()->message, strerror(EDQUOT), "fails, and says why");
        is_int(files_left(), 0, "no file is left");
    }
    is_int(nd_npy_save(file_path("a.npy"), a, &sync), ND_OK, "the next one is saved");
    is_int(files_left(), 1, "as one file");
    remove_folder();
    nd_release(a);
}

/* A full disk may be emptied, so that the next kernel is stored; another failure stays. */
static void cache_fails(void)
{
    static const struct {
        kind what;
        int error;
        bool goes_on;
    } of[] = {{WRITE, ENOSPC, true}, {FLUSH, EDQUOT, true}, {RENAME, EACCES, false}};
    for (int i = 0; i < 3; i++) {
        compiler c[2] = {{.number = 1, .nbytes = 5000}, {.number = 2, .nbytes = 5000}};
        make_folder();
        nd_kernel_cache *cache = open_cache(folder, UINT64_C(1) << 20);
        refuse[of[i].what] = of[i].error;
        ok(get_is_right(cache, &c[0]), "W8 a kernel that cannot be stored: %s",
           strerror(of[i].error));
        is_int(files_left(), 0, "W9 no temporary file is left");
        ok(get_is_right(cache, &c[1]), "W8 another kernel");
        is_int(files_left(), of[i].goes_on, "W8 is stored if the failure may be over");
        nd__kernel_cache_destroy(cache);
        remove_folder();
    }
}

TAP_MAIN({"saving_fails", saving_fails}, {"cache_fails", cache_fails}, {"npy", npy},
         {"safetensors", safetensors}, {"reports", reports}, {"kernels", kernels})
