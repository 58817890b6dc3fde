/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Parameters: everything that the environment sets, of the core, of its allocator and of each
 * plug-in, in one list with help and what holds now; and the names in it that nobody knows. */
#ifndef NDOCK_PARAM_H
#define NDOCK_PARAM_H
#include <ndock/base.h>

ND_BEGIN_DECLS

enum {
    ND_PARAM_I64 = 1,
    ND_PARAM_F64 = 2,
    ND_PARAM_BOOL = 3,
    ND_PARAM_TEXT = 4,
    ND_PARAM_CHOICE = 5 /* one of the words of values, separated by | */
};
/* Texts live as long as the process and are never NULL. */
typedef struct {
    uint32_t size;       /* of this struct; set by the caller, who receives no more */
    int32_t type;        /* ND_PARAM_* */
    const char *name;    /* the variable; "backend" for a key of NDOCK_ALLOC_CONF */
    const char *owner;   /* "core", "python", "alloc" (such a key), or the plug-in's name */
    const char *help;    /* what it is for, one line */
    const char *values;  /* what it takes */
    const char *initial; /* what holds when it is not set; "" for none */
    const char *value;   /* what holds now */
    const char *source;  /* "default", "program", or the variable that says so */
    const char *problem; /* why the variable's value does not count; "" */
} nd_param_info;
/* The i-th parameter; ND_ERR_INDEX past the last. The core's come first, then the allocator's, then
 * those of plug-ins, which are known once a plug-in is loaded (nd_device_list() loads all) and
 * whether or not they are set. */
ND_API ND_MUST_USE nd_status nd_param_get(int32_t i, nd_param_info *out);

/* The i-th variable that begins with NDOCK_ and that nothing reads, and the name that is nearest
 * to it ("" if none is near); ND_ERR_INDEX past the last. A name NDOCK_<PLUGIN>_... of a plug-in
 * that is not loaded, or does not tell its parameters, is not among them. Such names are also
 * logged once, as warnings, when a device is opened. */
ND_API ND_MUST_USE nd_status nd_param_unknown(int32_t i, const char **name, const char **nearest);

ND_END_DECLS
#endif
