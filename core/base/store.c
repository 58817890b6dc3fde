/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Compiled kernels in files, shared by all processes of a user.
 *
 * An entry is DIR/ab/cdef...: the 64 hexadecimal digits of its hash. It is written under a name of
 * its own, flushed, and renamed, so that readers see it whole or not at all, however many processes
 * write it. Its bytes:
 *   0   "NDOCKKRN"          8   version, u32         12  bytes before the key (64), u32
 *   16  bytes of key, u64   24  bytes of code, u64   32  SHA-256 of bytes 0 to 31, key and code
 *   64  key, code           (integers are little-endian)
 * The checksum covers every byte but its own, so that a file which was cut or changed anywhere is
 * recognised; it is then removed, and written anew after the kernel has been compiled again. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "core/base/store.h"

static const char magic[8] = {'N', 'D', 'O', 'C', 'K', 'K', 'R', 'N'};
enum { SCAN_EVERY = 32 }; /* entries of ours between two looks at what other processes added */

static void put(uint8_t *p, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *p, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

/* The folder and its parents, for the user alone. */
static bool make_folders(const char *dir)
{
    char path[ND_STORE_PATH];
    struct stat st;
    snprintf(path, sizeof path, "%s", dir); /* it fits: nd__store_open saw to that */
    for (char *p = path + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            (void)mkdir(path, 0700); /* what matters is whether the last one is there */
            *p = '/';
        }
    int err = mkdir(path, 0700) == 0 ? 0 : errno;
    bool there = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    errno = err == EEXIST ? ENOTDIR : err;
    return there;
}

/* Code from a folder that others can write would be theirs to choose. */
static bool is_trusted(const char *path, const struct stat *st)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        nd__log(ND_LOG_WARN, "cache: %s belongs to user %u, neither root nor you; ignored", path,
                (unsigned)st->st_uid);
    else if (st->st_mode & S_IWOTH)
        nd__log(ND_LOG_WARN, "cache: %s can be written by everyone; ignored (chmod o-w)", path);
    else
        return true;
    return false;
}

void nd__store_open(nd_kernel_store *s, const char *dir, uint64_t max_bytes)
{
    struct stat st;
    memset(s, 0, sizeof *s);
    s->max_bytes = max_bytes;
    const size_t n = dir ? strlen(dir) : 0;
    if (n >= ND_STORE_DIR)
        nd__log(
            ND_LOG_WARN,
            "cache: the folder %.40s... has a path of %zu bytes, and there is room for %d; what "
            "it would hold is kept in memory alone",
            dir, n, ND_STORE_DIR - 1);
    if (!dir || n >= ND_STORE_DIR || (stat(dir, &st) == 0 && !is_trusted(dir, &st)))
        return;
    s->dir = strdup(dir);
    bool there = access(dir, F_OK) == 0;
    atomic_store(&s->writable, s->dir && (!there || access(dir, W_OK | X_OK) == 0));
}

void nd__store_close(nd_kernel_store *s)
{
    free(s->dir);
    s->dir = NULL;
}

void nd__store_path(const nd_kernel_store *s, const uint8_t hash[32], char path[ND_STORE_PATH])
{
    static const char digit[] = "0123456789abcdef";
    char digits[2 * 32 + 1] = "";
    for (int i = 0; i < 32; i++) {
        digits[2 * i] = digit[hash[i] >> 4];
        digits[2 * i + 1] = digit[hash[i] & 15];
    }
    snprintf(path, ND_STORE_PATH, "%s/%.2s/%s", s->dir, digits, digits + 2);
}

