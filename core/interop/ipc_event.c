/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Events shared with other processes: what a handle says, and whose event it is. */
#include <ndock/peer.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "core/interop/lease.h"

/* What is in the bytes. */
typedef struct {
    char magic[8]; /* "ndevt 1" */
    uint64_t sum;  /* of all that follows */
    int64_t pid;
    char lease[ND_LEASE_NAME], plugin[ND_IPC_PLUGIN], device[ND_IPC_DEVICE]; /* its unique id */
    unsigned char event[NDP_IPC_BYTES];
} contents;
_Static_assert(sizeof(contents) <= ND_IPC_EVENT_BYTES, "a handle has room for what it says");
static const char magic[8] = "ndevt 1";

static uint64_t sum_of(const contents *c)
{
    return nd__ipc_sum((const unsigned char *)c + offsetof(contents, pid),
                       sizeof *c - offsetof(contents, pid));
}

/* Of an exported event: nobody can import it any more. Of an imported one: one user less. */
static void owner_gone(void *lease)
{
    nd__lease_end(lease);
    nd__lease_drop(lease);
}

static void user_gone(void *lease)
{
    nd__lease_drop(lease);
}

static nd_status check_export(const char *op, const nd_event *e)
{
    const nd_device *d = e->device;
    if (!d->has_ipc || !d->ipc.event)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0,
                        "events of %s cannot be named for other processes; wait for it "
                        "(nd_event_synchronize) and tell them",
                        d->name);
    if (!(e->flags & ND_EVENT_INTERPROCESS))
        return nd__fail(ND_ERR_ARGUMENT, op, 0, "the event was made without ND_EVENT_INTERPROCESS");
    return e->let_go != user_gone
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_STATE, op, 0,
                          "the event is another process's; pass on its handle instead");
}

nd_status nd_event_export(nd_event *event, nd_event_handle *handle)
{
    static const char op[] = "event_export";
    contents c = {.sum = 0};
    nd_status status = ND_OK;
    ND_NEED(op, 1, handle);
    memset(handle, 0, sizeof *handle);
    ND_NEED(op, 0, event);
    nd_device *d = event->device;
    ND_RETURN_IF(nd__usable(d, op));
    ND_RETURN_IF(check_export(op, event));
    pthread_mutex_lock(&event->lock);
    if (!event->let_go) {
        nd_lease *lease = NULL;
        status = nd__lease_make(op, &lease);
        event->let_go = status == ND_OK ? owner_gone : NULL;
        event->let_go_ctx = lease;
    }
    if (status == ND_OK)
        status = d->ipc.event(d->dev, event->handle, c.event);
    if (status == ND_OK)
        snprintf(c.lease, sizeof c.lease, "%s", nd__lease_name(event->let_go_ctx));
    else
        nd__error_context(op, d->name, d->slot->name);
    pthread_mutex_unlock(&event->lock);
    if (status != ND_OK)
        return status;
    memcpy(c.magic, magic, sizeof magic);
    c.pid = getpid();
    snprintf(c.plugin, sizeof c.plugin, "%s", d->slot->name);
    snprintf(c.device, sizeof c.device, "%s", d->info.unique_id);
    c.sum = sum_of(&c);
    memcpy(handle->bytes, &c, sizeof c);
    return ND_OK;
}

static nd_status read_handle(const char *op, const nd_event_handle *handle, contents *c)
{
    memcpy(c, handle->bytes, sizeof *c);
    if (memcmp(c->magic, magic, sizeof magic) != 0 || c->sum != sum_of(c) ||
        !nd__ipc_is_named(c->lease, c->plugin, c->device))
        return nd__fail(ND_ERR_ARGUMENT, op, 0,
                        "these bytes are no handle of nd_event_export, or of another version");
    return c->pid != getpid()
               ? (nd_status)ND_OK
               : nd__fail(ND_ERR_STATE, op, 0,
                          "this process has exported the event itself, and can use that");
}

nd_status nd_event_import(const nd_event_handle *handle, nd_event **out)
{
    static const char op[] = "event_import";
    contents c;
    nd_device *d;
    nd_lease *lease = NULL;
    ndp_event *opened = NULL;
    ND_OUT(op, 1, out, NULL);
    ND_NEED(op, 0, handle);
    ND_RETURN_IF(read_handle(op, handle, &c));
    ND_RETURN_IF(nd__ipc_device(op, c.plugin, c.device, &d));
    if (!d->ipc.event_open)
        return nd__fail(ND_ERR_UNSUPPORTED, op, 0, "the plug-in of %s opens no events of others",
                        d->name);
    ND_RETURN_IF(nd__lease_take(op, c.lease, &lease));
    nd_status status = d->ipc.event_open(d->dev, c.event, &opened);
    if (status != ND_OK)
        nd__error_context(op, d->name, d->slot->name);
    else if ((status = nd__event_wrap(op, d, opened, user_gone, lease, out)) != ND_OK)
        d->stream.event_destroy(d->dev, opened);
    if (status != ND_OK)
        nd__lease_drop(lease);
    return status;
}
