/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * ndock-probe FILE VERSION: loads one plug-in, as libndock would, so that a crash or an endless
 * wait happens here. libndock starts it before it opens a plug-in for the first time
 * (core/plugin/trial.c). Descriptor 3 receives "start", then "done" when the plug-in is loaded or
 * was refused in good order, or "version" when this libndock is not of the caller's version. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <ndock/ndock.h>

enum { RESULT = 3 };

static void say(const char *text)
{
    if (write(RESULT, text, strlen(text)) < 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    const struct rlimit none = {0, 0};
    if (argc != 3)
        return 2;
    say("start\n"); /* from here on it is the plug-in's doing */
    if (strcmp(argv[2], nd_version()) != 0) {
        say("version\n");
        return 0;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would end it if the caller were killed */
    (void)setrlimit(RLIMIT_CORE, &none);
    setenv("NDOCK_PLUGIN_PROBE", "off", 1);
    unsetenv("NDOCK_PLUGIN_STRICT"); /* the caller has looked at who may write to it */
    unsetenv("NDOCK_HOOK");
    nd_status refused = nd_plugin_load(argv[1]); /* in good order: the caller will see the same */
    (void)refused;
    say("done\n");
    _exit(0); /* what other libraries do at the end of a process is none of the trial */
}
