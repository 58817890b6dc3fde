/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: the store that ranks meet at, on whose port any process of the machine can send any
 * bytes. Without the token nothing is answered with "ok", no client keeps a connection for long, and
 * whoever has the token is served as before. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include "core/collective/collective.h"
#include "tests/fuzz/fuzz.h"

static const char token[] = "0123456789abcdef0123";

static int connect_at(int32_t port)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = {.tv_sec = 10};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        abort();
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) != 0)
        abort();
    return fd;
}

/* Whether a request of these bytes shows the token. */
static int has_token(const uint8_t *data, size_t size)
{
    const size_t at = offsetof(nd_store_frame, token);
    return size >= sizeof(nd_store_frame) && memcmp(data + at, token, sizeof token) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nd_store *store;
    static unsigned inputs;
    nd_store_frame f;
    if (!store && nd_comm_store_serve(0, token, &store) != ND_OK)
        abort();
    const int32_t port = nd_comm_store_port(store);
    const int fd = connect_at(port);
    size_t sent = 0, got = 0;
    for (ssize_t n; sent < size; sent += (size_t)n)
        if ((n = send(fd, data + sent, size - sent, MSG_NOSIGNAL)) <= 0)
            break;
    (void)shutdown(fd, SHUT_WR); /* a part of a request is all that comes */
    for (ssize_t n; got < sizeof f; got += (size_t)n)
        if ((n = recv(fd, (char *)&f + got, sizeof f - got, 0)) <= 0)
            break;
    if (got && (got < sizeof f || (memcmp(f.verb, "ok", 3) == 0 && !has_token(data, size))))
        abort();
    close(fd);
    if (++inputs % 64 == 1) {
        nd_comm_id id = {{7}}, other;
        if (nd__store_set("fuzz", port, token, "mine", &id, 10000) != ND_OK ||
            nd__store_get("fuzz", port, token, "mine", &other, 10000) != ND_OK ||
            other.bytes[0] != 7)
            abort();
    }
    return 0;
}
