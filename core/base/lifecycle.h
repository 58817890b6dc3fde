/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a layer tells those above it, which it does not know: each function here calls the rows of
 * core/lib/lifecycle.def for its event, in their order. They are the only way up. */
#ifndef NDOCK_CORE_LIFECYCLE_H
#define NDOCK_CORE_LIFECYCLE_H
#include <stdbool.h>
#include <ndock/ndock.h>

struct nd_plugin_slot;
struct nd_thread;

/* The library is used for the first time in this process. */
void nd__on_first_use(void);
/* A plug-in's table is there and none of its devices is open. */
void nd__on_plugin_loaded(const struct nd_plugin_slot *slot);
/* A device was opened and is not listed yet. An error of a row closes it again. */
nd_status nd__on_device_opened(nd_device *device);
/* A stream gets no more work; its handle still works. */
void nd__on_stream_retired(nd_stream *stream);
/* A thread ends, and what it has of its own goes. */
void nd__on_thread_ended(struct nd_thread *thread);
/* A device's driver has no memory left. True if some was given back. */
bool nd__on_memory_wanted(nd_device *device);
/* A plug-in asks for the service of that name; NULL: there is none. */
const void *nd__on_service_asked(const char *id);

#endif
