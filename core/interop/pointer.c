/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What devices know of addresses: nd_ptr_info, and whose memory an address is. */
#include <stdio.h>
#include "core/interop/interop.h"

/* One plug-in's answer, translated. */
static nd_status ask(const char *op, nd_device *via, uint64_t address, nd_pointer_info *out)
{
    ndp_pointer_info info = {.size = sizeof info};
    char name[80];
    nd_device *device = via;
    nd_status status = nd__usable(via, op);
    if (status == ND_OK)
        status = via->pointer.info(via->dev, address, &info);
    if (status == ND_OK && info.index != via->index) {
        snprintf(name, sizeof name, "%s:%u", via->slot->name, info.index);
        status = nd_device_get(name, &device);
    }
    if (status != ND_OK) {
        nd__error_context(op, via->name, via->slot->name);
        return status;
    }
    *out = (nd_pointer_info){.size = out->size,
                             .managed = (info.flags & NDP_POINTER_MANAGED) != 0,
                             .host_accessible = info.host_address != 0,
                             .device_accessible = info.device_address != 0,
                             .device = device,
                             .device_address = info.device_address,
                             .host_address = info.host_address,
                             .base = info.base,
                             .nbytes = info.nbytes,
                             .context = info.context};
    return ND_OK;
}

static bool answers(const nd_device *d)
{
    return d && d->pointer.info && !d->host_visible;
}

/* One device of each plug-in that is open and can be asked, the current one's first. */
enum { MOST = 32 };
static int candidates(nd_device **out)
{
    nd_device *all[MOST];
    int n = 0, n_all = 1 + nd__open_devices(all + 1, MOST - 1);
    if (nd_device_current(&all[0]) != ND_OK)
        all[0] = NULL;
    for (int i = 0; i < n_all; i++) {
        bool known = !answers(all[i]);
        for (int k = 0; k < n && !known; k++)
            known = out[k]->slot == all[i]->slot;
        if (!known)
            out[n++] = all[i];
    }
    return n;
}

/* CUDA's is opened for an address that nobody else knows: it may be another library's. */
static bool open_cuda(nd_device *const *asked, int n, nd_device **out)
{
    int32_t state = ND_AVAILABLE_NO;
    for (int i = 0; i < n; i++)
        if (strcmp(asked[i]->slot->name, "cuda") == 0)
            return false;
    return nd_device_available("cuda", ND_PROBE_COUNT, &state) == ND_OK &&
           state != ND_AVAILABLE_NO && nd_device_get("cuda", out) == ND_OK && answers(*out);
}

/* *found: a device knows the address, or failed to look. */
static nd_status search(const char *op, uint64_t address, nd_pointer_info *out, bool *found)
{
    nd_device *d[MOST + 1];
    int n = candidates(d);
    *found = true;
    for (int i = 0; i < n; i++) {
        nd_status status = ask(op, d[i], address, out);
        if (status != ND_ERR_ARGUMENT)
            return status;
    }
    nd_status status = open_cuda(d, n, &d[n]) ? ask(op, d[n], address, out) : ND_ERR_ARGUMENT;
    *found = status != ND_ERR_ARGUMENT;
    return *found ? status : (nd_status)ND_OK;
}

nd_status nd_ptr_info(uint64_t address, nd_device *device, nd_pointer_info *out)
{
    static const char op[] = "ptr_info";
    bool found;
    if (!out || out->size < NDP_END(nd_pointer_info, context))
        return nd__fail(ND_ERR_ARGUMENT, op, 2,
                        "the result is NULL, or its size field is not sizeof(nd_pointer_info)");
    if (address == 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "address 0 is no memory");
    if (device && !device->pointer.info)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 1, "%s knows nothing of addresses", device->name);
    if (device)
        return ask(op, device, address, out);
    ND_RETURN_IF(search(op, address, out, &found));
    if (found)
        return ND_OK;
    ND_RETURN_IF(nd__cpu_device(&device));
    return device->pointer.info
               ? ask(op, device, address, out)
               : nd__fail(ND_ERR_UNSUPPORTED, op, 0, "no device here knows anything of 0x%llx",
                          (unsigned long long)address);
}

nd_status nd__device_of_address(const char *op, uint64_t address, nd_device **out)
{
    nd_pointer_info info = {.size = sizeof info};
    bool found;
    *out = NULL;
    ND_RETURN_IF(search(op, address, &info, &found));
    if (!found)
        return nd__fail(ND_ERR_DEVICE, op, 0,
                        "0x%llx is memory of no device here; name the device, or copy host memory "
                        "with nd_from_host",
                        (unsigned long long)address);
    *out = info.device;
    return ND_OK;
}
