/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * JSON as a Python pickle. */
#ifndef NDOCK_CORE_PICKLE_H
#define NDOCK_CORE_PICKLE_H
#include "core/base/json.h"
#include "core/memory/memory.h"

/* Appends the pickle (protocol 2, of the opcodes that PyTorch's memory viewer reads) of the value
 * that the JSON text holds. Integers, texts, true, false, null, lists and objects. */
nd_status nd__pickle(const char *json, size_t n, nd_text *out);
#endif
