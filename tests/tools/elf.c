/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The reader of ELF files: a 32-bit file of the other byte order written here after the gABI, files
 * cut at every length, and what ld.so would find for this program's own libraries. */
#include <elf.h>
#include <unistd.h>
#include "tests/tap.h"
#include "tools/elf.h"

/* A PowerPC-like shared object, big-endian: header, three segments (load, dynamic, notes), the
 * dynamic section, DT_HASH, two symbols, strings and a note, one after the other. */
enum {
    AT_SEGMENTS = 52,
    AT_DYNAMIC = AT_SEGMENTS + 4 * 32,
    DYNAMICS = 11,
    AT_HASH = AT_DYNAMIC + DYNAMICS * 8,
    AT_SYMBOLS = AT_HASH + 5 * 4 + 4,
    AT_STRINGS = AT_SYMBOLS + 3 * 16,
    AT_NOTES = AT_STRINGS + 64,
    END = AT_NOTES + 20 + 28,
    BASE = 0x10000
};
static unsigned char file[END];

static void put(int at, int nbytes, uint32_t value)
{
    for (int i = 0; i < nbytes; i++)
        file[at + i] = (unsigned char)(value >> 8 * (nbytes - 1 - i));
}

static void put_segment(int i, uint32_t type, uint32_t flags, int at, int nbytes)
{
    int s = AT_SEGMENTS + 32 * i;
    put(s, 4, type);
    put(s + 4, 4, (uint32_t)at);
    put(s + 8, 4, (uint32_t)(BASE + at));
    put(s + 16, 4, (uint32_t)nbytes);
    put(s + 24, 4, flags);
    put(s + 28, 4, 4);
}

static void put_symbol(int i, uint32_t name, int info, int visibility, int section)
{
    int s = AT_SYMBOLS + 16 * i;
    put(s, 4, name);
    file[s + 12] = (unsigned char)info;
    file[s + 13] = (unsigned char)visibility;
    put(s + 14, 2, (uint32_t)section);
}

static void make_file(void)
{
    static const char strings[] = "\0libfoo.so.1\0entry\0hidden\0/opt/lib:$ORIGIN";
    static const uint32_t dynamic[DYNAMICS][2] = {
        {DT_NEEDED, 1},
        {DT_STRTAB, BASE + AT_STRINGS},
        {DT_STRSZ, sizeof strings},
        {DT_SYMTAB, BASE + AT_SYMBOLS},
        {DT_HASH, BASE + AT_HASH},
        {DT_RPATH, 26},
        {DT_TEXTREL, 0},
        {DT_FLAGS_1, DF_1_NODELETE},
        {DT_NULL, 0},
        {DT_NEEDED, 1} /* after the end: does not count */};
    memset(file, 0, sizeof file);
    memcpy(file, ELFMAG "\1\2\1", 7);
    put(16, 2, ET_DYN);
    put(18, 2, EM_PPC);
    put(28, 4, AT_SEGMENTS);
    put(42, 2, 32);
    put(44, 2, 4);
    put_segment(0, PT_LOAD, PF_R | PF_X, 0, END);
    put_segment(1, PT_DYNAMIC, PF_R, AT_DYNAMIC, DYNAMICS * 8);
    put_segment(2, PT_NOTE, PF_R, AT_NOTES, END - AT_NOTES);
    put_segment(3, PT_GNU_STACK, PF_R | PF_W | PF_X, 0, 0);
    for (int i = 0; i < DYNAMICS; i++) {
        put(AT_DYNAMIC + 8 * i, 4, dynamic[i][0]);
        put(AT_DYNAMIC + 8 * i + 4, 4, dynamic[i][1]);
    }
    put(AT_HASH, 4, 1);
    put(AT_HASH + 4, 4, 3);
    put_symbol(1, 13, STB_GLOBAL << 4 | STT_FUNC, STV_DEFAULT, 7);
    put_symbol(2, 19, STB_GLOBAL << 4 | STT_OBJECT, STV_HIDDEN, 7);
    memcpy(file + AT_STRINGS, strings, sizeof strings);
    put(AT_NOTES, 4, 4); /* an empty one of another owner, then the build id */
    put(AT_NOTES + 8, 4, 77);
    memcpy(file + AT_NOTES + 12, "XYZ", 4);
    put(AT_NOTES + 16, 4, 4);
    put(AT_NOTES + 20, 4, 3);
    put(AT_NOTES + 24, 4, NT_GNU_BUILD_ID);
    memcpy(file + AT_NOTES + 28, "GNU", 4);
    memcpy(file + AT_NOTES + 32, "\xab\xcd\x01", 3);
}

