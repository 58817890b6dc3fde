/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Whether code may run here, by what its note says: architecture, ABI, instruction set, sanitizers.
 * Source: x86-64 psABI, table "Micro-Architecture Levels"; Intel SDM volume 1, section 13.2 (which
 * registers the operating system saves); AMD APM volume 3, appendix E. */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include "core/plugin/note.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const struct {
    uint16_t machine;
    const char *name;
} machines[] = {
    {EM_386, "i386"},         {EM_X86_64, "x86-64"}, {EM_ARM, "32-bit ARM"},
    {EM_AARCH64, "AArch64"},  {EM_RISCV, "RISC-V"},  {EM_PPC64, "64-bit POWER"},
    {EM_S390, "S/390"},       {258, "LoongArch"},    {EM_MIPS, "MIPS"},
    {EM_CUDA, "NVIDIA CUDA"}, {EM_SPARCV9, "SPARC"}, {224, "AMD GPU"},
};

const char *nd__machine_name(uint16_t machine, char text[ND_NOTE_TEXT])
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            return machines[i].name;
    snprintf(text, ND_NOTE_TEXT, "ELF machine %u", machine);
    return text;
}

const char *nd__isa_name(uint32_t isa, char text[ND_NOTE_TEXT])
{
    const uint32_t level = isa & 0xffff, architecture = isa & 0xffff0000u;
    if (isa == NDP_ISA_ANY)
        return "any";
    if (architecture == NDP_ISA_X86_64)
        snprintf(text, ND_NOTE_TEXT, "x86-64-v%u", level);
    else if (architecture == NDP_ISA_AARCH64)
        snprintf(text, ND_NOTE_TEXT, level ? "aarch64 level %u" : "aarch64", level);
    else
        return "other";
    return text;
}

const char *nd__sanitizer_names(uint32_t sanitizers, char text[ND_NOTE_TEXT])
{
    static const char *const names[] = {"address", "thread", "memory"};
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sanitizers & 1u << i)
            at += (size_t)snprintf(text + at, ND_NOTE_TEXT - at, "%s%s", at ? "," : "", names[i]);
    return at ? text : "none";
}

const char *nd__build_id_text(const nd_note_file *file, char text[ND_BUILD_ID_TEXT])
{
    text[0] = 0;
    for (int i = 0; i < file->build_id_bytes && i < 32; i++)
        snprintf(text + 2 * i, 3, "%02x", file->build_id[i]);
    return text;
}

/* ---- the processor ---- */
enum {
    XCR0_AVX = 0x6,     /* SSE and AVX registers */
    XCR0_AVX512 = 0xe6, /* also masks and both halves of the 512-bit ones */
    OSXSAVE = 1u << 27, /* leaf 1 ECX: XGETBV works */
    V2_ECX = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23, /* SSE3 SSSE3
                                                      CMPXCHG16B SSE4.1 SSE4.2 POPCNT */
    V2_EXT = 1u << 0,                                                       /* LAHF-SAHF */
    V3_ECX = 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29,                     /* FMA MOVBE AVX F16C */
    V3_EBX = 1u << 3 | 1u << 5 | 1u << 8,                                   /* BMI1 AVX2 BMI2 */
    V3_EXT = 1u << 5,                                                       /* LZCNT */
    V4_EBX_LOW = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 /* AVX512 F DQ CD BW; VL is bit 31 */
};

uint32_t nd__x86_64_level(const nd_cpuid *c)
{
    const uint32_t v4 = (uint32_t)V4_EBX_LOW | 1u << 31;
    if ((c->leaf1_ecx & V2_ECX) != V2_ECX || !(c->ext1_ecx & V2_EXT))
        return 1;
    if ((c->leaf1_ecx & (V3_ECX | OSXSAVE)) != (V3_ECX | OSXSAVE) ||
        (c->leaf7_ebx & V3_EBX) != V3_EBX || !(c->ext1_ecx & V3_EXT) ||
        (c->xcr0 & XCR0_AVX) != XCR0_AVX)
        return 2;
    return (c->leaf7_ebx & v4) == v4 && (c->xcr0 & XCR0_AVX512) == XCR0_AVX512 ? 4 : 3;
}

