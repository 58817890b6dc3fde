/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Replacing files as a whole: modes, links, special files, full disks, and readers meanwhile. Every
 * writer goes through core/base/file.c, so .npy stands for all. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include "tests/asleep.h"
#include "tests/unit/io_files.h"

static nd_array *bytes(int64_t n, int value)
{
    void *data = malloc((size_t)n);
    memset(data, value, (size_t)n);
    nd_array *a = io_array(ND_U8, 1, &n, data);
    free(data);
    return a;
}

static int mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int)(st.st_mode & 07777) : -1;
}

static void test_modes(void)
{
    nd_array *a = bytes(10, 1);
    mode_t old = umask(027);
    is_int(nd_npy_save(io_path("new"), a, NULL), ND_OK, "a new file");
    is_int(mode_of(io_path("new")), 0640, "obeys the umask");
    umask(old);
    io_put("private", "old", 3);
    chmod(io_path("private"), 0600);
    is_int(nd_npy_save(io_path("private"), a, NULL), ND_OK, "a file that is replaced");
    is_int(mode_of(io_path("private")), 0600, "keeps its mode");
    io_put("fixed", "old", 3);
    chmod(io_path("fixed"), 0444);
    /* Root may write everything, so it steps down. */
    uid_t user = geteuid();
    if (user == 0 && (chmod(io_folder, 0777) < 0 || seteuid(65534) < 0))
        bail("cannot become an ordinary user");
    nd_status got = nd_npy_save(io_path("fixed"), a, NULL);
    if (user == 0 && seteuid(0) < 0)
        bail("cannot become root again");
    io_fails(got, ND_ERR_IO, "Permission denied", "a write-protected file");
    ok(io_same(io_path("fixed"), "old", 3), "stays as it is");
    nd_save_opts opts = {.size = sizeof opts, .sync = 1};
    is_int(nd_npy_save(io_path("new"), a, &opts), ND_OK, "synchronised");
    is_int(io_entries(), 3, "no temporary files are left");
    if (chdir(io_folder) == 0)
        is_int(nd_npy_save("new", a, &opts), ND_OK, "a path without a folder");
    is_int(io_entries(), 3, "is written in the current folder");
    nd_release(a);
}

static void test_links(void)
{
    nd_array *a = bytes(10, 1), *b = NULL;
    struct stat st;
    io_put("target", "old", 3);
    ok(symlink("target", io_path("link")) == 0, "a symbolic link");
    is_int(nd_npy_save(io_path("link"), a, NULL), ND_OK, "is saved to");
    ok(lstat(io_path("link"), &st) == 0 && S_ISLNK(st.st_mode), "and stays a link");
    is_int(nd_npy_load(io_path("target"), NULL, &b), ND_OK, "to the new file");
    nd_release(b);
    ok(symlink("nowhere", io_path("dangling")) == 0, "a dangling link");
    io_fails(nd_npy_save(io_path("dangling"), a, NULL), ND_ERR_IO, "symbolic link", "is refused");
    nd_release(a);
}

/* A device of one's own: what replaces a file by renaming would as root replace the machine's.
 * NULL, with a reason, where root cannot make one; others cannot replace those of /dev. */
