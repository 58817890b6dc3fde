/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Inside the operations of programs. */
#ifndef NDOCK_CORE_CUSTOM_H
#define NDOCK_CORE_CUSTOM_H
#include "core/ops/ops.h"

struct nd_custom_op {
    const nd_custom_op *next;
    nd_custom_def def; /* texts and forms are ours */
    nd_custom_form *forms;
};

/* The form for the device's plug-in; NULL: there is none. */
nd_custom_device_fn nd__custom_form(const nd_custom_op *op, const nd_device *device);

#endif