#if defined(__x86_64__)
static uint32_t own_isa(void)
{
    nd_cpuid c = {0};
    uint32_t a, b, ecx, edx;
    __get_cpuid(1, &a, &b, &c.leaf1_ecx, &edx);
    __get_cpuid_count(7, 0, &a, &c.leaf7_ebx, &ecx, &edx);
    __get_cpuid(0x80000001u, &a, &b, &c.ext1_ecx, &edx);
    if (c.leaf1_ecx & OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(c.xcr0), "=d"(edx) : "c"(0));
    return NDP_ISA_X86_64 + nd__x86_64_level(&c);
}
#define OWN_MACHINE EM_X86_64
#else
static uint32_t own_isa(void)
{
    return NDP_NOTE_ISA;
}
#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define OWN_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#define OWN_MACHINE EM_PPC64
#elif defined(__s390x__)
#define OWN_MACHINE EM_S390
#elif defined(__loongarch64)
#define OWN_MACHINE 258
#else
#define OWN_MACHINE 0
#endif
#endif

void nd__note_host(nd_note_host *out)
{
    *out = (nd_note_host){.machine = OWN_MACHINE,
                          .isa = own_isa(),
                          .sanitizers = NDP_NOTE_SANITIZERS,
                          .strict =
                              NDP_NOTE_SANITIZERS & (NDP_SANITIZER_THREAD | NDP_SANITIZER_MEMORY)};
    /* The program may have what this library lacks. */
    out->sanitizers |= dlsym(RTLD_DEFAULT, "__asan_init") ? NDP_SANITIZER_ADDRESS : 0;
    out->sanitizers |= dlsym(RTLD_DEFAULT, "__tsan_init") ? NDP_SANITIZER_THREAD : 0;
    out->sanitizers |= dlsym(RTLD_DEFAULT, "__msan_init") ? NDP_SANITIZER_MEMORY : 0;
}

/* ---- the verdict ---- */
static bool abi_fits(const ndp_note *note, char *why, size_t n)
{
    const bool equal = note->abi_major == NDP_ABI_MAJOR && note->abi_minor == NDP_ABI_MINOR;
    if (note->abi_major != NDP_ABI_MAJOR || (NDP_ABI_MAJOR == 0 && !equal)) {
        snprintf(why, n,
                 "it was built for plug-in ABI %u.%u, this libndock has %d.%d%s: rebuild it with "
                 "this ndock's headers",
                 note->abi_major, note->abi_minor, NDP_ABI_MAJOR, NDP_ABI_MINOR,
                 NDP_ABI_MAJOR == 0 ? "; before 1.0 they must be equal" : "");
        return false;
    }
    if (note->host_minor_min > NDP_ABI_MINOR) {
        snprintf(why, n, "it needs plug-in ABI %u.%u, this libndock has %d.%d: update ndock",
                 note->abi_major, note->host_minor_min, NDP_ABI_MAJOR, NDP_ABI_MINOR);
        return false;
    }
    return true;
}

static bool isa_fits(uint32_t isa, uint32_t own, char *why, size_t n)
{
    char wants[ND_NOTE_TEXT], has[ND_NOTE_TEXT];
    if (isa == NDP_ISA_ANY || isa == NDP_ISA_OTHER ||
        ((isa & 0xffff0000u) == (own & 0xffff0000u) && (isa & 0xffff) <= (own & 0xffff)))
        return true;
    snprintf(why, n,
             "it needs a processor of %s, and this one, with its operating system, has %s: build "
             "it for a lower -march",
             nd__isa_name(isa, wants), nd__isa_name(own, has));
    return false;
}

static bool sanitizers_fit(uint32_t built, const nd_note_host *host, char *why, size_t n)
{
    const uint32_t extra = built & ~host->sanitizers, lacks = host->strict & ~built;
    char names[ND_NOTE_TEXT];
    if (extra)
        snprintf(why, n,
                 "it was built with -fsanitize=%s and this process was not: rebuild the plug-in "
                 "without that flag, or the program with it",
                 nd__sanitizer_names(extra, names));
    else if (lacks)
        snprintf(why, n,
                 "this libndock was built with -fsanitize=%s and it was not, so that its accesses "
                 "would be reported falsely: rebuild the plug-in with that flag",
                 nd__sanitizer_names(lacks, names));
    return !extra && !lacks;
}

const char *nd__note_misfit(const nd_note_file *file, const nd_note_host *host, char *why, size_t n)
{
    char is[ND_NOTE_TEXT], own[ND_NOTE_TEXT];
    if (host->machine && file->machine != host->machine) {
        snprintf(why, n, "it is for %s, and this machine is %s: get it for this machine",
                 nd__machine_name(file->machine, is), nd__machine_name(host->machine, own));
        return "ARCHITECTURE";
    }
    if (!abi_fits(&file->note, why, n))
        return "ABI";
    if (!isa_fits(file->note.isa, host->isa, why, n))
        return "ISA";
    if (!sanitizers_fit(file->note.sanitizers, host, why, n))
        return "SANITIZER";
    return NULL;
}
