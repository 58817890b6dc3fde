/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Arrays in files: what this folder adds to the module. */
#ifndef NDOCK_PY_FILES_H
#define NDOCK_PY_FILES_H
#include "python/src/args/args.h"

extern PyMethodDef py_file_methods[];
extern PyMethodDef py_npz_methods[];
extern PyMethodDef py_csv_methods[];
extern PyMethodDef py_gguf_methods[];

#endif
