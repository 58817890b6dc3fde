/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Copies between rows of any steps, beside a loop over elements: none between is touched, and
 * nothing is read or written beyond the rows, which begin and end at pages that nobody may touch. */
#include <stdbool.h>
#include <ndock/ndock.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/tap.h"

enum { MOST = 70, ROOM = 4096, POISON = 0x5a };

/* ROOM bytes between pages without access: they begin at one, or (at_end) end at one. */
static char *guarded(bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (ROOM + page - 1) / page * page;
    char *p = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, room, PROT_READ | PROT_WRITE) != 0)
        bail("no pages");
    return at_end ? p + page + room - ROOM : p + page;
}

/* The least address of a row: the room's begin, or as near to its end as it can be. */
static char *row_at(char *room, int64_t n, int64_t step, int64_t size, bool at_end)
{
    const int64_t reach = ((n - 1) * (step < 0 ? -step : step) + 1) * size;
    return at_end ? room + (ROOM - reach) / size * size : room;
}

static nd_array *row_of(nd_dtype dtype, char *least, int64_t n, int64_t step)
{
    const int64_t size = (int64_t)nd_dtype_size(dtype);
    const nd_layout layout = {
        .size = sizeof layout, .dtype = dtype, .ndim = 1, .shape = &n, .stride = &step};
    nd_array *a = NULL;
    nd_device *cpu = NULL;
    char *first = step < 0 ? least - (n - 1) * step * size : least;
    if (nd_device_get("cpu", &cpu) != ND_OK ||
        nd_wrap(&layout, first, cpu, NULL, NULL, &a) != ND_OK)
        bail(nd_last_error()->message);
    return a;
}

static char *element(char *least, int64_t i, int64_t n, int64_t step, int64_t size)
{
    return least + (step < 0 ? i - (n - 1) : i) * step * size;
}

/* Whether a copy of n elements does what a loop does, and nothing else. */
static bool is_right(nd_dtype dtype, int64_t n, int64_t to_step, int64_t from_step, bool at_end,
                     char *const room[2])
{
    const int64_t size = (int64_t)nd_dtype_size(dtype);
    static char want[ROOM];
    char *from = row_at(room[0], n, from_step, size, at_end),
         *to = row_at(room[1], n, to_step, size, at_end);
    for (int i = 0; i < ROOM; i++)
        room[0][i] = (char)(i * 7 + i / 251);
    memset(room[1], POISON, ROOM);
    memset(want, POISON, ROOM);
    for (int64_t i = 0; i < n; i++)
        memcpy(want + (element(to, i, n, to_step, size) - room[1]),
               element(from, i, n, from_step, size), (size_t)size);
    nd_array *src = row_of(dtype, from, n, from_step), *dst = row_of(dtype, to, n, to_step);
    const bool good = nd_copy_to(src, dst, NULL) == ND_OK && memcmp(want, room[1], ROOM) == 0;
    nd_release(src);
    nd_release(dst);
    return good;
}

static void every_pair_of_steps(void)
{
    static const nd_dtype dtypes[] = {ND_U8, ND_I16, ND_F32, ND_I64, ND_C128};
    static const int64_t steps[] = {1, -1, 2, -2, 3};
    char *const room[2][2] = {{guarded(false), guarded(false)}, {guarded(true), guarded(true)}};
    for (int d = 0; d < 5; d++)
        for (int t = 0; t < 5; t++)
            for (int f = 0; f < 5; f++) {
                int wrong = 0;
                for (int64_t n = 1; n <= MOST; n++)
                    for (int end = 0; end < 2; end++)
                        wrong += !is_right(dtypes[d], n, steps[t], steps[f], end, room[end]);
                ok(wrong == 0, "%s, steps %d from %d: %d copies differ", nd_dtype_name(dtypes[d]),
                   (int)steps[t], (int)steps[f], wrong);
            }
}

TAP_MAIN({"every_pair_of_steps", every_pair_of_steps})
