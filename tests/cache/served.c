/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in that uses the services of the core, and shows as many devices as MOCK_VISIBLE_DEVICES
 * says. The rest of it is tests/loader/tier0.c. */
#include "tests/cache/served.h"

static int32_t visible_count(uint32_t *count, char *why, size_t n);
static const void *served_group(ndp_dev *dev, const char *id);
#define MOCK_NAME "served"
#define MOCK_SIZE sizeof(ndp_plugin)
#define MOCK_COUNT visible_count
#define MOCK_GROUP served_group
#include "tests/loader/tier0.c"

static int32_t visible_count(uint32_t *count, char *why, size_t n)
{
    const ndh_visible_1 *visible = host->service(host->ctx, "ndh.visible/1");
    int32_t shown[2], shown_count;
    int32_t status =
        visible->parse(host->ctx, getenv("MOCK_VISIBLE_DEVICES"), 2, NULL, shown, &shown_count);
    *count = status == NDP_OK && shown_count > 0 ? (uint32_t)shown_count : 0;
    snprintf(why, n, "MOCK_VISIBLE_DEVICES=%s shows none", getenv("MOCK_VISIBLE_DEVICES"));
    return status;
}

static int made, destroyed;

static int32_t make_plan(void *arg, void **value, uint64_t *nbytes)
{
    *value = arg;
    *nbytes = 100;
    made++;
    return NDP_OK;
}

static void destroy_plan(void *value)
{
    (void)value;
    destroyed++;
}

static int32_t plans(ndp_dev *dev)
{
    const ndh_plan_1 *service = host->service(host->ctx, "ndh.plan/1");
    ndh_plan *p;
    void *value;
    struct ndp_dev stranger = {9};
    if (!service || service->size < NDP_END(ndh_plan_1, clear))
        return 1;
    for (int i = 0; i < 3; i++) {
        if (service->acquire(host->ctx, dev, "fft", 3, make_plan, destroy_plan, &made, &p,
                             &value) != NDP_OK ||
            value != &made)
            return 2;
        service->release(host->ctx, p, NULL);
    }
    if (made != 1 || destroyed != 0)
        return 3;
    service->clear(host->ctx, dev);
    if (destroyed != 1)
        return 4;
    service->release(host->ctx, NULL, NULL);
    return service->acquire(host->ctx, &stranger, "fft", 3, make_plan, destroy_plan, NULL, &p,
                            &value) == NDP_ERR_DEVICE
               ? 0
               : 5;
}

static int32_t compile_text(void *arg, ndh_compiled *out)
{
    ++*(int *)arg;
    out->code = host->alloc(host->ctx, 4, 1);
    memcpy(out->code, "code", 4);
    out->nbytes = 4;
    return NDP_OK;
}

static int32_t kernels(ndp_dev *dev)
{
    const ndh_kernel_1 *service = host->service(host->ctx, "ndh.kernel/1");
    const ndh_kernel_key key = {.size = sizeof key, .source = "k", .arch = "mock"};
    ndh_code *handle;
    const void *code;
    uint64_t n;
    int runs = 0;
    char log[8];
    (void)dev;
    for (int i = 0; i < 2; i++) {
        if (service->get(host->ctx, &key, 0, compile_text, &runs, &handle, &code, &n) != NDP_OK ||
            n != 4 || memcmp(code, "code", 4) != 0)
            return 1;
        service->release(host->ctx, handle);
    }
    service->release(host->ctx, NULL);
    if (service->log(host->ctx, &key, log, sizeof log) != NDP_ERR_ARGUMENT)
        return 2;
    return runs == 1 ? 0 : 3;
}

static int32_t workspaces(ndp_dev *dev)
{
    const ndh_workspace_1 *service = host->service(host->ctx, "ndh.workspace/1");
    ndh_workspace *w;
    ndp_mem *mem[2] = {NULL};
    uint64_t offset, n;
    int handle;
    for (int i = 0; i < 2; i++) {
        if (service->acquire(host->ctx, dev, &handle, NULL, 3000, &w, &mem[i], &offset) != NDP_OK)
            return 1;
        if (in_bounds(mem[i], offset, 3000) != NDP_OK)
            return 2;
        service->release(host->ctx, w);
    }
    if (mem[0] != mem[1])
        return 3;
    service->handle_gone(host->ctx, dev, &handle);
    if (service->parse(host->ctx, ":1:2", &n) != NDP_OK || n != 2048)
        return 4;
    return service->default_nbytes(host->ctx, 9) == 32 << 20 ? 0 : 5;
}

static int32_t others(ndp_dev *dev)
{
    (void)dev;
    return host->service(host->ctx, "ndh.plan/2") || host->service(host->ctx, NULL) ||
           !host->service(host->ctx, "ndh.library/1");
}

static const void *served_group(ndp_dev *dev, const char *id)
{
    static const served_1 group = {.size = sizeof group,
                                   .plans = plans,
                                   .kernels = kernels,
                                   .workspaces = workspaces,
                                   .others = others};
    (void)dev;
    return strcmp(id, "test.served/1") == 0 ? &group : NULL;
}
