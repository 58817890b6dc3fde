/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The simulated device: what it is (F1) and its memory (F6). */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "harness.h"

static void f1_devices(void)
{
    uint32_t count = 0;
    char why[200] = "";
    ndp_device_info info = {.size = sizeof info};
    is_int(sim->probe(&count, why, sizeof why), NDP_OK, "F1: probe");
    is_int(count, 4, "F1: four devices by default");
    is_int(sim->info(3, &info), NDP_OK, "F1: the last one is described");
    is_int(info.memory_bytes, 1 << 30, "F1: 1 GiB by default");
    is_int(info.flags, NDP_DEV_ASYNC, "F1: asynchronous, and its memory unseen by the host");
    ok(info.priority < 0, "F1: \"auto\" prefers the CPU");
    refused(sim->info(4, &info), NDP_ERR_DEVICE, 101, "NDOCK_SIM_DEVICES is 4");
}

static void f1_streams_and_peers(void)
{
    int32_t low = 9, high = 9, yes = 0;
    ndp_dev *d1 = open_sim(1);
    ndp_stream *s = NULL;
    streams->priority_range(dev, &low, &high);
    ok(low == 0 && high == -2, "F1: priorities from 0 to -2, lower is more urgent");
    is_int(streams->create(dev, -2, 0, &s), NDP_OK, "F1: the most urgent one can be had");
    streams->destroy(dev, s);
    refused(streams->create(dev, -3, 0, &s), NDP_ERR_ARGUMENT, 1, "-2 to 0");
    peer->can_access(dev, d1, &yes);
    is_int(yes, 1, "F1: all peers reach each other by default");
}

