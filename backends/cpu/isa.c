/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which SIMD level runs. __builtin_cpu_supports also asks whether the operating system saves the
 * registers. */
#include <pthread.h>
#include <string.h>
#include "cpu.h"

static int isa_level;
static pthread_once_t isa_once = PTHREAD_ONCE_INIT;
static const char *const isa_names[CPU_ISA_COUNT] = {"baseline", "avx2", "avx512"};

static int isa_supported(void)
{
#ifdef ND_HAVE_X86_VARIANTS
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2")))
        return CPU_ISA_BASELINE;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return CPU_ISA_AVX512;
    return CPU_ISA_AVX2;
#else
    return CPU_ISA_BASELINE;
#endif
}

static void isa_init(void)
{
    const char *wanted = cpu_set.isa;
    isa_level = isa_supported();
    for (int level = 0; wanted && level < isa_level; level++)
        if (strcmp(wanted, isa_names[level]) == 0)
            isa_level = level;
}

int cpu_isa(void)
{
    pthread_once(&isa_once, isa_init);
    return isa_level;
}

const char *cpu_isa_name(void)
{
#if defined(__aarch64__)
    return "neon";
#else
    return isa_names[cpu_isa()];
#endif
}
