/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info --offline FILE`: what a plug-in's file says of itself and needs of others, by its
 * note and its ELF headers. None of its code runs. Exit status 0 if nothing keeps it from being
 * loaded.
 */
#include <elf.h>
#include <limits.h>
#include <string.h>
#include "core/plugin/note.h"
#include "tools/elf.h"
#include "tools/tool.h"

enum { MOST_LIBRARIES = 256, MOST_EXPORTS = 16 };

typedef struct {
    char name[256], by[256], path[PATH_MAX]; /* path "": not found */
} library;

typedef struct {
    const char *path;
    json_writer *json; /* NULL: for people */
    int problems;
    elf_file elf;
    nd_note_file file;
    nd_note_host host;
    library libraries[MOST_LIBRARIES]; /* those that it needs, then those that they need ... */
    int n_libraries, n_own;
} offline;

/* ---- what it needs ---- */
static void add_libraries(offline *o, const elf_file *of, const char *path, const char *by)
{
    const char *name;
    for (uint64_t at = 0; (name = elf_dynamic_text(of, DT_NEEDED, &at)) != NULL;) {
        int i = 0;
        while (i < o->n_libraries && strcmp(o->libraries[i].name, name) != 0)
            i++;
        if (i < o->n_libraries || i == MOST_LIBRARIES || strlen(name) >= sizeof o->libraries->name)
            continue;
        library *l = &o->libraries[o->n_libraries++];
        snprintf(l->name, sizeof l->name, "%s", name);
        snprintf(l->by, sizeof l->by, "%s", by);
        if (!elf_find(of, path, name, l->path, sizeof l->path))
            l->path[0] = 0;
    }
}

static void find_libraries(offline *o)
{
    add_libraries(o, &o->elf, o->path, "");
    o->n_own = o->n_libraries;
    for (int i = 0; i < o->n_libraries; i++) {
        elf_file e;
        char error[64];
        if (!o->libraries[i].path[0] || !elf_open(o->libraries[i].path, &e, error, sizeof error))
            continue;
        add_libraries(o, &e, o->libraries[i].path, o->libraries[i].name);
        elf_close(&e);
    }
}

/* ---- printing ---- */
static void fact(const offline *o, const char *label, const char *key, const char *text)
{
    if (o->json)
        json_text(o->json, key, text);
    else
        printf("  %-11s %s\n", label, text);
}

static void problem(offline *o, const char *text)
{
    o->problems++;
    if (o->json)
        json_text(o->json, NULL, text);
    else
        printf("  !! %s\n", text);
}

static void dtypes_text(const ndp_note *note, char *out, size_t n)
{
    uint64_t bits = note->dtypes[0] | (uint64_t)note->dtypes[1] << 32;
    size_t at = 0;
    out[0] = 0;
    for (nd_dtype d = 1; d < ND_DTYPE_END && at < n; d++)
        if (bits >> d & 1)
            at += (size_t)snprintf(out + at, n - at, "%s%s", at ? " " : "", nd_dtype_name(d));
}

static void tell_note(const offline *o)
{
    const ndp_note *note = &o->file.note;
    char text[512], a[ND_NOTE_TEXT], b[ND_NOTE_TEXT];
    fact(o, "plug-in", "name", note->name);
    fact(o, "version", "version", note->version);
    snprintf(text, sizeof text, "%u.%u, and a host of %u.%u at least; this ndock has %d.%d",
             note->abi_major, note->abi_minor, note->abi_major, note->host_minor_min, NDP_ABI_MAJOR,
             NDP_ABI_MINOR);
    fact(o, "ABI", "abi", text);
    snprintf(text, sizeof text, "%s; this machine has %s", nd__isa_name(note->isa, a),
             nd__isa_name(o->host.isa, b));
    fact(o, "ISA", "isa", text);
    fact(o, "sanitizers", "sanitizers", nd__sanitizer_names(note->sanitizers, a));
    dtypes_text(note, text, sizeof text);
    fact(o, "dtypes", "dtypes", text);
    fact(o, "groups", "groups", note->groups[0] ? note->groups : "none");
    snprintf(text, sizeof text, "%d", (int)note->priority);
    fact(o, "priority", "priority", text);
}

static void tell_exports(const offline *o)
{
    elf_symbol symbol;
    int n = 0;
    if (o->json)
        json_open(o->json, "exports", '[');
    for (uint64_t at = 0; elf_next_export(&o->elf, &at, &symbol); n++) {
        if (o->json)
            json_text(o->json, NULL, symbol.name);
        else if (n < MOST_EXPORTS)
            printf("  %-11s %s\n", n ? "" : "exports", symbol.name);
    }
    if (o->json)
        json_close(o->json, ']');
    else if (n > MOST_EXPORTS)
        printf("  %-11s and %d more\n", "", n - MOST_EXPORTS);
    else if (n == 0)
        printf("  %-11s nothing\n", "exports");
}

static void tell_linking(const offline *o)
{
    const elf_file *e = &o->elf;
    char text[256], id[160];
    snprintf(text, sizeof text, "%s, %s, %s, %s, %s", e->nodelete ? "nodelete" : "no nodelete",
             e->bind_now ? "now" : "lazy", e->relro ? "relro" : "no relro",
             e->textrel ? "TEXT RELOCATIONS" : "no text relocations",
             e->stack_executable ? "EXECUTABLE STACK" : "no executable stack");
    fact(o, "linked", "linked", text);
    fact(o, "build-id", "build_id", elf_build_id(e, id, sizeof id));
}

static void json_library(json_writer *w, const library *l)
{
    json_open(w, NULL, '{');
    json_text(w, "name", l->name);
    json_text(w, "needed_by", l->by);
    json_text(w, "path", l->path);
    json_close(w, '}');
}

static void tell_libraries(const offline *o)
{
    if (o->json)
        json_open(o->json, "libraries", '[');
    for (int i = 0; i < o->n_libraries; i++) {
        const library *l = &o->libraries[i];
        if (o->json)
            json_library(o->json, l);
        else if (i < o->n_own)
            printf("  %-11s %s: %s\n", i ? "" : "needs", l->name,
                   l->path[0] ? l->path : "NOT FOUND");
    }
    if (o->json)
        json_close(o->json, ']');
}

static void judge_libraries(offline *o)
{
    char text[1024];
    for (int i = 0; i < o->n_libraries; i++) {
        const library *l = &o->libraries[i];
        if (l->path[0])
            continue;
        snprintf(text, sizeof text,
                 "the library %s%s%s is not found: install it, or name its folder in "
                 "LD_LIBRARY_PATH",
                 l->name, l->by[0] ? ", which is needed by " : "", l->by);
        problem(o, text);
    }
}

static bool exports_entry(const offline *o)
{
    elf_symbol symbol;
    for (uint64_t at = 0; elf_next_export(&o->elf, &at, &symbol);)
        if (symbol.function && strcmp(symbol.name, NDP_ENTRY) == 0)
            return true;
    return false;
}

static void judge(offline *o, nd_note_result result, const char *why)
{
    char text[640], reason[512];
    const char *misfit =
        result == ND_NOTE_FOUND ? nd__note_misfit(&o->file, &o->host, reason, sizeof reason) : NULL;
    if (result != ND_NOTE_FOUND)
        problem(o, why);
    if (misfit) {
        snprintf(text, sizeof text, "%s: %s", misfit, reason);
        problem(o, text);
    }
    if (result == ND_NOTE_FOUND && !exports_entry(o))
        problem(o, "it does not export the function " NDP_ENTRY
                   ": declare it NDP_EXPORT, and keep it in the linker's version script");
    if (o->elf.textrel)
        problem(o, "it has text relocations, which hardened systems refuse: compile all of it "
                   "with -fPIC");
    if (o->elf.stack_executable)
        problem(o, "it asks for an executable stack, which newer systems refuse: add "
                   ".note.GNU-stack to its assembler sources, or link with -Wl,-z,noexecstack");
    judge_libraries(o);
}

static void tell_all(offline *o, nd_note_result result, const char *why, const char *elf_error)
{
    if (o->json)
        json_text(o->json, "path", o->path);
    else
        puts(o->path);
    if (!elf_error[0]) {
        char text[128];
        snprintf(text, sizeof text, "%s, %d bits, %s-endian, %s", elf_machine(&o->elf),
                 o->elf.wide ? 64 : 32, o->elf.big ? "big" : "little",
                 o->elf.type == ET_DYN ? "shared object" : "no shared object");
        fact(o, "file", "file", text);
    }
    if (result == ND_NOTE_FOUND)
        tell_note(o);
    if (!elf_error[0]) {
        tell_exports(o);
        tell_libraries(o);
        tell_linking(o);
    }
    if (o->json)
        json_open(o->json, "problems", '[');
    if (elf_error[0])
        problem(o, elf_error);
    else
        judge(o, result, why);
    if (o->json)
        json_close(o->json, ']');
}

int tool_info_offline(const char *path, bool json)
{
    static offline o;
    json_writer w = {.out = stdout};
    char why[512] = "", elf_error[256] = "";
    o = (offline){.path = path, .json = json ? &w : NULL};
    nd__note_host(&o.host);
    nd_note_result result = nd__note_read(path, &o.file, why, sizeof why);
    if (elf_open(path, &o.elf, elf_error, sizeof elf_error))
        find_libraries(&o);
    else if (!elf_error[0])
        snprintf(elf_error, sizeof elf_error, "it cannot be read");
    if (json) {
        json_open(&w, NULL, '{');
        json_integer(&w, "schema", TOOL_INFO_SCHEMA);
    }
    tell_all(&o, result, why, elf_error);
    if (json) {
        json_bool(&w, "ok", o.problems == 0);
        json_close(&w, '}');
    } else {
        puts(o.problems ? "It would not be loaded, or not everywhere."
                        : "Nothing here keeps it from being loaded; `ndock conform` says more.");
    }
    elf_close(&o.elf);
    return o.problems != 0;
}
