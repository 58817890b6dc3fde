/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading ELF files without running anything of them. Segments and the dynamic section are read,
 * never sections, as ld.so does it: a file may have lost its section headers. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tools/elf.h"

static bool refuse(char *error, size_t n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(char *error, size_t n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(error, n, fmt, ap);
    va_end(ap);
    return false;
}

static bool inside(const elf_file *e, uint64_t at, uint64_t nbytes)
{
    return at <= e->size && nbytes <= e->size - at;
}

/* An unsigned number of 1, 2, 4 or 8 bytes; 0 outside the file. */
static uint64_t number(const elf_file *e, uint64_t at, unsigned nbytes)
{
    uint64_t v = 0;
    if (!inside(e, at, nbytes))
        return 0;
    for (unsigned i = 0; i < nbytes; i++)
        v = v << 8 | e->data[at + (e->big ? i : nbytes - 1 - i)];
    return v;
}

/* Of the words whose size goes with the file's. */
static uint64_t word(const elf_file *e, uint64_t at)
{
    return number(e, at, e->wide ? 8 : 4);
}

typedef struct {
    uint32_t type, flags;
    uint64_t offset, address, file_bytes, align;
} segment;

static uint64_t segments(const elf_file *e)
{
    return number(e, e->wide ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum), 2);
}

static segment segment_at(const elf_file *e, uint64_t i)
{
    uint64_t step = number(
        e, e->wide ? offsetof(Elf64_Ehdr, e_phentsize) : offsetof(Elf32_Ehdr, e_phentsize), 2);
    uint64_t at = word(e, e->wide ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff));
    if (at > e->size)
        return (segment){.type = PT_NULL};
    at += i * step; /* below 2^63 + 2^32 */
#define PART(field, nbytes) \
    number(e, at + (e->wide ? offsetof(Elf64_Phdr, field) : offsetof(Elf32_Phdr, field)), nbytes)
#define WORD(field) PART(field, e->wide ? 8 : 4)
    return (segment){.type = (uint32_t)PART(p_type, 4),
                     .flags = (uint32_t)PART(p_flags, 4),
                     .offset = WORD(p_offset),
                     .address = WORD(p_vaddr),
                     .file_bytes = WORD(p_filesz),
                     .align = WORD(p_align)};
#undef PART
#undef WORD
}

/* Where an address lies in the file; *left: bytes from there to its segment's end in the file. */
static bool offset_of(const elf_file *e, uint64_t address, uint64_t *offset, uint64_t *left)
{
    for (uint64_t i = 0; i < segments(e); i++) {
        segment s = segment_at(e, i);
        uint64_t into = address - s.address;
        if (s.type != PT_LOAD || address < s.address || into >= s.file_bytes ||
            s.offset > e->size || into >= e->size - s.offset)
            continue;
        *offset = s.offset + into;
        *left = s.file_bytes - into;
        if (*left > e->size - *offset)
            *left = e->size - *offset;
        return true;
    }
    return false;
}

static uint64_t dynamic_size(const elf_file *e)
{
    return e->wide ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
}

static uint64_t dynamic_tag(const elf_file *e, uint64_t i)
{
    return word(e, e->dynamic + i * dynamic_size(e));
}

static uint64_t dynamic_value(const elf_file *e, uint64_t i)
{
    return word(e, e->dynamic + i * dynamic_size(e) + dynamic_size(e) / 2);
}

static void read_segments(elf_file *e)
{
    for (uint64_t i = 0; i < segments(e); i++) {
        segment s = segment_at(e, i);
        e->relro |= s.type == PT_GNU_RELRO;
        if (s.type == PT_GNU_STACK) {
            e->stack_named = true;
            e->stack_executable = s.flags & PF_X;
        }
        if (s.type != PT_DYNAMIC || e->dynamic_n || !inside(e, s.offset, s.file_bytes))
            continue;
        e->dynamic = s.offset;
        e->dynamic_n = s.file_bytes / dynamic_size(e);
        for (uint64_t d = 0; d < e->dynamic_n; d++)
            if (dynamic_tag(e, d) == DT_NULL)
                e->dynamic_n = d;
    }
}

static void read_flags(elf_file *e, uint64_t tag, uint64_t value)
{
    e->textrel |= tag == DT_TEXTREL || (tag == DT_FLAGS && (value & DF_TEXTREL));
    e->symbolic |= tag == DT_SYMBOLIC || (tag == DT_FLAGS && (value & DF_SYMBOLIC));
    e->nodelete |= tag == DT_FLAGS_1 && (value & DF_1_NODELETE);
    e->bind_now |= tag == DT_BIND_NOW || (tag == DT_FLAGS && (value & DF_BIND_NOW)) ||
                   (tag == DT_FLAGS_1 && (value & DF_1_NOW));
}

/* Symbols of a DT_HASH table: it has one chain entry for each. */
static uint64_t count_by_hash(const elf_file *e, uint64_t address)
{
    uint64_t at, left;
    return offset_of(e, address, &at, &left) && left >= 8 ? number(e, at + 4, 4) : 0;
}

