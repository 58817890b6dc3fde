/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A thread's own settings around code of plug-ins. What belongs to the whole process cannot be put
 * back without harm to other threads; the trial of trial.c refuses who changes that. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include "core/base/base.h"
#include "core/base/settings.h"

/* The bits that say how numbers are computed, without those that say what has happened. */
unsigned long nd__number_modes(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3fu;
#elif defined(__aarch64__)
    unsigned long modes;
    __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
    return modes;
#else
    return (unsigned long)fegetround();
#endif
}

void nd__settings_take(nd_settings *g)
{
    (void)fegetenv(&g->numbers);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &g->signals);
    g->locale = uselocale((locale_t)0);
}

static bool same_signals(const sigset_t *a, const sigset_t *b)
{
    for (int i = 1; i < NSIG; i++)
        if (sigismember(a, i) != sigismember(b, i))
            return false;
    return true;
}

static void warn_of(const char *whose, const char *what)
{
    nd__log(ND_LOG_WARN, "%s changed %s of the thread that called it; put back", whose, what);
}

void nd__settings_put_back(const nd_settings *g, const char *whose)
{
    const unsigned long modes = nd__number_modes();
    sigset_t now;
    (void)fesetenv(&g->numbers);
    if (nd__number_modes() != modes)
        warn_of(whose, "how numbers are rounded or flushed to zero (linked with -ffast-math?)");
    (void)pthread_sigmask(SIG_SETMASK, &g->signals, &now);
    if (!same_signals(&g->signals, &now))
        warn_of(whose, "the signal mask");
    if (uselocale((locale_t)0) != g->locale) {
        (void)uselocale(g->locale);
        warn_of(whose, "the locale");
    }
}
