/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Reading <ndock/note.h>'s note from a plug-in's file, and judging it, without running any of the
 * plug-in's code. Depends on libc alone, so that the command compiles it too. */
#ifndef NDOCK_CORE_NOTE_H
#define NDOCK_CORE_NOTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ndock/note.h>

typedef struct {
    uint16_t machine;       /* e_machine of the ELF header; 0: not known */
    uint8_t bits;           /* 32, 64; 0: it is no ELF file */
    uint8_t build_id_bytes; /* 0: it has none */
    uint8_t build_id[32];
    ndp_note note; /* zero-extended; meaningful after ND_NOTE_FOUND alone */
} nd_note_file;

typedef enum {
    ND_NOTE_FOUND,
    ND_NOTE_ABSENT,    /* no ELF file, no shared object, or one without ndock's note */
    ND_NOTE_FOREIGN,   /* 32 bits or the other byte order: nothing more was read */
    ND_NOTE_DAMAGED,   /* the file is cut, or its note or headers contradict themselves */
    ND_NOTE_UNREADABLE /* it could not be opened or mapped */
} nd_note_result;

/* why receives a text that ends in 0 unless the result is ND_NOTE_FOUND. out is filled as far as
 * the file could be read. A file that another process shortens meanwhile is a SIGBUS, as it would
 * be for the dynamic linker. */
nd_note_result nd__note_read(const char *path, nd_note_file *out, char *why, size_t n);
/* The same of a file's bytes, at any address. */
nd_note_result nd__note_parse(const void *bytes, size_t size, nd_note_file *out, char *why,
                              size_t n);

/* What this process is. */
typedef struct {
    uint16_t machine;    /* 0: not known, every machine passes */
    uint32_t isa;        /* NDP_ISA_*, the highest level; operating system included */
    uint32_t sanitizers; /* NDP_SANITIZER_*: whose run-time library is there */
    uint32_t strict;     /* those without which code must not come in: this library has them */
} nd_note_host;
void nd__note_host(nd_note_host *out);
/* NULL if code with this note may run in such a process; else the state that the candidate ends in
 * (ARCHITECTURE, ABI, ISA, SANITIZER), and the reason in why. */
const char *nd__note_misfit(const nd_note_file *file, const nd_note_host *host, char *why,
                            size_t n);

/* "x86-64" of 62; "machine 9999" in a buffer of ND_NOTE_TEXT bytes. */
enum { ND_NOTE_TEXT = 64 };
const char *nd__machine_name(uint16_t machine, char text[ND_NOTE_TEXT]);
/* "x86-64-v3", "address, thread" and the build-id in hexadecimal digits. */
const char *nd__isa_name(uint32_t isa, char text[ND_NOTE_TEXT]);
const char *nd__sanitizer_names(uint32_t sanitizers, char text[ND_NOTE_TEXT]);
enum { ND_BUILD_ID_TEXT = 65 };
const char *nd__build_id_text(const nd_note_file *file, char text[ND_BUILD_ID_TEXT]);

/* What CPUID and XGETBV say; zeros for leaves that are not there. */
typedef struct {
    uint32_t leaf1_ecx, leaf7_ebx, ext1_ecx, xcr0;
} nd_cpuid;
/* 1 to 4: the psABI's x86-64 level whose every feature is there, registers that the operating
 * system saves included. */
uint32_t nd__x86_64_level(const nd_cpuid *c);

#endif
