/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Hooks: NDOCK_HOOK=trace,check,fault puts a layer between the core and a plug-in's tables, when
 * the plug-in is loaded. Without it no table is touched, so that nothing is paid.
 *
 * Every function of the tables (slot.def) has a wrapper, which packs its arguments into words of 64
 * bits and calls nd__hook_call. That asks, from outside in, the trace, the check and the faults,
 * and then calls the plug-in through the slot's thunk. A function pointer says nothing about whose
 * it is, and neither does a handle, for two plug-ins may number their devices alike: so there are as
 * many wrappers of a function as plug-ins that can be hooked (instances). Handles stay the
 * plug-in's own; what is known of them is kept beside them. */
#ifndef NDOCK_CORE_HOOK_H
#define NDOCK_CORE_HOOK_H
#include <fenv.h>
#include "core/model/model.h"

enum { HOOK_INSTANCES = 8, HOOK_ARGUMENTS = 8 };
enum { HOOK_TRACE = 1, HOOK_CHECK = 2, HOOK_FAULT = 4 };
enum { HOOK_IN, HOOK_HANDLE, HOOK_END, HOOK_OUT, HOOK_RESULT };

typedef void (*hook_host_function)(void *arg);
typedef enum {
    HOOK_KIND_NONE,
#define HOOK_KIND(NAME, family, object, type) HOOK_KIND_##NAME,
#include "core/plugin/hook/kind.def"
} hook_kind;
#define HOOK_KIND(NAME, family, object, ...) typedef __VA_ARGS__ hook_##NAME;
#include "core/plugin/hook/kind.def"

typedef enum {
#define HOOK_TABLE(table, type, id) HOOK_TABLE_##table,
#include "core/plugin/hook/slot.def"
    HOOK_TABLES
} hook_table;

typedef enum {
#define HOOK_ID(table, field, ...) HOOK_SLOT_##table##_##field,
#include "core/plugin/hook/each.def"
    HOOK_SLOTS
} hook_slot_id;

typedef struct {
    hook_kind kind;
    const char *name;
} hook_argument;
typedef struct {
    const char *table, *name; /* "plugin", "alloc" */
    hook_table in;
    uint32_t offset, n; /* of the pointer in its table; arguments */
    bool status;        /* it returns one */
    hook_argument arg[HOOK_ARGUMENTS];
    uint64_t (*call)(const void *table, const uint64_t *word);
} hook_slot;
extern const hook_slot nd__hook_slots[HOOK_SLOTS];
extern const struct hook_table_info {
    const char *name, *id;
    uint32_t nbytes;
} nd__hook_tables[HOOK_TABLES];
int nd__hook_family(hook_kind kind);
char nd__hook_object(hook_kind kind); /* letter of the handle's type, 0 for none */

/* Room for any table. */
typedef union {
    uint32_t size;
#define HOOK_TABLE(table, type, id) type table;
#include "core/plugin/hook/slot.def"
} hook_any;

/* What stands in for a kernel: the core sees `wrapper`. */
typedef struct hook_dev hook_dev;
typedef struct hook_kernel hook_kernel;
struct hook_kernel {
    ndp_kernel wrapper;
    const ndp_kernel *real;
    hook_dev *dev;
    uint32_t number;
    atomic_uint grown; /* runs in a row that left more of the heap in use */
    hook_kernel *next;
};
typedef struct {
    const void *given; /* the plug-in's own; NULL: it has not been asked, or has none */
    hook_any real, wrapper;
} hook_group;
typedef struct hook_instance hook_instance;
struct hook_dev {
    hook_instance *of;
    ndp_dev *dev;
    uint32_t index, opened; /* how many times more than it was closed */
    ndp_device_info info;
    atomic_int lost;        /* by a fault that was injected */
    atomic_int default_use; /* calls that queue on the default stream now */
    hook_group group[HOOK_TABLES];
    hook_kernel *kernels;
    hook_dev *next;
};
struct hook_instance {
    const char *plugin; /* its name, for good */
    ndp_plugin real;
    uint32_t hooks;    /* HOOK_TRACE ... */
    atomic_uint count; /* devices, as the plug-in's latest probe said */
    _Atomic(hook_dev *) devs;
    char *pending; /* a violation that its function could not return; under the lock */
};
extern hook_instance nd__hook_instances[HOOK_INSTANCES];
/* The wrappers of one instance, by table. */
typedef struct {
#define HOOK_TABLE(table, type, id) type table;
#include "core/plugin/hook/slot.def"
} hook_wrappers;
extern const hook_wrappers *const nd__hook_wrappers[HOOK_INSTANCES];

