/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Every collective between simulated devices of one process, with all that their plug-in has, and
 * with so little of it that the core makes the rest (NDOCK_SIM_COMM, in the
 * runs that derived.sh makes). argv[1]: other devices than sim's, as many as there are. */
#include "tests/comm/matrix.h"
#include <unistd.h>

static int count_devices(const char *kind)
{
    nd_device *device;
    char name[16];
    int n = 0;
    do
        snprintf(name, sizeof name, "%s:%d", kind, n);
    while (nd_device_get(name, &device) == ND_OK && ++n < 4);
    return n;
}

static void with_ranks(const char *kind, int n)
{
    nd_device *devices[MOST_RANKS] = {0};
    nd_comm *comms[MOST_RANKS] = {0};
    char name[16];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s:%d", kind, i);
        fine(nd_device_get(name, &devices[i]));
    }
    fine(nd_comm_local(n, devices, comms));
    const char *only = getenv("NDOCK_SIM_COMM"); /* messages are made of nothing */
    run_matrix(comms, n, getenv("NDOCK_TEST_SLICE") || n != 3 ? 7 : 1,
               only && !strstr(only, "send") ? RING : COLLECTIVES);
    for (int i = 0; i < n; i++)
        nd_comm_release(comms[i]);
}

int main(int argc, char **argv)
{
    const char *only = getenv("NDOCK_SIM_COMM"), *kind = argc > 1 ? argv[1] : "sim";
    int count = 4;
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(600);
    if (argc > 1)
        count = count_devices(kind);
    if (count > 2)
        with_ranks(kind, 3);
    if (!only)
        for (int n = 1; n <= count && n <= 4; n += n == 2 ? 2 : 1)
            with_ranks(kind, n);
    printf("1..%d\n", tap_count);
    return tap_failures != 0;
}
