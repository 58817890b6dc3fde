/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A plug-in's file that another one takes the place of after its note was read: what runs is then
 * not what was examined, and is refused. */
#include "tests/loader/sandbox.h"

static char named[300], other[300];

/* The file is scanned first, then replaced, then loaded. */
static int scanned_then_replaced(void)
{
    nd_plugin_details d = {.size = sizeof d};
    nd_device *device;
    int found = 0;
    for (int32_t i = 0; nd_plugin_describe(i, ND_PLUGIN_NOTES, &d) == ND_OK; i++)
        found += strcmp(d.name, "replaces") == 0 && strcmp(d.state, "FOUND") == 0;
    if (!found)
        return 10;
    if (rename(other, named) != 0)
        return 11;
    return nd_device_get("replaces", &device) == ND_ERR_DEVICE ? look_at_state() : 12;
}

/* The plug-in's own constructor puts another file in its place while it is being loaded. */
static int replaced_while_loading(void)
{
    nd_device *device;
    setenv("MOCK_REPLACEMENT", other, 1);
    setenv("MOCK_REPLACED", named, 1);
    return nd_device_get("replaces", &device) == ND_ERR_DEVICE ? look_at_state() : 12;
}

static void replaced(void)
{
    static const struct {
        int (*look)(void);
        const char *what;
    } cases[] = {{scanned_then_replaced, "a file replaced between its scan and its loading"},
                 {replaced_while_loading, "a file replaced while it is loaded"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fresh_folder();
        install("replaces", "replaces");
        install("replaces", "other");
        path_in(named, sizeof named, "ndock-replaces.so");
        path_in(other, sizeof other, "other.part");
        char from[300];
        path_in(from, sizeof from, "ndock-other.so");
        if (rename(from, other) != 0)
            bail("rename");
        want_state = "NO_ENTRY";
        want_word = "was replaced while it was being loaded";
        want_path = "ndock-replaces.so";
        is_int(in_child(cases[i].look, folder), 0, cases[i].what);
        remove_folder();
    }
}

TAP_MAIN({"replaced", replaced})
