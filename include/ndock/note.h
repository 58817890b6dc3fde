/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What a plug-in says of itself before any of its code runs: an ELF note that ndock reads from the
 * file. A file without one is no plug-in and is left alone in a scan.
 *
 *     #include <ndock/note.h>
 *     NDP_PLUGIN_NOTE("mychip", "1.0", 10, NDP_NOTE_DTYPE(NDP_F32), "ndp.op/1 ndp.stream/1")
 *
 * at file scope of one source file, without a semicolon. ABI, instruction set and sanitizers come
 * from the headers and the compiler's options for that file. The note is for compatibility, not for
 * trust. Format: an ELF note (gABI, chapter 5) of owner "ndock", type 1, section .note.ndock, all
 * of 4-byte fields. */
#ifndef NDOCK_NOTE_H
#define NDOCK_NOTE_H
#include "plugin.h"

#define NDP_NOTE_SECTION ".note.ndock"
#define NDP_NOTE_OWNER "ndock"
#define NDP_NOTE_TYPE 1

typedef struct {
    uint32_t size; /* of this struct; append-only */
    uint16_t abi_major, abi_minor;
    uint16_t host_minor_min, zero; /* the oldest minor of a host that will do */
    int32_t priority;              /* as ndp_device_info.priority; the higher is preferred */
    uint32_t isa;                  /* NDP_ISA_*: what its code needs of the processor */
    uint32_t sanitizers;           /* NDP_SANITIZER_*: which it was built with */
    uint32_t dtypes[2];         /* bit d of the 64: elements of dtype d can live on its devices */
    char name[32], version[32]; /* end with a 0; name as ndp_plugin.name */
    char groups[256];           /* ids of groups it may offer, separated by blanks */
} ndp_note;
typedef struct { /* the note as it lies in the file */
    uint32_t owner_size, desc_size, type;
    char owner[8];
    ndp_note desc;
} ndp_note_section;

/* Architecture in the upper half, level in the lower. */
#define NDP_ISA_ANY 0u
#define NDP_ISA_X86_64 0x10000u /* + 1 ... 4: the psABI's x86-64-v1 ... v4 */
#define NDP_ISA_AARCH64 0x20000u
#define NDP_ISA_OTHER 0xffff0000u
#define NDP_SANITIZER_ADDRESS 1u
#define NDP_SANITIZER_THREAD 2u
#define NDP_SANITIZER_MEMORY 4u

#if defined(__x86_64__) && defined(__AVX512F__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512CD__)
#define NDP_NOTE_ISA (NDP_ISA_X86_64 + 4)
#elif defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__) && \
    defined(__F16C__) && defined(__LZCNT__) && defined(__MOVBE__)
#define NDP_NOTE_ISA (NDP_ISA_X86_64 + 3)
#elif defined(__x86_64__) && defined(__SSE4_2__) && defined(__POPCNT__)
#define NDP_NOTE_ISA (NDP_ISA_X86_64 + 2)
#elif defined(__x86_64__)
#define NDP_NOTE_ISA (NDP_ISA_X86_64 + 1)
#elif defined(__aarch64__)
#define NDP_NOTE_ISA NDP_ISA_AARCH64
#else
#define NDP_NOTE_ISA NDP_ISA_OTHER
#endif

#ifndef __has_feature
#define NDP_NOTE_FEATURE(name) 0
#else
#define NDP_NOTE_FEATURE(name) __has_feature(name)
#endif
#if defined(__SANITIZE_ADDRESS__) || NDP_NOTE_FEATURE(address_sanitizer)
#define NDP_NOTE_SANITIZERS NDP_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__) || NDP_NOTE_FEATURE(thread_sanitizer)
#define NDP_NOTE_SANITIZERS NDP_SANITIZER_THREAD
#elif NDP_NOTE_FEATURE(memory_sanitizer)
#define NDP_NOTE_SANITIZERS NDP_SANITIZER_MEMORY
#else
#define NDP_NOTE_SANITIZERS 0
#endif

/* Bits of dtypes; join them with |. */
#define NDP_NOTE_DTYPE(dtype) (UINT64_C(1) << (dtype))
#define NDP_NOTE_EVERY_DTYPE (~UINT64_C(0))

#define NDP_PLUGIN_NOTE(name_, version_, priority_, dtypes_, groups_)             \
    __attribute__((section(NDP_NOTE_SECTION), used,                               \
                   aligned(4))) static const ndp_note_section ndp_plugin_note = { \
        sizeof NDP_NOTE_OWNER,                                                    \
        sizeof(ndp_note),                                                         \
        NDP_NOTE_TYPE,                                                            \
        NDP_NOTE_OWNER,                                                           \
        {sizeof(ndp_note),                                                        \
         NDP_ABI_MAJOR,                                                           \
         NDP_ABI_MINOR,                                                           \
         NDP_ABI_MINOR,                                                           \
         0,                                                                       \
         (priority_),                                                             \
         NDP_NOTE_ISA,                                                            \
         NDP_NOTE_SANITIZERS,                                                     \
         {(uint32_t)(dtypes_), (uint32_t)((uint64_t)(dtypes_) >> 32)},            \
         name_,                                                                   \
         version_,                                                                \
         groups_}};
#endif
