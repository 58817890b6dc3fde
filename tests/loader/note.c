/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading notes: files written here byte by byte after the gABI, whole and damaged in every way
 * that a reader could follow into the dark; then who may run where. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/plugin/note.h"
#include "tests/tap.h"

enum { HEADERS = 64 + 2 * 56, BUILD_ID = 12 + 4 + 20, FILE_BYTES = 2048 };
typedef struct {
    Elf64_Ehdr e;
    Elf64_Phdr load, notes;
    uint32_t gnu[3];
    char gnu_name[4];
    uint8_t gnu_id[20];
    uint32_t owner_size, desc_size, type;
    char owner[8];
    ndp_note note;
    uint8_t rest[FILE_BYTES];
} image;

static image whole(void)
{
    image f = {.e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_type = ET_DYN,
                     .e_machine = EM_X86_64,
                     .e_version = EV_CURRENT,
                     .e_phoff = offsetof(image, load),
                     .e_ehsize = 64,
                     .e_phentsize = 56,
                     .e_phnum = 2},
               .load = {.p_type = PT_LOAD, .p_filesz = sizeof(image), .p_align = 4096},
               .notes = {.p_type = PT_NOTE,
                         .p_offset = offsetof(image, gnu),
                         .p_filesz = offsetof(image, rest) - offsetof(image, gnu),
                         .p_align = 4},
               .gnu = {4, 20, NT_GNU_BUILD_ID},
               .gnu_name = "GNU",
               .owner_size = 6,
               .desc_size = sizeof(ndp_note),
               .type = 1,
               .owner = "ndock",
               .note = {.size = sizeof(ndp_note),
                        .abi_major = NDP_ABI_MAJOR,
                        .abi_minor = NDP_ABI_MINOR,
                        .host_minor_min = NDP_ABI_MINOR,
                        .priority = -7,
                        .isa = 0x10003,
                        .dtypes = {5, 6},
                        .name = "mychip",
                        .version = "1.0",
                        .groups = "ndp.op/1"}};
    for (int i = 0; i < 20; i++)
        f.gnu_id[i] = (uint8_t)(i + 0xa0);
    return f;
}

static nd_note_file out;
static char why[512];

/* The bytes in a block of their own size, so that a sanitizer sees a step beyond it. */
static nd_note_result parse(const image *f, size_t n)
{
    void *bytes = malloc(n ? n : 1);
    memcpy(bytes, f, n);
    nd_note_result result = nd__note_parse(bytes, n, &out, why, sizeof why);
    free(bytes);
    return result;
}

static void gives(const image *f, nd_note_result wanted, const char *word, const char *what)
{
    nd_note_result r = parse(f, sizeof *f);
    ok(r == wanted && (r == ND_NOTE_FOUND || strstr(why, word)), "%s", what);
    if (r != wanted || (r != ND_NOTE_FOUND && !strstr(why, word)))
        diag("result %d: %s", (int)r, why);
}

static void found(void)
{
    char text[ND_BUILD_ID_TEXT];
    image f = whole();
    gives(&f, ND_NOTE_FOUND, "", "a whole file");
    ok(out.machine == 62 && out.bits == 64 && out.note.priority == -7 && out.note.isa == 0x10003 &&
           out.note.dtypes[1] == 6 && strcmp(out.note.name, "mychip") == 0 &&
           strcmp(out.note.groups, "ndp.op/1") == 0,
       "its note's fields");
    ok(strcmp(nd__build_id_text(&out, text), "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3") == 0,
       "its build-id");
    f.notes.p_filesz = offsetof(image, rest) - offsetof(image, owner_size);
    f.notes.p_offset = offsetof(image, owner_size);
    gives(&f, ND_NOTE_FOUND, "", "without a build-id");
    ok(out.build_id_bytes == 0, "which is then none");
    f = whole();
    memset(f.gnu, 0, sizeof f.gnu + sizeof f.gnu_name + sizeof f.gnu_id);
    gives(&f, ND_NOTE_FOUND, "", "zeros between notes are padding");
    f = whole();
    f.desc_size = sizeof(ndp_note) + 8;
    f.notes.p_filesz += 8;
    f.note.size = sizeof(ndp_note) + 8;
    gives(&f, ND_NOTE_FOUND, "", "a longer note of a later ndock");
    f = whole();
    f.gnu[1] = 0xfffffff0;
    gives(&f, ND_NOTE_DAMAGED, "past the notes' end", "a note longer than its segment");
    f = whole();
    f.gnu[0] = 0xffffffff;
    gives(&f, ND_NOTE_DAMAGED, "past the notes' end", "an owner longer than its segment");
}