/* One call on its way. */
typedef struct hook_call hook_call;
struct hook_call {
    hook_instance *of;
    const hook_slot *slot;
    hook_slot_id id;
    hook_dev *dev;       /* NULL: none, or unknown */
    hook_kernel *kernel; /* of run() and scratch(), NULL: another function */
    uint64_t *word;
    const void *table;               /* the plug-in's functions */
    uint32_t number[HOOK_ARGUMENTS]; /* of handles */
    uint64_t result;
    bool injected, refused, made; /* made: the plug-in's function has returned */
    uint64_t began_ns, took_ns;
    ndp_stream *stream; /* that it is noted to queue on, while `queues` */
    bool queues;
    hook_call *around; /* the queueing call of its thread that it is inside of */
    /* What the check keeps from before the call. */
    fenv_t numbers;
    unsigned long number_modes;
    int rounding;
    void *host_function;
    uint64_t caller; /* where what went to `probe` belongs */
    uint64_t heap;   /* bytes in use; 0: not looked at */
    uint64_t seen;   /* sum of the outputs */
    bool has_seen;
    union {
        ndp_device_info info;
        char text[1024];
    } probe;           /* stands in for what the plug-in is to write, to see how much it writes */
    hook_call *flight; /* the next of those that are inside a plug-in, while `watched` */
    bool watched, told_slow;
};

/* ---- wrap.c ---- */
uint64_t nd__hook_call(int instance, hook_slot_id id, uint64_t *word);
const void *nd__hook_group(int instance, ndp_dev *dev, const char *id);
static inline uint64_t nd__hook_real(const hook_call *c, const uint64_t *word)
{
    return c->slot->call(c->table, word);
}

/* ---- common.c ---- */
uint64_t nd__hook_now(void); /* nanoseconds */
hook_dev *nd__hook_find_dev(hook_instance *of, const ndp_dev *dev);
/* Index of the first argument of that kind, or -1. */
int nd__hook_place(const hook_slot *slot, hook_kind kind);

/* ---- handle.c: the plug-in's objects, numbered in the order they appear ---- */
typedef struct hook_object hook_object;
struct hook_object {
    const hook_instance *of;
    const void *handle;
    char type;
    bool given;           /* a hooked call made it: else it was only seen */
    uint32_t number, use; /* use: calls that queue on a stream now */
    const ndp_dev *dev;
    uint64_t nbytes;
    uint64_t recorded_ns, reached_ns; /* of an event: its latest record was asked for, and was known
                                         to be done; 0: not yet */
    hook_object *next;
};
void nd__hook_lock(void);
void nd__hook_unlock(void);
void nd__fork_hook(nd_fork now);
/* Under the lock. NULL: unknown. */
hook_object *nd__hook_object_get(const hook_instance *of, char type, const void *handle);
hook_object *nd__hook_object_add(const hook_instance *of, char type, const void *handle);
/* Whether such a handle was alive, and has ended. */
bool nd__hook_object_ended(const hook_instance *of, char type, const void *handle);
/* A living block of the device; NULL: it has none. */
ndp_mem *nd__hook_any_block(const hook_instance *of, const ndp_dev *dev);
/* What the call names gets numbers, what it ends is forgotten; what it has made is remembered. */
void nd__hook_objects_enter(hook_call *c);
void nd__hook_objects_leave(hook_call *c);

/* ---- conf.c ---- */
typedef enum { HOOK_WHEN_NTH, HOOK_WHEN_FROM, HOOK_WHEN_EVERY, HOOK_WHEN_CHANCE } hook_when;
typedef struct {
    char *plugin;  /* NULL: all */
    int64_t index; /* of the device, -1: all */
    uint64_t slots[(HOOK_SLOTS + 63) / 64];
    int32_t op; /* of run and find, 0: all */
    hook_when when;
    uint64_t n;
    double chance;
    int32_t status;
    int64_t native;
    atomic_ullong calls;
} hook_rule;
/* check: a violation is an error; is logged alone; is an error of the caller's, and logged alone
 * where it is the plug-in's, as the call was made by then. */
typedef enum { HOOK_ERROR, HOOK_WARN, HOOK_BEFORE } hook_strictness;
typedef struct {
    uint32_t hooks;
    hook_strictness strictness;
    const char *plugins;
    hook_rule *rules;
    int n_rules;
    uint64_t seed;
    uint64_t slow_seconds; /* check: after so long it tells of a call that has not returned */
} hook_conf;
/* What the environment says, which nd__hook_read_settings reads once, before any hook is put. */
extern hook_conf nd__hook_settings;
nd_status nd__hook_read_settings(void);
/* Adds the rules of a text to conf; ND_ERR_ARGUMENT says where it is malformed. */
nd_status nd__hook_rules(hook_conf *conf, const char *text);

/* ---- trace.c, check*.c, fault.c ---- */
nd_status nd__hook_trace_open(void);
void nd__hook_trace(const hook_call *c);
void nd__hook_trace_text(const hook_call *c, nd_text *t); /* one line, without its newline */
/* false: the call must not be made; result is what the caller gets. */
bool nd__hook_check_enter(hook_call *c);
void nd__hook_check_leave(hook_call *c);
/* true: the call fails without having been made. */
bool nd__hook_fault_enter(hook_call *c);
void nd__hook_fault_leave(hook_call *c);
#endif
