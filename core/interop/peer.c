/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices that reach each other's memory. */
#include <ndock/peer.h>
#include "core/interop/interop.h"

static nd_status check_devices(const char *op, nd_device *device, nd_device *peer)
{
    ND_NEED(op, 0, device);
    ND_NEED(op, 1, peer);
    ND_RETURN_IF(nd__usable(device, op));
    return nd__usable(peer, op);
}

static bool has_peers(const nd_device *device, const nd_device *peer)
{
    return device->slot == peer->slot && device->peer.can_access && device->peer.enable;
}

nd_status nd_device_can_access_peer(nd_device *device, nd_device *peer, int32_t *yes)
{
    static const char op[] = "device_can_access_peer";
    ND_OUT(op, 2, yes, 0);
    ND_RETURN_IF(check_devices(op, device, peer));
    *yes = device == peer;
    if (device == peer || !has_peers(device, peer))
        return ND_OK;
    const nd_status status = device->peer.can_access(device->dev, peer->dev, yes);
    if (status != ND_OK)
        nd__error_context(op, device->name, device->slot->name);
    return status;
}

nd_status nd_device_enable_peer(nd_device *device, nd_device *peer)
{
    static const char op[] = "device_enable_peer";
    ND_RETURN_IF(check_devices(op, device, peer));
    if (device == peer)
        return ND_OK;
    if (!has_peers(device, peer))
        return nd__fail(ND_ERR_UNSUPPORTED, op, 1,
                        "kernels of %s cannot use the memory of %s; copy with nd_to_device",
                        device->name, peer->name);
    const nd_status status = device->peer.enable(device->dev, peer->dev);
    if (status != ND_OK)
        nd__error_context(op, device->name, device->slot->name);
    return status;
}
