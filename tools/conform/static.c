/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Group A of `ndock conform`: what a plug-in's file says of itself, with none of its code run. */
#include <elf.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "tools/conform/conform.h"
#include "core/plugin/note.h"
#include "tools/elf.h"

typedef struct {
    const conform_run *run;
    elf_file elf;
    nd_note_result result; /* of reading the note */
    nd_note_file note;
    char why[512]; /* there is no note */
    nd_text wrong; /* lines: what the check found wrong */
    nd_text text;  /* what it found */
} subject;

/* ---- the note ---- */
/* "mychip" of ".../ndock-mychip.so", 0 where the file's name has another form. */
static size_t name_of_file(const char *path, const char **name)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base), before = strlen("ndock-"), after = strlen(".so");
    *name = base + before;
    return n > before + after && strncmp(base, "ndock-", before) == 0 &&
                   strcmp(base + n - after, ".so") == 0
               ? n - before - after
               : 0;
}

/* Ids of groups separated by blanks: "ndp.op/1", or a vendor's in reverse-DNS form. */
static void check_groups(subject *s, const char *groups, size_t room)
{
    if (strnlen(groups, room) == room) {
        nd__text_puts(&s->wrong, "the list of groups does not end within its field\n");
        return;
    }
    for (const char *at = groups; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " "), slash = strcspn(at, "/");
        size_t digits = slash < n ? strspn(at + slash + 1, "0123456789") : 0;
        if (slash >= n || slash + 1 + digits != n || digits == 0 || !memchr(at, '.', slash))
            nd__text_add(&s->wrong,
                         "the group \"%.*s\" is not named like \"ndp.op/1\" or "
                         "\"com.maker.thing/1\"\n",
                         (int)n, at);
        at += n;
    }
}

static void check_note(subject *s)
{
    const ndp_note *n = &s->note.note;
    const char *name;
    if (s->result != ND_NOTE_FOUND) {
        nd__text_add(&s->wrong, "%s\n", s->why);
        return;
    }
    nd__text_add(&s->text, "sound");
    size_t length = name_of_file(s->run->path, &name);
    if (n->size < sizeof *n)
        nd__text_add(&s->wrong,
                     "it has %u bytes, not %zu: build with this version's <ndock/note.h>\n",
                     n->size, sizeof *n);
    if (length && (strlen(n->name) != length || strncmp(n->name, name, length) != 0))
        nd__text_add(&s->wrong, "its name is \"%s\", the file is called ndock-%.*s.so\n", n->name,
                     (int)length, name);
    if (!n->version[0] || strnlen(n->version, sizeof n->version) == sizeof n->version)
        nd__text_puts(&s->wrong, "the version is empty or does not end within its field\n");
    if (!(n->dtypes[0] | n->dtypes[1]))
        nd__text_puts(&s->wrong, "no dtype can live on its devices\n");
    check_groups(s, n->groups, sizeof n->groups);
}

static void check_abi(subject *s)
{
    const ndp_note *n = &s->note.note;
    if (!elf_native(&s->elf))
        nd__text_add(&s->wrong, "the file is for %s, not a shared object for this machine\n",
                     elf_machine(&s->elf));
    nd__text_add(&s->text, "%u.%u", n->abi_major, n->abi_minor);
    if (n->abi_major != NDP_ABI_MAJOR || n->abi_minor != NDP_ABI_MINOR)
        nd__text_add(&s->wrong,
                     "it was built for plug-in ABI %u.%u, this ndock has %d.%d; before 1.0 they "
                     "must be equal: build it again\n",
                     n->abi_major, n->abi_minor, NDP_ABI_MAJOR, NDP_ABI_MINOR);
    if (n->host_minor_min > n->abi_minor)
        nd__text_add(&s->wrong, "it asks for a host of minor %u, newer than its own %u\n",
                     n->host_minor_min, n->abi_minor);
}

/* ---- the processor ---- */
/* The level that the compiler's own note (x86 psABI: GNU_PROPERTY_X86_ISA_1_NEEDED) asks for: 1 to
 * 4, 0 for none. */
static unsigned needed_level(const elf_file *e)
{
    enum { PROPERTY = 5, ISA_1_NEEDED = (int)0xc0008002 - 0 };
    elf_note_place at = {0};
    elf_note note;
    while (elf_next_note(e, &at, &note)) {
        if (note.type != PROPERTY || note.owner_size != 4 || memcmp(note.owner, "GNU", 4) != 0)
            continue;
        for (size_t i = 0; i + 8 <= note.desc_size;) {
            uint32_t type, size, bits = 0;
            memcpy(&type, note.desc + i, 4);
            memcpy(&size, note.desc + i + 4, 4);
            if (size > note.desc_size - i - 8)
                break;
            if (type == (uint32_t)ISA_1_NEEDED && size == 4)
                memcpy(&bits, note.desc + i + 8, 4);
            for (unsigned level = 4; level > 0; level--)
                if (bits >> (level - 1) & 1)
                    return level;
            i += 8 + ((size_t)size + 7) / 8 * 8;
        }
    }
    return 0;
}

