/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * ndock-probe FILE VERSION WORD: loads one plug-in, as libndock would, so that a crash or an
 * endless wait happens here, and compares what belongs to the whole process before and after.
 * libndock starts it before it opens a plug-in for the first time (core/plugin/trial_run.c).
 * Descriptor 3 receives lines that begin with WORD: "start", then "done" when the plug-in is loaded
 * or was refused in good order, "changed WHAT" when the process is not what it was, or "version"
 * when this libndock is not of the caller's version. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <ndock/ndock.h>
#include "tools/probe_state.h"

enum { RESULT = 3, STATUS_CLOSED = 121 /* known to trial_run.c: nothing can be reported */ };

static char word[64];

static void say(const char *what, const char *detail)
{
    char line[1600];
    int n = snprintf(line, sizeof line, "%s %s%s%s\n", word, what, detail[0] ? " " : "", detail);
    if (write(RESULT, line, (size_t)n) != n)
        _exit(STATUS_CLOSED);
}

/* The word is ours: it is gone from where a plug-in's constructor finds the arguments. */
static void take_word(char *argument)
{
    snprintf(word, sizeof word, "%s", argument);
    memset(argument, 'x', strlen(argument));
}

/* This process leaves with its caller, leaves no core file, and tries nothing in its turn. */
static void stand_alone(void)
{
    const struct rlimit none = {0, 0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would end it if the caller were killed */
    (void)setrlimit(RLIMIT_CORE, &none);
    setenv("NDOCK_PLUGIN_PROBE", "off", 1);
    unsetenv("NDOCK_PLUGIN_STRICT"); /* the caller has looked at who may write to it */
    unsetenv("NDOCK_HOOK");
}

static void end_if_changed(const char *when)
{
    char what[1200], text[1400];
    if (!state_changed(what, sizeof what))
        return;
    snprintf(text, sizeof text, "%s (%s)", what, when);
    say("changed", text);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    take_word(argv[3]);
    say("start", ""); /* from here on it is the plug-in's doing */
    if (strcmp(argv[2], nd_version()) != 0) {
        say("version", "");
        return 0;
    }
    stand_alone();
    state_take();
    (void)dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); /* its constructors alone */
    end_if_changed("when it is loaded");
    nd_status refused = nd_plugin_load(argv[1]); /* in good order: the caller will see the same */
    (void)refused;
    end_if_changed("in its entry or its probe");
    say("done", "");
    _exit(0); /* what other libraries do at the end of a process is none of the trial */
}
