/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Pieces of rows of any strides to dense doubles, and back, a run of the walk at a time. */
#ifndef NDOCK_CPU_NORM_LINES_H
#define NDOCK_CPU_NORM_LINES_H
#include "norm/norm.h"
#include "walk/walk.h"

/* Elements from..from+n of the row of operand o that begins at base. */
static inline void cpu_norm_read(const cpu_norm_table *loops, int dtype, const cpu_walk *row, int o,
                                 const char *base, int64_t from, int64_t n, double *dst)
{
    cpu_place at;
    cpu_place_seek(&at, row, from);
    for (int64_t done = 0, m; done < n; done += m) {
        const int64_t room = cpu_place_room(&at);
        m = room < n - done ? room : n - done;
        loops->load[dtype](dst + done, base + at.offset[o], cpu_walk_inner(row, o), m);
        cpu_place_step(&at, m);
    }
}

static inline void cpu_norm_write(const cpu_norm_table *loops, int dtype, const cpu_walk *row,
                                  int o, char *base, int64_t from, int64_t n, const double *src)
{
    cpu_place at;
    cpu_place_seek(&at, row, from);
    for (int64_t done = 0, m; done < n; done += m) {
        const int64_t room = cpu_place_room(&at);
        m = room < n - done ? room : n - done;
        loops->store[dtype](base + at.offset[o], cpu_walk_inner(row, o), src + done, m);
        cpu_place_step(&at, m);
    }
}
#endif
