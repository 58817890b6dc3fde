/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which folder the store is, by variables of the environment. */
#include "core/base/store.h"

char *nd__store_dir(const char *variable, const char *xdg_cache_home, const char *home,
                    const char **why)
{
    nd_text path = {0};
    *why = NULL;
    if (variable && variable[0]) {
        if (variable[0] != '/') {
            *why = "NDOCK_KERNEL_CACHE_DIR is not an absolute path";
            return NULL;
        }
        return strdup(variable);
    }
    /* The XDG base directory specification: relative paths are ignored. */
    bool xdg = xdg_cache_home && xdg_cache_home[0] == '/';
    if (!xdg && !(home && home[0] == '/')) {
        *why = "neither NDOCK_KERNEL_CACHE_DIR nor XDG_CACHE_HOME nor HOME names a folder";
        return NULL;
    }
    nd__text_add(&path, "%s%s/ndock/kernels", xdg ? xdg_cache_home : home, xdg ? "" : "/.cache");
    return path.data;
}