/* With alignment 8 the contents begin at a multiple of 8 from the segment's begin. */
static void wide(void)
{
    image f = whole();
    const ndp_note note = f.note;
    unsigned char *at = (unsigned char *)&f.owner_size;
    memmove(at + 24, &note, sizeof note);
    memset(at + 18, 0, 6);
    f.notes.p_align = 8;
    f.notes.p_offset = offsetof(image, owner_size);
    f.notes.p_filesz = 24 + sizeof note;
    gives(&f, ND_NOTE_FOUND, "", "a note in a segment of alignment 8");
    is_str(out.note.name, "mychip", "its fields");
}

static void not_ours(void)
{
    image f = whole();
    f.type = 2;
    gives(&f, ND_NOTE_ABSENT, "NDP_PLUGIN_NOTE", "another type of note");
    f = whole();
    memcpy(f.owner, "ndocK", 6);
    gives(&f, ND_NOTE_ABSENT, "NDP_PLUGIN_NOTE", "another owner");
    f = whole();
    f.owner_size = 8;
    f.owner[6] = 'X';
    gives(&f, ND_NOTE_ABSENT, "NDP_PLUGIN_NOTE", "an owner whose name goes on after ours");
    f = whole();
    f.e.e_type = ET_REL;
    gives(&f, ND_NOTE_ABSENT, "no shared object", "an object file");
    f = whole();
    f.e.e_ident[0] = 'M';
    gives(&f, ND_NOTE_ABSENT, "no ELF file", "another format");
    f = whole();
    f.e.e_ident[EI_CLASS] = ELFCLASS32;
    f.e.e_machine = EM_386;
    gives(&f, ND_NOTE_FOREIGN, "32-bit little-endian ELF file for i386", "32 bits");
    f = whole();
    f.e.e_ident[EI_DATA] = ELFDATA2MSB;
    f.e.e_machine = 22 << 8;
    gives(&f, ND_NOTE_FOREIGN, "64-bit big-endian ELF file for S/390", "the other byte order");
}

static void damaged(void)
{
    image f = whole();
    f.e.e_phoff = UINT64_MAX - 8;
    gives(&f, ND_NOTE_DAMAGED, "cut", "program headers beyond everything");
    f = whole();
    f.e.e_phnum = 0xffff;
    gives(&f, ND_NOTE_DAMAGED, "program headers", "65535 program headers");
    f = whole();
    f.e.e_phentsize = 0;
    gives(&f, ND_NOTE_DAMAGED, "program headers of 0 bytes", "program headers of no bytes");
    f = whole();
    f.load.p_filesz = UINT64_MAX;
    gives(&f, ND_NOTE_DAMAGED, "cut", "a segment beyond everything");
    f = whole();
    f.notes.p_offset = UINT64_MAX - 3;
    gives(&f, ND_NOTE_DAMAGED, "cut", "notes whose end wraps around");
    f = whole();
    f.e.e_shoff = sizeof f - 10;
    f.e.e_shnum = 1;
    f.e.e_shentsize = 64;
    gives(&f, ND_NOTE_DAMAGED, "section headers", "section headers cut off");
    f = whole();
    f.note.size = 40;
    gives(&f, ND_NOTE_DAMAGED, "says 40 bytes", "a note that is too short");
    f = whole();
    f.note.size = sizeof(ndp_note) + 4;
    gives(&f, ND_NOTE_DAMAGED, "holds", "a note that says more than it has");
    f = whole();
    memset(f.note.groups, 'x', sizeof f.note.groups);
    gives(&f, ND_NOTE_DAMAGED, "does not end", "a text without an end");
    f = whole();
    memcpy(f.note.name, "My Chip", 8);
    gives(&f, ND_NOTE_DAMAGED, "the name", "a name of another form");
    f = whole();
    f.note.version[1] = 27;
    gives(&f, ND_NOTE_DAMAGED, "printable", "an escape in the version");
    f = whole();
    memcpy(f.rest, &f.owner_size, offsetof(image, rest) - offsetof(image, owner_size));
    f.notes.p_filesz += offsetof(image, rest) - offsetof(image, owner_size);
    gives(&f, ND_NOTE_DAMAGED, "two ndock notes", "two notes");
    f = whole();
    int fine = 0;
    for (size_t n = 0; n < sizeof f; n++)
        fine += parse(&f, n) == ND_NOTE_FOUND || !why[0];
    is_int(fine, 0, "cut at any byte it is refused with a reason");
}

static void files(void)
{
    char path[] = "note.XXXXXX";
    int fd = mkstemp(path);
    image f = whole();
    if (fd < 0 || write(fd, &f, sizeof f) != (ssize_t)sizeof f)
        bail("cannot write a file");
    ok(nd__note_read(path, &out, why, sizeof why) == ND_NOTE_FOUND && out.machine == EM_X86_64,
       "from a file");
    if (ftruncate(fd, 0) != 0)
        bail("ftruncate");
    ok(nd__note_read(path, &out, why, sizeof why) == ND_NOTE_ABSENT, "an empty file");
    ok(nd__note_read("/", &out, why, sizeof why) == ND_NOTE_UNREADABLE &&
           strstr(why, "not a regular file"),
       "a folder");
    ok(nd__note_read("/nowhere/at/all", &out, why, sizeof why) == ND_NOTE_UNREADABLE &&
           strstr(why, "No such file"),
       "no file");
    close(fd);
    unlink(path);
}

