/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A part of plugin.h, which includes it: what the host serves to plug-ins. */
#ifndef NDOCK_PLUGIN_H
#include <ndock/plugin.h>
#elif !defined NDOCK_PLUGIN_SERVICE_H
#define NDOCK_PLUGIN_SERVICE_H
/* ---- services: tables of ndp_host.service(host->ctx, id), owned by the core, valid for the life
 * of the process. ctx is host->ctx throughout. Every function may be called from any thread, inside
 * run() too; each returns a status with the thread's error detail set. No lock of the core is held
 * while a callback runs. ---- */

/* Service "ndh.plan/1": plans that are costly to make, kept per device, least recently used first
 * to go (the user sets how many and how many bytes). */
typedef struct ndh_plan ndh_plan; /* the core's: one use of a plan, from acquire to release */
typedef struct {
    uint32_t size, zero;
    /* The plan of key (key_nbytes bytes, copied, compared as a whole: begin with what tells kinds
     * of plans apart). When it is not kept, make(arg, &value, &nbytes) makes it: the core owns
     * value then, and calls destroy(value), on any thread, when it is no longer kept and no work
     * uses it. nbytes: device or host memory that it takes. A failure of make is returned as it is.
     * Workspace is no part of a plan, but of the stream: one plan may run on two streams at
     * once. */
    int32_t (*acquire)(void *ctx, ndp_dev *dev, const void *key, size_t key_nbytes,
                       int32_t (*make)(void *arg, void **value, uint64_t *nbytes),
                       void (*destroy)(void *value), void *arg, ndh_plan **out, void **value);
    /* The caller has queued its work with the plan on the stream (NULL: the default one), or has
     * given up. The plan outlives what is queued there until now; one used in a capture outlives
     * the process, since the graph may be replayed. NULL plan: nothing. */
    void (*release)(void *ctx, ndh_plan *plan, ndp_stream *stream);
    void (*clear)(void *ctx, ndp_dev *dev); /* forgets all plans of the device */
} ndh_plan_1;

/* Service "ndh.kernel/1": compiled code, kept in memory while it is used and in files for the next
 * process. Texts end in 0; NULL counts as "". All five together are the key. */
typedef struct {
    uint32_t size, zero;
    const char *source, *options, *arch; /* arch: what the code runs on, "sm_90" */
    const char *compiler;                /* with its version: "nvrtc 13.0.88" */
    const char *library;                 /* the plug-in and its version */
} ndh_kernel_key;
typedef struct { /* what compile leaves; both from host->alloc, the core's from then on */
    uint32_t size, zero;
    void *code;
    uint64_t nbytes;
    char *log; /* the compiler's words, or NULL */
} ndh_compiled;
typedef struct ndh_code ndh_code; /* the core's: code in use, from get to release */
#define NDH_KERNEL_RETRY 1u /* compile again even if that failed before */
typedef struct {
    uint32_t size, zero;
    /* The code for key: of this process, from a file, or by compile(arg, out), which runs once
     * however many threads ask; the others wait. A failure is remembered with its log, and returned
     * to everyone who asks without NDH_KERNEL_RETRY. compile may ask for other kernels, not for its
     * own (NDP_ERR_STATE). code and nbytes stay valid until release. */
    int32_t (*get)(void *ctx, const ndh_kernel_key *key, uint32_t flags,
                   int32_t (*compile)(void *arg, ndh_compiled *out), void *arg, ndh_code **out,
                   const void **code, uint64_t *nbytes);
    void (*release)(void *ctx, ndh_code *code); /* NULL is fine */
    /* The remembered log of a failed compile, cut to n bytes; NDP_ERR_ARGUMENT if none failed. */
    int32_t (*log)(void *ctx, const ndh_kernel_key *key, char *text, size_t n);
} ndh_kernel_1;

/* Service "ndh.workspace/1": scratch memory that vendor libraries want to keep between calls. */
typedef struct ndh_workspace ndh_workspace; /* the core's: one use, from acquire to release */
typedef struct {
    uint32_t size, zero;
    /* The workspace of (handle, stream), of at least nbytes (> 0), from the device's allocator;
     * made or enlarged when needed. Inside run() that cannot be: ask there before anything is
     * queued, and return NDP_ERR_NOT_READY as it is; the core makes it and calls run() again. Work
     * that uses it must be queued on that stream before release. handle: any address of the
     * plug-in's. It goes with the stream, with the last thread that asked for it, by handle_gone,
     * or when the user clears. In a capture NDP_ERR_CAPTURE: a graph's workspace must be its
     * own. */
    int32_t (*acquire)(void *ctx, ndp_dev *dev, const void *handle, ndp_stream *stream,
                       uint64_t nbytes, ndh_workspace **out, ndp_mem **mem, uint64_t *offset_bytes);
    void (*release)(void *ctx, ndh_workspace *workspace); /* NULL is fine */
    void (*handle_gone)(void *ctx, ndp_dev *dev, const void *handle);
    /* Bytes of a text such as ":4096:2:16:8", pairs of KiB and count, summed (the form of
     * CUBLAS_WORKSPACE_CONFIG); ":0:0" is none. NDP_ERR_ARGUMENT quotes a malformed one. */
    int32_t (*parse)(void *ctx, const char *text, uint64_t *nbytes);
    /* What a device of that compute capability wants by default: 32 MiB for 9, 10 and 12, else
     * 8,519,680 bytes. */
    uint64_t (*default_nbytes)(void *ctx, int32_t major);
} ndh_workspace_1;

