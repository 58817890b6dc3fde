/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * D13: access of one GPU's kernels to another's memory, on machines that promise it and do not keep
 * it. Two devices of a driver that only pretends; each machine is a process of its own. */
#include <ndock/ndock.h>
#include <ndock/plugin.h>
#include "tests/cuda/stubs.h"

/* ---- the process that looks ---- */
static int count(const char *name)
{
    return counted("libcuda.so.1", name);
}

static nd_device *devices[2];
static ndp_dev *devs[2];
static const ndp_peer_1 *peer;

static int open_both(void)
{
    const void *table = NULL;
    char name[] = "cuda:0";
    for (int i = 0; i < 2; i++) {
        name[5] = (char)('0' + i);
        if (nd_device_get(name, &devices[i]) != ND_OK ||
            nd_device_group(devices[i], "ndp.peer/1", &table, &devs[i]) != ND_OK || !table) {
            printf("cannot begin: %s\n", nd_last_error()->message);
            return 0;
        }
    }
    peer = table;
    return 1;
}

static void enable(int from, int to)
{
    const int32_t status = peer->enable(devs[from], devs[to]);
    int32_t can = -1;
    (void)!peer->can_access(devs[from], devs[to], &can);
    printf("%d to %d: %s, can %d, on %d, off %d, moves %d|%s\n", from, to, nd_status_name(status),
           (int)can, count("stub_peers_on"), count("stub_peers_off"), count("stub_moves"),
           status == NDP_OK ? "" : nd_last_error()->message);
}

static int copies(void)
{
    enum { N = 100000 };
    static float in[N], out[N];
    const int64_t n = N;
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &n};
    nd_array *a = NULL, *there = NULL;
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    int good = nd_from_host(&layout, in, devices[0], &a) == ND_OK &&
               nd_copy(a, devices[1], &there) == ND_OK &&
               nd_to_host(there, out, sizeof out) == ND_OK && memcmp(in, out, sizeof in) == 0;
    nd_release(a);
    nd_release(there);
    return good;
}

static int look(void)
{
    if (!open_both())
        return 1;
    printf("%s|on %d\n", copies() ? "copies" : "does not copy", count("stub_peers_on"));
    enable(0, 1);
    enable(0, 1);
    enable(1, 0);
    printf("%s\n", copies() ? "still copies" : "copies no more");
    return 0;
}

/* ---- the one that judges ---- */
#define TWO "STUB_CUDA_COUNT=2", "STUB_CUDA_WORKS=1", "STUB_CUDA_MEMORY=1"

static void sound(void)
{
    ask(MACHINE(TWO), NO_NVML);
    has_text(answer, "copies|on 0\n", "D13 copies need no access of kernels");
    has_text(answer, "0 to 1: ND_OK, can 1, on 1, off 0, moves 4|\n0 to 1: ND_OK, can 1, on 1, ",
             "D13 it is switched on once, after two sizes went there and back");
    has_text(answer, "1 to 0: ND_OK, can 1, on 2, off 0, moves 8|", "D13 each way by itself");
}

/* The n-th of the four moves is harmed: 64 KiB there and back, 64 MiB there and back. */
static void unsound(void)
{
    static char *const harm[] = {"STUB_HARM=1", "STUB_HARM=2", "STUB_HARM=3", "STUB_HARM=4"};
    char first[120], again[120], other[120];
    for (int n = 1; n <= 4; n++) {
        ask(MACHINE(TWO, harm[n - 1]), NO_NVML);
        snprintf(first, sizeof first, "\n0 to 1: ND_ERR_UNSUPPORTED, can 0, on 1, off 1, moves %d|",
                 n);
        snprintf(again, sizeof again, "\n0 to 1: ND_ERR_UNSUPPORTED, can 0, on 1, off 2, moves %d|",
                 n);
        snprintf(other, sizeof other, "\n1 to 0: ND_OK, can 1, on 2, off 2, moves %d|", n + 4);
        has_text(answer, first, "D13 one bit that is harmed on the way: it is switched off again");
        has_text(answer, "a self-test read back other bytes than were written", "D13 and says why");
        has_text(answer, again, "D13 it stays off, untested");
        has_text(answer, other, "D13 the other way round is another matter");
        has_text(answer, "\nstill copies", "D13 copies are as before");
    }
}

int main(int argc, char **argv)
{
    static const tap_case cases[] = {{"sound", sound}, {"unsound", unsound}};
    if (argc > 1 && strcmp(argv[1], "--look") == 0)
        return look();
    return stubs_main(argc, argv, cases, (int)(sizeof cases / sizeof cases[0]));
}
