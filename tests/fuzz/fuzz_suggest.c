/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: `ndock info --suggest`, for people and as JSON. */
#include "tests/fuzz/fuzz.h"
#include "tools/tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    fuzz_mute(1);
    int status = tool_info_suggest(path, false), again = tool_info_suggest(path, true);
    fuzz_mute(0);
    if (status != again)
        abort();
    return 0;
}
