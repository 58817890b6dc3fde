/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Files replaced as a whole: whoever is killed in between leaves the old one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/tool.h"

static int write_all(int fd, const char *data, size_t nbytes)
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
    return fsync(fd);
}

int tool_replace_file(const char *path, const void *data, size_t nbytes)
{
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
