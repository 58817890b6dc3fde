/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Writing .npz: each array as a .npy file in a zip archive, byte for byte what nd_npy_save writes.
 * */
#include <stdlib.h>
#include <string.h>
#include "core/ops/ops.h"
#include "core/base/json.h"
#include "core/io/npy.h"
#include "core/io/zip.h"

static const char op[] = "npz_save", suffix[] = ".npy";

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static nd_status bad_name(const char *name, const char *what)
{
    char quoted[80];
    return nd__fail(ND_ERR_ARGUMENT, op, 2, "array \"%s\": %s",
                    nd__quote(quoted, sizeof quoted, name, strlen(name)), what);
}

static nd_status check_names(int n, const nd_named_array *arrays)
{
    nd_status status = ND_OK;
    for (int i = 0; i < n; i++) {
        if (!arrays[i].name || !arrays[i].array)
            return nd__fail(ND_ERR_ARGUMENT, op, 2, "%s %d is NULL",
                            arrays[i].name ? "array" : "name", i);
        const size_t length = strlen(arrays[i].name);
        const char *problem = nd__zip_name_problem(arrays[i].name, length);
        if (!problem && length + strlen(suffix) > ND__ZIP_NAME_MAX)
            problem = "the name is longer than 4092 bytes";
        if (problem)
            return bad_name(arrays[i].name, problem);
    }
    const char **names = malloc(((size_t)n + 1) * sizeof *names);
    if (!names)
        return nd__fail(ND_ERR_MEMORY, op, -1, "no memory for the names");
    for (int i = 0; i < n; i++)
        names[i] = arrays[i].name;
    if (n > 0)
        qsort(names, (size_t)n, sizeof *names, by_text);
    for (int i = 1; i < n && status == ND_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = bad_name(names[i], "another array has the same name");
    free(names);
    return status;
}

static nd_status add_array(nd__zip_writer *zip, const nd_named_array *named, int32_t level)
{
    char name[ND__ZIP_NAME_MAX + 1];
    nd__npy_content content;
    memcpy(name, named->name, strlen(named->name) + 1);
    memcpy(name + strlen(name), suffix, sizeof suffix);
    ND_RETURN_IF(nd__npy_content_open(op, named->array, &content));
    nd_status status = nd__zip_add(zip, name, level, content.header.data, content.header.len,
                                   content.copy.data, content.copy.nbytes);
    nd__npy_content_close(&content);
    return status;
}

nd_status nd_npz_save(const char *path, int n, const nd_named_array *arrays, int32_t level,
                      const nd_save_opts *opts)
{
    nd__writer file;
    nd_status status;

    if (n < 0)
        return nd__fail(ND_ERR_ARGUMENT, op, 1, "n is %d", n);
    ND_NEED_LIST(op, 2, n, arrays);
    if (level < 0 || level > 9)
        return nd__fail(ND_ERR_ARGUMENT, op, 3, "level is %d; 0 is stored, 1 to 9 deflated",
                        (int)level);
    ND_RETURN_IF(nd__save_opts_check(op, 4, opts));
    ND_RETURN_IF(check_names(n, arrays));
    ND_RETURN_IF(nd__writer_open(op, path, &file));
    nd__zip_writer zip = {.file = &file};
    for (int i = 0; i < n; i++)
        ND_GOTO_IF(done, add_array(&zip, &arrays[i], level));
    ND_GOTO_IF(done, nd__zip_finish(&zip));
    ND_GOTO_IF(done, nd__writer_commit(&file, opts));
done:
    nd__zip_writer_end(&zip);
    nd__writer_close(&file);
    return status;
}
