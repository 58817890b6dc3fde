/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Chains: operations of f32 or f64 of which each takes what the one before gave and one operand more,
 * or two such results. A few vectors go through all of them in registers, so memory is read and written while they
 * compute, and nothing lies in between. */
#ifndef NDOCK_CPU_CHAIN_H
#define NDOCK_CPU_CHAIN_H
#include "host/cpu.h"

enum { CPU_CHAIN_LINKS = 8 };

/* What a link does with the value so far, v, and its operand: an array's x or a scalar s. The first
 * link loads its array. A load further on puts v aside and begins anew; then one of the last two forms
 * comes, which takes what was put aside: before v, or behind it. One value at most is put aside. */
enum {
    CPU_LINK_ARRAY,
    CPU_LINK_SCALAR,
    CPU_LINK_ARRAY_FIRST,
    CPU_LINK_SCALAR_FIRST,
    CPU_LINK_SELF,
    CPU_LINK_ASIDE_FIRST,
    CPU_LINK_ASIDE
};
enum { CPU_LINK_LOAD, CPU_LINK_add, CPU_LINK_subtract, CPU_LINK_multiply, CPU_LINK_divide };
#define CPU_LINK(op, form) ((uint8_t)(CPU_LINK_##op * 8 + (form)))
/* Whether the operand is an array whose elements the link reads. */
#define CPU_LINK_READS(link) ((link) % 8 == CPU_LINK_ARRAY || (link) % 8 == CPU_LINK_ARRAY_FIRST)

/* n links with an operand each, in p, then the result, which is one of the arrays or overlaps none.
 * stream: it is written past the cache; the caller calls ew_stream_end. */
typedef void cpu_chain_fn(const uint8_t *link, int n_links, char *const *p, int64_t n, int stream);
typedef struct {
    cpu_chain_fn *f32, *f64;
} cpu_chain_loops;
CPU_ISA_DECLARE(extern const cpu_chain_loops, cpu_chain_table);

#endif
