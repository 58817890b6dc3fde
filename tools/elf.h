/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading ELF files (gABI, chapters 4 and 5) without running anything of them: what a shared object
 * needs, exports and asks of the loader. Depends on libc alone. The file may be hostile: every
 * offset in it is checked, and what lies outside counts as absent. */
#ifndef NDOCK_TOOL_ELF_H
#define NDOCK_TOOL_ELF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *data; /* the whole file */
    size_t size;
    bool mapped;            /* elf_close unmaps it */
    bool wide, big;         /* 64-bit; most significant byte first */
    uint16_t type, machine; /* ET_*, EM_* of <elf.h> */
    uint64_t dynamic;       /* offset of the dynamic section; its entries, 0 if there is none */
    uint64_t dynamic_n;     /* ends before DT_NULL */
    const char *strings;    /* of the dynamic section; NULL if there are none */
    size_t strings_size;    /* what of them lies in the file */
    uint64_t symbols;       /* offset of the dynamic symbols */
    uint64_t symbols_n;     /* 0 if there are none */
    bool textrel, nodelete, bind_now, symbolic;
    bool stack_named, stack_executable; /* it says whether it needs an executable stack */
    bool relro;
} elf_file;

/* false: it cannot be read, or is no ELF file with sound headers; error then says why. A file that
 * is cut shorter while it is read raises SIGBUS, as with every mapped file. */
bool elf_open(const char *path, elf_file *out, char *error, size_t n);
/* The same on bytes that outlive *out. */
bool elf_parse(const void *data, size_t size, elf_file *out, char *error, size_t n);
void elf_close(elf_file *e);

/* "x86-64"; "machine 1234" into a static text of the calling thread. */
const char *elf_machine(const elf_file *e);
/* Class, byte order and machine are those of this program, and it is a shared object. */
bool elf_native(const elf_file *e);

/* The next text of the dynamic section with this tag (DT_NEEDED, DT_RUNPATH ...) from entry *at on,
 * NULL if there is none. Start with *at 0. */
const char *elf_dynamic_text(const elf_file *e, uint64_t tag, uint64_t *at);

typedef struct {
    const char *name;    /* never NULL */
    uint8_t type, bind;  /* STT_*, STB_* */
    bool function, data; /* STT_FUNC or STT_GNU_IFUNC; STT_OBJECT */
    bool unique;         /* STB_GNU_UNIQUE: one for the whole process, and never unloaded */
} elf_symbol;
/* The next symbol that others can bind to; false if there is none. Start with *at 0. */
bool elf_next_export(const elf_file *e, uint64_t *at, elf_symbol *out);

typedef struct {
    const char *owner; /* owner_size bytes; a 0 is usually the last of them */
    size_t owner_size;
    uint32_t type;
    const unsigned char *desc;
    size_t desc_size;
} elf_note;
/* Where to go on; {0} first. */
typedef struct {
    uint64_t segment, offset;
} elf_note_place;
bool elf_next_note(const elf_file *e, elf_note_place *at, elf_note *out);
/* The linker's identification of the file in hexadecimal, "" if it has none. Returns out. */
char *elf_build_id(const elf_file *e, char *out, size_t n);

/* elf_find.c: where ld.so would find a library that this file at path needs: DT_RPATH,
 * LD_LIBRARY_PATH, DT_RUNPATH, /etc/ld.so.cache, /lib and /usr/lib. Only files of the same machine
 * count. */
bool elf_find(const elf_file *e, const char *path, const char *library, char *found, size_t n);
#endif