/* Symbols of a DT_GNU_HASH table: one past the end of the chain that begins last. */
static uint64_t count_by_gnu_hash(const elf_file *e, uint64_t address)
{
    uint64_t at, left, last = 0;
    if (!offset_of(e, address, &at, &left) || left < 16)
        return 0;
    uint64_t buckets = number(e, at, 4), first = number(e, at + 4, 4);
    uint64_t bloom = number(e, at + 8, 4) * (e->wide ? 8 : 4), end = at + left;
    uint64_t bucket = at + 16 + bloom, chain = bucket + 4 * buckets;
    if (chain > end)
        return 0;
    for (uint64_t i = 0; i < buckets; i++) {
        uint64_t b = number(e, bucket + 4 * i, 4);
        last = b > last ? b : last;
    }
    if (last < first)
        return first;
    while (chain + 4 * (last - first) + 4 <= end && !(number(e, chain + 4 * (last - first), 4) & 1))
        last++;
    return last + 1;
}

/* The tables that the dynamic section points to, cut to what the file has of them. */
static void read_dynamic(elf_file *e)
{
    uint64_t text = 0, text_size = 0, symbol = 0, hash = 0, gnu_hash = 0, at, left;
    for (uint64_t i = 0; i < e->dynamic_n; i++) {
        uint64_t tag = dynamic_tag(e, i), value = dynamic_value(e, i);
        read_flags(e, tag, value);
        text = tag == DT_STRTAB ? value : text;
        text_size = tag == DT_STRSZ ? value : text_size;
        symbol = tag == DT_SYMTAB ? value : symbol;
        hash = tag == DT_HASH ? value : hash;
        gnu_hash = tag == DT_GNU_HASH ? value : gnu_hash;
    }
    uint64_t count = gnu_hash ? count_by_gnu_hash(e, gnu_hash) : hash ? count_by_hash(e, hash) : 0;
    if (text && offset_of(e, text, &at, &left)) {
        e->strings = (const char *)e->data + at;
        e->strings_size = (size_t)(text_size < left ? text_size : left);
    }
    if (symbol && offset_of(e, symbol, &at, &left)) {
        uint64_t room = left / (e->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
        e->symbols = at;
        e->symbols_n = count < room ? count : room;
    }
}

bool elf_parse(const void *data, size_t size, elf_file *out, char *error, size_t n)
{
    *out = (elf_file){.data = data, .size = size};
    if (size < EI_NIDENT || memcmp(data, ELFMAG, SELFMAG) != 0)
        return refuse(error, n, "it is no ELF file");
    const unsigned char *id = data;
    if ((id[EI_CLASS] != ELFCLASS32 && id[EI_CLASS] != ELFCLASS64) ||
        (id[EI_DATA] != ELFDATA2LSB && id[EI_DATA] != ELFDATA2MSB))
        return refuse(error, n, "its ELF header has class %u and byte order %u, which do not exist",
                      id[EI_CLASS], id[EI_DATA]);
    out->wide = id[EI_CLASS] == ELFCLASS64;
    out->big = id[EI_DATA] == ELFDATA2MSB;
    size_t header = out->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    if (size < header)
        return refuse(error, n, "it ends within its ELF header, after %zu bytes: it is truncated",
                      size);
    out->type = (uint16_t)number(out, offsetof(Elf64_Ehdr, e_type), 2);
    out->machine = (uint16_t)number(out, offsetof(Elf64_Ehdr, e_machine), 2);
    uint64_t table =
        word(out, out->wide ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff));
    uint64_t step = number(
        out, out->wide ? offsetof(Elf64_Ehdr, e_phentsize) : offsetof(Elf32_Ehdr, e_phentsize), 2);
    if (step < (out->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) ||
        !inside(out, table, segments(out) * step) || segments(out) == 0)
        return refuse(error, n,
                      "its table of segments is missing or lies beyond its end at %zu bytes: it is "
                      "truncated or no program",
                      size);
    read_segments(out);
    read_dynamic(out);
    return true;
}

bool elf_open(const char *path, elf_file *out, char *error, size_t n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    if (fd < 0 || fstat(fd, &st) != 0) {
        int err = errno;
        if (fd >= 0)
            close(fd);
        return refuse(error, n, "%s", strerror(err));
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        return refuse(error, n, st.st_size == 0 ? "it is empty" : "it is no regular file");
    }
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    int err = errno;
    close(fd);
    if (data == MAP_FAILED)
        return refuse(error, n, "%s", strerror(err));
    bool good = elf_parse(data, (size_t)st.st_size, out, error, n);
    out->mapped = true;
    if (!good)
        elf_close(out);
    return good;
}

void elf_close(elf_file *e)
{
    if (e->mapped)
        (void)munmap((void *)(uintptr_t)e->data, e->size);
    *e = (elf_file){0};
}

