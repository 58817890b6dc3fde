/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * What DLPack's two directions share: the record behind an exported tensor. */
#ifndef NDOCK_CORE_INTEROP_DLPACK_H
#define NDOCK_CORE_INTEROP_DLPACK_H
#include "core/interop/interop.h"

typedef struct {
    nd_array *array; /* one reference */
    nd_dl_tensor tensor;
    union {
        nd_dl_managed managed;
        nd_dl_legacy legacy;
    } form;
    int64_t dims[]; /* shape, strides */
} nd_dl_record;

/* The deleters tell tensors of this library from others. */
void nd__dl_delete(nd_dl_managed *m);
void nd__dl_delete_legacy(nd_dl_legacy *m);

#endif
