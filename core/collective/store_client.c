/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Asking the store: one request a connection, tried again until the time limit, since whoever serves
 * it may start later. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "core/collective/collective.h"

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Waits for events of the socket; false: the time is over. */
static bool await(int fd, short events, uint64_t until)
{
    const uint64_t now = now_ms();
    struct pollfd p = {.fd = fd, .events = events};
    return now < until && poll(&p, 1, (int)(until - now < 1000 ? until - now : 1000)) >= 0;
}

static int connect_to(int32_t port)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether the frame was sent, or received, as a whole. */
static bool transfer(int fd, nd_store_frame *f, bool out, uint64_t until)
{
    size_t done = 0;
    while (done < sizeof *f) {
        char *at = (char *)f + done;
        const ssize_t n = out ? send(fd, at, sizeof *f - done, MSG_NOSIGNAL | MSG_DONTWAIT)
                              : recv(fd, at, sizeof *f - done, MSG_DONTWAIT);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR) ||
                 !await(fd, out ? POLLOUT : POLLIN, until))
            return false;
    }
    return true;
}

/* 1: answered; 0: not yet; -1: refused. */
static int ask_once(int32_t port, const nd_store_frame *request, nd_store_frame *answer,
                    uint64_t until)
{
    nd_store_frame copy = *request;
    const int fd = connect_to(port);
    if (fd < 0)
        return 0;
    const bool good = transfer(fd, &copy, true, until) && transfer(fd, answer, false, until) &&
                      memcmp(answer->magic, ND_STORE_MAGIC, sizeof answer->magic) == 0;
    close(fd);
    return !good ? 0 : memcmp(answer->verb, "ok", 3) == 0 ? 1 : -1;
}

static nd_status ask(const char *op, int32_t port, const char *verb, const char *token,
                     const char *key, nd_comm_id *value, uint64_t timeout_ms)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    const uint64_t until = now_ms() + timeout_ms;
    nd_store_frame request, answer;
    memset(&request, 0, sizeof request);
    memcpy(request.magic, ND_STORE_MAGIC, sizeof request.magic);
    snprintf(request.verb, sizeof request.verb, "%s", verb);
    snprintf(request.token, sizeof request.token, "%s", token);
    snprintf(request.key, sizeof request.key, "%s", key);
    memcpy(request.value, value->bytes, sizeof request.value);
    int got;
    while ((got = ask_once(port, &request, &answer, until)) == 0 && now_ms() < until)
        nanosleep(&moment, NULL);
    if (got < 0)
        return nd__fail(ND_ERR_COMM, op, -1,
                        "the store at 127.0.0.1:%d refuses; NDOCK_COMM_TOKEN is another one's",
                        (int)port);
    if (!got)
        return nd__fail(ND_ERR_COMM, op, -1,
                        "the store at 127.0.0.1:%d (MASTER_PORT) had no answer for \"%s\" within "
                        "%llu ms; rank 0, which sets it, may not have started",
                        (int)port, key, (unsigned long long)timeout_ms);
    memcpy(value->bytes, answer.value, sizeof value->bytes);
    return ND_OK;
}

nd_status nd__store_set(const char *op, int32_t port, const char *token, const char *key,
                        const nd_comm_id *value, uint64_t timeout_ms)
{
    nd_comm_id stored = *value;
    return ask(op, port, "set", token, key, &stored, timeout_ms);
}

nd_status nd__store_get(const char *op, int32_t port, const char *token, const char *key,
                        nd_comm_id *value, uint64_t timeout_ms)
{
    memset(value, 0, sizeof *value);
    return ask(op, port, "get", token, key, value, timeout_ms);
}
