/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the parts of `ndock replay` share: a line of a trace, and what has been made so far. */
#ifndef NDOCK_TOOL_REPLAY_H
#define NDOCK_TOOL_REPLAY_H
#include "core/plugin/hook/hook.h"

/* One line, cut into words; keys and values lie in text. */
enum { REPLAY_WORDS = 256 };
typedef struct {
    char *key, *value; /* value "" where the word has none */
    bool quoted;
} replay_word;
typedef struct {
    char *device, *function, *status; /* "cpu:0", "plugin.alloc", "OK" or "0x3ffe" */
    replay_word argument[REPLAY_WORDS], result[REPLAY_WORDS];
    int n_arguments, n_results;
    bool injected, refused;
} replay_line;
/* line.c: cuts text up in place. NULL, or what is wrong with it. */
const char *replay_parse(char *text, replay_line *out);
/* The k-th argument (from 0) of that key, or NULL. */
const char *replay_value(const replay_line *line, const char *key, int k);
const char *replay_result(const replay_line *line, const char *key);

typedef struct replay_device {
    char name[80];
    nd_device *device;
    ndp_dev *dev;
    struct replay_device *next;
} replay_device;
typedef struct {
    void *handle;
    replay_device *of;
    hook_table by;   /* the table whose function made it */
    uint64_t nbytes; /* of a block */
} replay_object;
typedef struct {
    char *plugin; /* stands in for the plug-ins of the trace; NULL: none does */
    uint64_t seed, random;
    replay_device *devices;
    replay_object *objects[128]; /* by type and number; slot 0 is unused */
    uint32_t n_objects[128];
    struct {
        const void *kernel;
        uint64_t key;
    } * found; /* which kernels were found for which calls */
    size_t n_found, room_found;
    char *buffer; /* host memory, for the time of a call */
    size_t buffer_size;
    long lines, calls, skipped, different, impossible;
    bool blames_trace; /* why the latest call was not made: the trace itself is wrong */
} replay_state;
/* replay.c */
replay_device *replay_device_get(replay_state *r, const char *name);
replay_object *replay_object_at(replay_state *r, char type, uint32_t number);
/* Sets blames_trace; returns why. */
const char *replay_blame(replay_state *r, const char *why);
/* nbytes of seeded zeros and ones, which are valid values of every dtype; NULL: no memory. */
void *replay_bytes(replay_state *r, uint64_t nbytes);

/* record.c: the records that calls point to. NULL, or why the call cannot be made. */
typedef struct {
    ndp_call call;
    ndp_view view[64];
    ndp_scalar scalar[64];
    int64_t dims[64 * 2 * NDP_MAX_NDIM];
    int n_dims;
    union {
        uint32_t size;
#define ND_OP_PARAMS(CLASS, type) type CLASS;
#include <ndock/opparam.def>
    } params;
    ndp_module_source source;
    ndp_launch launch;
    ndp_launch_argument argument[REPLAY_WORDS];
    unsigned char bytes[REPLAY_WORDS * 16];
    int64_t mnk[3];
} replay_record;
const char *replay_call_record(replay_state *r, const replay_line *line, replay_record *out);
const char *replay_launch_record(replay_state *r, const replay_line *line, replay_record *out);
const char *replay_source_record(const replay_line *line, replay_record *out);
/* Indices and masks become zeros, since others than the recorded ones could reach anywhere; or
 * something out of every range, if that was recorded. */
void replay_tame(const ndp_plugin *p, ndp_dev *dev, ndp_stream *stream, const ndp_call *call,
                 bool outside);

/* call.c: ends what the trace left alive. */
void replay_end(replay_state *r);
/* Makes the call of a line. NULL, or why it was not made; what it returned goes to *result. */
const char *replay_make(replay_state *r, const replay_line *line, const hook_slot **slot,
                        uint64_t *result);
#endif
