/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What belongs to a thread and foreign code may change for good. */
#ifndef NDOCK_CORE_SETTINGS_H
#define NDOCK_CORE_SETTINGS_H
#include <fenv.h>
#include <locale.h>
#include <signal.h>

/* What belongs to the calling thread and code of a plug-in, or of a library that it opens, may
 * change for good without knowing: rounding and flush-to-zero (by -ffast-math, at link time), the
 * signal mask, the thread's locale. */
typedef struct {
    fenv_t numbers;
    sigset_t signals;
    locale_t locale;
} nd_settings;
void nd__settings_take(nd_settings *settings);
/* The bits that say how numbers are computed: rounding, flush-to-zero, what traps. */
unsigned long nd__number_modes(void);
/* Puts back what has changed since; whose, a path or a name, is warned of. */
void nd__settings_put_back(const nd_settings *settings, const char *whose);

#endif
