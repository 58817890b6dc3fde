/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The store by which ranks that a launcher started find each other: a few names of communicators by
 * key, served on loopback to whoever shows the token. One thread, bounded in everything: clients,
 * keys, bytes of a request, and the time that a request may take to arrive. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "core/collective/collective.h"

enum { CLIENTS = 256, KEYS = 256, ARRIVAL_MS = 5000 };

typedef struct {
    int fd;
    size_t have; /* bytes of the request */
    uint64_t since_ms;
    nd_store_frame request;
} client;
typedef struct {
    char key[ND_STORE_KEY];
    unsigned char value[ND_COMM_ID_BYTES];
} entry;
struct nd_store {
    int listener, stop[2];
    int32_t port;
    char token[ND_STORE_TOKEN];
    pthread_t thread;
    int n_clients, n_keys;
    client clients[CLIENTS];
    entry keys[KEYS];
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- requests ---- */
static entry *find(nd_store *s, const char *key)
{
    for (int i = 0; i < s->n_keys; i++)
        if (strncmp(s->keys[i].key, key, ND_STORE_KEY) == 0)
            return &s->keys[i];
    return NULL;
}

/* Takes as long for a wrong token as for a right one. */
static bool may_ask(const nd_store *s, const nd_store_frame *f)
{
    unsigned char differs = 0;
    for (int i = 0; i < ND_STORE_TOKEN; i++)
        differs |= (unsigned char)(s->token[i] ^ f->token[i]);
    return differs == 0 && memcmp(f->magic, ND_STORE_MAGIC, sizeof f->magic) == 0 && f->key[0] &&
           !f->key[ND_STORE_KEY - 1];
}

static void drop(nd_store *s, client *c)
{
    close(c->fd);
    *c = s->clients[--s->n_clients];
}

static void answer(nd_store *s, client *c, bool good, const unsigned char *value)
{
    nd_store_frame f = {.magic = ""};
    memcpy(f.magic, ND_STORE_MAGIC, sizeof f.magic);
    memcpy(f.verb, good ? "ok" : "no", 3);
    if (value)
        memcpy(f.value, value, sizeof f.value);
    /* It fits the socket's buffer, so that this waits for nobody. */
    (void)!send(c->fd, &f, sizeof f, MSG_NOSIGNAL | MSG_DONTWAIT);
    drop(s, c);
}

/* The request is whole; one for a key that is not set stays. */
static void serve(nd_store *s, client *c)
{
    const nd_store_frame *f = &c->request;
    entry *e;
    if (!may_ask(s, f)) {
        answer(s, c, false, NULL);
    } else if ((e = find(s, f->key)) != NULL) { /* the first value counts */
        answer(s, c, true, e->value);
    } else if (memcmp(f->verb, "set", 4) == 0) {
        if (s->n_keys == KEYS) {
            answer(s, c, false, NULL);
            return;
        }
        e = &s->keys[s->n_keys++];
        memcpy(e->key, f->key, sizeof e->key);
        memcpy(e->value, f->value, sizeof e->value);
        answer(s, c, true, e->value);
    }
}

static void receive(nd_store *s, client *c)
{
    char more;
    const bool whole = c->have == sizeof c->request;
    const ssize_t n = whole ? recv(c->fd, &more, 1, MSG_DONTWAIT)
                            : recv(c->fd, (char *)&c->request + c->have,
                                   sizeof c->request - c->have, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || whole) { /* it is gone, or says more than it may */
        drop(s, c);
        return;
    }
    c->have += (size_t)n;
    if (c->have == sizeof c->request)
        serve(s, c);
}

static void take_client(nd_store *s)
{
    const int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if (s->n_clients == CLIENTS) {
        close(fd);
        return;
    }
    client *c = &s->clients[s->n_clients++];
    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->since_ms = now_ms();
}

/* Requests that take too long to come; those for keys that were set meanwhile. From the last on,
 * since the last takes the place of one that is dropped. */
static void look_after(nd_store *s)
{
    const uint64_t now = now_ms();
    for (int i = s->n_clients - 1; i >= 0; i--) {
        client *c = &s->clients[i];
        if (c->have < sizeof c->request) {
            if (now - c->since_ms > ARRIVAL_MS)
                drop(s, c);
        } else if (find(s, c->request.key)) {
            serve(s, c);
        }
    }
}

static void *serve_all(void *arg)
{
    nd_store *s = arg;
    struct pollfd fds[CLIENTS + 2];
    for (;;) {
        const int n = s->n_clients;
        fds[0] = (struct pollfd){.fd = s->stop[0], .events = POLLIN};
        fds[1] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        for (int i = 0; i < n; i++)
            fds[i + 2] = (struct pollfd){.fd = s->clients[i].fd, .events = POLLIN};
        if (poll(fds, (nfds_t)n + 2, ARRIVAL_MS) < 0 && errno != EINTR)
            return NULL;
        if (fds[0].revents)
            return NULL;
        for (int i = n - 1; i >= 0; i--)
            if (fds[i + 2].revents)
                receive(s, &s->clients[i]);
        if (fds[1].revents)
            take_client(s);
        look_after(s);
    }
}

/* ---- life ---- */
static nd_status check_token(const char *token)
{
    const size_t n = strlen(token);
    bool good = n >= 16 && n < ND_STORE_TOKEN;
    for (size_t i = 0; i < n; i++)
        good = good && isalnum((unsigned char)token[i]);
    return good ? (nd_status)ND_OK
                : nd__fail(ND_ERR_ARGUMENT, "comm_store_serve", 1,
                           "the token has %zu characters; it is 16 to %d letters and digits", n,
                           ND_STORE_TOKEN - 1);
}

static nd_status listen_at(nd_store *s, int32_t port)
{
    static const char op[] = "comm_store_serve";
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    const int on = 1;
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->listener < 0)
        return nd__fail_errno(ND_ERR_IO, op, errno, "no socket");
    (void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(s->listener, CLIENTS) != 0 ||
        getsockname(s->listener, (struct sockaddr *)&at, &n) != 0)
        return nd__fail_errno(ND_ERR_IO, op, errno, "127.0.0.1:%d cannot be served", (int)port);
    s->port = ntohs(at.sin_port);
    return ND_OK;
}