/* The number at a key of `info` in a new process with one variable set. */
static int in_child(const char *variable, const char *value, int (*check)(void))
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv(variable, value, 1);
        start();
        _exit(check() ? 0 : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int has_two_devices(void)
{
    uint32_t count = 0;
    char why[200];
    return sim->probe(&count, why, sizeof why) == NDP_OK && count == 2;
}

static int has_a_mebibyte(void)
{
    ndp_mem *a = NULL, *b = NULL;
    return sim->alloc(dev, 1 << 20, &a) == NDP_OK && sim->alloc(dev, 1, &b) == NDP_ERR_MEMORY;
}

static int freed_block_makes_room(void)
{
    ndp_mem *first = block(dev, 600000), *second = NULL;
    uint64_t pending = 9;
    control->set_mode(dev, NDSIM_STEPPED);
    fill(dev, NULL, VEC(first, 4), 1);
    int refused_while_alive = sim->alloc(dev, 600000, &second) == NDP_ERR_MEMORY;
    control->pending(dev, NULL, &pending);
    int waited_for_nothing = pending == 1;
    sim->free(dev, first);
    int given = sim->alloc(dev, 600000, &second) == NDP_OK;
    control->pending(dev, NULL, &pending);
    return refused_while_alive && waited_for_nothing && given && pending == 0;
}

static int reaches_only_2_from_0(void)
{
    int32_t yes[4] = {9, 9, 9, 9};
    for (uint32_t i = 0; i < 4; i++)
        peer->can_access(dev, open_sim(i), &yes[i]);
    return yes[1] == 0 && yes[2] == 1 && yes[3] == 0 &&
           peer->enable(dev, open_sim(1)) == NDP_ERR_DEVICE && last_error.native == 217 &&
           peer->enable(dev, open_sim(2)) == NDP_OK;
}

static int has_one_priority(void)
{
    int32_t low = 9, high = 9;
    streams->priority_range(dev, &low, &high);
    return low == 0 && high == 0;
}

/* A process forks while a device's thread runs; the child leaves as any program does. */
static int child_of_a_user_ends(void)
{
    int status = 1;
    ndp_mem *m = block(dev, 64);
    fill(dev, NULL, VEC(m, 4), 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        sim->close(dev);
        sim->shutdown();
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status == 0 && element(dev, m, 3) == 1;
}

static void f1_settings(void)
{
    ok(in_child("NDOCK_SIM_PRIORITIES", "1", has_one_priority), "F1: NDOCK_SIM_PRIORITIES");
    ok(in_child("NDOCK_SIM_SEED", "5", child_of_a_user_ends), "D11: shutdown in a forked child");
    ok(in_child("NDOCK_SIM_DEVICES", "2", has_two_devices), "F1: NDOCK_SIM_DEVICES");
    ok(in_child("NDOCK_SIM_MEMORY", "1048576", has_a_mebibyte), "F1: NDOCK_SIM_MEMORY");
    ok(in_child("NDOCK_SIM_MEMORY", "1048576", freed_block_makes_room),
       "F1: out of memory, alloc waits for freed blocks that queued work names, and only then");
    ok(in_child("NDOCK_SIM_PEERS", "0010,0000,1000,0000", reaches_only_2_from_0),
       "F1: NDOCK_SIM_PEERS");
}

static void f6_poison(void)
{
    ndp_mem *mem = block(dev, 1000);
    void *host = NULL;
    control->peek(dev, mem, 0, 1000, &host);
    const unsigned char *at = host;
    int good = 1;
    for (int i = 0; i < 1000; i++)
        good &= at[i] == 0xA5;
    ok(good, "F6: new memory is poison");
    sim->free(dev, mem);
    good = 1;
    for (int i = 0; i < 1000; i++)
        good &= at[i] == 0x5A;
    ok(good, "F6: freed memory is another poison");
    ndp_mem *again = block(dev, 1000);
    control->peek(dev, again, 0, 1000, &host);
    ok(host == (const void *)at, "F6: the same place is used again");
    sim->free(dev, again);
}

static void f6_red_zones(void)
{
    ndp_mem *mem = block(dev, 1000);
    uint64_t damaged = 9;
    char text[200] = "";
    unsigned char *host = NULL;
    control->peek(dev, mem, 0, 1000, (void **)&host);
    control->red_zones(dev, &damaged, text, sizeof text);
    is_int(damaged, 0, "F6: red zones are whole at first");
    memset(host, 1, 1000);
    control->red_zones(dev, &damaged, text, sizeof text);
    is_int(damaged, 0, "F6: the block itself may be written to its last byte");
    host[1000] = 1;
    control->red_zones(dev, &damaged, text, sizeof text);
    is_int(damaged, 1, "F6: one byte past the end is seen");
    has_text(text, "byte 1000 of the block of 1000", "F6: and named");
    host[1000] = 0xFD;
    host[-1] = 1;
    sim->free(dev, mem);
    control->red_zones(dev, &damaged, text, sizeof text);
    is_int(damaged, 1, "F6: one byte before the block is seen by free");
    has_text(text, "byte -1 of", "F6: and named");
}

static void f6_handles_are_reused(void)
{
    ndp_stream *a = new_stream(dev), *b;
    ndp_event *e = new_event(dev), *f;
    uint64_t id_a = 0, id_b = 0;
    control->stream_id(dev, a, &id_a);
    streams->destroy(dev, a);
    b = new_stream(dev);
    control->stream_id(dev, b, &id_b);
    ok(a == b, "F6: a stream's handle is used again at once");
    ok(id_a != id_b, "F6: its id is not");
    streams->event_destroy(dev, e);
    f = new_event(dev);
    ok(e == f, "F6: so is an event's");
    int32_t done = 0;
    streams->event_query(dev, f, &done);
    is_int(done, 1, "F6: the new event was never recorded");
    streams->event_destroy(dev, f);
    streams->destroy(dev, b);
}

/* Exit status of a child that reads the byte; its signal if it died of one. */
static int touch(const char *at)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        _exit(*(const volatile char *)at == 77 ? 1 : 0);
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void f6_host_cannot_touch(void)
{
    ndp_mem *mem = block(dev, 4096), *pinned = NULL;
    uint64_t address = 0;
    void *host = NULL;
    is_int(map->address(dev, mem, &address), NDP_OK, "F6: a block has an address");
    is_int(touch((const char *)(uintptr_t)address), SIGSEGV, "F6: the host dies of touching it");
    is_int(map->map(dev, mem, &host), NDP_ERR_UNSUPPORTED, "F6: it cannot be mapped");
    is_int(map->pin(dev, 4096, &pinned, &host), NDP_OK, "F6: pinned host memory");
    is_int(touch(host), 0, "F6: the host may touch that");
    sim->free(dev, pinned);
    sim->free(dev, mem);
}

static void f6_wrap(void)
{
    ndp_mem *mem = block(dev, 4096), *part = NULL;
    ndp_dev *d1 = open_sim(1);
    uint64_t address = 0, other = 0;
    float in[2] = {5, 6};
    map->address(dev, mem, &address);
    is_int(map->wrap(dev, address + 1024, 256, &part), NDP_OK, "an address within a block is ours");
    map->address(dev, part, &other);
    is_int(other, address + 1024, "and is kept");
    sim->write(dev, NULL, part, 4, in, 8);
    ok(element(dev, mem, 257) == 5 && element(dev, mem, 258) == 6, "both handles see one memory");
    sim->free(dev, part);
    is_int(map->wrap(d1, address, 256, &part), NDP_ERR_DEVICE, "another device refuses it");
    is_int(map->wrap(dev, address + 4000, 256, &part), NDP_ERR_DEVICE,
           "and so does its own past "
           "the end");
    sim->free(dev, mem);
}

static void memory_of_reserved(void)
{
    ndp_mem *r = NULL;
    uint64_t g = 0, before = 0, after = 0, total = 0;
    float in[4] = {1, 2, 3, 4};
    memory->granularity(dev, &g);
    is_int(g, 65536, "memory is committed in 64 KiB");
    memory->usage(dev, &before, &total);
    is_int(memory->reserve(dev, 16 * g, &r), NDP_OK, "addresses for 1 MiB");
    memory->usage(dev, &after, &total);
    is_int(after, before, "cost no memory");
    refused(memory->set_access(dev, r, 0, g), NDP_ERR_STATE, 1, "not committed");
    is_int(memory->commit(dev, r, 2 * g, 3 * g), NDP_OK, "commit");
    memory->usage(dev, &after, &total);
    is_int(before - after, 3 * g, "takes what it says");
    refused(memory->commit(dev, r, 4 * g, g), NDP_ERR_STATE, 1, "already committed");
    refused(memory->commit(dev, r, 100, g), NDP_ERR_ARGUMENT, 1, "multiples of 65536");
    is_int(memory->set_access(dev, r, 2 * g, 3 * g), NDP_OK, "set_access");
    is_int(sim->write(dev, NULL, r, 3 * g, in, sizeof in), NDP_OK, "write to it");
    ok(element(dev, r, (int64_t)(3 * g / 4) + 2) == 3, "and read it");
    is_int(memory->decommit(dev, r, 2 * g, 3 * g), NDP_OK, "decommit");
    memory->usage(dev, &after, &total);
    is_int(after, before, "gives all back");
    sim->free(dev, r);
}

static void first_fit(void)
{
    ndp_mem *a = block(dev, 4096), *b = block(dev, 4096), *c = block(dev, 4096), *again;
    uint64_t at_b = 0, at = 0;
    map->address(dev, b, &at_b);
    sim->free(dev, b);
    again = block(dev, 2000);
    map->address(dev, again, &at);
    is_int(at, at_b, "the first hole that is wide enough is taken");
    is_int(at % 512, 0, "blocks begin at multiples of 512 bytes");
    sim->free(dev, again);
    sim->free(dev, a);
    sim->free(dev, c);
}

/* f32 bits from a little generator. */
static void make_numbers(float *x, int n)
{
    uint32_t state = 12345;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)state / 65536.0f;
    }
}

