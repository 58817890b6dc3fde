/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: a plug-in's note, from a file's bytes to the verdict. */
#include "core/plugin/note.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const char *text, size_t n)
{
    size_t length = strnlen(text, n);
    if (length == n)
        abort();
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~')
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static nd_note_host host;
    nd_note_file file;
    char why[300], id[ND_BUILD_ID_TEXT];
    uint8_t *copy = malloc(size ? size : 1); /* of its own size, so that a step beyond is seen */
    if (!copy)
        abort();
    memcpy(copy, data, size);
    nd_note_result result = nd__note_parse(copy, size, &file, why, sizeof why);
    free(copy);
    if ((result == ND_NOTE_FOUND) != (why[0] == 0) || result == ND_NOTE_UNREADABLE)
        abort();
    (void)nd__build_id_text(&file, id);
    if (result != ND_NOTE_FOUND)
        return 0;
    check_text(file.note.name, sizeof file.note.name);
    check_text(file.note.version, sizeof file.note.version);
    check_text(file.note.groups, sizeof file.note.groups);
    if (!host.isa)
        nd__note_host(&host);
    const char *misfit = nd__note_misfit(&file, &host, why, sizeof why);
    if (misfit && !why[0])
        abort();
    return 0;
}
