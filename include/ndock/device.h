/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Devices, the plug-ins behind them, and what the fallback ladder did. */
#ifndef NDOCK_DEVICE_H
#define NDOCK_DEVICE_H
#include <ndock/base.h>

ND_BEGIN_DECLS

/* The device named "cpu", "cuda:0", "sim:3" or "auto" (the first of NDOCK_DEVICE=cuda:0,cpu that
 * opens, else the best there is, by the priority of the plug-ins), opened on first use.
 * Without an index it is the thread's current device of that plug-in, else the first. ND_ERR_DEVICE
 * lists the devices there are, and why a plug-in of that name was refused. Any thread. */
ND_API ND_MUST_USE nd_status nd_device_get(const char *name, nd_device **out);
/* "cuda:0". Static. */
ND_API const char *nd_device_name(const nd_device *device);
/* Facts; description is the model. Lives as long as the process. */
typedef struct {
    const char *name, *plugin, *description, *unique_id;
    uint64_t memory_bytes, dtypes; /* 0: unknown; bit d set: arrays of dtype d can live there */
    int32_t host_visible, async;   /* memory is ordinary host memory; work may be queued */
} nd_device_info;
ND_API void nd_device_describe(const nd_device *device, nd_device_info *out);
/* i-th pair of facts for people ("simd", "avx2"), cut to n bytes; ND_ERR_INDEX past the last. */
ND_API ND_MUST_USE nd_status nd_device_fact(nd_device *device, int32_t i, char *key, char *value,
                                            size_t n);

/* Every device of every usable plug-in: *count of them; out, of n entries, receives up to n names
 * (static). Loads plug-ins, opens no device. */
ND_API ND_MUST_USE nd_status nd_device_list(const char **out, int32_t n, int32_t *count);

/* Whether the device of that name can be used: NO; LIKELY, as its plug-in counts it without
 * touching the driver; YES, it has been opened. probe: ND_PROBE_COUNT opens nothing, so that a
 * child forked afterwards may use the device; ND_PROBE_OPEN opens it to be sure (NO if that fails,
 * nd_last_error says why). How many devices there are is asked anew, with the environment as it is
 * then, until one of the plug-in's is opened, and is constant afterwards. ND_ERR_DEVICE for a name
 * of another form. nd_plugin_list says why a plug-in has none. Any thread. */
enum { ND_AVAILABLE_NO = 0, ND_AVAILABLE_LIKELY = 1, ND_AVAILABLE_YES = 2 };
enum { ND_PROBE_COUNT = 0, ND_PROBE_OPEN = 1 };
ND_API ND_MUST_USE nd_status nd_device_available(const char *name, int32_t probe, int32_t *state);

/* The calling thread's current device: where arrays are made when no device is given. First
 * "auto". */
ND_API ND_MUST_USE nd_status nd_device_current(nd_device **out);
ND_API ND_MUST_USE nd_status nd_device_set_current(nd_device *device);

/* Returns when all work queued on the device is done, on every stream, foreign ones included. Where
 * work of several streams failed, each call returns the fault of one. NULL: the current device. */
ND_API ND_MUST_USE nd_status nd_synchronize(nd_device *device);

/* Two plug-ins may show one piece of hardware (a GPU by CUDA and by OpenCL): both list it, with one
 * unique_id. *out is the name of the device which is preferred for that hardware, by the priority
 * of its plug-in: name itself unless there is a better one. Static. Loads plug-ins, opens no
 * device. ND_ERR_DEVICE if there is no such device. Any thread. */
ND_API ND_MUST_USE nd_status nd_device_preferred(const char *name, const char **out);

/* What became of every candidate plug-in: one per file looked at. Texts live as long as the
 * process. */
typedef struct {
    const char *path, *name, *version; /* name, version "" where unknown */
    const char *state;  /* LOADED; its devices: NO_DEVICE NO_LIBRARY OLD_DRIVER; refused before any
                           code of it ran: MISSING PERMISSION NO_NOTE DAMAGED ARCHITECTURE ABI ISA
                           SANITIZER FILTERED SHADOWED CONF QUARANTINED; after: DLOPEN NO_ENTRY ABI
                           SHORT NOTE ENTRY; not opened yet: FOUND */
    const char *reason; /* what was wrong and what to do; "" when loaded */
    const char *source; /* "nd_plugin_load", "NDOCK_PLUGIN_PATH", "plugins.d", "plugindir" */
    int32_t devices;
} nd_plugin_report;
/* *count candidates; out, of n entries, receives up to n. Loads plug-ins. Any thread. */
ND_API ND_MUST_USE nd_status nd_plugin_list(nd_plugin_report *out, int32_t n, int32_t *count);
/* All that is known of one candidate. Set size first; fields beyond it are left alone. */
typedef struct {
    uint32_t size;
    int32_t devices;         /* 0 until it is opened */
    const char *path, *file; /* as found; with symbolic links resolved, "" if it was not reached */
    const char *name, *version, *vendor; /* vendor "" until it is opened */
    const char *state, *reason, *source; /* as in nd_plugin_report */
    const char *shadowed_by;             /* SHADOWED: the path of the one that is used, else "" */
    const char *build_id;                /* in hexadecimal digits, "" if it has none */
    const void *note;         /* the ndp_note of <ndock/note.h> in the file, NULL: none was found */
    int32_t priority;         /* of plugins.d, else of the note; NDOCK_DEVICE stands above it */
    int32_t loaded;           /* its code runs in this process */
    int32_t named, preferred; /* by the user as a file; by + in NDOCK_PLUGIN_PATH */
} nd_plugin_details;
enum { ND_PLUGIN_NOTES = 0, ND_PLUGIN_OPEN = 1 };
/* The i-th candidate from 0, in the order of search; ND_ERR_INDEX past the last. look:
 * ND_PLUGIN_NOTES runs no code of plug-ins, ND_PLUGIN_OPEN loads them all first. Any thread. */
