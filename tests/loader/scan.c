/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A scan reads notes and runs no code: counted by the constructors of the mocks, which write a line
 * into a file each. Then files that were damaged or are of somewhere else. */
#include <elf.h>
#include <time.h>
#include "tests/loader/sandbox.h"

enum { MANY = 100 };
static char trace[300];

static int lines_of_trace(void)
{
    int lines = 0;
    FILE *f = fopen(trace, "r");
    for (int c; f && (c = getc(f)) != EOF;)
        lines += c == '\n';
    if (f)
        fclose(f);
    return lines;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int look_at_many(void)
{
    nd_plugin_details d = {.size = sizeof d};
    nd_device *device;
    int found = 0, mocks = 0;
    double begin = now_ms();
    if (nd_plugin_describe(0, ND_PLUGIN_NOTES, &d) != ND_OK)
        return 1;
    fprintf(stderr, "# a scan of %d candidates took %.1f ms\n", MANY, now_ms() - begin);
    for (int32_t i = 0; nd_plugin_describe(i, ND_PLUGIN_NOTES, &d) == ND_OK; i++) {
        mocks += strncmp(d.name, "mock", 4) == 0;
        found += strncmp(d.name, "mock", 4) == 0 && strcmp(d.state, "FOUND") == 0 && !d.loaded &&
                 d.note && ((const ndp_note *)d.note)->priority == d.priority && d.build_id[0];
    }
    if (found != MANY || mocks != MANY)
        return 2;
    if (nd_device_get("cpu", &device) != ND_OK || lines_of_trace() != 0)
        return 3;
    if (nd_device_get("mock37:1", &device) != ND_OK || lines_of_trace() != 1)
        return 4;
    if (nd_device_get("auto", &device) != ND_OK || strcmp(nd_device_name(device), "cpu:0") != 0 ||
        lines_of_trace() != 1)
        return 5;
    if (nd_device_get("sim:0", &device) != ND_ERR_DEVICE) /* its error lists what there is */
        return 6;
    return lines_of_trace() == MANY ? 0 : 7;
}

static void many(void)
{
    char path[600], name[16];
    fresh_folder();
    path_in(trace, sizeof trace, "trace");
    setenv("MOCK_TRACE", trace, 1);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "mock%02d", i);
        install("mock00", name);
        snprintf(path, sizeof path, "%s/ndock-%s.so", folder, name);
        rename_all(path, "mock00", name);
    }
    is_int(in_child(look_at_many, folder), 0,
           "a scan of 100 opens none of them, a device its own, an error that lists devices all");
    remove_folder();
}

/* ---- files that are not what they were ---- */
static void ends_as(const char *state, const char *word, const char *what)
{
    want_state = state;
    want_word = word;
    want_path = "ndock-mock00.so";
    is_int(in_child(look_at_state, folder), 0, what);
    is_int(lines_of_trace(), 0, "... and nothing of it ran");
}

static void fresh_mock(char path[600])
{
    install("mock00", "mock00");
    path_in(path, 600, "ndock-mock00.so");
}

static void cut(void)
{
    char path[600];
    int bad = 0;
    struct stat st;
    fresh_mock(path);
    if (stat(path, &st) != 0)
        bail(path);
    want_state = "DAMAGED";
    want_word = "cut";
    want_path = "ndock-mock00.so";
    for (int tenth = 1; tenth < 10; tenth++) {
        install("mock00", "mock00");
        if (truncate(path, st.st_size * tenth / 10) != 0)
            bail("truncate");
        bad += in_child(look_at_state, folder) != 0;
    }
    is_int(bad, 0, "a file that was cut is DAMAGED, wherever it ends");
    is_int(lines_of_trace(), 0, "... and nothing of it ran");
}

static void elsewhere(void)
{
    char path[600];
    fresh_folder();
    path_in(trace, sizeof trace, "trace");
    setenv("MOCK_TRACE", trace, 1);
    fresh_mock(path);
    const long note = note_at(path);
    const uint16_t machine = EM_S390, minor = 99;
    const uint32_t isa = 0x00300009, sanitizers = NDP_SANITIZER_MEMORY;
    patch(path, offsetof(Elf64_Ehdr, e_machine), &machine, sizeof machine);
    ends_as("ARCHITECTURE", "S/390", "a file of another architecture says of which");
    fresh_mock(path);
    patch(path, EI_CLASS, "\001", 1);
    ends_as("ARCHITECTURE", "32-bit", "a file of 32 bits");
    fresh_mock(path);
    patch(path, note + (long)offsetof(ndp_note, abi_minor), &minor, sizeof minor);
    ends_as("ABI", "0.99", "a file of another ABI minor, by its note");
    fresh_mock(path);
    patch(path, note + (long)offsetof(ndp_note, isa), &isa, sizeof isa);
    ends_as("ISA", "-march", "a file for another instruction set");
    fresh_mock(path);
    patch(path, note + (long)offsetof(ndp_note, sanitizers), &sanitizers, sizeof sanitizers);
    ends_as("SANITIZER", "-fsanitize=memory", "a file built with MemorySanitizer");
    cut();
    remove_folder();
}

/* ---- files without a note ---- */
static int look_at_nonote_file(void)
{
    nd_device *d;
    return nd_device_get("nonsense", &d) == ND_ERR_DEVICE &&
                   !strstr(nd_last_error()->message, "NO_NOTE") &&
                   nd_device_get("nonote", &d) == ND_ERR_DEVICE
               ? 0
               : 1;
}

static int warnings;
static void count_warnings(void *ctx, int32_t level, const char *text)
{
    (void)ctx;
    warnings += level == ND_LOG_WARN && strstr(text, "ndock-nonote.so") != NULL;
}

static int look_at_named_file(void)
{
    nd_device *d;
    nd_log_set(count_warnings, NULL, ND_LOG_WARN);
    if (nd_device_get("nonote", &d) != ND_ERR_DEVICE ||
        !strstr(nd_last_error()->message, "without ndock's note"))
        return 1;
    return warnings == 1 ? 0 : 2;
}

static int load_it(void)
{
    char path[512];
    path_in(path, sizeof path, "ndock-nonote.so");
    return nd_plugin_load(path) == ND_ERR_PLUGIN &&
                   strstr(nd_last_error()->message, "without ndock's note") &&
                   strstr(nd_last_error()->message, "NO_NOTE")
               ? 0
               : 1;
}

static void without_note(void)
{
    char path[512];
    fresh_folder();
    path_in(trace, sizeof trace, "trace");
    setenv("MOCK_TRACE", trace, 1);
    install("nonote", "nonote");
    path_in(path, sizeof path, "ndock-nonote.so");
    want_state = "NO_NOTE";
    want_word = "NDP_PLUGIN_NOTE";
    want_path = "ndock-nonote.so";
    is_int(in_child(look_at_state, folder), 0, "a shared object without a note is left alone");
    is_int(in_child(look_at_nonote_file, folder), 0, "without noise in the errors of others");
    is_int(in_child(look_at_named_file, path), 0, "named in NDOCK_PLUGIN_PATH it is an error");
    is_int(in_child(load_it, folder), 0, "and for nd_plugin_load");
    is_int(lines_of_trace(), 0, "and nothing of it ran");
    remove_folder();
}

TAP_MAIN({"many", many}, {"elsewhere", elsewhere}, {"without_note", without_note})