/* ---- who may run where ---- */
static nd_note_host machine = {.machine = EM_X86_64, .isa = 0x10003};

static void fits(const image *f, const char *state, const char *word, const char *what)
{
    if (parse(f, sizeof *f) != ND_NOTE_FOUND)
        bail(why);
    const char *is = nd__note_misfit(&out, &machine, why, sizeof why);
    ok(state ? is && strcmp(is, state) == 0 && strstr(why, word) : !is, "%s", what);
    if (is)
        diag("%s: %s", is, why);
}

static void misfits(void)
{
    char text[64];
    image f = whole();
    fits(&f, NULL, "", "everything fits");
    f.e.e_machine = EM_AARCH64;
    fits(&f, "ARCHITECTURE", "for AArch64, and this machine is x86-64", "another architecture");
    f = whole();
    f.note.abi_minor = 99;
    snprintf(text, sizeof text, "ABI 0.99, this libndock has 0.%d", NDP_ABI_MINOR);
    fits(&f, "ABI", text, "another minor before 1.0: both are named");
    f = whole();
    f.note.abi_major = 1;
    fits(&f, "ABI", "ABI 1.", "another major");
    f = whole();
    f.note.host_minor_min = NDP_ABI_MINOR + 1;
    fits(&f, "ABI", "update ndock", "a newer host is needed");
    f = whole();
    f.note.isa = 0x10004;
    fits(&f, "ISA", "x86-64-v4, and this one, with its operating system, has x86-64-v3",
         "a higher level");
    f.note.isa = 0;
    fits(&f, NULL, "", "any instruction set");
    f.note.isa = 0x20000;
    fits(&f, "ISA", "aarch64", "a note of another architecture than its file");
    f = whole();
    f.note.sanitizers = NDP_SANITIZER_ADDRESS;
    fits(&f, "SANITIZER", "-fsanitize=address and this process was not",
         "AddressSanitizer in a plain process");
    machine.sanitizers = NDP_SANITIZER_ADDRESS;
    fits(&f, NULL, "", "AddressSanitizer in such a process");
    f.note.sanitizers = 0;
    fits(&f, NULL, "", "a plain plug-in in a process with AddressSanitizer");
    machine.sanitizers = machine.strict = NDP_SANITIZER_THREAD;
    fits(&f, "SANITIZER", "-fsanitize=thread and it was not",
         "a plain plug-in in a libndock with ThreadSanitizer");
    nd__note_host(&machine);
    ok(machine.machine != 0 && machine.isa >= NDP_NOTE_ISA, "this process is known to itself: %s",
       nd__isa_name(machine.isa, text));
}

/* Bits after the psABI's table and the manuals of Intel and AMD, each feature alone taken away. */
static void levels(void)
{
    const nd_cpuid v4 = {.leaf1_ecx = 0x38982201u | 1u << 12 | 1u << 22,
                         .leaf7_ebx = 0xD0030128u,
                         .ext1_ecx = 0x21,
                         .xcr0 = 0xe7};
    nd_cpuid c = v4;
    is_int((int)nd__x86_64_level(&c), 4, "all there: v4");
    c.xcr0 = 0x07;
    is_int((int)nd__x86_64_level(&c), 3, "an operating system without AVX-512 state: v3");
    c.xcr0 = 0x67;
    is_int((int)nd__x86_64_level(&c), 3, "without the upper sixteen registers: v3");
    c.xcr0 = 0x03;
    is_int((int)nd__x86_64_level(&c), 2, "without AVX state: v2");
    c = v4;
    c.leaf1_ecx &= ~(1u << 27);
    is_int((int)nd__x86_64_level(&c), 2, "without OSXSAVE: v2");
    int lower = 0;
    for (int bit = 0; bit < 32; bit++) {
        c = v4;
        c.leaf7_ebx &= ~(1u << bit);
        uint32_t level = nd__x86_64_level(&c);
        uint32_t wanted = bit == 3 || bit == 5 || bit == 8                                ? 2
                          : bit == 16 || bit == 17 || bit == 28 || bit == 30 || bit == 31 ? 3
                                                                                          : 4;
        lower += level != wanted;
    }
    is_int(lower, 0, "each bit of leaf 7 counts for its level");
    c = v4;
    c.leaf1_ecx &= ~(1u << 23);
    is_int((int)nd__x86_64_level(&c), 1, "without POPCNT: v1");
    c = v4;
    c.ext1_ecx = 1;
    is_int((int)nd__x86_64_level(&c), 2, "without LZCNT: v2");
}

TAP_MAIN({"found", found}, {"wide", wide}, {"not_ours", not_ours}, {"damaged", damaged},
         {"files", files}, {"misfits", misfits}, {"levels", levels})