ND_API ND_MUST_USE nd_status nd_plugin_describe(int32_t i, int32_t look, nd_plugin_details *out);
/* What to do about a candidate in this state ("PERMISSION"), for people; "" where there is nothing
 * to do, or no such state. Its reason has the particulars. Static. */
ND_API const char *nd_plugin_advice(const char *state);
/* Load one plug-in by absolute path; it wins over others of its name that are not loaded yet.
 * ND_ERR_PLUGIN says why it was refused. Loading it again is no error. Who may write to the file is
 * warned about only, unless NDOCK_PLUGIN_STRICT=1. */
ND_API ND_MUST_USE nd_status nd_plugin_load(const char *path);
/* Where plug-ins are looked for when NDOCK_PLUGIN_PATH does not say: NDOCK_PLUGIN_DIR, else the
 * folder that belongs to this library. Static. */
ND_API const char *nd_plugin_dir(void);

/* The fallback ladder: an operation that a device lacks is computed by the CPU plug-in on copies,
 * counted here and logged once per op; with NDOCK_FALLBACK=error (allow, warn, error; default warn)
 * it is ND_ERR_UNSUPPORTED instead. */
typedef struct {
    uint64_t staged_calls, staged_bytes, derived_calls;
} nd_fallback_stats;
ND_API void nd_fallback_get(nd_fallback_stats *out);
ND_API void nd_fallback_reset(void);
/* The same by operation, dtypes, device and reason: what fell back and what that cost. */
enum { ND_FALLBACK_DERIVED = 1, ND_FALLBACK_STAGED = 2 };
typedef struct {
    uint32_t size; /* of this struct; set by the caller, who receives no more */
    int32_t rung;  /* ND_FALLBACK_DERIVED, _STAGED */
    const char *op, *device;
    const char *dtypes; /* "f32,f32->f32"; "" where the operation is a program's */
    const char *why;    /* why the device does not compute it itself */
    uint64_t calls;
    uint64_t bytes;               /* moved between the device and the host */
    uint64_t time_ns, longest_ns; /* of the host; on an asynchronous device staging also waits for
                                     what was queued before */
} nd_fallback_item;
/* The i-th, in the order of first occurrence; ND_ERR_INDEX past the last. Texts live as long as the
 * process. nd_fallback_reset() sets numbers to 0 and removes none. Any thread. */
ND_API ND_MUST_USE nd_status nd_fallback_describe(int32_t i, nd_fallback_item *out);
/* All of them as JSON, the most costly first, for `ndock info --suggest`; the file is replaced as a
 * whole. NDOCK_FALLBACK_REPORT=FILE does this at the end of the process, and against crashes at
 * most once a second while operations fall back; %p in FILE becomes the number of the process, and
 * forked children write theirs too. */
ND_API ND_MUST_USE nd_status nd_fallback_save(const char *path);
enum { ND_FALLBACK_ALLOW = 0, ND_FALLBACK_WARN = 1, ND_FALLBACK_ERROR = 2 };
/* Process-wide; overrides the environment. ND_ERR_ARGUMENT for an unknown policy. */
ND_API ND_MUST_USE nd_status nd_fallback_set(int32_t policy);

/* Bit d set: op runs natively on the device when its first array operand has dtype d (0 for an
 * unknown op). */
ND_API uint64_t nd_device_op_dtypes(nd_device *device, nd_op op);

/* An optional group of the device's plug-in ("ndp.stream/1", or a vendor's in reverse-DNS form) and
 * the handle its functions take, for programs that know the plug-in. *table NULL: absent. Both live
 * as long as the process. "ndp.plugin/0" is the plug-in's own table, an ndp_plugin. */
struct ndp_dev;
ND_API ND_MUST_USE nd_status nd_device_group(nd_device *device, const char *id, const void **table,
                                             struct ndp_dev **dev);

ND_END_DECLS
#endif
