/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * How tests of the CUDA plug-in find it in a build tree, and leave where there is no GPU. */
#ifndef NDOCK_TESTS_CUDA_PATH_H
#define NDOCK_TESTS_CUDA_PATH_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <ndock/ndock.h>

/* Programs of the build tree see its plug-ins only; those of this folder this one as well. */
static void set_plugin_path(void)
{
    char here[512], path[4096];
    const char *before = getenv("NDOCK_PLUGIN_PATH");
    if (!getcwd(here, sizeof here)) {
        printf("Bail out! no current folder\n");
        exit(1);
    }
    snprintf(path, sizeof path, "%s/backends/cpu/.libs:%s/backends/cuda/.libs:%s", here, here,
             before ? before : "");
    setenv("NDOCK_PLUGIN_PATH", path, 1);
}

/* Makes cuda:0 the current device. Ends the program, as skipped, where there is no GPU. */
static void open_cuda(nd_device **cuda)
{
    set_plugin_path();
    if (nd_device_get("cuda:0", cuda) == ND_OK && nd_device_set_current(*cuda) == ND_OK)
        return;
    char reason[200];
    snprintf(reason, sizeof reason, "%s", nd_last_error()->message);
    reason[strcspn(reason, "\n#")] = 0;
    printf("1..0 # SKIP no CUDA device: %s\n", reason);
    exit(0);
}
#endif