static bool read_all(int fd, void *data, size_t n)
{
    char *p = data;
    while (n) {
        ssize_t got = read(fd, p, n);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        p += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return false;
        p += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static void checksum(const uint8_t header[ND_STORE_HEADER], const void *key, size_t key_nbytes,
                     const void *code, size_t nbytes, uint8_t digest[32])
{
    nd_sha256 sha;
    nd__sha256_init(&sha);
    nd__sha256_add(&sha, header, 32);
    nd__sha256_add(&sha, key, key_nbytes);
    nd__sha256_add(&sha, code, nbytes);
    nd__sha256_end(&sha, digest);
}

/* The header alone, so that no memory is taken for a file that says something else than its
 * size. */
static bool fits(const uint8_t header[ND_STORE_HEADER], uint64_t size)
{
    uint64_t rest = size - ND_STORE_HEADER, key = get(header + 16, 8);
    return memcmp(header, magic, sizeof magic) == 0 && get(header + 8, 4) == ND_STORE_VERSION &&
           get(header + 12, 4) == ND_STORE_HEADER && key <= rest &&
           get(header + 24, 8) == rest - key;
}

static bool is_sound(const uint8_t *file)
{
    uint8_t digest[32];
    uint64_t key = get(file + 16, 8), code = get(file + 24, 8);
    checksum(file, file + ND_STORE_HEADER, key, file + ND_STORE_HEADER + key, code, digest);
    return memcmp(digest, file + 32, sizeof digest) == 0;
}

/* The whole file, malloc'ed. *damaged: it is there, but not as it was written. */
static uint8_t *read_entry(const char *path, size_t *size, bool *damaged)
{
    struct stat st;
    uint8_t *file = NULL, header[ND_STORE_HEADER];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *damaged = false;
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_trusted(path, &st)) {
        const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
        *size = (size_t)st.st_size;
        *damaged =
            *size < ND_STORE_HEADER || !read_all(fd, header, sizeof header) || !fits(header, *size);
        file = *damaged ? NULL : malloc(*size);
        if (file)
            memcpy(file, header, sizeof header);
        if (file &&
            (!read_all(fd, file + sizeof header, *size - sizeof header) || !is_sound(file))) {
            free(file);
            file = NULL;
            *damaged = true;
        }
        if (file)
            (void)futimens(fd, now); /* eviction goes by it; a read-only folder has none */
    }
    close(fd);
    return file;
}

bool nd__store_load(nd_kernel_store *s, const uint8_t hash[32], const void *key, size_t key_nbytes,
                    void **code, size_t *nbytes)
{
    char path[ND_STORE_PATH];
    size_t size;
    bool damaged;
    *code = NULL;
    *nbytes = 0;
    if (!s->dir)
        return false;
    nd__store_path(s, hash, path);
    uint8_t *file = read_entry(path, &size, &damaged);
    if (damaged) {
        nd__log(ND_LOG_WARN, "cache: %s is damaged; removed, to be made again", path);
        (void)unlink(path);
        s->dropped++;
    }
    if (!file)
        return false;
    size_t stored_key = get(file + 16, 8);
    if (stored_key != key_nbytes || memcmp(file + ND_STORE_HEADER, key, key_nbytes) != 0) {
        free(file); /* another kernel of the same hash */
        return false;
    }
    *nbytes = size - ND_STORE_HEADER - key_nbytes;
    memmove(file, file + ND_STORE_HEADER + key_nbytes, *nbytes);
    *code = file;
    return true;
}

/* A new file beside the entry, with a name that nobody else has. */
static int make_temporary(const char *path, char temporary[ND_STORE_PATH])
{
    static atomic_uint serial;
    const int folder = (int)(strrchr(path, '/') - path);
    for (int i = 0; i < 100; i++) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        snprintf(temporary, ND_STORE_PATH, "%.*s/.tmp.%ld.%u.%lx", folder, path, (long)getpid(),
                 atomic_fetch_add(&serial, 1), (unsigned long)t.tv_nsec);
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || (errno != EEXIST && errno != ENOENT))
            return fd;
        char dir[ND_STORE_PATH];
        snprintf(dir, sizeof dir, "%.*s", folder, path);
        if (errno == ENOENT && !make_folders(dir))
            return -1;
    }
    return -1;
}

static bool write_entry(const char *path, const uint8_t header[ND_STORE_HEADER], const void *key,
                        size_t key_nbytes, const void *code, size_t nbytes)
{
    char temporary[ND_STORE_PATH];
    int fd = make_temporary(path, temporary);
    if (fd < 0)
        return false;
    bool written = write_all(fd, header, ND_STORE_HEADER) && write_all(fd, key, key_nbytes) &&
                   write_all(fd, code, nbytes) && fsync(fd) == 0;
    int err = errno;
    written = close(fd) == 0 && written;
    if (written && rename(temporary, path) == 0)
        return true;
    err = written ? errno : err;
    (void)unlink(temporary);
    errno = err;
    return false;
}

/* A full disk may be emptied; a folder that is not ours to write stays so. */
static void give_up_writing(nd_kernel_store *s, const char *path, int err)
{
    bool there = access(s->dir, F_OK) == 0;
    if (there)
        nd__log(ND_LOG_INFO, "cache: %s cannot be written: %s", path, strerror(err));
    if (err != ENOSPC && err != EDQUOT && err != EINTR && atomic_exchange(&s->writable, false) &&
        !there)
        nd__log(ND_LOG_WARN,
                "cache: %s cannot be made (%s); what it would hold is kept in memory alone", s->dir,
                strerror(err));
}

bool nd__store_save(nd_kernel_store *s, const uint8_t hash[32], const void *key, size_t key_nbytes,
                    const void *code, size_t nbytes)
{
    char path[ND_STORE_PATH];
    uint8_t header[ND_STORE_HEADER];
    const uint64_t size = ND_STORE_HEADER + (uint64_t)key_nbytes + nbytes;
    if (!s->dir || !atomic_load(&s->writable) || size > s->max_bytes)
        return false;
    memcpy(header, magic, sizeof magic);
    put(header + 8, ND_STORE_VERSION, 4);
    put(header + 12, ND_STORE_HEADER, 4);
    put(header + 16, key_nbytes, 8);
    put(header + 24, nbytes, 8);
    checksum(header, key, key_nbytes, code, nbytes, header + 32);
    nd__store_path(s, hash, path);
    if (!write_entry(path, header, key, key_nbytes, code, nbytes)) {
        give_up_writing(s, path, errno);
        return false;
    }
    s->stored++;
    const uint64_t added = atomic_fetch_add(&s->added, size) + size;
    if (added + s->base > s->max_bytes || !atomic_load(&s->scanned) ||
        ++s->since_scan >= SCAN_EVERY)
        (void)nd__store_scan(s, true);
    return true;
}
