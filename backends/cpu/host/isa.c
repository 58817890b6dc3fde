/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which SIMD level runs. __builtin_cpu_supports also asks whether the operating system saves the
 * registers. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "host/cpu.h"

static atomic_int known; /* the level plus one; 0: nobody asked yet */
static pthread_once_t isa_once = PTHREAD_ONCE_INIT;
static const char *const isa_names[CPU_ISA_COUNT] = {"baseline", "avx2", "avx512", "avx512vnni"};

static int isa_supported(void)
{
#if CPU_ISA_HIGHEST > 0
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2")))
        return CPU_ISA_BASELINE;
    if (CPU_ISA_HIGHEST >= CPU_ISA_AVX512 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512vnni") ? CPU_ISA_VNNI : CPU_ISA_AVX512;
    return CPU_ISA_AVX2;
#else
    return CPU_ISA_BASELINE;
#endif
}

static void isa_init(void)
{
    const char *wanted = cpu_set.isa;
    int supported = isa_supported(), chosen = supported;
    for (int level = 0; wanted && level < supported; level++)
        if (strcmp(wanted, isa_names[level]) == 0)
            chosen = level;
    atomic_store_explicit(&known, chosen + 1, memory_order_relaxed);
}

int cpu_isa(void)
{
    int level = atomic_load_explicit(&known, memory_order_relaxed);
    if (!level) {
        pthread_once(&isa_once, isa_init);
        level = atomic_load_explicit(&known, memory_order_relaxed);
    }
    return level - 1;
}

const char *cpu_isa_name(void)
{
#if defined(__aarch64__)
    return "neon";
#else
    return isa_names[cpu_isa()];
#endif
}
