/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * conform-abi: opens one plug-in by itself, plays the host, and checks what <ndock/plugin.h> asks
 * of a plug-in. Every check runs in a process of its own, forked before any plug-in was opened, so
 * that a crash, a hang or an exit is one failed check; what it may therefore leave behind it does.
 */
#ifndef NDOCK_TESTS_ABI_H
#define NDOCK_TESTS_ABI_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ndock/plugin.h>

enum { /* what a check wants to find; the check is skipped, with the reason, where it is absent */
       ABI_LOADED = 1,  /* the file opened and its entry called */
       ABI_DEVICE = 2,  /* device 0 opened, and what implies */
       ABI_STREAMS = 4, /* ndp.stream/1 on a device that says NDP_DEV_ASYNC */
       ABI_COPY = 8     /* ndp_plugin.copy */
};
typedef struct {
    const char *id, *what; /* "C.guard", and the sentence that is checked */
    void (*run)(void);
    uint32_t needs;
} abi_check;

/* The check that this process is: its options and the plug-in. */
typedef struct {
    const char *file, *with; /* the plug-in, and a second one or NULL */
    uint64_t seed, count;
    unsigned timeout_s;
    const char *id;
    const ndp_plugin *table; /* the plug-in's own */
    ndp_plugin p;            /* our zero-extended copy */
    uint32_t n_devices;
    ndp_device_info info; /* of device 0 */
    ndp_dev *dev;
    ndp_stream_1 stream;
    ndp_map_1 map;
    ndp_pool_1 pool;
    ndp_memory_1 memory;
    ndp_op_1 op;
    bool has_stream;
} abi_state;
extern abi_state abi;

/* report.c: what the child says. abi_need, abi_call and abi_skip end the process where they fail or
 * apply. */
void abi_fail(const char *fmt, ...) NDP_PRINTF(1, 2);
void abi_diag(const char *fmt, ...) NDP_PRINTF(1, 2);
_Noreturn void abi_skip(const char *fmt, ...) NDP_PRINTF(1, 2);
bool abi_expect(bool ok, const char *fmt, ...) NDP_PRINTF(2, 3);
void abi_need(bool ok, const char *fmt, ...) NDP_PRINTF(2, 3);
void abi_call(int32_t status, const char *what);
/* Refused: not NDP_OK, status wanted (0: any), with a text. */
void abi_refused(int32_t status, int32_t wanted, const char *what);
_Noreturn void abi_end(void);
void abi_report_to(int fd);

/* run.c: runs a check in a child and prints its line. */
bool abi_run(const abi_check *check, int number);
/* Runs fn in a child of this check's process; its failures are this check's. Returns the wait
 * status; a child that hangs for timeout_s is killed and -1 returned. */
int abi_child(void (*fn)(void *arg), void *arg, unsigned timeout_s);
/* abi_child, and a failure where the child died or ended by itself. */
void abi_child_must_end(void (*fn)(void *arg), void *arg, const char *what);

/* host.c: the host table that the plug-in gets. */
extern ndp_host abi_host;
void abi_host_init(void);
void abi_host_of(ndp_host *host, const char *plugin_name);
const char *abi_error_text(void); /* of the calling thread's last host->error, "" if none */
int32_t abi_error_status(void);
void abi_error_clear(void);
int64_t abi_host_live(void);      /* blocks of host->alloc not freed yet */
int64_t abi_host_total(void);     /* allocations so far */
void abi_host_fail_at(int64_t n); /* the n-th allocation from now on gets NULL; 0: none */
extern bool abi_no_services, abi_no_plugins;
const void *abi_service(void *ctx, const char *id); /* service.c */
const ndp_plugin *abi_other_plugin(void *ctx, const char *name);
const ndp_plugin *abi_open_file(const char *file, const ndp_host *host);

/* own.c: host memory that the plug-in takes by itself. */
void abi_own_code(const char *file); /* whose calls are meant, once it is opened */
bool abi_own_seen(void);             /* calls can be told apart here */
int64_t abi_own_total(void);         /* malloc and the like by the plug-in's code so far */
void abi_own_fail_at(int64_t n);     /* the n-th from now on gets NULL; 0: none */

/* plug.c: opening the plug-in, and short forms of its calls. */
typedef const ndp_plugin *(*abi_entry_fn)(const ndp_host *);
abi_entry_fn abi_entry(const char *file); /* ends the process where there is none */
void abi_load(void);
void abi_open(void);
void abi_close(void);
void abi_take_groups(void);
const void *abi_group(ndp_dev *dev, const char *id);
ndp_mem *abi_alloc(uint64_t nbytes);
void abi_free(ndp_mem *mem);
void abi_write(ndp_stream *s, ndp_mem *mem, uint64_t offset, const void *src, uint64_t n);
void abi_read(ndp_stream *s, ndp_mem *mem, uint64_t offset, void *dst, uint64_t n);
void abi_copy(ndp_stream *s, ndp_mem *dst, uint64_t d, ndp_mem *src, uint64_t o, uint64_t n);
ndp_stream *abi_stream(void);
ndp_event *abi_event(uint64_t flags);
/* One life of a device: open, every kind of call once, close. Calls may fail, with a text, where
 * tolerant. */
void abi_life(bool tolerant);

/* flight.c: the plug-in's functions that the check is inside. */
void abi_flight_begin(void); /* of a new check, before its process is made */
void abi_flight_watch(void); /* stands before the functions of abi's tables */
/* "sync, for 39.9 s", of all threads; false: none is inside. */
bool abi_in_flight(char *text, size_t n);

/* bytes.c: patterns and numbers. */
uint64_t abi_random(uint64_t *state); /* below 2^64; state is any number */
uint64_t abi_below(uint64_t *state, uint64_t n);
void abi_fill(void *p, size_t n, uint64_t tag); /* bytes that tag decides */
/* A failure naming the first wrong byte unless p holds what abi_fill(.., tag) wrote at skip. */
bool abi_filled(const void *p, size_t n, uint64_t tag, size_t skip, const char *what);
void *abi_bytes(size_t n); /* zeroed; ends the process where there is none */
double abi_seconds(void);  /* monotonic */
void abi_sleep_ms(unsigned ms);

/* observe.c: what the process has. */
int abi_threads(void); /* threads of the process */
/* How many more than that there are, 0 for fewer. A thread that was joined is in /proc a moment
 * longer, so this waits for up to 2 s for them to go. */
int abi_threads_above(int threads);
int abi_plugin_threads(void); /* those the plug-in's own code started, -1 if that cannot be told */
int abi_fds(void);
int64_t abi_heap_bytes(void); /* in use; 0 where that cannot be told */

/* gate.c: a stream that stands still until it is told to go on. */
typedef struct abi_gate abi_gate;
bool abi_has_gate(void);                 /* launch_host is there */
abi_gate *abi_gate_close(ndp_stream *s); /* NULL without launch_host; opens by itself after 5 s */
bool abi_gate_open(abi_gate *g);         /* false: it had opened by itself */

extern const abi_check abi_load_checks[], abi_memory_checks[], abi_stream_checks[],
    abi_thread_checks[], abi_process_checks[], abi_comm_checks[],
    abi_speed_checks[]; /* end with id NULL */
#endif