static const char *device(const char *name, unsigned minor_number)
{
    static char system[64];
    snprintf(system, sizeof system, "/dev/%s", name);
    const char *own = geteuid() == 0 ? io_path(name) : system;
    if (own != system && mknod(own, S_IFCHR | 0666, makedev(1, minor_number)) != 0)
        return NULL;
    const int fd = open(own, O_WRONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0 ? own : NULL;
}

static void test_devices(const nd_array *a)
{
    struct stat st;
    const char *full = device("full", 7);
    if (full) {
        io_fails(nd_npy_save(full, a, NULL), ND_ERR_IO, strerror(ENOSPC), "/dev/full");
        is_int(nd_last_error()->native, ENOSPC, "tells its errno");
    } else {
        skip(2, "no device /dev/full can be made here");
    }
    const char *null = device("null", 3);
    if (null) {
        is_int(nd_npy_save(null, a, NULL), ND_OK, "/dev/null");
        ok(stat(null, &st) == 0 && S_ISCHR(st.st_mode), "is not replaced");
    } else {
        skip(2, "no device /dev/null can be made here");
    }
}

static void test_special(void)
{
    nd_array *a = bytes(100, 1);
    char got[256];
    io_fails(nd_npy_save(io_folder, a, NULL), ND_ERR_IO, "directory", "a folder");
    io_fails(nd_npy_save(io_path("no/file"), a, NULL), ND_ERR_IO, "No such file", "no folder");
    test_devices(a);
    mkfifo(io_path("fifo"), 0600);
    int fd = open(io_path("fifo"), O_RDWR);
    nd_save_opts opts = {.size = sizeof opts, .sync = 1};
    is_int(nd_npy_save(io_path("fifo"), a, &opts), ND_OK, "a pipe");
    is_int(read(fd, got, sizeof got), 228, "receives the bytes");
    close(fd);
    nd_release(a);
}

/* A pipe takes what it has room for, and the writer waits; a signal then ends that call early. */
enum { LONG = 300000 };
typedef struct {
    const nd_array *array;
    const char *path;
    nd_status status;
    _Atomic pid_t tid;
} saver;

static void *save_it(void *arg)
{
    saver *s = arg;
    s->tid = (pid_t)syscall(SYS_gettid);
    s->status = nd_npy_save(s->path, s->array, NULL);
    return NULL;
}

static void nothing(int number)
{
    (void)number;
}

static size_t read_all(int fd, unsigned char *to, size_t room)
{
    size_t n = 0;
    for (ssize_t got; n < room && (got = read(fd, to + n, room - n)) > 0;)
        n += (size_t)got;
    return n;
}

static void test_interrupted(void)
{
    static unsigned char data[LONG], got[LONG + 4096];
    const struct sigaction wakes = {.sa_handler = nothing}; /* without SA_RESTART */
    const int64_t n = LONG;
    for (int i = 0; i < LONG; i++)
        data[i] = (unsigned char)(i % 251);
    nd_array *a = io_array(ND_U8, 1, &n, data);
    saver s = {.array = a, .path = io_path("pipe")};
    pthread_t thread;
    sigaction(SIGUSR1, &wakes, NULL);
    mkfifo(s.path, 0600);
    int fd = open(s.path, O_RDONLY | O_NONBLOCK);
    if (fd < 0 || fcntl(fd, F_SETFL, 0) != 0)
        bail("no pipe");
    pthread_create(&thread, NULL, save_it, &s);
    until_asleep(&s.tid);
    pthread_kill(thread, SIGUSR1);
    size_t total = read_all(fd, got, sizeof got);
    pthread_join(thread, NULL);
    is_int(s.status, ND_OK, "a signal in the middle of a write is no error");
    ok(total > LONG && memcmp(got + total - LONG, data, LONG) == 0,
       "and what follows goes on where the write ended");
    close(fd);
    nd_release(a);
}

static void test_file_limit(void)
{
    nd_array *a = bytes(100000, 1);
    struct rlimit old, low;
    int entries;
    io_put("kept", "the old content", 15);
    entries = io_entries();
    getrlimit(RLIMIT_FSIZE, &old);
    low = old;
    low.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &low);
    nd_status got = nd_npy_save(io_path("kept"), a, NULL);
    int err = (int)nd_last_error()->native;
    nd_named_array one = {"a", a};
    nd_status got_more = nd_safetensors_save(io_path("kept"), 1, &one, NULL, NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    io_fails(got, ND_ERR_IO, strerror(EFBIG), "a file that grows too large");
    is_int(err, EFBIG, "tells its errno");
    is_int(got_more, ND_ERR_IO, "the other format, too");
    ok(io_same(io_path("kept"), "the old content", 15), "the old file stays");
    is_int(io_entries(), entries, "and no temporary file");
    nd_release(a);
}

static void test_full_disk(void)
{
    nd_array *a = bytes(200000, 1), *small = bytes(10, 2);
    char path[640], folder[600];
    snprintf(folder, sizeof folder, "%s", io_path("disk"));
    mkdir(folder, 0700);
    if (mount("tmpfs", folder, "tmpfs", 0, "size=64k") != 0) {
        skip(4, "tmpfs cannot be mounted");
    } else {
        snprintf(path, sizeof path, "%s/file", folder);
        is_int(nd_npy_save(path, small, NULL), ND_OK, "a small file fits");
        io_fails(nd_npy_save(path, a, NULL), ND_ERR_IO, strerror(ENOSPC), "a full disk");
        nd_array *b = NULL;
        nd_status loaded = nd_npy_load(path, NULL, &b);
        ok(loaded == ND_OK && nd_size(b) == 10, "leaves the old file");
        nd_release(b);
        unlink(path);
        ok(rmdir(folder) != 0 && umount(folder) == 0, "and nothing else to keep it mounted");
    }
    is_int(rmdir(folder), 0, "the folder is empty");
    nd_release(small);
    nd_release(a);
}

static void *save_often(void *path)
{
    nd_array *a = bytes(31000, 1);
    intptr_t failures = 0;
    for (int i = 0; i < 40; i++)
        failures += nd_npy_save(path, a, NULL) != ND_OK;
    nd_release(a);
    return (void *)failures;
}

static void test_readers(void)
{
    int whole = 0, rounds = 60;
    nd_array *a = bytes(30000, 0);
    is_int(nd_npy_save(io_path("shared"), a, NULL), ND_OK, "a file");
    nd_release(a);
    pthread_t thread;
    void *failures = NULL;
    char path[600];
    snprintf(path, sizeof path, "%s", io_path("shared"));
    pthread_create(&thread, NULL, save_often, path);
    for (int i = 0; i < rounds; i++) {
        nd_array *b = NULL;
        nd_status status = nd_npy_load(path, NULL, &b);
        whole += status == ND_OK && (nd_size(b) == 30000 || nd_size(b) == 31000);
        nd_release(b);
    }
    pthread_join(thread, &failures);
    is_int(whole, rounds, "a reader always finds a whole file");
    is_int((intptr_t)failures, 0, "while a thread replaces it");
}

static void test_shrunk(void)
{
    nd_safetensors *f = NULL;
    nd_array *a = bytes(100000, 3), *b = NULL;
    nd_named_array one = {"a", a};
    is_int(nd_safetensors_save(io_path("cut"), 1, &one, NULL, NULL), ND_OK, "a file is written");
    is_int(nd_safetensors_open(io_path("cut"), &f), ND_OK, "and opened");
    is_int(truncate(io_path("cut"), 5000), 0, "and cut");
    io_fails(nd_safetensors_load(f, "a", NULL, &b), ND_ERR_IO, "rewritten", "loading notices it");
    nd_safetensors_close(f);
    nd_release(a);
}

TAP_MAIN({"modes", test_modes}, {"links", test_links}, {"special", test_special},
         {"interrupted", test_interrupted}, {"file_limit", test_file_limit},
         {"full_disk", test_full_disk}, {"readers", test_readers}, {"shrunk", test_shrunk})
