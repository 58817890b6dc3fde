/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Conformance: a call leaves the thread's floating-point modes as they were. They are looked at
 * after every call of the suite and put back at once, so that the checks of what is computed do not
 * all fail for the one thing that is wrong. */
#include <fenv.h>
#include "tests/conform/conform.h"

enum { MOST_NOTES = 4 };
static fenv_t kept;
static int rounding;
static uint32_t modes;
static bool begun;
static char notes[MOST_NOTES][256];
static int n_notes;
static char first_name[96], last_name[96]; /* operations that changed them */
static int64_t first_case;

/* Without the flags of what has happened. */
static uint32_t mode_bits(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_stmxcsr() & ~UINT32_C(0x3f);
#elif defined(__aarch64__)
    uint64_t bits;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    return (uint32_t)bits;
#else
    return 0;
#endif
}

static const char *rounding_name(int mode)
{
    return mode == FE_TONEAREST    ? "to nearest"
           : mode == FE_UPWARD     ? "upwards"
           : mode == FE_DOWNWARD   ? "downwards"
           : mode == FE_TOWARDZERO ? "towards zero"
                                   : "in an unknown way";
}

static const char *meaning(uint32_t changed)
{
#if defined(__x86_64__)
    enum { FLUSH = 0x8000, DENORMALS_ARE_ZERO = 0x40 };
    if (changed & (FLUSH | DENORMALS_ARE_ZERO))
        return ": subnormal numbers become zero (linked with -ffast-math?)";
#endif
    return changed ? ": other modes" : "";
}

void modes_watch(const char *name, int64_t i)
{
    if (!begun) {
        begun = fegetenv(&kept) == 0;
        rounding = fegetround();
        modes = mode_bits();
        return;
    }
    const int now = fegetround();
    const uint32_t bits = mode_bits();
    if (now == rounding && bits == modes)
        return;
    const bool again = n_notes > 0 && strcmp(last_name, name) == 0;
    snprintf(last_name, sizeof last_name, "%s", name);
    if (n_notes == 0) {
        snprintf(first_name, sizeof first_name, "%s", name);
        first_case = i;
    }
    if (!again && n_notes < MOST_NOTES)
        snprintf(notes[n_notes], sizeof notes[0],
                 "after a call in %s, case %lld, numbers are rounded %s (before: %s) and the "
                 "floating-point modes are 0x%x (before: 0x%x)%s",
                 name, (long long)i, rounding_name(now), rounding_name(rounding), bits, modes,
                 now == rounding ? meaning(bits ^ modes) : "");
    n_notes += !again;
    (void)fesetenv(&kept);
}

void conform_modes(void)
{
    /* What has been seen is told even where one operation alone was asked for, as by a replay. */
    if (!wanted("modes") && (run.list || n_notes == 0))
        return;
    begin_op("modes");
    if (n_notes)
        replay_as(first_name, first_case);
    for (int i = 0; i < n_notes && i < MOST_NOTES; i++)
        fail_case("%s", notes[i]);
    if (n_notes > MOST_NOTES)
        fail_case("and by %d operations more", n_notes - MOST_NOTES);
    end_op();
}
