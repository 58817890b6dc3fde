/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Fuzz target: everything that the tools read of an ELF file. The bytes lie in a block of their own
 * size, so that one byte too far is seen. */
#include <elf.h>
#include "tests/fuzz/fuzz.h"
#include "tools/elf.h"

static uint64_t total;

static void use(const char *text)
{
    total += text ? strlen(text) : 0;
}

static void read_all(const elf_file *e)
{
    static const uint64_t tags[] = {DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH};
    char text[64];
    elf_symbol symbol;
    elf_note_place place = {0};
    elf_note note;
    for (size_t t = 0; t < sizeof tags / sizeof *tags; t++) {
        const char *name;
        for (uint64_t at = 0; (name = elf_dynamic_text(e, tags[t], &at)) != NULL;)
            use(name);
    }
    for (uint64_t at = 0; elf_next_export(e, &at, &symbol);)
        use(symbol.name);
    while (elf_next_note(e, &place, &note)) {
        for (size_t i = 0; i < note.owner_size; i++)
            total += (unsigned char)note.owner[i];
        for (size_t i = 0; i < note.desc_size; i++)
            total += note.desc[i];
    }
    use(elf_build_id(e, text, sizeof text));
    use(elf_machine(e));
    total += elf_native(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[256] = "";
    elf_file e;
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        return 0;
    memcpy(exact, data, size);
    if (elf_parse(exact, size, &e, error, sizeof error))
        read_all(&e);
    else if (!error[0])
        abort();
    elf_close(&e);
    free(exact);
    return 0;
}
