/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group B: host tables of other sizes, in memory that only reads, and hosts that offer less. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "load.h"

static void poisoned(void)
{
    abi_fail("the plug-in calls a function that lies beyond the size of the host's table");
    abi_end();
}

typedef struct {
    uint32_t size;
    const char *what;
    bool may_refuse;
} host_size;

/* A life with a host table of size bytes, what lies behind it being poison, on a page of its own
 * that cannot be written. */
static void live_with(void *arg)
{
    const host_size *h = arg;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void (*poison)(void) = poisoned;
    char why[512] = "";
    uint32_t count = 0;
    char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    abi_need(p != MAP_FAILED, "conform-abi itself has no memory: %s", strerror(errno));
    for (size_t i = 0; i + sizeof poison <= page; i += sizeof poison)
        memcpy(p + i, &poison, sizeof poison);
    memcpy(p, &abi_host, h->size < sizeof abi_host ? h->size : sizeof abi_host);
    memcpy(p, &h->size, sizeof h->size);
    mprotect(p, page, PROT_READ);
    abi.table = abi_entry(abi.file)((const ndp_host *)(void *)p);
    if (!abi.table) {
        abi_expect(h->may_refuse, "%s: its entry refuses: %s", h->what, abi_error_text());
        abi_expect(abi_error_text()[0] != 0, "%s: its entry refuses without a text", h->what);
        return;
    }
    memcpy(&abi.p, abi.table, abi.table->size < sizeof abi.p ? abi.table->size : sizeof abi.p);
    int32_t status = abi.p.probe(&count, why, sizeof why);
    if (status == NDP_OK && count > 0)
        abi_life(h->may_refuse);
    else
        abi_expect(why[0] || abi_error_text()[0], "%s: probe finds nothing and says no reason",
                   h->what);
    abi.p.shutdown();
}

void abi_check_host_truncated(void)
{
    host_size sizes[] = {
        {NDP_END(ndp_host, free), "a host without param, reclaim, plugin and service", true},
        {NDP_END(ndp_host, param), "a host without reclaim, plugin and service", true},
        {NDP_END(ndp_host, reclaim), "a host without plugin and service", true},
        {NDP_END(ndp_host, plugin), "a host without service", true}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        abi_child_must_end(live_with, &sizes[i], sizes[i].what);
}

void abi_check_host_extended(void)
{
    host_size longer = {NDP_END(ndp_host, service) + 64, "a host with eight more slots", false};
    abi_child_must_end(live_with, &longer, longer.what);
}

void abi_check_host_constant(void)
{
    host_size same = {NDP_END(ndp_host, service), "a host whose table cannot be written", false};
    abi_child_must_end(live_with, &same, same.what);
}

static void live_without(void *arg)
{
    host_size same = {NDP_END(ndp_host, service), arg, true};
    live_with(&same);
}

void abi_check_no_services(void)
{
    static char services[] = "a host without services", plugins[] = "a host without other plug-ins";
    abi_no_services = true;
    abi_child_must_end(live_without, services, services);
    abi_no_services = false;
    abi_no_plugins = true;
    abi_child_must_end(live_without, plugins, plugins);
}
