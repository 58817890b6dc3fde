/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: `ndock replay`, from a trace's text to the calls of plug-ins that it makes again. */
#include "tests/fuzz/fuzz.h"
#include "tools/tool.h"

/* Of tools/ndock.c, whose main is none of this program. */
int tool_failed(const char *what)
{
    return what ? 1 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[] = "replay", path[64], *arguments[] = {name, path, NULL};
    snprintf(path, sizeof path, "%s", fuzz_file(data, size));
    fuzz_mute(1);
    int status = tool_replay(2, arguments);
    fuzz_mute(0);
    if (status < 0 || status > EXIT_USAGE)
        abort();
    return 0;
}