/* Service "ndh.library/1": libraries that not every machine has. */
typedef struct {
    const char *name;
    uint32_t offset; /* of the function pointer in the table */
    int32_t required;
} ndh_symbol;
typedef struct {
    uint32_t size, n_sonames, n_symbols, zero;
    const char *name;           /* for people: "cuBLASLt" */
    const char *install;        /* what to do when it is missing */
    const char *const *sonames; /* tried in this order */
    const ndh_symbol *symbols;  /* NULL in the table if optional, absent */
    int32_t (*version)(const void *table, char *text, size_t n); /* or NULL */
} ndh_library;
typedef struct {
    uint32_t size, zero;
    /* Opens the first of the names that loads and has all required symbols, and fills the table.
     * NDP_ERR_UNSUPPORTED names the library, what was tried and what to install; it may be asked
     * for again. Never closed. The description and its texts live as long as the process. */
    int32_t (*open)(void *ctx, const ndh_library *library, void *table);
} ndh_library_1;

/* Service "ndh.visible/1": which devices CUDA_VISIBLE_DEVICES, or a variable of its form, shows. */
#define NDH_VISIBLE_UNKNOWN (-1)
typedef struct {
    uint32_t size, zero;
    /* text NULL: the variable is unset. There are count devices, uuids[i] (NULL: unknown) like
     * "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6". out, of count entries, receives *n indices in the
     * order given. *n NDH_VISIBLE_UNKNOWN: only the driver can tell (MIG, or no uuids). */
    int32_t (*parse)(void *ctx, const char *text, int32_t count, const char *const *uuids,
                     int32_t *out, int32_t *n);
} ndh_visible_1;

/* Service "ndh.conf/1": keys of NDOCK_ALLOC_CONF beside the core's own. */
typedef struct {
    uint32_t size, zero;
    /* Adds the key "PLUGIN.key"; to be called by probe(), once a key, so that all are known when
     * the plug-in is loaded. key: of a-z, 0-9 and _. help: what values there are, for errors ("all,
     * or a number of MiB"). initial: the value that holds already, as text without blanks and
     * commas. Both are copied.
     *
     * set(arg, value) makes another value hold, for the life of the process: from any thread, one
     * call at a time, with numbers in the C locale. It returns a status, with host->error's detail
     * for a value it refuses, and must be able to go back to a value that held before: when a later
     * part of the same text is refused, it is told the former value again. It may not change
     * settings itself. When the environment has a value for the key, add calls set, under the
     * loader's lock; what set refuses then is returned, and is the error of a device's first
     * allocation. */
    int32_t (*add)(void *ctx, const char *key, const char *help, const char *initial,
                   int32_t (*set)(void *arg, const char *value), void *arg);
} ndh_conf_1;

/* Service "ndh.param/1": parameters that are told as a whole, with their defaults: variables
 * NDOCK_<PLUGIN>_<NAME> of the environment. */
typedef struct {
    uint32_t size;       /* of this struct: append-only */
    int32_t type;        /* NDP_PARAM_* */
    const char *name;    /* "DEVICES", of A-Z, 0-9 and _ */
    const char *help;    /* what it is for, one line */
    const char *values;  /* what it takes, for people: "1 to 64"; NULL: words, or what help says */
    const char *initial; /* the default as text; NULL: *out as it is */
    const char *words;   /* TEXT: the values there are, "auto|stepped"; NULL: any */
    int64_t low, high;   /* I64, F64: bounds where low < high */
} ndh_param;
typedef struct {
    uint32_t size, zero;
    /* Declares the parameter and reads it: *out (int64_t, double, int32_t for BOOL, const char *
     * owned by the core) becomes the variable's value, else the default. NDP_ERR_ARGUMENT for a
     * value that is not of the form, with an error detail that names variable, value and form; *out
     * is the default then, so that the plug-in may go on (the user is told) or pass the error on.
     * Call it from probe(), for every parameter that there is: a plug-in that declares one is taken
     * to have declared all, and other variables NDOCK_<PLUGIN>_... are reported as unknown. Asked
     * for again, it is read again. */
    int32_t (*get)(void *ctx, const ndh_param *declaration, void *out);
} ndh_param_1;
#endif