static void check_isa(subject *s)
{
    nd_note_host host;
    char text[ND_NOTE_TEXT], why[512];
    nd__note_host(&host);
    const char *state = nd__note_misfit(&s->note, &host, why, sizeof why);
    const uint32_t isa = s->note.note.isa;
    nd__text_add(&s->text, "%s", nd__isa_name(isa, text));
    if (state && (strcmp(state, "ISA") == 0 || strcmp(state, "SANITIZER") == 0))
        nd__text_add(&s->wrong, "%s\n", why);
    if ((isa & 0xffff0000u) == NDP_ISA_X86_64 && elf_native(&s->elf)) {
        unsigned needed = needed_level(&s->elf);
        if (needed > (isa & 0xffff))
            nd__text_add(
                &s->wrong,
                "its code needs x86-64-v%u, the note says %s: compile the file of the note "
                "with the options of the others\n",
                needed, text);
    }
}

/* ---- what the dynamic linker sees ---- */
/* Old linkers export these whatever a version script says. */
static bool of_the_toolchain(const char *name)
{
    static const char *const names[] = {"_init",      "_fini",       "__bss_start",
                                        "_edata",     "_end",        "__end__",
                                        "_bss_end__", "__bss_end__", "__bss_start__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* One entry per major; there are no others before 1.0. */
static bool is_entry(const char *name)
{
    static const char prefix[] = "ndock_plugin_entry_";
    const char *digits = name + sizeof prefix - 1;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 && *digits &&
           digits[strspn(digits, "0123456789")] == 0;
}

static void check_exports(subject *s)
{
    enum { SHOWN = 8 };
    uint64_t at = 0;
    elf_symbol symbol;
    int others = 0;
    bool entry = false;
    while (elf_next_export(&s->elf, &at, &symbol)) {
        entry |= strcmp(symbol.name, NDP_ENTRY) == 0 && symbol.function;
        if (is_entry(symbol.name) || of_the_toolchain(symbol.name))
            continue;
        if (others++ < SHOWN)
            nd__text_add(&s->wrong, "it exports %s%s\n", symbol.name,
                         symbol.unique ? ", one for the whole process" : "");
    }
    if (others > SHOWN)
        nd__text_add(&s->wrong, "and %d more\n", others - SHOWN);
    if (others)
        nd__text_add(&s->wrong,
                     "link with a version script: { global: ndock_plugin_entry_*; local: *; }; and "
                     "compile with -fvisibility=hidden\n");
    if (!entry)
        nd__text_add(&s->wrong, "it exports no function %s\n", NDP_ENTRY);
    nd__text_add(&s->text, "%s alone", NDP_ENTRY);
}

static void check_textrel(subject *s)
{
    nd__text_puts(&s->text, "none");
    if (s->elf.textrel)
        nd__text_puts(&s->wrong, "DT_TEXTREL: code has to be changed when it is loaded; compile "
                                 "every file with -fPIC\n");
}

static void check_execstack(subject *s)
{
    nd__text_puts(&s->text, "data");
    if (s->elf.stack_executable)
        nd__text_puts(&s->wrong, "PT_GNU_STACK asks for an executable stack; link with "
                                 "-Wl,-z,noexecstack\n");
    else if (!s->elf.stack_named)
        nd__text_puts(&s->wrong, "no PT_GNU_STACK, so loaders make the stack executable; link with "
                                 "-Wl,-z,noexecstack\n");
}

static void check_runpath(subject *s)
{
    static const struct {
        uint64_t tag;
        const char *name;
    } tags[] = {{DT_RPATH, "DT_RPATH"}, {DT_RUNPATH, "DT_RUNPATH"}};
    int entries = 0;
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        uint64_t at = 0;
        for (const char *list; (list = elf_dynamic_text(&s->elf, tags[t].tag, &at)) != NULL;)
            for (const char *p = list;; p++) {
                size_t n = strcspn(p, ":");
                bool fixed =
                    p[0] == '/' || strncmp(p, "$ORIGIN", 7) == 0 || strncmp(p, "${ORIGIN}", 9) == 0;
                entries++;
                if (!fixed)
                    nd__text_add(&s->wrong,
                                 "%s has \"%.*s\", which depends on the current folder: anyone's "
                                 "library could be loaded from there\n",
                                 tags[t].name, (int)n, p);
                p += n;
                if (!*p)
                    break;
            }
    }
    nd__text_add(&s->text, entries ? "%d absolute folder%s" : "none", entries,
                 entries == 1 ? "" : "s");
}

static void check_needed(subject *s)
{
    char found[PATH_MAX];
    uint64_t at = 0;
    int n = 0;
    for (const char *name; (name = elf_dynamic_text(&s->elf, DT_NEEDED, &at)) != NULL; n++) {
        if (strncmp(name, "libndock.so", 11) == 0)
            nd__text_puts(&s->wrong,
                          "it links libndock; a plug-in links nothing of ndock, services "
                          "come in ndp_host\n");
        else if (!elf_find(&s->elf, s->run->path, name, found, sizeof found))
            nd__text_add(&s->wrong,
                         "%s is not found: install it, or name its folder in LD_LIBRARY_PATH; a "
                         "library that not every machine has is better opened on first need\n",
                         name);
    }
    nd__text_add(&s->text, "%d librar%s, all here", n, n == 1 ? "y" : "ies");
}

static void check_nodelete(subject *s)
{
    nd__text_puts(&s->text, "set");
    if (!s->elf.nodelete)
        nd__text_puts(&s->wrong, "DF_1_NODELETE is not set: threads of a run-time library may "
                                 "outlive dlclose; link with -Wl,-z,nodelete\n");
}

static const struct {
    const char *id, *text;
    bool of_note; /* says nothing of a file without one */
    void (*check)(subject *s);
} checks[] = {
    {"A.note", "the note", false, check_note},
    {"A.abi", "the plug-in ABI", true, check_abi},
    {"A.isa", "the instruction set", true, check_isa},
    {"A.exports", "what others can bind to", false, check_exports},
    {"A.textrel", "relocations of code", false, check_textrel},
    {"A.execstack", "the stack", false, check_execstack},
    {"A.runpath", "DT_RPATH and DT_RUNPATH", false, check_runpath},
    {"A.needed", "libraries needed", false, check_needed},
    {"A.nodelete", "DF_1_NODELETE", false, check_nodelete},
};

static void run_check(conform_run *r, subject *s, size_t i)
{
    nd_text *wrong = &s->wrong, text = {0};
    double start = conform_now();
    bool skipped = checks[i].of_note && s->result != ND_NOTE_FOUND;
    if (!skipped)
        checks[i].check(s);
    nd__text_add(&text, "%s%s%s", checks[i].text, s->text.len && !wrong->len ? ": " : "",
                 s->text.len && !wrong->len ? s->text.data : "");
    conform_case *c = conform_add(r, 'A',
                                  skipped      ? CASE_SKIP
                                  : wrong->len ? CASE_FAIL
                                               : CASE_PASS,
                                  checks[i].id, text.data);
    if (skipped)
        conform_set(&c->reason, "the file has no note");
    if (wrong->len) {
        wrong->data[wrong->len - 1] = 0; /* the last line's end */
        conform_set(&c->said, wrong->data);
        conform_set(&c->replay, c->id);
    }
    c->seconds = conform_now() - start;
    free(text.data);
    free(s->text.data);
    free(wrong->data);
    s->text = *wrong = (nd_text){0};
}

bool conform_run_static(conform_run *r, conform_group *g)
{
    subject s = {.run = r};
    char error[256];
    double start = conform_now();
    g->ran = true;
    if (!elf_open(r->path, &s.elf, error, sizeof error)) {
        conform_case *c = conform_add(r, 'A', CASE_FAIL, "A.elf", "the file is a shared object");
        conform_set(&c->said, error);
        return false;
    }
    s.result = nd__note_read(r->path, &s.note, s.why, sizeof s.why);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        if (!r->filter || fnmatch(r->filter, checks[i].id, 0) == 0)
            run_check(r, &s, i);
    elf_close(&s.elf);
    g->seconds = conform_now() - start;
    return true;
}

void conform_read_file(conform_run *r)
{
    nd_note_file note;
    char why[512];
    if (nd__note_read(r->path, &note, why, sizeof why) == ND_NOTE_FOUND) {
        snprintf(r->name, sizeof r->name, "%.*s", (int)sizeof note.note.name, note.note.name);
        snprintf(r->version, sizeof r->version, "%.*s", (int)sizeof note.note.version,
                 note.note.version);
    }
    nd__build_id_text(&note, r->build_id);
}
