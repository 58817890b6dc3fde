/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Plug-ins and their devices as the layers above see them. How a file becomes a device is in
 * loader.h. */
#ifndef NDOCK_CORE_DEVICE_H
#define NDOCK_CORE_DEVICE_H
#include "core/model/model.h"
#include "core/plugin/note.h"

typedef struct nd_plugin_slot nd_plugin_slot;
typedef struct nd_kernel_node nd_kernel_node;
typedef struct nd_event_pool nd_event_pool;
typedef struct nd_stream_end nd_stream_end;
#define ND_KERNEL_BUCKETS 1024

struct nd_device {
    nd_plugin_slot *slot;
    ndp_plugin p; /* the plug-in's table; absent slots are NULL */
    ndp_dev *dev;
    uint32_t index;
    nd_dl_device dl; /* as DLPack names it */
    int ordinal;     /* position among opened devices, for per-thread caches */
    char name[80];
    ndp_device_info info;
    bool host_visible, async, is_cpu;
    bool has_op, has_stream, has_graph, has_peer, has_code, has_comm, has_fused, has_ipc;
    ndp_op_1 op;
    ndp_map_1 map;
    ndp_info_1 facts;
    ndp_stream_1 stream; /* all absent slots NULL; has_stream: the group is whole */
    ndp_memory_1 memory;
    ndp_peer_1 peer;
    ndp_graph_1 graph;
    ndp_code_1 code;
    ndp_fused_1 fused;
    ndp_pool_1 pool;
    ndp_pointer_1 pointer;
    ndp_comm_1 comm;
    ndp_ipc_1 ipc;
    nd_stream *stream0;  /* the default stream */
    nd_stream *streams;  /* all live ones; under stream_lock */
    nd_stream_end *ends; /* end markers of destroyed streams whose work is unfinished; under
                            stream_lock */
    nd_event_pool *events;
    atomic_int captures; /* begun on its streams and not ended */
    atomic_int noted;    /* its streams that are in captures; one more where it is asynchronous */
    atomic_int lost;     /* ND_ERR_LOST once the device is; lost_text then never changes */
    char lost_text[512];
    int64_t lost_native;
    pthread_mutex_t stream_lock;
    _Atomic(nd_kernel_node *) kernels[ND_KERNEL_BUCKETS];
    /* The same nodes again, of dense elementwise calls and whole reductions, by op, dtype and which
     * operand is a scalar (0: none, else from 1): no key to compute. */
    _Atomic(nd_kernel_node *) dense[NDP_OP_END][ND_DTYPE_END][3];
    pthread_mutex_t kernel_lock;
    _Atomic(struct nd_backend *) backend; /* of new blocks; read it through nd__device_backend */
    nd_device *next, *next_opened;        /* of its plug-in; of all, newest first */
};

struct nd_plugin_slot {
    const char *path, *name, *version; /* texts are nd__text_keep's or static */
    const char *real;                  /* the path without symbolic links; "": not examined */
    const char *reason, *state, *source;
    const struct nd_plugin_slot *winner; /* which is taken in its place */
    void *handle;
    int phase, rank;   /* ND_SLOT_*, ND_SOURCE_*: loader.h */
    int32_t priority;  /* of the note, or of plugins.d */
    uint32_t round;    /* of the last walk by priority that saw it */
    bool examined;     /* what can be known without running code of it is */
    bool is_place;     /* a folder or an entry of a list, no file */
    bool named;        /* the user named this file, not its folder */
    bool preferred;    /* by + in NDOCK_PLUGIN_PATH */
    bool has_priority; /* of plugins.d */
    bool has_note;
    uint64_t st_dev, st_ino;
    nd_note_file file; /* what was read of it before it was opened */
    ndp_host host;
    const ndp_plugin *table; /* the plug-in's own; NULL until loaded */
    ndp_plugin p;            /* our copy, zero-extended */
    uint32_t device_count;
    _Atomic(nd_device *) devices; /* opened ones; added to under the registry's lock */
    nd_plugin_slot *next;
};

/* The registry's lock is held while plug-ins are loaded and probed and devices opened. */
nd_status nd__registry_slot(
    const char *name,
    nd_plugin_slot **out); /* loaded slot by plug-in name, NULL if there is none */
/* Of a loaded plug-in; opened on first use. */
nd_status nd__slot_device(nd_plugin_slot *slot, uint32_t index, nd_device **out);
int nd__open_devices(nd_device **out, int n);     /* how many of them were written; at most n */
nd_device *nd__device_opened_as(nd_dl_device dl); /* NULL if none is; for CUDA and OpenCL */
nd_status nd__cpu_device(
    nd_device **out); /* the CPU plug-in's device; the error names the paths tried */
void nd__host_init(nd_plugin_slot *slot);
nd_device *nd__or_current(nd_device *device, nd_status *status);
/* Of the thread's current device if it is this plug-in's, else 0. */
uint32_t nd__current_index(const nd_plugin_slot *slot);
bool nd__forked(void); /* this process is a forked child of the one that loaded plug-ins */
/* The device is lost, or the parent's of this forked child: nothing is asked of it, frees are
 * silent. */
static inline bool nd__out_of_reach(nd_device *d)
{
    return atomic_load_explicit(&d->lost, memory_order_acquire) ||
           (nd__forked() && !d->host_visible);
}

/* ---- watch.c ---- */
/* Called before anything blocks: counts, warns, or refuses by the thread's sync watch. */
nd_status nd__may_wait(int32_t reason, nd_device *device, const char *op);
/* Something slow that is not a wait happened (device memory, module load): counted and warned of,
 * never refused. */
void nd__note_wait(int32_t reason, nd_device *device, const char *op);

/* How DLPack names a device of that plug-in. */
nd_dl_device nd__dl_device(const char *plugin, uint32_t index, bool host_visible);
/* The opened device behind a plug-in's handle; ND_ERR_DEVICE if this plug-in opened no such one. */
nd_status nd__host_device(const nd_plugin_slot *slot, const ndp_dev *dev, nd_device **out);
void nd__fork_registry(nd_fork now);
void nd__fork_kernels(nd_fork now); /* kernel_lock of all devices */
void nd__fork_streams(nd_fork now); /* stream_lock of all devices */

#endif