static void computes_as_the_cpu(void)
{
    enum { N = 1000 };
    static float a[N], b[N], out[N];
    ndp_mem *ma = block(dev, sizeof a), *mb = block(dev, sizeof b), *mo = block(dev, sizeof out);
    make_numbers(a, N);
    make_numbers(b, N);
    b[3] = 0;
    sim->write(dev, NULL, ma, 0, a, sizeof a);
    sim->write(dev, NULL, mb, 0, b, sizeof b);
    memset(a, 0, sizeof a); /* the caller's again since write returned */
    is_int(binary(dev, NULL, NDP_OP_subtract, VEC(ma, N), (vec){mb, N - 1, N, -1}, VEC(mo, N)),
           NDP_OK, "a kernel with a negative stride");
    is_int(sim->read(dev, NULL, mo, 0, out, sizeof out), NDP_OK, "read waits for it");
    make_numbers(a, N);
    int good = 1;
    for (int i = 0; i < N; i++)
        good &= out[i] == a[i] - b[N - 1 - i];
    ok(good, "every bit is right");
    sim->free(dev, ma); /* nothing is lost: what is queued keeps them */
    sim->free(dev, mb);
    sim->free(dev, mo);
}

static void refuses_what_does_not_fit(void)
{
    ndp_mem *mem = block(dev, 64), *far = NULL;
    ndp_dev *d1 = open_sim(1);
    float x = 1;
    refused(sim->write(dev, NULL, mem, 64, &x, 4), NDP_ERR_ARGUMENT, 0, "64 to 68");
    refused(fill(dev, NULL, (vec){mem, 1, 16, 1}, 0), NDP_ERR_ARGUMENT, 0, "fill on sim:0");
    far = block(d1, 64);
    refused(binary(dev, NULL, NDP_OP_add, VEC(mem, 4), VEC(far, 4), VEC(mem, 4)), NDP_ERR_DEVICE, 0,
            "peer access is not enabled");
    peer->enable(dev, d1);
    is_int(fill(d1, NULL, VEC(far, 4), 2), NDP_OK, "the peer fills its block");
    sim->sync(d1, NULL);
    is_int(binary(dev, NULL, NDP_OP_add, VEC(far, 4), VEC(far, 4), VEC(mem, 4)), NDP_OK,
           "F1: with peer access a kernel may use it");
    ok(element(dev, mem, 3) == 4, "F1: and computes from it");
    is_int(peer->copy(d1, NULL, far, 0, dev, mem, 32, 16), NDP_OK, "F1: peer copy");
    sim->sync(d1, NULL);
    ok(element(dev, mem, 9) == 2, "F1: arrives");
    sim->free(dev, mem);
    sim->free(d1, far);
}

static void start_here(void)
{
    start();
    ok(sim->group(dev, "nothing/1") == NULL, "F1: an unknown group is absent");
}

TAP_MAIN({"settings", f1_settings}, {"start", start_here}, {"devices", f1_devices},
         {"streams", f1_streams_and_peers}, {"poison", f6_poison}, {"zones", f6_red_zones},
         {"handles", f6_handles_are_reused}, {"touch", f6_host_cannot_touch}, {"wrap", f6_wrap},
         {"reserved", memory_of_reserved}, {"first_fit", first_fit}, {"cpu", computes_as_the_cpu},
         {"refused", refuses_what_does_not_fit}, {"finish", finish})
