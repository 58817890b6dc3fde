/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The store that ranks meet at: who may ask, what malformed and endless requests do, and that it is
 * on loopback alone. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "core/collective/collective.h"
#include "tests/asleep.h"
#include "tests/tap.h"

static const char token[] = "0123456789abcdef0123";

static int connect_at(int port)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval limit = {.tv_sec = 10};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ? fd : -1;
}

static _Atomic pid_t getting; /* the thread that waits for a key */

static void *get_later(void *arg)
{
    nd_comm_id id;
    getting = gettid();
    const int32_t port = *(int32_t *)arg;
    const nd_status status = nd__store_get("test", port, token, "later", &id, 600000);
    return status == ND_OK && id.bytes[0] == 9 ? arg : NULL;
}

static void keys_are_set_once(void)
{
    nd_store *s = NULL;
    nd_comm_id id = {{7}}, other = {{8}}, got;
    ok(nd_comm_store_serve(0, token, &s) == ND_OK, "it is served");
    const int32_t port = nd_comm_store_port(s);
    ok(nd__store_set("test", port, token, "a", &id, 5000) == ND_OK &&
           nd__store_set("test", port, token, "a", &other, 5000) == ND_OK &&
           nd__store_get("test", port, token, "a", &got, 5000) == ND_OK && got.bytes[0] == 7,
       "the first value counts");
    ok(nd__store_get("test", port, token, "b", &got, 100) == ND_ERR_COMM, "a key that nobody sets");
    has_text(nd_last_error()->message, "\"b\" within 100 ms", "is waited for no longer than asked");
    pthread_t waiting;
    void *good = NULL;
    int32_t at = port;
    pthread_create(&waiting, NULL, get_later, &at);
    until_asleep(&getting);
    id.bytes[0] = 9;
    ok(nd__store_set("test", port, token, "later", &id, 5000) == ND_OK, "one that is set later");
    pthread_join(waiting, &good);
    ok(good != NULL, "reaches whoever waits for it");
    nd_comm_store_stop(s);
}

static void strangers_learn_nothing(void)
{
    nd_store *s = NULL;
    nd_comm_id id = {{7}}, got;
    nd_store_frame f;
    char bytes[4096];
    if (nd_comm_store_serve(0, token, &s) != ND_OK)
        bail("no store");
    const int32_t port = nd_comm_store_port(s);
    ok(nd__store_set("test", port, token, "a", &id, 5000) == ND_OK, "a key");
    ok(nd__store_get("test", port, "0123456789abcdef9999", "a", &got, 5000) == ND_ERR_COMM,
       "another token is refused");
    has_text(nd_last_error()->message, "NDOCK_COMM_TOKEN", "with the reason");
    ok(got.bytes[0] == 0, "and gets no value");
    int fd = connect_at(port);
    memset(bytes, 'x', sizeof bytes);
    ok(send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) > 0, "bytes that are no request");
    const ssize_t n = recv(fd, &f, sizeof f, MSG_WAITALL);
    ok(n <= 0 || memcmp(f.verb, "no", 3) == 0, "are answered with no, or not at all");
    close(fd);
    int idle[300]; /* more than it takes */
    for (int i = 0; i < 300; i++)
        idle[i] = connect_at(port);
    for (int i = 0; i < 300; i++)
        if (idle[i] >= 0)
            close(idle[i]);
    ok(nd__store_get("test", port, token, "a", &got, 10000) == ND_OK && got.bytes[0] == 7,
       "it still serves after clients that say nothing");
    nd_comm_store_stop(s);
    ok(connect_at(port) < 0, "and not after its end");
}

static void tokens_and_ports_are_checked(void)
{
    nd_store *s = NULL;
    ok(nd_comm_store_serve(0, "short", &s) == ND_ERR_ARGUMENT && !s, "a token of five characters");
    ok(nd_comm_store_serve(0, "0123456789abcde ", &s) == ND_ERR_ARGUMENT, "one with a blank");
    ok(nd_comm_store_serve(70000, token, &s) == ND_ERR_ARGUMENT, "a port beyond 65535");
    nd_comm_store_stop(NULL);
}

static void what_launchers_say_is_read(void)
{
    int32_t rank = 9, size = 9, local = 9;
    nd_comm *c = NULL;
    ok(nd_comm_launched(&rank, &size, &local) == ND_OK && rank == 0 && size == 1 && local == 0,
       "no launcher: one process");
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_NTASKS", "4", 1);
    ok(nd_comm_launched(&rank, &size, &local) == ND_OK && rank == 3 && size == 4 && local == -1,
       "Slurm's");
    setenv("RANK", "1", 1);
    setenv("WORLD_SIZE", "2", 1);
    setenv("LOCAL_RANK", "1", 1);
    ok(nd_comm_launched(&rank, &size, &local) == ND_OK && rank == 1 && size == 2 && local == 1,
       "torchrun's come first");
    setenv("MASTER_ADDR", "192.0.2.1", 1);
    ok(nd_comm_world(NULL, &c) == ND_ERR_UNSUPPORTED, "another machine");
    has_text(nd_last_error()->message, "mpirun or srun", "is MPI's affair");
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", "1", 1);
    ok(nd_comm_world(NULL, &c) == ND_ERR_ARGUMENT, "no token");
    has_text(nd_last_error()->message, "NDOCK_COMM_TOKEN is not set", "is said");
    setenv("RANK", "two", 1);
    ok(nd_comm_launched(&rank, &size, &local) == ND_ERR_ARGUMENT, "a rank that is no number");
    setenv("RANK", "2", 1);
    ok(nd_comm_launched(&rank, &size, &local) == ND_ERR_ARGUMENT, "or too high");
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"keys_are_set_once", keys_are_set_once},
                                     {"strangers_learn_nothing", strangers_learn_nothing},
                                     {"tokens_and_ports_are_checked", tokens_and_ports_are_checked},
                                     {"what_launchers_say_is_read", what_launchers_say_is_read}};
    alarm(600);
    return tap_main(argc, argv, cases, 4);
}
