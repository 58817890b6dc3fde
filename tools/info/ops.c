/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * `ndock info --ops`: which operation runs where, for which dtypes. */
#include <stdlib.h>
#include "tools/tool.h"

/* Those that can be opened, malloc'ed; NULL: they cannot be listed. */
static nd_device **open_devices(int *opened)
{
    int32_t n;
    const char **names = tool_devices(&n);
    nd_device **devices = names ? calloc((size_t)n + 1, sizeof(nd_device *)) : NULL;
    *opened = 0;
    for (int i = 0; devices && i < n; i++)
        if (nd_device_get(names[i], &devices[*opened]) == ND_OK)
            ++*opened;
    free(names);
    return devices;
}

static void print_table(nd_device *device)
{
    printf(
        "%s   (x: runs there, -: legal, but staged through the CPU, blank: not defined)\n\n%-20s",
        nd_device_name(device), "");
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        printf(" %4s", nd_dtype_name(d));
    putchar('\n');
    for (nd_op op = 1; op < ND_OP_END; op++) {
        uint64_t legal = nd_op_dtypes(op), native = nd_device_op_dtypes(device, op);
        printf("%-20s", nd_op_get(op)->name);
        for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
            printf(" %4s", native >> d & 1 ? "x" : legal >> d & 1 ? "-" : "");
        putchar('\n');
    }
    putchar('\n');
}

static void json_op(json_writer *w, nd_device *device, nd_op op)
{
    uint64_t native = nd_device_op_dtypes(device, op);
    json_open(w, nd_op_get(op)->name, '[');
    for (nd_dtype d = 1; d < ND_DTYPE_END; d++)
        if (native >> d & 1)
            json_text(w, NULL, nd_dtype_name(d));
    json_close(w, ']');
}

int tool_info_ops(bool json)
{
    int n;
    nd_device **devices = open_devices(&n);
    json_writer w = {.out = stdout};
    if (!devices)
        return tool_failed("info");
    if (json)
        json_open(&w, NULL, '{');
    for (int i = 0; i < n; i++) {
        if (!json) {
            print_table(devices[i]);
            continue;
        }
        json_open(&w, nd_device_name(devices[i]), '{');
        for (nd_op op = 1; op < ND_OP_END; op++)
            json_op(&w, devices[i], op);
        json_close(&w, '}');
    }
    if (json)
        json_close(&w, '}');
    free(devices);
    return 0;
}
