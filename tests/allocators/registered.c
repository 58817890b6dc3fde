/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * P7: memory of the program's own, page-locked for a simulated device for a while. */
#include "tests/stream/lab.h"

enum { N = 1000 };

static nd_array *over(float *host, int64_t n)
{
    const nd_layout layout = {.size = sizeof layout, .dtype = ND_F32, .ndim = 1, .shape = &n};
    nd_device *cpu = NULL;
    nd_array *a = NULL;
    must(nd_device_get("cpu", &cpu));
    must(nd_wrap(&layout, host, cpu, NULL, NULL, &a));
    return a;
}

static const nd_copy_opts at_once = {.size = sizeof at_once, .non_blocking = 1};

static uint64_t pending(sim d)
{
    uint64_t n = 0;
    must(d.c->pending(d.dev, NDSIM_ANY, &n));
    return n;
}

static void to_device(void)
{
    sim d = open_sim(0);
    float *host = calloc(N, sizeof *host);
    int32_t yes = -1;
    must(nd_host_is_pinned(d.d, host, &yes));
    is_int(yes, 0, "P7: ordinary memory is not pinned");
    is_int(nd_host_register(d.d, host, N * sizeof *host), ND_OK, "P7: until it is registered");
    must(nd_host_is_pinned(d.d, host + N - 1, &yes));
    is_int(yes, 1, "P7: then all of it is");
    nd_array *a = over(host + 10, 40), *there = vector(d.d, 40, 0);
    is_int(nd_is_pinned(a), 1, "P7: an array over a part of it is pinned");
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    must(nd_synchronize(d.d));
    must(d.c->set_mode(d.dev, NDSIM_STEPPED));
    is_int(nd_copy_to(a, there, &at_once), ND_OK, "P7: a copy that does not wait");
    ok(pending(d) > 0, "P7: is still to come");
    is_int(nd_host_unregister(d.d, host), ND_ERR_STATE, "P7: not while an array is over it");
    has_text(nd_last_error()->message, "1 arrays", "with their number");
    nd_release(a);
    ok(pending(d) > 0, "P7: the array's end does not wait either");
    is_int(nd_host_unregister(d.d, host), ND_OK, "P7: but unregistering does");
    is_int(pending(d), 0, "P7: for the copy");
    must(nd_host_is_pinned(d.d, host, &yes));
    is_int(yes, 0, "P7: and the memory is ordinary again");
    must(d.c->set_mode(d.dev, NDSIM_AUTO));
    memset(host, 0, N * sizeof *host);
    free(host);
    ok(first_of(there) == 10, "P7: what was there has arrived");
    nd_release(there);
}

static void from_device(void)
{
    static float host[50];
    sim d = open_sim(0);
    nd_array *there = vector(d.d, 50, 3), *a;
    must(nd_host_register(d.d, host, sizeof host));
    a = over(host, 50);
    must(nd_synchronize(d.d));
    must(d.c->set_cost(d.dev, 1000, 20000));
    is_int(nd_copy_to(there, a, &at_once), ND_OK, "P7: a copy to the host at once");
    ok(first_of(a) == 3, "P7: is waited for by who reads it");
    for (int i = 0; i < 100; i++)
        must(nd_copy_to(there, a, &at_once));
    must(d.c->set_cost(d.dev, 1000, 0));
    nd_release(a);
    nd_release(there);
    is_int(nd_host_unregister(d.d, host), ND_OK, "P7: a hundred more copies");
}

static void refused(void)
{
    static float host[100];
    nd_device *cpu = NULL;
    sim d = open_sim(1);
    must(nd_device_get("cpu", &cpu));
    is_int(nd_host_register(d.d, NULL, 100), ND_ERR_ARGUMENT, "P7: NULL is refused");
    is_int(nd_host_register(d.d, host, 0), ND_ERR_ARGUMENT, "P7: and no bytes");
    is_int(nd_host_register(cpu, host, 100), ND_ERR_UNSUPPORTED, "P7: and the CPU");
    is_int(nd_host_unregister(d.d, host), ND_ERR_ARGUMENT, "P7: and what was not registered");
    must(nd_host_register(d.d, host, 200));
    is_int(nd_host_register(d.d, host + 40, 200), ND_ERR_ARGUMENT, "P7: and what overlaps");
    has_text(nd_last_error()->message, "registered already", "with the reason");
    is_int(nd_host_unregister(d.d, host + 1), ND_ERR_ARGUMENT, "P7: it ends as it began");
    nd_array *a = over(host, 100);
    is_int(nd_is_pinned(a), 0, "P7: an array that goes past the end is not pinned");
    nd_release(a);
    must(d.c->fail_call(d.dev, "register_host", 1, NDP_ERR_MEMORY, 2));
    is_int(nd_host_register(d.d, host + 60, 40), ND_ERR_MEMORY, "P7: the device says no");
    is_int(nd_host_register(d.d, host + 60, 40), ND_OK, "P7: nothing of that is left");
    is_int(nd_host_unregister(d.d, host + 60), ND_OK, "one");
    is_int(nd_host_unregister(d.d, host), ND_OK, "and the other");
}

TAP_MAIN({"to", to_device}, {"from", from_device}, {"refused", refused})
