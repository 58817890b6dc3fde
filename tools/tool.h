/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What the sub-commands of `ndock` share. */
#ifndef NDOCK_TOOL_H
#define NDOCK_TOOL_H
#include <stdbool.h>
#include <stdio.h>
#include <ndock/ndock.h>
#include "core/base/json.h"

enum { EXIT_USAGE = 2 };

int tool_info(int argc, char **argv);
int tool_graph(int argc, char **argv);
int tool_cache(int argc, char **argv);
int tool_mem(int argc, char **argv);
int tool_conform(int argc, char **argv);
int tool_new_plugin(int argc, char **argv);
int tool_replay(int argc, char **argv);
int tool_run(int argc, char **argv);
/* "conforms, tier 2, ndock 0.1.0, 2026-11-21" into out, if `ndock conform` left a certificate for
 * this build of the plug-in called name; else "". Returns out. */
const char *tool_conform_line(const char *file, const char *name, char *out, size_t n);
/* The op x dtype matrix of every device. */
int tool_info_ops(bool json);
/* Of the JSON of every kind of `ndock info`; higher with each key that is added. */
enum { TOOL_INFO_SCHEMA = 2 };
/* Each is an exit status. devices: those that are wanted, n of them; 0: all that plug-ins are
 * for. */
int tool_info_doctor(char **devices, int n, bool json);
int tool_info_params(bool json);
int tool_info_offline(const char *path, bool json);
int tool_info_suggest(const char *path, bool json);

/* ---- file.c ---- */
/* A regular file, to be read; NULL, and why not. Pipes and folders are refused: they would be
 * waited for, or read as empty. */
FILE *tool_open_quietly(const char *path, const char **why);
/* The same with a line on stderr that begins with who. */
FILE *tool_open_file(const char *who, const char *path);
/* All bytes of a regular file, malloc'ed; NULL after a line on stderr. */
char *tool_read_file(const char *who, const char *path, size_t *n);
/* path gets the bytes whole, or stays as it was (temporary file, rename). 0, or -1 with
 * errno. */
int tool_replace_file(const char *path, const void *data, size_t nbytes);

/* list.c: all there are, malloc'ed; NULL, with *n 0, if they cannot be told (nd_last_error says
 * why). */
const char **tool_devices(int32_t *n);
nd_plugin_report *tool_plugins(int32_t *n);
nd_library_report *tool_libraries(int32_t *n);

/* "ndock: ..." with the library's own words on stderr; returns 1, an exit status. */
int tool_failed(const char *what);

/* ---- json.c: a writer; commas are put where they belong. Text is escaped, and invalid UTF-8
 * replaced. ---- */
typedef struct {
    FILE *out;
    int depth;
    bool first[16];
} json_writer;
void json_open(json_writer *w, const char *key,
               char bracket); /* '{' or '['; key NULL inside lists and at the top */
void json_close(json_writer *w, char bracket);
void json_text(json_writer *w, const char *key, const char *value);
void json_integer(json_writer *w, const char *key, unsigned long long value);
void json_number(json_writer *w, const char *key, double value);
void json_bool(json_writer *w, const char *key, bool value);
/* The value that a reader of core/base/json.h is at: 0 or more, or text; 0 and "" where it is none,
 * which the reader then remembers as its error. */
uint64_t json_read_count(nd__json *j);
const char *json_read_text(nd__json *j);

/* ---- info/params.c: variables NDOCK_... that nobody reads; how many ---- */
int tool_print_unknown(void);
int tool_json_unknown(json_writer *w); /* as the key "unknown_variables" */

/* ---- info/hardware.c: what this machine shows of GPUs, and what is in their way. NVIDIA's alone:
 * other makers' drivers need no device files of their own. ---- */
typedef struct {
    const char *fact, *action; /* action: what to do, "" for nothing */
} tool_gpu_line;
enum { TOOL_GPU_LINES = 8 };
int tool_gpu_lines(tool_gpu_line *out); /* how many; texts live until the next call */

/* ---- info/memory.c: what each device's allocator has ---- */
void tool_info_memory(const char *const *names, int n);

/* ---- info/transports.c: who carries communicators, and what is missing ---- */
void tool_print_transports(const char *const *devices, int n);
void tool_doctor_transports(json_writer *json); /* of all devices; json NULL: for people */
void tool_json_memory(json_writer *w, nd_device *device); /* as the key "memory" */
#endif
