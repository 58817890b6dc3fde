/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Lists of the library, whole: how many there are may change while one asks. */
#include <stdlib.h>
#include "tools/tool.h"

typedef nd_status lister(void *out, int32_t room, int32_t *n);

static void *whole_list(lister *list, size_t size, int32_t *n)
{
    int32_t room = 64;
    for (;;) {
        void *out = calloc((size_t)room, size);
        if (!out || list(out, room, n) != ND_OK) {
            free(out);
            *n = 0;
            return NULL;
        }
        if (*n <= room)
            return out;
        free(out);
        room = *n;
    }
}

static nd_status list_devices(void *out, int32_t room, int32_t *n)
{
    return nd_device_list(out, room, n);
}

static nd_status list_plugins(void *out, int32_t room, int32_t *n)
{
    return nd_plugin_list(out, room, n);
}

static nd_status list_libraries(void *out, int32_t room, int32_t *n)
{
    return nd_library_list(out, room, n);
}

const char **tool_devices(int32_t *n)
{
    return whole_list(list_devices, sizeof(char *), n);
}

nd_plugin_report *tool_plugins(int32_t *n)
{
    return whole_list(list_plugins, sizeof(nd_plugin_report), n);
}

nd_library_report *tool_libraries(int32_t *n)
{
    return whole_list(list_libraries, sizeof(nd_library_report), n);
}
