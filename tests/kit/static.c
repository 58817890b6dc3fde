/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * A file with a plug-in's note and entry and nothing else, for tests of group A of `ndock conform`,
 * which runs no code of it. Macros and the linker's options break it in one way each. */
#include <ndock/note.h>

#ifndef NAME
#define NAME "stat"
#endif
#ifndef GROUPS
#define GROUPS "ndp.op/1 com.maker.thing/2"
#endif
#ifndef DTYPES
#define DTYPES NDP_NOTE_DTYPE(NDP_F32)
#endif

#ifdef RAW_NOTE /* what the macro would not write */
__attribute__((section(NDP_NOTE_SECTION), used, aligned(4))) static const ndp_note_section note = {
    sizeof NDP_NOTE_OWNER,
    sizeof(ndp_note),
    NDP_NOTE_TYPE,
    NDP_NOTE_OWNER,
    {sizeof(ndp_note),
     NDP_ABI_MAJOR,
     MINOR,
     NDP_ABI_MINOR,
     0,
     0,
     ISA,
     SANITIZERS,
     {2, 0},
     NAME,
     "1",
     GROUPS}};
#elif !defined(NO_NOTE)
NDP_PLUGIN_NOTE(NAME, "1", 0, DTYPES, GROUPS)
#endif

#ifdef ANOTHER_EXPORT
NDP_EXPORT int helper(void);
NDP_EXPORT int helper(void)
{
    return 1;
}
#endif
#ifdef NEEDS
int from_elsewhere(void);
#endif
#ifdef TEXTREL /* an absolute address between instructions */
__asm__(".pushsection .text; .balign 8; .quad ndock_plugin_entry_0; .popsection");
#endif

#ifndef NO_ENTRY
NDP_EXPORT const ndp_plugin *ndock_plugin_entry_0(const ndp_host *host)
{
    (void)host;
#ifdef NEEDS
    (void)from_elsewhere();
#endif
    return NULL;
}
#endif

/* Constructors would end the program that runs them: nobody is to. */
__attribute__((constructor)) static void never(void)
{
    __builtin_trap();
}
