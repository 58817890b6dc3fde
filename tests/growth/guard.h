/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * Room that ends where no memory is: who reads or writes a byte more than its size is killed. */
#ifndef NDOCK_TEST_GROWTH_GUARD_H
#define NDOCK_TEST_GROWTH_GUARD_H
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* n bytes of from (NULL: poison) that end before a page that nobody may touch. Stays. */
static inline void *at_the_edge(const void *from, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n + page - 1) / page * page;
    char *p = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + room, page, PROT_NONE) != 0)
        return NULL;
    memset(p, 0x5a, room);
    if (from)
        memcpy(p + room - n, from, n);
    return p + room - n;
}
#endif