static void other_order(void)
{
    elf_file e;
    elf_symbol symbol;
    char text[64];
    uint64_t at = 0;
    make_file();
    if (!ok(elf_parse(file, sizeof file, &e, text, sizeof text), "32 bits, big-endian: read"))
        return diag("%s", text);
    ok(!e.wide && e.big && e.type == ET_DYN && e.machine == EM_PPC, "its header");
    ok(!elf_native(&e), "and it is foreign");
    is_str(elf_machine(&e), "machine 20", "a machine without a name has its number");
    ok(e.textrel && e.nodelete && e.stack_named && e.stack_executable && !e.bind_now && !e.relro,
       "flags");
    is_str(elf_dynamic_text(&e, DT_NEEDED, &at), "libfoo.so.1", "what it needs");
    ok(!elf_dynamic_text(&e, DT_NEEDED, &at), "and nothing after DT_NULL");
    at = 0;
    is_str(elf_dynamic_text(&e, DT_RPATH, &at), "/opt/lib:$ORIGIN", "its path");
    at = 0;
    ok(elf_next_export(&e, &at, &symbol) && strcmp(symbol.name, "entry") == 0 && symbol.function,
       "its one export");
    ok(!elf_next_export(&e, &at, &symbol), "a hidden symbol is none");
    is_str(elf_build_id(&e, text, sizeof text), "abcd01", "its build id, after another note");
    is_str(elf_build_id(&e, text, 4), "ab", "cut to whole bytes");
}

/* No length of the file makes a read outside it (a block of that size under a sanitizer), and every
 * refusal has a reason. */
static void truncated(void)
{
    int silent = 0, read = 0;
    make_file();
    for (size_t n = 0; n < sizeof file; n++) {
        elf_file e;
        elf_symbol symbol;
        uint64_t at = 0;
        char text[160] = "";
        unsigned char *copy = malloc(n ? n : 1);
        memcpy(copy, file, n);
        if (elf_parse(copy, n, &e, text, sizeof text)) {
            read++;
            while (elf_next_export(&e, &at, &symbol))
                continue;
            elf_build_id(&e, text, sizeof text);
        } else {
            silent += text[0] == 0;
        }
        free(copy);
    }
    is_int(silent, 0, "every refusal of a shortened file has a reason");
    is_int(read, END - AT_DYNAMIC, "a file is read once its segments' table is whole");
}

static void refused(const char *path, const char *word)
{
    elf_file e;
    char text[256] = "";
    ok(!elf_open(path, &e, text, sizeof text), "%s is refused", path);
    has_text(text, word, "with the reason");
}

static void refusals(void)
{
    char error[256];
    elf_file e;
    refused("/nonexistent/x.so", "No such file");
    refused("/", "no regular file");
    refused("/dev/null", "empty");
    refused("/proc/self/status", "empty"); /* of size 0, as all there */
    make_file();
    file[EI_CLASS] = 9;
    ok(!elf_parse(file, sizeof file, &e, error, sizeof error), "no such class");
    has_text(error, "class 9", "is named");
    ok(!elf_parse("#!/bin/sh\nexit 0\n", 17, &e, error, sizeof error), "a script is no ELF file");
}

/* What the loader mapped for this program is what elf_find finds. */
static bool is_mapped(const char *path)
{
    char line[4096], real[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!realpath(path, real))
        real[0] = 0;
    while (maps && real[0] && !found && fgets(line, sizeof line, maps)) {
        line[strcspn(line, "\n")] = 0;
        const char *name = strchr(line, '/');
        found = name && strcmp(name, real) == 0;
    }
    if (maps)
        fclose(maps);
    return found;
}

static void libraries(void)
{
    elf_file e;
    char text[256], found[4096];
    const char *name;
    int n = 0;
    if (!ok(elf_open("/proc/self/exe", &e, text, sizeof text), "this program is read"))
        return diag("%s", text);
    for (uint64_t at = 0; (name = elf_dynamic_text(&e, DT_NEEDED, &at)) != NULL; n++)
        if (strncmp(name, "lib", 3) == 0)
            ok(elf_find(&e, "/proc/self/exe", name, found, sizeof found) && is_mapped(found),
               "%s is found where the loader found it", name);
    ok(n > 0, "it needs libraries");
    ok(!elf_find(&e, "/proc/self/exe", "libndock-no-such.so.9", found, sizeof found),
       "a library that does not exist is not found");
    ok(!elf_find(&e, "/proc/self/exe", "/etc/passwd", found, sizeof found),
       "nor is a file that is no library");
    elf_close(&e);
}

TAP_MAIN({"other_order", other_order}, {"truncated", truncated}, {"refusals", refusals},
         {"libraries", libraries})
