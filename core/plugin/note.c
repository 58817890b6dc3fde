/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * The ELF note of a plug-in's file, found by the program headers, since section headers may be
 * stripped. Every offset is compared with the file's size before it is followed. Source: gABI,
 * chapters 4 and 5; the build-id is GNU ld's. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/plugin/note.h"

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

typedef struct {
    const unsigned char *bytes;
    size_t size;
    nd_note_file *out;
    int notes; /* of ndock's, so far */
    char *why;
    size_t why_bytes;
} reader;

static nd_note_result say(reader *r, nd_note_result result, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static nd_note_result say(reader *r, nd_note_result result, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->why, r->why_bytes, fmt, ap);
    va_end(ap);
    return result;
}

static bool inside(const reader *r, uint64_t offset, uint64_t nbytes)
{
    return offset <= r->size && nbytes <= r->size - offset;
}

static bool printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

/* [a-z][a-z0-9_]* */
static bool is_name(const char *text)
{
    return text[0] >= 'a' && text[0] <= 'z' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(text);
}

static nd_note_result check_texts(reader *r)
{
    const ndp_note *note = &r->out->note;
    if (!memchr(note->name, 0, sizeof note->name) ||
        !memchr(note->version, 0, sizeof note->version) ||
        !memchr(note->groups, 0, sizeof note->groups))
        return say(r, ND_NOTE_DAMAGED, "a text of its note does not end");
    if (!is_name(note->name))
        return say(
            r, ND_NOTE_DAMAGED,
            "the name in its note is not a lower-case letter and then letters, digits and _");
    if (!printable(note->version) || !printable(note->groups))
        return say(r, ND_NOTE_DAMAGED, "its note holds bytes that are no printable ASCII");
    return ND_NOTE_FOUND;
}

static nd_note_result take_note(reader *r, const unsigned char *desc, uint32_t nbytes)
{
    const size_t required = NDP_END(ndp_note, groups);
    uint32_t size = 0;
    if (r->notes++)
        return say(r, ND_NOTE_DAMAGED,
                   "it has two ndock notes: NDP_PLUGIN_NOTE belongs in one source file");
    if (nbytes >= sizeof size)
        memcpy(&size, desc, sizeof size);
    if (size < required || size > nbytes)
        return say(r, ND_NOTE_DAMAGED, "its note says %u bytes, holds %u, and needs %zu", size,
                   nbytes, required);
    memcpy(&r->out->note, desc, size < sizeof r->out->note ? size : sizeof r->out->note);
    return check_texts(r);
}

static void take_build_id(reader *r, const unsigned char *desc, uint32_t nbytes)
{
    nd_note_file *out = r->out;
    if (nbytes == 0 || nbytes > sizeof out->build_id)
        return;
    memcpy(out->build_id, desc, nbytes);
    out->build_id_bytes = (uint8_t)nbytes;
}

static uint64_t aligned(uint64_t offset, uint64_t align)
{
    return (offset + align - 1) & ~(align - 1);
}

/* One PT_NOTE segment: headers of three words, then owner and contents. In segments of alignment 8,
 * as .note.gnu.property has, the contents and the next note begin at multiples of 8 from here. */
static nd_note_result walk_notes(reader *r, uint64_t at, uint64_t end, uint64_t align)
{
    const uint64_t begin = at;
    nd_note_result result = ND_NOTE_FOUND;
    while (result == ND_NOTE_FOUND && end - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, r->bytes + at, sizeof h);
        if (h.n_namesz == 0) { /* padding between sections with a wider alignment */
            at += sizeof(uint32_t);
            continue;
        }
        uint64_t owner = at + sizeof h;
        uint64_t desc = begin + aligned(owner - begin + h.n_namesz, align);
        uint64_t next = begin + aligned(desc - begin + h.n_descsz, align);
        if (desc > end || h.n_descsz > end - desc)
            return say(r, ND_NOTE_DAMAGED, "a note in it reaches past the notes' end");
        const unsigned char *name = r->bytes + owner;
        if (h.n_namesz == sizeof NDP_NOTE_OWNER && h.n_type == NDP_NOTE_TYPE &&
            memcmp(name, NDP_NOTE_OWNER, sizeof NDP_NOTE_OWNER) == 0)
            result = take_note(r, r->bytes + desc, h.n_descsz);
        else if (h.n_namesz == sizeof ELF_NOTE_GNU && h.n_type == NT_GNU_BUILD_ID &&
                 memcmp(name, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0)
            take_build_id(r, r->bytes + desc, h.n_descsz);
        at = next < end ? next : end;
    }
    return result;
}

