/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: a file of plugins.d, which names a plug-in or a folder of them. */
#include "core/plugin/loader.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nd_plugin_slot *slots = NULL;
    fuzz_write("fuzz.conf", data, size);
    nd__discover_conf(&slots, fuzz_folder);
    /* Whatever the file says, the user is told of it, in a state and with a source. */
    for (nd_plugin_slot *next; slots; slots = next) {
        next = slots->next;
        if (!slots->path || !slots->state || !slots->source || slots->handle)
            abort();
        free(slots);
    }
    return 0;
}