const char *elf_machine(const elf_file *e)
{
    static _Thread_local char text[24];
    static const struct {
        uint16_t machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_386, "i386"},        {EM_AARCH64, "AArch64"},
                 {EM_ARM, "ARM"},       {EM_PPC64, "PowerPC64"}, {EM_S390, "s390"},
                 {EM_RISCV, "RISC-V"},  {258, "LoongArch"},      {EM_MIPS, "MIPS"},
                 {EM_SPARCV9, "SPARC"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].machine == e->machine)
            return names[i].name;
    snprintf(text, sizeof text, "machine %u", e->machine);
    return text;
}

/* The machine that the compiler made this file for. */
#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#elif defined(__powerpc64__)
enum { OWN_MACHINE = EM_PPC64 };
#elif defined(__riscv)
enum { OWN_MACHINE = EM_RISCV };
#elif defined(__s390__)
enum { OWN_MACHINE = EM_S390 };
#elif defined(__i386__)
enum { OWN_MACHINE = EM_386 };
#elif defined(__arm__)
enum { OWN_MACHINE = EM_ARM };
#else
enum { OWN_MACHINE = -1 }; /* unknown: any machine will do */
#endif

bool elf_native(const elf_file *e)
{
    const uint16_t one = 1;
    bool big = *(const unsigned char *)&one == 0;
    return e->wide == (sizeof(void *) == 8) && e->big == big && e->type == ET_DYN &&
           (OWN_MACHINE < 0 || e->machine == OWN_MACHINE);
}

/* A text of the dynamic section's table; NULL unless it ends within it. */
static const char *text_at(const elf_file *e, uint64_t at)
{
    return e->strings && at < e->strings_size &&
                   memchr(e->strings + at, 0, e->strings_size - (size_t)at)
               ? e->strings + at
               : NULL;
}

const char *elf_dynamic_text(const elf_file *e, uint64_t tag, uint64_t *at)
{
    while (*at < e->dynamic_n) {
        uint64_t i = (*at)++;
        const char *text = dynamic_tag(e, i) == tag ? text_at(e, dynamic_value(e, i)) : NULL;
        if (text)
            return text;
    }
    return NULL;
}

bool elf_next_export(const elf_file *e, uint64_t *at, elf_symbol *out)
{
    while (*at < e->symbols_n) {
        uint64_t s = e->symbols + (*at)++ * (e->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
#define PART(field, nbytes) \
    number(e, s + (e->wide ? offsetof(Elf64_Sym, field) : offsetof(Elf32_Sym, field)), nbytes)
        uint8_t info = (uint8_t)PART(st_info, 1), seen = (uint8_t)PART(st_other, 1) & 3;
        const char *name = text_at(e, PART(st_name, 4));
        /* Absolute ones are the names of symbol versions. */
        uint64_t section = PART(st_shndx, 2);
        bool defined = section != SHN_UNDEF && section != SHN_ABS;
#undef PART
        out->name = name ? name : "";
        out->type = info & 15;
        out->bind = info >> 4;
        out->function = out->type == STT_FUNC || out->type == STT_GNU_IFUNC;
        out->data = out->type == STT_OBJECT;
        out->unique = out->bind == STB_GNU_UNIQUE;
        if (defined && out->name[0] && out->bind != STB_LOCAL &&
            (seen == STV_DEFAULT || seen == STV_PROTECTED))
            return true;
    }
    return false;
}

/* Notes follow each other, their parts padded to 4 bytes (to 8 where the segment is aligned so). */
static bool note_in(const elf_file *e, const segment *s, uint64_t *offset, elf_note *out)
{
    const uint64_t pad = s->align == 8 ? 7 : 3, left = s->file_bytes - *offset;
    const uint64_t at = s->offset + *offset;
    if (*offset > s->file_bytes || left < 12)
        return false;
    uint64_t owner = number(e, at, 4), desc = number(e, at + 4, 4);
    uint64_t desc_at = (12 + owner + pad) & ~pad, end = desc_at + desc;
    if (desc_at > left || end > left)
        return false;
    *out = (elf_note){.owner = (const char *)e->data + at + 12,
                      .owner_size = (size_t)owner,
                      .type = (uint32_t)number(e, at + 8, 4),
                      .desc = e->data + at + desc_at,
                      .desc_size = (size_t)desc};
    end = (end + pad) & ~pad;
    *offset += end < left ? end : left;
    return true;
}

bool elf_next_note(const elf_file *e, elf_note_place *at, elf_note *out)
{
    for (; at->segment < segments(e); at->segment++, at->offset = 0) {
        segment s = segment_at(e, at->segment);
        if (s.type == PT_NOTE && inside(e, s.offset, s.file_bytes) &&
            note_in(e, &s, &at->offset, out))
            return true;
    }
    return false;
}

char *elf_build_id(const elf_file *e, char *out, size_t n)
{
    elf_note_place at = {0};
    elf_note note;
    out[0] = 0;
    while (elf_next_note(e, &at, &note)) {
        if (note.type != NT_GNU_BUILD_ID || note.owner_size != 4 ||
            memcmp(note.owner, "GNU", 4) != 0)
            continue;
        for (size_t i = 0; i < note.desc_size && 2 * i + 2 < n; i++)
            snprintf(out + 2 * i, n - 2 * i, "%02x", note.desc[i]);
        break;
    }
    return out;
}
