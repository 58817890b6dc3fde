/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Which of the plug-in's functions each thread of a check is inside, kept in memory that the runner
 * shares with the check's process: a hang and a crash can then be told with the function's name. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "abi.h"

enum { THREADS = 64 };

typedef struct {
    _Atomic(const char *) name; /* a literal, at the same address in both processes; NULL: none */
    _Atomic double since;
} flight;
static flight *flights; /* THREADS of them */
static atomic_int *taken;
static _Thread_local int own = -1;

void abi_flight_begin(void)
{
    if (!flights) {
        char *shared = mmap(NULL, (THREADS + 1) * sizeof *flights, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED)
            return;
        flights = (flight *)(void *)shared;
        taken = (atomic_int *)(void *)(flights + THREADS);
    }
    memset(flights, 0, (THREADS + 1) * sizeof *flights);
}

static void enter(const char *name)
{
    if (!flights)
        return;
    if (own < 0)
        own = atomic_fetch_add(taken, 1);
    if (own >= THREADS)
        return;
    atomic_store(&flights[own].since, abi_seconds());
    atomic_store(&flights[own].name, name);
}

static void leave(void)
{
    if (flights && own >= 0 && own < THREADS)
        atomic_store(&flights[own].name, NULL);
}

bool abi_in_flight(char *text, size_t n)
{
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; flights && i < THREADS && used + 1 < n; i++) {
        const char *name = atomic_load(&flights[i].name);
        if (!name)
            continue;
        const int k = snprintf(text + used, n - used, "%s%s, for %.1f s", used ? "; " : "", name,
                               abi_seconds() - atomic_load(&flights[i].since));
        used += k > 0 ? (size_t)k : 0;
    }
    return text[0] != 0;
}

/* ---- what stands before each function ---- */
static struct { /* the plug-in's own */
    ndp_plugin p;
    ndp_stream_1 stream;
    ndp_pool_1 pool;
    ndp_map_1 map;
} real;

#define SLOT(table, name, parameters, arguments)                          \
    static int32_t table##_##name parameters                              \
    {                                                                     \
        enter(#table[0] == 'p' && !#table[1] ? #name : #table "." #name); \
        int32_t status = real.table.name arguments;                       \
        leave();                                                          \
        return status;                                                    \
    }
#define VOID_SLOT(table, name, parameters, arguments)                     \
    static void table##_##name parameters                                 \
    {                                                                     \
        enter(#table[0] == 'p' && !#table[1] ? #name : #table "." #name); \
        real.table.name arguments;                                        \
        leave();                                                          \
    }
#include "slots.def"
#undef SLOT
#undef VOID_SLOT

#define SLOT(table, name, parameters, arguments)              \
    if (abi.table.name && abi.table.name != table##_##name) { \
        real.table.name = abi.table.name;                     \
        abi.table.name = table##_##name;                      \
    }
#define VOID_SLOT SLOT
void abi_flight_watch(void)
{
#include "slots.def"
}
