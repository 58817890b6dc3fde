/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files that are given by name: read if they are files, and replaced as a whole, so that whoever is
 * killed in between leaves the old one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/tool.h"

FILE *tool_open_quietly(const char *path, const char **why)
{
    struct stat st;
    FILE *f = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    *why = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        *why = S_ISDIR(st.st_mode)    ? "it is a folder, not a file"
               : S_ISFIFO(st.st_mode) ? "it is a pipe, not a file"
               : S_ISREG(st.st_mode)  ? NULL
                                      : "it is a device or a socket, not a file";
        f = *why ? NULL : fdopen(fd, "rb");
    }
    if (!f && !*why)
        *why = strerror(errno);
    if (!f && fd >= 0)
        (void)close(fd);
    return f;
}

FILE *tool_open_file(const char *who, const char *path)
{
    const char *why;
    FILE *f = tool_open_quietly(path, &why);
    if (!f)
        fprintf(stderr, "%s: %s: %s\n", who, path, why);
    return f;
}

/* The rest of f, malloc'ed; NULL with errno. */
static char *read_rest(FILE *f, size_t *n)
{
    char *data = NULL;
    size_t room = 0, got;
    *n = 0;
    do {
        if (*n == room) {
            room = room ? 2 * room : 1 << 16;
            char *more = realloc(data, room);
            if (!more)
                break;
            data = more;
        }
        got = fread(data + *n, 1, room - *n, f);
        *n += got;
    } while (got > 0);
    if (!ferror(f) && *n < room)
        return data;
    free(data);
    return NULL;
}

char *tool_read_file(const char *who, const char *path, size_t *n)
{
    FILE *f = tool_open_file(who, path);
    if (!f)
        return NULL;
    char *data = read_rest(f, n);
    if (!data)
        fprintf(stderr, "%s: %s: %s\n", who, path, strerror(errno));
    fclose(f);
    return data;
}

static int write_bytes(int fd, const char *data, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t n = write(fd, data, nbytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        nbytes -= (size_t)n;
    }
    return 0;
}

static int write_all(int fd, const char *data, size_t nbytes)
{
    return write_bytes(fd, data, nbytes) < 0 ? -1 : fsync(fd);
}

/* Whether the path names what is no file, such as /dev/null or a pipe: it must stay what it is. */
static int is_special(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int write_to(const char *path, const void *data, size_t nbytes)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int failed = write_bytes(fd, data, nbytes) < 0, err = errno;
    if (close(fd) < 0 && !failed)
        return -1;
    errno = err;
    return failed ? -1 : 0;
}

int tool_replace_file(const char *path, const void *data, size_t nbytes)
{
    if (is_special(path))
        return write_to(path, data, nbytes);
    size_t room = strlen(path) + 32;
    char *temporary = malloc(room);
    if (!temporary)
        return -1;
    snprintf(temporary, room, "%s.%ld.tmp", path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    int failed = fd < 0 || write_all(fd, data, nbytes) < 0, err = errno;
    if (fd >= 0 && close(fd) < 0 && !failed) {
        failed = 1;
        err = errno;
    }
    if (!failed && rename(temporary, path) < 0) {
        failed = 1;
        err = errno;
    }
    if (failed && fd >= 0)
        (void)unlink(temporary);
    free(temporary);
    errno = err;
    return failed ? -1 : 0;
}