/* The dynamic linker maps segments without looking at the file's size: a cut file is a SIGBUS. */
static nd_note_result check_segment(reader *r, const Elf64_Phdr *p)
{
    if (p->p_filesz && !inside(r, p->p_offset, p->p_filesz))
        return say(
            r, ND_NOTE_DAMAGED,
            "the file is cut: a part of it reaches to byte %llu, and it ends at %zu; copy it "
            "again",
            (unsigned long long)p->p_offset + (unsigned long long)p->p_filesz, r->size);
    if (p->p_type != PT_NOTE || p->p_filesz == 0)
        return ND_NOTE_FOUND;
    return walk_notes(r, p->p_offset, p->p_offset + p->p_filesz, p->p_align == 8 ? 8 : 4);
}

static nd_note_result check_segments(reader *r, const Elf64_Ehdr *e)
{
    nd_note_result result = ND_NOTE_FOUND;
    if (e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phnum == 0 || e->e_phnum == PN_XNUM)
        return say(r, ND_NOTE_DAMAGED, "its ELF header speaks of %u program headers of %u bytes",
                   e->e_phnum, e->e_phentsize);
    if (!inside(r, e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr)))
        return say(r, ND_NOTE_DAMAGED, "the file is cut: it ends at byte %zu, within its headers",
                   r->size);
    if (e->e_shoff && !inside(r, e->e_shoff, (uint64_t)e->e_shnum * e->e_shentsize))
        return say(r, ND_NOTE_DAMAGED,
                   "the file is cut: its section headers begin at byte %llu, and it ends at %zu; "
                   "copy it again",
                   (unsigned long long)e->e_shoff, r->size);
    for (uint32_t i = 0; i < e->e_phnum && result == ND_NOTE_FOUND; i++) {
        Elf64_Phdr p;
        memcpy(&p, r->bytes + e->e_phoff + (uint64_t)i * sizeof p, sizeof p);
        result = check_segment(r, &p);
    }
    if (result == ND_NOTE_FOUND && r->notes == 0)
        return say(r, ND_NOTE_ABSENT,
                   "it is a shared object without ndock's note, so no plug-in (or one from before "
                   "ndock had notes): add NDP_PLUGIN_NOTE of <ndock/note.h> and rebuild it");
    return result;
}

static nd_note_result check_header(reader *r, const unsigned char *ident)
{
    char text[ND_NOTE_TEXT];
    nd_note_file *out = r->out;
    out->bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : ident[EI_CLASS] == ELFCLASS32 ? 32 : 0;
    if (out->bits == 0 || (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
        return say(r, ND_NOTE_DAMAGED, "its ELF header has class %u and byte order %u",
                   ident[EI_CLASS], ident[EI_DATA]);
    /* e_machine lies at the same place in both classes */
    const unsigned char *m = ident + offsetof(Elf64_Ehdr, e_machine);
    const bool little = ident[EI_DATA] == ELFDATA2LSB;
    out->machine = (uint16_t)(little ? m[0] | m[1] << 8 : m[0] << 8 | m[1]);
    if (out->bits == 32 || ident[EI_DATA] != OWN_ORDER)
        return say(r, ND_NOTE_FOREIGN,
                   "it is a %u-bit %s-endian ELF file for %s; this process has "
                   "64 bits and is %s-endian: get it for this machine",
                   out->bits, little ? "little" : "big", nd__machine_name(out->machine, text),
                   OWN_ORDER == ELFDATA2LSB ? "little" : "big");
    return ND_NOTE_FOUND;
}

nd_note_result nd__note_parse(const void *bytes, size_t size, nd_note_file *out, char *why,
                              size_t n)
{
    reader r = {.bytes = bytes, .size = size, .out = out, .why = why, .why_bytes = n};
    Elf64_Ehdr e;
    memset(out, 0, sizeof *out);
    if (n)
        why[0] = 0;
    if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return say(&r, ND_NOTE_ABSENT, "it is no ELF file, so no plug-in");
    if (size < sizeof e)
        return say(&r, ND_NOTE_DAMAGED, "the file is cut: it ends at byte %zu, within its header",
                   size);
    nd_note_result result = check_header(&r, bytes);
    if (result != ND_NOTE_FOUND)
        return result;
    memcpy(&e, bytes, sizeof e);
    if (e.e_type != ET_DYN)
        return say(&r, ND_NOTE_ABSENT,
                   "it is an ELF file, but no shared object: link it with "
                   "-shared");
    return check_segments(&r, &e);
}

nd_note_result nd__note_read(const char *path, nd_note_file *out, char *why, size_t n)
{
    struct stat st;
    nd_note_result result = ND_NOTE_UNREADABLE;
    memset(out, 0, sizeof *out);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold us */
    if (fd < 0 || fstat(fd, &st) != 0) {
        snprintf(why, n, "it cannot be read: %s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        snprintf(why, n, "it is not a regular file");
    } else if (st.st_size == 0) {
        result = nd__note_parse("", 0, out, why, n);
    } else {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            snprintf(why, n, "it cannot be mapped: %s", strerror(errno));
        } else {
            result = nd__note_parse(bytes, (size_t)st.st_size, out, why, n);
            munmap(bytes, (size_t)st.st_size);
        }
    }
    if (fd >= 0)
        close(fd);
    return result;
}
