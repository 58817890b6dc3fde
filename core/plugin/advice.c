/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What to do about a plug-in that does not serve, by the state that it ended in. */
#include "core/plugin/device.h"

static const struct {
    const char *state, *action;
} table[] = {
    {"NO_DEVICE", "the plug-in works and found no device: its reason says what it looked for"},
    {"NO_LIBRARY", "install the library that the reason names (for a GPU: its driver), or tell "
                   "the dynamic linker where it is, by ldconfig or LD_LIBRARY_PATH"},
    {"OLD_DRIVER", "update the driver to the version that the reason asks for"},
    {"MISSING", "correct the path, or install the plug-in there"},
    {"PERMISSION", "run the command that the reason names, or put a copy into a folder that only "
                   "you or root can write to"},
    {"NO_NOTE", "if it should be a plug-in, put NDP_PLUGIN_NOTE of <ndock/note.h> into one of its "
                "sources and rebuild it; else move it elsewhere"},
    {"DAMAGED", "the file is not whole: copy, install or build it again"},
    {"ARCHITECTURE", "install the plug-in that was built for this machine"},
    {"ABI", "rebuild the plug-in against the headers of this ndock, or install the version of "
            "either that fits the other"},
    {"ISA", "rebuild the plug-in for an older processor (-march=...), or use a machine that has "
            "what the reason names"},
    {"SANITIZER", "build the plug-in and the program with the same sanitizer, or both without"},
    {"FILTERED", "change or unset NDOCK_PLUGINS to use it"},
    {"SHADOWED", "nothing, if the other is the one you want; else remove that, or name this file "
                 "first: NDOCK_PLUGIN_PATH=+FILE"},
    {"CONF", "correct the line that the reason names"},
    {"QUARANTINED", "the reason names the command that has it tried again; update it or tell its "
                    "author"},
    {"DLOPEN", "`ndock info --offline FILE` shows which libraries it needs and which are missing"},
    {"NO_ENTRY", "export ndock_plugin_entry_0 (NDP_EXPORT of <ndock/plugin.h>) and rebuild it; "
                 "`ndock conform FILE` checks that"},
    {"SHORT", "fill in the required functions of its table; `ndock conform FILE` checks them"},
    {"NOTE", "make the note and the table agree and rebuild it"},
    {"ENTRY", "its own words, in the reason, say what it lacks"},
    {"HOOK", "correct the variables NDOCK_HOOK..., or unset them"},
};

const char *nd_plugin_advice(const char *state)
{
    for (size_t i = 0; state && i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].state, state) == 0)
            return table[i].action;
    return "";
}