static void close_all(nd_store *s)
{
    for (int i = 0; i < s->n_clients; i++)
        close(s->clients[i].fd);
    for (int i = 0; i < 2; i++)
        if (s->stop[i] >= 0)
            close(s->stop[i]);
    if (s->listener >= 0)
        close(s->listener);
    free(s);
}

/* Signals are the program's affair, not this thread's. */
static nd_status start_thread(nd_store *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&s->thread, NULL, serve_all, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 ? (nd_status)ND_OK
                   : nd__fail_errno(ND_ERR_MEMORY, "comm_store_serve", rc, "no thread");
}

nd_status nd_comm_store_serve(int32_t port, const char *token, nd_store **out)
{
    ND_OUT("comm_store_serve", 2, out, NULL);
    ND_NEED("comm_store_serve", 1, token);
    if (port < 0 || port > 65535)
        return nd__fail(ND_ERR_ARGUMENT, "comm_store_serve", 0, "%d is no port", (int)port);
    ND_RETURN_IF(check_token(token));
    nd_store *s = calloc(1, sizeof *s);
    if (!s)
        return nd__fail(ND_ERR_MEMORY, "comm_store_serve", -1, "no memory for a store");
    s->listener = s->stop[0] = s->stop[1] = -1;
    snprintf(s->token, sizeof s->token, "%s", token);
    nd_status status = listen_at(s, port);
    if (status == ND_OK && pipe2(s->stop, O_CLOEXEC) != 0)
        status = nd__fail_errno(ND_ERR_IO, "comm_store_serve", errno, "no pipe");
    if (status == ND_OK)
        status = start_thread(s);
    if (status != ND_OK) {
        close_all(s);
        return status;
    }
    *out = s;
    return ND_OK;
}

int32_t nd_comm_store_port(const nd_store *store)
{
    ND_NEED_OR("comm_store_port", 0, store, 0);
    return store->port;
}

void nd_comm_store_stop(nd_store *s)
{
    if (!s)
        return;
    (void)!write(s->stop[1], "", 1);
    pthread_join(s->thread, NULL);
    close_all(s);
}
